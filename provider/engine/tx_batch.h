/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tx_batch.h - combines packets of the core into super-packets, and sends these.
 *
 * A super-packet holds packets of equal length (the last may be shorter), of one flow and
 * to one destination process; a packet that does not fit begins the next one. Packets are
 * built where they are sent from: in the buffer of the super-packet, or, if the back end
 * can do that, in the shared memory of a local wire.
 *
 * Threads: one at a time, with the engine lock held.
 */
#ifndef RNP_TX_BATCH_H
#define RNP_TX_BATCH_H

#include "rocin/gid.h"
#include "rocin/net.h"

struct rn_dev;

enum {
	RNP_TX_BATCH_BYTES = 2 * RN_SUPER_BYTES + 2 * RN_PACKET_MAX,
	RNP_TX_BATCH_PAGE = 4096,
	/* Offset of the first packet in its page. A processor delays a load whose address
	 * has the same offset in its page as that of a recent store, and buffers of
	 * programs often begin at the start of a page. With this offset the recent stores
	 * are three quarters of a page away from there. It also aligns the payload behind
	 * a BTH to 16 bytes.
	 */
	RNP_TX_BATCH_OFFSET = 3072 + 4,
};

/* Destination of a packet. */
struct rnp_label {
	struct rn_flow flow;
	uint32_t sgid_index;
	uint32_t dest_slot; /* slot of the destination process: low byte of the QPN */
};

struct rnp_tx_batch {
	struct rn_dev *dev;
	/* GID table of the device, with RN_GID_MAX entries. The index of a packet's
	 * source address selects the socket that sends it.
	 */
	const struct rn_gid *gid;
	/* device counters, of which TX_DROPPED and TX_TOO_LONG are counted here */
	uint64_t *stats;

	/* destination of the open super-packet, to which packets are still added */
	struct rnp_label label;
	uint32_t start; /* offset of the open super-packet in @buf */
	uint32_t len, seg_len, count;
	/* true: the open super-packet takes no more packets, because its last packet is
	 * shorter than the others or because of @alone
	 */
	bool closed;
	/* the destination is a multicast group, so each packet is sent alone */
	bool alone;

	/* the last packets had the same destination, so the next one probably has, too */
	bool is_run;
	/* packets built in a local wire's memory are not visible to the peer yet */
	bool is_placed;

	/* destination of the packet that was built behind the open super-packet */
	struct rnp_label next;
	/* length of the packet @next with ICRC; 0: there is no such packet */
	uint32_t next_len;
	/* the packet @next has the same destination as the open super-packet */
	bool next_joins;
	struct rn_tx next_tx;

	/* The connected socket that sends the open super-packet, and the flow of that
	 * super-packet, with the source port of that socket.
	 */
	struct rn_tx_socket tx_socket;
	struct rn_flow flow;

	uint8_t *buf; /* RNP_TX_BATCH_BYTES bytes within @room */
	uint8_t room[RNP_TX_BATCH_BYTES + RNP_TX_BATCH_PAGE];
};

void rnp_tx_batch_init(struct rnp_tx_batch *s, struct rn_dev *dev,
		       const struct rn_gid *gid, uint64_t *stats);

/**
 * rnp_tx_batch_fill() - Let the core build packets, and send super-packets that are full
 * @net:	Back end
 * @what:	Which packets: enum rn_tx_what
 * @max:	Super-packets to send at most
 *
 * The last super-packet stays open for more packets: rnp_tx_batch_flush() sends it.
 *
 * Return: 0 if the core has nothing more to send, 1 if @max was reached, -EAGAIN if the
 * socket is full. In no case is a packet lost.
 */
int rnp_tx_batch_fill(struct rnp_tx_batch *s, const struct rn_net *net, rn_ns now,
		      unsigned what, unsigned max);

/* May packets be built in the memory of a local wire, where those before were built? */
static inline bool rnp_tx_batch_may_place(const struct rnp_tx_batch *s,
					  const struct rn_net *net)
{
	return s->is_run && s->count == 0 && s->next_len == 0 && net->ops->reserve;
}

/* Does what rnp_tx_batch_fill() does, but builds packets in the memory of a local wire
 * only, and makes them visible. rnp_tx_batch_may_place() must be true. Return: 0 if the
 * core has nothing more to send; otherwise the caller has to call rnp_tx_batch_fill().
 */
int rnp_tx_batch_place(struct rnp_tx_batch *s, const struct rn_net *net, rn_ns now,
		       unsigned what, unsigned max);

/* Sends the open super-packet. Return: 0, also if there is none; -EAGAIN if the socket is
 * full.
 */
int rnp_tx_batch_flush(struct rnp_tx_batch *s, const struct rn_net *net);

/* Drops all packets that have not been sent. */
void rnp_tx_batch_drop(struct rnp_tx_batch *s);

static inline bool rnp_tx_batch_is_empty(const struct rnp_tx_batch *s)
{
	return s->count == 0 && s->next_len == 0 && !s->is_placed;
}

#endif /* RNP_TX_BATCH_H */
