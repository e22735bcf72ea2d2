/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* use_lock.h - the lock of an object that several threads may use at a time, unless the
 * program has promised that only one does.
 *
 * The program promises it for a CQ by IBV_CREATE_CQ_ATTR_SINGLE_THREADED, and for a CQ or
 * a QP that it creates in a parent domain with a thread domain (ibv_alloc_td()). Then
 * nothing is locked: taking and releasing are a load and two stores. The load shows
 * whether another thread uses the object now. If so the promise is broken, and the
 * process is ended with a sentence that says so, because otherwise completions or
 * requests would be lost or seen twice. Not every broken promise is noticed in this way,
 * as the load and the store are not one operation.
 *
 * The lock may be held between two calls of the program. A zeroed lock is free, and can
 * be used by several threads.
 */
#ifndef RNP_USE_LOCK_H
#define RNP_USE_LOCK_H

#include "lock.h"

struct rnp_use_lock {
	struct rnp_lock lock;
	/* Only one thread uses the object at a time. Set before the program gets the
	 * object.
	 */
	bool is_single;
};

/* Ends the process, because two threads use an object of which the program had promised
 * that only one does.
 */
void rnp_use_lock_is_broken(void) __attribute__((noinline, cold, noreturn));

/* Takes the lock if it is free. Returns whether it was free. */
static inline bool rnp_use_lock_try(struct rnp_use_lock *l)
{
	if (!l->is_single)
		return rnp_lock_try(&l->lock);
	if (atomic_load_explicit(&l->lock.state, memory_order_relaxed) != RNP_LOCK_FREE)
		return false;
	atomic_store_explicit(&l->lock.state, RNP_LOCK_TAKEN, memory_order_relaxed);
	return true;
}

static inline void rnp_use_lock_take(struct rnp_use_lock *l)
{
	if (!l->is_single)
		rnp_lock_take(&l->lock);
	else if (!rnp_use_lock_try(l))
		rnp_use_lock_is_broken();
}

static inline void rnp_use_lock_give(struct rnp_use_lock *l)
{
	if (!l->is_single)
		rnp_lock_give(&l->lock);
	else
		atomic_store_explicit(&l->lock.state, RNP_LOCK_FREE,
				      memory_order_relaxed);
}

#endif /* RNP_USE_LOCK_H */
