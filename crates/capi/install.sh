#!/usr/bin/env bash
# Installs the C API: headers, libraries, what pkg-config and CMake read, a manual page of each function, and
# suppressions for valgrind.
#
#   crates/capi/install.sh PREFIX [FOLDER]
#
# PREFIX is an absolute path: it goes into fyris.pc. What debuggers need is in a file of its own,
# PREFIX/lib/.debug/libfyris.so.VERSION.debug, where gdb looks for it; the libraries come without it. The static one is a
# single object that shows fyris_* only, so that a program may be linked with other libraries of Rust as well. FOLDER has libfyris_capi.so and libfyris_capi.a; without it they are built.
# DESTDIR goes before PREFIX, for packagers.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: install.sh PREFIX [FOLDER WITH THE LIBRARIES]" >&2; exit 2; }
prefix=$1
[[ $prefix = /* ]] || { echo "install.sh: PREFIX must be an absolute path, not $prefix" >&2; exit 2; }
command -v objcopy >/dev/null || { echo "install.sh: needs objcopy (package binutils)" >&2; exit 1; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
if [ $# -ge 2 ]; then
  built=$2
else
  (cd "$root" && cargo build --release --locked -p fyris-capi)
  built=${CARGO_TARGET_DIR:-$root/target}/release
fi
version=$(sed -n '/^\[workspace.package\]/,/^version/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
to=${DESTDIR:-}$prefix

install -d "$to/include" "$to/lib/pkgconfig" "$to/lib/cmake/fyris" "$to/lib/.debug"
install -m 644 "$here/include/fyris.h" "$here/include/fyris_index.h" "$to/include"
so=$to/lib/libfyris.so.$version debug=$to/lib/.debug/libfyris.so.$version.debug
rm -f "$so" "$debug" "$to/lib/libfyris.a"
objcopy --only-keep-debug "$built/libfyris_capi.so" "$debug"
objcopy --strip-unneeded --add-gnu-debuglink="$debug" "$built/libfyris_capi.so" "$so"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
objcopy --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd "$built/libfyris_capi.a" "$work/all.a"
ld -r --whole-archive -o "$work/fyris.o" "$work/all.a"
objcopy --wildcard --keep-global-symbol='fyris_*' "$work/fyris.o"
ar rcsD "$to/lib/libfyris.a" "$work/fyris.o"
install -D -m 644 "$here/valgrind.supp" "$to/share/fyris/valgrind.supp"
install -d "$to/share/man/man3"
awk -v to="$to/share/man/man3" -v version="$version" -f "$here/man.awk" "$here/include/fyris.h"
chmod 644 "$to"/share/man/man3/fyris_*.3
chmod 755 "$so"
chmod 644 "$debug" "$to/lib/libfyris.a"
# Programs ask for the name in the library (build.rs), compilers for the one without a number.
ln -sf "libfyris.so.$version" "$to/lib/libfyris.so.0"
ln -sf libfyris.so.0 "$to/lib/libfyris.so"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/fyris.pc.in" >"$to/lib/pkgconfig/fyris.pc"
for file in fyris-config fyris-config-version; do
  sed "s|@VERSION@|$version|" "$here/cmake/$file.cmake.in" >"$to/lib/cmake/fyris/$file.cmake"
done
echo "installed fyris $version under $to"
