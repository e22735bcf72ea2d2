/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* transport.h - the core: the transport protocol of one RoCEv2 device, without I/O.
 *
 * Inputs:  rn_dev_receive(), rn_dev_expire(), rn_dev_mem_done(), rn_qp_post_*(),
 *          rn_qp_modify()
 * Outputs: rn_dev_transmit(), rn_dev_deadline(), rn_dev_event(), CQEs by rn_mem_ops
 *
 * The caller (the engine in provider/engine, or the simulator) calls the inputs when
 * something happens, and then the outputs until they return nothing more. The transport
 * never blocks, sleeps, allocates, logs, reads a clock or draws a random number. Equal
 * inputs give equal outputs, byte for byte. Times are nanoseconds of one monotonic clock
 * and never go backwards from call to call.
 *
 * The configuration of a device is in dev_cfg.h, packets are in rx_tx.h, events in
 * cqe.h, objects in queue_pair.h, cqe.h, srq.h and mr.h. Include this header only for the
 * calls above.
 *
 * Memory: the caller allocates every object (see rn_qp_size() and similar functions), and
 * may free it after the call that destroys it. Threads: nothing here locks; one device
 * belongs to one thread at a time. The one exception is the consumer index of a CQ, see
 * struct rn_cq.
 *
 * Numbers of enum values equal those of <infiniband/verbs.h> where verbs have the same
 * values, so the provider does not convert them (static_assert checks that there).
 */
#ifndef RN_TRANSPORT_H
#define RN_TRANSPORT_H

#include "rocin/cqe.h"
#include "rocin/dev_cfg.h"
#include "rocin/diagnostic.h"
#include "rocin/mem.h"
#include "rocin/rx_tx.h"

struct rn_dev;
struct rn_flow;

/* ----------------------------------------------------- calls into a device */
size_t rn_dev_size(void);

/* Initialises a device. Return: 0, or -EINVAL with nothing written if a member of @cfg is
 * out of range.
 */
int rn_dev_init(struct rn_dev *dev, const struct rn_dev_cfg *cfg);

/* Ends the use of a device. Every QP, SRQ, MR and CQ must have been destroyed before. */
void rn_dev_fini(struct rn_dev *dev);

/* Replaces entry @index of the GID table. An address of all zeros removes the entry. QPs
 * use the old address until they are modified; UD sends use the new one at once.
 */
void rn_dev_set_gid(struct rn_dev *dev, uint32_t index, const struct rn_gid *gid);

/* Processes received packets, in order. Invalid packets are counted and dropped. The
 * outcome does not depend on how many packets are passed in one call.
 */
void rn_dev_receive(struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
		    unsigned count);

enum {
	/* Maximum number of queue pairs that one rn_dev_transmit() asks for a packet and
	 * that have none to send, because their windows are closed. After that many, the
	 * function returns 0 without asking the others.
	 */
	RN_VAIN_MAX = 64,
	/* Maximum number of expired timers, plus completions that these cause, that one
	 * rn_dev_expire() serves. If the last timer moves its queue pair to ERR, all
	 * requests of that queue pair complete, so there may be more completions. The
	 * limit keeps a call short if thousands of queue pairs have sent at the same
	 * moment to a peer that is gone: between two calls, other threads can get the
	 * engine lock, and packets are received.
	 */
	RN_EXPIRE_MAX = 256,
};

enum rn_tx_what {
	RN_TX_WORK = 1 << 0, /* requests, and responses to READ and atomics */
	RN_TX_ACKS = 1 << 1, /* acknowledgements and NAKs; the caller may delay these */
	/* Acknowledgements, but only of a QP that has something else to send. */
	RN_TX_ALONG = 1 << 2,
	/* The caller omits the ICRC, so rn_tx.part need not be filled in. */
	RN_TX_NO_ICRC = 1 << 3,
	/* The caller sends each packet alone, not in super-packets. */
	RN_TX_SINGLY = 1 << 4,
	RN_TX_ALL = RN_TX_WORK | RN_TX_ACKS,
};

/**
 * rn_dev_transmit() - Build the next packet that may leave
 * @dev:	Device
 * @now:	Time
 * @what:	enum rn_tx_what: kinds of packets that may be sent now
 * @buf:	Out: the packet from BTH to pad; rn_icrc_seal_with() adds the ICRC
 * @cap:	At least RN_PACKET_MAX
 * @tx:		Out: destination and other properties of the packet
 *
 * Consecutive calls return packets of one QP as long as it has any (up to 64), so that
 * the caller can join those of equal size into one super-packet.
 *
 * Return: bytes in @buf, 0 if nothing may leave now. Also 0 once RN_VAIN_MAX queue pairs
 * without a packet have been found since this function last returned 0. If more queue
 * pairs are waiting then, rn_dev_deadline() is @now at the latest, so that the caller
 * calls again.
 */
uint32_t rn_dev_transmit(struct rn_dev *dev, rn_ns now, unsigned what, uint8_t *buf,
			 size_t cap, struct rn_tx *tx);

/* Returns false if rn_dev_transmit(@what) would return 0; true if it may return a packet.
 */
bool rn_dev_has_packets(const struct rn_dev *dev, unsigned what);

/* Returns false if rn_dev_transmit(RN_TX_ACKS) would return 0; true if it may return
 * a packet.
 */
bool rn_dev_acks_due(const struct rn_dev *dev);

/* Returns the number of request packets that queue pairs have received, valid or not,
 * modulo 2^32.
 */
uint32_t rn_dev_requests(const struct rn_dev *dev);

/* Returns the number of receives that queue pairs have completed, modulo 2^32. */
uint32_t rn_dev_received(const struct rn_dev *dev);

/* Returns true if the queue pair of the last received packet has received a part of a
 * message, or has found packets missing. Then its peer may be waiting for an
 * acknowledgement before it sends more.
 */
bool rn_dev_is_amid_message(const struct rn_dev *dev);

/* Sets the function that the device calls with diagnostics; NULL: none. What the device
 * does is the same with and without it.
 */
void rn_dev_set_diagnostic(struct rn_dev *dev, rn_diagnostic_fn *fn, void *ctx);

/* Returns the earliest time at which the caller should call rn_dev_expire(), and then
 * rn_dev_transmit(); RN_NEVER if no timer runs. The time has passed already if the last
 * call of one of these functions has left a part of its work.
 */
rn_ns rn_dev_deadline(const struct rn_dev *dev);

/* Performs the actions of the timers that have expired, at most RN_EXPIRE_MAX of them, in
 * the order of their deadlines. Before this call, the caller should pass all packets that
 * have already arrived to rn_dev_receive(). Otherwise a process that was stopped for a
 * while would retransmit packets whose acknowledgements have arrived.
 */
void rn_dev_expire(struct rn_dev *dev, rn_ns now);

/* Returns true if, since the last call, a queue pair has got no answer from its peer: its
 * ACK timer expired at least twice in a row, or its retries were used up. *@flow: out,
 * the flow of that queue pair; if there are several, of the last one. The caller can then
 * find out whether ICMP messages say that the peer's host refuses the packets. Such
 * messages are reported by sockets only, to which the transport has no access.
 */
bool rn_dev_silent(struct rn_dev *dev, struct rn_flow *flow);

/**
 * rn_dev_peer_holds() - Report that a peer process has not read all packets yet
 * @gid:	Address of the peer
 * @slot:	Low byte of the QPNs of the process
 * @taken:	Counter of what the process has read, in any unit
 *
 * The caller must call this before rn_dev_expire() with the same @now. The peer process
 * exists, and the packets that it has not read are in its shared memory ring or socket.
 * So as long as @taken does not change, the device does not send them again when a timer
 * expires, and counts no retry. When @taken changes and the peer still does not answer,
 * packets are retransmitted. The caller must not call this for a process that has ended.
 */
void rn_dev_peer_holds(struct rn_dev *dev, rn_ns now, const struct rn_gid *gid,
		       uint8_t slot, uint64_t taken);

/* Reports the end of a memory operation that had returned RN_MEM_PENDING. Unknown tags
 * (of a QP that was destroyed meanwhile) are ignored.
 */
void rn_dev_mem_done(struct rn_dev *dev, rn_ns now, uint64_t tag,
		     enum rn_mem_result result);

/* Replaces the functions by which the device accesses memory, its context and before_ack
 * (struct rn_dev_cfg). No operation may be under way. Return: 0; -EBUSY: the device is
 * recorded, or one set of functions may answer PENDING and the other never does, so that
 * queue pairs would have to be made anew.
 */
int rn_dev_set_memory(struct rn_dev *dev, const struct rn_mem_ops *mem, void *mem_ctx,
		      void (*before_ack)(void *mem_ctx, uint32_t qpn));

/* Reports that the device has lost its access to the network for good: every QP that is
 * not in RESET goes to ERR, as by rn_qp_modify(), with flush completions.
 */
void rn_dev_error(struct rn_dev *dev, rn_ns now);

/* ------------------------------------------------------ events of a device */
/* Fetches an event. Return: false if there is none. Destroyed objects have no events. */
bool rn_dev_event(struct rn_dev *dev, struct rn_event *ev);

#endif /* RN_TRANSPORT_H */
