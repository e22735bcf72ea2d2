#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# recipes.sh - the container and the ten lines of CI of rocin-ci(7), each tried in a new
# Debian of debootstrap with the very commands that stand on the page.
#
# usage: recipes.sh BUILD-DIRECTORY
set -u
build=$1
here=$(cd "$(dirname "$0")" && pwd)
page=$here/../../tools/man/rocin-ci.7
recipe() { "$here/../man/recipe" -v section="$1" "$page" || fail "rocin-ci(7) has no recipe \"$1\""; }
# shellcheck source=../kit/verdict.sh
. "$(dirname "$0")/../kit/verdict.sh"
[ "$(id -u)" = 0 ] || skip 'debootstrap needs root'
command -v debootstrap >/dev/null || skip 'debootstrap is not installed'
if [ -z "${ROCIN_RECIPES_WORK:-}" ]; then
	unshare -mpf true 2>/dev/null || skip 'namespaces cannot be made here'
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work" >"$work/cpack.log" 2>&1 ||
		fail "cpack: $(tail -5 "$work/cpack.log")"
	timeout 1800 debootstrap --variant=minbase bookworm "$work/base" >"$work/debootstrap.log" 2>&1 ||
		fail "debootstrap: $(tail -3 "$work/debootstrap.log")"
	# What an image of an engine gets from its host: its names, and here its mirrors.
	cp /etc/resolv.conf "$work/base/etc/"
	cp /etc/apt/sources.list.d/debian.sources "$work/base/etc/apt/sources.list.d/" 2>/dev/null
	cp /etc/apt/apt.conf.d/*proxy* "$work/base/etc/apt/apt.conf.d/" 2>/dev/null
	ROCIN_RECIPES_WORK=$work unshare -mpf --kill-child "$0" "$@"
	exit
fi
work=$ROCIN_RECIPES_WORK

# image NAME: a copy of the system, as `FROM debian:12` and `container: debian:12` begin with
image() {
	root=$work/$1
	mkdir -p "$work/layers-$1/up" "$work/layers-$1/work" "$root"
	mount -t tmpfs none "$work/layers-$1" && mkdir "$work/layers-$1/up" "$work/layers-$1/work" &&
		mount -t overlay overlay "$root" \
			-o "lowerdir=$work/base,upperdir=$work/layers-$1/up,workdir=$work/layers-$1/work" ||
		skip 'an overlay cannot be mounted here'
	mount -t proc proc "$root/proc"
	mount -t tmpfs none "$root/dev" -o mode=755 && mkdir -m 1777 "$root/dev/shm"
	for device in null zero random urandom; do
		touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"
	done
}
plain=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive)
inside() { chroot "$root" "${plain[@]}" HOME=/root "$@"; }

# The container: each line is what an engine does with it.
image container
mkdir "$work/context"
cp "$work"/rocin_*.deb "$work/context/"
user=root entry=() command=() lines=0
words_of() { python3 -c 'import json, sys; print(*json.loads(sys.argv[1]), sep="\n")' "$1"; }
while read -r verb rest; do
	lines=$((lines + 1))
	case $verb in
	FROM) [ "$rest" = debian:12 ] || fail "another image: $rest" ;;
	COPY) # shellcheck disable=SC2086 # a pattern
		(cd "$work/context" && cp ${rest% *} "$root/${rest##* }") || fail "COPY $rest" ;;
	RUN) inside sh -c "$rest" >"$work/run.log" 2>&1 || fail "RUN $rest: $(tail -5 "$work/run.log")" ;;
	USER) user=$rest ;;
	ENTRYPOINT) mapfile -t entry < <(words_of "$rest") ;;
	CMD) mapfile -t command < <(words_of "$rest") ;;
	*) fail "a line that no engine knows: $verb $rest" ;;
	esac
done < <(recipe 'A container')
[ "$lines" -ge 5 ] && [ "$user" != root ] || fail 'this is no recipe'
run() { # COMMAND...: as `docker run` without a network but its own loopback
	unshare -n sh -c 'ip link set lo up && exec "$@"' sh timeout 60 chroot --userspec="$user" "$root" \
		"${plain[@]}" HOME=/nonexistent "${entry[@]}" "$@"
}
run "${command[@]}" >"$work/out" 2>&1 && grep -q '^ *rocin0' "$work/out" || fail "the container: $(cat "$work/out")"
run sh -c 'ibv_rc_pingpong -g 0 -c & until ibv_rc_pingpong -g 0 -c 127.0.0.1; do sleep 0.1; done; wait $!' \
	>"$work/out" 2>&1 || fail "the container: $(cat "$work/out")"
echo 'ok: the container'

# CI: a project whose `make check` runs RDMA programs, and each step as a runner starts it.
image ci
mkdir -p "$root/project/ci"
cp "$work"/rocin_*.deb "$root/project/ci/"
# shellcheck disable=SC2016 # for make and its shell
printf 'check:\n\tibv_rc_pingpong -g 0 -c & \\\n\tuntil ibv_rc_pingpong -g 0 -c 127.0.0.1; do sleep 0.1; done; wait $$!\n' \
	>"$root/project/Makefile"
recipe 'RDMA tests in CI in ten lines' >"$work/workflow.yaml"
[ "$(wc -l <"$work/workflow.yaml")" -le 10 ] || fail 'more than ten lines'
python3 -c '
import sys, yaml
jobs = yaml.safe_load(open(sys.argv[1]))["jobs"]
(job,) = jobs.values()
assert job["container"] == "debian:12", job
assert job["steps"][0]["uses"].startswith("actions/checkout@")
print(*(step["run"] for step in job["steps"][1:]), sep="\n")' "$work/workflow.yaml" >"$work/steps" ||
	fail 'the workflow'
while read -r step; do
	inside sh -ec "cd /project; $step" >"$work/out" 2>&1 </dev/null ||
		fail "$step: $(tail -20 "$work/out")"
	echo "ok: $step"
done <"$work/steps"
[ "$(wc -l <"$work/steps")" = 3 ] && grep -q 'bytes in' "$work/out" || fail 'not all steps were tried'
[ "$(find "$root/project" -name 'rdma-*.pcap' -size +10k | wc -l)" = 2 ] || fail "no captures: $(ls "$root/project")"
inside sh -c 'for file in /project/rdma-*.pcap; do rocin dump --ladder "$file"; done' >"$work/out" 2>&1
grep -q 'SEND' "$work/out" || fail "rocin dump: $(tail -5 "$work/out")"
inside rocin stop >/dev/null
echo 'ok: CI in ten lines'
