/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench.h - what the parts of rocin-bench share.
 *
 * Two processes, one fork, before any verbs call. Both go through the same plan, item by
 * item and round by round, and meet before and after each slice. The sender decides when
 * a slice is over and has the result; the receiver serves until then.
 *
 * Threads: one in each process, besides those of the plugin.
 */
#ifndef RN_BENCH_H
#define RN_BENCH_H

#include <stdatomic.h>

#include "bench_args.h"

enum rn_bench_role {
	RN_BENCH_SENDER,
	RN_BENCH_RECEIVER
};

/* Shared by both processes; each of what is written while a slice runs has its own
 * cache line.
 */
struct rn_bench_shared {
	_Alignas(64) _Atomic uint64_t received; /* by the receiver: bytes or packets */
	_Alignas(64) _Atomic uint64_t sent; /* valid when stop is set; units as above */
	_Atomic bool stop;		    /* by the sender: the slice is over */
	_Alignas(64) _Atomic bool failed;   /* by either, for ever */
	char sentence[2][512];		    /* by role: why */
};

struct rn_bench_end {
	enum rn_bench_role role;
	struct rn_bench_shared *shared;
	int meet_fd; /* stream socket to the other process */
	uint64_t slice_ns;
	unsigned round;
	const char *item_name; /* what is being done, for messages; or NULL */
	uint32_t path_mtu;     /* of the device; 4096 if none was opened */
	bool pinned;	       /* each process has a processor of its own */
};

/* One thing to measure. All return 0, or -1 after rn_bench_fail(). */
struct rn_bench_ops {
	/* Connect with the other process; @state: out. */
	int (*open)(struct rn_bench_end *end, enum rn_bench_item item, void **state);
	/* Not timed, before the slice: new data, so that old data is noticed; or NULL. */
	void (*fill)(struct rn_bench_end *end, void *state);
	/* @result: in the item's unit; of the sender only. */
	int (*run)(struct rn_bench_end *end, void *state, double *result);
	/* Not timed, after both have ended the slice: is the data right? Or NULL. */
	int (*check)(struct rn_bench_end *end, void *state);
	/* Also after a failed open(), with what it left in *state. */
	void (*close)(void *state);
};
extern const struct rn_bench_ops rn_bench_stream_ops, rn_bench_ping_pong_ops,
	rn_bench_tcp_bw_ops, rn_bench_tcp_lat_ops, rn_bench_udp_bw_ops,
	rn_bench_udp_lat_ops, rn_bench_udp_rate_ops, rn_bench_memcpy_ops;

/* Note why, for both processes. Return: -1. */
int rn_bench_fail(struct rn_bench_end *end, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Give the other process @len bytes and take as many; @len at most a few hundred. */
int rn_bench_exchange(struct rn_bench_end *end, const void *mine, void *theirs,
		      size_t len);
int rn_bench_meet(struct rn_bench_end *end);

/* True once the receiver should end its slice (or all has failed). */
bool rn_bench_stopped(const struct rn_bench_end *end);

/* Times a slice of the sender: a fifth of the slice warms up, then it counts. */
struct rn_bench_meter {
	struct rn_bench_end *end;
	uint64_t warm_ns, end_ns;    /* when; end_ns moves with start_ns */
	uint64_t start_ns, start_at; /* 0 while it warms up; @done then */
	uint64_t stop_ns, stop_at;
	uint64_t give_up_ns;
};

void rn_bench_meter_start(struct rn_bench_meter *m, struct rn_bench_end *end);

/* @done: units so far, ever rising. Return: false when the slice is over. */
bool rn_bench_meter_runs(struct rn_bench_meter *m, uint64_t done);

/* While waiting in vain: 0, or -1 if the other process failed or nothing has come for
 * ten seconds after the slice.
 */
int rn_bench_meter_patience(struct rn_bench_meter *m);

double rn_bench_meter_per_ns(const struct rn_bench_meter *m);  /* units per ns */
double rn_bench_meter_us_each(const struct rn_bench_meter *m); /* us per unit */

/* Fill with, or compare with, what @seed says. */
void rn_bench_pattern(uint8_t *buf, size_t len, uint64_t seed);
bool rn_bench_is_pattern(const uint8_t *buf, size_t len, uint64_t seed);

/* The plan; both processes. @result[round][item]: out, of the sender. */
struct rn_bench_results {
	double value[RN_BENCH_ROUNDS_MAX][RN_BENCH_ITEM_COUNT];
};
int rn_bench_rounds(struct rn_bench_end *end, const struct rn_bench_args *args,
		    struct rn_bench_results *results);

/* Print the table or the JSON on standard output. Return: 0 or -1. */
int rn_bench_report(const struct rn_bench_end *end, const struct rn_bench_args *args,
		    const struct rn_bench_results *results);

enum {
	RN_BENCH_BIG = 1 << 20 /* bytes of a message where bandwidth is measured */
};

#endif /* RN_BENCH_H */
