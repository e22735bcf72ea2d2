/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* process.h - what there is once per process, and what a fork() child must not inherit.
 *
 * It lives in a page that the kernel zeroes in a child (MADV_WIPEONFORK). There the lock
 * is free, the list of engines empty, and the epoch another: an engine made in an older
 * epoch belongs to the parent, whatever state its memory was copied in.
 */
#ifndef RNP_PROCESS_H
#define RNP_PROCESS_H

#include <pthread.h>

#include "rocin/types.h"

struct rnp_engine;

struct rnp_process {
	pthread_mutex_t lock;	    /* guards: engines, epoch's first store */
	_Atomic uint64_t epoch;	    /* 0: nobody has asked yet */
	struct rnp_engine *engines; /* linked through rnp_engine.next */
};

/* Create the page if there is none yet. NULL if memory is short. */
struct rnp_process *rnp_process(void);

/* The page if there is one. */
struct rnp_process *rnp_process_if_any(void);

/* Lock, and give this process its epoch. */
void rnp_process_lock(struct rnp_process *p);
void rnp_process_unlock(struct rnp_process *p);

#endif /* RNP_PROCESS_H */
