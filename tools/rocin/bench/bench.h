/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench.h - declarations shared by the files of rocin-bench.
 *
 * The process that the user starts gives orders to teams and prints the report. A team is
 * a group of processes that measures some of the cells (a cell is one thing to measure,
 * with its parameters; see plan.h). It has one or more pairs of a sending and a receiving
 * process, forked before any verbs call. Cells that need different environment variables
 * have different teams, so that settings of one do not affect another. One team works at
 * a time; the others sleep. Each cell is measured in several time slices. The two
 * processes of a pair synchronise before and after each slice. The sender decides when
 * the slice ends and computes the result; the receiver works until then.
 *
 * Threads: one per process, besides those of the plugin.
 */
#ifndef RN_BENCH_H
#define RN_BENCH_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h>

#include "plan.h"
#include "rocin/types.h"

/* ---- Statistics: medians, quartiles, and the test whether two samples differ ---- */

/* Summary of a sample. Values that are NAN are left out; @n is the number of the other
 * values.
 */
struct rn_bench_summary {
	double median, q1, q3, min, max; /* values of the summary; NAN if n is 0 */
	unsigned n;
};

/* Sorts @value. Quartiles are interpolated linearly between neighbours (type 7 of R). */
struct rn_bench_summary rn_bench_summarize(double *value, unsigned n);

/* Difference between two samples. */
struct rn_bench_shift {
	/* Two-sided p-value of the Mann-Whitney test: probability that the ranks differ
	 * this much although both samples come from the same distribution. 1 if a sample
	 * is empty.
	 */
	double p;
	/* Hodges-Lehmann estimate: median of all a / b; NAN if a sample is empty. */
	double ratio;
};

/* Compares two samples of positive values. The caller must have sorted them. The p-value
 * is exact for small samples without ties; otherwise it is that of the normal
 * approximation, with corrections for ties and continuity.
 */
struct rn_bench_shift rn_bench_compare(double *a, unsigned a_count, double *b,
				       unsigned b_count);

/* Corrects several p-values in place for multiple tests (Holm), so that all of them can
 * be compared with one significance level.
 */
void rn_bench_holm(double *p, unsigned n);

/* ---- Histogram of times in ns, with 32 buckets per doubling ---- */

enum {
	RN_BENCH_TIME_STEPS = 32 * 60
};

struct rn_bench_times {
	uint32_t count[RN_BENCH_TIME_STEPS];
};

void rn_bench_times_add(struct rn_bench_times *t, uint64_t ns);
void rn_bench_times_merge(struct rn_bench_times *t, const struct rn_bench_times *more);

/* Returns a quantile: the time in ns that is not exceeded by the fraction @share (0 .. 1)
 * of the times. The error is at most 3 %. NAN: the histogram is empty.
 */
double rn_bench_times_quantile(const struct rn_bench_times *t, double share);

/* ---- Processes and cells ---- */

enum rn_bench_role {
	RN_BENCH_SENDER,
	RN_BENCH_RECEIVER
};

/* Memory shared by the two processes of a pair and the process that gives them orders.
 * Fields that are written during a time slice lie in different cache lines.
 */
enum {
	RN_BENCH_SLOTS = 64,	  /* number of packets that the ring of limits.c holds */
	RN_BENCH_SLOT_LEN = 4096, /* maximum payload of a packet in that ring, in bytes */
};

struct rn_bench_slot {
	/* number of the packet in the slot, counted from 1; written last */
	_Alignas(64) _Atomic uint64_t sequence;
	uint32_t crc;
	_Alignas(64) uint8_t payload[RN_BENCH_SLOT_LEN];
};

struct rn_bench_shared {
	/* Number of bytes or packets received in this time slice; written by
	 * the receiver.
	 */
	_Alignas(64) _Atomic uint64_t received;
	/* Number of bytes or packets sent; valid once `stop' is set. */
	_Alignas(64) _Atomic uint64_t sent;
	_Atomic bool stop; /* set by the sender when the slice is over */
	/* set by either process when it has failed; never reset */
	_Alignas(64) _Atomic bool failed;
	char sentence[2][512]; /* error texts: of the sender, of the receiver */
	/* Round trip times in the last time slice; written by the sender. */
	struct rn_bench_times times;
	/* Two words for the cache line ping-pong of limits.c: the sender writes @there,
	 * the receiver @back.
	 */
	_Alignas(64) _Atomic uint64_t there;
	_Alignas(64) _Atomic uint64_t back;
	struct rn_bench_slot slot[RN_BENCH_SLOTS];
};

struct rn_bench_end {
	enum rn_bench_role role;
	struct rn_bench_shared *shared;
	int meet_fd; /* stream socket to the other process of the pair */
	uint64_t slice_ns;
	unsigned round;
	/* The cell (a measurement with its parameters, plan.h) that is being measured,
	 * for error messages; or NULL.
	 */
	const struct rn_bench_cell *cell;
	/* Path MTU of the device; 4096 if none was opened. */
	uint32_t path_mtu;
	/* Device to open; NULL: the first Rocin device. */
	const char *device;
	bool pinned;   /* the process was bound to a processor */
	bool pins;     /* threads of the process are to be bound, too */
	unsigned pair; /* number of the pair that the process belongs to, from 0 */
};

/* Binds the calling thread to a processor of its own, the one with number @place among
 * those that the process may use. Return: false if there are fewer than @places, so that
 * the scheduler places the thread.
 */
bool rn_bench_pin(unsigned place, unsigned places);

/* Binds the calling thread to the first two processors, which all processes share. */
bool rn_bench_pin_packed(void);

/* The functions of one kind of measurement, such as bandwidth over verbs. Those that
 * return int return 0, or -1 after they have called rn_bench_fail().
 */
struct rn_bench_ops {
	/* Connects with the other process, to measure the cell end->cell; sets @state. */
	int (*open)(struct rn_bench_end *end, void **state);
	/* Writes new data to the source buffer. If the data are not transferred, check()
	 * then finds the old data. Called before each slice, outside of the measured
	 * time. May be NULL.
	 */
	void (*fill)(struct rn_bench_end *end, void *state);
	/* Measures for one time slice. Only the sender sets *@result; its unit is that of
	 * the item that is measured (plan.h).
	 */
	int (*run)(struct rn_bench_end *end, void *state, double *result);
	/* Checks that the data were transferred. Called after both processes have ended
	 * the slice, outside of the measured time. May be NULL.
	 */
	int (*check)(struct rn_bench_end *end, void *state);
	/* Frees @state. Also called after open() has failed. */
	void (*close)(void *state);
};
extern const struct rn_bench_ops rn_bench_stream_ops, rn_bench_threads_ops,
	rn_bench_ping_pong_ops, rn_bench_alone_ops, rn_bench_tcp_bw_ops,
	rn_bench_tcp_lat_ops, rn_bench_udp_bw_ops, rn_bench_udp_lat_ops,
	rn_bench_memcpy_ops, rn_bench_ring_ops, rn_bench_line_ops;

/* Stores the reason of a failure in the shared memory, where both processes see it.
 * Returns -1.
 */
int rn_bench_fail(struct rn_bench_end *end, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Exchanges messages with the other process of the pair, which makes the same call: sends
 * the @len bytes at @mine, and receives @len bytes into @theirs. @len is at most a few
 * hundred. Returns 0, or -1 if the other process has ended.
 */
int rn_bench_exchange(struct rn_bench_end *end, const void *mine, void *theirs,
		      size_t len);
int rn_bench_meet(struct rn_bench_end *end);

/* Called in the receiver. Returns true if it must end its time slice, because the sender
 * has ended it or a process has failed.
 */
bool rn_bench_stopped(const struct rn_bench_end *end);

/* Called in the receiver, which has received @received units so far. Returns true if it
 * must expect more. When the sender has ended the time slice, the receiver still takes
 * what was sent.
 */
bool rn_bench_has_more(const struct rn_bench_end *end, uint64_t received);

/* The memory of a measurement without verbs: payloads of packets are copied from it, or
 * to it.
 */
struct rn_bench_message {
	uint8_t *bytes;
	/* number of bytes in @bytes, and offset of the next payload */
	uint32_t len, at;
};

/* Returns the address of the next @payload bytes of the message, and advances @m->at
 * behind them. If the rest of the message is then shorter than @payload, sets @m->at to
 * 0.
 */
static inline uint8_t *rn_bench_next_piece(struct rn_bench_message *m, uint32_t payload)
{
	uint8_t *piece = m->bytes + m->at;

	m->at += payload;
	if (m->at + payload > m->len)
		m->at = 0;
	return piece;
}

/* Copies @len bytes of a payload and returns their CRC-32, in one pass if the processor
 * supports it. The sender and the receiver of an RC packet must each do at least this
 * work.
 */
uint32_t rn_bench_copy_and_sum(uint8_t *dst, const uint8_t *src, uint32_t len);

/* The sender's clock and counter for one time slice. The first fifth of the slice is a
 * warm-up, whose units are not counted.
 */
struct rn_bench_meter {
	struct rn_bench_end *end;
	bool times; /* record the times between calls of rn_bench_meter_runs() */
	/* Times in ns at which the warm-up ends (@warm_ns) and at which the slice ends.
	 * @end_ns is set when @start_ns is.
	 */
	uint64_t warm_ns, end_ns;
	/* Time in ns at which counting started; 0 during the warm-up. @start_at: value
	 * that @done had then.
	 */
	uint64_t start_ns, start_at;
	uint64_t stop_ns, stop_at;
	uint64_t last_ns;
	/* Time in ns at which the measurement is stuck, and the run delay in ns that it
	 * takes into account; see rn_bench_meter_patience().
	 */
	uint64_t give_up_ns, delay_ns;
};

/* Returns the run delay of this thread: for how many ns it has been ready to run while
 * other threads had the processor; 0 if the kernel does not count that. Source:
 * /proc/PID/schedstat in proc(5).
 */
uint64_t rn_bench_run_delay_ns(void);

void rn_bench_meter_start(struct rn_bench_meter *m, struct rn_bench_end *end);

/* Starts the meter as rn_bench_meter_start() does. In addition, each call of
 * rn_bench_meter_runs() after the first one ends a round trip, whose time is recorded.
 */
void rn_bench_meter_start_trips(struct rn_bench_meter *m, struct rn_bench_end *end);

/* Tells the meter that @done units have been transferred since the start; @done never
 * decreases. Returns false when the slice is over.
 */
bool rn_bench_meter_runs(struct rn_bench_meter *m, uint64_t done);

/* Called in the sender's loops that wait for packets or completions. Returns 0 if the
 * loop may go on, or -1 if the other process has failed or the slice should have ended
 * ten seconds ago. The run delay does not count as part of the ten seconds.
 */
int rn_bench_meter_patience(struct rn_bench_meter *m);

/* Called in the sender at the end of a slice: waits until all @sent units have arrived at
 * the receiver, which uses rn_bench_has_more(). Returns 0, or -1 if they do not arrive.
 */
int rn_bench_await_arrival(struct rn_bench_end *end, struct rn_bench_meter *m,
			   uint64_t sent);

/* Returns the number of units counted per ns. */
double rn_bench_meter_per_ns(const struct rn_bench_meter *m);
/* Returns the mean time of a unit in us. */
double rn_bench_meter_us_each(const struct rn_bench_meter *m);

/* The result of a time slice. */
struct rn_bench_value {
	/* result in the unit of the item (plan.h), summed over all pairs of processes */
	double value;
	/* Percentiles of single round trip times in us; NAN if there are none. */
	double p50, p99, p99_9;
	/* Processors that both ends kept busy: CPU time of their processes over the time
	 * of the slice, summed over all pairs.
	 */
	double cores;
	/* CPU time of both ends per unit of transferred data, in rn_bench_cpu_unit() */
	double cpu;
};

struct rn_bench_results {
	/* results of all rounds and cells; the values of a round are adjacent */
	struct rn_bench_value *value;
	uint32_t path_mtu;
	bool pinned;
};

/* ---- Orders to a process of a team ---- */

struct rn_bench_order {
	enum {
		/* open a cell (a measurement with its parameters): connect its QPs */
		RN_BENCH_ORDER_OPEN,
		/* Bind each process to a processor (CPU); sent when all cells are open.
		 */
		RN_BENCH_ORDER_PIN,
		RN_BENCH_ORDER_SLICE,
		RN_BENCH_ORDER_END
	} what;
	unsigned cell, round;
	/* smallest path MTU of the devices opened so far; 0: none was opened */
	uint32_t path_mtu;
};

struct rn_bench_answer {
	int rc;
	double value; /* what the sender measured in one time slice of the run */
	/* CPU time of the process, and the time that passed meanwhile, in the same slice
	 */
	uint64_t cpu_ns, wall_ns;
	uint32_t path_mtu;
	bool pinned;
};

/* ---- Access to results, and the device to compare with ---- */

static inline struct rn_bench_value *rn_bench_at(const struct rn_bench_results *results,
						 const struct rn_bench_plan *plan,
						 unsigned round, unsigned cell)
{
	return &results->value[(size_t)round * plan->cells + cell];
}

/* Finds the device with which Rocin's device is compared: the device @wish or, if that is
 * NULL, the first device that is not Rocin's. Copies its name to @name. Returns false if
 * there is none. The verbs calls are made in a forked process, because the calling
 * process will fork again and must not have called any.
 */
bool rn_bench_find_beside(const char *wish, char *name, size_t len);

/* ---------------------------------- queue pairs between the two processes of a pair */
/* Parameters of the RC QPs between the two processes of a pair. */

struct rn_bench_link_cfg {
	uint32_t qps;
	/* depth of the send queue and of the receive queue of each QP */
	uint32_t tx_depth, rx_depth;
	uint32_t cq_depth;
	/* Number of bytes of inline data to request; the QP may support fewer. */
	uint32_t inline_len;
	bool events; /* the CQ has a completion channel */
	/* The CQ and the QPs are created in a thread domain of their own: one thread at a
	 * time uses the link.
	 */
	bool has_td;
	/* the CQ of another link, which this link shares; NULL: it has one of its own */
	struct ibv_cq *cq;
	size_t buf_len;
};

struct rn_bench_link {
	struct ibv_comp_channel *channel; /* NULL if the CQ is polled */
	struct ibv_cq *cq;		  /* CQ of all send and receive queues */
	bool shares_cq;			  /* the CQ is that of another link */
	/* the thread domain of the link and its parent domain; NULL: it has none */
	struct ibv_td *td;
	struct ibv_pd *parent;
	struct ibv_qp **qp;
	uint32_t qps;
	struct ibv_mr *mr;
	uint8_t *buf; /* buffer; page-aligned and all zero at first */
	bool has_inline;
	uint64_t remote_va; /* address of `buf' in the other process */
	uint32_t remote_rkey;
	bool counted; /* this link counts as a user of the open device */
};

/**
 * rn_bench_link_open() - Connect with the other process, which calls the same function
 *
 * The first link of a process opens end->device; closing the last link closes the device.
 * end->path_mtu becomes that of the device.
 *
 * Return: 0, or -1 after rn_bench_fail(). The caller must call rn_bench_link_close() in
 *	both cases.
 */
int rn_bench_link_open(struct rn_bench_end *end, const struct rn_bench_link_cfg *cfg,
		       struct rn_bench_link *link);
void rn_bench_link_close(struct rn_bench_link *link);

/* ------------------------------------------------ state of a measurement over verbs */
/* Helpers for the measurements over verbs.
 *
 * They work as the programs of perftest do: both processes poll; in a stream requests are
 * posted one by one, each of them signaled; WRITE ping-pong polls for its completion and
 * then spins on memory.
 */

enum {
	RN_BENCH_POLL_BATCH = 16
};

/* State of a measurement over verbs. Messages are sent from the start of the buffer. They
 * are received from offset @rx_offset on, in @rx_slots slots that are used in turn. In a
 * stream of large messages @rx_offset is 0.
 */
struct rn_bench_verbs {
	struct rn_bench_link link;
	enum ibv_wr_opcode opcode;
	bool streams, events;
	uint32_t len;
	uint32_t tx_depth; /* maximum number of requests in flight, of all QPs together */
	uint32_t rx_depth; /* number of receives posted to each QP */
	uint32_t rx_slots;
	size_t rx_offset, rx_stride;
	/* Number of requests that are posted to one QP before the next QP gets requests.
	 */
	uint32_t burst;
	uint32_t share;		    /* maximum number of requests in flight of one QP */
	uint32_t next_qp;	    /* index of the QP that posts next */
	uint32_t *under_way;	    /* number of requests in flight of each QP */
	uint64_t posted, completed; /* number of requests posted and completed */
	/* number of messages received since the slice began */
	uint64_t received;
	uint64_t next_recv; /* number of receives posted so far */
	uint64_t sequence;  /* sequence number of the ping-pong message */
	/* Threads that share a CQ: the states of all of them, and the number of this one
	 * among them. A thread counts the completions of others, too, so that all
	 * counters are changed atomically. NULL: the CQ is this thread's own.
	 */
	struct rn_bench_verbs *lanes;
	uint32_t lane;
};

/* The parts of a stream over verbs. The threads of threads.c call them, each with a state
 * of its own (a lane). rn_bench_stream_open() takes from @like those parameters of the
 * link that depend on the lane; the other parameters are as in struct rn_bench_ops.
 */
int rn_bench_stream_open(struct rn_bench_end *end, struct rn_bench_verbs *v,
			 const struct rn_bench_link_cfg *like);
void rn_bench_stream_fill(struct rn_bench_end *end, void *state);
/* The sender sends for one time slice and sets *@result; the receiver works until the
 * sender has ended the slice. Adds the number of sent requests to end->shared->sent.
 */
int rn_bench_stream_run(struct rn_bench_end *end, void *state, double *result);
/* Checks the data of one lane, but not the number of its messages. */
int rn_bench_stream_check_lane(struct rn_bench_end *end, struct rn_bench_verbs *v);
void rn_bench_stream_close(struct rn_bench_verbs *v);

/* --------------------------------------------------------------- teams of processes */
/* A team (group of processes that measures some of the cells), as seen by the process
 * that gives orders to it.
 */

enum {
	RN_BENCH_TEAMS_MAX = 64
};

struct rn_bench_pair {
	struct rn_bench_shared *shared;
	pid_t pid[2]; /* sender and receiver; 0: not started */
	/* sockets for the orders to these two processes and their answers; -1: none */
	int fd[2];
};

/* Numbers of packets that the processes of a team have sent: in all, and over the local
 * wire (shared memory).
 */
struct rn_bench_sent {
	uint64_t all, local;
};

/* A team: the processes that measure a set of cells, all of which need the same
 * environment variables and the same number of processes.
 */
struct rn_bench_team {
	struct rn_bench_cell like;
	const struct rn_bench_plan *plan;
	unsigned pairs;
	struct rn_bench_pair pair[RN_BENCH_PAIRS_MAX];
	struct rn_bench_sent sent; /* numbers as of the last rn_bench_wire_check() */
};

/* Returns true if one team can measure both cells. */
bool rn_bench_same_team(const struct rn_bench_cell *a, const struct rn_bench_cell *b);

/**
 * rn_bench_team_start() - Fork the processes of a team for cells like @cell
 * @team:	Out; the caller must call rn_bench_team_end(), also after a failure
 * @plan:	Must exist as long as the team
 *
 * Return: 0 or -errno.
 */
int rn_bench_team_start(struct rn_bench_team *team, const struct rn_bench_args *args,
			const struct rn_bench_plan *plan,
			const struct rn_bench_cell *cell);

/**
 * rn_bench_team_do() - Order all processes of a team to do something, and wait for them
 * @value:	Out: the result of all pairs together
 * @answer:	Out: the answer of the last process
 * @err:	Out on failure: error text
 *
 * Return: 0, or -1 if a process has failed, died or did not answer in time. The team
 *	cannot be used any more then.
 */
int rn_bench_team_do(struct rn_bench_team *team, const struct rn_bench_order *order,
		     struct rn_bench_value *value, struct rn_bench_answer *answer,
		     char *err, size_t err_len);

/* Ends all processes of the team and waits until they have ended. Returns 0, or -1 if one
 * has ended with an error.
 */
int rn_bench_team_end(struct rn_bench_team *team);

/* ------------------------ check that packets used UDP or the local wire as intended */
/* Checks that the packets of a team used the wire that is to be measured: UDP, or the
 * local wire (shared memory between two processes).
 */

struct rn_rocind;

/**
 * rn_bench_wire_check() - Check which wire the packets since the last call used
 * @daemon:	Connection to rocind, which has the counters of packets; if NULL it is
 *	made and stored there
 * @team:	The team, which must not be executing an order
 * @cell:	The cell that it has just measured
 * @err:	Out on failure: error text
 *
 * For a cell over UDP no packet may have used shared memory. For a cell over the local
 * wire most packets must have used it; the first packets of two processes cannot.
 *
 * Return: 0, also for devices other than Rocin's, or -1.
 */
int rn_bench_wire_check(struct rn_rocind **daemon, struct rn_bench_team *team,
			const struct rn_bench_cell *cell, char *err, size_t err_len);

/* ---- Reports: evaluate the results of a run and write them in several forms ---- */

enum rn_bench_verdict {
	RN_BENCH_NO_VERDICT, /* the ratio has no target, or was not measured */
	RN_BENCH_REACHED,
	RN_BENCH_MISSED,
	/* the condition of the target (rn_bench_ratio.only_if) is not met on this machine
	 */
	RN_BENCH_BEYOND_REACH,
	RN_BENCH_VERDICTS
};

enum rn_bench_change {
	RN_BENCH_NOT_COMPARED, /* there is no baseline, or it lacks this ratio */
	RN_BENCH_NOISE,
	RN_BENCH_FASTER,
	RN_BENCH_SLOWER
};

/* Summary of the values of a cell (a measurement with its parameters) over all rounds. */
struct rn_bench_cell_row {
	struct rn_bench_summary value; /* the values in the unit of the item */
	/* Medians over the rounds in us; NAN if there are no round trips. */
	double p50, p99, p99_9;
	double cores, cpu; /* medians over the rounds */
};

/* Summary over all rounds of a ratio, the value of one cell divided by that of another.
 */
struct rn_bench_ratio_row {
	double *round; /* one value per round; NULL: not measured */
	struct rn_bench_summary value;
	enum rn_bench_verdict verdict;
	enum rn_bench_change change;
	/* Change since the baseline (an earlier run); its p-value is corrected for the
	 * number of rows in the report.
	 */
	struct rn_bench_shift shift;
};

struct rn_bench_report {
	const struct rn_bench_args *args;
	const struct rn_bench_plan *plan;
	const struct rn_bench_results *results;
	bool has_baseline;
	struct rn_bench_cell_row cell[RN_BENCH_CELLS_MAX];
	struct rn_bench_ratio_row ratio[RN_BENCH_RATIOS_MAX];
};

/* Evaluates the results of a run. Returns 0 or -ENOMEM; the caller must call
 * rn_bench_report_free() in both cases.
 */
int rn_bench_report_make(struct rn_bench_report *report, const struct rn_bench_args *args,
			 const struct rn_bench_plan *plan,
			 const struct rn_bench_results *results);
void rn_bench_report_free(struct rn_bench_report *report);

void rn_bench_print_table(FILE *to, const struct rn_bench_report *report);

/* Writes the report as JSON. Returns 0 or -errno. */
int rn_bench_print_json(FILE *to, const struct rn_bench_report *report);

/* Draws bandwidth, latency and rate for each message size as SVG; a band marks
 * the quartiles.
 */
void rn_bench_draw(FILE *to, const struct rn_bench_report *report);

/* ---- Comparison with an earlier run ---- */

struct rn_bench_baseline; /* the ratios of an earlier run */

/**
 * rn_bench_baseline_read() - Read a file that --save has written
 * @err:	Out on failure: error text
 *
 * Return: the baseline, to be freed by rn_bench_baseline_free(); NULL if the file cannot
 *	be read or has another format.
 */
struct rn_bench_baseline *rn_bench_baseline_read(const char *path, char *err,
						 size_t err_len);
void rn_bench_baseline_free(struct rn_bench_baseline *base);

/* Sets `change` and `shift` of each row of @report. A change is called noise unless two
 * conditions hold: the Mann-Whitney test over the ratios of the rounds gives p < 0.01
 * after Holm's correction for the number of rows, and the ratios have changed by more
 * than 5 % (Hodges-Lehmann).
 */
void rn_bench_baseline_compare(const struct rn_bench_baseline *base,
			       struct rn_bench_report *report);

#endif /* RN_BENCH_H */
