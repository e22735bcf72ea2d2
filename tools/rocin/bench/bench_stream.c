/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_stream.c - as many requests as go through: bandwidth and message rate. */
#include <string.h>

#include "bench_verbs.h"

/* Whose buffer has the data at the beginning, and whose at the end. */
static enum rn_bench_role source_of(const struct rn_bench_verbs *v)
{
	return v->opcode == IBV_WR_RDMA_READ ? RN_BENCH_RECEIVER : RN_BENCH_SENDER;
}

static void fill(struct rn_bench_end *end, void *state)
{
	struct rn_bench_verbs *v = state;

	v->received = 0;
	if (v->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		memset(rn_bench_rx_slot(v, 0), 0, v->len);
	else if (end->role == source_of(v))
		rn_bench_pattern(end->role == RN_BENCH_RECEIVER ? rn_bench_rx_slot(v, 0)
								: v->link.buf,
				 v->len, end->round);
}

static int check_sum(struct rn_bench_end *end, const struct rn_bench_verbs *v,
		     uint64_t sent)
{
	uint64_t sum;

	memcpy(&sum, rn_bench_rx_slot(v, 0), sizeof(sum));
	if (end->role == RN_BENCH_RECEIVER && sum != sent)
		return rn_bench_fail(end, "%llu was added of %llu",
				     (unsigned long long)sum, (unsigned long long)sent);
	return 0;
}

static int check(struct rn_bench_end *end, void *state)
{
	struct rn_bench_verbs *v = state;
	uint64_t sent = atomic_load(&end->shared->sent);

	if (v->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return check_sum(end, v, sent);
	if (end->role == source_of(v))
		return 0;
	if (v->opcode == IBV_WR_RDMA_READ)
		return rn_bench_is_pattern(v->link.buf, v->len, end->round)
			       ? 0
			       : rn_bench_fail(end, "the data differs");
	for (uint64_t i = 0; i < v->rx_slots && i < sent; i++) {
		/* Receives are posted again as they are used, slot by slot. */
		uint64_t slot = v->opcode == IBV_WR_SEND ? v->next_recv - 1 - i : 0;

		if (!rn_bench_is_pattern(rn_bench_rx_slot(v, slot), v->len, end->round))
			return rn_bench_fail(end, "the data differs");
	}
	if (v->opcode == IBV_WR_SEND && v->received != sent)
		return rn_bench_fail(end, "%llu messages came of %llu",
				     (unsigned long long)v->received,
				     (unsigned long long)sent);
	return 0;
}

static int post_burst(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	uint32_t qp = v->next_qp;

	for (uint32_t i = 1; i <= v->burst; i++)
		if (rn_bench_post(end, v, qp, i == v->burst, v->burst))
			return -1;
	v->under_way[qp] += v->burst;
	v->next_qp = qp + 1 == v->link.qps ? 0 : qp + 1;
	return 0;
}

static int fill_send_queues(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	while (v->posted - v->completed + v->burst <= v->tx_depth &&
	       v->under_way[v->next_qp] + v->burst <= v->share)
		if (post_burst(end, v))
			return -1;
	return 0;
}

static int run_sender(struct rn_bench_end *end, struct rn_bench_verbs *v,
		      struct rn_bench_meter *m)
{
	uint64_t before = v->posted;

	rn_bench_meter_start(m, end);
	while (rn_bench_meter_runs(m, v->completed)) {
		int n = 1;

		/* Looking at the clock costs too much to do it for each small message. */
		for (unsigned i = 0; i < RN_BENCH_POLL_BATCH && n > 0; i++) {
			if (fill_send_queues(end, v))
				return -1;
			n = rn_bench_poll(end, v);
		}
		if (n < 0)
			return -1;
	}
	while (v->completed != v->posted)
		if (rn_bench_poll(end, v) < 0 || rn_bench_meter_patience(m))
			return -1;
	atomic_store(&end->shared->sent, v->posted - before);
	return 0;
}

static int run(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_verbs *v = state;
	struct rn_bench_meter m;
	double per_ns;

	if (end->role == RN_BENCH_RECEIVER)
		return rn_bench_serve(end, v);
	if (run_sender(end, v, &m))
		return -1;
	per_ns = rn_bench_meter_per_ns(&m);
	*result = rn_bench_item_info[end->cell->item].kind == RN_BENCH_BW
			  ? per_ns * v->len
			  : per_ns * 1e3;
	return 0;
}

const struct rn_bench_ops rn_bench_stream_ops = {
	.open = rn_bench_verbs_open,
	.fill = fill,
	.run = run,
	.check = check,
	.close = rn_bench_verbs_close,
};
