/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_fault.c - lose, repeat, swap and damage packets on purpose.
 *
 * Packets that come out of the dice wait in a queue, so a full socket underneath changes
 * when they leave but never which fault they meet.
 */
#include "net_fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MILLION = 1000000,
	/* Each packet of a super-packet twice, and the one that was held back. */
	QUEUE = 2 * RN_SUPER_SEGMENTS + 2,
	/* A packet held back leaves after so many looks at the wire if no other comes. */
	HELD_LOOKS = 64,
};

struct outgoing {
	struct rn_flow flow;
	uint32_t sgid_index;
	uint32_t len;
	uint8_t data[RN_PACKET_MAX];
};

enum dice {
	DICE_DROP,
	DICE_DUP,
	DICE_REORDER,
	DICE_CORRUPT,
	DICE_WHERE,
	DICE_COUNT
};

struct rn_fault {
	struct rn_net net;
	struct rn_net *inner;
	struct rn_fault_spec spec;
	uint64_t *stats;
	uint64_t rng[DICE_COUNT];
	bool is_held;
	unsigned looks; /* receive calls since a packet was held back */
	struct outgoing held;
	unsigned head, tail; /* of queue; count up for ever */
	struct outgoing queue[QUEUE];
};

/* -------------------------------------------------------------------- dice */
/* xorshift64*, Vigna 2014. */
static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* splitmix64: neighbouring seeds give unlike streams; never 0. */
static uint64_t stream_seed(uint64_t seed, unsigned stream)
{
	uint64_t z = seed * DICE_COUNT + stream + 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return z ? z : 1;
}

static bool roll(struct rn_fault *f, enum dice dice, uint32_t ppm)
{
	return (draw(&f->rng[dice]) >> 32) % MILLION < ppm;
}

/* ------------------------------------------------------------------- queue */
static void enqueue(struct rn_fault *f, const struct outgoing *packet)
{
	struct outgoing *q = &f->queue[f->tail++ % QUEUE];

	assert(f->tail - f->head <= QUEUE);
	q->flow = packet->flow;
	q->sgid_index = packet->sgid_index;
	q->len = packet->len;
	memcpy(q->data, packet->data, packet->len);
}

static int flush(struct rn_fault *f)
{
	while (f->head != f->tail) {
		const struct outgoing *q = &f->queue[f->head % QUEUE];
		struct rn_super one = { .flow = &q->flow,
					.sgid_index = q->sgid_index,
					.data = q->data,
					.len = q->len,
					.seg_len = q->len,
					.count = 1 };

		if (f->inner->ops->transmit(f->inner->ctx, &one) == -EAGAIN)
			return -EAGAIN;
		f->head++;
	}
	return 0;
}

static void release_held(struct rn_fault *f)
{
	if (!f->is_held)
		return;
	f->is_held = false;
	enqueue(f, &f->held);
}

/* Every packet rolls every die, whatever comes of it. */
static void judge(struct rn_fault *f, struct outgoing *p)
{
	bool drop = roll(f, DICE_DROP, f->spec.drop);
	bool dup = roll(f, DICE_DUP, f->spec.dup);
	bool reorder = roll(f, DICE_REORDER, f->spec.reorder);
	bool corrupt = roll(f, DICE_CORRUPT, f->spec.corrupt);
	uint64_t bit = draw(&f->rng[DICE_WHERE]) % ((uint64_t)p->len * 8);

	if (drop) {
		uint64_t *n = &f->stats[RN_STAT_FAULT_DROPPED];

		__atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
		return;
	}
	if (corrupt)
		p->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	if (reorder && !f->is_held) {
		f->held = *p;
		f->is_held = true;
		f->looks = 0;
		return;
	}
	enqueue(f, p);
	if (dup)
		enqueue(f, p);
	release_held(f);
}

static int fault_transmit(void *ctx, const struct rn_super *super)
{
	struct rn_fault *f = ctx;
	struct outgoing p;

	if (flush(f))
		return -EAGAIN;
	for (uint32_t at = 0; at < super->len; at += super->seg_len) {
		uint32_t left = super->len - at;

		p.flow = *super->flow;
		p.sgid_index = super->sgid_index;
		p.len = left < super->seg_len ? left : super->seg_len;
		assert(p.len <= sizeof(p.data));
		memcpy(p.data, super->data + at, p.len);
		judge(f, &p);
	}
	flush(f);
	return 0;
}

static int fault_receive(void *ctx, struct rn_rx *rx)
{
	struct rn_fault *f = ctx;

	if (f->is_held && ++f->looks >= HELD_LOOKS && f->tail - f->head < QUEUE)
		release_held(f);
	if (f->head != f->tail)
		flush(f);
	return f->inner->ops->receive(f->inner->ctx, rx);
}

static const struct rn_net_ops fault_ops = {
	.transmit = fault_transmit,
	.receive = fault_receive,
};

struct rn_fault *rn_fault_new(struct rn_net *inner, const struct rn_fault_spec *spec,
			      uint64_t *stats)
{
	struct rn_fault *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->net = (struct rn_net){ .ops = &fault_ops, .ctx = f, .gso = false };
	f->inner = inner;
	f->spec = *spec;
	f->stats = stats;
	for (unsigned i = 0; i < DICE_COUNT; i++)
		f->rng[i] = stream_seed(spec->seed, i);
	return f;
}

void rn_fault_free(struct rn_fault *f)
{
	free(f);
}

struct rn_net *rn_fault_net(struct rn_fault *f)
{
	return &f->net;
}
