/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_flood_rocind.c - one event of rocind is a bounded piece of work, and whoever
 * floods one source keeps no other client waiting for longer than one such piece.
 *
 * Each test fills a source with more than rocind can take at once, and has a client ask
 * something at the same time. Work is counted in calls of the kernel that move a message,
 * a connection or a packet, and in units (tests/kit/work.h), so nothing depends on the
 * machine; time is the test's.
 */
#include "tests/tools/rocind/kit/server_kit.h"

#include <errno.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/cm.h"
#include "rocin/cmdev.h"
#include "rocin/gsi.h"
#include "tests/kit/system/hand_over.h"
#include "tests/kit/work.h"
#include "tests/tools/rocind/kit/timer_kit.h"
#include "tools/rocind/cm/cm_channel.h"
#include "transport/io/host/gid_sockaddr.h"

ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __real_recv(int fd, void *buf, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
int __real_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);
bool __real_rnd_group_send(const struct rnd_group *group, const struct rn_flow *flow,
			   const uint8_t *pkt, size_t len);
bool __wrap_rnd_group_send(const struct rnd_group *group, const struct rn_flow *flow,
			   const uint8_t *pkt, size_t len);
int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

enum {
	FLOOD = 1000, /* inputs of a source, as far as its buffer holds them */
	MANY = 5000,  /* connections whose timers run out at the same time */
	/* The bounds of the page "Bounded work" of ARCHITECTURE.md: inputs that an event
	 * takes, with the one that finds nothing more, and messages that it sends.
	 */
	TAKEN_MAX = 64 + 1,
	SENT_MAX = 64 + 2 * 64,
	SOURCES = 8, /* more than any test has that are ready at once */
};

static unsigned taken, sent; /* in this event */
static rn_ns now;
static unsigned all_sent;

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	taken++;
	work_add(WORK_SYSCALL);
	return __real_recvmsg(fd, msg, flags);
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	taken++;
	work_add(WORK_SYSCALL);
	return __real_recv(fd, buf, len, flags);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	sent++;
	work_add(WORK_SYSCALL);
	return __real_sendmsg(fd, msg, flags);
}

int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	taken++;
	work_add(WORK_SYSCALL);
	return __real_accept4(fd, sa, len, flags);
}

bool __wrap_rnd_group_send(const struct rnd_group *group, const struct rn_flow *flow,
			   const uint8_t *pkt, size_t len)
{
	(void)group;
	(void)flow;
	(void)pkt;
	(void)len;
	work_add(WORK_SYSCALL);
	sent++;
	all_sent++;
	return true;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, ts);
	*ts = (struct timespec){ .tv_sec = now / RN_MSEC(1000),
				 .tv_nsec = now % RN_MSEC(1000) };
	return 0;
}

/* ---- rocind's loop, one event at a time ---- */

/* Return: false if there is nothing to do. */
static bool serve_one(void)
{
	struct epoll_event event;
	const struct rnd_source *source;

	if (alarm_at <= now && server.cm->timer.fd >= 0) {
		alarm_at = RN_NEVER;
		assert_int_equal(eventfd_write(server.cm->timer.fd, 1), 0);
	}
	if (epoll_wait(server.epoll_fd, &event, 1, 0) != 1)
		return false;
	taken = sent = 0;
	source = event.data.ptr;
	work_begin();
	source->on_ready(source->ctx);
	assert_work(WORK_MESSAGE + (uint64_t)taken * WORK_PACKET +
		    RN_CM_EXPIRE_MAX * WORK_TIMER);
	assert_in_range(taken, 0, TAKEN_MAX);
	assert_in_range(sent, 0, SENT_MAX);
	return true;
}

static bool has_answer(const struct guest *guest)
{
	struct pollfd p = { .fd = guest->sock, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Asks, while others flood: the answer comes when each source that is ready has had its
 * turn once.
 */
static void assert_is_served(const struct guest *victim)
{
	const struct rn_ctl_hdr rq = rn_ctl_hdr(RN_CTL_STATUS);
	unsigned events = 0;

	assert_int_equal(rn_ctl_send(victim->sock, &rq, NULL, 0), 0);
	while (!has_answer(victim)) {
		assert_true(serve_one());
		assert_in_range(++events, 1, SOURCES);
	}
	hear(victim, RN_CTL_STATUS_REPLY);
}

static void serve_all(void)
{
	for (unsigned i = 0; serve_one(); i++)
		assert_in_range(i, 0, 100000);
}

static int begin(void **state)
{
	now = RN_MSEC(5000);
	alarm_at = RN_NEVER;
	all_sent = 0;
	return server_setup(state);
}

/* ---- Clients ---- */

/* Messages that get no answer, so that the flood does not stop itself. */
static void messages_of_other_clients_keep_nobody_waiting(void **state)
{
	const struct rn_ctl_wire_ask drop = { .hdr = rn_ctl_hdr(RN_CTL_WIRE_DROP) };
	struct guest victim = come_and_greet(), hostile[3];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(hostile); i++)
		hostile[i] = come_and_greet();
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < RN_ARRAY_SIZE(hostile); i++)
			for (unsigned k = 0; k < FLOOD; k++)
				if (rn_ctl_send(hostile[i].sock, &drop, NULL, 0))
					break;
		assert_is_served(&victim);
	}
	serve_all();
	for (unsigned i = 0; i < RN_ARRAY_SIZE(hostile); i++)
		go(&hostile[i]);
	go(&victim);
}

/* What asks and does not read is closed, not waited for. */
static void a_client_that_does_not_read_is_closed(void **state)
{
	const struct rn_ctl_hdr rq = rn_ctl_hdr(RN_CTL_STATUS);
	struct guest victim = come_and_greet(), hostile = come_and_greet();

	(void)state;
	for (unsigned i = 0; i < FLOOD; i++) {
		if (rn_ctl_send(hostile.sock, &rq, NULL, 0) == -EPIPE)
			break;
		assert_is_served(&victim);
	}
	serve_all();
	assert_null(server.clients->next);
	close(hostile.sock);
	go(&victim);
}

/* ---- Connection manager ---- */

static int open_path(const struct guest *guest)
{
	struct rn_ctl_cm_open rq = { .hdr = rn_ctl_hdr(RN_CTL_CM_OPEN) };
	struct rn_ctl_packet pkt;
	int pair[2];

	snprintf(rq.netdevs, sizeof(rq.netdevs), "lo:127.0.0.1");
	request(guest, &rq, -1);
	pkt = hear_all(guest, RN_CTL_CM_OPENED);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(hand_over(pkt.fd[0], pair[0], 0), 1);
	close(pair[0]);
	serve();
	/* The channel stays open until the test ends. */
	return pair[1];
}

static void commands_of_other_programs_keep_nobody_waiting(void **state)
{
	const struct rn_cmdev_call call = { .cmd = RDMA_USER_CM_CMD_CREATE_ID,
					    .one_way = true };
	struct guest victim = come_and_greet(), hostile = come_and_greet();
	int path = open_path(&hostile);

	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned k = 0; k < FLOOD; k++)
			if (send(path, &call, sizeof(call), MSG_DONTWAIT | MSG_NOSIGNAL) <
			    0)
				break;
		assert_is_served(&victim);
	}
	close(path);
	serve_all();
	go(&hostile);
	go(&victim);
}

/* Requests of connections, as many as have timers that run out at the same moment. */
static void connect_many(void)
{
	const struct rn_cm_route route = {
		.flow = { .src = server_gid(1), .dst = server_gid(2) }, .mtu = 3
	};
	const struct rn_cm_offer offer = { .ca_guid = 1, .qpn = 0x100 };

	for (unsigned i = 0; i < MANY; i++) {
		struct rn_cm_conn *conn;

		assert_int_equal(
			rn_cm_connect(server.cm->protocol, now, 1, &route, &offer, &conn),
			0);
	}
}

/* Each of them is sent, and none of them in the way of a client. */
static void timers_that_run_out_together_keep_nobody_waiting(void **state)
{
	const struct rn_ctl_attach rq = attach_request(1, 1);
	struct guest victim = come_and_greet(), other = come_and_greet();
	int path = open_path(&other);
	rn_ns before;

	(void)state;
	attach(&other, &rq, -1);
	connect_many();
	rnd_cm_flush(server.cm);
	while (all_sent < MANY) {
		assert_is_served(&victim);
		assert_true(serve_one());
	}
	serve_all();
	assert_int_equal(all_sent, MANY);
	before = alarm_at;
	assert_true(before != RN_NEVER && before > now);
	now = before;
	while (all_sent < 2 * MANY)
		assert_is_served(&victim);
	serve_all();
	assert_int_equal(all_sent, 2 * MANY);
	close(path);
	go(&other);
	go(&victim);
}

/* ---- Packets that belong to no process ---- */

static void flood_socket(const struct rn_gid *to, size_t len)
{
	static const uint8_t data[RN_GSI_PACKET_LEN];
	union rn_sockaddr sa;
	socklen_t sa_len = rn_gid_sockaddr(&sa, to, RN_ROCE_PORT, 0);
	int fd = socket(sa.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	for (unsigned i = 0; i < FLOOD; i++)
		(void)!sendto(fd, data, len, MSG_DONTWAIT, &sa.sa, sa_len);
	close(fd);
}

static void packets_of_strangers_keep_nobody_waiting(void **state)
{
	static const size_t lens[] = { 0, 1, RN_BTH_LEN, RN_GSI_PACKET_LEN };
	const struct rn_ctl_attach rq = attach_request(3, 1);
	struct guest victim = come_and_greet(), other = come_and_greet();
	const struct rn_gid to = server_gid(3);

	(void)state;
	attach(&other, &rq, -1);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(lens); i++) {
		flood_socket(&to, lens[i]);
		for (unsigned k = 0; k < 5; k++)
			assert_is_served(&victim);
		serve_all();
	}
	go(&other);
	go(&victim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ONE(f) cmocka_unit_test_setup_teardown(f, begin, server_teardown)
		ONE(messages_of_other_clients_keep_nobody_waiting),
		ONE(a_client_that_does_not_read_is_closed),
		ONE(commands_of_other_programs_keep_nobody_waiting),
		ONE(timers_that_run_out_together_keep_nobody_waiting),
		ONE(packets_of_strangers_keep_nobody_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
