/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hand_over.h - sends descriptors over a socket, as a client of rocind does. */
#ifndef RN_TEST_HAND_OVER_H
#define RN_TEST_HAND_OVER_H

#include <string.h>
#include <sys/socket.h>

enum {
	HAND_OVER_MAX = 8
};

/* Sends one byte, with copies of @count descriptors. @flags: flags of sendmsg(). Returns
 * what sendmsg() returns.
 */
static inline ssize_t hand_over_all(int channel, const int *fds, unsigned count,
				    int flags)
{
	union {
		char buf[CMSG_SPACE(HAND_OVER_MAX * sizeof(int))];
		struct cmsghdr hdr;
	} control = { .buf = { 0 } };
	char byte = 0;
	struct iovec iov = { &byte, sizeof(byte) };
	const struct msghdr msg = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

	control.hdr = (struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)),
					.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.hdr), fds, count * sizeof(int));
	return sendmsg(channel, &msg, flags | MSG_NOSIGNAL);
}

/* The same with one descriptor. */
static inline ssize_t hand_over(int channel, int fd, int flags)
{
	return hand_over_all(channel, &fd, 1, flags);
}

#endif /* RN_TEST_HAND_OVER_H */
