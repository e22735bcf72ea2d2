#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lab-refused.sh - if no lab can be created, one sentence has the reason and the remedy.
who=root
# shellcheck source=lab_lib.sh
. "$(dirname "$0")/lab_lib.sh"

refused() { # WHAT SENTENCE-PATTERN COMMAND...
	local what=$1 pattern=$2
	shift 2
	timeout 1800 "$@" >"$work/out" 2>"$work/err"
	status=$?
	[ "$status" != 77 ] || return 0
	said 1 "$what"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "not one sentence: $(cat "$work/err")"
	grep -Eq "^rocin: $pattern" "$work/err" || fail "$what: $(cat "$work/err")"
	[ ! -s "$work/out" ] || fail 'something has run'
}

user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
"${user[@]}" test -x "$ROCIN_TESTS/without_namespaces" || skip 'the build directory is closed to other users'
# The restrictions of container engines, for users and for root.
refused 'a sandbox' 'namespaces are forbidden here, .*--privileged' \
	"${user[@]}" "$ROCIN_TESTS/without_namespaces" rocin lab -- echo no
refused 'a sandbox for root' 'namespaces are forbidden here, .*--cap-add=NET_ADMIN' \
	"$ROCIN_TESTS/without_namespaces" rocin lab -- echo no
# shellcheck disable=SC2016
refused 'no user namespaces' 'user namespaces are switched off here; as root: sysctl -w user.max_user_names' \
	unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces
		exec setpriv --bounding-set -all --inh-caps -all rocin lab -- echo no'
# Root in a container without rights on its network.
refused 'root without CAP_SYS_ADMIN' 'user namespaces are switched off here' \
	unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces
		exec setpriv --bounding-set -sys_admin --inh-caps -sys_admin rocin lab -- echo no'
refused 'a /proc with hidden parts' 'a /proc of its own is forbidden here, .*systempaths=unconfined' \
	unshare -m sh -c 'mount --bind /dev/null /proc/meminfo && exec "$@"' sh \
	"${user[@]}" rocin lab -- echo no
# The settings of Debian and Ubuntu, simulated because this kernel may not have them.
for switch in 'unprivileged_userns_clone 0 only.root.may.make.user.namespaces' \
	'apparmor_restrict_unprivileged_userns 1 AppArmor.takes.their.rights'; do
	# shellcheck disable=SC2086 # three words
	set -- $switch
	refused "$1" "$3.*sysctl -w kernel.$1=" \
		unshare -m sh -c 'echo "$2" >"$3" && mount -t tmpfs none /proc/sys/kernel &&
			cp "$3" "/proc/sys/kernel/$1" && shift 3 && exec "$@"' sh "$1" "$2" "$work/switch" \
		"${user[@]}" "$ROCIN_TESTS/without_namespaces" rocin lab -- echo no
done
