/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap.c - the calendar of a simulation: a heap of events, and a heap with one timer for
 * each host.
 */
#include "heap.h"

/* ---------------------------------------------------------- heap of events */
static bool before(const struct rn_heap_item *a, const struct rn_heap_item *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

void rn_heap_init(struct rn_heap *h, struct rn_heap_item *item, uint32_t max)
{
	*h = (struct rn_heap){ .max = max, .item = item };
}

bool rn_heap_put(struct rn_heap *h, rn_ns at, uint32_t what, uint32_t arg)
{
	const struct rn_heap_item item = { at, h->seq++, what, arg };
	uint32_t i = h->count;

	if (h->count == h->max)
		return false;
	h->count++;
	for (; i && before(&item, &h->item[(i - 1) / 2]); i = (i - 1) / 2)
		h->item[i] = h->item[(i - 1) / 2];
	h->item[i] = item;
	return true;
}

struct rn_heap_item rn_heap_take(struct rn_heap *h)
{
	const struct rn_heap_item first = h->item[0];
	struct rn_heap_item last;
	uint32_t i = 0;

	assert(h->count);
	last = h->item[--h->count];
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= h->count)
			break;
		if (child + 1 < h->count && before(&h->item[child + 1], &h->item[child]))
			child++;
		if (!before(&h->item[child], &last))
			break;
		h->item[i] = h->item[child];
		i = child;
	}
	h->item[i] = last;
	return first;
}

/* ----------------------------------------------------- heap of host timers */
static bool is_earlier(const struct rn_vnet_timers *t, uint32_t a, uint32_t b)
{
	return t->timer[a].at != t->timer[b].at ? t->timer[a].at < t->timer[b].at : a < b;
}

static void put_at(struct rn_vnet_timers *t, uint32_t place, uint32_t host)
{
	t->timer[place].nth = host;
	t->timer[host].place = place;
}

/* Moves the timer of @host from position @place of the heap towards the root, as far as
 * its time allows.
 */
static void move_up(struct rn_vnet_timers *t, uint32_t place, uint32_t host)
{
	for (; place; place = (place - 1) / 2) {
		uint32_t above = t->timer[(place - 1) / 2].nth;

		if (!is_earlier(t, host, above))
			break;
		put_at(t, place, above);
	}
	put_at(t, place, host);
}

static void move_down(struct rn_vnet_timers *t, uint32_t place, uint32_t host)
{
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= t->count)
			break;
		if (child + 1 < t->count &&
		    is_earlier(t, t->timer[child + 1].nth, t->timer[child].nth))
			child++;
		if (!is_earlier(t, t->timer[child].nth, host))
			break;
		put_at(t, place, t->timer[child].nth);
		place = child;
	}
	put_at(t, place, host);
}

void rn_vnet_timers_init(struct rn_vnet_timers *t, struct rn_vnet_timer *timer,
			 uint32_t hosts)
{
	*t = (struct rn_vnet_timers){ .timer = timer };
	for (uint32_t i = 0; i < hosts; i++)
		timer[i].at = RN_NEVER;
}

static void stop(struct rn_vnet_timers *t, uint32_t host)
{
	uint32_t place = t->timer[host].place, last = t->timer[--t->count].nth;

	t->timer[host].at = RN_NEVER;
	if (last == host)
		return;
	move_up(t, place, last);
	move_down(t, t->timer[last].place, last);
}

void rn_vnet_timers_set(struct rn_vnet_timers *t, uint32_t host, rn_ns at)
{
	rn_ns old = t->timer[host].at;

	if (at == old)
		return;
	if (at == RN_NEVER) {
		stop(t, host);
		return;
	}
	t->timer[host].at = at;
	if (old == RN_NEVER)
		move_up(t, t->count++, host);
	else if (at < old)
		move_up(t, t->timer[host].place, host);
	else
		move_down(t, t->timer[host].place, host);
}
