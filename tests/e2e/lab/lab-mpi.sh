#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lab-mpi.sh - Open MPI across four hosts of a lab, over UCX and the Rocin devices.
#
# usage: lab-mpi.sh root|nobody
who=$1
# shellcheck source=lab_lib.sh
. "$(dirname "$0")/lab_lib.sh"
command -v mpicc mpirun >/dev/null || skip 'openmpi-bin and libopenmpi-dev are not installed'
cat >"$work/ring.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each rank sends to the next one, and all sum up. Return: bytes that are wrong. */
static int pass_on(int rank, int size, int len)
{
	unsigned char *out = malloc(len), *in = malloc(len);
	int from = (rank + size - 1) % size, wrong = 0;

	memset(out, rank + 1, len);
	MPI_Sendrecv(out, len, MPI_BYTE, (rank + 1) % size, 0, in, len, MPI_BYTE, from, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < len; i++)
		wrong += in[i] != from + 1;
	free(out);
	free(in);
	return wrong;
}

int main(int argc, char **argv)
{
	int rank, size, wrong = 0, sum;
	char host[64] = "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int len = 1; len <= 1 << 20; len *= 16)
		wrong += pass_on(rank, size, len);
	MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	gethostname(host, sizeof(host) - 1);
	printf("rank %d of %d on %s: %d wrong\n", rank, size, host, sum);
	MPI_Finalize();
	return sum != 0;
}
END
mpicc -O1 -o "$work/ring" "$work/ring.c" || fail 'mpicc'
run="mpirun -H h1,h2,h3,h4 -np 4 --mca pml ucx -x UCX_TLS=rc,self -x UCX_NET_DEVICES=rocin0:1"
# UCX drops a peer that does not answer for 30 s; on a busy machine an answer may take longer.
run="$run -x UCX_UD_VERBS_TIMEOUT=30m"
[ "$who" != root ] || run="$run --allow-run-as-root"

four_ranks() {
	has out 'h1 | rank 0 of 4 on h1: 0 wrong' 'h1 | rank 1 of 4 on h2: 0 wrong' \
		'h1 | rank 2 of 4 on h3: 0 wrong' 'h1 | rank 3 of 4 on h4: 0 wrong'
}
lab --hosts 4 --timeout 90 --capture "$home/mpi.pcapng" --on h1 "$run '$work/ring'"
said 0 'Open MPI, started through ssh'
four_ranks
for host in 1 2 3 4; do # each rank must have sent a megabyte through the network
	bytes=$(tshark -r "$home/mpi.pcapng" -Y "ip.src == 10.86.0.$host && infiniband" -T fields -e frame.len 2>/dev/null |
		awk '{ n += $1 } END { print n + 0 }')
	[ "$bytes" -gt 1100000 ] || fail "h$host has sent $bytes bytes"
done
echo 'ok: over the devices'
lab --hosts 4 --timeout 90 --loss 0.5% --delay 20us --on h1 \
	"$run --mca plm_rsh_agent 'rocin lab-exec' '$work/ring'"
said 0 'Open MPI, started through rocin lab-exec, with loss and delay'
four_ranks
