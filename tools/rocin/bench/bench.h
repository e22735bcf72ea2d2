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

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "plan.h"
#include "stats.h"

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

/* ---- One process of a team ---- */

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

/* ---- All teams ---- */

static inline struct rn_bench_value *rn_bench_at(const struct rn_bench_results *results,
						 const struct rn_bench_plan *plan,
						 unsigned round, unsigned cell)
{
	return &results->value[(size_t)round * plan->cells + cell];
}

/* Name of the device to measure beside Rocin's, in @name. Return: false if there is none.
 * Asked by a process of its own, as the one that forks must not call verbs.
 */
bool rn_bench_find_beside(const char *wish, char *name, size_t len);

/* ----------------------------------------------------------------------- queue pairs */
/* RC queue pairs between the two processes of a pair. */

struct rn_bench_link_cfg {
	uint32_t qps;
	uint32_t tx_depth, rx_depth; /* WRs of each */
	uint32_t cq_depth;
	uint32_t inline_len; /* wanted; less is no failure */
	bool events;	     /* the CQ has a completion channel */
	size_t buf_len;
};

struct rn_bench_link {
	struct ibv_comp_channel *channel; /* or NULL */
	struct ibv_cq *cq;		  /* of all queues */
	struct ibv_qp **qp;
	uint32_t qps;
	struct ibv_mr *mr;
	uint8_t *buf; /* page-aligned, cleared */
	bool has_inline;
	uint64_t remote_va; /* of the other process's buf */
	uint32_t remote_rkey;
	bool counted; /* among the links of the open device */
};

/**
 * rn_bench_link_open() - Connect with the other process, which does the same
 *
 * The first link of a process opens end->device, the last one that is closed closes it.
 * end->path_mtu becomes that of the device.
 *
 * Return: 0, or -1 after rn_bench_fail(); then too rn_bench_link_close() is due.
 */
int rn_bench_link_open(struct rn_bench_end *end, const struct rn_bench_link_cfg *cfg,
		       struct rn_bench_link *link);
void rn_bench_link_close(struct rn_bench_link *link);

/* ------------------------------------------------------------------- work over verbs */
/* What the shapes of work of a program that uses verbs share.
 *
 * The programs of perftest are the model: both ends poll, a stream of requests is posted
 * one by one and each is signaled, WRITE ping-pong polls for its completion and then
 * spins on memory.
 */

enum {
	RN_BENCH_POLL_BATCH = 16
};

/* Messages leave from the start of the buffer; what arrives lies from rx_offset on in
 * rx_slots pieces, taken in turn. In a stream of big messages the two are the same.
 */
struct rn_bench_verbs {
	struct rn_bench_link link;
	enum ibv_wr_opcode opcode;
	bool streams, events;
	uint32_t len;
	uint32_t tx_depth; /* requests under way, of all queue pairs together */
	uint32_t rx_depth; /* receives of each queue pair */
	uint32_t rx_slots;
	size_t rx_offset, rx_stride;
	uint32_t burst;		    /* requests posted to a queue pair in one turn */
	uint32_t share;		    /* requests under way of one queue pair, at most */
	uint32_t next_qp;	    /* whose turn it is */
	uint32_t *under_way;	    /* of each queue pair */
	uint64_t posted, completed; /* requests */
	uint64_t received;	    /* messages, since the slice began */
	uint64_t next_recv;	    /* receives posted, ever */
	uint64_t sequence;	    /* of ping-pong */
};

/* ----------------------------------------------------------------------------- teams */
/* The processes that measure, as the one that gives orders sees them. */

enum {
	RN_BENCH_TEAMS_MAX = 64
};

struct rn_bench_pair {
	struct rn_bench_shared *shared;
	pid_t pid[2]; /* by role; 0: not started */
	int fd[2];    /* orders and answers; -1: none */
};

/* Packets. */
struct rn_bench_sent {
	uint64_t all, local;
};

/* Cells of one team need the same environment and the same number of processes. */
struct rn_bench_team {
	struct rn_bench_cell like;
	const struct rn_bench_plan *plan;
	unsigned pairs;
	struct rn_bench_pair pair[RN_BENCH_PAIRS_MAX];
	struct rn_bench_sent sent; /* when rn_bench_wire_check() looked last */
};

/* Do these need the same team? */
bool rn_bench_same_team(const struct rn_bench_cell *a, const struct rn_bench_cell *b);

/**
 * rn_bench_team_start() - Fork the processes of a team for cells like @cell
 * @team:	Out; rn_bench_team_end() is due, also after a failure
 * @plan:	Is to stay as long as the team
 *
 * Return: 0 or -errno.
 */
int rn_bench_team_start(struct rn_bench_team *team, const struct rn_bench_args *args,
			const struct rn_bench_plan *plan,
			const struct rn_bench_cell *cell);

/**
 * rn_bench_team_do() - Give an order to all processes of a team and wait for all answers
 * @value:	Out: of the pairs together
 * @answer:	Out: of the last one
 * @err:	Out on failure: one sentence
 *
 * Return: 0, or -1 if one has failed, has died or does not answer in time. The team is of
 * no more use then.
 */
int rn_bench_team_do(struct rn_bench_team *team, const struct rn_bench_order *order,
		     struct rn_bench_value *value, struct rn_bench_answer *answer,
		     char *err, size_t err_len);

/* End and reap them. Return: 0, or -1 if one did not end well. */
int rn_bench_team_end(struct rn_bench_team *team);

/* -------------------------------------------------------------------------- the wire */
/* Whether the packets of a team took the wire that is measured. */

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

#endif /* RN_BENCH_H */
