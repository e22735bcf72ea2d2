/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_rounds.c - the plan: every item once in each round. */
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "bench.h"

static const struct rn_bench_ops *const ops_of[RN_BENCH_ITEM_COUNT] = {
	[RN_BENCH_WRITE_BW] = &rn_bench_stream_ops,
	[RN_BENCH_READ_BW] = &rn_bench_stream_ops,
	[RN_BENCH_SEND_BW] = &rn_bench_stream_ops,
	[RN_BENCH_TCP_BW] = &rn_bench_tcp_bw_ops,
	[RN_BENCH_UDP_BW] = &rn_bench_udp_bw_ops,
	[RN_BENCH_MEMCPY_BW] = &rn_bench_memcpy_ops,
	[RN_BENCH_SEND_LAT] = &rn_bench_ping_pong_ops,
	[RN_BENCH_WRITE_LAT] = &rn_bench_ping_pong_ops,
	[RN_BENCH_UDP_LAT] = &rn_bench_udp_lat_ops,
	[RN_BENCH_TCP_LAT] = &rn_bench_tcp_lat_ops,
	[RN_BENCH_SEND_RATE] = &rn_bench_stream_ops,
	[RN_BENCH_UDP_RATE] = &rn_bench_udp_rate_ops,
};

static int run_slice(struct rn_bench_end *end, unsigned item, void *state, double *result)
{
	const struct rn_bench_ops *ops = ops_of[item];
	struct rn_bench_shared *shared = end->shared;

	if (end->role == RN_BENCH_SENDER) {
		atomic_store(&shared->received, 0);
		atomic_store(&shared->sent, 0);
		atomic_store(&shared->stop, false);
	}
	if (ops->fill)
		ops->fill(end, state);
	end->item_name = rn_bench_item_info[item].name;
	if (rn_bench_meet(end) || ops->run(end, state, result))
		return -1;
	if (end->role == RN_BENCH_SENDER)
		atomic_store_explicit(&shared->stop, true, memory_order_release);
	if (rn_bench_meet(end) || (ops->check && ops->check(end, state)))
		return -1;
	/* The next slice overwrites what was looked at just now. */
	return rn_bench_meet(end);
}

static void show_progress(const struct rn_bench_end *end, unsigned rounds, unsigned item)
{
	if (end->role == RN_BENCH_SENDER && isatty(STDERR_FILENO))
		fprintf(stderr, "\rround %u of %u  %-12s", end->round + 1, rounds,
			rn_bench_item_info[item].name);
}

static int run_rounds(struct rn_bench_end *end, const struct rn_bench_args *args,
		      void **state, struct rn_bench_results *results)
{
	for (end->round = 0; end->round < args->rounds; end->round++)
		for (unsigned i = 0; i < RN_BENCH_ITEM_COUNT; i++) {
			/* Each round begins with another item, so that none always has
			 * the same one before it at the same moment.
			 */
			unsigned item = (i + end->round) % RN_BENCH_ITEM_COUNT;

			if (!(args->items & 1u << item))
				continue;
			show_progress(end, args->rounds, item);
			if (run_slice(end, item, state[item],
				      &results->value[end->round][item]))
				return -1;
		}
	return 0;
}

/* This thread only, and after the devices were opened: the plugin's own thread goes where
 * it likes.
 */
static bool pin(enum rn_bench_role role)
{
	unsigned skip = role == RN_BENCH_SENDER ? 0 : 1;
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
		return false;
	CPU_ZERO(&one);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
			CPU_SET(cpu, &one);
			break;
		}
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

static int open_items(struct rn_bench_end *end, const struct rn_bench_args *args,
		      void **state)
{
	for (unsigned i = 0; i < RN_BENCH_ITEM_COUNT; i++) {
		end->item_name = rn_bench_item_info[i].name;
		if (args->items & 1u << i && ops_of[i]->open(end, i, &state[i]))
			return -1;
	}
	end->pinned = args->pin && pin(end->role);
	return 0;
}

int rn_bench_rounds(struct rn_bench_end *end, const struct rn_bench_args *args,
		    struct rn_bench_results *results)
{
	void *state[RN_BENCH_ITEM_COUNT] = { NULL };
	int rc = open_items(end, args, state);

	if (rc == 0)
		rc = run_rounds(end, args, state, results);
	if (end->role == RN_BENCH_SENDER && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	/* Not before the other has its last data. */
	if (rc == 0)
		rc = rn_bench_meet(end);
	for (unsigned i = 0; i < RN_BENCH_ITEM_COUNT; i++)
		if (state[i])
			ops_of[i]->close(state[i]);
	return rc;
}
