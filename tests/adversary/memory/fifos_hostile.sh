#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fifos_hostile.sh - somebody of the same user puts fifos where Rocin has files of its own: whoever
# opens them does not wait for somebody at the other end.
# shellcheck source=../../e2e/kit/lib.sh
. "$(dirname "$0")/../../e2e/kit/lib.sh"

# soon NAME COMMAND...: ends well, and not by being killed after longer than it takes anywhere
soon() {
	timeout -k 1 300 "${@:2}" >"$work/out" 2>&1 || fail "$1: status $?: $(tail -3 "$work/out")"
	echo "ok: $1"
}
# fifo FILE: in place of the file, which is there
fifo() {
	[ -f "$1" ] || fail "there is no $1"
	rm "$1" && mkfifo "$1"
}
run=(rocin run --netdev "lo:$addr_a" --)

touch "$work/done"
one_qp=("$ROCIN_TESTS/hold_qp" "$work/ready" "$work/done")
soon 'a program, which leaves files' "${run[@]}" "${one_qp[@]}"
soon 'rocind has ended' rocin stop
fifo "$ROCIN_RUNTIME_DIR/guid-salt"
soon 'the salt of GUIDs' "${run[@]}" "${one_qp[@]}"
fifo "$(echo "$ROCIN_RUNTIME_DIR"/counters-*)"
soon 'counters of programs that have ended' rocin stat --counters
soon 'the same, which rocind would write' "${run[@]}" "${one_qp[@]}"

# Ends of connections: the file of a process that has never been.
rocin run --validate=error --netdev "lo:$addr_b" -- \
	"$ROCIN_TESTS/hold_qp" "$work/ready-b" "$work/go" >"$work/hold" 2>&1 &
pids+=("$!")
has_ends() { compgen -G "$ROCIN_RUNTIME_DIR/validate-*" >/dev/null; }
wait_for has_ends || fail 'no file of ends'
file=$(compgen -G "$ROCIN_RUNTIME_DIR/validate-*" | head -1)
mkfifo "${file%.*}.1"
soon 'ends of connections' rocin run --validate=error --netdev "lo:$addr_a" -- "${one_qp[@]}"
touch "$work/go"
wait "${pids[-1]}" || fail "hold_qp: $(tail -3 "$work/hold")"

# Last: a tree that is not as it was written is refused by whoever would use it again.
# shellcheck disable=SC2016 # in the program
soon 'counters and attributes in the tree' "${run[@]}" python3 -c '
import os
port = "/sys/class/infiniband/rocin0/ports/1"
here = os.environ["ROCIN_TREE"] + port
for name in ("counters/port_xmit_data", "hw_counters/" + os.listdir(port + "/hw_counters")[0], "../../node_guid"):
    os.unlink(os.path.join(here, name))
    os.mkfifo(os.path.join(here, name))
os.listdir(port + "/counters")
os.listdir(port + "/hw_counters")
'
