/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_args.h - the options of `rocin bench`.
 *
 * Two programs share this: `rocin bench`, which judges the options and makes the
 * environment, and rocin-bench, which it becomes and which is linked with libibverbs.
 */
#ifndef RN_BENCH_ARGS_H
#define RN_BENCH_ARGS_H

#include "bench_item.h"

enum rn_bench_set {
	RN_BENCH_STANDARD, /* each item as it is in the table of items */
	RN_BENCH_BARS,	   /* what the device is meant to reach */
	RN_BENCH_SWEEP	   /* bandwidth and latency over size */
};

enum {
	RN_BENCH_ROUNDS_MAX = 1000,
	RN_BENCH_ONLY_MAX = 64,
	RN_BENCH_LIST_MAX = 32
};

struct rn_bench_list {
	uint32_t value[RN_BENCH_LIST_MAX];
	unsigned count; /* 0: not given */
};

struct rn_bench_args {
	enum rn_bench_set set;
	struct rn_bench_cell only[RN_BENCH_ONLY_MAX]; /* instead of the set */
	unsigned only_count;
	struct rn_bench_list sizes, qps, processes;
	bool wire[RN_BENCH_WIRE_COUNT]; /* none: as the cells say */
	unsigned rounds;		/* 1 .. RN_BENCH_ROUNDS_MAX */
	unsigned slice_ms;		/* 1 .. 60000; 0: as fits the set */
	unsigned time_s;		/* for all slices together; 0: no matter */
	bool json;
	bool pin;
	const char *netdevs;  /* NULL: $ROCIN_NETDEVS, else the default */
	const char *beside;   /* device; NULL: the first that is not Rocin's */
	const char *plot;     /* file for the picture, or NULL */
	const char *save;     /* file for the JSON, or NULL */
	const char *baseline; /* file of an earlier --save, or NULL */
};

/* Read the options; ends the process for --help and for wrong ones, as argp does. */
void rn_bench_args_parse(int argc, char **argv, struct rn_bench_args *args);

#endif /* RN_BENCH_ARGS_H */
