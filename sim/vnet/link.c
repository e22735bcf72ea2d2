/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* link.c - one direction of a link in virtual time: rate, delay, a queue with ECN
 * marking, and faults.
 */
#include "link.h"

#define NS_PER_S UINT64_C(1000000000)

void rn_link_init(struct rn_link *link, const struct rn_link_cfg *cfg, uint64_t seed)
{
	assert(cfg->rate == 0 || cfg->rate >= 1000);
	assert(cfg->ecn_min <= cfg->ecn_max);
	assert(cfg->late > 0 || !(cfg->twice_ppm || cfg->late_ppm));
	*link = (struct rn_link){ .cfg = *cfg, .random = { seed } };
}

/* Returns a * b / c; the product of a and b may exceed 64 bits. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint64_t)((unsigned __int128)a * b / c);
}

uint32_t rn_link_queued(const struct rn_link *link, rn_ns now)
{
	if (!link->cfg.rate || link->idle_at <= now)
		return 0;
	return (uint32_t)scale((uint64_t)(link->idle_at - now), link->cfg.rate,
			       8 * NS_PER_S);
}

bool rn_link_mark(struct rn_link *link, uint32_t queued)
{
	const struct rn_link_cfg *c = &link->cfg;

	if (!c->ecn_max || queued < c->ecn_min)
		return false;
	if (queued >= c->ecn_max)
		return true;
	return rn_random_ppm(&link->random,
			     (uint32_t)scale(queued - c->ecn_min, c->ecn_ppm,
					     c->ecn_max - c->ecn_min));
}

rn_ns rn_link_time(const struct rn_link *link, uint32_t bytes)
{
	const struct rn_link_cfg *c = &link->cfg;

	return c->rate ? (rn_ns)scale(8 * (uint64_t)bytes, NS_PER_S, c->rate) : 0;
}

/* Draws at random whether the packet is lost, duplicated or delayed, and the delay.
 * Stores the result in @fate.
 */
static void draw_faults(struct rn_link *link, struct rn_link_fate *fate)
{
	const struct rn_link_cfg *c = &link->cfg;

	fate->lost = rn_random_ppm(&link->random, c->loss_ppm);
	fate->twice = rn_random_ppm(&link->random, c->twice_ppm);
	fate->late = rn_random_ppm(&link->random, c->late_ppm);
	if (fate->twice)
		fate->again = 1 + rn_random_below(&link->random, (uint32_t)c->late);
	if (fate->late)
		fate->arrives_at += 1 + rn_random_below(&link->random, (uint32_t)c->late);
}

struct rn_link_fate rn_link_send(struct rn_link *link, rn_ns now, uint32_t bytes,
				 bool capable)
{
	const struct rn_link_cfg *c = &link->cfg;
	uint32_t queued = rn_link_queued(link, now);
	struct rn_link_fate fate = { 0 };

	if (link->down || (c->queue && queued + bytes > c->queue)) {
		*(link->down ? &link->lost : &link->dropped) += 1;
		fate.lost = true;
		return fate;
	}
	fate.marked = capable && rn_link_mark(link, queued);
	if (link->idle_at < now)
		link->idle_at = now;
	link->idle_at += rn_link_time(link, bytes);
	draw_faults(link, &fate);
	fate.again += link->idle_at + c->delay;
	fate.arrives_at += link->idle_at + c->delay;
	link->packets++;
	link->bytes += bytes;
	link->marked += fate.marked;
	link->lost += fate.lost;
	if (queued + bytes > link->queue_max)
		link->queue_max = queued + bytes;
	return fate;
}

void rn_link_set_down(struct rn_link *link, rn_ns now, bool down)
{
	link->downs += down && !link->down;
	link->down = down;
	if (down && link->idle_at > now)
		link->idle_at = now;
}
