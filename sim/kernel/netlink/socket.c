/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* socket.c - answers requests of RDMA netlink in the program's own socket; see socket.h.
 */
#include "socket.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "message.h"
#include "view.h"

/* Returns true if the directory entry @name is a device of Rocin, or is "." or "..". */
static bool is_ours(const char *name)
{
	static const char prefix[] = "rocin";

	return name[0] == '.' || (strncmp(name, prefix, sizeof(prefix) - 1) == 0 &&
				  isdigit((unsigned char)name[sizeof(prefix) - 1]));
}

/* Returns true if the tree shows real devices of the machine in addition to those of
 * Rocin.
 */
static bool has_real_devices(const char *tree)
{
	const struct dirent *e;
	bool found = false;
	char path[PATH_MAX];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s/sys/class/infiniband", tree);
	dir = opendir(path);
	if (!dir)
		return false;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): only this thread reads the directory */
	while (!found && (e = readdir(dir)))
		found = !is_ours(e->d_name);
	closedir(dir);
	return found;
}

int rnk_nl_open(int type, const char *tree)
{
	int fd = -1;

	errno = 0;
	if (!has_real_devices(tree))
		fd = socket(AF_NETLINK, type, NETLINK_USERSOCK);
	if (fd < 0 && errno != EMFILE && errno != ENFILE && errno != ENOMEM)
		errno = EPROTONOSUPPORT;
	return fd;
}

static bool has_option(int fd, int level, int name, int wanted)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(fd, level, name, &value, &len) == 0 && value == wanted;
}

bool rnk_nl_is_ours(int fd)
{
	int saved_errno = errno;
	bool is = has_option(fd, SOL_SOCKET, SO_PROTOCOL, NETLINK_USERSOCK) &&
		  has_option(fd, SOL_SOCKET, SO_DOMAIN, AF_NETLINK);

	errno = saved_errno;
	return is;
}

/* ---- The socket, which is connected to itself ---- */

typedef int name_fn(int fd, struct sockaddr *addr, socklen_t *len);

/* Returns the port number of a socket (its netlink address), or 0 if it has none. @get:
 * getsockname() for its own port, getpeername() for that of the socket to which it is
 * connected.
 */
static uint32_t port_of(int fd, name_fn *get)
{
	struct sockaddr_nl addr = { 0 };
	socklen_t len = sizeof(addr);

	return get(fd, (struct sockaddr *)&addr, &len) == 0 ? addr.nl_pid : 0;
}

/* Discards what other processes have sent to the socket before it was connected. */
static void discard_all(int fd)
{
	char byte;

	while (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0)
		;
}

/* Connects the socket to itself. Binds it first if the program has not. Returns its
 * port, or 0 with errno.
 */
static uint32_t become_own_peer(int fd)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };

	addr.nl_pid = port_of(fd, getsockname);
	if (!addr.nl_pid) {
		if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
			return 0;
		addr.nl_pid = port_of(fd, getsockname);
	}
	if (port_of(fd, getpeername) == addr.nl_pid)
		return addr.nl_pid;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return 0;
	discard_all(fd);
	return addr.nl_pid;
}

/* ---- Sending answers ---- */

/* Datagrams of answers that did not fit into the receive queue of the socket and are sent
 * later.
 */
struct backlog {
	uint8_t *data; /* for each datagram its length (uint32_t) and its bytes */
	size_t len, room;
	int fd;
};

static bool is_buffer_full(void)
{
	return errno == EAGAIN || errno == ENOBUFS;
}

static int append(struct backlog *b, const void *data, size_t len)
{
	uint32_t prefix = (uint32_t)len;
	size_t need = b->len + sizeof(prefix) + len;

	if (need > b->room) {
		size_t room = need * 2;
		uint8_t *grown = realloc(b->data, room);

		if (!grown)
			return -ENOMEM;
		b->data = grown;
		b->room = room;
	}
	memcpy(b->data + b->len, &prefix, sizeof(prefix));
	memcpy(b->data + b->len + sizeof(prefix), data, len);
	b->len = need;
	return 0;
}

/* Sends a datagram of an answer into the socket's own receive queue. If the queue is
 * full, or if earlier datagrams are in the backlog, appends the datagram to the backlog.
 */
static int send_answer(void *ctx, const void *data, size_t len)
{
	struct backlog *b = ctx;

	if (b->len || (send(b->fd, data, len, MSG_DONTWAIT) < 0 && is_buffer_full()))
		return append(b, data, len);
	return 0;
}

/* Sends one datagram as soon as the receive queue of the socket has room for it. Returns
 * false if the queue stays full for ten seconds, or if the program has closed the
 * socket.
 */
static bool send_patiently(int fd, const void *data, size_t len)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (unsigned tries = 0; tries < 10000; tries++) {
		if (send(fd, data, len, MSG_DONTWAIT) >= 0)
			return true;
		if (!is_buffer_full())
			return false;
		nanosleep(&ms, NULL);
	}
	return false;
}

static void *send_backlog(void *arg)
{
	struct backlog *b = arg;

	for (size_t at = 0; at < b->len;) {
		uint32_t len;

		memcpy(&len, b->data + at, sizeof(len));
		if (!send_patiently(b->fd, b->data + at + sizeof(len), len))
			break;
		at += sizeof(len) + len;
	}
	close(b->fd);
	free(b->data);
	free(b);
	return NULL;
}

static int start_thread(struct backlog *b)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	/* All signals are blocked in the new thread, so that it never runs handlers of
	 * the program.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, send_backlog, b);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

/* Starts a thread that sends the datagrams of the backlog. The thread gets a copy of the
 * backlog, and a duplicate of the socket's descriptor.
 */
static int hand_over(const struct backlog *waiting)
{
	struct backlog *b = malloc(sizeof(*b));
	int rc = -ENOMEM;

	if (!b)
		return rc;
	*b = *waiting;
	b->fd = fcntl(waiting->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	rc = b->fd < 0 ? -errno : start_thread(b);
	if (rc && b->fd >= 0)
		close(b->fd);
	if (rc)
		free(b);
	return rc; /* NOLINT(clang-analyzer-unix.Malloc): the thread frees it */
}

/* ---- Requests ---- */

static int answer(int fd, uint32_t port_id, const char *tree, const void *data,
		  size_t len)
{
	const struct rnk_nl_asker asker = {
		.port_id = port_id,
		.wants_capped = has_option(fd, SOL_NETLINK, NETLINK_CAP_ACK, 1),
		.wants_reasons = has_option(fd, SOL_NETLINK, NETLINK_EXT_ACK, 1),
	};
	struct backlog backlog = { .fd = fd };
	struct rnk_nl_gathered *g = malloc(sizeof(*g));
	int rc;

	if (!g)
		return -ENOMEM;
	rnk_nl_gather(g, tree, rnk_nldev_needs(data, len));
	rc = rnk_nldev_answer(&g->view, &asker, data, len, send_answer, &backlog);
	rnk_nl_release(g);
	free(g);
	if (backlog.len)
		rc = hand_over(&backlog);
	if (rc)
		free(backlog.data);
	return rc;
}

/* Copies the request, whose bytes may be in several pieces, into one buffer. Return: its
 * length, or -1 with errno.
 */
static ssize_t copy_request(const struct msghdr *msg, uint8_t **copy)
{
	size_t len = 0, at = 0;

	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		if (msg->msg_iov[i].iov_len > RNK_NL_REQUEST_MAX - len) {
			errno = EMSGSIZE;
			return -1;
		}
		len += msg->msg_iov[i].iov_len;
	}
	*copy = malloc(len + 1);
	if (!*copy)
		return -1;
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		if (!msg->msg_iov[i].iov_len)
			continue;
		memcpy(*copy + at, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
		at += msg->msg_iov[i].iov_len;
	}
	return (ssize_t)len;
}

static ssize_t request(int fd, const struct msghdr *msg, const char *tree)
{
	uint32_t port_id = become_own_peer(fd);
	uint8_t *data = NULL;
	ssize_t len;
	int rc;

	if (!port_id)
		return -1;
	len = copy_request(msg, &data);
	if (len < 0)
		return -1;
	rc = answer(fd, port_id, tree, data, (size_t)len);
	free(data);
	if (!rc)
		return len;
	errno = -rc;
	return -1;
}

ssize_t rnk_nl_request(int fd, const struct msghdr *msg, const char *tree)
{
	int before;
	ssize_t rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	rc = request(fd, msg, tree);
	pthread_setcancelstate(before, NULL);
	return rc;
}
