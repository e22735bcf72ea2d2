/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ctl_socket.h - for client and rocind: the address of the control socket, sending of
 * messages and receiving of messages.
 */
#ifndef RN_CTL_SOCKET_H
#define RN_CTL_SOCKET_H

#include <sys/un.h>

#include "ctl.h"

enum {
	/* maximum number of descriptors that one message carries */
	RN_CTL_FD_MAX = RN_GID_MAX,
	/* Number of descriptors that a sender can pass at most (SCM_MAX_FD in the
	 * kernel). A receiver has room for all of them, because the kernel closes those
	 * for which there is no room, and closing a socket may block (SO_LINGER).
	 */
	RN_CTL_FD_PASSED_MAX = 253,
};

/**
 * rn_ctl_address() - Make the address of a socket in a directory, however long its path
 * @addr:	Out
 * @dir:	Absolute path
 * @name:	File name, at most 64 bytes
 * @dir_fd:	Out: -1, or a descriptor to close after bind() or connect(): a path beyond
 *		the 108 bytes of a socket address goes by way of /proc/self/fd
 *
 * Return: 0, -ENAMETOOLONG (long path and no /proc), or why @dir cannot be opened.
 */
int rn_ctl_address(struct sockaddr_un *addr, const char *dir, const char *name,
		   int *dir_fd);

/* Return: true if @fd is an AF_UNIX socket of type SOCK_SEQPACKET that listens (@listens
 * true) or does not listen (@listens false).
 */
bool rn_ctl_is_seqpacket(int fd, bool listens);

/**
 * rn_ctl_send() - Send one message
 * @sock:	Connected socket
 * @msg:	Message with a complete header
 * @fds:	Descriptors to pass; the caller keeps its own. NULL if @fd_count is 0
 *
 * Return: 0, -EAGAIN (the other end does not read), -EPIPE or -ECONNRESET (it is gone),
 *	   or another system error.
 */
int rn_ctl_send(int sock, const void *msg, const int *fds, unsigned fd_count);

/* One received message, and the descriptors that came with it, which the owner of the
 * struct owns.
 */
struct rn_ctl_packet {
	union rn_ctl_msg msg;
	unsigned fd_count;
	int fd[RN_CTL_FD_MAX];
};

/**
 * rn_ctl_receive() - Take one message from the socket
 * @pkt:	Out: on success a message whose magic and length agree with what arrived.
 *		Its version and type are not checked; rn_ctl_check() does that
 *
 * Return: 0, -EAGAIN (nothing there), -ECONNRESET (end of file), -EBADMSG (not a message
 *	   of this protocol; it is consumed), -EMFILE (a message was received, but its
 *	   descriptors were closed, because this process may have no more), or another
 *	   system error. On any failure no descriptor is left open.
 */
int rn_ctl_receive(int sock, struct rn_ctl_packet *pkt);

/* Like rn_ctl_receive(), but leaves the message in the socket. @pkt gets duplicates of
 * the message's descriptors, and owns them.
 */
int rn_ctl_peek(int sock, struct rn_ctl_packet *pkt);

/* Remove from the socket the message that rn_ctl_peek() has returned. */
void rn_ctl_skip(int sock);

/* Check that a received message is of the version of this program, of a known type and
 * of that type's length. Return: 0, -EPROTONOSUPPORT (another version), -EBADMSG.
 */
int rn_ctl_check(const struct rn_ctl_packet *pkt);

/* Close a descriptor that came from another process without blocking, even if it is a
 * socket with SO_LINGER set.
 */
void rn_ctl_shed_fd(int fd);

/* Close the descriptors that came with the message, by rn_ctl_shed_fd(). */
void rn_ctl_close_fds(struct rn_ctl_packet *pkt);

#endif /* RN_CTL_SOCKET_H */
