/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_wire.h - whether the packets of a team took the wire that is measured. */
#ifndef RN_BENCH_WIRE_H
#define RN_BENCH_WIRE_H

#include "bench_team.h"

struct rn_rocind;

/**
 * rn_bench_wire_check() - Look which way packets have gone since the last call
 * @daemon:	Connection to rocind, which has the counters; NULL: made and kept there
 * @team:	Whose packets; not in the middle of an order
 * @cell:	What it has just measured
 * @err:	Out on failure: one sentence
 *
 * UDP: none through shared memory. Local: most; the first of two processes cannot.
 *
 * Return: 0, also for what is not measured by one of Rocin's devices, or -1.
 */
int rn_bench_wire_check(struct rn_rocind **daemon, struct rn_bench_team *team,
			const struct rn_bench_cell *cell, char *err, size_t err_len);

#endif /* RN_BENCH_WIRE_H */
