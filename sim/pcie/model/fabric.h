/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fabric.h - the queues of one host and the TLPs in them.
 *
 * A TLP crosses the queues of its route and is performed when it leaves the last one. The
 * i-th TLP of a queue may leave iff it may pass each of the i before it
 * (rn_order_may_pass()); nothing else blocks and nothing else orders. A read that has
 * been performed sends its completion back by itself.
 *
 * A write that reaches a GPU whose writes-ordering is `none` goes inside first: later, in
 * any order (same bytes in order), it becomes visible to the GPU. A read through the BAR
 * that arrives, and a doorbell of the CPU, empty the inside before they are performed.
 *
 * The block holds no pointers and its size is known, so a copy of it is a snapshot. No
 * allocation, no I/O, no clock.
 *
 * Threads: none; the caller serialises.
 */
#ifndef RN_FABRIC_H
#define RN_FABRIC_H

#include "order.h"
#include "topology.h"

struct rn_fabric;

enum rn_tlp_state {
	RN_TLP_FREE,
	RN_TLP_QUEUED, /* in route.queue[hop] */
	RN_TLP_INSIDE, /* of a GPU */
};

enum {
	RN_TLPS_MAX = 0xfffe,
	RN_TLP_NONE = 0xffff,
};

/* What the owner of the fabric does when something happens. @tlp is valid during the
 * call; when a write is performed or a read completed its place is free already. The
 * calls may issue TLPs, but not move or force any.
 */
struct rn_fabric_ops {
	/* Write: its bytes become visible in the target. Read: bytes are taken. AtomicOp:
	 * both, in one step.
	 */
	void (*perform)(void *ctx, const struct rn_tlp *tlp);
	/* The completion of a read or AtomicOp has reached its requester. @tlp is the
	 * completion: data, tag, addr and len are those of the request.
	 */
	void (*complete)(void *ctx, const struct rn_tlp *tlp);
	/* For traces, may be NULL: @tlp is about to leave @queue (RN_QUEUE_COUNT: the
	 * inside).
	 */
	void (*moving)(void *ctx, const struct rn_tlp *tlp, unsigned queue);
};

/* Bytes of a fabric with room for @tlps TLPs, 1 .. RN_TLPS_MAX. */
size_t rn_fabric_size(uint32_t tlps);

/* @mem: rn_fabric_size() bytes, 8-byte aligned, any content. The knobs are copied. */
struct rn_fabric *rn_fabric_init(void *mem, uint32_t tlps,
				 const struct rn_pcie_knobs *knobs);

const struct rn_pcie_knobs *rn_fabric_knobs(const struct rn_fabric *f);

/* TLPs on their way, and room for more. A read needs one place for its whole life. */
uint32_t rn_fabric_count(const struct rn_fabric *f);
uint32_t rn_fabric_room(const struct rn_fabric *f);

/**
 * rn_fabric_issue() - Send a TLP
 * @tlp:	kind .. stamp; copied
 *
 * With place=now, or where no queue lies between, it is performed (and completed) before
 * return.
 *
 * Return: its index, RN_TLP_NONE if it is done already; -ENOBUFS: no room (make some with
 *	   rn_fabric_force()); -EHOSTUNREACH: not routed (rc.p2p=deny). Nothing happened
 *	   then.
 */
int rn_fabric_issue(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		    const struct rn_tlp *tlp);

/* The TLP at @index, NULL if that is free. */
const struct rn_tlp *rn_fabric_tlp(const struct rn_fabric *f, unsigned index);

/* May this TLP leave the place where it is? */
bool rn_fabric_movable(const struct rn_fabric *f, unsigned index);

/* All that may move, by queue upward and from its head. Returns how many there are; at
 * most @max are written.
 */
unsigned rn_fabric_moves(const struct rn_fabric *f, uint16_t *index, unsigned max);

/* Move a TLP that is movable by one place. */
void rn_fabric_move(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		    unsigned index);

/* Move @index until it is done (a read: until its completion has arrived; a write to a
 * GPU: until the GPU sees it), and before it only what it must not pass.
 */
void rn_fabric_force(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		     unsigned index);

/* The same for each TLP that @match accepts, oldest first. */
void rn_fabric_force_if(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
			bool (*match)(const struct rn_tlp *tlp, const void *arg),
			const void *arg);

/* Make all writes inside GPU @gpu (a target) visible, in order of arrival. */
void rn_fabric_empty_inside(struct rn_fabric *f, const struct rn_fabric_ops *ops,
			    void *ctx, unsigned gpu);

/* First TLP of a queue and the one behind another, last and the one before: RN_TLP_NONE
 * ends. For traces, assertions, digests. RN_QUEUE_COUNT + GPU agent: its inside.
 */
unsigned rn_fabric_first(const struct rn_fabric *f, unsigned queue);
unsigned rn_fabric_next(const struct rn_fabric *f, unsigned index);
unsigned rn_fabric_last(const struct rn_fabric *f, unsigned queue);
unsigned rn_fabric_prev(const struct rn_fabric *f, unsigned index);

/* The TLP before @index in its queue that it must not pass; RN_TLP_NONE if movable. */
unsigned rn_fabric_blocker(const struct rn_fabric *f, unsigned index);

/* By order of issue, whatever the queue: RN_TLP_NONE ends. */
unsigned rn_fabric_oldest(const struct rn_fabric *f);
unsigned rn_fabric_younger(const struct rn_fabric *f, unsigned index);
unsigned rn_fabric_youngest(const struct rn_fabric *f);
unsigned rn_fabric_older(const struct rn_fabric *f, unsigned index);

/* How many that somebody waits for (rn_tlp_is_wanted()), in queues and inside. */
uint32_t rn_fabric_wanted(const struct rn_fabric *f);

/* The first queue from @queue upward with a TLP in it, insides included; RN_LIST_COUNT
 * ends.
 */
unsigned rn_fabric_busy_queue(const struct rn_fabric *f, unsigned queue);

/* Queues with a TLP in them: calls @visit(queue) upward, the insides last. */
void rn_fabric_each_queue(const struct rn_fabric *f,
			  void (*visit)(void *arg, unsigned queue), void *arg);

#endif /* RN_FABRIC_H */
