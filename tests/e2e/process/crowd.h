/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* crowd.h - many processes of one program, which meet and see each other's figures. */
#ifndef RN_CROWD_H
#define RN_CROWD_H

#include <pthread.h>
#include <sys/types.h>

#include "tests/e2e/kit/loop.h"

double crowd_now_s(void); /* seconds of the clock that does not jump */

size_t crowd_own_memory(void); /* bytes resident that no other process has */

/* Zeros that children share; never given back. */
void *crowd_share(size_t len);

/* In shared memory: for so many processes. */
void crowd_init_meeting(pthread_barrier_t *meeting, unsigned count);
void crowd_meet(pthread_barrier_t *meeting);

/* fork(). A child dies with its parent, and a child that ends otherwise than by
 * crowd_leave() ends the parent: others would wait for it.
 */
pid_t crowd_enter(void);
void crowd_leave(void) __attribute__((noreturn));

/* Device, PD, CQ of @cqes and a region, local writes alone. */
struct ibv_mr *crowd_open(struct loop *l, int cqes, void *memory, size_t len);
void crowd_close(struct loop *l, struct ibv_mr *mr); /* its QPs are destroyed */

#endif /* RN_CROWD_H */
