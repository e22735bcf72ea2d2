/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doorbell.h - wakes a sleeping process when one of its rings is no longer empty.
 *
 * There is one page of shared memory per process, the doorbell, which all its peers map.
 * It holds a flag that the process sleeps, and a bit for each of its rings, set if the
 * ring may have packets. Beside the page, the peers have a descriptor that wakes the
 * process (an eventfd in its epoll set).
 *
 *   producer                             consumer
 *   rn_ring_publish()                    rn_doorbell_announce()
 *   rn_doorbell_ring()                   rn_doorbell_take(), rn_ring_waits() of each ring
 *   true: write to the descriptor        something: rn_doorbell_awake(), receive
 *                                        nothing: sleep on the descriptor
 *
 * Each side stores first and loads afterwards, all sequentially consistent, so at least
 * one of the two sees the other's store (shape: store buffering).
 * tests/transport/io/shm/test_doorbell_model.c checks all orders of these accesses on a
 * machine with store buffers.
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
	/* bytes of the page; all zeros: the process is awake, and no bit is set */
	RN_DOORBELL_BYTES = 4096,
	RN_DOORBELL_RINGS = 1024, /* number of bits, one for each ring */
	RN_DOORBELL_WORDS = RN_DOORBELL_RINGS / 64,
};

struct rn_doorbell; /* lies in shared memory */

/* ---------------------------------------------------------------- producer */
/* Tell the process of @peer that packets were published to its ring @idx (<
 * RN_DOORBELL_RINGS, numbered by the consumer). Return: true if that process sleeps, so
 * that the caller has to write to its descriptor.
 */
bool rn_doorbell_ring(struct rn_doorbell *peer, unsigned idx);

/* ---------------------------------------------------------------- consumer */
/* Announce that this process will sleep: from now on producers wake it, until one has
 * done so or rn_doorbell_awake() is called. Afterwards the caller must look once more for
 * packets that were published before.
 */
void rn_doorbell_announce(struct rn_doorbell *own);

/* Announce that the process is awake, so producers need not wake it. */
void rn_doorbell_awake(struct rn_doorbell *own);

/* Read and clear the bits of rings 64 * @word .. 64 * @word + 63, which were set since
 * the last call; cheap if none was. The caller reads each of these rings until it is
 * empty, or sets its bit again by rn_doorbell_remember().
 */
uint64_t rn_doorbell_take(struct rn_doorbell *own, unsigned word);

/* Set the bit of ring @idx again, because the ring is not empty yet. */
void rn_doorbell_remember(struct rn_doorbell *own, unsigned idx);

#endif /* RN_DOORBELL_H */
