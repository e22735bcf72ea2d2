/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tx_batch.h - joins the packets that the core builds into super-packets and sends them.
 *
 * Packets are built in the super-packet that they leave in, or, where the back end can do
 * that, in the memory of the wire. The packets of a super-packet have equal length (the
 * last may be shorter), one flow and one destination process; a packet that does not fit
 * begins the next.
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
	/* Offset of the first packet in its page. Buffers of programs often begin at a
	 * page, and a load waits for an older store with the same offset in its page.
	 * With this offset such a store is three quarters of a page back, and the payload
	 * behind a BTH is aligned to 16.
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
	/* table of RN_GID_MAX; which socket a source stands for */
	const struct rn_gid *gid;
	uint64_t *stats; /* TX_DROPPED, TX_TOO_LONG are written */

	struct rnp_label label; /* of the open super-packet */
	uint32_t start;		/* of it in buf */
	uint32_t len, seg_len, count;
	bool closed; /* no more packets may follow: the last one is shorter, or @alone */
	bool alone;  /* to a multicast group: no super-packets */

	bool is_run;	/* the last packets had one label, so the next may have it, too */
	bool is_placed; /* packets built in the wire's memory are not visible yet */

	struct rnp_label next; /* of the packet behind the super-packet */
	uint32_t next_len;     /* 0: there is none */
	bool next_joins;       /* @next equals @label */
	struct rn_tx next_tx;

	/* The connected socket of the open super-packet, and its flow with the source
	 * port of that socket.
	 */
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
 * The last super-packet stays open for more packets: rnp_tx_batch_flush() sends it.
 *
 * Return: 0 (the core has nothing more that may leave), 1 (@max was reached) or -EAGAIN
 * (the socket is full; nothing is lost).
 */
int rnp_tx_batch_fill(struct rnp_tx_batch *s, const struct rn_net *net, rn_ns now,
		      unsigned what, unsigned max);

/* Send the open super-packet. Return: 0, also if there is none, or -EAGAIN. */
int rnp_tx_batch_flush(struct rnp_tx_batch *s, const struct rn_net *net);

/* Drop all packets that have not left. */
void rnp_tx_batch_drop(struct rnp_tx_batch *s);

static inline bool rnp_tx_batch_is_empty(const struct rnp_tx_batch *s)
{
	return s->count == 0 && s->next_len == 0 && !s->is_placed;
}

#endif /* RNP_TX_BATCH_H */
