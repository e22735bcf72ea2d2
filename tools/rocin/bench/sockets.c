/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sockets.c - measurements without Rocin: TCP, raw UDP and memcpy; and a check of whether
 * the packets of a measurement used UDP or the local wire.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "transport/io/rocind/stats_pages.h"

/* ---------------------------------------------------------------- TCP and memcpy */
/* Messages of one size over TCP. Either both processes block in the kernel, or both poll
 * and yield the processor between two polls.
 */

/* Values of the first byte of a message: LAST in the last message of a slice, MORE in the
 * others. The last byte of each message is PAD.
 */
enum {
	MORE = 0x11,
	LAST = 0x22,
	PAD = 0x5a
};

struct tcp {
	int fd;
	/* flags of send() and recv(): MSG_DONTWAIT if both processes poll, else 0 */
	int flags;
	size_t len;
	uint8_t buf[];
};

/* Makes a socket of @type bound to 127.0.0.1. Returns the descriptor, or -1
 * after rn_bench_fail().
 */
static int bound_socket(struct rn_bench_end *end, int type, struct sockaddr_in *addr)
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
	int fd = bound_socket(end, SOCK_STREAM, &mine), one = 1;

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

/* Called after a system call has failed. Returns true if it can simply be repeated;
 * yields the processor before that if the socket was not ready.
 */
static bool may_repeat(const struct rn_bench_end *end)
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
		else if (!may_repeat(end))
			return rn_bench_fail(end, "TCP send: %s", strerror(errno));
	}
	return 0;
}

/* Reads a message. @count: count bytes as soon as they arrive; false: count only whole
 * messages.
 */
static int read_message(struct rn_bench_end *end, struct tcp *t, bool count)
{
	for (size_t done = 0; done < t->len;) {
		ssize_t n = recv(t->fd, t->buf + done, t->len - done, t->flags);

		if (n < 0 && may_repeat(end))
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

static int run_tcp_bw(struct rn_bench_end *end, void *state, double *result)
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

static int run_tcp_lat(struct rn_bench_end *end, void *state, double *result)
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

/* ---- memcpy ---- */

enum {
	/* Distance in bytes by which the second buffer is moved. If both buffers had the
	 * same offset in a page, copies would be slow on some machines.
	 */
	APART = 1024,
	COPY_AT_LEAST = 65536 /* number of bytes copied before the clock is read again */
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
			/* Keeps the compiler from removing the copy. */
			__asm__ volatile("" ::: "memory");
			done += len;
		} while (done < until);
	}
	*result = rn_bench_meter_per_ns(&m);
	return 0;
}

const struct rn_bench_ops rn_bench_tcp_bw_ops = {
	.open = open_tcp,
	.run = run_tcp_bw,
	.close = close_tcp,
};
const struct rn_bench_ops rn_bench_tcp_lat_ops = {
	.open = open_tcp,
	.run = run_tcp_lat,
	.close = close_tcp,
};
const struct rn_bench_ops rn_bench_memcpy_ops = {
	.open = open_memcpy,
	.run = run_memcpy,
	.close = free,
};

/* -------------------------------------------------------------------------- raw UDP */
/* Measures how fast a transport over UDP could be at most, with raw UDP sockets and
 * polling receivers.
 *
 * The receiver stores the amount that has arrived in shared memory, where the sender
 * reads it. The sender never has more bytes in flight than the receive buffer holds. So
 * no packet is lost, and no time is spent on acknowledgements.
 */

enum {
	BTH_LEN = 12,
	BTH_AND_ICRC = 16, /* length of the headers of a packet in bytes */
	/* maximum number of segments that the kernel accepts in one call */
	SEGMENTS_MAX = 64,
	DATAGRAM_MAX = 65507,
	/* Bytes that the kernel charges to the receive buffer for a packet, in addition
	 * to twice its length.
	 */
	CHARGE = 768,
	BATCH = 32,
	WINDOW_MAX = 1024, /* maximum number of packets in flight without GSO */
	/* Maximum number of packets in flight if the sender waits for acknowledgements.
	 * It is a usual depth of a send queue.
	 */
	WINDOW_ACKED = 128,
	ACK_LEN = 8, /* length of an acknowledgement in bytes */
	WANTED_RCVBUF = 4 << 20,
};

struct udp {
	int fd;
	bool gso;
	/* Size in bytes of the receiver's receive buffer, as the kernel counts it. */
	uint32_t rcvbuf;
	uint32_t payload; /* number of bytes of a message that one packet carries */
	/* length of one packet, and of a GSO super-packet of several */
	uint32_t seg_len, super_len;
	/* length of a ping-pong message including headers, or of an acknowledgement */
	uint32_t message_len;
	uint32_t window; /* number of packets in flight without GSO */
	/* After each @window packets the receiver sends one acknowledgement, for which
	 * the sender waits.
	 */
	bool acked;
	uint8_t buf[65536];
	uint8_t *packets; /* memory for BATCH packets */
	/* The memory from which payloads are sent, or to which received payloads are
	 * copied; the ICRC of each packet is computed on the way. If the memory has 0
	 * bytes, nothing is copied and no ICRC is computed.
	 */
	struct rn_bench_message message;
	bool is_built; /* @buf has a super-packet that was not sent yet */
	struct iovec iov[BATCH];
	struct mmsghdr msg[BATCH];
};

/* Only half of the receive buffer is used, because the kernel frees space only some time
 * after a read.
 */
static void choose_window(struct udp *u)
{
	uint32_t fits = u->rcvbuf / 2 / (CHARGE + 2 * u->seg_len);
	uint32_t most = u->acked ? WINDOW_ACKED : WINDOW_MAX;

	u->window = fits < 1 ? 1 : fits < most ? fits : most;
}

static int connect_udp(struct rn_bench_end *end, struct udp *u)
{
	struct {
		struct sockaddr_in addr;
		uint32_t rcvbuf;
	} mine = { 0 }, theirs;
	int size = end->cell->rcvbuf ? (int)end->cell->rcvbuf : WANTED_RCVBUF;
	socklen_t len = sizeof(size);

	u->fd = bound_socket(end, SOCK_DGRAM, &mine.addr);
	if (u->fd < 0)
		return -1;
	/* The kernel may grant less. choose_window() adapts the number of packets in
	 * flight.
	 */
	(void)setsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (getsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &size, &len))
		return rn_bench_fail(end, "SO_RCVBUF: %s", strerror(errno));
	mine.rcvbuf = (uint32_t)size;
	if (rn_bench_exchange(end, &mine, &theirs, sizeof(mine)))
		return -1;
	u->rcvbuf = theirs.rcvbuf < mine.rcvbuf ? theirs.rcvbuf : mine.rcvbuf;
	choose_window(u);
	if (connect(u->fd, (struct sockaddr *)&theirs.addr, sizeof(theirs.addr)))
		return rn_bench_fail(end, "UDP connect: %s", strerror(errno));
	return 0;
}

static void choose_lengths(struct udp *u, const struct rn_bench_end *end)
{
	uint32_t len = end->cell->len, segments;

	u->payload = len < end->path_mtu ? len : end->path_mtu;
	u->seg_len = u->payload + BTH_AND_ICRC;
	segments = DATAGRAM_MAX / u->seg_len;
	u->super_len = u->seg_len * (segments < SEGMENTS_MAX ? segments : SEGMENTS_MAX);
	u->message_len = len + (len + u->payload - 1) / u->payload * BTH_AND_ICRC;
	u->acked = end->cell->item == RN_BENCH_UDP_WINDOW_RATE;
	if (u->acked)
		u->message_len = ACK_LEN;
	u->gso = end->cell->item == RN_BENCH_UDP_BW ||
		 end->cell->item == RN_BENCH_UDP_CRC_BW ||
		 (end->cell->item == RN_BENCH_UDP_LAT && len > u->payload);
}

static int prepare_packets(struct rn_bench_end *end, struct udp *u)
{
	u->packets = malloc((size_t)BATCH * u->seg_len);
	if (!u->packets)
		return rn_bench_fail(end, "no memory");
	if (end->cell->item == RN_BENCH_UDP_CRC_BW) {
		u->message.len = end->cell->len;
		u->message.bytes = malloc(u->message.len);
		if (!u->message.bytes)
			return rn_bench_fail(end, "no memory");
		memset(u->message.bytes, 0x5a, u->message.len);
	}
	memset(u->buf, 0x5a, sizeof(u->buf));
	memset(u->packets, 0x5a, (size_t)BATCH * u->seg_len);
	for (unsigned i = 0; i < BATCH; i++) {
		u->iov[i] =
			(struct iovec){ u->packets + (size_t)i * u->seg_len, u->seg_len };
		u->msg[i].msg_hdr.msg_iov = &u->iov[i];
		u->msg[i].msg_hdr.msg_iovlen = 1;
	}
	return 0;
}

static int open_udp(struct rn_bench_end *end, void **state)
{
	struct udp *u = calloc(1, sizeof(*u));
	int one = 1;

	if (!u)
		return rn_bench_fail(end, "no memory");
	*state = u;
	u->fd = -1;
	choose_lengths(u, end);
	if (prepare_packets(end, u) || connect_udp(end, u))
		return -1;
	if (u->gso && (setsockopt(u->fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) ||
		       setsockopt(u->fd, IPPROTO_UDP, UDP_SEGMENT, &u->seg_len,
				  sizeof(u->seg_len))))
		return rn_bench_fail(end, "the kernel has no UDP GSO and GRO: %s",
				     strerror(errno));
	return 0;
}

static void close_udp(void *state)
{
	struct udp *u = state;

	if (u->fd >= 0)
		close(u->fd);
	free(u->message.bytes);
	free(u->packets);
	free(u);
}

/* Returns true if the call has failed for a temporary reason, so that it can simply be
 * repeated.
 */
static bool is_transient(void)
{
	return errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
}

/* ---- Copies and ICRCs, without which no packet of RC leaves or arrives ---- */

static void build_super_packet(struct udp *u)
{
	for (uint8_t *p = u->buf; p < u->buf + u->super_len; p += u->seg_len) {
		uint8_t *payload = p + BTH_LEN;
		uint32_t sum = rn_bench_copy_and_sum(
			payload, rn_bench_next_piece(&u->message, u->payload),
			u->payload);

		memcpy(payload + u->payload, &sum, sizeof(sum));
	}
}

/* Copies a received super-packet. Returns true if all of its @len bytes are those that
 * were sent.
 */
static bool take_super_packet(struct udp *u, size_t len)
{
	for (uint8_t *p = u->buf; p < u->buf + len; p += u->seg_len) {
		uint8_t *payload = p + BTH_LEN;
		uint32_t sum = rn_bench_copy_and_sum(
			rn_bench_next_piece(&u->message, u->payload), payload,
			u->payload);

		if (memcmp(payload + u->payload, &sum, sizeof(sum)) != 0)
			return false;
	}
	return true;
}

static bool is_as_sent(struct udp *u, size_t len)
{
	if (len == 0 || len % u->seg_len)
		return false;
	return u->message.bytes ? take_super_packet(u, len)
				: u->buf[0] == 0x5a && u->buf[len - 1] == 0x5a;
}

static int receive_super_packets(struct rn_bench_end *end, struct udp *u)
{
	uint64_t received = 0;

	while (rn_bench_has_more(end, received)) {
		ssize_t n = recv(u->fd, u->buf, sizeof(u->buf), MSG_DONTWAIT);

		if (n < 0 && is_transient()) {
			sched_yield();
			continue;
		}
		if (n < 0 || !is_as_sent(u, (size_t)n))
			return rn_bench_fail(end, "UDP delivered something else");
		received += (uint64_t)n;
		atomic_store_explicit(&end->shared->received, received,
				      memory_order_release);
	}
	return 0;
}

/* Sends a GSO super-packet. Returns 1; 0 if the socket does not take it now; or -1 after
 * a failure.
 */
static int send_super_packet(struct rn_bench_end *end, struct udp *u)
{
	if (u->message.bytes && !u->is_built)
		build_super_packet(u);
	u->is_built = true;
	if (send(u->fd, u->buf, u->super_len, 0) != (ssize_t)u->super_len) {
		if (is_transient())
			return 0;
		return rn_bench_fail(end, "UDP send: %s", strerror(errno));
	}
	u->is_built = false;
	return 1;
}

static int send_super_packets(struct rn_bench_end *end, struct udp *u,
			      struct rn_bench_meter *m)
{
	/* Only half of the receive buffer is used, because the kernel frees space only
	 * some time after a read.
	 */
	uint64_t window = u->rcvbuf / 2 / (u->super_len + 4096), sent = 0, received;

	window = (window < 1 ? 1 : window > 16 ? 16 : window) * u->super_len;
	rn_bench_meter_start(m, end);
	while (received = atomic_load(&end->shared->received),
	       rn_bench_meter_runs(m, received)) {
		int done = 0;

		if (sent - received + u->super_len > window)
			sched_yield();
		else
			done = send_super_packet(end, u);
		if (done < 0)
			return -1;
		sent += done ? u->super_len : 0;
	}
	return rn_bench_await_arrival(end, m, sent);
}

/* Waits for a message of a ping-pong. @m: meter of the sender; NULL in the receiver,
 * which stops waiting when the sender ends the time slice.
 */
static int await_message(struct rn_bench_end *end, struct udp *u,
			 struct rn_bench_meter *m)
{
	for (size_t done = 0; done < u->message_len;) {
		ssize_t n =
			recv(u->fd, u->buf + done, sizeof(u->buf) - done, MSG_DONTWAIT);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n == 0 || !is_transient())
			return rn_bench_fail(end, "UDP receive: %s", strerror(errno));
		if (m ? rn_bench_meter_patience(m) : rn_bench_stopped(end))
			return -1;
		sched_yield();
	}
	return 0;
}

static int send_message(struct rn_bench_end *end, struct udp *u)
{
	while (send(u->fd, u->buf, u->message_len, 0) != (ssize_t)u->message_len)
		if (!is_transient())
			return rn_bench_fail(end, "UDP send: %s", strerror(errno));
	return 0;
}

/* Returns how many packets the next system call sends when @done packets have been sent.
 * They do not go beyond the end of a window, after which the receiver sends an
 * acknowledgement.
 */
static unsigned batch_of(const struct udp *u, uint64_t done)
{
	uint64_t left = u->window - done % u->window;

	if (!u->acked)
		left = u->window;
	return left < BATCH ? (unsigned)left : BATCH;
}

static int receive_batches(struct rn_bench_end *end, struct udp *u)
{
	uint64_t received = 0;

	while (rn_bench_has_more(end, received)) {
		int n = recvmmsg(u->fd, u->msg, batch_of(u, received), MSG_DONTWAIT,
				 NULL);
		const uint8_t *last;

		if (n < 0 && is_transient()) {
			sched_yield();
			continue;
		}
		last = u->packets + (size_t)(n > 0 ? n - 1 : 0) * u->seg_len;
		if (n <= 0 || u->msg[n - 1].msg_len != u->seg_len || last[0] != 0x5a ||
		    last[u->seg_len - 1] != 0x5a)
			return rn_bench_fail(end, "UDP delivered something else");
		received += (uint64_t)n;
		atomic_store_explicit(&end->shared->received, received,
				      memory_order_release);
		if (u->acked && received % u->window == 0 && send_message(end, u))
			return -1;
	}
	return 0;
}

static int send_batches(struct rn_bench_end *end, struct udp *u, struct rn_bench_meter *m)
{
	uint64_t sent = 0, received;

	rn_bench_meter_start(m, end);
	while (received = atomic_load(&end->shared->received),
	       rn_bench_meter_runs(m, received)) {
		unsigned batch = batch_of(u, sent);
		int n;

		if (sent - received + batch > u->window) {
			sched_yield();
			continue;
		}
		n = sendmmsg(u->fd, u->msg, batch, 0);
		if (n > 0)
			sent += (uint64_t)n;
		else if (!is_transient())
			return rn_bench_fail(end, "UDP sendmmsg: %s", strerror(errno));
		if (n > 0 && u->acked && sent % u->window == 0 &&
		    await_message(end, u, m))
			return -1;
	}
	return rn_bench_await_arrival(end, m, sent);
}

static int run_udp_bw(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	struct udp *u = state;
	double packets_per_ns;

	if (end->role == RN_BENCH_RECEIVER)
		return u->gso ? receive_super_packets(end, u) : receive_batches(end, u);
	if (u->gso ? send_super_packets(end, u, &m) : send_batches(end, u, &m))
		return -1;
	packets_per_ns = rn_bench_meter_per_ns(&m) / (u->gso ? u->seg_len : 1);
	*result = packets_per_ns * u->payload;
	if (rn_bench_item_info[end->cell->item].kind == RN_BENCH_RATE)
		*result = packets_per_ns * u->payload / end->cell->len * 1e3;
	return 0;
}

static int run_udp_lat(struct rn_bench_end *end, void *state, double *result)
{
	struct rn_bench_meter m;
	struct udp *u = state;
	uint64_t done = 0, echo;

	if (end->role == RN_BENCH_RECEIVER) {
		while (await_message(end, u, NULL) == 0)
			if (send_message(end, u))
				return -1;
		return atomic_load(&end->shared->failed) ? -1 : 0;
	}
	rn_bench_meter_start_trips(&m, end);
	for (; rn_bench_meter_runs(&m, done); done++) {
		memcpy(u->buf, &done, sizeof(done));
		if (send_message(end, u) || await_message(end, u, &m))
			return -1;
		memcpy(&echo, u->buf, sizeof(echo));
		if (echo != done)
			return rn_bench_fail(end, "UDP delivered something else");
	}
	*result = rn_bench_meter_us_each(&m);
	return rn_bench_await_arrival(end, &m, 0);
}

const struct rn_bench_ops rn_bench_udp_bw_ops = {
	.open = open_udp,
	.run = run_udp_bw,
	.close = close_udp,
};
const struct rn_bench_ops rn_bench_udp_lat_ops = {
	.open = open_udp,
	.run = run_udp_lat,
	.close = close_udp,
};

/* ------------------------ check that packets used UDP or the local wire as intended */
static bool is_member(const struct rn_bench_team *team, pid_t pid)
{
	for (unsigned i = 0; i < 2 * team->pairs; i++)
		if (team->pair[i / 2].pid[i % 2] == pid)
			return true;
	return false;
}

/* Adds up the packet counters of the team's processes in *@sum. Returns how many of those
 * processes rocind knows, or a negative errno with an error text in @err.
 */
static int add_up(struct rn_rocind *daemon, const struct rn_bench_team *team,
		  struct rn_bench_sent *sum, char *err, size_t err_len)
{
	struct rn_stats_list list;
	int rc = rn_stats_gather(daemon, &list, err, err_len), found = 0;

	for (size_t i = 0; rc == 0 && i < list.count; i++) {
		const uint64_t *counter = list.client[i].copy.page.counter;

		if (!is_member(team, list.client[i].id.pid))
			continue;
		sum->all += counter[RN_STAT_TX_PACKETS];
		sum->local += counter[RN_STAT_LOCAL_TX_PACKETS];
		found++;
	}
	rn_stats_list_free(&list);
	return rc ? rc : found;
}

int rn_bench_wire_check(struct rn_rocind **daemon, struct rn_bench_team *team,
			const struct rn_bench_cell *cell, char *err, size_t err_len)
{
	struct rn_bench_sent sum = { 0 }, now;
	char text[RN_BENCH_CELL_TEXT];
	int rc;

	if (rn_bench_item_info[cell->item].family != RN_BENCH_VERBS ||
	    cell->wire == RN_BENCH_OVER_BESIDE)
		return 0;
	if (!*daemon)
		*daemon = rn_rocind_connect_running(err, err_len);
	if (!*daemon)
		return -1;
	rc = add_up(*daemon, team, &sum, err, err_len);
	if (rc < 0)
		return -1;
	now = (struct rn_bench_sent){ sum.all - team->sent.all,
				      sum.local - team->sent.local };
	team->sent = sum;
	if (rc < (int)(2 * team->pairs))
		return 0; /* The device is not a Rocin device, or uses another rocind. */
	if (cell->wire == RN_BENCH_OVER_LOCAL ? now.all > 0 && now.local * 2 >= now.all
					      : now.local == 0)
		return 0;
	rn_bench_cell_write(cell, text);
	snprintf(err, err_len,
		 "%s: %" PRIu64 " of %" PRIu64 " packets took the local wire, so that is "
		 "not what was measured; \"rocin doctor\" may say why",
		 text, now.local, now.all);
	return -1;
}
