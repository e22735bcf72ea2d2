/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver.c - the three drivers, that is schedulers, of the fabric: random, adversarial
 * and replay.
 */
#include <string.h>

#include "driver.h"

enum {
	/* At each choice of a TLP, one of STALL_ONE_IN choices on average also stalls a
	 * queue.
	 */
	STALL_ONE_IN = 32,
	/* Mean number of choices during which no TLP of a stalled queue is chosen. */
	STALL_MEAN = 64,
	STALL_MAX = 1024,
	/* One in FROM_TAIL_ONE_IN searches of a queue begins at the tail, the others at
	 * the head.
	 */
	FROM_TAIL_ONE_IN = 4,
};

void rn_driver_init(struct rn_driver *d, const struct rn_pcie_knobs *knobs)
{
	memset(d, 0, sizeof(*d));
	d->kind = knobs->driver;
	d->random.state = knobs->seed;
}

void rn_driver_replay(struct rn_driver *d, const uint16_t *choices, uint32_t count)
{
	d->kind = RN_DRIVER_REPLAY;
	d->choices = choices;
	d->choice_count = count;
	d->choice_next = 0;
}

/* ---- The random driver ---- */

/* Returns a random number with a geometric distribution: n with probability 1 in 2^(n +
 * 1).
 */
static unsigned draw_geometric(struct rn_driver *d)
{
	uint64_t bits = rn_random_next(&d->random);

	return bits ? (unsigned)__builtin_ctzll(bits) : 64;
}

/* Returns the weight of a queue in the random choice: the larger it is, the more often
 * its TLPs move. The weights stand for latencies. Queues near memory are fast. The route
 * through another root port and the inside of a GPU are slow.
 */
static unsigned weight_of(unsigned queue)
{
	if (queue >= RN_QUEUE_COUNT)
		return 1;
	if (queue >= RN_QUEUE_SPLIT && queue < RN_QUEUE_STREAM)
		return 1;
	if (queue >= RN_QUEUE_DOWN && queue < RN_QUEUE_C2C)
		return 2;
	return 4;
}

static uint16_t draw_stall(struct rn_driver *d)
{
	unsigned n = 1;

	while (n < STALL_MAX && rn_random_scaled(&d->random, STALL_MEAN))
		n++;
	return (uint16_t)n;
}

/* Counts the stall of each queue down by one choice. Returns the sum of the weights of
 * all queues that are not stalled any more.
 */
static unsigned weigh_queues(struct rn_driver *d, const struct rn_fabric *f)
{
	unsigned total = 0;

	for (unsigned q = rn_fabric_busy_queue(f, 0); q < RN_LIST_COUNT;
	     q = rn_fabric_busy_queue(f, q + 1)) {
		if (d->stalled[q])
			d->stalled[q]--;
		if (!d->stalled[q])
			total += weight_of(q);
	}
	return total;
}

static unsigned draw_queue(struct rn_driver *d, const struct rn_fabric *f, unsigned total)
{
	unsigned at = rn_random_scaled(&d->random, total), q = rn_fabric_busy_queue(f, 0);

	for (; q < RN_LIST_COUNT; q = rn_fabric_busy_queue(f, q + 1)) {
		if (d->stalled[q])
			continue;
		if (at < weight_of(q))
			break;
		at -= weight_of(q);
	}
	assert(q < RN_LIST_COUNT);
	return q;
}

/* Chooses a random TLP of the queue among those that may move. There is at least one,
 * because the first TLP of a queue may always move.
 */
static unsigned draw_tlp(struct rn_driver *d, const struct rn_fabric *f, unsigned queue)
{
	bool from_tail = rn_random_scaled(&d->random, FROM_TAIL_ONE_IN) == 0;
	unsigned at = from_tail ? rn_fabric_last(f, queue) : rn_fabric_first(f, queue);

	for (unsigned n = draw_geometric(d); n > 0; n--) {
		unsigned next = from_tail ? rn_fabric_prev(f, at) : rn_fabric_next(f, at);

		if (next == RN_TLP_NONE)
			break;
		at = next;
	}
	return rn_fabric_movable(f, at) ? at : rn_fabric_first(f, queue);
}

static unsigned pick_random(struct rn_driver *d, const struct rn_fabric *f)
{
	unsigned total = weigh_queues(d, f), queue;

	if (total == 0)
		return RN_TLP_NONE;
	queue = draw_queue(d, f, total);
	if (rn_random_scaled(&d->random, STALL_ONE_IN) == 0) {
		d->stalled[queue] = draw_stall(d);
		total -= weight_of(queue);
		if (total == 0)
			return RN_TLP_NONE;
		queue = draw_queue(d, f, total);
	}
	return draw_tlp(d, f, queue);
}

/* ---- The adversarial driver ---- */

/* If another TLP blocks the TLP at @index, follows the chain of blocking TLPs to one that
 * may move, and returns its index. Otherwise returns @index.
 */
static unsigned root_of(const struct rn_fabric *f, unsigned index)
{
	unsigned blocker;

	while ((blocker = rn_fabric_blocker(f, index)) != RN_TLP_NONE)
		index = blocker;
	return index;
}

/* Returns the TLP that must be moved so that the TLP at @index can move later. With
 * place=any, where data may move in any order, returns the youngest one of those that may
 * move and block the TLP at @index, so that the oldest data is missing longest.
 */
static unsigned last_in_the_way(const struct rn_fabric *f, unsigned index)
{
	const struct rn_pcie_knobs *knobs = rn_fabric_knobs(f);
	const struct rn_tlp *tlp = rn_fabric_tlp(f, index);

	if (knobs->place != RN_PLACE_ANY)
		return root_of(f, index);
	for (unsigned i = rn_fabric_prev(f, index); i != RN_TLP_NONE;
	     i = rn_fabric_prev(f, i))
		if (!rn_order_may_pass(tlp, rn_fabric_tlp(f, i), knobs) &&
		    rn_fabric_movable(f, i))
			return i;
	return root_of(f, index);
}

/* Returns true if the driver may hold back this CQE. It may while rn_driver.is_sending is
 * set: then data that the NIC issues later can be written before the CQE.
 */
static bool can_wait(const struct rn_driver *d, const struct rn_tlp *tlp)
{
	return d->is_sending && tlp->state == RN_TLP_QUEUED &&
	       tlp->route.queue[tlp->hop] >= RN_QUEUE_ENTRY;
}

static unsigned pick_adversarial(const struct rn_driver *d, const struct rn_fabric *f)
{
	uint32_t left = rn_fabric_wanted(f);
	unsigned youngest = RN_TLP_NONE;

	for (unsigned i = rn_fabric_youngest(f); left; i = rn_fabric_older(f, i)) {
		if (!rn_tlp_is_wanted(rn_fabric_tlp(f, i)))
			continue;
		left--;
		if (can_wait(d, rn_fabric_tlp(f, i)))
			continue;
		if (rn_fabric_movable(f, i))
			return i;
		if (youngest == RN_TLP_NONE)
			youngest = i;
	}
	return youngest == RN_TLP_NONE ? RN_TLP_NONE : last_in_the_way(f, youngest);
}

/* ---- The replay driver ---- */

/* Returns the next recorded choice, or RN_TLP_NONE if the TLP of that choice may not
 * move yet.
 */
static unsigned pick_replay(struct rn_driver *d, const struct rn_fabric *f)
{
	unsigned choice;

	if (d->choice_next == d->choice_count)
		return RN_TLP_NONE;
	choice = d->choices[d->choice_next];
	if (choice != RN_TLP_NONE && !rn_fabric_movable(f, choice))
		return RN_TLP_NONE;
	d->choice_next++;
	return choice;
}

unsigned rn_driver_pick(struct rn_driver *d, const struct rn_fabric *f)
{
	if (rn_fabric_count(f) == 0 && d->kind != RN_DRIVER_REPLAY)
		return RN_TLP_NONE;
	switch (d->kind) {
	case RN_DRIVER_RANDOM:
		return pick_random(d, f);
	case RN_DRIVER_ADVERSARIAL:
		return pick_adversarial(d, f);
	case RN_DRIVER_REPLAY:
		return pick_replay(d, f);
	}
	assert(!"kind of driver");
	return RN_TLP_NONE;
}
