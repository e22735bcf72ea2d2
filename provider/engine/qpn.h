/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qpn.h - queue pair numbers of one process: (counter << 8) | slot.
 *
 * The counter runs through 1..65535 and begins anew, so a number rests as long as it can;
 * one that was used a moment ago is passed over even then, since packets of its last life
 * may still be on their way.
 *
 * Threads: none of these functions locks.
 */
#ifndef RNP_QPN_H
#define RNP_QPN_H

#include "rocin/types.h"

enum {
	RNP_QPN_COUNTERS = 65536,
	RNP_QPN_RESTING = 4096, /* at most; the oldest wakes early beyond that */
};

/* Longer than a peer goes on sending to a queue pair that does not answer, with the usual
 * timeouts.
 */
#define RNP_QPN_REST RN_MSEC(4000)

struct rnp_qpns {
	unsigned slot;			      /* 1..255 */
	uint32_t next;			      /* counter to try next */
	uint32_t live;			      /* numbers given out */
	uint64_t busy[RNP_QPN_COUNTERS / 64]; /* given out, or resting */
	struct {
		uint16_t counter;
		rn_ns since;
	} rest[RNP_QPN_RESTING];
	uint32_t rest_head, rest_tail; /* count up for ever */
};

void rnp_qpns_init(struct rnp_qpns *q, unsigned slot, uint32_t counter);

/* Return: 0 with *@qpn, or -ENOMEM: all numbers are in use or resting. */
int rnp_qpns_take(struct rnp_qpns *q, rn_ns now, uint32_t *qpn);

/* @qpn is free again after a rest. */
void rnp_qpns_give(struct rnp_qpns *q, rn_ns now, uint32_t qpn);

#endif /* RNP_QPN_H */
