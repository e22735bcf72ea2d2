/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* front.h - the first part of an engine, with which a poll begins: the engine lock, and
 * what the rings of local wires showed when a poll last ran the engine.
 *
 * A program that waits polls all the time, and most of its polls find nothing. Then only
 * one poll of many, a full poll, runs the engine. The others are short polls, which only
 * look whether a peer has changed the tail of a ring (rnp_policy_short_polls() returns
 * their number). Short polls hold the lock, for a few nanoseconds, because otherwise
 * another thread could unmap a ring. A thread that takes the lock for something else than
 * a poll makes the next poll a full one.
 */
#ifndef RNP_FRONT_H
#define RNP_FRONT_H

#include "lock.h"
#include "provider/policy/policy.h"
#include "transport/io/shm/ring.h"

struct rnp_engine;

/* The first member of struct rnp_engine. */
struct rnp_front {
	struct rnp_lock lock;
	/* Number of polls that may be short from now on. Threads read it without the
	 * lock, and change it with the engine lock held.
	 */
	_Atomic uint32_t short_polls;
	/* value of @short_polls after the last full poll; 0 also after
	 * rnp_front_end_short_polls()
	 */
	uint32_t short_granted;
	/* What a thread does after a poll that found nothing (enum rnp_pause). Written by
	 * the thread that holds the engine lock, and by threads that have tried to get it
	 * and failed.
	 */
	_Atomic uint8_t pause;
	struct rn_ring_watch watch;
};

/* Makes the next poll a full one, because the engine's state may change. The engine lock
 * is held.
 */
static inline void rnp_front_end_short_polls(struct rnp_front *f)
{
	atomic_store_explicit(&f->short_polls, 0, memory_order_relaxed);
	f->short_granted = 0;
}

/* Take and release the engine lock for something else than a poll. */
static inline void rnp_front_lock(struct rnp_front *f)
{
	rnp_lock_take(&f->lock);
	rnp_front_end_short_polls(f);
}

static inline void rnp_front_unlock(struct rnp_front *f)
{
	rnp_lock_give(&f->lock);
}

/* What a short poll, which only looks at the rings in shared memory, has found. */
enum rnp_short_poll {
	RNP_SHORT_POLL_LEFT_OUT, /* none is allowed now, or the lock was taken */
	RNP_SHORT_POLL_STILL,	 /* nothing has changed in the rings */
	RNP_SHORT_POLL_MOVED,	 /* a packet waits in a ring */
};

/* Performs a short poll. Unless it returns RNP_SHORT_POLL_LEFT_OUT, it has taken the
 * lock, and the caller releases it by rnp_front_leave_short_poll(). If it does not return
 * RNP_SHORT_POLL_STILL, the caller then has to call rnp_engine_poll().
 */
static inline enum rnp_short_poll rnp_front_poll_shortly(struct rnp_front *f)
{
	uint32_t left;

	if (atomic_load_explicit(&f->short_polls, memory_order_relaxed) == 0 ||
	    !rnp_lock_try(&f->lock))
		return RNP_SHORT_POLL_LEFT_OUT;
	left = atomic_load_explicit(&f->short_polls, memory_order_relaxed);
	if (left > 0 && rn_ring_is_still(&f->watch)) {
		atomic_store_explicit(&f->short_polls, left - 1, memory_order_relaxed);
		return RNP_SHORT_POLL_STILL;
	}
	if (left > 0) /* a packet waits, so the full poll follows at once */
		atomic_store_explicit(&f->pause, RNP_PAUSE_NONE, memory_order_relaxed);
	return RNP_SHORT_POLL_MOVED;
}

/* Releases the lock after a short poll. Return: true if a thread has to be woken that
 * waits for the lock, which the caller does by rnp_lock_wake().
 */
static inline bool rnp_front_leave_short_poll(struct rnp_front *f)
{
	return atomic_exchange_explicit(&f->lock.state, RNP_LOCK_FREE,
					memory_order_release) == RNP_LOCK_AWAITED;
}

/* Performs a short poll. Return: true if nothing has changed in the rings; false if the
 * caller has to call rnp_engine_poll().
 */
static inline bool rnp_engine_poll_shortly(struct rnp_engine *e)
{
	struct rnp_front *f = (struct rnp_front *)e;
	enum rnp_short_poll found = rnp_front_poll_shortly(f);

	if (found != RNP_SHORT_POLL_LEFT_OUT && rnp_front_leave_short_poll(f))
		rnp_lock_wake(&f->lock);
	return found == RNP_SHORT_POLL_STILL;
}

#endif /* RNP_FRONT_H */
