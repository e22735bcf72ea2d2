/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doorbell.h - how a process that sleeps learns that one of its rings is no longer empty.
 *
 * One page per process, which all its peers map: a word that says that it sleeps, and a
 * bit for each of its rings that may have something. Beside it a descriptor that wakes it
 * (an eventfd in its epoll set), which is the caller's.
 *
 *   producer				consumer
 *   rn_ring_publish()			rn_doorbell_announce()
 *   rn_doorbell_ring()			rn_doorbell_take(), rn_ring_waits() of each ring
 *   true: write to the descriptor		something: rn_doorbell_awake(), receive
 *   					nothing: sleep on the descriptor
 *
 * Each side stores first and looks afterwards, all of it sequentially consistent, so at
 * least one of the two sees the other (shape: store buffering).
 * tests/transport/io/shm/test_doorbell_model.c walks all orders of it on a machine with
 * store buffers.
 *
 * Every peer can write to the page. So it may at most cause work: a bit that was never
 * set, a wake-up in vain; or, by a peer's own fault, its own packets wait until the lease
 * or a timer ends. The descriptor is made with EFD_NONBLOCK, as a peer can fill it.
 *
 * Threads: producers any number, of any processes; the consumer's calls by one thread (or
 * under one lock).
 */
#ifndef RN_DOORBELL_H
#define RN_DOORBELL_H

#include "rocin/types.h"

enum {
	RN_DOORBELL_BYTES =
		4096, /* of memory; zeros are a doorbell of one who is awake */
	RN_DOORBELL_RINGS = 1024, /* bits */
	RN_DOORBELL_WORDS = RN_DOORBELL_RINGS / 64,
};

struct rn_doorbell; /* lies in shared memory */

/* ---------------------------------------------------------------- producer */
/* Ring @idx (< RN_DOORBELL_RINGS, by the consumer's numbers) has been published to.
 * Return: its process sleeps: write to its descriptor.
 */
bool rn_doorbell_ring(struct rn_doorbell *peer, unsigned idx);

/* ---------------------------------------------------------------- consumer */
/* From now on producers wake us, until one has or rn_doorbell_awake(). What was published
 * before is to be looked for afterwards.
 */
void rn_doorbell_announce(struct rn_doorbell *own);

/* No wake-up is wanted any more. */
void rn_doorbell_awake(struct rn_doorbell *own);

/* Which of the rings 64 * @word .. 64 * @word + 63 have been rung since the last call;
 * cheap while none was. A ring is to be read until it is dry, or its bit set again by
 * rn_doorbell_remember().
 */
uint64_t rn_doorbell_take(struct rn_doorbell *own, unsigned word);

/* Ring @idx is not dry yet. */
void rn_doorbell_remember(struct rn_doorbell *own, unsigned idx);

#endif /* RN_DOORBELL_H */
