/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_uring.h - datagrams by io_uring, for net_udp.h.
 *
 * Whatever thread polls does so by a system call that has ended all its requests when it
 * returns; none stays under way. (One that did, such as a receive that goes on and on,
 * would belong to the thread that made it: uring.h.) What is won is that one call takes
 * several datagrams of a socket that has many.
 *
 * Threads: as net.h.
 */
#ifndef RN_NET_URING_H
#define RN_NET_URING_H

#include <sys/socket.h>

#include "rocin/types.h"

struct rn_net_uring;

/* One that was received; valid until a call that finds none kept. */
struct rn_net_datagram {
	struct msghdr *msg; /* its source and control messages */
	const uint8_t *data;
	uint32_t len;
};

/* Return: what the calls below need, or NULL with errno and a sentence as
 * rn_uring_open().
 */
struct rn_net_uring *rn_net_uring_new(char *err, size_t err_len);

/* NULL is ignored. */
void rn_net_uring_free(struct rn_net_uring *n);

/* A datagram that was received along with an earlier one, of the same socket. Return:
 * there is one.
 */
bool rn_net_uring_next(struct rn_net_uring *n, struct rn_net_datagram *d);

/* True if rn_net_uring_next() has one: no socket shows it. */
bool rn_net_uring_holds(const struct rn_net_uring *n);

/* What is kept is lost. */
void rn_net_uring_forget(struct rn_net_uring *n);

/* Ask a socket; nothing is kept. An error of the socket is one of what it has sent, and
 * means no datagram. @found: out, rn_net_uring_next() has it.
 *
 * Return: 0, or -errno: io_uring is of no more use.
 */
int rn_net_uring_receive(struct rn_net_uring *n, int fd, bool *found);

/* sendmsg(). @result: out, 0 or its -errno. Return: as above; then nothing was sent. */
int rn_net_uring_send(struct rn_net_uring *n, int fd, const struct msghdr *msg,
		      int *result);

#endif /* RN_NET_URING_H */
