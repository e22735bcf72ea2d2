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
 * Memory: the caller allocates every object (rn_qp_size() and friends) and gets it back
 * from the call that destroys it. Threads: nothing here locks; one device belongs to one
 * thread at a time. The one exception is the consumer index of a CQ, see struct rn_cq.
 *
 * Numbers of enum values equal those of <infiniband/verbs.h> wherever verbs has the
 * same thing, so the provider passes them through (checked there by static_assert).
 */
#ifndef RN_TRANSPORT_H
#define RN_TRANSPORT_H

#include "rocin/cqe.h"
#include "rocin/flow.h"
#include "rocin/mem.h"
#include "rocin/netdev.h"
#include "rocin/psn.h"
#include "rocin/qp_types.h"
#include "rocin/srq.h"
#include "rocin/stats.h"
#include "rocin/work_request.h"

struct rn_dev;
struct rn_qp;
struct rn_mr;

/* ------------------------------------------------------------------ limits */
enum {
	RN_SGE_MAX = 32,      /* SGEs of a WQE, in either queue */
	RN_INLINE_MAX = 1024, /* bytes of inline data */
	RN_WR_MAX = 16384,    /* WQEs of one queue */
	RN_CQE_MAX = 1 << 22, /* CQEs of one CQ */
	/* READ and atomic requests outstanding, in each direction. 128 is as
	 * many as the kernel's rxe has, and the most that indices of 8 bits
	 * allow. Cards have 16 to 128.
	 */
	RN_RD_ATOMIC_MAX = 128,
	RN_MSG_MAX = 1u << 31, /* bytes of a message; IBTA Vol 1, 9.7.2 */
	RN_MTU_MAX = 4096,
	/* BTH, the longest extension headers, payload, pad and ICRC, rounded up. */
	RN_PACKET_MAX = 12 + 28 + 16 + RN_MTU_MAX + 3 + 4 + 17,
	RN_PKEY_DEFAULT = 0xffff,
};

/* ------------------------------------------------------------------ device */
/* Congestion control: packets with an ECN mark cause notifications (CNP), and
 * notifications cut the rate of a QP (DCQCN).
 */
enum rn_cc_mode {
	RN_CC_OFF,     /* marks and notifications are ignored; packets are not ECT */
	RN_CC_OBSERVE, /* rates are computed and shown, but no packet is delayed */
	RN_CC_ON,
};

#define RN_TIMEOUT_SCALE_MAX 1000u

#define RN_CC_LINE 10000000u /* rate in kbit/s of a port whose rate is not known */

struct rn_dev_cfg {
	struct rn_gid gid[RN_GID_MAX]; /* GID table; all-zero entries are unused */
	uint32_t gid_count;	       /* entries of the GID table, 1 .. RN_GID_MAX */
	uint32_t ifindex;
	uint32_t mtu_max; /* port MTU in bytes, 256..4096 */
	/* Refuse packets whose IPv4 identification had to be solved for. */
	bool icrc_exact;
	/* Advertise credits: tell requesters how many receives are posted. */
	bool credits;

	/* Bytes that may be unacknowledged towards one peer process: at first, at least,
	 * and at most. The default receive buffer of a Linux socket holds three
	 * super-packets of 64 KiB.
	 */
	uint32_t window_start, window_min, window_max;

	/* Bytes of READ responses that may be on their way to this device
	 * altogether, and in one READ request. A longer READ is sent as several
	 * requests with consecutive PSNs.
	 */
	uint32_t read_window, read_chunk;

	/* Local ACK timeouts and RNR timers are multiplied by this factor, at most
	 * RN_TIMEOUT_SCALE_MAX (0 means 1). For peers that somebody stops in a debugger.
	 */
	uint32_t timeout_scale;

	enum rn_cc_mode cc;
	/* Rate of the port in kbit/s, at most 4000000000; 0: RN_CC_LINE. */
	uint32_t cc_line;

	const struct rn_mem_ops *mem;
	void *mem_ctx;
	/* NULL, or called with mem_ctx before a packet is built that acknowledges what QP
	 * @qpn has received; for acknowledgements that promise that the data is in
	 * memory. May access memory, must not call into the device.
	 */
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	/* RN_STAT_COUNT counters, zeroed by the caller; the device writes
	 * them with relaxed stores.
	 */
	uint64_t *stats;
};

size_t rn_dev_size(void);

/* Return: 0, or -EINVAL with nothing written if a field of @cfg is out of range. */
int rn_dev_init(struct rn_dev *dev, const struct rn_dev_cfg *cfg);

/* Every QP, SRQ, MR and CQ must have been destroyed before. */
void rn_dev_fini(struct rn_dev *dev);

/* Replace one entry of the GID table (all-zero: remove it). QPs keep the old address
 * until they are modified; UD sends use the new one at once.
 */
void rn_dev_set_gid(struct rn_dev *dev, uint32_t index, const struct rn_gid *gid);

/* How the ICRC of a packet is checked. */
enum rn_rx_icrc {
	/* struct rn_dev_cfg says whether identifications may be solved for. */
	RN_RX_ICRC_SOLVE,
	/* The sender's numbering is known: identifications are not solved for. */
	RN_RX_ICRC_EXACT,
	/* Not at all: shared memory is the wire, and both ends have agreed. */
	RN_RX_ICRC_NONE,
};

/* One received packet. @data stays the caller's and is not kept. */
struct rn_rx {
	/* Src: the sender; dst: our address or a multicast group. */
	const struct rn_flow *flow;
	const uint8_t *data; /* from the BTH to the ICRC */
	uint32_t len;	     /* bytes, ICRC included */
	/* Position in its super-packet (UDP_GRO), 0 for a single packet. */
	uint16_t gro_idx;
	uint8_t icrc;		   /* enum rn_rx_icrc */
	struct rn_crc32_part part; /* for rn_icrc_check_with() */
};

/* Process received packets, in order. Malformed packets are counted and dropped: whatever
 * a peer sends, this function does not fail. The outcome does not depend on how many
 * packets one call delivers.
 */
void rn_dev_receive(struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
		    unsigned count);

/* One packet to be sent: what the IP layer must know about it. */
struct rn_tx {
	const struct rn_flow *flow; /* valid until the next call into the device */
	uint32_t dest_qpn;
	uint32_t src_qpn;
	bool response;		   /* an acknowledgement, or a READ or atomic response */
	struct rn_crc32_part part; /* for rn_icrc_seal_with() */
};

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
enum rn_async_event { /* numbers of enum ibv_event_type */
	RN_EVENT_CQ_ERR = 0,
	RN_EVENT_QP_FATAL = 1,
	RN_EVENT_QP_REQ_ERR = 2,
	RN_EVENT_QP_ACCESS_ERR = 3,
	RN_EVENT_COMM_EST = 4,
	RN_EVENT_SQ_DRAINED = 5,
	RN_EVENT_PATH_MIG = 6,
	RN_EVENT_PATH_MIG_ERR = 7,
	RN_EVENT_SRQ_LIMIT_REACHED = 15,
	RN_EVENT_LAST_WQE_REACHED = 16,
};

struct rn_event {
	bool completion; /* true: completion event of a CQ; false: asynchronous event */
	enum rn_async_event async; /* valid if !completion */
	struct rn_cq *cq;	   /* valid if completion, or for CQ_ERR */
	struct rn_srq *srq;	   /* valid for SRQ_LIMIT_REACHED */
	struct rn_qp *qp;	   /* valid for all other events */
};

/* Take one event. Return: false if there is none. Destroyed objects have no events. */
bool rn_dev_event(struct rn_dev *dev, struct rn_event *ev);

/* ------------------------------------------------------- completion queues */
/* @capacity: power of two, 1 .. RN_CQE_MAX. The ring must be zeroed. */
void rn_cq_init(struct rn_cq *cq, rn_iova ring, uint32_t capacity, void *owner);

/* Change to another ring, into which the caller has copied the CQEs that were
 * not taken yet, each at its place there. A thread that loads cq->ring meanwhile
 * gets the old or the new one.
 */
void rn_cq_move(struct rn_cq *cq, rn_iova ring, uint32_t capacity);

/* No QP may use the CQ any more. Its pending events are dropped. */
void rn_cq_fini(struct rn_dev *dev, struct rn_cq *cq);

/* ibv_req_notify_cq(): NEXT overrides SOLICITED, SOLICITED does not override NEXT. Only
 * CQEs that come after this call raise an event.
 */
void rn_cq_arm(struct rn_cq *cq, enum rn_cq_arm mode);

/* Event moderation: an armed CQ raises its event when @count CQEs for which it is armed
 * have come, or @period ns after the first of them. If either is 0, it does so at the
 * first. A CQ whose event is held back now uses the new values.
 */
void rn_cq_moderate(struct rn_dev *dev, struct rn_cq *cq, uint32_t count, rn_ns period);

/* -------------------------------------------------------------- queue pairs */
struct rn_qp_init {
	enum rn_qp_type type;
	uint32_t qpn; /* chosen by the caller; no other QP may have it */
	uint32_t pd;  /* number of the protection domain; not used by XRC_RECV */
	/* NULL where the type has no such queue: XRC_SEND, XRC_RECV. */
	struct rn_cq *send_cq, *recv_cq;
	/* NULL, or the SRQ used in place of a receive queue; then max_recv_* are 0. */
	struct rn_srq *srq;
	uint32_t xrcd;			     /* XRC_RECV: number of the XRC domain */
	uint32_t max_send_wr, max_recv_wr;   /* 0 .. RN_WR_MAX */
	uint32_t max_send_sge, max_recv_sge; /* 0 .. RN_SGE_MAX */
	uint32_t max_inline;		     /* 0 .. RN_INLINE_MAX */
	bool sq_sig_all;
	/* The block has no room for READ and atomic requests, neither the
	 * peer's nor the QP's own: rn_qp_lend_resources() and
	 * rn_qp_lend_reads() supply it when it is needed.
	 */
	bool lent_resources;
	struct rn_stats_qp *stats; /* statistics record to keep up to date; may be NULL */
	void *owner;
};

/* Bytes that a QP with these capabilities needs; 0 if a field is out of range. */
size_t rn_qp_size(const struct rn_dev *dev, const struct rn_qp_init *init);

/* Set up a QP in state RESET in @mem (rn_qp_size() bytes, 64-byte aligned, any content).
 * Return: the QP, at the start of @mem.
 */
struct rn_qp *rn_qp_create(struct rn_dev *dev, void *mem, const struct rn_qp_init *init);

/* READ and atomic requests of the peer (responder resources) are kept, 48 bytes each,
 * until they are too old to be repeated. rn_qp_lend_resources() supplies the memory for
 * @count of them, at most RN_RD_ATOMIC_MAX and more than before: @mem, 8-byte aligned,
 * any content, has rn_qp_resources_size(@count) bytes and must live as long as the QP.
 *
 * Return: the memory used until now, which is the caller's again; NULL if there was none.
 */
void *rn_qp_lend_resources(struct rn_qp *qp, void *mem, uint32_t count);
size_t rn_qp_resources_size(uint32_t count);
uint32_t rn_qp_resources(const struct rn_qp *qp); /* present number */

/* As rn_qp_lend_resources(), for the QP's own READ and atomic requests on the wire
 * (max_rd_atomic), 8 bytes each.
 */
void *rn_qp_lend_reads(struct rn_qp *qp, void *mem, uint32_t count);
size_t rn_qp_reads_size(uint32_t count);
uint32_t rn_qp_reads(const struct rn_qp *qp);

/* Destroy the QP without CQEs; its block is the caller's again. The caller has detached
 * it from its multicast groups (mcast.h) before, and removes its CQEs from the rings.
 * Reads and atomics that answered PENDING may still write into the block: the caller
 * keeps the block until the memory has ended those of this QP (rn_mem_attr.qpn).
 */
void rn_qp_destroy(struct rn_dev *dev, struct rn_qp *qp);

/* Use another statistics record, because the page that held the old one grew. */
void rn_qp_set_stats(struct rn_qp *qp, struct rn_stats_qp *stats);

/* The alternate path of a connected QP. */
struct rn_alt_path {
	struct rn_av av;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t timeout; /* ACK timeout code; used once the QP has migrated */
};

struct rn_qp_attr {
	enum rn_qp_state state, cur_state;
	uint32_t path_mtu; /* bytes */
	uint32_t qkey;
	uint32_t rq_psn, sq_psn;
	uint32_t dest_qpn;
	uint32_t access; /* RN_ACCESS_* */
	struct rn_av av;
	struct rn_alt_path alt; /* valid with RN_ATTR_ALT_PATH */
	enum rn_mig_state mig_state;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer; /* RNR timer code, IBTA Vol 1 table 45 */
	uint8_t timeout;       /* ACK timeout code */
	uint8_t retry_cnt, rnr_retry;
	bool en_sqd_async_notify;
	bool sq_draining; /* only set by rn_qp_query() */
};

/**
 * rn_qp_modify() - Change attributes and state
 * @attr:	Values; only those named in @mask are looked at
 * @mask:	RN_ATTR_*; without RN_ATTR_STATE the state stays
 *
 * Return: 0, or with nothing changed
 *	   -ENOMEM: max_dest_rd_atomic or max_rd_atomic is more than there is room for
 *	   (rn_qp_lend_resources(), rn_qp_lend_reads());
 *	   -EINVAL: the table of states does not allow it, cur_state is wrong, or a value
 *	   is out of range: port not 1, pkey_index not 0, sgid_index unused, path MTU over
 *	   the port's, timeout over 31, retry counts over 7, RNR code over 31, READ depths
 *	   over RN_RD_ATOMIC_MAX, 24-bit fields; of the alternate path likewise;
 *	   RN_MIG_ARMED is asked for, RN_MIG_REARM outside RTS, in ARMED or without an
 *	   alternate path loaded since the last migration, or RN_MIG_MIGRATED in REARM.
 */
int rn_qp_modify(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		 const struct rn_qp_attr *attr, uint32_t mask);

void rn_qp_query(const struct rn_qp *qp, struct rn_qp_attr *attr);

/* Number of messages that the peer's requests have completed here, modulo 2^24: the MSN
 * of an acknowledgement that left now.
 */
uint32_t rn_qp_msn(const struct rn_qp *qp);

/* The first PSN of the requests of this QP, or of its peer, as it was set last. */
uint32_t rn_qp_first_psn(const struct rn_qp *qp, bool of_peer);

/* The MSN of a NAK by which the peer refuses the request packet @psn of this
 * QP: the number of messages before the one that the packet belongs to. Only
 * for an RC or XRC send queue.
 */
uint32_t rn_qp_peer_msn(const struct rn_qp *qp, struct rn_psn psn);

/* Limit the rate of requests, including retransmitted ones. @kbps: rate in kbit/s of
 * packets, 0: no limit. @burst: bytes that may leave at once after a pause, 0: as many as
 * the rate gives in a millisecond. RESET removes the limit.
 */
void rn_qp_pace(struct rn_qp *qp, rn_ns now, uint32_t kbps, uint32_t burst);
uint32_t rn_qp_rate(const struct rn_qp *qp); /* limit in kbit/s, 0: none */

/* What was charged against the retry counter since RTS, including the charge that failed
 * the QP: expiries of the local ACK timer, PSN sequence NAKs, and implied NAKs
 * (responses from behind a gap).
 */
struct rn_retries {
	uint32_t timeouts, naks, implied;
};
void rn_qp_retries(const struct rn_qp *qp, struct rn_retries *retries);

enum rn_qp_state rn_qp_state(const struct rn_qp *qp);
void *rn_qp_owner(const struct rn_qp *qp);
void rn_qp_set_owner(struct rn_qp *qp, void *owner);
uint32_t rn_qp_qpn(const struct rn_qp *qp);

/* True if no request of the send queue is unacknowledged or waiting to leave. */
bool rn_qp_sq_idle(const struct rn_qp *qp);

/* True if requests are on the wire that have not been acknowledged (RC; always
 * false for UC and UD). Then a request that is posted now may wait a little, to
 * leave together with others.
 */
bool rn_qp_unacked(const struct rn_qp *qp);

/* True if some request of the send queue has not been sent completely yet. */
bool rn_qp_unsent(const struct rn_qp *qp);

/* Return: 0; -EINVAL (state, opcode not of this QP type, too many SGEs, too much inline
 * data, atomic not of 8 bytes, message too long, READ with max_rd_atomic 0); -ENOMEM (the
 * queue is full). In ERR (and SQE) the request is accepted and flushed.
 */
int rn_qp_post_send(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_send_wr *wr);

/* For callers that post several requests or none: would rn_qp_post_send()
 * accept @wr (same return values, except -ENOMEM), and how many more requests
 * fit into the send queue?
 */
int rn_qp_check_send(const struct rn_qp *qp, const struct rn_send_wr *wr);
uint32_t rn_qp_sq_room(const struct rn_qp *qp);

/* Number of the next work request of the send queue, see rn_mem_attr.msg. */
uint32_t rn_qp_sq_next(const struct rn_qp *qp);

/* Address of a scatter/gather entry as the device uses it. Return: false if its L_Key
 * does not allow access. For tools that look at requests.
 */
bool rn_qp_sge_address(const struct rn_qp *qp, const struct rn_sge *sge, rn_iova *addr);

/* Return: 0; -EINVAL (state RESET, too many SGEs, no receive queue of its own);
 * -ENOMEM (the queue is full).
 */
int rn_qp_post_recv(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_recv_wr *wr);

/* ----------------------------------------------- memory regions and windows */
/* struct rn_mr is in rocin/mr.h. rn_dev_add_mr() makes @mr accessible by its keys (lkey
 * == rkey, chosen by the caller, index not in use). The struct stays the caller's and
 * must live until rn_dev_remove_mr(), which also ends the binding of a window, or of all
 * windows that are bound to the region (@mr->windows).
 */
void rn_dev_add_mr(struct rn_dev *dev, struct rn_mr *mr);
void rn_dev_remove_mr(struct rn_dev *dev, struct rn_mr *mr);

/* Move a key table to a larger array of @count (a power of two) pointers, which the
 * callee zeroes. Return: the old array, or NULL if that was the built-in one.
 */
void **rn_dev_grow_qp_table(struct rn_dev *dev, void **bucket, uint32_t count);
void **rn_dev_grow_mr_table(struct rn_dev *dev, void **bucket, uint32_t count);
bool rn_dev_has_qpn(const struct rn_dev *dev, uint32_t qpn);
struct rn_qp *rn_dev_find_qp(const struct rn_dev *dev, uint32_t qpn); /* or NULL */
bool rn_dev_has_mr_index(const struct rn_dev *dev, uint32_t key_index);
/* The region or window that has this index in its keys; NULL: none. */
const struct rn_mr *rn_dev_find_mr(const struct rn_dev *dev, uint32_t key_index);

#endif /* RN_TRANSPORT_H */
