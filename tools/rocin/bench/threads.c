/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* threads.c - measures a stream over verbs by several threads of each process, each with
 * a queue pair of its own (a lane). The threads have a CQ each, alone or in a thread
 * domain, or all poll one CQ.
 *
 * The lanes are opened and checked by the first thread of the process. For each time
 * slice it starts one thread for each lane and waits for all of them.
 */
#include <pthread.h>
#include <stdlib.h>

#include "bench.h"

struct lane {
	struct threads *all;
	unsigned number;
	pthread_t thread;
	double value; /* what the lane has measured in the last slice */
	int rc;
};

struct threads {
	struct rn_bench_end *end;
	unsigned count;
	bool is_open; /* all lanes were opened */
	struct lane *lane;
	/* the states of the lanes, in one array, since a completion of a shared CQ names
	 * its lane by an index
	 */
	struct rn_bench_verbs *verbs;
};

static int open_lane(struct threads *t, unsigned i)
{
	const struct rn_bench_cell *cell = t->end->cell;
	struct rn_bench_link_cfg like = { 0 };

	like.has_td = cell->sharing == RN_BENCH_THREAD_DOMAIN;
	if (cell->sharing == RN_BENCH_SHARED_CQ) {
		t->verbs[i].lanes = t->verbs;
		t->verbs[i].lane = i;
		like.cq = t->verbs[0].link.cq;
	}
	t->lane[i] = (struct lane){ .all = t, .number = i };
	return rn_bench_stream_open(t->end, &t->verbs[i], &like);
}

static int open_threads(struct rn_bench_end *end, void **state)
{
	struct threads *t = calloc(1, sizeof(*t));

	*state = t;
	if (!t)
		return rn_bench_fail(end, "no memory");
	t->end = end;
	t->lane = calloc(end->cell->threads, sizeof(*t->lane));
	t->verbs = calloc(end->cell->threads, sizeof(*t->verbs));
	if (!t->lane || !t->verbs)
		return rn_bench_fail(end, "no memory");
	for (; t->count < end->cell->threads; t->count++)
		if (open_lane(t, t->count))
			return -1;
	t->is_open = true;
	return 0;
}

static void close_threads(void *state)
{
	struct threads *t = state;
	unsigned opened = t->is_open || !t->verbs ? t->count : t->count + 1;

	/* The first lane has the CQ that others may share, so it is closed last. */
	while (opened-- > 0)
		rn_bench_stream_close(&t->verbs[opened]);
	free(t->verbs);
	free(t->lane);
	free(t);
}

static void fill_threads(struct rn_bench_end *end, void *state)
{
	struct threads *t = state;

	for (unsigned i = 0; i < t->count; i++)
		rn_bench_stream_fill(end, &t->verbs[i]);
}

/* The threads of all senders have the first processors, and those of all receivers the
 * next ones.
 */
static void *run_lane(void *arg)
{
	struct lane *l = arg;
	struct rn_bench_end *end = l->all->end;
	unsigned each = l->all->count, pairs = end->cell->pairs;

	if (end->pins)
		rn_bench_pin((2 * end->pair + end->role) * each + l->number,
			     2 * pairs * each);
	l->rc = rn_bench_stream_run(end, &l->all->verbs[l->number], &l->value);
	return NULL;
}

static int run_threads(struct rn_bench_end *end, void *state, double *result)
{
	struct threads *t = state;
	unsigned started = 0;
	double sum = 0;
	int rc = 0;

	for (; started < t->count; started++)
		if (pthread_create(&t->lane[started].thread, NULL, run_lane,
				   &t->lane[started])) {
			rc = rn_bench_fail(end, "no thread can be started");
			break;
		}
	for (unsigned i = 0; i < started; i++) {
		pthread_join(t->lane[i].thread, NULL);
		sum += t->lane[i].value;
		if (t->lane[i].rc)
			rc = -1;
	}
	if (end->role == RN_BENCH_SENDER)
		*result = sum;
	return rc;
}

static int check_threads(struct rn_bench_end *end, void *state)
{
	struct threads *t = state;
	uint64_t sent = atomic_load(&end->shared->sent), received = 0;

	for (unsigned i = 0; i < t->count; i++) {
		if (rn_bench_stream_check_lane(end, &t->verbs[i]))
			return -1;
		received += t->verbs[i].received;
	}
	if (t->verbs[0].opcode == IBV_WR_SEND && end->role == RN_BENCH_RECEIVER &&
	    received != sent)
		return rn_bench_fail(end, "%llu messages came of %llu",
				     (unsigned long long)received,
				     (unsigned long long)sent);
	return 0;
}

const struct rn_bench_ops rn_bench_threads_ops = {
	.open = open_threads,
	.fill = fill_threads,
	.run = run_threads,
	.check = check_threads,
	.close = close_threads,
};
