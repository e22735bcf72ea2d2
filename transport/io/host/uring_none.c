/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uring_none.c - uring.h where Rocin is built without liburing: there is no queue. */
#include "uring.h"

#include <errno.h>

#include "sentence.h"

struct rn_uring *rn_uring_open(enum rn_uring_use use, unsigned entries, char *err,
			       size_t err_len)
{
	(void)use;
	(void)entries;
	errno = -rn_fail(err, err_len, -EOPNOTSUPP, "Rocin was built without liburing");
	return NULL;
}

void rn_uring_close(struct rn_uring *u)
{
	assert(!u);
}

int rn_uring_begin(struct rn_uring *u)
{
	(void)u;
	return -EOPNOTSUPP;
}

bool rn_uring_poll(struct rn_uring *u, int fd, uint64_t tag)
{
	(void)u;
	(void)fd;
	(void)tag;
	return false;
}

bool rn_uring_unpoll(struct rn_uring *u, uint64_t which, uint64_t tag)
{
	(void)u;
	(void)which;
	(void)tag;
	return false;
}

bool rn_uring_recv(struct rn_uring *u, int fd, struct msghdr *msg, uint64_t tag)
{
	(void)u;
	(void)fd;
	(void)msg;
	(void)tag;
	return false;
}

bool rn_uring_send(struct rn_uring *u, int fd, const struct msghdr *msg, uint64_t tag)
{
	(void)u;
	(void)fd;
	(void)msg;
	(void)tag;
	return false;
}

int rn_uring_submit(struct rn_uring *u, unsigned ends)
{
	(void)u;
	(void)ends;
	return -EOPNOTSUPP;
}

bool rn_uring_next(struct rn_uring *u, uint64_t *tag, int *result)
{
	(void)u;
	(void)tag;
	(void)result;
	return false;
}
