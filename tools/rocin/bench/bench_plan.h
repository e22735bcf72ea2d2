/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_plan.h - which cells a run measures, and which of them are held together.
 *
 * A function of the options and of what the machine has; nothing is measured here.
 */
#ifndef RN_BENCH_PLAN_H
#define RN_BENCH_PLAN_H

#include "bench_args.h"

enum {
	RN_BENCH_CELLS_MAX = 512,
	RN_BENCH_RATIOS_MAX = 1024
};

enum rn_bench_measure {
	RN_BENCH_QUOTIENT,  /* of the values */
	RN_BENCH_TAIL_LATER /* p99.9 of @over less that of @under, in us */
};

enum rn_bench_meant {
	RN_BENCH_NOTHING_MEANT,
	RN_BENCH_AT_LEAST,
	RN_BENCH_AT_MOST
};

struct rn_bench_ratio {
	const char *work;     /* of a bar: in words; else NULL */
	unsigned over, under; /* cells; valid unless why_not */
	enum rn_bench_measure measure;
	enum rn_bench_meant meant;
	double bar;
	const char *why_not; /* the row is there, but nothing is measured; or NULL */
};

struct rn_bench_plan {
	struct rn_bench_cell cell[RN_BENCH_CELLS_MAX];
	struct rn_bench_ratio ratio[RN_BENCH_RATIOS_MAX];
	unsigned cells, ratios;
	unsigned rounds, slice_ms;
};

/* What there is besides Rocin's device over UDP. */
struct rn_bench_machine {
	bool local_wire;
	bool beside;
};

/**
 * rn_bench_plan_make() - What these options ask for
 * @plan:	Out: at least one cell
 * @err:	Out on failure: one sentence
 *
 * Cells that the machine does not have are left out, unless they were asked for by name.
 *
 * Return: 0; -ENODEV if what was asked for is not there, -E2BIG if it is too much.
 */
int rn_bench_plan_make(const struct rn_bench_args *args,
		       const struct rn_bench_machine *machine, struct rn_bench_plan *plan,
		       char *err, size_t err_len);

/* "write_bw / tcp_bw", in the cells' own text. */
void rn_bench_ratio_write(const struct rn_bench_plan *plan,
			  const struct rn_bench_ratio *ratio, char *text, size_t len);

#endif /* RN_BENCH_PLAN_H */
