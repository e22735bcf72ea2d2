/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fabric.h - the queues of one simulated PCIe hierarchy and the TLPs in them.
 *
 * A TLP passes through the queues of its route and is performed when it leaves the last
 * one. A TLP may leave a queue if and only if rn_order_may_pass() lets it pass each TLP
 * in front of it in that queue; no other rule blocks or orders TLPs. When a read has been
 * performed, the fabric itself sends the completion back.
 *
 * If the knob writes-ordering of the GPUs is `none`, each GPU has a list called its
 * inside: a write that has reached the GPU waits there and becomes visible to the GPU
 * later, in any order (writes to the same bytes keep their order). A read through the BAR
 * or a doorbell of the CPU first makes all writes in this list visible.
 *
 * The fabric is one block without pointers, of known size, so a copy of the block is a
 * snapshot. The fabric allocates nothing, does no I/O and reads no clock.
 *
 * Threads: there are no locks; the caller must serialise the calls.
 */
#ifndef RN_FABRIC_H
#define RN_FABRIC_H

#include "order.h"
#include "topology.h"

struct rn_fabric;

enum rn_tlp_state {
	RN_TLP_FREE,
	RN_TLP_QUEUED, /* the TLP is in the queue route.queue[hop] */
	/* The TLP is a write that has reached a GPU and is not visible there yet. */
	RN_TLP_INSIDE,
};

enum {
	RN_TLPS_MAX = 0xfffe,
	RN_TLP_NONE = 0xffff,
};

/* Callbacks of the fabric's owner. @tlp is valid during the call. The place that a
 * performed write or a completed read had in the fabric is free again before the call. A
 * callback may issue TLPs, but must not move or force any.
 */
struct rn_fabric_ops {
	/* Performs a TLP. Write: its bytes become visible in the target. Read: the bytes
	 * are read. AtomicOp: both, in one step.
	 */
	void (*perform)(void *ctx, const struct rn_tlp *tlp);
	/* Called when the completion of a read or AtomicOp has reached the requester.
	 * @tlp is the completion; its data, tag, addr and len are those of the request.
	 */
	void (*complete)(void *ctx, const struct rn_tlp *tlp);
	/* Called before @tlp leaves @queue, for traces; may be NULL. @queue is
	 * RN_QUEUE_COUNT if @tlp leaves the inside of a GPU.
	 */
	void (*moving)(void *ctx, const struct rn_tlp *tlp, unsigned queue);
};

/* Returns the size in bytes of a fabric that holds up to @tlps TLPs (1 .. RN_TLPS_MAX).
 */
size_t rn_fabric_size(uint32_t tlps);

/* Initialises a fabric in @mem, which has rn_fabric_size() bytes, is 8-byte aligned and
 * may have any content. The knobs are copied.
 */
struct rn_fabric *rn_fabric_init(void *mem, uint32_t tlps,
				 const struct rn_pcie_knobs *knobs);

const struct rn_pcie_knobs *rn_fabric_knobs(const struct rn_fabric *f);

/* rn_fabric_count() returns the number of TLPs in the fabric. rn_fabric_room() returns
 * the number of free places for TLPs. A read uses one place from its request to its
 * completion.
 */
uint32_t rn_fabric_count(const struct rn_fabric *f);
uint32_t rn_fabric_room(const struct rn_fabric *f);

/**
 * rn_fabric_issue() - Send a TLP
 * @tlp:	The TLP, of which the fields from kind to stamp are set; copied
 *
 * With place=now, or where no queue lies between requester and target, the TLP is
 * performed (and completed) before the function returns.
 *
 * Return: the index of the TLP, or RN_TLP_NONE if it has been performed already; -ENOBUFS
 *	   if there is no free place (make one with rn_fabric_force()); -EHOSTUNREACH if
 *	   there is no route (rc.p2p=deny). On an error nothing has happened.
 */
int rn_fabric_issue(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		    const struct rn_tlp *tlp);

/* Returns the TLP at @index, or NULL if that place is free. */
const struct rn_tlp *rn_fabric_tlp(const struct rn_fabric *f, unsigned index);

/* Returns true if the TLP at @index may leave its queue or the inside of its GPU now. */
bool rn_fabric_movable(const struct rn_fabric *f, unsigned index);

/* Writes the indices of the TLPs that may move to @index, but at most @max of them. They
 * are in the order of queues, and within a queue from its head. Returns the number of all
 * TLPs that may move, which may be more than @max.
 */
unsigned rn_fabric_moves(const struct rn_fabric *f, uint16_t *index, unsigned max);

/* Moves a movable TLP to the next queue of its route, or out of the last one. */
void rn_fabric_move(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		    unsigned index);

/* Moves the TLP at @index until it has been performed and completed; a write to a GPU,
 * until the GPU sees it. Other TLPs move only if the TLP at @index must not pass them.
 */
void rn_fabric_force(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		     unsigned index);

/* Forces each TLP that @match accepts, the oldest first; see rn_fabric_force(). */
void rn_fabric_force_if(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
			bool (*match)(const struct rn_tlp *tlp, const void *arg),
			const void *arg);

/* Sets the field `data`, which belongs to the issuer, of the TLP at @index. */
void rn_fabric_mark(struct rn_fabric *f, unsigned index, uint64_t data);

/* Makes the write at @index longer by @len bytes, so that the issuer can write the bytes
 * behind it without another TLP. The write must be the TLP that was issued last.
 */
void rn_fabric_extend(struct rn_fabric *f, unsigned index, uint32_t len);

/* Removes the write at @index from the fabric without performing it. The issuer calls
 * this when it has issued a later write to the same bytes.
 */
void rn_fabric_drop(struct rn_fabric *f, unsigned index);

/* Makes all writes that wait in the inside of GPU @gpu visible, in the order of their
 * arrival. @gpu is an agent number.
 */
void rn_fabric_empty_inside(struct rn_fabric *f, const struct rn_fabric_ops *ops,
			    void *ctx, unsigned gpu);

/* Iterate over one queue. Two functions return the first TLP of the queue and the one
 * behind a given TLP; two others return the last TLP and the one before a given TLP.
 * RN_TLP_NONE: there is no further TLP. If @queue is RN_QUEUE_COUNT + a GPU's agent
 * number, they iterate over the writes inside this GPU. For traces, assertions and
 * digests.
 */
unsigned rn_fabric_first(const struct rn_fabric *f, unsigned queue);
unsigned rn_fabric_next(const struct rn_fabric *f, unsigned index);
unsigned rn_fabric_last(const struct rn_fabric *f, unsigned queue);
unsigned rn_fabric_prev(const struct rn_fabric *f, unsigned index);

/* Returns the index of a TLP that is before the TLP at @index in its queue and that this
 * TLP must not pass. Returns RN_TLP_NONE if the TLP at @index may move.
 */
unsigned rn_fabric_blocker(const struct rn_fabric *f, unsigned index);

/* Iterate over all TLPs of the fabric in the order of issue, whatever queues they are in.
 * RN_TLP_NONE: there is no further TLP.
 */
unsigned rn_fabric_oldest(const struct rn_fabric *f);
unsigned rn_fabric_younger(const struct rn_fabric *f, unsigned index);
unsigned rn_fabric_youngest(const struct rn_fabric *f);
unsigned rn_fabric_older(const struct rn_fabric *f, unsigned index);

/* Returns the number of TLPs that somebody waits for: those for which rn_tlp_is_wanted()
 * is true.
 */
uint32_t rn_fabric_wanted(const struct rn_fabric *f);

/* Returns the first queue or inside of a GPU, from number @queue upward, that has a TLP
 * in it; RN_LIST_COUNT if there is none.
 */
unsigned rn_fabric_busy_queue(const struct rn_fabric *f, unsigned queue);

/* Calls @visit for each queue that has a TLP in it, in the order of numbers; the insides
 * of GPUs come last.
 */
void rn_fabric_each_queue(const struct rn_fabric *f,
			  void (*visit)(void *arg, unsigned queue), void *arg);

#endif /* RN_FABRIC_H */
