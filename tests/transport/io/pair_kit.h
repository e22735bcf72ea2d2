/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pair_kit.h - two ends of a wire inside one process: what one transmits the other
 * receives, in order, without loss. Both ends belong to one thread.
 */
#ifndef RN_PAIR_KIT_H
#define RN_PAIR_KIT_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/gid.h"
#include "transport/io/udp/udp_internal.h"

enum {
	RN_PAIR_DEPTH = 32 /* super-packets under way in each direction */
};

struct parcel {
	struct rn_flow flow;
	uint32_t len, seg_len;
	uint8_t *data; /* malloc()ed */
};

/* What is on its way to one end. */
struct pair_lane {
	struct parcel slot[RN_PAIR_DEPTH];
	unsigned head, tail; /* count up for ever */
	struct parcel open;  /* being read; data valid until the next receive */
	struct rn_rx_split split;
};

struct pair_end {
	struct rn_net net;
	struct pair_lane *in, *out;
};

struct rn_pair {
	struct pair_lane lane[2];
	struct pair_end end[2];
};

static int pair_transmit(void *ctx, const struct rn_super *super)
{
	struct pair_lane *out = ((struct pair_end *)ctx)->out;
	struct parcel *p = &out->slot[out->tail % RN_PAIR_DEPTH];

	if (out->tail - out->head == RN_PAIR_DEPTH)
		return -EAGAIN;
	*p = (struct parcel){ .flow = *super->flow,
			      .len = super->len,
			      .seg_len = super->seg_len,
			      .data = malloc(super->len) };
	if (!p->data)
		return -ENOMEM;
	memcpy(p->data, super->data, super->len);
	out->tail++;
	return 0;
}

static int pair_receive(void *ctx, struct rn_rx *rx)
{
	struct pair_lane *in = ((struct pair_end *)ctx)->in;
	unsigned n = rn_rx_split_next(&in->split, &in->open.flow, rx);

	if (n > 0 || in->head == in->tail)
		return (int)n;
	free(in->open.data);
	in->open = in->slot[in->head++ % RN_PAIR_DEPTH];
	rn_rx_split_init(&in->split, in->open.data, in->open.len, in->open.seg_len);
	return (int)rn_rx_split_next(&in->split, &in->open.flow, rx);
}

static const struct rn_net_ops pair_ops = {
	.transmit = pair_transmit,
	.receive = pair_receive,
};

/* Return: the wire, or NULL with errno ENOMEM. */
static inline struct rn_pair *rn_pair_new(void)
{
	struct rn_pair *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	for (unsigned i = 0; i < 2; i++) {
		p->end[i].in = &p->lane[i];
		p->end[i].out = &p->lane[1 - i];
		p->end[i].net = (struct rn_net){ .ops = &pair_ops,
						 .ctx = &p->end[i],
						 .gso = true };
	}
	return p;
}

/* NULL is ignored. */
static inline void rn_pair_free(struct rn_pair *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < 2; i++) {
		struct pair_lane *l = &p->lane[i];

		for (; l->head != l->tail; l->head++)
			free(l->slot[l->head % RN_PAIR_DEPTH].data);
		free(l->open.data);
	}
	free(p);
}

/* End 0 or 1. transmit answers -EAGAIN while RN_PAIR_DEPTH super-packets wait. */
static inline struct rn_net *rn_pair_net(struct rn_pair *p, unsigned end)
{
	assert(end < 2);
	return &p->end[end].net;
}

#endif /* RN_PAIR_KIT_H */
