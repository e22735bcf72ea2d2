/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* share.c - receives that the queue pairs of a device share. */
#include <string.h>

#include "rocin/srq.h"
#include "world_internal.h"

enum {
	PD = 1,
	XRCD = 1,
	LEN = 6 * 1024, /* bytes of the longest message */
};

static size_t head_size(void)
{
	return (rn_srq_size() + 63) & ~(size_t)63;
}

size_t rn_w_srq_size(void)
{
	return (head_size() + 2 * rn_srq_ring_size(RN_W_SRQ, 3) + 63) & ~(size_t)63;
}

void rn_w_srq_create(struct rn_w_device *d)
{
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(d->srq); i++) {
		struct rn_w_srq *s = &d->srq[i];
		const struct rn_srq_init init = {
			.srqn = i + 1,
			.pd = PD,
			.max_wr = RN_W_SRQ,
			.max_sge = 3,
			.xrcd = i ? XRCD : 0,
			.cq = i ? &d->cq.cq : NULL,
			.owner = s,
		};

		memset(s->wr, 0, sizeof(s->wr));
		s->limit = 0;
		s->spare = s->block + head_size() + rn_srq_ring_size(RN_W_SRQ, 3);
		s->srq = rn_srq_create(d->dev, s->block, s->block + head_size(), &init);
	}
}

void rn_w_srq_destroy(struct rn_w_device *d)
{
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(d->srq); i++)
		rn_srq_destroy(d->srq[i].srq);
}

struct rn_w_srq *rn_w_srq_of(const struct rn_w_end *e)
{
	struct rn_w_device *d = &e->pair->w->device[e->dev];

	if (!e->pair->plan->srq)
		return NULL;
	return &d->srq[rn_w_type(e) == RN_QPT_XRC_RECV];
}

uint32_t rn_w_srq_posted(const struct rn_w_srq *s)
{
	struct rn_srq_attr attr;

	rn_srq_query(s->srq, &attr);
	return attr.posted;
}

static uint32_t room_of(const struct rn_w_srq *s)
{
	struct rn_srq_attr attr;

	rn_srq_query(s->srq, &attr);
	return attr.max_wr - attr.posted;
}

static struct rn_w_wr *unused(struct rn_w_srq *s)
{
	for (uint32_t i = 0; i < RN_W_SRQ_SEEN; i++)
		if (!s->wr[i].id)
			return &s->wr[i];
	return NULL;
}

void rn_w_srq_post(struct rn_w_device *d, struct rn_w_srq *s, uint32_t count,
		   struct rn_random *r)
{
	uint32_t room = room_of(s);
	struct rn_sge sg[3];

	if (count > room)
		count = room;
	while (count--) {
		struct rn_w_wr *wr = unused(s);
		struct rn_recv_wr recv = { .sg = sg };
		uint32_t slot;

		if (!wr)
			return;
		slot = rn_w_slot_take(d, RN_W_RECV, 0, LEN, rn_random_next(r));
		if (slot == RN_W_NONE)
			return;
		*wr = (struct rn_w_wr){ .id = UINT64_C(1) << 63 | ++d->w->ids,
					.slot = slot,
					.len = LEN };
		recv.wr_id = wr->id;
		recv.num_sge = rn_w_pieces(d, slot, LEN, sg, r);
		if (rn_srq_post_recv(s->srq, &recv))
			rn_w_fail(d->w, "the SRQ of device %u takes no receive",
				  d->number);
	}
}

struct rn_w_wr *rn_w_srq_take(struct rn_w_srq *s, uint64_t id)
{
	for (uint32_t i = 0; i < RN_W_SRQ_SEEN; i++)
		if (s->wr[i].id == id) {
			s->wr[i].id = 0;
			return &s->wr[i];
		}
	return NULL;
}
