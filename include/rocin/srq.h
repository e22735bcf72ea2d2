/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq.h - shared receive queues.
 *
 * A QP takes a WQE when a message that needs one begins (SEND) or ends (WRITE with
 * immediate). From then on the WQE belongs to that QP: a message to another QP takes the
 * next one. If a QP is reset or destroyed, a WQE that it has taken is lost. The L_Keys of
 * a WQE are checked against the protection domain of the SRQ, not of the QP.
 *
 * A basic SRQ serves the QPs created with it (rn_qp_init.srq), and its receives complete
 * to the CQs of these QPs. An SRQ of an XRC domain is named in every request packet that
 * comes to an XRC_RECV QP of that domain. The receives of the SRQ complete to the SRQ's
 * own CQ, and R_Keys are checked against the SRQ's protection domain, because the QP has
 * none.
 *
 * A peer that got an RNR NAK because no receive was posted tries again when its RNR timer
 * expires. Posting a receive does not notify the peer.
 *
 * Threads: nothing here locks; one device belongs to one thread at a time.
 * Source: IBTA Vol 1, 10.2.9 (SRQ) and Annex A14 (XRC).
 */
#ifndef RN_SRQ_H
#define RN_SRQ_H

#include "rocin/work_request.h"

struct rn_cq;
struct rn_dev;
struct rn_srq;

enum {
	RN_SRQN_MAX = 0xffffff,
};

struct rn_srq_init {
	/* number of the SRQ, chosen by the caller and not in use; 1 .. RN_SRQN_MAX */
	uint32_t srqn;
	uint32_t pd;	  /* number of the protection domain */
	uint32_t max_wr;  /* maximum number of WQEs, 0 .. RN_WR_MAX */
	uint32_t max_sge; /* maximum number of SGEs of a WQE, 0 .. RN_SGE_MAX */
	uint32_t xrcd;	  /* number of the XRC domain; 0: a basic SRQ */
	struct rn_cq *cq; /* XRC: CQ that gets the completions of the receives */
	void *owner;
};

struct rn_srq_attr {
	uint32_t max_wr, max_sge;
	/* number of receives below which an event is raised; 0: the limit is not armed */
	uint32_t limit;
	uint32_t posted; /* number of receives that are posted and not taken */
};

size_t rn_srq_size(void);

/* Returns the size in bytes of the ring of an SRQ; 0 if an argument is out of range. */
size_t rn_srq_ring_size(uint32_t max_wr, uint32_t max_sge);

/* Sets up an SRQ in @mem (rn_srq_size() bytes) with @ring (rn_srq_ring_size() bytes).
 * Both are 8-byte aligned, with any content, belong to the caller, and must exist until
 * rn_srq_destroy(). Return: the SRQ, at the start of @mem.
 */
struct rn_srq *rn_srq_create(struct rn_dev *dev, void *mem, void *ring,
			     const struct rn_srq_init *init);

/* Destroys the SRQ. Its receives and pending events are dropped without CQEs. The caller
 * must have destroyed all QPs that were created with it. If an XRC_RECV QP is receiving a
 * message for this SRQ, the next packet of that message will be refused.
 */
void rn_srq_destroy(struct rn_srq *srq);

/* Posts a receive. Return: 0; -EINVAL (too many SGEs); -ENOMEM (the SRQ is full). */
int rn_srq_post_recv(struct rn_srq *srq, const struct rn_recv_wr *wr);

/* rn_srq_next() returns the number that the next receive will have. rn_srq_wqe() is for
 * tools that read receive queues: it finds the WQE of the receive with number @number,
 * stores its address in *@at, and returns the number of bytes in use there.
 */
uint32_t rn_srq_next(const struct rn_srq *srq);
uint32_t rn_srq_wqe(const struct rn_srq *srq, uint32_t number, const void **at);

/**
 * rn_srq_set_limit() - Arm the event RN_EVENT_SRQ_LIMIT_REACHED
 * @srq:	SRQ
 * @limit:	Number of receives; 0 disarms the limit
 *
 * The event is raised once, when a QP takes a receive and fewer than @limit are left; the
 * limit is then 0 again. If the SRQ has fewer already, the event is raised when the next
 * receive is taken, not at once.
 *
 * Return: 0, or -EINVAL if @limit is more than the capacity of the SRQ.
 */
int rn_srq_set_limit(struct rn_srq *srq, uint32_t limit);

/**
 * rn_srq_resize() - Move the receives to another ring
 * @srq:	SRQ
 * @ring:	rn_srq_ring_size(@max_wr, max_sge of the SRQ) bytes
 * @max_wr:	New capacity
 * @old:	Out: the old ring, which the caller may free
 *
 * Return: 0, or -EINVAL with nothing changed: more than @max_wr receives are posted, or
 *	   the limit is higher.
 */
int rn_srq_resize(struct rn_srq *srq, void *ring, uint32_t max_wr, void **old);

void rn_srq_query(const struct rn_srq *srq, struct rn_srq_attr *attr);
void *rn_srq_owner(const struct rn_srq *srq);

/* Moves the table of SRQ numbers to a larger array, in the same way as
 * rn_dev_grow_mr_table() moves the key table.
 */
void **rn_dev_grow_srq_table(struct rn_dev *dev, void **bucket, uint32_t count);
bool rn_dev_has_srqn(const struct rn_dev *dev, uint32_t srqn);

#endif /* RN_SRQ_H */
