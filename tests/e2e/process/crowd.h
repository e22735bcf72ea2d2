/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* crowd.h - functions for many processes of one program, which wait for each other and
 * exchange measurements.
 */
#ifndef RN_CROWD_H
#define RN_CROWD_H

#include <pthread.h>
#include <sys/types.h>

#include "tests/e2e/kit/loop.h"

double crowd_now_s(void); /* seconds of CLOCK_MONOTONIC */

size_t crowd_own_memory(void); /* resident bytes that no other process has */

/* Allocates zeroed memory that child processes share. It is never freed. */
void *crowd_share(size_t len);

/* Initialises a barrier in shared memory for @count processes. */
void crowd_init_meeting(pthread_barrier_t *meeting, unsigned count);
void crowd_meet(pthread_barrier_t *meeting);

/* Forks. The child dies with its parent. If the child ends without crowd_leave(), the
 * parent ends, too, because other processes would wait for the child for ever.
 */
pid_t crowd_enter(void);
void crowd_leave(void) __attribute__((noreturn));

/* Opens the device, and creates a PD, a CQ of @cqes entries, and a memory region for
 * local writes.
 */
struct ibv_mr *crowd_open(struct loop *l, int cqes, void *memory, size_t len);
/* the QPs must have been destroyed before */
void crowd_close(struct loop *l, struct ibv_mr *mr);

#endif /* RN_CROWD_H */
