/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* share.c - receives that the queue pairs of a device share. */
#include <string.h>

#include "rocin/srq.h"
#include "world_internal.h"

enum {
	PD = 1,
	LEN = 6 * 1024, /* bytes of the longest message */
};

static size_t head_size(void)
{
	return (rn_srq_size() + 63) & ~(size_t)63;
}

size_t rn_w_srq_size(void)
{
	return (head_size() + rn_srq_ring_size(RN_W_SRQ, 3) + 63) & ~(size_t)63;
}

void rn_w_srq_create(struct rn_w_device *d)
{
	const struct rn_srq_init init = {
		.srqn = 1,
		.pd = PD,
		.max_wr = RN_W_SRQ,
		.max_sge = 3,
		.owner = d,
	};

	memset(d->srq_wr, 0, sizeof(d->srq_wr));
	d->srq = rn_srq_create(d->dev, d->srq_block, d->srq_block + head_size(), &init);
}

static struct rn_w_wr *unused(struct rn_w_device *d)
{
	for (uint32_t i = 0; i < RN_W_SRQ_SEEN; i++)
		if (!d->srq_wr[i].id)
			return &d->srq_wr[i];
	return NULL;
}

void rn_w_srq_post(struct rn_w_device *d, uint32_t count, struct rn_random *r)
{
	struct rn_srq_attr attr;
	struct rn_sge sg[3];

	rn_srq_query(d->srq, &attr);
	if (count > RN_W_SRQ - attr.posted)
		count = RN_W_SRQ - attr.posted;
	while (count--) {
		struct rn_w_wr *wr = unused(d);
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
		if (rn_srq_post_recv(d->srq, &recv))
			rn_w_fail(d->w, "the SRQ of device %u takes no receive",
				  d->number);
	}
}

struct rn_w_wr *rn_w_srq_take(struct rn_w_device *d, uint64_t id)
{
	for (uint32_t i = 0; i < RN_W_SRQ_SEEN; i++)
		if (d->srq_wr[i].id == id) {
			d->srq_wr[i].id = 0;
			return &d->srq_wr[i];
		}
	return NULL;
}
