/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* work.c - the steps of a plan: programs post work, hosts stall, clocks jump,
 * devices fail.
 */
#include <string.h>

#include "rocin/opcode.h"
#include "rocin/transport.h"
#include "world_internal.h"

enum {
	XRC_SRQN = 2 /* number of the XRC domain's SRQ, which objects.c creates */
};

/* ---------------------------------------------------- posting of work requests */
struct rn_w_wr *rn_w_new_wr(struct rn_world *w, struct rn_w_queue *q, uint32_t dir,
			    const struct rn_w_end *e)
{
	struct rn_w_wr *wr = &q->wr[q->tail % RN_W_WRS];
	uint32_t troubles = e->pair->troubles;

	/* If earlier requests are incomplete, the loss of one of their packets may make
	 * the QP send this request again, too. So @troubles starts at the value that it
	 * had when the oldest incomplete request was posted: all losses since then may
	 * explain retries of this one.
	 */
	if (q->head != q->tail)
		troubles = q->wr[q->head % RN_W_WRS].troubles;

	*wr = (struct rn_w_wr){
		.id = (uint64_t)dir << 63 | ++w->ids,
		.slot = RN_W_NONE,
		.remote_slot = RN_W_NONE,
		.posted = w->net->now,
		.troubles = troubles,
		.rnrs = e->rnrs,
	};
	return wr;
}

uint32_t rn_w_pieces(const struct rn_w_device *d, uint32_t slot, uint32_t len,
		     struct rn_sge sg[3], struct rn_random *r)
{
	uint64_t addr = rn_w_slot_address(d, slot);
	uint32_t n = 0;

	while (len) {
		uint32_t part = n == 2 || rn_random_below(r, 2)
					? len
					: rn_random_below(r, len) + 1;

		sg[n++] = (struct rn_sge){ addr, part, d->mr.lkey };
		addr += part;
		len -= part;
	}
	return n;
}

/* Returns a random size in bytes for a UD receive. Some are too small for the longest
 * datagram.
 */
static uint32_t datagram_room(struct rn_random *r)
{
	return RN_GRH_LEN + (rn_random_below(r, 3) ? RN_W_DATAGRAM
						   : rn_random_below(r, RN_W_DATAGRAM));
}

void rn_w_post_recvs(struct rn_world *w, struct rn_w_end *e, uint32_t count,
		     struct rn_random *r)
{
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_sge sg[3];

	if (rn_w_type(e) == RN_QPT_XRC_SEND)
		return;
	if (e->pair->plan->srq) {
		rn_w_srq_post(d, rn_w_srq_of(e), count, r);
		return;
	}
	for (; count && e->rq.tail - e->rq.head < RN_W_WRS; count--) {
		struct rn_w_wr *wr = rn_w_new_wr(w, &e->rq, 1, e);
		struct rn_recv_wr recv = { .wr_id = wr->id, .sg = sg };

		wr->len = rn_w_type(e) == RN_QPT_UD ? datagram_room(r)
						    : 6 * e->pair->plan->mtu;
		wr->slot =
			rn_w_slot_take(d, RN_W_RECV, e->qpn, wr->len, rn_random_next(r));
		if (wr->slot == RN_W_NONE)
			return;
		recv.num_sge = rn_w_pieces(d, wr->slot, wr->len, sg, r);
		e->rq.tail++;
		if (rn_qp_post_recv(d->dev, e->qp, rn_w_local(d), &recv))
			rn_w_fail(w, "QP %x does not take a receive", e->qpn);
	}
}

static const enum rn_wr_opcode opcodes[] = {
	RN_WR_SEND,
	RN_WR_SEND,
	RN_WR_SEND_WITH_IMM,
	RN_WR_RDMA_WRITE,
	RN_WR_RDMA_WRITE,
	RN_WR_RDMA_WRITE_WITH_IMM,
	RN_WR_RDMA_READ,
	RN_WR_RDMA_READ,
	RN_WR_ATOMIC_FETCH_AND_ADD,
	RN_WR_ATOMIC_CMP_AND_SWP,
	RN_WR_ATOMIC_WRITE,
	RN_WR_FLUSH,
};

enum {
	ON_UD = 3, /* number of opcodes at the start of the table that UD has, too */
	ON_UC = 6
};

static enum rn_wr_opcode choose_opcode(const struct rn_w_end *e, struct rn_random *r)
{
	uint32_t known = RN_ARRAY_SIZE(opcodes);

	if (rn_w_type(e) == RN_QPT_UD)
		known = ON_UD;
	else if (!rn_w_is_reliable(e))
		known = ON_UC;
	return opcodes[rn_random_below(r, known)];
}

static uint32_t choose_len(const struct rn_plan_pair *p, struct rn_random *r)
{
	if (p->type == RN_QPT_UD && rn_random_below(r, 16))
		return rn_random_below(r, RN_W_DATAGRAM + 1);
	switch (rn_random_below(r, 8)) {
	case 0:
		return 0;
	case 1:
		return rn_random_below(r, 64);
	case 2:
		return p->mtu * (1 + rn_random_below(r, 6));
	case 3:
		return p->mtu;
	default:
		return rn_random_below(r, 6 * p->mtu);
	}
}

/* Takes the slots that @wr needs at both ends. Returns false if no slot is free. */
static bool take_slots(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr)
{
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_w_device *far = &w->device[e->peer->dev];
	bool back = rn_wr_brings_data(wr->opcode);
	bool write = rn_wr_writes(wr->opcode);

	if (wr->len == 0 || !rn_wr_has_data(wr->opcode))
		return true;
	if (write && rn_wr_flags(wr->opcode) & RN_OP_WORD)
		/* Makes the offset in the slot a multiple of 8, which ATOMIC WRITE
		 * requires.
		 */
		wr->pattern &= UINT64_C(0xfffffff8ffffffff);
	if (!wr->is_inline && !wr->lkey) {
		wr->slot = rn_w_slot_take(d, back ? RN_W_SINK : RN_W_SOURCE, e->qpn,
					  wr->len, wr->pattern);
		if (wr->slot == RN_W_NONE)
			return false;
	}
	if (rn_wr_is_atomic(wr->opcode) || !(back || write) || wr->rkey)
		return true;
	wr->remote_slot = rn_w_slot_take(far, back ? RN_W_FETCHED : RN_W_TARGET,
					 e->peer->qpn, wr->len, wr->pattern);
	if (wr->remote_slot != RN_W_NONE)
		return true;
	rn_w_slot_close(d, wr->slot);
	return false;
}

static void fill_atomic(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
			struct rn_send_wr *send, struct rn_random *r)
{
	struct rn_w_device *far = &w->device[e->peer->dev];
	uint32_t counter = rn_random_below(r, RN_W_COUNTERS);

	wr->operand = wr->id; /* each request has another value */
	wr->compare = far->counter[counter];
	wr->index = e->atomics_posted++;
	send->compare_add = wr->operand;
	if (wr->opcode == RN_WR_ATOMIC_CMP_AND_SWP) {
		send->compare_add = wr->compare;
		send->swap = wr->operand;
	}
	send->remote_addr = RN_W_COUNTER + UINT64_C(8) * counter;
	send->rkey = far->counters.lkey;
	e->atomic[wr->index % RN_ARRAY_SIZE(e->atomic)] = *wr;
}

static uint32_t choose_flags(const struct rn_w_wr *wr, struct rn_random *r)
{
	return (wr->signaled ? RN_SEND_SIGNALED : 0) | (wr->fence ? RN_SEND_FENCE : 0) |
	       (rn_random_below(r, 8) ? 0 : RN_SEND_FENCE) |
	       (rn_random_below(r, 8) ? 0 : RN_SEND_SOLICITED);
}

/* Sometimes gives a request an invalid rkey. */
static void maybe_make_invalid(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
			       struct rn_send_wr *send, struct rn_random *r)
{
	if (rn_random_below(r, 256) || !w->plan.rough || !wr->len ||
	    !rn_w_is_reliable(e) || wr->rkey)
		return;
	if (wr->opcode != RN_WR_RDMA_WRITE && wr->opcode != RN_WR_RDMA_READ)
		return;
	send->rkey ^= 0xff00;
	wr->bad = e->bad_posted = true;
}

static bool can_be_inline(const struct rn_w_wr *wr)
{
	return wr->len && wr->len <= RN_W_INLINE &&
	       (rn_wr_info[wr->opcode].takes_recv || wr->opcode == RN_WR_RDMA_WRITE);
}

/* Puts the data of a request inline. The source is not a slot, whose bytes would have to
 * stay as they are: a program may change inline data as soon as the request is posted.
 */
static void put_inline(const struct rn_w_wr *wr, struct rn_send_wr *send,
		       struct rn_sge sg[3], uint8_t bytes[RN_W_INLINE])
{
	uint32_t first = wr->len / 3;

	rn_w_fill(bytes, wr->pattern, wr->len);
	sg[0] = (struct rn_sge){ (uintptr_t)bytes, first, 0 };
	sg[1] = (struct rn_sge){ (uintptr_t)(bytes + first), wr->len - first, 0 };
	send->flags |= RN_SEND_INLINE;
	send->num_sge = 2;
}

/* Fills in the SGEs of the request for the bytes of @wr. */
static void list_bytes(const struct rn_w_device *d, const struct rn_w_wr *wr,
		       struct rn_send_wr *send, struct rn_sge sg[3],
		       uint8_t bytes[RN_W_INLINE], struct rn_random *r)
{
	if (wr->lkey) {
		sg[0] = (struct rn_sge){ wr->local_address, wr->len, wr->lkey };
		send->num_sge = 1;
	} else if (wr->is_inline) {
		put_inline(wr, send, sg, bytes);
	} else if (wr->slot != RN_W_NONE) {
		send->num_sge = rn_w_pieces(d, wr->slot, wr->len, sg, r);
	}
}

static void post_send(struct rn_world *w, struct rn_w_end *e, struct rn_random *r)
{
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_w_device *far = &w->device[e->peer->dev];
	struct rn_w_wr *wr;
	uint8_t bytes[RN_W_INLINE];
	struct rn_sge sg[3];
	struct rn_av av;
	struct rn_send_wr send = { .sg = sg };

	if (e->sq.tail - e->sq.head == RN_W_WRS)
		return;
	wr = rn_w_new_wr(w, &e->sq, 0, e);
	wr->opcode = choose_opcode(e, r);
	wr->len = rn_wr_flags(wr->opcode) & RN_OP_WORD ? 8 : choose_len(e->pair->plan, r);
	wr->signaled = rn_random_below(r, 4) || e->sq.tail - e->sq.head > RN_W_WRS / 2;
	wr->pattern = rn_random_next(r);
	wr->imm = (uint32_t)rn_random_next(r);
	rn_w_key_use(w, e, wr, r);
	rn_w_key_gather(w, e, wr, r);
	wr->is_inline = !wr->lkey && can_be_inline(wr) && rn_random_below(r, 2);
	if (!take_slots(w, e, wr))
		return;
	send.wr_id = wr->id;
	send.opcode = wr->opcode;
	send.flags = choose_flags(wr, r);
	send.imm = wr->imm;
	list_bytes(d, wr, &send, sg, bytes, r);
	send.flush_length = rn_wr_has_data(wr->opcode) ? 0 : wr->len;
	send.flush_placement = RN_FLUSH_GLOBAL;
	send.remote_srqn = XRC_SRQN;
	send.rkey = far->mr.lkey;
	send.remote_addr = rn_w_slot_address(far, wr->remote_slot);
	if (wr->rkey) {
		send.rkey = wr->rkey;
		send.remote_addr = wr->address;
	}
	rn_w_key_used(w, e, wr);
	if (rn_wr_is_atomic(wr->opcode))
		fill_atomic(w, e, wr, &send, r);
	maybe_make_invalid(w, e, wr, &send, r);
	if (rn_w_type(e) == RN_QPT_UD) {
		rn_w_address(w, e, wr, &send, &av, r);
	} else if (rn_wr_info[wr->opcode].takes_recv) {
		wr->index = e->messages_sent++;
		e->expected[wr->index % RN_ARRAY_SIZE(e->expected)] = *wr;
	}
	e->fence[e->requests++ % RN_ARRAY_SIZE(e->fence)] = send.flags & RN_SEND_FENCE;
	e->sq.tail++;
	rn_w_say(w, "QP %x posts %llu: opcode %u, %u bytes%s", e->qpn,
		 (unsigned long long)wr->id, (unsigned)wr->opcode, wr->len,
		 wr->bad	? ", wrong key"
		 : wr->signaled ? ""
				: ", unsignaled");
	if (rn_qp_post_send(d->dev, e->qp, rn_w_local(d), &send))
		rn_w_fail(w, "QP %x does not take a request", e->qpn);
	memset(bytes, 0x5a, sizeof(bytes));
}

/* ------------------------------------------------------------- steps of a plan */
static void take_device_step(struct rn_world *w, struct rn_w_device *d,
			     const struct rn_plan_step *step, struct rn_random *r)
{
	uint32_t us = 1 + rn_random_below(r, rn_random_below(r, 2) ? 300 : 20000);
	struct rn_vnet_host *host = &w->net->host[d->number];

	for (uint32_t i = 0; i < w->plan.pairs; i++)
		if (w->plan.pair[i].dev[0] == d->number ||
		    w->plan.pair[i].dev[1] == d->number)
			w->pair[i].troubles += step->what == RN_DO_JUMP ? 2 : 100;
	rn_w_say(w, "device %u: %s, %u us", d->number, rn_plan_do_name(step->what), us);
	if (step->what == RN_DO_STALL) {
		host->stalled_until = w->net->now + RN_USEC(us);
		rn_w_put(w, host->stalled_until, RN_W_WAKE, d->number);
	} else if (step->what == RN_DO_JUMP) {
		host->skew += RN_USEC(us);
	} else {
		d->dead = true;
		for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
			struct rn_w_end *e = &w->pair[i / 2].end[i % 2];

			if (e->qp && e->dev == d->number) {
				e->may_flush = true;
				e->alive = false;
			}
		}
		rn_dev_error(d->dev, rn_w_local(d));
	}
}

void rn_w_step(struct rn_world *w, const struct rn_plan_step *step)
{
	struct rn_w_end *e = &w->pair[step->pair].end[step->side];
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_random r = { step->seed };

	if (!e->qp || d->dead || rn_w_is_stalled(d))
		return;
	w->result->steps[step->what]++;
	switch (step->what) {
	case RN_DO_SEND:
		if (rn_w_type(e) == RN_QPT_XRC_RECV)
			break;
		if (e->alive)
			post_send(w, e, &r);
		else if (!rn_random_below(&r, 6))
			rn_w_reconnect(w, e->pair, &r);
		break;
	case RN_DO_RECV:
		if (e->alive)
			rn_w_post_recvs(w, e, 1 + rn_random_below(&r, 6), &r);
		break;
	case RN_DO_ERROR:
		if (e->alive)
			rn_w_to_error(w, e);
		break;
	case RN_DO_RECONNECT:
		rn_w_reconnect(w, e->pair, &r);
		break;
	case RN_DO_DRAIN:
		rn_w_drain_step(w, e);
		break;
	case RN_DO_PACE:
		rn_w_pace_step(w, e, &r);
		break;
	case RN_DO_SRQ:
		rn_w_srq_step(w, d, &r);
		break;
	case RN_DO_POLL:
		rn_w_cq_step(w, e, &r);
		break;
	case RN_DO_KEY:
		rn_w_key_step(w, e, &r);
		break;
	case RN_DO_GROUP:
		rn_w_join_or_leave(w, e);
		break;
	case RN_DO_DEATH:
	case RN_DO_STALL:
	case RN_DO_JUMP:
		take_device_step(w, d, step, &r);
		break;
	case RN_DO_COUNT:
		assert(false);
	}
	rn_w_drain(d);
	rn_w_drain(&w->device[e->peer->dev]);
}
