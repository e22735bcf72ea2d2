/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uring.h - io_uring: a queue of requests and one of their completions, by liburing.
 *
 * liburing is loaded when the first queue is opened. The plugin is not linked with it,
 * because it must also load on machines without liburing.
 *
 * A request that waits is completed in the context of the thread that submitted it; other
 * threads learn of the completion no earlier than that thread enters the kernel. Threads
 * of a program come and go and share a device, so a queue is used in one of two ways:
 *
 *   RN_URING_SLEEPER  one thread submits requests that wait, and waits for them
 *   RN_URING_AT_ONCE  any thread, under one lock, submits requests that have completed
 *                     when rn_uring_submit() returns (MSG_DONTWAIT)
 *
 * Fork children inherit neither the memory nor the right to use the queue: they must not
 * call these functions for it.
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
 * @err:	Out on failure: the error text, one sentence
 *
 * Return: the queue, or NULL with errno: EOPNOTSUPP (built without liburing), ENOENT
 *	   (no liburing.so.2 of 2.3 or later), ENOSYS (the kernel has no io_uring, an old
 *	   one, or a sandbox hides it), EPERM (a sandbox or kernel.io_uring_disabled),
 *	   ENOMEM (RLIMIT_MEMLOCK, before Linux 5.12), EMFILE, ENFILE.
 */
struct rn_uring *rn_uring_open(enum rn_uring_use use, unsigned entries, char *err,
			       size_t err_len);

/* Close the queue. The kernel cancels pending requests some time later, and until then
 * they hold their descriptors open. So before the caller closes a descriptor, it should
 * cancel the requests for that descriptor. NULL is ignored.
 */
void rn_uring_close(struct rn_uring *u);

/* Make the calling thread the one that submits requests, for RN_URING_SLEEPER. Return: 0
 * or -errno.
 */
int rn_uring_begin(struct rn_uring *u);

/* Prepare a request; @tag is returned with its completion. Return: false if @entries
 * requests are prepared already.
 *
 * poll: completes when @fd is readable, at once if it is, or with -ECANCELED. unpoll:
 * cancels the poll that has the tag @which; completes with -ENOENT if there is none.
 * recv, send: recvmsg() and sendmsg() with MSG_DONTWAIT, for RN_URING_AT_ONCE; @msg and
 * what it points to must live until the completion.
 */
bool rn_uring_poll(struct rn_uring *u, int fd, uint64_t tag);
bool rn_uring_unpoll(struct rn_uring *u, uint64_t which, uint64_t tag);
bool rn_uring_recv(struct rn_uring *u, int fd, struct msghdr *msg, uint64_t tag);
bool rn_uring_send(struct rn_uring *u, int fd, const struct msghdr *msg, uint64_t tag);

/* Submit the prepared requests, and wait until @ends requests have completed (0: do not
 * wait). Makes one system call, which is not a cancellation point. Return: 0 or -errno
 * (also -EINTR).
 */
int rn_uring_submit(struct rn_uring *u, unsigned ends);

/* Take one completion: @tag of the request, and @result, which is -errno or what the call
 * returned. Return: false if no completion is there.
 */
bool rn_uring_next(struct rn_uring *u, uint64_t *tag, int *result);

#endif /* RN_URING_H */
