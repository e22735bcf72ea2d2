#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# image.sh - tools for OCI images read the image, and a user without any privilege runs it, as a
# rootless engine does: its command, and two programs that exchange messages.
#
# usage: image.sh BUILD-DIRECTORY
#
# It is made now, or taken from $ROCIN_PACKAGES.
set -u
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=../kit/verdict.sh
. "$source/tests/kit/verdict.sh"
[ "$(id -u)" = 0 ] || skip 'debootstrap needs root'
for program in debootstrap umoci skopeo bwrap; do
	command -v "$program" >/dev/null || skip "$program is not installed (tools/prepare long)"
done
user=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --inh-caps=-all env -i PATH=/usr/bin:/bin)
"${user[@]}" bwrap --unshare-all --ro-bind / / true 2>/dev/null || skip 'users can make no namespaces here'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
packages=${ROCIN_PACKAGES:-$build/packages}
[ -n "${ROCIN_PACKAGES:-}" ] || "$source/tools/package/make" image "$packages" 2>"$work/log" || fail "$(cat "$work/log")"
image=$packages/rocin-image.tar
skopeo inspect --config "oci-archive:$image:rocin" >"$work/config" || fail 'skopeo does not read it'
skopeo copy -q "oci-archive:$image:rocin" "oci:$work/layout:rocin" || fail 'skopeo does not copy it'
umoci unpack --image "$work/layout:rocin" "$work/bundle" >"$work/log" 2>&1 || fail "umoci: $(cat "$work/log")"
chmod 755 "$work/bundle"
words() { python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["config"][sys.argv[2]], sep="\n")' "$work/config" "$1"; }
mapfile -t entry < <(words Entrypoint)
mapfile -t command < <(words Cmd)
mapfile -t variables < <(words Env)
[ "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["config"]["User"])' "$work/config")" = nobody ] ||
	fail 'its programs are run by root'
run() { # COMMAND...
	timeout 120 "${user[@]}" bwrap --unshare-all --clearenv --bind "$work/bundle/rootfs" / --proc /proc --dev /dev \
		--tmpfs /dev/shm --tmpfs /tmp --chdir /tmp env "${variables[@]}" "${entry[@]}" "$@"
}
run "${command[@]}" >"$work/out" 2>&1 && grep -q '^ *rocin0' "$work/out" || fail "its command: $(cat "$work/out")"
begun=$(date +%s.%N)
run sh -c 'ibv_rc_pingpong -g 0 -c & until ibv_rc_pingpong -g 0 -c 127.0.0.1; do sleep 0.1; done; wait $!' \
	>"$work/out" 2>&1 && grep -q 'bytes in' "$work/out" || fail "ping-pong: $(cat "$work/out")"
grep 'bytes in' "$work/out"
echo "ok: $(du -m "$image" | cut -f1) MB, ping-pong in $(awk 'BEGIN { printf "%.1f", ARGV[2] - ARGV[1] }' "$begun" "$(date +%s.%N)") s"
run rocin conform >"$work/out" 2>&1 && grep -q ' 0 failed' "$work/out" || fail "rocin conform: $(tail -3 "$work/out")"
run sh -c 'test ! -w /usr/bin' || fail 'its user may write to its files'
echo 'ok: skopeo and umoci read it, a user runs it'
