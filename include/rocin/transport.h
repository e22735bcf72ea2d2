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
	RN_SGE_MAX = 32,      /* per WQE, either queue */
	RN_INLINE_MAX = 1024, /* bytes */
	RN_WR_MAX = 16384,    /* per queue */
	RN_CQE_MAX = 1 << 22, /* per CQ */
	/* READ and atomic requests outstanding, each direction: as many as kernel rxe
	 * has, and 128 is what indices of 8 bits allow. Cards have 16 to 128.
	 */
	RN_RD_ATOMIC_MAX = 128,
	RN_MSG_MAX = 1u << 31, /* bytes; IBTA 9.7.2 */
	RN_MTU_MAX = 4096,
	/* BTH, the longest extension headers, payload, pad, ICRC, rounded up. */
	RN_PACKET_MAX = 12 + 28 + 16 + RN_MTU_MAX + 3 + 4 + 17,
	RN_PKEY_DEFAULT = 0xffff,
};

/* ------------------------------------------------------------------ device */
/* Congestion control: ECN marks are answered by notifications (CNP), and notifications
 * cut the rate of a QP (DCQCN).
 */
enum rn_cc_mode {
	RN_CC_OFF,     /* marks and notifications mean nothing; packets are not ECT */
	RN_CC_OBSERVE, /* all but obeying: rates are kept and shown, nothing waits */
	RN_CC_ON,
};

#define RN_TIMEOUT_SCALE_MAX 1000u

#define RN_CC_LINE 10000000u /* kbps: of a port whose rate is not known */

struct rn_dev_cfg {
	struct rn_gid gid[RN_GID_MAX]; /* all-zero entries are unused */
	uint32_t gid_count;	       /* table length, 1 .. RN_GID_MAX */
	uint32_t ifindex;
	uint32_t mtu_max; /* bytes, 256..4096: port MTU */
	bool icrc_exact;  /* refuse packets whose identification had to be solved for */
	bool credits;	  /* tell requesters how many receives are posted */

	/* Bytes that may be unacknowledged towards one destination process: at start,
	 * at least and at most. a stock receive buffer takes three
	 * super-packets of 64 KiB.
	 */
	uint32_t window_start, window_min, window_max;

	/* READ response bytes that may be on their way to this device in all, and in one
	 * READ request. A longer READ leaves as several requests with consecutive PSNs.
	 */
	uint32_t read_window, read_chunk;

	/* Local ACK timeouts and RNR timers take so many times as long as their codes
	 * say, at most RN_TIMEOUT_SCALE_MAX; 0: as 1. For peers that somebody stops to
	 * look at.
	 */
	uint32_t timeout_scale;

	enum rn_cc_mode cc;
	uint32_t cc_line; /* kbps of the port, at most 4000000000; 0: RN_CC_LINE */

	const struct rn_mem_ops *mem;
	void *mem_ctx;
	/* NULL, or called with mem_ctx before a packet is built that acknowledges what QP
	 * @qpn has received: for acknowledgements that promise more than acceptance. May
	 * reach memory, must not call into the device.
	 */
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	/* RN_STAT_COUNT counters, zeroed by the caller; written with relaxed stores. */
	uint64_t *stats;
};

size_t rn_dev_size(void);

/* Return: 0, or -EINVAL with nothing written if a field of @cfg is out of range. */
int rn_dev_init(struct rn_dev *dev, const struct rn_dev_cfg *cfg);

/* Every QP, SRQ, MR and CQ must have been destroyed. */
void rn_dev_fini(struct rn_dev *dev);

/* Replace one entry of the GID table (all-zero: remove). QPs keep the old address
 * until they are modified; UD sends use the new one at once.
 */
void rn_dev_set_gid(struct rn_dev *dev, uint32_t index, const struct rn_gid *gid);

/* What is to be thought of the ICRC of a packet. */
enum rn_rx_icrc {
	RN_RX_ICRC_SOLVE, /* struct rn_dev_cfg says whether identifications are solved for
			   */
	RN_RX_ICRC_EXACT, /* the sender's habits are known: they are not */
	RN_RX_ICRC_NONE, /* memory is the wire, and both ends do without: not looked at */
};

/* One packet off the wire. @data stays the caller's and is not kept. */
struct rn_rx {
	const struct rn_flow *flow; /* src: the sender; dst: our address or group */
	const uint8_t *data;	    /* BTH to ICRC */
	uint32_t len;		    /* bytes, ICRC included */
	uint16_t gro_idx;	    /* position in the super-packet, 0 if alone */
	uint8_t icrc;		    /* enum rn_rx_icrc */
	struct rn_crc32_part part;  /* for rn_icrc_check_with() */
};

/* Take packets off the wire, in order. Malformed packets are counted and dropped:
 * nothing that a peer sends is an error of ours. The outcome does not depend on how many
 * packets one call delivers.
 */
void rn_dev_receive(struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
		    unsigned count);

/* One packet for the wire: what the IP layer must know about it. */
struct rn_tx {
	const struct rn_flow *flow; /* valid until the next call into the device */
	uint32_t dest_qpn;
	uint32_t src_qpn;
	bool response;		   /* acknowledgement or READ/atomic response */
	struct rn_crc32_part part; /* for rn_icrc_seal_with() */
};

enum rn_tx_what {
	RN_TX_WORK = 1 << 0,   /* requests, and responses to READ and atomics */
	RN_TX_ACKS = 1 << 1,   /* acknowledgements and NAKs that may be deferred */
	RN_TX_ALONG = 1 << 2,  /* of those the one of a QP with what it has to send */
	RN_TX_BARE = 1 << 3,   /* the packet gets no ICRC: rn_tx.part is not wanted */
	RN_TX_SINGLY = 1 << 4, /* packets of this way do not become super-packets */
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
 * Consecutive calls return the packets of one QP one after the other while it has any
 * (up to 64), so that the caller can join those of equal size into one super-packet.
 *
 * Return: bytes in @buf, 0 if nothing may leave now.
 */
uint32_t rn_dev_transmit(struct rn_dev *dev, rn_ns now, unsigned what, uint8_t *buf,
			 size_t cap, struct rn_tx *tx);

/* False: rn_dev_transmit(@what) would return nothing. */
bool rn_dev_has_packets(const struct rn_dev *dev, unsigned what);

/* False: rn_dev_transmit(RN_TX_ACKS) would return nothing. */
bool rn_dev_acks_due(const struct rn_dev *dev);

/* Request packets that queue pairs have taken so far, good or bad; modulo 2^32. */
uint32_t rn_dev_requests(const struct rn_dev *dev);

/* Receives of queue pairs that have been completed so far; modulo 2^32. */
uint32_t rn_dev_received(const struct rn_dev *dev);

/* True if the queue pair of the packet received last has part of a message, or has found
 * a gap: its peer may send no more before it is told.
 */
bool rn_dev_is_amid_message(const struct rn_dev *dev);

/* Hears what the device thinks of a packet (rocin/diagnostic.h): one of those that
 * rn_dev_receive() is given, or (@rx NULL) the one that rn_dev_transmit() is about to
 * build. Must not call into the device.
 */
struct rn_diagnostic;
typedef void rn_diagnostic_fn(void *ctx, const struct rn_diagnostic *diagnostic,
			      const struct rn_rx *rx);

/* From now on; NULL: nobody does. Changes nothing else that the device does. */
void rn_dev_set_diagnostic(struct rn_dev *dev, rn_diagnostic_fn *fn, void *ctx);

/* When rn_dev_expire() is next worth calling; RN_NEVER if no timer runs. */
rn_ns rn_dev_deadline(const struct rn_dev *dev);

/* Fire the timers that are due. The caller delivers what has already arrived first, so
 * that a process that was stopped does not retransmit what has been acknowledged.
 */
void rn_dev_expire(struct rn_dev *dev, rn_ns now);

/* Has a queue pair waited in vain for its peer, twice in a row at least or for the last
 * time, since this was last asked? @flow: out, what its packets leave with; of several
 * queue pairs the last one's. What the peer's host says by ICMP is known to sockets
 * alone.
 */
bool rn_dev_silent(struct rn_dev *dev, struct rn_flow *flow);

/**
 * rn_dev_peer_holds() - A peer has not read all that was sent to it
 * @gid:	Its address
 * @slot:	Low byte of the QPNs of the process
 * @taken:	How much it has read; what is counted does not matter
 *
 * For the rn_dev_expire() at the same @now: the process lives, and what it has not read
 * lies before it, so silence is no reason to send it again, nor to count a retry. That
 * lasts as long as @taken stays: who reads on and does not answer is asked again. Who has
 * ended holds nothing, and is given up as any other peer.
 */
void rn_dev_peer_holds(struct rn_dev *dev, rn_ns now, const struct rn_gid *gid,
		       uint8_t slot, uint64_t taken);

/* A memory operation that answered PENDING has ended. Unknown tags (of a QP destroyed
 * meanwhile) are ignored.
 */
void rn_dev_mem_done(struct rn_dev *dev, rn_ns now, uint64_t tag,
		     enum rn_mem_result result);

/* The device has lost its way to the network for good: every QP that is not in RESET goes
 * to ERR as by rn_qp_modify(), with flush completions.
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
	bool completion; /* true: an armed CQ fired; false: asynchronous event */
	enum rn_async_event async; /* if !completion */
	struct rn_cq *cq;	   /* if completion or CQ_ERR */
	struct rn_srq *srq;	   /* if SRQ_LIMIT_REACHED */
	struct rn_qp *qp;	   /* otherwise */
};

/* Take one event; false if there is none. Events of destroyed objects never appear. */
bool rn_dev_event(struct rn_dev *dev, struct rn_event *ev);

/* ------------------------------------------------------- completion queues */
/* @capacity: power of two, 1 .. RN_CQE_MAX. The ring must be zeroed. */
void rn_cq_init(struct rn_cq *cq, rn_iova ring, uint32_t capacity, void *owner);

/* Another ring, which holds the CQEs that were not taken yet, each at its place there.
 * Who loads cq->ring meanwhile gets the old one or the new one.
 */
void rn_cq_move(struct rn_cq *cq, rn_iova ring, uint32_t capacity);

/* No QP may use the CQ any more. Pending events are forgotten. */
void rn_cq_fini(struct rn_dev *dev, struct rn_cq *cq);

/* ibv_req_notify_cq(): NEXT overrides SOLICITED, SOLICITED never downgrades NEXT. Only
 * CQEs that come after this fire.
 */
void rn_cq_arm(struct rn_cq *cq, enum rn_cq_arm mode);

/* Moderation: an armed CQ fires when @count CQEs that it is armed for have come, or
 * @period ns after the first of them. 0 for either: at the first. What is held back now
 * is judged by the new values.
 */
void rn_cq_moderate(struct rn_dev *dev, struct rn_cq *cq, uint32_t count, rn_ns period);

/* -------------------------------------------------------------- queue pairs */
struct rn_qp_init {
	enum rn_qp_type type;
	uint32_t qpn; /* chosen by the caller, not in use */
	uint32_t pd;  /* number of the protection domain; not of XRC_RECV */
	/* NULL where the type has no such queue: XRC_SEND, XRC_RECV. */
	struct rn_cq *send_cq, *recv_cq;
	struct rn_srq *srq; /* NULL, or in place of a receive queue: max_recv_* are 0 */
	uint32_t xrcd;	    /* XRC_RECV: number of the XRC domain */
	uint32_t max_send_wr, max_recv_wr;   /* 0 .. RN_WR_MAX */
	uint32_t max_send_sge, max_recv_sge; /* 0 .. RN_SGE_MAX */
	uint32_t max_inline;		     /* 0 .. RN_INLINE_MAX */
	bool sq_sig_all;
	/* The block has no room for READ and atomic requests, neither the peer's nor its
	 * own: what the QP will need of it, rn_qp_lend_resources() and
	 * rn_qp_lend_reads() give it.
	 */
	bool lent_resources;
	struct rn_stats_qp *stats; /* record to keep up to date; may be NULL */
	void *owner;
};

/* Bytes that a QP with these capabilities needs; 0 if a field is out of range. */
size_t rn_qp_size(const struct rn_dev *dev, const struct rn_qp_init *init);

/* Set up a QP in @mem (rn_qp_size() bytes, 64-byte aligned, any content), state RESET.
 * @return the QP, at the start of @mem.
 */
struct rn_qp *rn_qp_create(struct rn_dev *dev, void *mem, const struct rn_qp_init *init);

/* READ and atomic requests of the peer (responder resources) are kept until they are too
 * old to be repeated, 48 bytes each. rn_qp_lend_resources(): @mem, 8-byte aligned, any
 * content, has rn_qp_resources_size(@count) bytes and room for @count of them, at most
 * RN_RD_ATOMIC_MAX and more than there was room for. It must live as long as the QP.
 *
 * Return: the memory used until now, which is the caller's again; NULL if none was.
 */
void *rn_qp_lend_resources(struct rn_qp *qp, void *mem, uint32_t count);
size_t rn_qp_resources_size(uint32_t count);
uint32_t rn_qp_resources(const struct rn_qp *qp); /* how many there is room for */

/* Likewise the QP's own READ and atomic requests on the wire (max_rd_atomic), 8 bytes
 * each.
 */
void *rn_qp_lend_reads(struct rn_qp *qp, void *mem, uint32_t count);
size_t rn_qp_reads_size(uint32_t count);
uint32_t rn_qp_reads(const struct rn_qp *qp);

/* Forget the QP without CQEs; the block is the caller's again. The caller has detached it
 * from its multicast groups (mcast.h) and removes the QP's CQEs from the rings. Reads and
 * atomics that answered PENDING may still write into the block: the caller keeps it until
 * the memory is done with those of this QP (rn_mem_attr.qpn).
 */
void rn_qp_destroy(struct rn_dev *dev, struct rn_qp *qp);

/* The record moved (the page that holds it grew). */
void rn_qp_set_stats(struct rn_qp *qp, struct rn_stats_qp *stats);

/* The path that a connected QP migrates to. */
struct rn_alt_path {
	struct rn_av av;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t timeout; /* code; in force once the QP has migrated */
};

struct rn_qp_attr {
	enum rn_qp_state state, cur_state;
	uint32_t path_mtu; /* bytes */
	uint32_t qkey;
	uint32_t rq_psn, sq_psn;
	uint32_t dest_qpn;
	uint32_t access; /* RN_ACCESS_* */
	struct rn_av av;
	struct rn_alt_path alt; /* RN_ATTR_ALT_PATH */
	enum rn_mig_state mig_state;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer; /* code, IBTA table 45 */
	uint8_t timeout;       /* code */
	uint8_t retry_cnt, rnr_retry;
	bool en_sqd_async_notify;
	bool sq_draining; /* query only */
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

/* Messages that the peer's requests have completed here, modulo 2^24: the MSN of an
 * acknowledgement that left now.
 */
uint32_t rn_qp_msn(const struct rn_qp *qp);

/* The PSN that the requests of this QP began with, or those of its peer; as it was set
 * last.
 */
uint32_t rn_qp_first_psn(const struct rn_qp *qp, bool of_peer);

/* The MSN of the peer's answer that refuses the request packet @psn of this QP: the
 * messages before the one that the packet belongs to. Only of an RC or XRC send queue.
 */
uint32_t rn_qp_peer_msn(const struct rn_qp *qp, struct rn_psn psn);

/* Limit the rate of requests, retransmitted ones included: @kbps 1000 bits of packets per
 * second, 0 none; @burst bytes may leave at once after a pause, 0: what the rate gives in
 * a millisecond. RESET removes the limit.
 */
void rn_qp_pace(struct rn_qp *qp, rn_ns now, uint32_t kbps, uint32_t burst);
uint32_t rn_qp_rate(const struct rn_qp *qp); /* kbps, 0: no limit */

/* What was charged against the retry counter since RTS, the one that was too much
 * included: the local ACK timer, NAKs for the sequence, answers behind a gap.
 */
struct rn_retries {
	uint32_t timeouts, naks, implied;
};
void rn_qp_retries(const struct rn_qp *qp, struct rn_retries *retries);

enum rn_qp_state rn_qp_state(const struct rn_qp *qp);
void *rn_qp_owner(const struct rn_qp *qp);
void rn_qp_set_owner(struct rn_qp *qp, void *owner);
uint32_t rn_qp_qpn(const struct rn_qp *qp);

/* True if nothing of the send queue is unacknowledged or waiting to leave. */
bool rn_qp_sq_idle(const struct rn_qp *qp);

/* True if requests are on the wire that have not been acknowledged (RC; always false for
 * UC and UD): what is posted now may wait a little to leave in company.
 */
bool rn_qp_unacked(const struct rn_qp *qp);

/* True if of what was posted to the send queue some has not left yet. */
bool rn_qp_unsent(const struct rn_qp *qp);

/* Return: 0; -EINVAL (state, opcode not of this QP type, too many SGEs, too much inline
 * data, atomic not of 8 bytes, message too long, READ with max_rd_atomic 0); -ENOMEM (the
 * queue is full). In ERR (and SQE) the request is accepted and flushed.
 */
int rn_qp_post_send(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_send_wr *wr);

/* For callers that post several requests or none: would rn_qp_post_send() take @wr (the
 * same codes, but for -ENOMEM), and how many more requests does the send queue take?
 */
int rn_qp_check_send(const struct rn_qp *qp, const struct rn_send_wr *wr);
uint32_t rn_qp_sq_room(const struct rn_qp *qp);

/* Number that the next work request of the send queue gets, see rn_mem_attr.msg. */
uint32_t rn_qp_sq_next(const struct rn_qp *qp);

/* Where a scatter/gather entry lies for the device; false: the key does not open it.
 * For tools that look at requests.
 */
bool rn_qp_sge_address(const struct rn_qp *qp, const struct rn_sge *sge, rn_iova *addr);

/* Return: 0; -EINVAL (RESET, too many SGEs, no receive queue of its own); -ENOMEM (the
 * queue is full).
 */
int rn_qp_post_recv(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_recv_wr *wr);

/* ----------------------------------------------- memory regions and windows */
/* struct rn_mr is in rocin/mr.h. rn_dev_add_mr() makes @mr reachable by its keys
 * (lkey == rkey, chosen by the caller, index not in use); the block stays the caller's
 * and must live until rn_dev_remove_mr(), which ends the binding of a window, and of all
 * windows that are bound to a region (@mr->windows).
 */
void rn_dev_add_mr(struct rn_dev *dev, struct rn_mr *mr);
void rn_dev_remove_mr(struct rn_dev *dev, struct rn_mr *mr);

/* Key tables grow by a larger block: @count (a power of two) pointers, zeroed by the
 * callee. The old block, or NULL for the built-in first one, is returned to the caller.
 */
void **rn_dev_grow_qp_table(struct rn_dev *dev, void **bucket, uint32_t count);
void **rn_dev_grow_mr_table(struct rn_dev *dev, void **bucket, uint32_t count);
bool rn_dev_has_qpn(const struct rn_dev *dev, uint32_t qpn);
struct rn_qp *rn_dev_find_qp(const struct rn_dev *dev, uint32_t qpn); /* or NULL */
bool rn_dev_has_mr_index(const struct rn_dev *dev, uint32_t key_index);
/* What has this index in its keys, of whatever kind; NULL: nothing. */
const struct rn_mr *rn_dev_find_mr(const struct rn_dev *dev, uint32_t key_index);

#endif /* RN_TRANSPORT_H */
