/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hand_over.h - a descriptor that a client of rocind passes over a channel. */
#ifndef RN_TEST_HAND_OVER_H
#define RN_TEST_HAND_OVER_H

#include <string.h>
#include <sys/socket.h>

/* One byte with a copy of @fd. @flags: of sendmsg(). Return: as sendmsg(). */
static inline ssize_t hand_over(int channel, int fd, int flags)
{
	union {
		char buf[CMSG_SPACE(sizeof(fd))];
		struct cmsghdr hdr;
	} control = { .hdr = { .cmsg_len = CMSG_LEN(sizeof(fd)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };
	char byte = 0;
	struct iovec iov = { &byte, sizeof(byte) };
	const struct msghdr msg = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = sizeof(control.buf) };

	memcpy(CMSG_DATA(&control.hdr), &fd, sizeof(fd));
	return sendmsg(channel, &msg, flags | MSG_NOSIGNAL);
}

#endif /* RN_TEST_HAND_OVER_H */
