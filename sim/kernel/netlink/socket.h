/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* socket.h - sockets of RDMA netlink (NETLINK_RDMA) whose requests this library answers,
 * not the kernel.
 *
 * Such a socket is a real netlink socket, of the protocol by which programs may talk to
 * each other (NETLINK_USERSOCK). So bind(), getsockname(), poll(), MSG_PEEK, dup() and
 * fork() work without being hooked, and a socket is recognised by its properties. What
 * the program sends to the kernel is answered here: the answers are put into the socket's
 * own receive queue, by connecting it to itself and sending. A connected netlink socket
 * takes nothing from others, so other programs on the machine cannot forge an answer.
 *
 * Only sendto() and sendmsg() with an address are answered. Netlink libraries use these.
 * With other calls that send, a system call would be needed each time to tell whether
 * the socket is one of these. An answer comes from the socket's own address and not from
 * 0.
 *
 * Threads: any; no state but the socket.
 */
#ifndef RNK_NETLINK_SOCKET_H
#define RNK_NETLINK_SOCKET_H

#include <linux/netlink.h>
#include <sys/socket.h>

#include "rocin/types.h"

enum {
	/* maximum length in bytes of a request that is answered; the kernel's limit is
	 * the size of the send buffer
	 */
	RNK_NL_REQUEST_MAX = 1 << 16,
};

/**
 * rnk_nl_open() - Open a socket of RDMA netlink
 * @type:	As socket() takes it
 * @tree:	The tree of simulated files
 *
 * Fails if the tree also shows RDMA devices of the machine: the lists that programs get
 * by netlink would not contain these.
 *
 * Return: the descriptor, or -1 with errno: EPROTONOSUPPORT (as a kernel without RDMA),
 * or another error of socket().
 */
int rnk_nl_open(int type, const char *tree);

/* Returns true if a message to this address may be a request to the kernel (the caller
 * then asks rnk_nl_is_ours()). Makes no system call.
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
 * When it returns, the answers can be received. Answers that do not fit into the socket's
 * receive buffer are sent later by a thread, while the program receives; the thread ends
 * when all are sent, or when the program has received nothing for ten seconds. Not a
 * cancellation point.
 *
 * Return: bytes of the request, or -1 with errno (EMSGSIZE, ENOMEM, or an error of
 * bind()).
 */
ssize_t rnk_nl_request(int fd, const struct msghdr *msg, const char *tree);

#endif /* RNK_NETLINK_SOCKET_H */
