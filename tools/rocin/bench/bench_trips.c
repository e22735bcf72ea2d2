/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_trips.c - one message at a time: there and back, or a request and its answer. */
#include <errno.h>
#include <string.h>

#include "bench_verbs.h"

enum {
	SIGNAL_EVERY = 32, /* in ping-pong of SEND, as the reply says it all */
	LOOK_EVERY = 1024  /* spins */
};

/* The last word of a message, as that is the one that is placed last. */
static uint64_t *word_of(const struct rn_bench_verbs *v, uint8_t *message)
{
	return (uint64_t *)(void *)(message + (v->len - sizeof(uint64_t)) / 8 * 8);
}

/* Sleep until a completion event comes, as a program without time to poll does it. */
static int sleep_for_event(struct rn_bench_end *end, struct rn_bench_verbs *v)
{
	struct ibv_cq *cq;
	void *ctx;
	int n;

	if (ibv_req_notify_cq(v->link.cq, 0))
		return rn_bench_fail(end, "ibv_req_notify_cq fails");
	n = rn_bench_poll(end, v);
	if (n)
		return n;
	if (ibv_get_cq_event(v->link.channel, &cq, &ctx))
		return rn_bench_fail(end, "ibv_get_cq_event: %s", strerror(errno));
	ibv_ack_cq_events(cq, 1);
	return rn_bench_poll(end, v);
}

/* Return: 1 when the next message of a ping-pong is here, 0 when the sender said stop,
 * -1 for a failure.
 */
static int await_send(struct rn_bench_end *end, struct rn_bench_verbs *v,
		      struct rn_bench_meter *m)
{
	uint64_t had = v->received, got;

	while (v->received == had) {
		int n = rn_bench_poll(end, v);

		if (n == 0 && v->events)
			n = sleep_for_event(end, v);
		else if (n == 0 && m && rn_bench_meter_patience(m))
			return -1;
		else if (n == 0 && !m && rn_bench_stopped(end))
			return 0;
		if (n < 0)
			return -1;
	}
	/* Its slot was posted again, but nothing arrives before the answer has left. */
	memcpy(&got, word_of(v, rn_bench_rx_slot(v, v->next_recv - v->rx_depth - 1)),
	       sizeof(got));
	if (got != v->sequence)
		return rn_bench_fail(end, "the data differs");
	return 1;
}

/* As above; nobody calls the device meanwhile. */
static int await_write(struct rn_bench_end *end, struct rn_bench_verbs *v,
		       struct rn_bench_meter *m)
{
	const uint64_t *word = word_of(v, rn_bench_rx_slot(v, 0));

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
	if (rn_bench_post(end, v, 0, signaled, 1))
		return -1;
	while (is_write && v->under_way[0])
		if (rn_bench_poll(end, v) < 0 || atomic_load(&end->shared->failed))
			return -1;
	return 0;
}

static int await_word(struct rn_bench_end *end, struct rn_bench_verbs *v,
		      struct rn_bench_meter *m)
{
	return v->opcode == IBV_WR_RDMA_WRITE ? await_write(end, v, m)
					      : await_send(end, v, m);
}

static int ping(struct rn_bench_end *end, struct rn_bench_verbs *v,
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
	/* Who sleeps hears nothing else. */
	atomic_store(&end->shared->stop, true);
	v->sequence++;
	return transmit_word(end, v);
}

static int pong(struct rn_bench_end *end, struct rn_bench_verbs *v)
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
		return pong(end, v);
	if (ping(end, v, &m))
		return -1;
	*result = rn_bench_meter_us_each(&m);
	return 0;
}

/* ---- One-sided: a request, then its answer ---- */

static void fill_alone(struct rn_bench_end *end, void *state)
{
	struct rn_bench_verbs *v = state;

	if (end->role == RN_BENCH_SENDER)
		memset(v->link.buf, 0, v->len);
	else if (v->opcode == IBV_WR_RDMA_READ)
		rn_bench_pattern(rn_bench_rx_slot(v, 0), v->len, end->round);
}

static int check_alone(struct rn_bench_end *end, void *state)
{
	struct rn_bench_verbs *v = state;

	if (end->role == RN_BENCH_SENDER && v->opcode == IBV_WR_RDMA_READ &&
	    !rn_bench_is_pattern(v->link.buf, v->len, end->round))
		return rn_bench_fail(end, "the data differs");
	return 0;
}

static int run_alone(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_verbs *v = state;
	struct rn_bench_meter m;

	if (end->role == RN_BENCH_RECEIVER)
		return rn_bench_serve(end, v);
	rn_bench_meter_start_trips(&m, end);
	while (rn_bench_meter_runs(&m, v->completed)) {
		v->under_way[0]++;
		if (rn_bench_post(end, v, 0, true, 1))
			return -1;
		while (v->under_way[0])
			if (rn_bench_poll(end, v) < 0 ||
			    atomic_load_explicit(&end->shared->failed,
						 memory_order_relaxed))
				return -1;
	}
	*result = rn_bench_meter_us_each(&m);
	return 0;
}

const struct rn_bench_ops rn_bench_ping_pong_ops = {
	.open = rn_bench_verbs_open,
	.run = run_ping_pong,
	.close = rn_bench_verbs_close,
};
const struct rn_bench_ops rn_bench_alone_ops = {
	.open = rn_bench_verbs_open,
	.fill = fill_alone,
	.run = run_alone,
	.check = check_alone,
	.close = rn_bench_verbs_close,
};
