/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* odd_descriptors.c - see odd_descriptors.h. */
#include "odd_descriptors.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	KEPT = 64, /* the newest ones */
};

static int kept[KEPT];
static unsigned kept_count;

static void keep(int fd)
{
	int *place = &kept[kept_count % KEPT];

	if (kept_count >= KEPT && *place >= 0)
		close(*place);
	*place = fd;
	kept_count++;
}

/* Keep a copy, so that what it refers to lives on when the other side has closed it. */
static int keep_copy(int fd)
{
	if (fd >= 0)
		keep(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	return fd;
}

static int open_pair(int type)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	keep(pair[1]);
	return pair[0];
}

static int open_shut(void)
{
	int fd = open_pair(SOCK_DGRAM);

	if (fd >= 0)
		shutdown(fd, SHUT_RDWR);
	return fd;
}

static int open_listener(void)
{
	const struct sockaddr_un any = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		(void)!bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family));
		(void)!listen(fd, 1);
	}
	return keep_copy(fd);
}

static int open_pipe(int full)
{
	static const char block[4096];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	while (full && write(ends[1], block, sizeof(block)) > 0)
		;
	keep(ends[!full]);
	return ends[full];
}

static int open_epoll(int of)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd >= 0 && of >= 0)
		(void)!epoll_ctl(fd, EPOLL_CTL_ADD, of, &event);
	return keep_copy(fd);
}

static int open_timer(void)
{
	const struct itimerspec often = { { 0, 1000000 }, { 0, 1 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd >= 0)
		timerfd_settime(fd, 0, &often, NULL);
	return fd;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int open_memory(off_t len, const char *text, int seals)
{
	int fd = memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, len) < 0)
		return fd;
	if (text)
		(void)!pwrite(fd, text, strlen(text), 0);
	if (seals)
		(void)!fcntl(fd, F_ADD_SEALS, seals);
	return keep_copy(fd);
}

int odd_open(enum odd kind, int control)
{
	const int all_seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	switch (kind) {
	case ODD_SEQPACKET:
		return open_pair(SOCK_SEQPACKET);
	case ODD_SHUT_DATAGRAM:
		return open_shut();
	case ODD_STREAM:
		return open_pair(SOCK_STREAM);
	case ODD_LISTENER:
		return open_listener();
	case ODD_UNIX_DATAGRAM:
		return open_pair(SOCK_DGRAM);
	case ODD_UDP:
		return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	case ODD_NETLINK:
		return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	case ODD_FIFO:
		return open_pipe(0);
	case ODD_FULL_PIPE:
		return open_pipe(1);
	case ODD_EPOLL:
		return open_epoll(-1);
	case ODD_EPOLL_OF_ITSELF:
		return open_epoll(control);
	case ODD_EVENT:
		return keep_copy(eventfd(1, EFD_CLOEXEC));
	case ODD_TIMER:
		return open_timer();
	case ODD_SIGNAL:
		return open_signals();
	case ODD_INOTIFY:
		return inotify_init1(IN_CLOEXEC);
	case ODD_PIDFD:
		return (int)syscall(SYS_pidfd_open, getpid(), 0);
	case ODD_NULL:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case ODD_DIRECTORY:
		return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	case ODD_PATH:
		return open("/proc/self/maps", O_PATH | O_CLOEXEC);
	case ODD_FILE:
		return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	case ODD_EMPTY_MEMORY:
		return open_memory(0, NULL, 0);
	case ODD_MEMORY:
		return open_memory(65536, NULL, 0);
	case ODD_LARGE_MEMORY:
		return open_memory((off_t)1 << 40, NULL, 0);
	case ODD_SEALED_MEMORY:
		return open_memory(65536, NULL, F_SEAL_SHRINK | F_SEAL_GROW);
	case ODD_SEALED_RULES:
		return open_memory(22, "drop mad=REQ chance=1%", all_seals);
	case ODD_HUGE_SEALED:
		return open_memory((off_t)1 << 30, NULL, all_seals);
	case ODD_CONTROL:
		return fcntl(control, F_DUPFD_CLOEXEC, 0);
	case ODD_COUNT:
		break;
	}
	return -1;
}

void odd_change(unsigned which)
{
	unsigned have = kept_count < KEPT ? kept_count : KEPT;
	int *fd;

	if (!have)
		return;
	fd = &kept[which % have];
	if (*fd < 0)
		return;
	switch (which / have % 4) {
	case 0:
		(void)!ftruncate(*fd, 0);
		break;
	case 1:
		(void)!write(*fd, "odd thing", 9);
		break;
	case 2:
		(void)!shutdown(*fd, SHUT_RDWR);
		break;
	default:
		close(*fd);
		*fd = -1;
		break;
	}
}

void odd_forget(void)
{
	for (unsigned i = 0; i < kept_count && i < KEPT; i++)
		if (kept[i] >= 0)
			close(kept[i]);
	kept_count = 0;
}
