/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* transport.h - one RoCEv2 device that does no I/O.
 *
 * Inputs:  rn_dev_receive(), rn_dev_expire(), rn_dev_mem_done(), rn_qp_post_*(),
 *          rn_qp_modify()
 * Outputs: rn_dev_transmit(), rn_dev_deadline(), rn_dev_event(), CQEs by rn_mem_ops
 *
 * The driver calls the inputs when something happens and then drains the outputs. The
 * transport never blocks, sleeps, allocates, logs, reads a clock or draws a random
 * number. Equal inputs give equal outputs, byte for byte. Times are nanoseconds of one
 * monotonic clock and never go backwards from call to call.
 *
 * What it is made with is in dev_cfg.h, packets in rx_tx.h, events in event.h; its
 * objects are in queue_pair.h, cqe.h, srq.h, mr.h and mcast.h. Include this only for the
 * calls that drive a device.
 *
 * Memory: the caller allocates every object (rn_qp_size() and friends) and gets it back
 * from the call that destroys it. Threads: nothing here locks; one device belongs to one
 * thread at a time. The one exception is the consumer index of a CQ, see struct rn_cq.
 *
 * Numbers of enum values equal those of <infiniband/verbs.h> wherever verbs has the
 * same thing, so the provider passes them through (checked there by static_assert).
 */
#ifndef RN_TRANSPORT_H
#define RN_TRANSPORT_H

#include "rocin/dev_cfg.h"
#include "rocin/event.h"
#include "rocin/mem.h"
#include "rocin/rx_tx.h"

struct rn_dev;
struct rn_flow;

/* ------------------------------------------------------------------ device */
size_t rn_dev_size(void);

/* Return: 0, or -EINVAL with nothing written if a field of @cfg is out of range. */
int rn_dev_init(struct rn_dev *dev, const struct rn_dev_cfg *cfg);

/* Every QP, SRQ, MR and CQ must have been destroyed before. */
void rn_dev_fini(struct rn_dev *dev);

/* Replace one entry of the GID table (all-zero: remove it). QPs keep the old address
 * until they are modified; UD sends use the new one at once.
 */
void rn_dev_set_gid(struct rn_dev *dev, uint32_t index, const struct rn_gid *gid);

/* Process received packets, in order. Malformed packets are counted and dropped: whatever
 * a peer sends, this function does not fail. The outcome does not depend on how many
 * packets one call delivers.
 */
void rn_dev_receive(struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
		    unsigned count);

enum rn_tx_what {
	RN_TX_WORK = 1 << 0, /* requests, and responses to READ and atomics */
	RN_TX_ACKS = 1 << 1, /* acknowledgements and NAKs, which may also be deferred */
	/* Acknowledgements, if their QP has something else to send. */
	RN_TX_ALONG = 1 << 2,
	RN_TX_NO_ICRC = 1 << 3, /* the packet gets no ICRC, so rn_tx.part is not needed */
	RN_TX_SINGLY = 1 << 4,	/* the caller does not join packets to super-packets */
	RN_TX_ALL = RN_TX_WORK | RN_TX_ACKS,
};

/**
 * rn_dev_transmit() - Build the next packet that may leave
 * @dev:	Device
 * @now:	Time
 * @what:	enum rn_tx_what: which kinds may leave now
 * @buf:	Out: the packet from BTH to pad; rn_icrc_seal_with() adds the ICRC
 * @cap:	At least RN_PACKET_MAX
 * @tx:		Out: where it goes
 *
 * Consecutive calls return packets of one QP as long as it has any (up to 64), so that
 * the caller can join those of equal size into one super-packet.
 *
 * Return: bytes in @buf, 0 if nothing may leave now.
 */
uint32_t rn_dev_transmit(struct rn_dev *dev, rn_ns now, unsigned what, uint8_t *buf,
			 size_t cap, struct rn_tx *tx);

/* Could rn_dev_transmit(@what) return a packet? False means that it would return 0. */
bool rn_dev_has_packets(const struct rn_dev *dev, unsigned what);

/* Could rn_dev_transmit(RN_TX_ACKS) return a packet? False means that it
 * would return 0.
 */
bool rn_dev_acks_due(const struct rn_dev *dev);

/* Number of request packets that queue pairs have received, good or bad; modulo 2^32. */
uint32_t rn_dev_requests(const struct rn_dev *dev);

/* Number of receives that queue pairs have completed; modulo 2^32. */
uint32_t rn_dev_received(const struct rn_dev *dev);

/* Has the queue pair of the last received packet got part of a message, or found a gap?
 * Then its peer may be waiting for an acknowledgement before it sends more.
 */
bool rn_dev_is_amid_message(const struct rn_dev *dev);

/* Called with what the device thinks of a packet (rocin/diagnostic.h): one of the packets
 * given to rn_dev_receive(), or (@rx NULL) the one that rn_dev_transmit() is about to
 * build. Must not call into the device.
 */
struct rn_diagnostic;
typedef void rn_diagnostic_fn(void *ctx, const struct rn_diagnostic *diagnostic,
			      const struct rn_rx *rx);

/* Set the function to be called; NULL: none. The device behaves the same
 * with or without.
 */
void rn_dev_set_diagnostic(struct rn_dev *dev, rn_diagnostic_fn *fn, void *ctx);

/* Time at which rn_dev_expire() is next worth calling; RN_NEVER if no timer runs. */
rn_ns rn_dev_deadline(const struct rn_dev *dev);

/* Fire the timers that are due. The caller delivers packets that have already
 * arrived before this, so that a process that was stopped does not retransmit
 * what has been acknowledged.
 */
void rn_dev_expire(struct rn_dev *dev, rn_ns now);

/* Has a queue pair waited in vain for its peer, at least twice in a row or until its
 * retries were used up, since the last call? @flow: out, the flow of its packets; if
 * there are several such queue pairs, of the last one. The driver can then ask by ICMP
 * whether the peer's host refuses the packets, which only sockets can tell.
 */
bool rn_dev_silent(struct rn_dev *dev, struct rn_flow *flow);

/**
 * rn_dev_peer_holds() - A peer has not read all that was sent to it
 * @gid:	Its address
 * @slot:	Low byte of the QPNs of the process
 * @taken:	A counter of what it has read, in any unit
 *
 * Called before the rn_dev_expire() at the same @now. The peer process lives, and the
 * packets that it has not read lie in its ring or socket; so they are not sent again when
 * a timer expires, and no retry is counted. That lasts as long as @taken does not change:
 * a peer that reads and does not answer is retransmitted to. The driver does not call
 * this for a process that has ended, which is then given up as any other peer.
 */
void rn_dev_peer_holds(struct rn_dev *dev, rn_ns now, const struct rn_gid *gid,
		       uint8_t slot, uint64_t taken);

/* A memory operation that answered PENDING has ended. Unknown tags (of a QP
 * destroyed meanwhile) are ignored.
 */
void rn_dev_mem_done(struct rn_dev *dev, rn_ns now, uint64_t tag,
		     enum rn_mem_result result);

/* The device has lost its access to the network for good: every QP that is not in RESET
 * goes to ERR as by rn_qp_modify(), with flush completions.
 */
void rn_dev_error(struct rn_dev *dev, rn_ns now);

/* ------------------------------------------------------------------ events */
/* Take one event. Return: false if there is none. Destroyed objects have no events. */
bool rn_dev_event(struct rn_dev *dev, struct rn_event *ev);

#endif /* RN_TRANSPORT_H */
