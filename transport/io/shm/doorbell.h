/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doorbell.h - how a sleeping process learns that one of its rings is no longer empty.
 *
 * There is one page per process, which all its peers map. It holds a word that says that
 * the process sleeps, and a bit for each of its rings that may have something. The caller
 * has a descriptor beside it that wakes the process (an eventfd in its epoll set).
 *
 *   producer                             consumer
 *   rn_ring_publish()                    rn_doorbell_announce()
 *   rn_doorbell_ring()                   rn_doorbell_take(), rn_ring_waits() of each ring
 *   true: write to the descriptor        something: rn_doorbell_awake(), receive
 *                                        nothing: sleep on the descriptor
 *
 * Each side stores first and loads afterwards, all sequentially consistent, so at least
 * one of the two sees the other's store (shape: store buffering).
 * tests/transport/io/shm/test_doorbell_model.c walks all orders of it on a machine with
 * store buffers.
 *
 * Every peer can write to the page. A hostile peer may at most cause work, by a bit that
 * is set without reason or a useless wake-up, or delay packets until the lease or a timer
 * ends, by clearing bits. The descriptor is made with EFD_NONBLOCK, because a peer can
 * fill it.
 *
 * Threads: any number of producers, in any processes; the consumer's calls by one thread
 * (or under one lock).
 */
#ifndef RN_DOORBELL_H
#define RN_DOORBELL_H

#include "rocin/types.h"

enum {
	RN_DOORBELL_BYTES = 4096, /* bytes of memory; all zeros: the process is awake */
	RN_DOORBELL_RINGS = 1024, /* number of bits */
	RN_DOORBELL_WORDS = RN_DOORBELL_RINGS / 64,
};

struct rn_doorbell; /* lies in shared memory */

/* ---------------------------------------------------------------- producer */
/* Something was published to ring @idx (< RN_DOORBELL_RINGS, numbered by the consumer).
 * Return: true if its process sleeps: the caller writes to its descriptor.
 */
bool rn_doorbell_ring(struct rn_doorbell *peer, unsigned idx);

/* ---------------------------------------------------------------- consumer */
/* From now on producers wake this process, until one has done so or rn_doorbell_awake()
 * is called. Afterwards the caller must look for what was published before.
 */
void rn_doorbell_announce(struct rn_doorbell *own);

/* The process is awake: no wake-up is wanted any more. */
void rn_doorbell_awake(struct rn_doorbell *own);

/* Take the bits of rings 64 * @word .. 64 * @word + 63 that were rung since the last
 * call; cheap if none was. The caller reads each of them until it is empty, or sets its
 * bit again by rn_doorbell_remember().
 */
uint64_t rn_doorbell_take(struct rn_doorbell *own, unsigned word);

/* Set the bit of ring @idx again, because the ring is not empty yet. */
void rn_doorbell_remember(struct rn_doorbell *own, unsigned idx);

#endif /* RN_DOORBELL_H */
