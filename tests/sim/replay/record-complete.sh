#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Every function of the core that the provider calls is recorded, or is known to change
# nothing that goes in or out; and so is every field of what the core is given. The
# recordings that the fuzzer begins with are of the version that is read.
# usage: record-complete.sh SOURCE-DIRECTORY LIB.a...
set -eu
source=$1
shift
# Functions that show their calls (include/rocin/call.h).
recorded=$(awk '/^[a-z].*\(/ { name = match($0, /rn_[a-z_]*\(/) ? substr($0, RSTART, RLENGTH - 1) : "" }
	/RN_SHOW_CALL\(|rn_call_hook\.(attach|cq_call)\(|show_ring\(RN_CALL|grow_table\(dev, RN_CALL|receive_some\(dev, now/ { if (name) print name }' \
	"$source"/transport/{device,object,qp}/*.c | sort -u | paste -sd '|')
for kind in $(sed -n '/^enum rn_call_kind/,/^}/s/^\t\(RN_CALL_[A-Z_]*\)[ ,].*/\1/p' "$source/include/rocin/call.h"); do
	[ "$kind" = RN_CALL_DEV_INIT ] || grep -qw "$kind" "$source"/transport/{device,object,qp}/*.c ||
		{ echo "the core shows no $kind"; exit 1; }
done
# They only look at the core, or at a structure before the core has it; the record of a QP
# in the statistics, its completion counters and its owner are not looked at by the core, who is told diagnostics
# answers nothing, and who is silent is forgotten without a trace. The memory of a device that is
# recorded is not replaced. Where responder
# resources are kept makes no difference: QPs of a replay have room for all in their block.
pure='rn_dev_(size|deadline|acks_due|is_amid_message|requests|received|has_\w+|find_\w+|set_diagnostic|set_memory|silent)|rn_mcast_(find|members)'
pure="$pure|rn_(mr_init|mr_init_null|mw_init|srq_size|srq_ring_size|srq_owner|srq_query|srq_next|srq_wqe)"
pure="$pure|rn_qp_(size|state|qpn|first_psn|owner|query|rate|retries|msn|peer_msn|unacked|unsent|rnr|was_answered|check_send|sq_\w+|rq_next|rq_wqe)"
pure="$pure|rn_qp_(sge_address|set_owner|set_stats|set_tallies|state_name|type_name|resources\w*|reads\w*|lend_resources|lend_reads)"
called=$(nm -u "$@" | awk '$1 == "U" { print $2 }' | sort -u |
	grep -Ex 'rn_(dev|cq|qp|srq|mcast|mr|mw)_\w+')
[ "$(wc -l <<<"$called")" -gt 30 ] || { echo "no calls into the core in $*"; exit 1; }
missing=$(grep -Evx "$recorded|$pure" <<<"$called" || true)
[ -z "$missing" ] || { echo "neither recorded nor known to be pure:"; echo "$missing"; exit 1; }

# fields STRUCTURE: names of its members, but for pointers
fields() {
	cat "$source"/include/rocin/*.h | tr '\n\t' '  ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' |
		grep -oE "struct $1 \{[^}]*\};" | sed 's/^[^{]*{//; s/}.*//' | tr ';' '\n' |
		grep -v '[*(]' | sed 's/\[[^]]*\]//g' | tr ',' '\n' | awk 'NF { print $NF }'
}
# The fields of every kind of record.
described=$(sed -n '/^#define S struct/,/^#undef S$/p' "$source/sim/replay/recording.c")
# A region's place in tables and its bindings are the core's own, and what tx->part says
# of a packet is in the packet.
own='node|windows|part|sq_draining|lent_resources'
for structure in rn_dev_cfg rn_qp_init rn_qp_attr rn_alt_path rn_send_wr rn_recv_wr rn_sge \
	rn_av rn_flow rn_tx rn_rx rn_rx_frame rn_event rn_srq_init rn_mr rn_mem_attr \
	rn_mem_atomic_req rn_mem_ops; do
	names=$(fields "$structure")
	[ -n "$names" ] || { echo "there is no struct $structure"; exit 1; }
	for name in $names; do
		grep -Eq "[(, .]$name\b" <<<"$described" ||
			grep -Eqx "$own" <<<"$name" ||
			{ echo "$structure.$name is not recorded, see recording.c"; exit 1; }
	done
done

version=$(sed -n 's/.*RN_REC_VERSION = \([0-9]*\),.*/\1/p' "$source/sim/replay/recording.h")
for file in "$source"/tests/fuzz/corpus/recording/*; do
	[ "$(od -An -tu1 -j8 -N1 "$file" | tr -d ' ')" = "$version" ] ||
		{ echo "$file is not of version $version of the format"; exit 1; }
done
