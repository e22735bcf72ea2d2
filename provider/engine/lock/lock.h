/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lock.h - the lock of an engine: a word, and a futex for those that have to wait.
 *
 * Every post and every poll takes the lock, which is mostly free then. In this case
 * taking and releasing it are one atomic operation each, which the compiler inlines: nine
 * instructions in all. A pthread_mutex_t, which has kinds, owners and counts, takes 58.
 * The lock is not recursive and not robust, its functions are no cancellation points, and
 * a zeroed lock is free. ThreadSanitizer understands the lock, as it consists of atomic
 * operations.
 */
#ifndef RNP_LOCK_H
#define RNP_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum rnp_lock_state {
	RNP_LOCK_FREE,
	RNP_LOCK_TAKEN,
	RNP_LOCK_AWAITED, /* taken, and a thread may sleep until the lock is free */
};

struct rnp_lock {
	_Atomic uint32_t state;
};

/* The slow paths: rnp_lock_wait() sleeps until it gets the lock; rnp_lock_wake() wakes
 * one thread that sleeps.
 */
void rnp_lock_wait(struct rnp_lock *l) __attribute__((noinline, cold));
void rnp_lock_wake(struct rnp_lock *l) __attribute__((noinline, cold));

/* Takes the lock if it is free. Returns whether it was free. */
static inline bool rnp_lock_try(struct rnp_lock *l)
{
	uint32_t free = RNP_LOCK_FREE;

	return atomic_compare_exchange_strong_explicit(&l->state, &free, RNP_LOCK_TAKEN,
						       memory_order_acquire,
						       memory_order_relaxed);
}

static inline void rnp_lock_take(struct rnp_lock *l)
{
	if (!rnp_lock_try(l))
		rnp_lock_wait(l);
}

static inline void rnp_lock_give(struct rnp_lock *l)
{
	if (atomic_exchange_explicit(&l->state, RNP_LOCK_FREE, memory_order_release) ==
	    RNP_LOCK_AWAITED)
		rnp_lock_wake(l);
}

#endif /* RNP_LOCK_H */
