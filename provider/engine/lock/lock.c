/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lock.c - takes and releases a lock that other threads wait for (lock.h), and ends a
 * process that uses an object in two threads against its promise (use_lock.h).
 */
#include "use_lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/io/host/log.h"

/* A thread that has slept takes the lock in the state RNP_LOCK_AWAITED, because it does
 * not know whether other threads sleep, too. If none does, the later release makes one
 * needless wake-up. The exchange does not get the lock if another thread was faster; the
 * futex does not sleep if the word has changed meanwhile.
 */
void rnp_lock_wait(struct rnp_lock *l)
{
	int saved = errno;

	while (atomic_exchange_explicit(&l->state, RNP_LOCK_AWAITED,
					memory_order_acquire) != RNP_LOCK_FREE)
		syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, RNP_LOCK_AWAITED, NULL);
	errno = saved;
}

void rnp_lock_wake(struct rnp_lock *l)
{
	int saved = errno;

	syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1);
	errno = saved;
}

void rnp_use_lock_is_broken(void)
{
	rn_log(RN_LOG_ERROR,
	       "two threads use one completion queue or queue pair at a time that the "
	       "program has said only one thread uses (a thread domain or "
	       "IBV_CREATE_CQ_ATTR_SINGLE_THREADED); the process ends here");
	abort();
}
