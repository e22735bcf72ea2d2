/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_verbs.c - what a program gets from a Rocin device, by public verbs.
 *
 * The programs of perftest are the model: both ends poll, a stream of requests is posted
 * one by one and each is signaled, WRITE ping-pong polls for its completion and then
 * spins on memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_link.h"

enum {
	SMALL_LEN = 64,
	WORD_LEN = 8,
	POLL_BATCH = 16,
	SIGNAL_EVERY = 32, /* in ping-pong of SEND, as the reply says it all */
};

/* Messages leave from the start of the buffer; what arrives lies behind it in rx_slots
 * pieces of len, taken in turn. Where that is one big message, the two are the same.
 */
struct verbs {
	struct rn_bench_link link;
	enum ibv_wr_opcode opcode;
	uint32_t len;
	uint32_t tx_depth, rx_depth, rx_slots;
	size_t rx_offset;
	uint64_t posted, completed; /* requests */
	uint64_t received;	    /* messages, since the slice began */
	uint64_t next_recv;	    /* receives posted, ever */
	uint64_t sequence;	    /* of ping-pong */
};

/* clang-format off */
static const struct {
	enum ibv_wr_opcode opcode;
	uint32_t len, tx_depth, rx_depth;
	bool streams; /* against ping-pong */
} shape[RN_BENCH_ITEM_COUNT] = {
	/*                      opcode               length        tx   rx   stream */
	[RN_BENCH_WRITE_BW]  = { IBV_WR_RDMA_WRITE,  RN_BENCH_BIG, 8,   1,   true  },
	[RN_BENCH_READ_BW]   = { IBV_WR_RDMA_READ,   RN_BENCH_BIG, 8,   1,   true  },
	[RN_BENCH_SEND_BW]   = { IBV_WR_SEND,        RN_BENCH_BIG, 8,   32,  true  },
	[RN_BENCH_SEND_LAT]  = { IBV_WR_SEND,        SMALL_LEN,    128, 128, false },
	[RN_BENCH_WRITE_LAT] = { IBV_WR_RDMA_WRITE,  WORD_LEN,     128, 1,   false },
	[RN_BENCH_SEND_RATE] = { IBV_WR_SEND,        SMALL_LEN,    128, 512, true  },
};
/* clang-format on */

static uint8_t *rx_slot(const struct verbs *v, uint64_t i)
{
	return v->link.buf + v->rx_offset + i % v->rx_slots * v->len;
}

static int post_recv(struct rn_bench_end *end, struct verbs *v)
{
	struct ibv_sge sge = { .addr = (uintptr_t)rx_slot(v, v->next_recv),
			       .length = v->len,
			       .lkey = v->link.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = v->next_recv, .sg_list = &sge, .num_sge = 1 },
			   *bad;
	int rc = ibv_post_recv(v->link.qp, &wr, &bad);

	if (rc)
		return rn_bench_fail(end, "ibv_post_recv: %s", strerror(rc));
	v->next_recv++;
	return 0;
}

static int post(struct rn_bench_end *end, struct verbs *v, bool signaled)
{
	struct ibv_sge sge = { .addr = (uintptr_t)v->link.buf,
			       .length = v->len,
			       .lkey = v->link.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = v->posted,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = v->opcode,
				  .send_flags = signaled ? IBV_SEND_SIGNALED : 0 },
			   *bad;
	int rc;

	if (v->link.has_inline)
		wr.send_flags |= IBV_SEND_INLINE;
	wr.wr.rdma.remote_addr = v->link.remote_va;
	wr.wr.rdma.rkey = v->link.remote_rkey;
	rc = ibv_post_send(v->link.qp, &wr, &bad);
	if (rc)
		return rn_bench_fail(end, "ibv_post_send: %s", strerror(rc));
	v->posted++;
	return 0;
}

/* One ibv_poll_cq(); counts, and posts a receive for each that was used. Return: entries,
 * or -1 after rn_bench_fail().
 */
static int poll_once(struct rn_bench_end *end, struct verbs *v)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = ibv_poll_cq(v->link.cq, POLL_BATCH, wc);

	if (n < 0)
		return rn_bench_fail(end, "ibv_poll_cq fails");
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			return rn_bench_fail(end, "a work request failed: %s",
					     ibv_wc_status_str(wc[i].status));
		if (!(wc[i].opcode & IBV_WC_RECV)) {
			v->completed = wc[i].wr_id + 1;
			continue;
		}
		if (wc[i].byte_len != v->len)
			return rn_bench_fail(end, "%u bytes came instead of %u",
					     wc[i].byte_len, v->len);
		v->received++;
		if (post_recv(end, v))
			return -1;
	}
	return n;
}

static int open_verbs(struct rn_bench_end *end, enum rn_bench_item item, void **state)
{
	struct rn_bench_link_cfg cfg = { .tx_depth = shape[item].tx_depth,
					 .rx_depth = shape[item].rx_depth };
	struct verbs *v = calloc(1, sizeof(*v));

	if (!v)
		return rn_bench_fail(end, "no memory");
	*state = v;
	v->opcode = shape[item].opcode;
	v->len = shape[item].len;
	v->tx_depth = cfg.tx_depth;
	v->rx_depth = cfg.rx_depth;
	v->rx_slots = v->len == RN_BENCH_BIG ? 1 : v->rx_depth;
	v->rx_offset = v->len == RN_BENCH_BIG ? 0 : SMALL_LEN;
	cfg.buf_len = v->rx_offset + (size_t)v->rx_slots * v->len;
	cfg.inline_len = shape[item].streams ? 0 : v->len;
	if (rn_bench_link_open(end, &cfg, &v->link))
		return -1;
	v->link.remote_va += v->rx_offset;
	for (uint32_t i = 0; v->opcode == IBV_WR_SEND && i < v->rx_depth; i++)
		if (post_recv(end, v))
			return -1;
	return 0;
}

static void close_verbs(void *state)
{
	struct verbs *v = state;

	if (v)
		rn_bench_link_close(&v->link);
	free(v);
}

static void fill(struct rn_bench_end *end, void *state)
{
	enum rn_bench_role source = RN_BENCH_SENDER;
	struct verbs *v = state;

	v->received = 0;
	if (v->opcode == IBV_WR_RDMA_READ)
		source = RN_BENCH_RECEIVER;
	if (end->role == source)
		rn_bench_pattern(v->link.buf, v->len, end->round);
}

static int check(struct rn_bench_end *end, void *state)
{
	enum rn_bench_role target = RN_BENCH_RECEIVER;
	struct verbs *v = state;
	uint64_t sent = atomic_load(&end->shared->sent);

	if (v->opcode == IBV_WR_RDMA_READ)
		target = RN_BENCH_SENDER;
	if (end->role != target)
		return 0;
	for (uint64_t i = 0; i < v->rx_slots && i < sent; i++)
		if (!rn_bench_is_pattern(rx_slot(v, v->next_recv - 1 - i), v->len,
					 end->round))
			return rn_bench_fail(end, "the data differs");
	if (v->opcode == IBV_WR_SEND && v->received != sent)
		return rn_bench_fail(end, "%llu messages came of %llu",
				     (unsigned long long)v->received,
				     (unsigned long long)sent);
	return 0;
}

/* The other side of a stream, and all that polls until it is told to stop. */
static int serve(struct rn_bench_end *end, struct verbs *v)
{
	int n;

	do
		n = poll_once(end, v);
	while (n >= 0 && !rn_bench_stopped(end));
	/* What was completed at the sender is here, but may have come since that poll. */
	while (n >= 0) {
		n = poll_once(end, v);
		if (n == 0)
			break;
	}
	return n;
}

static int fill_send_queue(struct rn_bench_end *end, struct verbs *v)
{
	while (v->posted - v->completed < v->tx_depth)
		if (post(end, v, true))
			return -1;
	return 0;
}

static int run_stream(struct rn_bench_end *end, struct verbs *v, struct rn_bench_meter *m)
{
	uint64_t before = v->posted;

	rn_bench_meter_start(m, end);
	while (rn_bench_meter_runs(m, v->completed)) {
		int n = 1;

		/* Looking at the clock costs too much to do it for each small message. */
		for (unsigned i = 0; i < POLL_BATCH && n > 0; i++) {
			if (fill_send_queue(end, v))
				return -1;
			n = poll_once(end, v);
		}
		if (n < 0)
			return -1;
	}
	while (v->completed != v->posted)
		if (poll_once(end, v) < 0 || rn_bench_meter_patience(m))
			return -1;
	atomic_store(&end->shared->sent, v->posted - before);
	return 0;
}

/* Return: 1 when the next message of a ping-pong is here, 0 when the sender said stop,
 * -1 for a failure.
 */
static int await_send(struct rn_bench_end *end, struct verbs *v, struct rn_bench_meter *m)
{
	uint64_t had = v->received, got;

	while (v->received == had) {
		int n = poll_once(end, v);

		if (n < 0 || (n == 0 && m && rn_bench_meter_patience(m)))
			return -1;
		if (n == 0 && !m && rn_bench_stopped(end))
			return 0;
	}
	/* Its slot was posted again, but nothing arrives before the answer has left. */
	memcpy(&got, rx_slot(v, v->next_recv - v->rx_depth - 1), sizeof(got));
	if (got != v->sequence)
		return rn_bench_fail(end, "the data differs");
	return 1;
}

/* As above; nobody calls the device meanwhile. */
static int await_write(struct rn_bench_end *end, struct verbs *v,
		       struct rn_bench_meter *m)
{
	const uint64_t *word = (const uint64_t *)(const void *)rx_slot(v, 0);

	for (unsigned spin = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != v->sequence;
	     spin++) {
		if (m && spin % 1024 == 0 && rn_bench_meter_patience(m))
			return -1;
		if (!m && rn_bench_stopped(end))
			return 0;
	}
	return 1;
}

static int transmit_word(struct rn_bench_end *end, struct verbs *v)
{
	bool is_write = v->opcode == IBV_WR_RDMA_WRITE;

	memcpy(v->link.buf, &v->sequence, sizeof(v->sequence));
	if (post(end, v, is_write || v->posted % SIGNAL_EVERY == 0))
		return -1;
	while (is_write && v->completed != v->posted)
		if (poll_once(end, v) < 0 || atomic_load(&end->shared->failed))
			return -1;
	return 0;
}

static int await_word(struct rn_bench_end *end, struct verbs *v, struct rn_bench_meter *m)
{
	return v->opcode == IBV_WR_RDMA_WRITE ? await_write(end, v, m)
					      : await_send(end, v, m);
}

static int ping(struct rn_bench_end *end, struct verbs *v, struct rn_bench_meter *m)
{
	uint64_t done = 0;

	rn_bench_meter_start(m, end);
	for (; rn_bench_meter_runs(m, done); done++) {
		v->sequence++;
		if (transmit_word(end, v) || await_word(end, v, m) != 1)
			return -1;
	}
	return 0;
}

static int pong(struct rn_bench_end *end, struct verbs *v)
{
	int rc;

	for (;;) {
		v->sequence++;
		rc = await_word(end, v, NULL);
		if (rc <= 0)
			break;
		if (transmit_word(end, v))
			return -1;
	}
	v->sequence--;
	return rc;
}

static double in_unit(const struct verbs *v, const struct rn_bench_meter *m)
{
	double per_ns = rn_bench_meter_per_ns(m);

	return v->len == RN_BENCH_BIG ? per_ns * RN_BENCH_BIG : per_ns * 1e3;
}

static int run_stream_side(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	struct verbs *v = state;

	if (end->role == RN_BENCH_RECEIVER)
		return serve(end, v);
	if (run_stream(end, v, &m))
		return -1;
	*result = in_unit(v, &m);
	return 0;
}

static int run_ping_pong(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	struct verbs *v = state;

	if (end->role == RN_BENCH_RECEIVER)
		return pong(end, v);
	if (ping(end, v, &m))
		return -1;
	*result = rn_bench_meter_us_each(&m);
	return 0;
}

const struct rn_bench_ops rn_bench_stream_ops = {
	.open = open_verbs,
	.fill = fill,
	.run = run_stream_side,
	.check = check,
	.close = close_verbs,
};
const struct rn_bench_ops rn_bench_ping_pong_ops = {
	.open = open_verbs,
	.run = run_ping_pong,
	.close = close_verbs,
};
