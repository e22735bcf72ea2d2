/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench.h - what the parts of rocin-bench share.
 *
 * The process that was started gives orders and reports. The work is done by teams, each
 * of them one or more pairs of a sending and a receiving process, forked before any verbs
 * call: one team for each environment that cells need, so that nothing of one is in the
 * way of another. One team works at a time; the others sleep. The two processes of a pair
 * meet before and after each slice. The sender decides when a slice is over and has the
 * result; the receiver serves until then.
 *
 * Threads: one in each process, besides those of the plugin.
 */
#ifndef RN_BENCH_H
#define RN_BENCH_H

#include <stdatomic.h>
#include <sys/types.h>

#include "bench_plan.h"
#include "bench_stats.h"

enum rn_bench_role {
	RN_BENCH_SENDER,
	RN_BENCH_RECEIVER
};

/* Shared by both processes of a pair and by the one that gives orders; each of what is
 * written while a slice runs has its own cache line.
 */
struct rn_bench_shared {
	_Alignas(64) _Atomic uint64_t received; /* by the receiver: bytes or packets */
	_Alignas(64) _Atomic uint64_t sent; /* valid when stop is set; units as above */
	_Atomic bool stop;		    /* by the sender: the slice is over */
	_Alignas(64) _Atomic bool failed;   /* by either, for ever */
	char sentence[2][512];		    /* by role: why */
	struct rn_bench_times times;	    /* by the sender, of the last slice */
};

struct rn_bench_end {
	enum rn_bench_role role;
	struct rn_bench_shared *shared;
	int meet_fd; /* stream socket to the other process */
	uint64_t slice_ns;
	unsigned round;
	const struct rn_bench_cell *cell; /* what is being done, for messages; or NULL */
	uint32_t path_mtu;		  /* of the device; 4096 if none was opened */
	const char *device;		  /* to open; NULL: the first of Rocin's */
	bool pinned;			  /* each process has a processor of its own */
};

/* One thing to measure. All return 0, or -1 after rn_bench_fail(). */
struct rn_bench_ops {
	/* Connect with the other process for end->cell; @state: out. */
	int (*open)(struct rn_bench_end *end, void **state);
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
	rn_bench_alone_ops, rn_bench_tcp_bw_ops, rn_bench_tcp_lat_ops,
	rn_bench_udp_bw_ops, rn_bench_udp_lat_ops, rn_bench_memcpy_ops;

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
	bool times;		     /* note how long passes between calls */
	uint64_t warm_ns, end_ns;    /* when; end_ns moves with start_ns */
	uint64_t start_ns, start_at; /* 0 while it warms up; @done then */
	uint64_t stop_ns, stop_at;
	uint64_t last_ns;
	uint64_t give_up_ns;
};

void rn_bench_meter_start(struct rn_bench_meter *m, struct rn_bench_end *end);

/* As above, where each call but the first means that one round trip is over. */
void rn_bench_meter_start_trips(struct rn_bench_meter *m, struct rn_bench_end *end);

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

/* What a slice brought. */
struct rn_bench_value {
	double value;		/* in the item's unit; of all pairs together */
	double p50, p99, p99_9; /* us, of single round trips; NAN if there were none */
};

struct rn_bench_results {
	struct rn_bench_value *value; /* rounds times cells, round by round */
	uint32_t path_mtu;
	bool pinned;
};

/* ---- One process of a team: bench_member.c ---- */

struct rn_bench_order {
	enum {
		RN_BENCH_ORDER_OPEN, /* connect for a cell */
		RN_BENCH_ORDER_PIN,  /* no more cells are opened */
		RN_BENCH_ORDER_SLICE,
		RN_BENCH_ORDER_END
	} what;
	unsigned cell, round;
	uint32_t path_mtu; /* of the devices that were opened before, 0 if none */
};

struct rn_bench_answer {
	int rc;
	double value; /* of a slice, from the sender */
	uint32_t path_mtu;
	bool pinned;
};

/* Carry out orders from @fd until RN_BENCH_ORDER_END, or until nobody gives any. Never
 * returns.
 */
void rn_bench_member(struct rn_bench_end *end, const struct rn_bench_plan *plan, bool pin,
		     int fd) __attribute__((noreturn));

/* ---- All teams: bench_rounds.c, bench_team.c; rn_bench_at(): bench_report.c ---- */

/**
 * rn_bench_rounds() - Measure what the plan says
 * @results:	Out; rn_bench_results_free() is due, also after a failure
 * @err:	Out on failure: one sentence
 *
 * All processes that it starts have ended when it returns, and end when this one does.
 *
 * Return: 0 or -1.
 */
int rn_bench_rounds(const struct rn_bench_args *args, const struct rn_bench_plan *plan,
		    struct rn_bench_results *results, char *err, size_t err_len);
void rn_bench_results_free(struct rn_bench_results *results);

struct rn_bench_value *rn_bench_at(const struct rn_bench_results *results,
				   const struct rn_bench_plan *plan, unsigned round,
				   unsigned cell);

/* Name of the device to measure beside Rocin's, in @name. Return: false if there is none.
 * Asked by a process of its own, as the one that forks must not call verbs.
 */
bool rn_bench_find_beside(const char *wish, char *name, size_t len);

#endif /* RN_BENCH_H */
