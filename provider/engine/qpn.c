/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qpn.c - queue pair numbers of one process. */
#include "qpn.h"

#include <errno.h>
#include <string.h>

static bool is_busy(const struct rnp_qpns *q, uint32_t counter)
{
	return (q->busy[counter / 64] >> counter % 64 & 1) != 0;
}

static void flip(struct rnp_qpns *q, uint32_t counter)
{
	q->busy[counter / 64] ^= 1ull << counter % 64;
}

static void wake_oldest(struct rnp_qpns *q)
{
	flip(q, q->rest[q->rest_head++ % RNP_QPN_RESTING].counter);
}

static void wake_rested(struct rnp_qpns *q, rn_ns now)
{
	while (q->rest_head != q->rest_tail &&
	       now - q->rest[q->rest_head % RNP_QPN_RESTING].since >= RNP_QPN_REST)
		wake_oldest(q);
}

void rnp_qpns_init(struct rnp_qpns *q, unsigned slot, uint32_t counter)
{
	assert(slot >= 1 && slot <= 255);
	assert(counter >= 1 && counter < RNP_QPN_COUNTERS);
	memset(q, 0, sizeof(*q));
	q->slot = slot;
	q->next = counter;
	flip(q, 0); /* QPNs below 256 are not ours */
}

int rnp_qpns_take(struct rnp_qpns *q, rn_ns now, uint32_t *qpn)
{
	wake_rested(q, now);
	for (uint32_t tries = 0; tries < RNP_QPN_COUNTERS; tries++) {
		uint32_t counter = q->next;

		q->next = (q->next + 1) % RNP_QPN_COUNTERS;
		/* The last number of slot 255 stands for all members of a multicast. */
		if (is_busy(q, counter) || (counter << 8 | q->slot) == 0xffffff)
			continue;
		flip(q, counter);
		q->live++;
		*qpn = counter << 8 | q->slot;
		return 0;
	}
	return -ENOMEM;
}

void rnp_qpns_give(struct rnp_qpns *q, rn_ns now, uint32_t qpn)
{
	assert((qpn & 0xff) == q->slot && is_busy(q, qpn >> 8));
	if (q->rest_tail - q->rest_head == RNP_QPN_RESTING)
		wake_oldest(q);
	q->rest[q->rest_tail % RNP_QPN_RESTING].counter = (uint16_t)(qpn >> 8);
	q->rest[q->rest_tail++ % RNP_QPN_RESTING].since = now;
	q->live--;
}
