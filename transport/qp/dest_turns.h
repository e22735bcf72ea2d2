/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dest_turns.h - the QPs that wait for a window. Between dest.c and dest_turns.c. */
#ifndef RN_DEST_TURNS_H
#define RN_DEST_TURNS_H

#include "qp.h"

enum {
	RN_DEST_MANY = 16, /* so many QPs waiting take turns */
};

static inline bool rn_dest_takes_turns(const struct rn_dest *d)
{
	return d->waiters >= RN_DEST_MANY;
}

/* What a full packet takes of the window. */
static inline uint32_t rn_dest_packet_of(const struct rn_qp *qp)
{
	return qp->attr.path_mtu + RN_PACKET_COST;
}

/* Put it at the end of those that wait, unless it is among them. */
void rn_dest_wait(struct rn_qp *qp, rn_ns now);

/* Take it off the list of those that wait, if it is there. */
void rn_dest_stop_waiting(struct rn_qp *qp);

/* Schedule those whose turn it is, now that @freed bytes are not in flight any more. */
void rn_dest_wake(struct rn_dest *d, uint32_t freed);

/* It does not use what it may still send. */
void rn_dest_return_grant(struct rn_qp *qp);

/* ------------------------------------------------------------------- bursts */
/* What the burst comes to with another packet of @len, which may begin the next one. */
uint32_t rn_burst_with(const struct rn_qp *qp, uint32_t len);

/* Would another packet, after one of @before bytes, begin a burst that cannot be whole,
 * so that it had better wait for more room? With others about there may be no other way
 * than to send what one can.
 */
bool rn_burst_is_too_little(const struct rn_qp *qp, uint32_t before);

/* The same, of one that waits: room will come, for its last packet has asked for an
 * acknowledgement.
 */
bool rn_burst_waits(const struct rn_qp *qp);

#endif /* RN_DEST_TURNS_H */
