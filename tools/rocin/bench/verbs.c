/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs.c - measures bandwidth, latency and message rate over verbs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "rocin/random.h"

/* ------------------------------------------------------------------------ test data */
/* Returns the 8 bytes of the test data at position @i. */
static uint64_t pattern_at(uint64_t seed, size_t i)
{
	return rn_random_at((seed << 32) + i, 0);
}

/* fill_pattern() fills @buf with the test data of @seed; is_pattern() compares it with
 * them.
 */
static void fill_pattern(uint8_t *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t v = pattern_at(seed, i);

		memcpy(buf + i, &v, len - i < 8 ? len - i : 8);
	}
}

static bool is_pattern(const uint8_t *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t v = pattern_at(seed, i);

		if (memcmp(buf + i, &v, len - i < 8 ? len - i : 8) != 0)
			return false;
	}
	return true;
}

/* -------------------------------------------------------------- posting and polling */
enum {
	DEPTH_MAX = 128,
	DEPTH_MIN = 8,
	/* maximum number of bytes in flight; but DEPTH_MIN requests always are */
	UNDER_WAY = 1 << 20,
	OVERLAP_LEN = 4 << 10, /* messages of this size or more all use the same memory */
	RX_PER_TX = 4,
	BURST = 32,
	INLINE_MAX = 256,
	/* In wr_id, the bits from this one on are the index of the QP. The bits below it
	 * say how many requests have completed when this one has.
	 */
	QP_SHIFT = 32
};

/* clang-format off */
static const struct {
	enum ibv_wr_opcode opcode;
	bool streams, events, bursts;
} shape[RN_BENCH_ITEM_COUNT] = {
	/*                        opcode                       streams events bursts */
	[RN_BENCH_WRITE_BW]    = { IBV_WR_RDMA_WRITE,           true,  false, false },
	[RN_BENCH_READ_BW]     = { IBV_WR_RDMA_READ,            true,  false, false },
	[RN_BENCH_SEND_BW]     = { IBV_WR_SEND,                 true,  false, false },
	[RN_BENCH_SEND_LAT]    = { IBV_WR_SEND,                 false, false, false },
	[RN_BENCH_EVENT_LAT]   = { IBV_WR_SEND,                 false, true,  false },
	[RN_BENCH_WRITE_LAT]   = { IBV_WR_RDMA_WRITE,           false, false, false },
	[RN_BENCH_READ_LAT]    = { IBV_WR_RDMA_READ,            false, false, false },
	[RN_BENCH_ATOMIC_LAT]  = { IBV_WR_ATOMIC_FETCH_AND_ADD, false, false, false },
	[RN_BENCH_SEND_RATE]   = { IBV_WR_SEND,                 true,  false, false },
	[RN_BENCH_WRITE_RATE]  = { IBV_WR_RDMA_WRITE,           true,  false, false },
	[RN_BENCH_ATOMIC_RATE] = { IBV_WR_ATOMIC_FETCH_AND_ADD, true,  false, false },
	[RN_BENCH_BURST_RATE]  = { IBV_WR_SEND,                 true,  false, true  },
};
/* clang-format on */

static uint8_t *rx_slot(const struct rn_bench_verbs *v, uint64_t i)
{
	return v->link.buf + v->rx_offset + i % v->rx_slots * v->rx_stride;
}

/* Adds to a counter of @v, which other threads change, too, if they share a CQ. */
#define ADD(v, counter, by)                                                   \
	((v)->lanes ? (void)__atomic_fetch_add(counter, by, __ATOMIC_RELAXED) \
		    : (void)(*(counter) += (by)))

/* Returns the upper half of a work request's wr_id: the index of the QP, or the number of
 * the lane if threads share a CQ.
 */
static uint64_t mark_of(const struct rn_bench_verbs *v, uint64_t qp)
{
	return (v->lanes ? v->lane : qp) << QP_SHIFT;
}

static int post_recv(struct rn_bench_end *end, struct rn_bench_verbs *v, uint64_t qp)
{
	struct ibv_sge sge = { .addr = (uintptr_t)rx_slot(v, v->next_recv),
			       .length = v->len,
			       .lkey = v->link.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = mark_of(v, qp),
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;
	int rc = ibv_post_recv(v->link.qp[qp], &wr, &bad);

	if (rc)
		return rn_bench_fail(end, "ibv_post_recv: %s", strerror(rc));
	ADD(v, &v->next_recv, 1);
	return 0;
}

/* Posts one request to a QP. If the request is signaled, its completion shows that @count
 * requests have completed. Returns 0, or -1 after rn_bench_fail().
 */
static int post_request(struct rn_bench_end *end, struct rn_bench_verbs *v, uint32_t qp,
			bool signaled, uint32_t count)
{
	struct ibv_sge sge = { .addr = (uintptr_t)v->link.buf,
			       .length = v->len,
			       .lkey = v->link.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = mark_of(v, qp) | count,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = v->opcode,
				  .send_flags = signaled ? IBV_SEND_SIGNALED : 0 },
			   *bad;
	int rc;

	if (v->link.has_inline)
		wr.send_flags |= IBV_SEND_INLINE;
	if (v->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = v->link.remote_va;
		wr.wr.atomic.rkey = v->link.remote_rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = v->link.remote_va;
		wr.wr.rdma.rkey = v->link.remote_rkey;
	}
	rc = ibv_post_send(v->link.qp[qp], &wr, &bad);
	if (rc)
		return rn_bench_fail(end, "ibv_post_send: %s", strerror(rc));
	v->posted++;
	return 0;
}

static int take_completion(struct rn_bench_end *end, struct rn_bench_verbs *v,
			   const struct ibv_wc *wc)
{
	uint64_t qp = wc->wr_id >> QP_SHIFT;
	uint32_t count = (uint32_t)wc->wr_id;

	if (v->lanes) {
		v = &v->lanes[qp];
		qp = 0;
	}

	if (wc->status != IBV_WC_SUCCESS)
		return rn_bench_fail(end, "a work request failed: %s",
				     ibv_wc_status_str(wc->status));
	if (!(wc->opcode & IBV_WC_RECV)) {
		ADD(v, &v->completed, count);
		ADD(v, &v->under_way[qp], -count);
		return 0;
	}
	if (wc->byte_len != v->len)
		return rn_bench_fail(end, "%u bytes came instead of %u", wc->byte_len,
				     v->len);
	ADD(v, &v->received, 1);
	return post_recv(end, v, qp);
}

/* Calls ibv_poll_cq() once, counts the completions, and posts a new receive for each
 * receive that was used. Returns the number of completions, or -1 after rn_bench_fail().
 */
static int poll_and_refill(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	struct ibv_wc wc[RN_BENCH_POLL_BATCH];
	int n = ibv_poll_cq(v->link.cq, RN_BENCH_POLL_BATCH, wc);

	if (n < 0)
		return rn_bench_fail(end, "ibv_poll_cq fails");
	for (int i = 0; i < n; i++)
		if (take_completion(end, v, &wc[i]))
			return -1;
	return n;
}

/* Called in the receiver: polls until the sender has ended the time slice and no more
 * completions come. Returns 0, or -1 after a failure.
 */
static int serve_until_stop(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	int n;

	do
		n = poll_and_refill(end, v);
	while (n >= 0 && !rn_bench_stopped(end));
	/* Messages that have completed at the sender have arrived here, but possibly
	 * after the last poll.
	 */
	while (n >= 0) {
		n = poll_and_refill(end, v);
		if (n == 0)
			break;
	}
	return n;
}

/* ---- Opening and closing a measurement ---- */

static void choose_depths(struct rn_bench_verbs *v, const struct rn_bench_cell *cell)
{
	uint32_t depth = UNDER_WAY / cell->len;

	v->tx_depth = depth < DEPTH_MIN	  ? DEPTH_MIN
		      : depth > DEPTH_MAX ? DEPTH_MAX
					  : depth;
	if (!v->streams)
		v->tx_depth = DEPTH_MAX;
	v->burst = shape[cell->item].bursts ? BURST : 1;
	v->share = v->tx_depth / cell->qps;
	if (v->share < v->burst)
		v->share = v->burst;
	v->rx_depth = v->opcode == IBV_WR_SEND ? RX_PER_TX * v->share : 1;
	if (cell->qps > 1 && v->opcode == IBV_WR_SEND)
		v->rx_depth = 2 * v->share;
	if (!v->streams && v->opcode == IBV_WR_SEND)
		v->rx_depth = DEPTH_MAX;
}

static int post_receives(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	if (v->opcode != IBV_WR_SEND)
		return 0;
	for (uint32_t qp = 0; qp < v->link.qps; qp++)
		for (uint32_t i = 0; i < v->rx_depth; i++)
			if (post_recv(end, v, qp))
				return -1;
	return 0;
}

int rn_bench_stream_open(struct rn_bench_end *end, struct rn_bench_verbs *v,
			 const struct rn_bench_link_cfg *like)
{
	const struct rn_bench_cell *cell = end->cell;
	struct rn_bench_link_cfg cfg = *like;
	bool carries;

	cfg.qps = cell->qps;
	v->opcode = shape[cell->item].opcode;
	v->streams = shape[cell->item].streams;
	v->events = shape[cell->item].events;
	v->len = cell->len;
	choose_depths(v, cell);
	/* With several QPs, and where several threads take receives, the order in which
	 * messages arrive is not known, so all of them use one slot.
	 */
	v->rx_slots =
		v->len >= OVERLAP_LEN || cell->qps > 1 || v->lanes ? 1 : v->rx_depth;
	v->rx_stride = (v->len + 63) & ~(size_t)63;
	/* In a WRITE ping-pong a process waits for a word of its receive buffer to
	 * change. This must not be the word that it sends, so the two buffers do not
	 * overlap.
	 */
	v->rx_offset = v->len >= OVERLAP_LEN && v->streams ? 0 : v->rx_stride;
	cfg.buf_len = v->rx_offset + v->rx_slots * v->rx_stride;
	carries = v->opcode == IBV_WR_SEND || v->opcode == IBV_WR_RDMA_WRITE;
	cfg.inline_len = !v->streams && carries && v->len <= INLINE_MAX ? v->len : 0;
	cfg.tx_depth = v->share;
	cfg.rx_depth = v->rx_depth;
	cfg.cq_depth =
		(v->tx_depth + v->rx_depth * cell->qps) * (v->lanes ? cell->threads : 1);
	cfg.events = v->events;
	v->under_way = calloc(cell->qps, sizeof(*v->under_way));
	if (!v->under_way)
		return rn_bench_fail(end, "no memory");
	if (rn_bench_link_open(end, &cfg, &v->link))
		return -1;
	v->link.remote_va += v->rx_offset;
	if (post_receives(end, v))
		return -1;
	/* The other process does not send before this point, when all receives
	 * are posted.
	 */
	return rn_bench_meet(end);
}

/* Opens the verbs objects for the cell end->cell, and connects with the other process. */
static int open_verbs(struct rn_bench_end *end, void **state)
{
	struct rn_bench_verbs *v = calloc(1, sizeof(*v));

	if (!v)
		return rn_bench_fail(end, "no memory");
	*state = v;
	return rn_bench_stream_open(end, v, &(struct rn_bench_link_cfg){ 0 });
}

void rn_bench_stream_close(struct rn_bench_verbs *v)
{
	rn_bench_link_close(&v->link);
	free(v->under_way);
}

static void close_verbs(void *state)
{
	rn_bench_stream_close(state);
	free(state);
}

/* --------------------------------------------------------------------------- streams */
/* Streams keep as many requests in flight as possible, to measure bandwidth and message
 * rate.
 */

/* Returns the process whose buffer the transfer reads: the responder's for a READ. */
static enum rn_bench_role source_of(const struct rn_bench_verbs *v)
{
	return v->opcode == IBV_WR_RDMA_READ ? RN_BENCH_RECEIVER : RN_BENCH_SENDER;
}

void rn_bench_stream_fill(struct rn_bench_end *end, void *state)
{
	struct rn_bench_verbs *v = state;

	v->received = 0;
	if (v->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		memset(rx_slot(v, 0), 0, v->len);
	else if (end->role == source_of(v))
		fill_pattern(end->role == RN_BENCH_RECEIVER ? rx_slot(v, 0) : v->link.buf,
			     v->len, end->round);
}

static int check_sum(struct rn_bench_end *end, const struct rn_bench_verbs *v,
		     uint64_t sent)
{
	uint64_t sum;

	memcpy(&sum, rx_slot(v, 0), sizeof(sum));
	if (end->role == RN_BENCH_RECEIVER && sum != sent)
		return rn_bench_fail(end, "%llu was added of %llu",
				     (unsigned long long)sum, (unsigned long long)sent);
	return 0;
}

int rn_bench_stream_check_lane(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	uint64_t count =
		v->opcode == IBV_WR_SEND ? v->received : atomic_load(&end->shared->sent);

	if (v->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || end->role == source_of(v))
		return 0;
	if (v->opcode == IBV_WR_RDMA_READ)
		return is_pattern(v->link.buf, v->len, end->round)
			       ? 0
			       : rn_bench_fail(end, "the data differs");
	for (uint64_t i = 0; i < v->rx_slots && i < count; i++) {
		/* The last messages are in the slots of the receives that were posted
		 * last.
		 */
		uint64_t slot = v->opcode == IBV_WR_SEND ? v->next_recv - 1 - i : 0;

		if (!is_pattern(rx_slot(v, slot), v->len, end->round))
			return rn_bench_fail(end, "the data differs");
	}
	return 0;
}

static int check_data(struct rn_bench_end *end, void *state)
{
	struct rn_bench_verbs *v = state;
	uint64_t sent = atomic_load(&end->shared->sent);

	if (v->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return check_sum(end, v, sent);
	if (rn_bench_stream_check_lane(end, v))
		return -1;
	if (v->opcode == IBV_WR_SEND && end->role == RN_BENCH_RECEIVER &&
	    v->received != sent)
		return rn_bench_fail(end, "%llu messages came of %llu",
				     (unsigned long long)v->received,
				     (unsigned long long)sent);
	return 0;
}

static int post_burst(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	uint32_t qp = v->next_qp;

	for (uint32_t i = 1; i <= v->burst; i++)
		if (post_request(end, v, qp, i == v->burst, v->burst))
			return -1;
	ADD(v, &v->under_way[qp], v->burst);
	v->next_qp = qp + 1 == v->link.qps ? 0 : qp + 1;
	return 0;
}

/* Returns the number of completed requests. With a shared CQ, other threads change it. */
static uint64_t completed(const struct rn_bench_verbs *v)
{
	return __atomic_load_n(&v->completed, __ATOMIC_RELAXED);
}

static uint32_t under_way(const struct rn_bench_verbs *v, uint32_t qp)
{
	return __atomic_load_n(&v->under_way[qp], __ATOMIC_RELAXED);
}

static int fill_send_queues(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	while (v->posted - completed(v) + v->burst <= v->tx_depth &&
	       under_way(v, v->next_qp) + v->burst <= v->share)
		if (post_burst(end, v))
			return -1;
	return 0;
}

static int run_sender(struct rn_bench_end *end, struct rn_bench_verbs *v,
		      struct rn_bench_meter *m)
{
	uint64_t before = v->posted;

	rn_bench_meter_start(m, end);
	while (rn_bench_meter_runs(m, completed(v))) {
		int n = 1;

		/* The clock is read once for several polls, because a reading for each
		 * small message would cost too much.
		 */
		for (unsigned i = 0; i < RN_BENCH_POLL_BATCH && n > 0; i++) {
			if (fill_send_queues(end, v))
				return -1;
			n = poll_and_refill(end, v);
		}
		if (n < 0)
			return -1;
	}
	while (completed(v) != v->posted)
		if (poll_and_refill(end, v) < 0 || rn_bench_meter_patience(m))
			return -1;
	atomic_fetch_add(&end->shared->sent, v->posted - before);
	return 0;
}

int rn_bench_stream_run(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_verbs *v = state;
	struct rn_bench_meter m;
	double per_ns;

	if (end->role == RN_BENCH_RECEIVER)
		return serve_until_stop(end, v);
	if (run_sender(end, v, &m))
		return -1;
	per_ns = rn_bench_meter_per_ns(&m);
	*result = rn_bench_item_info[end->cell->item].kind == RN_BENCH_BW
			  ? per_ns * v->len
			  : per_ns * 1e3;
	return 0;
}

const struct rn_bench_ops rn_bench_stream_ops = {
	.open = open_verbs,
	.fill = rn_bench_stream_fill,
	.run = rn_bench_stream_run,
	.check = check_data,
	.close = close_verbs,
};

/* ----------------------------------------------------------------------- round trips */
/* Round trips: either the two processes send each other messages in turn (ping-pong), or
 * the sender has a single READ or atomic in flight.
 */

enum {
	/* In a SEND ping-pong, one of this many sends is signaled. The others need no
	 * completion: the reply of the peer shows that they have completed.
	 */
	SIGNAL_EVERY = 32,
	/* Number of polls after which to check whether the other process has failed. */
	LOOK_EVERY = 1024
};

/* Returns the address of the last word of a message, which the device writes last. */
static uint64_t *word_of(const struct rn_bench_verbs *v, uint8_t *message)
{
	return (uint64_t *)(void *)(message + (v->len - sizeof(uint64_t)) / 8 * 8);
}

/* Sleeps until a completion event comes. */
static int sleep_for_event(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	struct ibv_cq *cq;
	void *ctx;
	int n;

	if (ibv_req_notify_cq(v->link.cq, 0))
		return rn_bench_fail(end, "ibv_req_notify_cq fails");
	n = poll_and_refill(end, v);
	if (n)
		return n;
	if (ibv_get_cq_event(v->link.channel, &cq, &ctx))
		return rn_bench_fail(end, "ibv_get_cq_event: %s", strerror(errno));
	ibv_ack_cq_events(cq, 1);
	return poll_and_refill(end, v);
}

/* Waits for the next message of a SEND ping-pong. Returns 1 when it has come, 0 if the
 * sender has ended the time slice, or -1 after a failure.
 */
static int await_send(struct rn_bench_end *end, struct rn_bench_verbs *v,
		      struct rn_bench_meter *m)
{
	uint64_t had = v->received, got;

	while (v->received == had) {
		int n = poll_and_refill(end, v);

		if (n == 0 && v->events)
			n = sleep_for_event(end, v);
		else if (n == 0 && m && rn_bench_meter_patience(m))
			return -1;
		else if (n == 0 && !m && rn_bench_stopped(end))
			return 0;
		if (n < 0)
			return -1;
	}
	/* The receive of this message has been posted again, but nothing overwrites its
	 * memory: the next message comes only after the reply to this one.
	 */
	memcpy(&got, word_of(v, rx_slot(v, v->next_recv - v->rx_depth - 1)), sizeof(got));
	if (got != v->sequence)
		return rn_bench_fail(end, "the data differs");
	return 1;
}

/* Waits for the next WRITE of a ping-pong by reading memory, without any verbs call. */
static int await_write(struct rn_bench_end *end, struct rn_bench_verbs *v,
		       struct rn_bench_meter *m)
{
	const uint64_t *word = word_of(v, rx_slot(v, 0));

	for (unsigned spin = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != v->sequence;
	     spin++) {
		if (m && spin % LOOK_EVERY == 0 && rn_bench_meter_patience(m))
			return -1;
		if (!m && rn_bench_stopped(end))
			return 0;
	}
	return 1;
}

static int transmit_word(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	bool is_write = v->opcode == IBV_WR_RDMA_WRITE;
	bool signaled = is_write || v->posted % SIGNAL_EVERY == 0;

	*word_of(v, v->link.buf) = v->sequence;
	v->under_way[0] += signaled;
	if (post_request(end, v, 0, signaled, 1))
		return -1;
	while (is_write && v->under_way[0])
		if (poll_and_refill(end, v) < 0 || atomic_load(&end->shared->failed))
			return -1;
	return 0;
}

static int await_word(struct rn_bench_end *end, struct rn_bench_verbs *v,
		      struct rn_bench_meter *m)
{
	return v->opcode == IBV_WR_RDMA_WRITE ? await_write(end, v, m)
					      : await_send(end, v, m);
}

static int run_ping(struct rn_bench_end *end, struct rn_bench_verbs *v,
		    struct rn_bench_meter *m)
{
	uint64_t done = 0;

	rn_bench_meter_start_trips(m, end);
	for (; rn_bench_meter_runs(m, done); done++) {
		v->sequence++;
		if (transmit_word(end, v) || await_word(end, v, m) != 1)
			return -1;
	}
	if (!v->events)
		return 0;
	/* The receiver may be asleep in ibv_get_cq_event(), where it does not see the
	 * flag. One more message wakes it.
	 */
	atomic_store(&end->shared->stop, true);
	v->sequence++;
	return transmit_word(end, v);
}

static int run_pong(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	int rc;

	for (;;) {
		v->sequence++;
		rc = await_word(end, v, NULL);
		if (rc <= 0)
			break;
		if (v->events && rn_bench_stopped(end))
			return 0;
		if (transmit_word(end, v))
			return -1;
	}
	v->sequence--;
	return rc;
}

static int run_ping_pong(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_verbs *v = state;
	struct rn_bench_meter m;

	if (end->role == RN_BENCH_RECEIVER)
		return run_pong(end, v);
	if (run_ping(end, v, &m))
		return -1;
	*result = rn_bench_meter_us_each(&m);
	return 0;
}

/* ---- One-sided operations: a request, then its response ---- */

static void fill_alone(struct rn_bench_end *end, void *state)
{
	struct rn_bench_verbs *v = state;

	if (end->role == RN_BENCH_SENDER)
		memset(v->link.buf, 0, v->len);
	else if (v->opcode == IBV_WR_RDMA_READ)
		fill_pattern(rx_slot(v, 0), v->len, end->round);
}

static int check_alone(struct rn_bench_end *end, void *state)
{
	struct rn_bench_verbs *v = state;

	if (end->role == RN_BENCH_SENDER && v->opcode == IBV_WR_RDMA_READ &&
	    !is_pattern(v->link.buf, v->len, end->round))
		return rn_bench_fail(end, "the data differs");
	return 0;
}

static int run_alone(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_verbs *v = state;
	struct rn_bench_meter m;

	if (end->role == RN_BENCH_RECEIVER)
		return serve_until_stop(end, v);
	rn_bench_meter_start_trips(&m, end);
	while (rn_bench_meter_runs(&m, v->completed)) {
		v->under_way[0]++;
		if (post_request(end, v, 0, true, 1))
			return -1;
		while (v->under_way[0])
			if (poll_and_refill(end, v) < 0 ||
			    atomic_load_explicit(&end->shared->failed,
						 memory_order_relaxed))
				return -1;
	}
	*result = rn_bench_meter_us_each(&m);
	return 0;
}

const struct rn_bench_ops rn_bench_ping_pong_ops = {
	.open = open_verbs,
	.run = run_ping_pong,
	.close = close_verbs,
};
const struct rn_bench_ops rn_bench_alone_ops = {
	.open = open_verbs,
	.fill = fill_alone,
	.run = run_alone,
	.check = check_alone,
	.close = close_verbs,
};
