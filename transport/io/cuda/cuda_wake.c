/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_wake.c - wakes devices whose reads have ended. Threads of the driver do so, which
 * take no other lock: the one of the regions may be held by a thread that waits for the
 * driver.
 */
#include <pthread.h>

#include "cuda_internal.h"

static struct {
	pthread_mutex_t lock;
	struct rn_cuda_nic *first;
} nics = { .lock = PTHREAD_MUTEX_INITIALIZER };

void rn_cuda_notice(void *arg)
{
	struct rn_cuda_lane *lane = arg;

	/* Set before the NICs look: a read that they find still under way asks again. */
	atomic_store(&lane->is_noticed, false);
	pthread_mutex_lock(&nics.lock);
	for (struct rn_cuda_nic *nic = nics.first; nic; nic = nic->next)
		if (nic->pending)
			nic->wake(nic->arg);
	pthread_mutex_unlock(&nics.lock);
}

void rn_cuda_wake_add(struct rn_cuda_nic *nic)
{
	pthread_mutex_lock(&nics.lock);
	nic->next = nics.first;
	nics.first = nic;
	pthread_mutex_unlock(&nics.lock);
}

void rn_cuda_wake_remove(struct rn_cuda_nic *nic)
{
	struct rn_cuda_nic **at = &nics.first;

	pthread_mutex_lock(&nics.lock);
	while (*at != nic)
		at = &(*at)->next;
	*at = nic->next;
	pthread_mutex_unlock(&nics.lock);
}
