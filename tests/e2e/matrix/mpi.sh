#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# mpi.sh - an MPI of the distribution, whose ranks talk over a device by UCX: mpi_data checks
# messages, collective and one-sided operations, hpcc the HPC Challenge benchmarks.
#
# usage: mpi.sh openmpi|mpich|hpcc
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
what=$1
export UCX_TLS=rc_v,self UCX_NET_DEVICES=rocin0:1 HYDRA_LAUNCHER=fork
# UCX gives a peer up that does not answer for 30 s, which a busy machine may take.
export UCX_UD_VERBS_TIMEOUT=30m

# ranks PROGRAM...: on two of them
ranks() {
	local -a launcher=(mpirun.openmpi -np 2 --oversubscribe --bind-to none --mca pml ucx --mca osc ucx)
	[ "$(id -u)" != 0 ] || launcher+=(--allow-run-as-root)
	[ "$what" != mpich ] || launcher=(mpirun.mpich -np 2)
	timeout "$limit" rocin run --netdev "lo:$addr_a" -- "${launcher[@]}" "$@" >"$work/out" 2>&1 ||
		fail "$what: $(tail -15 "$work/out")"
}

if [ "$what" = hpcc ]; then
	example=/usr/share/doc/hpcc/examples/_hpccinf.txt
	[ -e "$example" ] || skip 'hpcc is not installed'
	command -v hpcc mpirun.openmpi >/dev/null || skip 'hpcc or openmpi-bin is not installed'
	# Two ranks instead of four, and as little as the benchmarks take.
	sed -e '11,12s/^2/1/;12s/^1/2/' -e '6s/^1000/200/' -e '8s/^80/20/' "$example" >"$work/hpccinf.txt"
	cd "$work" || exit 1
	ranks hpcc
	[ -s hpccoutf.txt ] || fail "hpcc wrote nothing: $(tail -5 "$work/out")"
	grep -E 'FAILED|abort' hpccoutf.txt && fail 'hpcc: a benchmark has failed'
	for line in '1 tests completed and passed residual checks' 'MPIRandomAccess_Errors=0$' \
		'MPIFFT_maxErr=[0-9.]*e-1[0-9]$' 'Success=1$'; do
		grep -qE "$line" hpccoutf.txt || fail "hpcc does not say: $line"
	done
	echo "ok: hpcc: $(grep -cE '^Begin of' hpccoutf.txt) benchmarks, no error"
	exit 0
fi
command -v "mpicc.$what" "mpirun.$what" >/dev/null || skip "$what is not installed"
"mpicc.$what" -O1 -o "$work/mpi_data" "$(dirname "$0")/mpi_data.c" || fail "mpicc.$what"
ranks "$work/mpi_data"
grep -q '^2 ranks: 0 wrong$' "$work/out" || fail "$what: $(tail -5 "$work/out")"
echo "ok: $what: $(tail -1 "$work/out")"
