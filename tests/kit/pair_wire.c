/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pair_wire.c - one or two devices on a wire in virtual time: the wire and the clock. */
#include "pair_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/vnet/host.h"

/* More steps than this without time passing: the devices talk to themselves. */
enum {
	STEPS_MAX = 1000000
};

void pair_set_hook(struct pair *p, pair_hook *hook, void *ctx)
{
	p->hook = hook;
	p->hook_ctx = ctx;
}

void pair_set_faults(struct pair *p, const struct pair_faults *faults)
{
	p->faults = *faults;
}

void pair_wire_init(struct pair *p)
{
	rn_heap_init(&p->link, p->arrival, PAIR_LINK_MAX);
	for (p->free_places = 0; p->free_places < PAIR_LINK_MAX; p->free_places++)
		p->free_place[p->free_places] = p->free_places;
}

void pair_wire_free(struct pair *p)
{
	for (unsigned i = 0; i < p->record_count; i++)
		free(p->record[i]);
	while (p->link.count)
		free(p->place[rn_heap_take(&p->link).arg]);
}

static bool happens(struct pair *p, unsigned of_10000)
{
	return of_10000 && test_random(&p->faults.seed) % 10000 < of_10000;
}

static struct pair_fate random_fate(struct pair *p)
{
	struct pair_fate f = { .copies = 1 };

	if (happens(p, p->faults.loss))
		f.copies = 0;
	if (happens(p, p->faults.duplicate))
		f.copies++;
	if (happens(p, p->faults.reorder))
		f.extra_ns = (rn_ns)(test_random(&p->faults.seed) % 50000);
	f.corrupt = happens(p, p->faults.corrupt);
	f.marked = happens(p, p->faults.mark);
	return f;
}

static struct pair_packet *copy_of(const struct pair_packet *pkt)
{
	struct pair_packet *c = malloc(offsetof(struct pair_packet, data) + pkt->len);

	assert_non_null(c);
	memcpy(c, pkt, offsetof(struct pair_packet, data) + pkt->len);
	return c;
}

static void put_on_link(struct pair *p, struct pair_packet *pkt, rn_ns at)
{
	uint32_t place;

	assert_true(p->free_places > 0);
	place = p->free_place[--p->free_places];
	p->place[place] = pkt;
	assert_true(rn_heap_put(&p->link, at, 0, place));
}

static void record(struct pair *p, const struct pair_packet *pkt)
{
	if (p->record_off)
		return;
	if (p->record_count == PAIR_RECORD_MAX) {
		unsigned half = PAIR_RECORD_MAX / 2;

		for (unsigned i = 0; i < half; i++)
			free(p->record[i]);
		memmove(p->record, p->record + half, half * sizeof(p->record[0]));
		p->record_count -= half;
		p->record_taken = p->record_taken > half ? p->record_taken - half : 0;
	}
	p->record[p->record_count++] = copy_of(pkt);
}

static void send_packet(struct pair *p, struct pair_packet *pkt)
{
	struct pair_fate f = { .copies = 1 };
	bool to_test = p->cfg.devices == 1 &&
		       memcmp(&pkt->flow.dst, &p->gid[0], sizeof(p->gid[0])) != 0;

	if (p->hook)
		f = p->hook(p->hook_ctx, pkt);
	else if (p->faults.seed && !to_test)
		f = random_fate(p);
	pkt->copies = f.copies;
	record(p, pkt);
	for (unsigned i = 0; i < f.copies && !to_test; i++) {
		struct pair_packet *c = copy_of(pkt);

		if (f.corrupt && i == 0)
			c->data[c->len / 2] ^= 0x10;
		if (f.marked && (c->flow.tclass & RN_ECN_MASK))
			c->flow.tclass |= RN_ECN_CE;
		put_on_link(p, c, p->now + p->cfg.link_ns + f.extra_ns);
	}
}

void pair_print_tail(const struct pair *p, unsigned count)
{
	unsigned from = p->record_count > count ? p->record_count - count : 0;

	for (unsigned i = from; i < p->record_count; i++) {
		const struct pair_packet *k = p->record[i];
		const struct rn_opcode_info *op = &rn_opcode_info[k->data[0]];
		struct rn_bth b = { 0 };

		rn_bth_parse(&b, k->data, k->data + k->len);
		print_message("%12.3f us %d qp %x->%x %-22s psn %u%s len %u",
			      (double)k->at / 1e3, k->from, k->tx.src_qpn, b.dest_qpn,
			      op->name, b.psn.v, b.ack_req ? " A" : "", k->len);
		if (op->flags & RN_OP_AETH)
			print_message(" syndrome %02x msn %u", k->data[RN_BTH_LEN],
				      rn_get_be24(k->data + RN_BTH_LEN + 1));
		print_message("%s\n", k->copies == 0  ? " LOST"
				      : k->copies > 1 ? " TWICE"
						      : "");
	}
}

/* The next packet of device @i onto the wire. */
static bool transmit_one(struct pair *p, unsigned i, unsigned what)
{
	struct pair_packet pkt = { .at = p->now, .from = (int)i };

	pkt.len = rn_host_transmit(p->dev[i], p->now, what, pkt.data, &pkt.flow, &pkt.tx);
	assert_true(pkt.len <= RN_PACKET_MAX + RN_ICRC_LEN);
	if (pkt.len)
		send_packet(p, &pkt);
	return pkt.len > 0;
}

void pair_collect_events(struct pair *p)
{
	struct rn_event ev;

	for (unsigned i = 0; i < p->cfg.devices; i++)
		while (rn_dev_event(p->dev[i], &ev)) {
			assert_true(p->event_count < PAIR_EVENTS_MAX);
			p->event[p->event_count].dev = i;
			p->event[p->event_count++].ev = ev;
		}
}

static void flush_devices(struct pair *p, unsigned what)
{
	unsigned steps = 0;

	if (p->frozen)
		return;
	for (unsigned i = 0; i < p->cfg.devices; i++)
		while (transmit_one(p, i, what))
			assert_true(++steps < STEPS_MAX);
}

void pair_flush(struct pair *p)
{
	flush_devices(p, p->cfg.hold_acks ? RN_TX_WORK : RN_TX_ALL);
	pair_collect_events(p);
}

void pair_inject(struct pair *p, unsigned dev, const struct rn_flow *flow,
		 const uint8_t *data, uint32_t len)
{
	struct rn_rx rx = { .flow = flow, .data = data, .len = len };

	rn_dev_receive(p->dev[dev], p->now, &rx, 1);
	pair_flush(p);
}

/* The packet that arrives next; there must be one. */
static struct pair_packet *next_arrival(const struct pair *p)
{
	return p->place[p->link.item[0].arg];
}

static struct pair_packet *take_arrival(struct pair *p)
{
	uint32_t place = rn_heap_take(&p->link).arg;

	p->free_place[p->free_places++] = place;
	return p->place[place];
}

static int receiver_of(const struct pair *p, const struct pair_packet *pkt)
{
	for (unsigned i = 0; i < p->cfg.devices; i++)
		if (memcmp(&pkt->flow.dst, &p->gid[i], sizeof(p->gid[i])) == 0)
			return (int)i;
	return -1;
}

/* Deliver what has arrived by now, up to rx_batch packets of one receiver per call. */
static bool deliver(struct pair *p)
{
	enum {
		BATCH_MAX = 64
	};
	struct pair_packet *pkt[BATCH_MAX];
	struct rn_rx rx[BATCH_MAX];
	unsigned n = 0;
	int to = -1;

	while (n < p->cfg.rx_batch && n < BATCH_MAX && rn_heap_next(&p->link) <= p->now) {
		if (n && receiver_of(p, next_arrival(p)) != to)
			break;
		pkt[n] = take_arrival(p);
		to = receiver_of(p, pkt[n]);
		rx[n] = (struct rn_rx){ .flow = &pkt[n]->flow,
					.data = pkt[n]->data,
					.len = pkt[n]->len };
		n++;
	}
	if (n == 0)
		return false;
	if (to >= 0)
		rn_dev_receive(p->dev[to], p->now, rx, n);
	for (unsigned i = 0; i < n; i++)
		free(pkt[i]);
	return true;
}

static bool memory_step(struct pair *p)
{
	uint64_t tag;
	enum rn_mem_result result;

	for (unsigned i = 0; i < p->cfg.devices; i++)
		if (arena_step(&p->arena[i], p->now, &tag, &result)) {
			rn_dev_mem_done(p->dev[i], p->now, tag, result);
			return true;
		}
	return false;
}

static bool timer_step(struct pair *p)
{
	bool fired = false;

	for (unsigned i = 0; i < p->cfg.devices; i++)
		if (rn_dev_deadline(p->dev[i]) <= p->now) {
			rn_dev_expire(p->dev[i], p->now);
			fired = true;
		}
	return fired;
}

/* Everything that happens at this instant. */
static void settle(struct pair *p)
{
	unsigned steps = 0;

	for (;;) {
		assert_true(++steps < STEPS_MAX);
		pair_flush(p);
		if (deliver(p) || memory_step(p) || timer_step(p))
			continue;
		if (!p->cfg.hold_acks)
			break;
		flush_devices(p, RN_TX_ALL);
		if (rn_heap_next(&p->link) > p->now)
			break;
	}
	pair_collect_events(p);
}

static rn_ns min_ns(rn_ns a, rn_ns b)
{
	return a < b ? a : b;
}

static rn_ns next_instant(const struct pair *p, bool timers)
{
	rn_ns t = rn_heap_next(&p->link);

	for (unsigned i = 0; i < p->cfg.devices; i++) {
		t = min_ns(t, arena_deadline(&p->arena[i]));
		if (timers)
			t = min_ns(t, rn_dev_deadline(p->dev[i]));
	}
	return t;
}

static bool run(struct pair *p, rn_ns limit, bool timers)
{
	for (;;) {
		rn_ns next;

		settle(p);
		next = next_instant(p, timers);
		if (next == RN_NEVER)
			return true;
		if (next > limit)
			return false;
		/* Timers keep running even where they do not keep us waiting. */
		next = min_ns(next, next_instant(p, true));
		if (next > p->now)
			p->now = next;
	}
}

bool pair_run_until(struct pair *p, rn_ns limit)
{
	return run(p, limit, true);
}

void pair_run_until_quiet(struct pair *p)
{
	assert_true(run(p, p->now + 3600 * RN_MSEC(1000), true));
}

void pair_run_for(struct pair *p, rn_ns ns)
{
	rn_ns end = p->now + ns;

	run(p, end, true);
	p->now = end;
	settle(p);
}

void pair_run_wire(struct pair *p)
{
	assert_true(run(p, p->now + 3600 * RN_MSEC(1000), false));
}
