/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* limits.c - the upper limits for two processes of this machine that use shared memory: a
 * bare ring, and the round trip of a cache line. (The limit over UDP is measured in
 * sockets.c, with raw UDP.)
 *
 * The ring performs only the steps that no message between two processes can do without:
 * each packet is copied into shared memory and out of it, with a CRC computed at each
 * end. It has no queue pairs, no acknowledgements and no memory regions.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "transport/io/host/clock.h"
#include "transport/io/shm/far_copy.h"

/* ---- Waiting for the other process ---- */

enum {
	/* number of times that a waiting process reads shared memory before it yields the
	 * processor
	 */
	SPINS = 1000,
};

/* Waits a little for the other process. @spins: number of calls since that process made
 * progress.
 */
static void wait_a_little(unsigned spins)
{
	if (spins % SPINS == SPINS - 1)
		sched_yield();
}

/* ---- Packets through a bare ring ---- */

/* Ways to get a packet into the ring. Which of them is fastest depends on the caches that
 * the two processors share, so each is tried at the start of a time slice.
 */
enum way {
	ONE_PASS, /* copied straight into the ring while the CRC is computed */
	/* The packet is copied into private memory while its CRC is computed, and then
	 * into the ring by rn_far_copy().
	 */
	BY_STRINGS,
	/* the same, but copied into the ring by rn_far_copy_past(), past the caches */
	PAST_CACHES,
	WAYS
};

enum {
	TRIAL = 256, /* number of packets in a trial: several times what the ring holds */
	TRIALS = 2,  /* number of trials of each way; the faster one counts */
	/* number of packets that are taken out before the sender gets the space back */
	PUBLISH = 8,
};

struct ring {
	struct rn_bench_slot *slot;
	/* the memory that is sent, or that receives the payloads */
	struct rn_bench_message message;
	uint32_t payload;
	uint8_t packet[RN_BENCH_SLOT_LEN];
	enum way way;
	uint64_t best_ns;     /* shortest trial so far; 0: none */
	uint64_t trial_began; /* time when the trial began */
	unsigned trials;      /* number of trials done */
	enum way best;
};

static int open_ring(struct rn_bench_end *end, void **state)
{
	uint32_t len = end->cell->len;
	struct ring *r = calloc(1, sizeof(*r));

	if (!r)
		return rn_bench_fail(end, "no memory");
	*state = r;
	r->slot = end->shared->slot;
	r->payload = len < RN_BENCH_SLOT_LEN ? len : RN_BENCH_SLOT_LEN;
	r->message.len = len / r->payload * r->payload;
	r->message.bytes = malloc(r->message.len);
	if (!r->message.bytes)
		return rn_bench_fail(end, "no memory");
	for (uint32_t i = 0; i < r->message.len; i++)
		r->message.bytes[i] = (uint8_t)(i * 7 + i / 256);
	return 0;
}

static void close_ring(void *state)
{
	struct ring *r = state;

	free(r->message.bytes);
	free(r);
}

/* Empties all slots of the ring; called before each time slice. */
static void empty_ring(struct rn_bench_end *end, void *state)
{
	struct ring *r = state;

	r->message.at = 0;
	r->trials = 0;
	r->best_ns = 0;
	if (end->role == RN_BENCH_SENDER)
		for (unsigned i = 0; i < RN_BENCH_SLOTS; i++)
			atomic_store(&r->slot[i].sequence, 0);
}

static void put_packet(struct ring *r, uint64_t index)
{
	struct rn_bench_slot *slot = &r->slot[index % RN_BENCH_SLOTS];
	const uint8_t *piece = rn_bench_next_piece(&r->message, r->payload);
	uint8_t *to = r->way == ONE_PASS ? slot->payload : r->packet;

	slot->crc = rn_bench_copy_and_sum(to, piece, r->payload);
	if (r->way == BY_STRINGS)
		rn_far_copy(slot->payload, r->packet, r->payload);
	else if (r->way == PAST_CACHES)
		rn_far_copy_past(slot->payload, r->packet, r->payload);
	atomic_store_explicit(&slot->sequence, index + 1, memory_order_release);
}

/* Ends a trial of one way to fill the ring. Chooses the way for the next trial or, after
 * the last trial, the way that was fastest.
 */
static void next_trial(struct ring *r, uint64_t now)
{
	uint64_t took = now - r->trial_began;

	if (r->trials == TRIALS * WAYS)
		return;
	if (r->best_ns == 0 || took < r->best_ns) {
		r->best_ns = took;
		r->best = r->way;
	}
	r->trials++;
	r->way = r->trials < TRIALS * WAYS ? (enum way)(r->trials % WAYS) : r->best;
	r->trial_began = now;
}

/* Fills the free space of the ring with packets. Returns the number of packets sent so
 * far.
 */
static uint64_t fill_ring(struct ring *r, uint64_t sent, uint64_t taken)
{
	while (sent - taken < RN_BENCH_SLOTS) {
		put_packet(r, sent++);
		if (sent % TRIAL == 0)
			next_trial(r, (uint64_t)rn_clock(CLOCK_MONOTONIC));
	}
	return sent;
}

static int send_by_ring(struct rn_bench_end *end, struct ring *r, double *result)
{
	uint64_t sent = 0, received, before = 0;
	struct rn_bench_meter m;
	unsigned spins = 0;

	r->way = ONE_PASS;
	r->trial_began = (uint64_t)rn_clock(CLOCK_MONOTONIC);
	rn_bench_meter_start(&m, end);
	while (received = atomic_load(&end->shared->received),
	       rn_bench_meter_runs(&m, received)) {
		sent = fill_ring(r, sent, received / r->payload);
		spins = received == before ? spins + 1 : 0;
		before = received;
		wait_a_little(spins);
	}
	*result = rn_bench_meter_per_ns(&m);
	return rn_bench_await_arrival(end, &m, sent * r->payload);
}

static int receive_by_ring(struct rn_bench_end *end, struct ring *r)
{
	uint64_t taken = 0;
	unsigned spins = 0;

	while (rn_bench_has_more(end, taken * r->payload)) {
		struct rn_bench_slot *slot = &r->slot[taken % RN_BENCH_SLOTS];

		if (atomic_load_explicit(&slot->sequence, memory_order_acquire) ==
		    taken + 1) {
			if (rn_bench_copy_and_sum(
				    rn_bench_next_piece(&r->message, r->payload),
				    slot->payload, r->payload) != slot->crc)
				return rn_bench_fail(end,
						     "the ring delivered other bytes");
			spins = 0;
			if (++taken % PUBLISH)
				continue;
		}
		atomic_store_explicit(&end->shared->received, taken * r->payload,
				      memory_order_release);
		wait_a_little(spins++);
	}
	atomic_store(&end->shared->received, taken * r->payload);
	return 0;
}

static int run_ring(struct rn_bench_end *end, void *state, double *result)
{
	return end->role == RN_BENCH_SENDER ? send_by_ring(end, state, result)
					    : receive_by_ring(end, state);
}

const struct rn_bench_ops rn_bench_ring_ops = {
	.open = open_ring,
	.fill = empty_ring,
	.run = run_ring,
	.close = close_ring,
};

/* ---- Round trips of a cache line between two processors ---- */

enum {
	TRIPS = 100, /* round trips between two readings of the clock */
};

static int open_line(struct rn_bench_end *end, void **state)
{
	(void)end;
	*state = NULL;
	return 0;
}

static void clear_lines(struct rn_bench_end *end, void *state)
{
	(void)state;
	if (end->role != RN_BENCH_SENDER)
		return;
	atomic_store(&end->shared->there, 0);
	atomic_store(&end->shared->back, 0);
}

/* Waits until the other process has written @trip to the cache line. Returns false if the
 * time slice is over.
 */
static bool await_line(const struct rn_bench_end *end, const _Atomic uint64_t *line,
		       uint64_t trip)
{
	for (unsigned spins = 1; atomic_load_explicit(line, memory_order_acquire) != trip;
	     spins++) {
		wait_a_little(spins);
		if (spins % SPINS == 0 && rn_bench_stopped(end))
			return false;
	}
	return true;
}

static int run_line(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_shared *s = end->shared;
	struct rn_bench_meter m;
	uint64_t trip = 0;

	(void)state;
	if (end->role == RN_BENCH_RECEIVER) {
		while (await_line(end, &s->there, ++trip))
			atomic_store_explicit(&s->back, trip, memory_order_release);
		return atomic_load(&s->failed) ? -1 : 0;
	}
	rn_bench_meter_start(&m, end);
	while (rn_bench_meter_runs(&m, trip))
		for (unsigned i = 0; i < TRIPS; i++) {
			atomic_store_explicit(&s->there, ++trip, memory_order_release);
			if (!await_line(end, &s->back, trip))
				return -1;
		}
	*result = rn_bench_meter_us_each(&m);
	return 0;
}

static void close_line(void *state)
{
	(void)state;
}

const struct rn_bench_ops rn_bench_line_ops = {
	.open = open_line,
	.fill = clear_lines,
	.run = run_line,
	.close = close_line,
};
