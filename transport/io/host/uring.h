/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uring.h - io_uring: a queue of requests and one of their ends, by liburing.
 *
 * liburing is loaded when a queue is first wanted: by default none is, and a plugin that
 * needed the library could not be loaded at all where it is missing.
 *
 * What a request waits for is served by the thread that submitted it: its end is worked
 * out there, and another thread learns of it no earlier than that one enters the kernel.
 * A program's threads come and go and share a device, so there are two ways to use a
 * queue, and no third:
 *
 *   RN_URING_SLEEPER	one thread submits requests that wait, and waits for them
 *   RN_URING_AT_ONCE	any thread, under one lock; only requests that have ended when
 *			rn_uring_submit() returns (MSG_DONTWAIT)
 *
 * Fork children inherit neither the memory nor the right to use the queue: they must not
 * call anything here for it.
 */
#ifndef RN_URING_H
#define RN_URING_H

#include "rocin/types.h"

struct msghdr;
struct rn_uring;

enum rn_uring_use {
	RN_URING_SLEEPER,
	RN_URING_AT_ONCE,
};

/**
 * rn_uring_open() - Make a queue
 * @entries:	Requests that may be prepared before they are submitted; rounded up to a
 *		power of two
 * @err:	Out on failure: one sentence
 *
 * Return: the queue, or NULL with errno: EOPNOTSUPP (built without liburing), ENOENT
 *	   (no liburing.so.2 of 2.3 or later), ENOSYS (the kernel has no io_uring, an old
 *	   one, or a sandbox hides it), EPERM (a sandbox or kernel.io_uring_disabled),
 *	   ENOMEM (RLIMIT_MEMLOCK, before Linux 5.12), EMFILE, ENFILE.
 */
struct rn_uring *rn_uring_open(enum rn_uring_use use, unsigned entries, char *err,
			       size_t err_len);

/* Requests under way are cancelled some time later: end those that hold a descriptor
 * before. NULL is ignored.
 */
void rn_uring_close(struct rn_uring *u);

/* RN_URING_SLEEPER: the calling thread is the one, from now on. Return: 0 or -errno. */
int rn_uring_begin(struct rn_uring *u);

/* Prepare a request; @tag comes back with its end. Return: false if @entries are prepared
 * already.
 *
 * poll: ends when @fd is readable, at once if it is, or with -ECANCELED.
 * unpoll: cancels the poll of tag @which; ends with -ENOENT if there is none.
 * recv, send: recvmsg() and sendmsg() with MSG_DONTWAIT, for RN_URING_AT_ONCE; @msg and
 * what it points to must live until the end.
 */
bool rn_uring_poll(struct rn_uring *u, int fd, uint64_t tag);
bool rn_uring_unpoll(struct rn_uring *u, uint64_t which, uint64_t tag);
bool rn_uring_recv(struct rn_uring *u, int fd, struct msghdr *msg, uint64_t tag);
bool rn_uring_send(struct rn_uring *u, int fd, const struct msghdr *msg, uint64_t tag);

/* Hand over what is prepared, and wait until @ends requests have ended (0: do not wait).
 * One system call; no cancellation point. Return: 0 or -errno (-EINTR too).
 */
int rn_uring_submit(struct rn_uring *u, unsigned ends);

/* Take the end of a request: its tag and its result (-errno or what the call returns).
 * Return: false if there is none.
 */
bool rn_uring_next(struct rn_uring *u, uint64_t *tag, int *result);

#endif /* RN_URING_H */
