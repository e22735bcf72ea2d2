/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* socket.h - sockets of RDMA netlink (NETLINK_RDMA) whose requests this library answers,
 * not the kernel.
 *
 * Such a socket is a real netlink socket, of the protocol that is left to programs
 * (NETLINK_USERSOCK). So bind(), getsockname(), poll(), MSG_PEEK, dup() and fork() work
 * without hooks, and a socket is recognised by its protocol and its peer. This library
 * connects the socket to itself. When the program sends a request to the kernel, the
 * library sends the answers by the same socket, so they get into its own receive queue. A
 * connected netlink socket accepts messages only from its peer, so other programs on the
 * machine cannot forge an answer.
 *
 * Only requests by sendto() and sendmsg() with an address are answered; netlink libraries
 * use these. For other calls that send, each call on any descriptor would cost a system
 * call, to find out whether the descriptor is such a socket. The sender of an answer is
 * the socket's own address, not 0 as with the kernel.
 *
 * Threads: any; no state but the socket.
 */
#ifndef RNK_NETLINK_SOCKET_H
#define RNK_NETLINK_SOCKET_H

#include <linux/netlink.h>
#include <sys/socket.h>

#include "rocin/types.h"

enum {
	/* maximum length in bytes of a request that is answered; in the kernel the size
	 * of the send buffer is the limit
	 */
	RNK_NL_REQUEST_MAX = 1 << 16,
};

/**
 * rnk_nl_open() - Open a socket of RDMA netlink
 * @type:	As socket() takes it
 * @tree:	The tree of simulated files
 *
 * Fails if the tree also shows real RDMA devices of the machine, because the answers of
 * this library would not contain these.
 *
 * Return: the descriptor, or -1 with errno: EPROTONOSUPPORT (as a kernel without RDMA),
 * or another error of socket().
 */
int rnk_nl_open(int type, const char *tree);

/* Returns true if a message to this address may be a request to the kernel. The caller
 * must then also call rnk_nl_is_ours() for the socket. Makes no system call.
 */
static inline bool rnk_nl_is_to_kernel(const void *addr, socklen_t len)
{
	const struct sockaddr_nl *a = addr;

	return a && len >= sizeof(*a) && a->nl_family == AF_NETLINK && !a->nl_pid &&
	       !a->nl_groups;
}

/* Returns true if this descriptor is a socket of RDMA netlink that rnk_nl_open() has
 * opened. Keeps errno.
 */
bool rnk_nl_is_ours(int fd);

/**
 * rnk_nl_request() - Answer what the program sends
 *
 * When this function returns, the program can receive the answers. Answers that do not
 * fit into the socket's receive buffer are sent later by a thread, while the program
 * receives; the thread ends when all are sent, or when the program has received nothing
 * for ten seconds. Not a cancellation point.
 *
 * Return: bytes of the request, or -1 with errno (EMSGSIZE, ENOMEM, or an error of
 * bind()).
 */
ssize_t rnk_nl_request(int fd, const struct msghdr *msg, const char *tree);

#endif /* RNK_NETLINK_SOCKET_H */
