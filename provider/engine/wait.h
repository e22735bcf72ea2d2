/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wait.h - how the background thread sleeps until one of its descriptors is readable.
 *
 * Two forms: an epoll set, or requests to io_uring. They behave alike: descriptors are
 * looked at again each time, so what was not read to its end wakes at once. One that is
 * switched off may wake once more in vain.
 *
 * A program's threads change the set while the background thread sleeps. An epoll set
 * they can change themselves. Requests to io_uring are served by the thread that made
 * them, so it is woken to make others; taking the sockets away from it needs none, as
 * a request ends with the first packet and is not made again.
 *
 * Threads: all calls under one lock, which rnp_wait_sleep() gives up in between, as
 * pthread_cond_wait() does. One thread sleeps.
 */
#ifndef RNP_WAIT_H
#define RNP_WAIT_H

#include <pthread.h>

#include "rocin/gid.h"

struct rn_uring;

enum {
	/* Descriptors: some for the device, a socket for each address, and those that
	 * are gone but whose requests have not ended.
	 */
	RNP_WAIT_MAX = 4 * RN_GID_MAX,
	RNP_WAIT_TAGS = 31,
};

/* The set is no set any more: the program has closed it. */
#define RNP_WAIT_BROKEN (1u << 31)

struct rnp_wait_source {
	int fd; /* -1: free */
	uint8_t tag;
	bool on;
	bool rests;	/* it is not in the epoll set */
	bool gone;	/* removed, but its request has not ended */
	bool pending;	/* a request is under way ... */
	bool cancelled; /* ... and another that ends it; the kernel may say no */
};

struct rnp_wait {
	int epoll_fd;		/* an empty set while there is @uring */
	struct rn_uring *uring; /* NULL: epoll */
	bool has_begun;		/* the thread has made itself known to @uring */
	bool is_asleep;
	bool is_woken; /* by a change of the set */
	int wake_fd;
	struct rnp_wait_source source[RNP_WAIT_MAX];
};

/* Nothing is open: rnp_wait_close(), rnp_wait_remove() and rnp_wait_switch() do nothing.
 */
void rnp_wait_init(struct rnp_wait *w);

/**
 * rnp_wait_open() - Make a set
 * @wake_fd:	An eventfd of the caller's that is in the set: written to when the thread
 *		must look at it anew
 * @uring:	By io_uring
 *
 * Return: 0 or -errno; of io_uring, with a sentence, as rn_uring_open() has them.
 */
int rnp_wait_open(struct rnp_wait *w, int wake_fd, bool uring, char *err, size_t err_len);

/* By the thread that slept, which will not again: ends its requests, so that sockets that
 * are closed afterwards are gone.
 */
void rnp_wait_end(struct rnp_wait *w, pthread_mutex_t *lock);

/* The thread is gone, or there never was one. */
void rnp_wait_close(struct rnp_wait *w);

/* @tag < RNP_WAIT_TAGS. Return: 0, -EEXIST, -ENOSPC, or why epoll refuses @fd. */
int rnp_wait_add(struct rnp_wait *w, int fd, unsigned tag, bool on);

/* Wake for @fd or do not. One that is not in the set is ignored. Return: 0, or why epoll
 * does not take back one that rested: it is off still.
 */
int rnp_wait_switch(struct rnp_wait *w, int fd, bool on);

/* What is off will stay so for a while. To an epoll set that it is in, each packet is
 * reported all the same, by whoever sends it.
 */
void rnp_wait_rest(struct rnp_wait *w);

/* Before @fd is closed: a fork() child may hold a copy, which would keep it in an epoll
 * set for ever. One that is not in the set is ignored.
 */
void rnp_wait_remove(struct rnp_wait *w, int fd);

/* Gives up @lock and sleeps until a descriptor is readable. Return: bits of their tags,
 * which may be none; or RNP_WAIT_BROKEN alone.
 */
uint32_t rnp_wait_sleep(struct rnp_wait *w, pthread_mutex_t *lock);

#endif /* RNP_WAIT_H */
