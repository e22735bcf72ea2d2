# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# growth_lib.sh - for scripts with ../kit/lib.sh: memory and descriptors of programs that run for
# long stay as they are after a while.

descriptors() { find "/proc/$1/fd" | wc -l; }
kilobytes() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; }

# Of what is watched: the name and the process of each.
names=() programs=()
declare -A most_kib most_fds

# watch_growth NAME PID
watch_growth() {
	names+=("$1")
	programs+=("$2")
}

alive() {
	local i
	for i in "${!programs[@]}"; do
		kill -0 "${programs[i]}" 2>/dev/null ||
			fail "${names[i]} has ended: $(tail -3 "$work/${names[i]}" 2>/dev/null)"
	done
}

# What rocind may have beyond that: 2 KiB for each connection in time-wait, of which there are
# the more the faster the machine is.
waiting_kib() { [ "$1" != rocind ] && echo 0 || echo $((2 * $(cm_counts connections))); }

# see_growth SECONDS: look once; $SECONDS have gone by of so many. The pools are full after a
# third of the time.
see_growth() {
	local i kib fds
	alive
	for i in "${!programs[@]}"; do
		kib=$(kilobytes "${programs[i]}") fds=$(descriptors "${programs[i]}")
		if [ $((SECONDS * 3)) -lt "$1" ]; then
			[ "$kib" -le "${most_kib[$i]:-0}" ] || most_kib[$i]=$kib
			[ "$fds" -le "${most_fds[$i]:-0}" ] || most_fds[$i]=$fds
		elif [ -n "${most_kib[$i]:-}" ]; then
			[ "$kib" -le $((most_kib[$i] + most_kib[$i] / 4 + 4096 + $(waiting_kib "${names[i]}"))) ] ||
				fail "${names[i]} grows from ${most_kib[$i]} KiB to $kib"
			[ "$fds" -le $((most_fds[$i] + 4)) ] ||
				fail "descriptors of ${names[i]} grow from ${most_fds[$i]} to $fds"
		fi
	done
}

tell_growth() {
	local i
	for i in "${!programs[@]}"; do
		echo "ok: ${names[i]}: $(kilobytes "${programs[i]}") KiB, $(descriptors "${programs[i]}") descriptors;" \
			"in the first third ${most_kib[$i]:-?} and ${most_fds[$i]:-?} at most"
	done
}
