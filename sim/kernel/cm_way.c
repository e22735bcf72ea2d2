/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_way.c - see cm_way.h. */
#include "cm_way.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/io/host/ctl_socket.h"

enum {
	WAYS = 4, /* channels that a thread uses in turn at no cost */
};

struct rnk_cm_way {
	uint64_t number; /* of its channel; 0: none */
	int fd;
	uint32_t seq;
	pid_t pid;
	ino_t inode; /* of the socket, to know it by */
};

static __thread struct {
	struct rnk_cm_way way[WAYS];
	unsigned next;
} mine;

static pthread_key_t at_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Return: false if it is no socket. */
static bool read_inode(int fd, ino_t *inode)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	*inode = st.st_ino;
	return true;
}

/* The descriptor is none, or another by now? No name: the kernel gives out a million of
 * them in a network namespace, which one user can take.
 */
static bool is_there(const struct rnk_cm_way *w)
{
	ino_t inode;

	return w->number && w->pid == getpid() && read_inode(w->fd, &inode) &&
	       inode == w->inode;
}

void rnk_cm_way_close(struct rnk_cm_way *way)
{
	if (is_there(way))
		close(way->fd);
	way->number = 0;
}

static void close_all(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < WAYS; i++)
		rnk_cm_way_close(&mine.way[i]);
}

static void make_key(void)
{
	if (pthread_key_create(&at_end, close_all))
		at_end = (pthread_key_t)-1;
}

/* The program has closed the channel, or rocind has gone. */
static bool is_dead(const struct rnk_cm_way *w)
{
	struct pollfd p = { .fd = w->fd };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

static struct rnk_cm_way *free_place(void)
{
	struct rnk_cm_way *w;

	for (unsigned i = 0; i < WAYS; i++)
		if (!is_there(&mine.way[i]) || is_dead(&mine.way[i]))
			rnk_cm_way_close(&mine.way[i]);
	for (unsigned i = 0; i < WAYS; i++)
		if (!mine.way[i].number)
			return &mine.way[i];
	w = &mine.way[mine.next++ % WAYS];
	rnk_cm_way_close(w);
	return w;
}

static int hand_over(int channel_fd, int end)
{
	union {
		char buf[CMSG_SPACE(sizeof(end))];
		struct cmsghdr hdr;
	} control = { .hdr = { .cmsg_len = CMSG_LEN(sizeof(end)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };
	char byte = 0;
	struct iovec iov = { &byte, sizeof(byte) };
	const struct msghdr msg = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = sizeof(control.buf) };

	memcpy(CMSG_DATA(&control.hdr), &end, sizeof(end));
	for (;;) {
		if (sendmsg(channel_fd, &msg, MSG_NOSIGNAL) >= 0)
			return 0;
		/* The program's O_NONBLOCK is about events: wait for room by hand. */
		if (errno == EAGAIN)
			poll(&(struct pollfd){ .fd = channel_fd, .events = POLLOUT }, 1,
			     -1);
		else if (errno == EPIPE || errno == ECONNRESET)
			return -ESHUTDOWN;
		else if (errno != EINTR)
			return -errno;
	}
}

static int open_way(int channel_fd, struct rnk_cm_way *w)
{
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	w->fd = rn_ctl_raise_fd(pair[0]);
	if (w->fd < 0) {
		close(pair[1]);
		return w->fd;
	}
	rc = read_inode(w->fd, &w->inode) ? hand_over(channel_fd, pair[1]) : -EIO;
	close(pair[1]);
	if (rc)
		close(w->fd);
	return rc;
}

int rnk_cm_way_get(int channel_fd, uint64_t number, struct rnk_cm_way **way)
{
	struct rnk_cm_way *w;
	int rc;

	for (unsigned i = 0; i < WAYS; i++) {
		w = &mine.way[i];
		if (w->number == number && is_there(w)) {
			*way = w;
			return 0;
		}
	}
	pthread_once(&once, make_key);
	/* Without it a thread that ends leaves its descriptors behind. */
	if (at_end == (pthread_key_t)-1 || pthread_setspecific(at_end, &mine))
		return -ENOMEM;
	w = free_place();
	rc = open_way(channel_fd, w);
	if (rc)
		return rc;
	w->number = number;
	w->pid = getpid();
	*way = w;
	return 0;
}

int rnk_cm_way_fd(const struct rnk_cm_way *way)
{
	return way->fd;
}

uint32_t rnk_cm_way_next_seq(struct rnk_cm_way *way)
{
	return ++way->seq;
}
