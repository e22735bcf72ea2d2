/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_verbs.c - see bench_verbs.h */
#include "bench_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEPTH_MAX = 128,
	DEPTH_MIN = 8,
	UNDER_WAY = 1 << 20,   /* bytes, unless DEPTH_MIN requests are more */
	OVERLAP_LEN = 4 << 10, /* from here on all messages lie in one place */
	RX_PER_TX = 4,
	BURST = 32,
	INLINE_MAX = 256,
	QP_SHIFT = 32 /* in wr_id; the count is below */
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

uint8_t *rn_bench_rx_slot(const struct rn_bench_verbs *v, uint64_t i)
{
	return v->link.buf + v->rx_offset + i % v->rx_slots * v->rx_stride;
}

static int post_recv(struct rn_bench_end *end, struct rn_bench_verbs *v, uint64_t qp)
{
	struct ibv_sge sge = { .addr = (uintptr_t)rn_bench_rx_slot(v, v->next_recv),
			       .length = v->len,
			       .lkey = v->link.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = qp << QP_SHIFT,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;
	int rc = ibv_post_recv(v->link.qp[qp], &wr, &bad);

	if (rc)
		return rn_bench_fail(end, "ibv_post_recv: %s", strerror(rc));
	v->next_recv++;
	return 0;
}

int rn_bench_post(struct rn_bench_end *end, struct rn_bench_verbs *v, uint32_t qp,
		  bool signaled, uint32_t count)
{
	struct ibv_sge sge = { .addr = (uintptr_t)v->link.buf,
			       .length = v->len,
			       .lkey = v->link.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)qp << QP_SHIFT | count,
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

static int take(struct rn_bench_end *end, struct rn_bench_verbs *v,
		const struct ibv_wc *wc)
{
	uint64_t qp = wc->wr_id >> QP_SHIFT;
	uint32_t count = (uint32_t)wc->wr_id;

	if (wc->status != IBV_WC_SUCCESS)
		return rn_bench_fail(end, "a work request failed: %s",
				     ibv_wc_status_str(wc->status));
	if (!(wc->opcode & IBV_WC_RECV)) {
		v->completed += count;
		v->under_way[qp] -= count;
		return 0;
	}
	if (wc->byte_len != v->len)
		return rn_bench_fail(end, "%u bytes came instead of %u", wc->byte_len,
				     v->len);
	v->received++;
	return post_recv(end, v, qp);
}

int rn_bench_poll(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	struct ibv_wc wc[RN_BENCH_POLL_BATCH];
	int n = ibv_poll_cq(v->link.cq, RN_BENCH_POLL_BATCH, wc);

	if (n < 0)
		return rn_bench_fail(end, "ibv_poll_cq fails");
	for (int i = 0; i < n; i++)
		if (take(end, v, &wc[i]))
			return -1;
	return n;
}

int rn_bench_serve(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	int n;

	do
		n = rn_bench_poll(end, v);
	while (n >= 0 && !rn_bench_stopped(end));
	/* What was completed at the sender is here, but may have come since that poll. */
	while (n >= 0) {
		n = rn_bench_poll(end, v);
		if (n == 0)
			break;
	}
	return n;
}

/* ---- Opening ---- */

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

int rn_bench_verbs_open(struct rn_bench_end *end, void **state)
{
	const struct rn_bench_cell *cell = end->cell;
	struct rn_bench_verbs *v = calloc(1, sizeof(*v));
	struct rn_bench_link_cfg cfg = { .qps = cell->qps };
	bool carries;

	if (!v)
		return rn_bench_fail(end, "no memory");
	*state = v;
	v->opcode = shape[cell->item].opcode;
	v->streams = shape[cell->item].streams;
	v->events = shape[cell->item].events;
	v->len = cell->len;
	choose_depths(v, cell);
	/* With many queue pairs the order in which messages come is not known. */
	v->rx_slots = v->len >= OVERLAP_LEN || cell->qps > 1 ? 1 : v->rx_depth;
	v->rx_stride = (v->len + 63) & ~(size_t)63;
	/* A word that one waits for must not be the one that one sends. */
	v->rx_offset = v->len >= OVERLAP_LEN && v->streams ? 0 : v->rx_stride;
	cfg.buf_len = v->rx_offset + v->rx_slots * v->rx_stride;
	carries = v->opcode == IBV_WR_SEND || v->opcode == IBV_WR_RDMA_WRITE;
	cfg.inline_len = !v->streams && carries && v->len <= INLINE_MAX ? v->len : 0;
	cfg.tx_depth = v->share;
	cfg.rx_depth = v->rx_depth;
	cfg.cq_depth = v->tx_depth + v->rx_depth * cell->qps;
	cfg.events = v->events;
	v->under_way = calloc(cell->qps, sizeof(*v->under_way));
	if (!v->under_way)
		return rn_bench_fail(end, "no memory");
	if (rn_bench_link_open(end, &cfg, &v->link))
		return -1;
	v->link.remote_va += v->rx_offset;
	if (post_receives(end, v))
		return -1;
	/* The other may send as soon as it is told to, which is not before this. */
	return rn_bench_meet(end);
}

void rn_bench_verbs_close(void *state)
{
	struct rn_bench_verbs *v = state;

	rn_bench_link_close(&v->link);
	free(v->under_way);
	free(v);
}
