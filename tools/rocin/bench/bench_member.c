/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_member.c - one process of a team: carries out orders. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

static const struct rn_bench_ops *const ops_of[RN_BENCH_ITEM_COUNT] = {
	[RN_BENCH_WRITE_BW] = &rn_bench_stream_ops,
	[RN_BENCH_READ_BW] = &rn_bench_stream_ops,
	[RN_BENCH_SEND_BW] = &rn_bench_stream_ops,
	[RN_BENCH_TCP_BW] = &rn_bench_tcp_bw_ops,
	[RN_BENCH_TCP_POLL_BW] = &rn_bench_tcp_bw_ops,
	[RN_BENCH_UDP_BW] = &rn_bench_udp_bw_ops,
	[RN_BENCH_UDP_MMSG_BW] = &rn_bench_udp_bw_ops,
	[RN_BENCH_MEMCPY_BW] = &rn_bench_memcpy_ops,
	[RN_BENCH_SEND_LAT] = &rn_bench_ping_pong_ops,
	[RN_BENCH_EVENT_LAT] = &rn_bench_ping_pong_ops,
	[RN_BENCH_WRITE_LAT] = &rn_bench_ping_pong_ops,
	[RN_BENCH_READ_LAT] = &rn_bench_alone_ops,
	[RN_BENCH_ATOMIC_LAT] = &rn_bench_alone_ops,
	[RN_BENCH_UDP_LAT] = &rn_bench_udp_lat_ops,
	[RN_BENCH_TCP_LAT] = &rn_bench_tcp_lat_ops,
	[RN_BENCH_TCP_POLL_LAT] = &rn_bench_tcp_lat_ops,
	[RN_BENCH_SEND_RATE] = &rn_bench_stream_ops,
	[RN_BENCH_WRITE_RATE] = &rn_bench_stream_ops,
	[RN_BENCH_ATOMIC_RATE] = &rn_bench_stream_ops,
	[RN_BENCH_BURST_RATE] = &rn_bench_stream_ops,
	[RN_BENCH_UDP_RATE] = &rn_bench_udp_bw_ops,
};

struct member {
	struct rn_bench_end *end;
	const struct rn_bench_plan *plan;
	bool pin;
	void *state[RN_BENCH_CELLS_MAX];
};

static int run_slice(struct rn_bench_end *end, void *state, double *result)
{
	const struct rn_bench_ops *ops = ops_of[end->cell->item];
	struct rn_bench_shared *shared = end->shared;

	if (end->role == RN_BENCH_SENDER) {
		atomic_store(&shared->received, 0);
		atomic_store(&shared->sent, 0);
		atomic_store(&shared->stop, false);
		memset(&shared->times, 0, sizeof(shared->times));
	}
	if (ops->fill)
		ops->fill(end, state);
	if (rn_bench_meet(end) || ops->run(end, state, result))
		return -1;
	if (end->role == RN_BENCH_SENDER)
		atomic_store_explicit(&shared->stop, true, memory_order_release);
	if (rn_bench_meet(end) || (ops->check && ops->check(end, state)))
		return -1;
	/* The next slice overwrites what was looked at just now. */
	return rn_bench_meet(end);
}

/* This thread only, and after the devices were opened: the plugin's own thread goes where
 * it likes. Each of a pair has its processor; more pairs share two of them.
 */
static bool pin(const struct rn_bench_end *end, bool alone)
{
	unsigned first = alone && end->role == RN_BENCH_RECEIVER ? 1 : 0;
	unsigned count = alone ? 1 : 2, seen = 0;
	cpu_set_t allowed, mine;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
		return false;
	CPU_ZERO(&mine);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		if (seen >= first && seen < first + count)
			CPU_SET(cpu, &mine);
		seen++;
	}
	return sched_setaffinity(0, sizeof(mine), &mine) == 0;
}

/* All cells of a team have as many pairs. */
static int pin_for(struct member *m, unsigned cell)
{
	if (m->pin && !m->end->pinned)
		m->end->pinned = pin(m->end, m->plan->cell[cell].pairs == 1);
	return 0;
}

static void carry_out(struct member *m, const struct rn_bench_order *order,
		      struct rn_bench_answer *answer)
{
	struct rn_bench_end *end = m->end;
	void **state = &m->state[order->cell];

	end->cell = &m->plan->cell[order->cell];
	end->round = order->round;
	if (order->path_mtu)
		end->path_mtu = order->path_mtu;
	answer->value = NAN;
	switch (order->what) {
	case RN_BENCH_ORDER_OPEN:
		answer->rc = ops_of[end->cell->item]->open(end, state);
		break;
	case RN_BENCH_ORDER_PIN:
		answer->rc = pin_for(m, order->cell);
		break;
	case RN_BENCH_ORDER_SLICE:
		answer->rc = run_slice(end, *state, &answer->value);
		break;
	case RN_BENCH_ORDER_END:
		break;
	}
	answer->path_mtu = end->path_mtu;
	answer->pinned = end->pinned;
}

static void close_all(struct member *m)
{
	for (unsigned i = 0; i < m->plan->cells; i++)
		if (m->state[i])
			ops_of[m->plan->cell[i].item]->close(m->state[i]);
}

static bool next_order(int fd, struct rn_bench_order *order)
{
	ssize_t n;

	do
		n = recv(fd, order, sizeof(*order), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*order) && order->what != RN_BENCH_ORDER_END;
}

void rn_bench_member(struct rn_bench_end *end, const struct rn_bench_plan *plan, bool pin,
		     int fd)
{
	static struct member m;
	struct rn_bench_order order;
	int rc = 0;

	m = (struct member){ .end = end, .plan = plan, .pin = pin };
	while (rc == 0 && next_order(fd, &order)) {
		struct rn_bench_answer answer = { 0 };

		carry_out(&m, &order, &answer);
		rc = answer.rc;
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			rc = -1;
	}
	/* Not before the other has its last data. */
	if (rc == 0)
		rc = rn_bench_meet(end);
	close_all(&m);
	exit(rc ? EXIT_FAILURE : EXIT_SUCCESS);
}
