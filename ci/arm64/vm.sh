#!/usr/bin/env bash
# A runner for cargo: a program for AArch64 on a kernel of its own, in a virtual machine. For what qemu-user does not
# pass on: userfaultfd(2), madvise(2), pagemaps. Runs in the root of root.sh.
#
#   vm.sh PROGRAM [ARGUMENT...]
set -euo pipefail
program=$1
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree"/{bin,dev,lib/aarch64-linux-gnu,proc,sys,tmp}
cp "$program" "$tree/program"
cp /usr/bin/busybox "$tree/bin"
cp -L /lib/ld-linux-aarch64.so.1 "$tree/lib"
for library in libc libm libgcc_s; do
  cp -L /lib/aarch64-linux-gnu/$library.so.* "$tree/lib/aarch64-linux-gnu"
done

# The first process: it has the memory of the machine for its files.
{
  cat <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
cd /tmp
INIT
  for name in RUST_BACKTRACE $(compgen -e PROPTEST_ || true) $(compgen -e FYRIS_ || true); do
    [ -z "${!name:-}" ] || printf 'export %s=%q\n' "$name" "${!name}"
  done
  printf '/program'
  [ $# = 0 ] || printf ' %q' "$@"
  printf '\necho "vm: the program ended with $?"\npoweroff -f\n'
} >"$tree/init"
chmod +x "$tree/init"
(cd "$tree" && find . | cpio --quiet -o -H newc) >"$work/initrd"

timeout 1800 qemu-system-aarch64 -M virt -cpu neoverse-n1 -smp 2 -m 3072 -accel tcg,thread=multi -nographic -no-reboot \
  -kernel /boot/vmlinuz-* -initrd "$work/initrd" -append "console=ttyAMA0 quiet panic=-1" </dev/null |
  tr -d '\r' | tee "$work/log"
grep -q '^vm: the program ended with 0$' "$work/log"
