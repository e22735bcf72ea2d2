/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* queue_pair.h - what is done with a queue pair of a device (transport.h). */
#ifndef RN_QUEUE_PAIR_H
#define RN_QUEUE_PAIR_H

#include "rocin/qp_attr.h"

struct rn_cq;
struct rn_dev;
struct rn_qp;
struct rn_srq;
struct rn_stats_qp;

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

/* RN_ATTR_* that a QP of @type must be given to go on to @to, RN_ATTR_STATE among them:
 * to INIT, RTR or RTS from the state before.
 */
uint32_t rn_qp_required(enum rn_qp_type type, enum rn_qp_state to);

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

/* The key table of queue pairs grows as that of regions: rn_dev_grow_mr_table(). */
void **rn_dev_grow_qp_table(struct rn_dev *dev, void **bucket, uint32_t count);
bool rn_dev_has_qpn(const struct rn_dev *dev, uint32_t qpn);
struct rn_qp *rn_dev_find_qp(const struct rn_dev *dev, uint32_t qpn);

#endif /* RN_QUEUE_PAIR_H */
