#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# as.sh - `rocin run --as NAME': the properties that a device reports in the name of another device,
# the calls that it refuses, and that the other calls work.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
here=$(dirname "$0")

# ---- Attributes are those that the kernel's rxe0 has reported, except for Rocin's own limits
# These limits on the number and the size of objects are lower than those of rxe. The device reports
# them, because it refuses what exceeds them.
ours='max_qp|max_qp_wr|max_cq|max_pd|max_mcast_grp|max_total_mcast_qp_attach|max_srq|max_srq_wr'
ours+='|num_comp_vectors|gid_tbl_len|active_mtu'
attributes() { grep -vE "guid|hca_id|board_id|GID\[|^$|^\s*($ours):" "$1"; }
rocin run --netdev "lo:$addr_a" --as rxe -- ibv_devinfo -v >"$work/found" || fail 'ibv_devinfo'
diff <(attributes "$here/rxe-6.1.txt") <(attributes "$work/found") ||
	fail 'a device as rxe is not what the kernel reports'
number() { sed -n "s/^\s*$2:\s*\([0-9]*\).*/\1/p" "$1"; }
for of_ours in ${ours//|/ }; do
	[ "$(number "$work/found" "$of_ours")" -le "$(number "$here/rxe-6.1.txt" "$of_ours")" ] ||
		fail "$of_ours is larger than that of rxe"
done
echo 'ok: ibv_devinfo, rxe'

has() { grep -qE "$1" "$work/found" || fail "as $as: no $1 in $(cat "$work/found")"; }
as=mlx5
rocin run --netdev "lo:$addr_a" --as mlx5 -- ibv_devinfo -v >"$work/found" || fail 'ibv_devinfo'
for line in 'vendor_id:\s*0x02c9' 'vendor_part_id:\s*4119' 'device_cap_flags:\s*0x25321c36' 'max_qp_rd_atom:\s*16$' \
	'max_sge:\s*30$' 'ODP_SUPPORT_IMPLICIT' 'available device memory:\s*131072Bytes'; do
	has "$line"
done
as=efa
rocin run --netdev "lo:$addr_a" --as efa -- ibv_devinfo -v >"$work/found" || fail 'ibv_devinfo'
for line in 'vendor_id:\s*0x1d0f' 'max_sge:\s*2$' 'max_srq:\s*0$' 'ATOMIC_NONE' 'link_layer:\s*Unspecified'; do
	has "$line"
done
echo 'ok: ibv_devinfo, mlx5 and efa'

# ---- Calls that are refused, and with which error
expected() {
	case $1 in
	mlx5) said 'ok ok ok EINVAL ok ok EINVAL ok ok ok ok ok ok ok ok' ;;
	rxe) said 'ok ok EOPNOTSUPP ok ok ok ok ok EOPNOTSUPP EOPNOTSUPP ok EOPNOTSUPP EINVAL EINVAL EOPNOTSUPP' ;;
	efa) said 'EOPNOTSUPP ok EOPNOTSUPP EINVAL EINVAL EINVAL - ok EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP EOPNOTSUPP EINVAL EOPNOTSUPP' ;;
	none) said 'ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok' ;;
	esac
}
calls=('RC' 'UD' 'XRC send' 'UD, 31 SGEs' 'UD, 512 bytes inline' 'UD, 5000 requests' '17 READs to answer' 'a region'
	'another range for it' 'paged on demand' 'for atomics' 'an XRC domain' 'an SRQ of 28 SGEs' 'a CQ of 40000'
	'memory on the device')
said() {
	local -a words
	read -ra words <<<"$1"
	for i in "${!calls[@]}"; do
		[ "${words[i]}" = - ] || echo "${calls[i]}: ${words[i]}"
	done
}
for as in none mlx5 rxe efa; do
	option=(--as "$as")
	[ "$as" != none ] || option=()
	rocin run --netdev "lo:$addr_a" "${option[@]}" -- "$ROCIN_TESTS/as" >"$work/found" || fail "as $as"
	diff <(expected "$as") "$work/found" || fail "as $as"
	# Fault rules and the validation layer replace functions of the device. They must not offer
	# functions that this device lacks.
	rocin run --netdev "lo:$addr_a" "${option[@]}" --fault 'fail=ENOMEM call=reg_mr nth=1000' --validate=leak -- \
		"$ROCIN_TESTS/as" >"$work/found" 2>/dev/null || fail "as $as, validated"
	diff <(expected "$as") "$work/found" || fail "as $as, validated"
done
echo 'ok: calls that are refused'

# ---- The remaining calls work, also with a peer that reports another device
try() { # NAME-A NAME-B COMMAND...
	local a=$1 b=$2
	shift 2
	next_port
	ROCIN_AS=$a timeout "$limit" rocin run --netdev "lo:$addr_a" -- "$@" -p "$port" >"$work/server.out" 2>&1 &
	pids+=($!)
	wait_for listening $! || fail "$* as $a does not listen: $(cat "$work/server.out")"
	ROCIN_AS=$b timeout "$limit" rocin run --netdev "lo:$addr_b" -- "$@" -p "$port" "${addr_a}" \
		>"$work/client.out" 2>&1 || fail "$* as $b: $(cat "$work/client.out" "$work/server.out")"
	wait $! || fail "$* as $a: $(cat "$work/server.out")"
}
try rxe mlx5 ibv_rc_pingpong -g 0 -c -n 200
try mlx5 '' ibv_uc_pingpong -g 0 -c -n 200
try efa rxe ibv_ud_pingpong -g 0 -c -n 200
try mlx5 mlx5 ibv_srq_pingpong -g 0 -c -n 200
echo 'ok: ping-pongs'

for wrong in mlx MLX5 rxe,efa; do
	rocin run --netdev "lo:$addr_a" --as "$wrong" -- ibv_devinfo >"$work/out" 2>&1 && fail "$wrong is taken"
	grep -qF "ROCIN_AS is \"$wrong\"; the devices that can be reported are mlx5, rxe, efa" "$work/out" ||
		fail "$(cat "$work/out")"
done
echo 'ok: wrong words'
