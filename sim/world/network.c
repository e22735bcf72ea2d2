/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* network.c - packets between devices: ports, a switch, and what goes wrong on the way.
 */
#include <string.h>

#include "world_internal.h"

static void give_back(struct rn_world *w, uint32_t i)
{
	w->free_packet[w->free_packets++] = i;
}

static struct rn_w_end *addressee(struct rn_world *w, const struct rn_w_packet *p)
{
	return rn_w_find(w, p->to, rn_get_be24(p->bytes + 5));
}

/* It is lost, or damaged, or overtaken. */
static void trouble(struct rn_world *w, const struct rn_w_packet *p, uint32_t count)
{
	struct rn_w_end *e = addressee(w, p);
	bool request = rn_opcode_info[p->bytes[0]].flags & RN_OP_REQUEST;

	if (!e)
		return;
	e->pair->troubles += count;
	rn_w_account_lost(request ? e->peer : e, count);
}

/* It does harm now, and when an answer to it comes. */
static void stale(struct rn_world *w, const struct rn_w_packet *p)
{
	trouble(w, p, 1);
	rn_w_account_lost(addressee(w, p), 1);
	addressee(w, p)->pair->stale++;
}

/* What a late packet may cost its connection: as many timeouts as fit, and no NAK. */
static void late(struct rn_world *w, const struct rn_w_packet *p, rn_ns by)
{
	struct rn_w_end *e = addressee(w, p);
	rn_ns timeout = e ? (rn_ns)4096 << e->pair->plan->timeout : RN_NEVER;

	if (by * 4 > timeout)
		e->pair->troubles += 1 + (uint32_t)(by / timeout);
}

struct fate {
	bool lost, twice, damaged, marked;
	rn_ns extra, again;
};

static void harm(const struct rn_plan_fault *f, struct rn_random *r, struct fate *fate)
{
	rn_ns by = rn_random_below(r, (uint32_t)f->by);

	switch (f->harm) {
	case RN_HARM_LOSS:
	case RN_HARM_FLAP:
		fate->lost = true;
		break;
	case RN_HARM_DUPLICATE:
		fate->twice = true;
		fate->again = by;
		break;
	case RN_HARM_REORDER:
	case RN_HARM_DELAY:
		fate->extra += by;
		break;
	case RN_HARM_CORRUPT:
		fate->damaged = true;
		break;
	case RN_HARM_MARK:
		fate->marked = true;
		break;
	case RN_HARM_COUNT:
		assert(false);
	}
}

static struct fate judge(struct rn_world *w, const struct rn_w_packet *p)
{
	struct fate fate = { 0 };

	for (uint32_t i = 0; i < w->plan.faults; i++) {
		const struct rn_plan_fault *f = &w->plan.fault[i];

		if (!f->off && f->dev == p->to && f->from <= w->now &&
		    w->now < f->until && rn_random_ppm(&w->fault_random[i], f->ppm))
			harm(f, &w->fault_random[i], &fate);
	}
	return fate;
}

/* One bit; not in the byte that the ICRC leaves out. */
static void damage(struct rn_w_packet *p, uint64_t random)
{
	uint32_t at = (uint32_t)(random >> 8) % p->len;

	p->bytes[at == 4 ? 5 : at] ^= (uint8_t)(1u << (random & 7));
	p->damaged = true;
}

/* A copy of @pkt goes through its device's port to the switch. */
static void launch(struct rn_world *w, const struct rn_w_packet *pkt,
		   const struct fate *fate, rn_ns extra)
{
	struct rn_link *up = &w->device[pkt->from].up;
	struct rn_w_packet *p;
	struct rn_link_fate l;
	uint32_t i;

	if (!w->free_packets) {
		trouble(w, pkt, 1);
		return;
	}
	l = rn_link_send(up, w->now, pkt->len + RN_LINK_FRAMING, pkt->flow.tclass & 3);
	if (l.lost) {
		trouble(w, pkt, 1);
		return;
	}
	i = w->free_packet[--w->free_packets];
	p = &w->packet[i];
	memcpy(p, pkt, offsetof(struct rn_w_packet, bytes) + pkt->len);
	if (l.marked || (fate->marked && (p->flow.tclass & 3)))
		p->flow.tclass |= 3;
	if (fate->damaged) {
		trouble(w, pkt, 1);
		damage(p, w->result->hash);
	}
	/* It is missed, and when it comes those are that it was missed by. */
	if (extra)
		trouble(w, pkt, 2);
	late(w, pkt, l.arrives_at + extra - w->now);
	rn_w_put(w, l.arrives_at + extra, RN_W_SWITCH, i);
}

static bool is_of(const struct rn_gid *a, const struct rn_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static uint32_t members(struct rn_world *w, uint32_t dev)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		const struct rn_w_end *e = &w->pair[i / 2].end[i % 2];

		count += e->qp && e->dev == dev && e->member;
	}
	return count;
}

/* @pkt goes to the device @pkt->to. */
static void send_out(struct rn_world *w, const struct rn_w_packet *pkt)
{
	struct fate fate = judge(w, pkt);

	if (fate.lost) {
		rn_w_say(w, "    is lost");
		trouble(w, pkt, 1);
	} else {
		launch(w, pkt, &fate, fate.extra);
	}
	if (fate.twice) {
		rn_w_say(w, "    comes again after %lld ns", (long long)fate.again);
		fate.damaged = false;
		launch(w, pkt, &fate, fate.again);
	}
}

static void send_to_group(struct rn_world *w, struct rn_w_packet *pkt)
{
	rn_w_observe_leaves(w, pkt);
	for (pkt->to = 0; pkt->to < w->plan.devices; pkt->to++)
		if (members(w, pkt->to))
			send_out(w, pkt);
}

void rn_w_leave(struct rn_w_device *d, struct rn_w_packet *pkt)
{
	struct rn_world *w = d->w;

	pkt->from = d->number;
	pkt->connection = 0;
	w->result->packets++;
	rn_w_hash(w, (uint64_t)pkt->from << 32 | pkt->len,
		  rn_get_be32(pkt->bytes + pkt->len - RN_ICRC_LEN));
	if (is_of(&pkt->flow.dst, rn_w_group(w))) {
		send_to_group(w, pkt);
		return;
	}
	for (pkt->to = 0; pkt->to < w->plan.devices; pkt->to++)
		if (is_of(&w->device[pkt->to].gid, &pkt->flow.dst))
			break;
	if (pkt->to == w->plan.devices) {
		rn_w_fail(w, "device %u sends to an address that nobody has", d->number);
		return;
	}
	if (addressee(w, pkt))
		pkt->connection = addressee(w, pkt)->pair->connection;
	rn_w_observe_leaves(w, pkt);
	send_out(w, pkt);
}

void rn_w_at_switch(struct rn_world *w, uint32_t i)
{
	struct rn_w_packet *p = &w->packet[i];
	struct rn_link_fate l =
		rn_link_send(&w->device[p->to].down, w->now, p->len + RN_LINK_FRAMING,
			     p->flow.tclass & 3);

	if (l.lost) {
		trouble(w, p, 1);
		give_back(w, i);
		return;
	}
	if (l.marked)
		p->flow.tclass |= 3;
	late(w, p, l.arrives_at - w->now);
	rn_w_put(w, l.arrives_at, RN_W_ARRIVAL, i);
}

void rn_w_arrive(struct rn_world *w, uint32_t i)
{
	struct rn_w_packet *p = &w->packet[i];
	struct rn_w_device *d = &w->device[p->to];
	const struct rn_rx rx = { .flow = &p->flow, .data = p->bytes, .len = p->len };

	if (d->stalled_until > w->now) {
		rn_w_put(w, d->stalled_until, RN_W_ARRIVAL, i);
		return;
	}
	if (addressee(w, p))
		rn_w_key_tick(w, addressee(w, p));
	/* What is sent to a group is not answered. */
	if (!p->damaged && (p->flow.tclass & 3) == 3)
		d->marked += !is_of(&p->flow.dst, rn_w_group(w));
	if (p->damaged)
		; /* nobody may be impressed by it */
	else if (addressee(w, p) && addressee(w, p)->pair->connection != p->connection)
		stale(w, p);
	else
		rn_w_observe_arrives(w, p);
	rn_dev_receive(d->dev, rn_w_local(d), &rx, 1);
	give_back(w, i);
	rn_w_drain(d);
	rn_w_datagram_done(d);
}
