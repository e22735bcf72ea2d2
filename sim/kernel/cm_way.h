/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_way.h - the way of a thread's commands to rocind (rocin/cmdev.h).
 *
 * Each thread has one for each of the channels that it used last, closed when it ends. A
 * way is not trusted to be still there: programs close whatever they find, and children
 * of fork() have ways that are their parents'.
 *
 * Threads: any; no locks.
 */
#ifndef RNK_CM_WAY_H
#define RNK_CM_WAY_H

#include <stdint.h>

struct rnk_cm_way;

/**
 * rnk_cm_way_get() - The calling thread's way to a channel
 * @channel_fd:	Descriptor of the channel, over which a new way is handed to rocind
 * @number:	The number in its name
 * @way:	Out: the thread's until its next call of this function
 *
 * Return: 0, -ESHUTDOWN (rocind has gone), -EMFILE, -ENOMEM ...
 */
int rnk_cm_way_get(int channel_fd, uint64_t number, struct rnk_cm_way **way);

int rnk_cm_way_fd(const struct rnk_cm_way *way);

/* A number for the next command, which the answer has too. */
uint32_t rnk_cm_way_next_seq(struct rnk_cm_way *way);

/* rocind has closed it. */
void rnk_cm_way_close(struct rnk_cm_way *way);

#endif /* RNK_CM_WAY_H */
