#!/usr/bin/env bash
# dets of OTP 27.3.4: a set keeps two objects with the key 0.0, and a deleted key is there again.
#
# From OTP 27 on 0.0 and -0.0 are two keys. dets collects the writes of one call (and calls that come close to each
# other) and sorts them by key with `==`, for which they are one, then takes equal neighbours together with `=:=`, for
# which they are two. So where a write of -0.0 lies between two writes of 0.0, the first is not replaced by the last:
# both objects are written, into a table of type `set`. Keys that contain the two zeros likewise.
#
# Seen, after `dets:insert(T, [{0.0,a}, {-0.0,b}, {0.0,c}])`: `info(T, size)` is 3 and `match_object` gives all three,
# `lookup(T, 0.0)` gives `c`. After `delete(T, 0.0)` it gives `a`, and one more `delete` is needed. Without -0.0 in
# between there is one object, and after one `delete` there is none. OTP 29.1.1 does the same; OTP 25, where 0.0 and
# -0.0 are one key, keeps one.
#
# Usage: findings/dets-set-keeps-an-older-zero.sh, as root. Needs apt-get and dpkg, and Debian's release with OTP 27
# in its archive (it asks the installed apt for the archive); a minute. Fails if the behaviour has changed.
set -euo pipefail
version=1:27.3.4.1+dfsg-1+deb13u4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p lists/partial cache/archives/partial root/{dev,work,usr/bin,usr/lib,usr/lib64}
archive() { # archive LABEL: where the installed apt gets packages with that label from
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Label: $1" | head -n 1
}
cat >sources.list <<END
deb $(archive Debian) trixie main
deb $(archive Debian-Security) trixie-security main
END
apt() {
  apt-get -qq -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@"
}
apt update
apt download "erlang-base=$version" libc6 libgcc-s1 libstdc++6 libtinfo6 zlib1g libzstd1 libsystemd0 libcap2
ln -s usr/bin usr/lib usr/lib64 root
for package in *.deb; do dpkg -x "$package" root; done
mknod -m 666 root/dev/null c 1 3
cat >root/work/zeros.erl <<'END'
-module(zeros).
-export([main/0]).

main() ->
    Alone = seen([{+0.0, a}, {+0.0, c}]),
    Between = seen([{+0.0, a}, {-0.0, b}, {+0.0, c}]),
    io:format("OTP ~s, size, objects of 0.0, before and after a delete of 0.0~n", [erlang:system_info(otp_release)]),
    io:format("0.0 twice: ~w~nwith -0.0 between them: ~w~n", [Alone, Between]),
    Expected = {{1, [{+0.0, c}], [{+0.0, c}]}, {0, [], []}},
    Surprise = {{3, [{+0.0, c}], [{+0.0, a}, {+0.0, c}]}, {2, [{+0.0, a}], [{+0.0, a}]}},
    halt(case {Alone, Between} of {Expected, Surprise} -> 0; _ -> 1 end).

seen(Objects) ->
    _ = file:delete("/work/t.dets"),
    {ok, T} = dets:open_file(t, [{file, "/work/t.dets"}, {type, set}]),
    ok = dets:insert(T, Objects),
    Before = table(T),
    ok = dets:delete(T, +0.0),
    After = table(T),
    ok = dets:close(T),
    {Before, After}.

table(T) ->
    {dets:info(T, size), dets:lookup(T, +0.0), lists:sort([O || {K, _} = O <- dets:match_object(T, '_'), K =:= +0.0])}.
END
bin=/usr/lib/erlang/$(basename root/usr/lib/erlang/erts-*)/bin
erl() {
  env -i PATH="$PATH" HOME=/ ROOTDIR=/usr/lib/erlang BINDIR="$bin" EMU=beam PROGNAME=erl \
    chroot root "$bin/erlexec" -noinput "$@"
}
erl -eval '{ok, zeros} = compile:file("/work/zeros", [{outdir, "/work"}]), halt().'
erl -pa /work -s zeros main || {
  echo "the behaviour has changed" >&2
  exit 1
}
