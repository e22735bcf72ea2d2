/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_tcp.c - what a program gets from TCP, and from no network at all.
 *
 * Messages of one size; both ends block in the kernel, or both ask again and again and
 * yield the processor in between.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_socket.h"

/* First byte of each message; the last one is PAD. */
enum {
	MORE = 0x11,
	LAST = 0x22,
	PAD = 0x5a
};

struct tcp {
	int fd;
	int flags; /* of calls: MSG_DONTWAIT where both ends poll */
	size_t len;
	uint8_t buf[];
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

static int open_tcp(struct rn_bench_end *end, void **state)
{
	size_t len = end->cell->len;
	struct tcp *t = malloc(sizeof(*t) + len);

	if (!t)
		return rn_bench_fail(end, "no memory");
	*state = t;
	*t = (struct tcp){ .fd = -1, .len = len };
	if (end->cell->item == RN_BENCH_TCP_POLL_BW ||
	    end->cell->item == RN_BENCH_TCP_POLL_LAT)
		t->flags = MSG_DONTWAIT;
	memset(t->buf, PAD, len);
	return connect_tcp(end, t);
}

static void close_tcp(void *state)
{
	struct tcp *t = state;

	if (t->fd >= 0)
		close(t->fd);
	free(t);
}

/* Of a failed call: may it simply be tried again? Yields where that takes its time. */
static bool again(const struct rn_bench_end *end)
{
	if (errno == EAGAIN && !atomic_load(&end->shared->failed)) {
		sched_yield();
		return true;
	}
	return errno == EINTR;
}

static int write_message(struct rn_bench_end *end, const struct tcp *t)
{
	for (size_t done = 0; done < t->len;) {
		ssize_t n = send(t->fd, t->buf + done, t->len - done,
				 t->flags | MSG_NOSIGNAL);

		if (n > 0)
			done += (size_t)n;
		else if (!again(end))
			return rn_bench_fail(end, "TCP send: %s", strerror(errno));
	}
	return 0;
}

/* What has come counts at once if @count. */
static int read_message(struct rn_bench_end *end, struct tcp *t, bool count)
{
	for (size_t done = 0; done < t->len;) {
		ssize_t n = recv(t->fd, t->buf + done, t->len - done, t->flags);

		if (n < 0 && again(end))
			continue;
		if (n <= 0)
			return rn_bench_fail(end, "TCP receive: %s",
					     n ? strerror(errno) : "end of file");
		done += (size_t)n;
		if (count)
			atomic_fetch_add_explicit(&end->shared->received, (uint64_t)n,
						  memory_order_relaxed);
	}
	if ((t->buf[0] != MORE && t->buf[0] != LAST) || t->buf[t->len - 1] != PAD)
		return rn_bench_fail(end, "TCP delivered other bytes");
	return 0;
}

static int run_bw(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	struct tcp *t = state;

	if (end->role == RN_BENCH_RECEIVER) {
		do {
			if (read_message(end, t, true))
				return -1;
		} while (t->buf[0] != LAST);
		return 0;
	}
	t->buf[0] = MORE;
	rn_bench_meter_start(&m, end);
	while (rn_bench_meter_runs(&m, atomic_load(&end->shared->received)))
		if (write_message(end, t))
			return -1;
	*result = rn_bench_meter_per_ns(&m);
	t->buf[0] = LAST;
	return write_message(end, t);
}

static int run_lat(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	struct tcp *t = state;
	uint64_t done = 0;

	if (end->role == RN_BENCH_RECEIVER) {
		do {
			if (read_message(end, t, false) || write_message(end, t))
				return -1;
		} while (t->buf[0] != LAST);
		return 0;
	}
	rn_bench_meter_start_trips(&m, end);
	do {
		bool more = rn_bench_meter_runs(&m, done);

		t->buf[0] = more ? MORE : LAST;
		if (write_message(end, t) || read_message(end, t, false))
			return -1;
		done++;
	} while (t->buf[0] != LAST);
	*result = rn_bench_meter_us_each(&m);
	return 0;
}

/* ---- No network at all ---- */

enum {
	APART = 1024, /* equal offsets within a page make copies slow on some machines */
	COPY_AT_LEAST = 65536 /* bytes between two looks at the clock */
};

static int open_memcpy(struct rn_bench_end *end, void **state)
{
	size_t len = (size_t)2 * end->cell->len + APART;

	*state = malloc(len);
	if (!*state)
		return rn_bench_fail(end, "no memory");
	memset(*state, PAD, len);
	return 0;
}

static int run_memcpy(struct rn_bench_end *end, void *state, double *result)
{
	size_t len = end->cell->len;
	struct rn_bench_meter m;
	uint64_t done = 0;

	if (end->role == RN_BENCH_RECEIVER)
		return 0;
	rn_bench_meter_start(&m, end);
	while (rn_bench_meter_runs(&m, done)) {
		uint64_t until = done + COPY_AT_LEAST;

		do {
			memcpy((uint8_t *)state + len + APART, state, len);
			__asm__ volatile("" ::: "memory"); /* the copy is wanted */
			done += len;
		} while (done < until);
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
