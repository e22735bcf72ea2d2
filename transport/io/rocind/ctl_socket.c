/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ctl_socket.c - see ctl_socket.h. */
#include "ctl_socket.h"
#include "transport/io/host/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int rn_ctl_address(struct sockaddr_un *addr, const char *dir, const char *name,
		   int *dir_fd)
{
	int len;

	*dir_fd = -1;
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/%s", dir, name);
	if (len < (int)sizeof(addr->sun_path))
		return 0;

	*dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*dir_fd < 0)
		return -errno;
	*dir_fd = rn_fd_raise(*dir_fd);
	if (*dir_fd < 0)
		return *dir_fd;
	snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d", *dir_fd);
	if (access(addr->sun_path, F_OK) < 0) {
		close(*dir_fd);
		*dir_fd = -1;
		return -ENAMETOOLONG;
	}
	len = snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d/%s",
		       *dir_fd, name);
	assert(len < (int)sizeof(addr->sun_path));
	return 0;
}

static bool has_option(int fd, int option, int wanted)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == wanted;
}

bool rn_ctl_is_seqpacket(int fd, bool listens)
{
	return has_option(fd, SO_DOMAIN, AF_UNIX) &&
	       has_option(fd, SO_TYPE, SOCK_SEQPACKET) &&
	       has_option(fd, SO_ACCEPTCONN, listens);
}

/* Buffer for the descriptors of one message, aligned for the CMSG macros. */
union fd_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(RN_CTL_FD_PASSED_MAX * sizeof(int))];
};

int rn_ctl_send(int sock, const void *msg, const int *fds, unsigned fd_count)
{
	const struct rn_ctl_hdr *hdr = msg;
	struct iovec iov = { .iov_base = (void *)msg, .iov_len = hdr->len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	union fd_control control = { 0 };

	assert(fd_count <= RN_CTL_FD_MAX);
	if (fd_count) {
		struct cmsghdr *c;

		mh.msg_control = control.bytes;
		mh.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
	}
	return sendmsg(sock, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void rn_ctl_shed_fd(int fd)
{
	const struct linger none = { .l_onoff = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

void rn_ctl_close_fds(struct rn_ctl_packet *pkt)
{
	for (unsigned i = 0; i < pkt->fd_count; i++)
		rn_ctl_shed_fd(pkt->fd[i]);
	pkt->fd_count = 0;
}

static int take_fd(struct rn_ctl_packet *pkt, int fd)
{
	if (pkt->fd_count == RN_CTL_FD_MAX) {
		rn_ctl_shed_fd(fd);
		return -EBADMSG;
	}
	fd = rn_fd_raise(fd);
	if (fd < 0)
		return fd;
	pkt->fd[pkt->fd_count++] = fd;
	return 0;
}

/* Move all descriptors that came with the message into @pkt, where the receiver closes
 * them. Return: 0; -EBADMSG if there are too many.
 */
static int take_fds(struct rn_ctl_packet *pkt, struct msghdr *mh)
{
	int rc = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd, err;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			err = take_fd(pkt, fd);
			rc = rc ? rc : err;
		}
	}
	return rc;
}

static int receive(int sock, struct rn_ctl_packet *pkt, int flags)
{
	struct iovec iov = { .iov_base = &pkt->msg, .iov_len = sizeof(pkt->msg) };
	union fd_control control;
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes) };
	ssize_t len = recvmsg(sock, &mh, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int rc;

	pkt->fd_count = 0;
	if (len < 0)
		return -errno;
	rc = take_fds(pkt, &mh);
	/* An empty packet cannot be distinguished from end of file, but no message
	 * is empty.
	 */
	if (rc == 0 && len == 0)
		rc = -ECONNRESET;
	if (rc == 0 && (mh.msg_flags & MSG_TRUNC))
		rc = -EBADMSG;
	if ((rc == 0 || rc == -EMFILE) &&
	    ((size_t)len < sizeof(pkt->msg.hdr) || pkt->msg.hdr.magic != RN_CTL_MAGIC ||
	     pkt->msg.hdr.len != (size_t)len))
		rc = -EBADMSG;
	/* The buffer had room for all descriptors. So some are missing because the
	 * descriptor table of this process is full.
	 */
	if (rc == 0 && (mh.msg_flags & MSG_CTRUNC))
		rc = -EMFILE;
	if (rc)
		rn_ctl_close_fds(pkt);
	return rc;
}

int rn_ctl_receive(int sock, struct rn_ctl_packet *pkt)
{
	return receive(sock, pkt, 0);
}

int rn_ctl_peek(int sock, struct rn_ctl_packet *pkt)
{
	return receive(sock, pkt, MSG_PEEK);
}

void rn_ctl_skip(int sock)
{
	char byte;
	struct iovec iov = { &byte, sizeof(byte) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	/* A sandbox that denies this system call has denied it to rn_ctl_peek(), too,
	 * and there is nothing to skip then.
	 */
	(void)recvmsg(sock, &mh, MSG_DONTWAIT | MSG_TRUNC);
}

int rn_ctl_check(const struct rn_ctl_packet *pkt)
{
	const struct rn_ctl_hdr *hdr = &pkt->msg.hdr;

	if (hdr->version != RN_CTL_VERSION)
		return -EPROTONOSUPPORT;
	return hdr->len == rn_ctl_len(hdr->type) ? 0 : -EBADMSG;
}
