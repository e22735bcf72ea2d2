/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_udp.c - what the wire below can do: raw UDP sockets with polling receivers.
 *
 * A counter in shared memory tells the sender how much has arrived, and the window is
 * what the receive buffer holds, so nothing is lost and nothing is spent on
 * acknowledgements. That makes these numbers an upper limit for a reliable transport.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_socket.h"

enum {
	BTH_AND_ICRC = 16, /* bytes of a packet besides its payload */
	SEGMENTS_MAX = 64, /* that the kernel takes in one call */
	DATAGRAM_MAX = 65507,
	SMALL_LEN = 80,	    /* SEND_ONLY of 64 B */
	SMALL_CHARGE = 832, /* of the receive buffer, for a packet of 80 B */
	BATCH = 32,
	WANTED_RCVBUF = 4 << 20,
};

struct udp {
	int fd;
	uint32_t rcvbuf;       /* of the receiver, as the kernel counts */
	uint32_t seg_len, len; /* of a packet, of a super-packet */
	uint8_t buf[65536];
	uint8_t small[BATCH][SMALL_LEN];
	struct iovec iov[BATCH];
	struct mmsghdr msg[BATCH];
};

static int connect_udp(struct rn_bench_end *end, struct udp *u)
{
	struct {
		struct sockaddr_in addr;
		uint32_t rcvbuf;
	} mine = { 0 }, theirs;
	int size = WANTED_RCVBUF;
	socklen_t len = sizeof(size);

	u->fd = rn_bench_socket(end, SOCK_DGRAM, &mine.addr);
	if (u->fd < 0)
		return -1;
	/* As much as is allowed; the window is made to fit. */
	(void)setsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (getsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &size, &len))
		return rn_bench_fail(end, "SO_RCVBUF: %s", strerror(errno));
	mine.rcvbuf = (uint32_t)size;
	if (rn_bench_exchange(end, &mine, &theirs, sizeof(mine)))
		return -1;
	u->rcvbuf = theirs.rcvbuf < mine.rcvbuf ? theirs.rcvbuf : mine.rcvbuf;
	if (connect(u->fd, (struct sockaddr *)&theirs.addr, sizeof(theirs.addr)))
		return rn_bench_fail(end, "UDP connect: %s", strerror(errno));
	return 0;
}

static int open_udp(struct rn_bench_end *end, enum rn_bench_item item, void **state)
{
	struct udp *u = calloc(1, sizeof(*u));
	uint32_t segments;
	int one = 1;

	if (!u)
		return rn_bench_fail(end, "no memory");
	*state = u;
	u->fd = -1;
	memset(u->buf, 0x5a, sizeof(u->buf));
	memset(u->small, 0x5a, sizeof(u->small));
	for (unsigned i = 0; i < BATCH; i++) {
		u->iov[i] = (struct iovec){ u->small[i], SMALL_LEN };
		u->msg[i].msg_hdr.msg_iov = &u->iov[i];
		u->msg[i].msg_hdr.msg_iovlen = 1;
	}
	u->seg_len = end->path_mtu + BTH_AND_ICRC;
	segments = DATAGRAM_MAX / u->seg_len;
	u->len = u->seg_len * (segments < SEGMENTS_MAX ? segments : SEGMENTS_MAX);
	if (connect_udp(end, u))
		return -1;
	if (item == RN_BENCH_UDP_BW &&
	    (setsockopt(u->fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) ||
	     setsockopt(u->fd, IPPROTO_UDP, UDP_SEGMENT, &u->seg_len,
			sizeof(u->seg_len))))
		return rn_bench_fail(end, "the kernel has no UDP GSO and GRO: %s",
				     strerror(errno));
	return 0;
}

static void close_udp(void *state)
{
	struct udp *u = state;

	if (u && u->fd >= 0)
		close(u->fd);
	free(u);
}

/* Of a failed call: may it simply be tried again? */
static bool again(void)
{
	return errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
}

/* The sender's last duty: all that was sent has arrived. */
static int settle(struct rn_bench_end *end, struct rn_bench_meter *m, uint64_t sent)
{
	atomic_store(&end->shared->sent, sent);
	atomic_store(&end->shared->stop, true);
	while (atomic_load(&end->shared->received) != sent) {
		if (rn_bench_meter_patience(m))
			return -1;
		sched_yield();
	}
	return 0;
}

/* The receiver goes on after stop until it has all. */
static bool unsettled(const struct rn_bench_end *end, uint64_t received)
{
	return !rn_bench_stopped(end) || (!atomic_load(&end->shared->failed) &&
					  received != atomic_load(&end->shared->sent));
}

static int receive_super_packets(struct rn_bench_end *end, struct udp *u)
{
	uint64_t received = 0;

	while (unsettled(end, received)) {
		ssize_t n = recv(u->fd, u->buf, sizeof(u->buf), MSG_DONTWAIT);

		if (n < 0 && again()) {
			sched_yield();
			continue;
		}
		if (n <= 0 || (uint32_t)n % u->seg_len || u->buf[0] != 0x5a ||
		    u->buf[n - 1] != 0x5a)
			return rn_bench_fail(end, "UDP delivered something else");
		received += (uint64_t)n;
		atomic_store_explicit(&end->shared->received, received,
				      memory_order_release);
	}
	return 0;
}

static int run_bw(struct rn_bench_end *end, void *state, double *result)
{
	struct udp *u = state;
	/* Half of the buffer: the kernel gives back what was read with a delay. */
	uint64_t window = u->rcvbuf / 2 / (u->len + 4096), sent = 0, received;
	struct rn_bench_meter m;

	if (end->role == RN_BENCH_RECEIVER)
		return receive_super_packets(end, u);
	window = (window < 1 ? 1 : window > 16 ? 16 : window) * u->len;
	rn_bench_meter_start(&m, end);
	while (received = atomic_load(&end->shared->received),
	       rn_bench_meter_runs(&m, received)) {
		if (sent - received + u->len > window)
			sched_yield();
		else if (send(u->fd, u->buf, u->len, 0) == (ssize_t)u->len)
			sent += u->len;
		else if (!again())
			return rn_bench_fail(end, "UDP send: %s", strerror(errno));
	}
	*result = rn_bench_meter_per_ns(&m) * end->path_mtu / u->seg_len;
	return settle(end, &m, sent);
}

/* Wait for one small packet; @m: NULL in the receiver, which ends when it is told to. */
static int await_small(struct rn_bench_end *end, struct udp *u, struct rn_bench_meter *m)
{
	for (;;) {
		ssize_t n = recv(u->fd, u->small, SMALL_LEN, MSG_DONTWAIT);

		if (n == SMALL_LEN)
			return 0;
		if (n >= 0 || !again())
			return rn_bench_fail(end, "UDP receive: %s", strerror(errno));
		if (m ? rn_bench_meter_patience(m) : rn_bench_stopped(end))
			return -1;
		sched_yield();
	}
}

static int send_small(struct rn_bench_end *end, struct udp *u)
{
	while (send(u->fd, u->small, SMALL_LEN, 0) != SMALL_LEN)
		if (!again())
			return rn_bench_fail(end, "UDP send: %s", strerror(errno));
	return 0;
}

static int run_lat(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	struct udp *u = state;
	uint64_t done = 0, echo;

	if (end->role == RN_BENCH_RECEIVER) {
		while (await_small(end, u, NULL) == 0)
			if (send_small(end, u))
				return -1;
		return atomic_load(&end->shared->failed) ? -1 : 0;
	}
	rn_bench_meter_start(&m, end);
	for (; rn_bench_meter_runs(&m, done); done++) {
		memcpy(u->small, &done, sizeof(done));
		if (send_small(end, u) || await_small(end, u, &m))
			return -1;
		memcpy(&echo, u->small, sizeof(echo));
		if (echo != done)
			return rn_bench_fail(end, "UDP delivered something else");
	}
	*result = rn_bench_meter_us_each(&m);
	return settle(end, &m, 0);
}

static int receive_batches(struct rn_bench_end *end, struct udp *u)
{
	uint64_t received = 0;

	while (unsettled(end, received)) {
		int n = recvmmsg(u->fd, u->msg, BATCH, MSG_DONTWAIT, NULL);

		if (n < 0 && again()) {
			sched_yield();
			continue;
		}
		if (n <= 0 || u->msg[n - 1].msg_len != SMALL_LEN ||
		    u->small[n - 1][0] != 0x5a || u->small[n - 1][SMALL_LEN - 1] != 0x5a)
			return rn_bench_fail(end, "UDP delivered something else");
		received += (uint64_t)n;
		atomic_store_explicit(&end->shared->received, received,
				      memory_order_release);
	}
	return 0;
}

static int run_rate(struct rn_bench_end *end, void *state, double *result)
{
	struct udp *u = state;
	uint64_t window = u->rcvbuf / 2 / SMALL_CHARGE, sent = 0, received;
	struct rn_bench_meter m;

	if (end->role == RN_BENCH_RECEIVER)
		return receive_batches(end, u);
	window = window < BATCH ? BATCH : window > 1024 ? 1024 : window;
	rn_bench_meter_start(&m, end);
	while (received = atomic_load(&end->shared->received),
	       rn_bench_meter_runs(&m, received)) {
		int n;

		if (sent - received + BATCH > window) {
			sched_yield();
			continue;
		}
		n = sendmmsg(u->fd, u->msg, BATCH, 0);
		if (n > 0)
			sent += (uint64_t)n;
		else if (!again())
			return rn_bench_fail(end, "UDP sendmmsg: %s", strerror(errno));
	}
	*result = rn_bench_meter_per_ns(&m) * 1e3;
	return settle(end, &m, sent);
}

const struct rn_bench_ops rn_bench_udp_bw_ops = {
	.open = open_udp,
	.run = run_bw,
	.close = close_udp,
};
const struct rn_bench_ops rn_bench_udp_lat_ops = {
	.open = open_udp,
	.run = run_lat,
	.close = close_udp,
};
const struct rn_bench_ops rn_bench_udp_rate_ops = {
	.open = open_udp,
	.run = run_rate,
	.close = close_udp,
};
