/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* network.c - packets between devices, and what goes wrong on the way.
 */
#include <string.h>

#include "world_internal.h"

static struct rn_w_end *addressee(struct rn_world *w, const struct rn_vnet_packet *p)
{
	return rn_w_find(w, p->to, rn_get_be24(p->bytes + 5));
}

/* It is lost, or damaged, or overtaken. */
static void trouble(struct rn_world *w, const struct rn_vnet_packet *p, uint32_t count)
{
	struct rn_w_end *e = addressee(w, p);
	bool request = rn_opcode_info[p->bytes[0]].flags & RN_OP_REQUEST;

	if (!e)
		return;
	e->pair->troubles += count;
	rn_w_account_lost(request ? e->peer : e, count);
}

/* It does harm now, and when an answer to it comes. */
static void stale(struct rn_world *w, const struct rn_vnet_packet *p)
{
	trouble(w, p, 1);
	rn_w_account_lost(addressee(w, p), 1);
	addressee(w, p)->pair->stale++;
}

/* What a late packet may cost its connection: as many timeouts as fit, and no NAK. */
static void late(struct rn_world *w, const struct rn_vnet_packet *p, rn_ns by)
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

static struct fate judge(struct rn_world *w, const struct rn_vnet_packet *p)
{
	struct fate fate = { 0 };

	for (uint32_t i = 0; i < w->plan.faults; i++) {
		const struct rn_plan_fault *f = &w->plan.fault[i];

		if (!f->off && f->dev == p->to && f->from <= w->net->now &&
		    w->net->now < f->until && rn_random_ppm(&w->fault_random[i], f->ppm))
			harm(f, &w->fault_random[i], &fate);
	}
	return fate;
}

/* One bit; not in the byte that the ICRC leaves out. */
static void damage(struct rn_vnet_packet *p, uint64_t random)
{
	uint32_t at = (uint32_t)(random >> 8) % p->len;

	p->bytes[at == 4 ? 5 : at] ^= (uint8_t)(1u << (random & 7));
	p->damaged = true;
}

/* A copy of @pkt goes through its device's port to the switch. */
static void launch(struct rn_world *w, const struct rn_vnet_packet *pkt,
		   const struct fate *fate, rn_ns extra)
{
	struct rn_vnet_packet *p = rn_vnet_send(w->net, pkt, extra);

	if (!p)
		return;
	if (fate->marked && (p->flow.tclass & 3))
		p->flow.tclass |= 3;
	if (fate->damaged) {
		trouble(w, pkt, 1);
		damage(p, w->result->hash);
	}
	/* It is missed, and when it comes those are that it was missed by. */
	if (extra)
		trouble(w, pkt, 2);
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
static void send_out(struct rn_world *w, const struct rn_vnet_packet *pkt)
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

static void send_to_group(struct rn_world *w, struct rn_vnet_packet *pkt)
{
	rn_w_observe_leaves(w, pkt);
	for (pkt->to = 0; pkt->to < w->plan.devices; pkt->to++)
		if (members(w, pkt->to))
			send_out(w, pkt);
}

void rn_w_leave(struct rn_w_device *d, struct rn_vnet_packet *pkt)
{
	struct rn_world *w = d->w;

	pkt->from = d->number;
	pkt->tag = 0;
	w->result->packets++;
	rn_w_hash(w, (uint64_t)pkt->from << 32 | pkt->len,
		  rn_get_be32(pkt->bytes + pkt->len - RN_ICRC_LEN));
	if (is_of(&pkt->flow.dst, rn_w_group(w))) {
		send_to_group(w, pkt);
		return;
	}
	pkt->to = rn_vnet_host_of(w->net, &pkt->flow.dst);
	if (pkt->to == RN_VNET_NOBODY) {
		rn_w_fail(w, "device %u sends to an address that nobody has", d->number);
		return;
	}
	if (addressee(w, pkt))
		pkt->tag = addressee(w, pkt)->pair->connection;
	rn_w_observe_leaves(w, pkt);
	send_out(w, pkt);
}

void rn_w_queued(void *ctx, const struct rn_vnet_packet *p,
		 const struct rn_vnet_port *port, rn_ns by)
{
	(void)port;
	late(ctx, p, by);
}

void rn_w_lost(void *ctx, const struct rn_vnet_packet *p, const struct rn_vnet_port *port,
	       enum rn_vnet_loss why)
{
	(void)port, (void)why;
	trouble(ctx, p, 1);
}

void rn_w_arrive(void *ctx, uint32_t device, struct rn_vnet_packet *p)
{
	struct rn_world *w = ctx;
	struct rn_w_device *d = &w->device[device];

	if (addressee(w, p))
		rn_w_key_tick(w, addressee(w, p));
	/* What is sent to a group is not answered. */
	if (!p->damaged && (p->flow.tclass & 3) == 3)
		d->marked += !is_of(&p->flow.dst, rn_w_group(w));
	if (p->damaged)
		; /* nobody may be impressed by it */
	else if (addressee(w, p) && addressee(w, p)->pair->connection != p->tag)
		stale(w, p);
	else
		rn_w_observe_arrives(w, p);
	rn_vnet_receive(w->net, device, p);
	rn_w_drain(d);
	rn_w_datagram_done(d);
}
