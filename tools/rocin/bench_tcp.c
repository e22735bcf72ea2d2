/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_tcp.c - what a program gets from TCP: blocking writes and reads. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_socket.h"

enum {
	PING_LEN = 64
};

/* First byte of each message. */
enum {
	MORE = 0x11,
	LAST = 0x22
};

struct tcp {
	int fd;
	uint8_t buf[RN_BENCH_BIG];
};

int rn_bench_socket(struct rn_bench_end *end, int type, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, sizeof(*addr)) ||
	    getsockname(fd, (struct sockaddr *)addr, &len)) {
		rn_bench_fail(end, "no socket on 127.0.0.1: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int connect_tcp(struct rn_bench_end *end, struct tcp *t)
{
	struct sockaddr_in mine, theirs;
	int fd = rn_bench_socket(end, SOCK_STREAM, &mine), one = 1;

	if (fd < 0)
		return -1;
	t->fd = fd;
	if (end->role == RN_BENCH_RECEIVER && listen(fd, 1))
		return rn_bench_fail(end, "cannot listen: %s", strerror(errno));
	if (rn_bench_exchange(end, &mine, &theirs, sizeof(mine)))
		return -1;
	if (end->role == RN_BENCH_RECEIVER) {
		t->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		close(fd);
	} else if (connect(fd, (struct sockaddr *)&theirs, sizeof(theirs))) {
		return rn_bench_fail(end, "cannot connect: %s", strerror(errno));
	}
	if (t->fd < 0 || setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		return rn_bench_fail(end, "no TCP connection: %s", strerror(errno));
	return 0;
}

static int open_tcp(struct rn_bench_end *end, enum rn_bench_item item, void **state)
{
	struct tcp *t = malloc(sizeof(*t));

	(void)item;
	if (!t)
		return rn_bench_fail(end, "no memory");
	*state = t;
	t->fd = -1;
	memset(t->buf, 0x5a, sizeof(t->buf));
	return connect_tcp(end, t);
}

static void close_tcp(void *state)
{
	struct tcp *t = state;

	if (t && t->fd >= 0)
		close(t->fd);
	free(t);
}

static int write_all(struct rn_bench_end *end, const struct tcp *t, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = send(t->fd, t->buf + done, len - done, MSG_NOSIGNAL);

		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR)
			return rn_bench_fail(end, "TCP send: %s", strerror(errno));
	}
	return 0;
}

/* Read a message of @len; what has come counts at once if @count. */
static int read_all(struct rn_bench_end *end, struct tcp *t, size_t len, bool count)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = recv(t->fd, t->buf + done, len - done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return rn_bench_fail(end, "TCP receive: %s",
					     n ? strerror(errno) : "end of file");
		done += (size_t)n;
		if (count)
			atomic_fetch_add_explicit(&end->shared->received, (uint64_t)n,
						  memory_order_relaxed);
	}
	if ((t->buf[0] != MORE && t->buf[0] != LAST) || t->buf[len - 1] != 0x5a)
		return rn_bench_fail(end, "TCP delivered other bytes");
	return 0;
}

static int run_bw(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	struct tcp *t = state;

	if (end->role == RN_BENCH_RECEIVER) {
		do {
			if (read_all(end, t, sizeof(t->buf), true))
				return -1;
		} while (t->buf[0] != LAST);
		return 0;
	}
	t->buf[0] = MORE;
	rn_bench_meter_start(&m, end);
	while (rn_bench_meter_runs(&m, atomic_load(&end->shared->received)))
		if (write_all(end, t, sizeof(t->buf)))
			return -1;
	*result = rn_bench_meter_per_ns(&m);
	t->buf[0] = LAST;
	return write_all(end, t, sizeof(t->buf));
}

static int run_lat(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	struct tcp *t = state;
	uint64_t done = 0;

	if (end->role == RN_BENCH_RECEIVER) {
		t->buf[PING_LEN - 1] = 0x5a;
		do {
			if (read_all(end, t, PING_LEN, false) ||
			    write_all(end, t, PING_LEN))
				return -1;
		} while (t->buf[0] != LAST);
		return 0;
	}
	rn_bench_meter_start(&m, end);
	do {
		bool more = rn_bench_meter_runs(&m, done);

		t->buf[0] = more ? MORE : LAST;
		if (write_all(end, t, PING_LEN) || read_all(end, t, PING_LEN, false))
			return -1;
		done++;
	} while (t->buf[0] != LAST);
	*result = rn_bench_meter_us_each(&m);
	return 0;
}

static int open_memcpy(struct rn_bench_end *end, enum rn_bench_item item, void **state)
{
	(void)item;
	/* 1 KiB more: equal offsets within a page make copies slow on some processors. */
	*state = malloc((size_t)2 * RN_BENCH_BIG + 1024);
	if (!*state)
		return rn_bench_fail(end, "no memory");
	memset(*state, 0x5a, (size_t)2 * RN_BENCH_BIG + 1024);
	return 0;
}

static int run_memcpy(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	uint64_t done = 0;

	if (end->role == RN_BENCH_RECEIVER)
		return 0;
	rn_bench_meter_start(&m, end);
	for (; rn_bench_meter_runs(&m, done); done += RN_BENCH_BIG) {
		memcpy((uint8_t *)state + RN_BENCH_BIG + 1024, state, RN_BENCH_BIG);
		__asm__ volatile("" ::: "memory"); /* the copy is wanted */
	}
	*result = rn_bench_meter_per_ns(&m);
	return 0;
}

const struct rn_bench_ops rn_bench_tcp_bw_ops = {
	.open = open_tcp,
	.run = run_bw,
	.close = close_tcp,
};
const struct rn_bench_ops rn_bench_tcp_lat_ops = {
	.open = open_tcp,
	.run = run_lat,
	.close = close_tcp,
};
const struct rn_bench_ops rn_bench_memcpy_ops = {
	.open = open_memcpy,
	.run = run_memcpy,
	.close = free,
};
