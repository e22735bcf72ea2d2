/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* process.c - what there is once per process. */
#include "process.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static _Atomic(struct rnp_process *) page;

/* Where the kernel does not wipe the page (before Linux 4.14), do it after fork(). */
static void wipe(void)
{
	struct rnp_process *p = atomic_load(&page);

	memset(p, 0, sizeof(*p));
}

static struct rnp_process *new_page(void)
{
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	struct rnp_process *expected = NULL;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	bool is_wiped;

	if (p == MAP_FAILED)
		return NULL;
	is_wiped = madvise(p, len, MADV_WIPEONFORK) == 0;
	/* Two threads may be here. */
	if (!atomic_compare_exchange_strong(&page, &expected, p)) {
		munmap(p, len);
		return expected;
	}
	if (!is_wiped && pthread_atfork(NULL, NULL, wipe) != 0) {
		atomic_store(&page, NULL);
		munmap(p, len);
		return NULL;
	}
	return p;
}

struct rnp_process *rnp_process_if_any(void)
{
	return atomic_load(&page);
}

struct rnp_process *rnp_process(void)
{
	struct rnp_process *p = atomic_load(&page);

	return p ? p : new_page();
}

/* A zeroed glibc mutex is an unlocked one. */
void rnp_process_lock(struct rnp_process *p)
{
	struct timespec ts;

	pthread_mutex_lock(&p->lock);
	if (atomic_load(&p->epoch) != 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	/* Different from that of any ancestor: they began earlier. */
	atomic_store(&p->epoch, (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec);
}

void rnp_process_unlock(struct rnp_process *p)
{
	pthread_mutex_unlock(&p->lock);
}
