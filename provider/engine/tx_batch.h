/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tx_batch.h - joins the packets that the core builds into super-packets and sends them.
 *
 * Packets are built straight into the super-packet that they leave in, or, where the back
 * end can, on the wire. A super-packet holds packets of equal length (the last may be
 * shorter), one flow and one destination process; what does not fit begins the next one.
 *
 * Threads: as the core.
 */
#ifndef RNP_TX_BATCH_H
#define RNP_TX_BATCH_H

#include "rocin/flow.h"
#include "rocin/net.h"

struct rn_dev;

enum {
	RNP_TX_BATCH_BYTES = 2 * RN_SUPER_BYTES + 2 * RN_PACKET_MAX,
	RNP_TX_BATCH_PAGE = 4096,
	/* Where in a page the first packet begins. What the program sends often begins
	 * where a page does, and a load waits for an older store that has the same offset
	 * in its page: with this one such a store is three quarters of a page back. And
	 * behind a BTH the payload is aligned to 16.
	 */
	RNP_TX_BATCH_OFFSET = 3072 + 4,
};

/* Where a packet goes. */
struct rnp_label {
	struct rn_flow flow;
	uint32_t sgid_index;
	uint32_t dest_slot; /* process at the destination: low byte of the QPN */
};

struct rnp_tx_batch {
	struct rn_dev *dev;
	const struct rn_gid
		*gid;	 /* table of RN_GID_MAX; which socket a source stands for */
	uint64_t *stats; /* TX_DROPPED, TX_TOO_LONG are written */

	struct rnp_label label; /* of the open super-packet */
	uint32_t start;		/* of it in buf */
	uint32_t len, seg_len, count;
	bool closed; /* its last packet is shorter, or it is alone: no more may follow */
	bool alone;  /* to a multicast group: no super-packets */

	bool is_run; /* the last packets went the same way, so the next one may as well */
	bool is_placed; /* packets built on the wire itself wait to be let go */

	struct rnp_label next; /* of the packet behind it, which did not fit */
	uint32_t next_len;     /* 0: there is none */
	bool next_joins;       /* it goes where the open super-packet goes */
	struct rn_tx next_tx;

	/* Where the open super-packet leaves, and its flow with the port of that. */
	struct rn_tx_socket tx_socket;
	struct rn_flow flow;

	uint8_t *buf; /* RNP_TX_BATCH_BYTES within room */
	uint8_t room[RNP_TX_BATCH_BYTES + RNP_TX_BATCH_PAGE];
};

void rnp_tx_batch_init(struct rnp_tx_batch *s, struct rn_dev *dev,
		       const struct rn_gid *gid, uint64_t *stats);

/**
 * rnp_tx_batch_fill() - Let the core build packets; send super-packets as they get full
 * @net:	Back end
 * @what:	enum rn_tx_what
 * @max:	Super-packets to send at most
 *
 * What was built last stays open for more: rnp_tx_batch_flush() sends it.
 *
 * Return: 0 (the core has nothing more that may leave), 1 (@max was reached) or -EAGAIN
 *(the socket is full; nothing is lost).
 */
int rnp_tx_batch_fill(struct rnp_tx_batch *s, const struct rn_net *net, rn_ns now,
		      unsigned what, unsigned max);

/* Send what is open. Return: 0, also if there is nothing, or -EAGAIN. */
int rnp_tx_batch_flush(struct rnp_tx_batch *s, const struct rn_net *net);

/* Forget what has not left. */
void rnp_tx_batch_drop(struct rnp_tx_batch *s);

static inline bool rnp_tx_batch_is_empty(const struct rnp_tx_batch *s)
{
	return s->count == 0 && s->next_len == 0 && !s->is_placed;
}

#endif /* RNP_TX_BATCH_H */
