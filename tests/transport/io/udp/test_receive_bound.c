/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_receive_bound.c - one call takes one datagram, whatever senders do.
 *
 * They never stop: each time that something is about to be read there is one more, until
 * so many reads that the call would never have ended. Decided by counting.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "rocin/stats.h"
#include "tests/kit/system/io_kind.h"
#include "tests/kit/system/roce_socket.h"
#include "tests/kit/system/wrap_syscall.h"
#include "tests/kit/work.h"
#include "tests/transport/io/fault/fault_kit.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/capture/tap.h"
#include "transport/io/host/uring.h"
#include "transport/io/udp/udp_internal.h"

enum {
	LO = 1,
	ELSEWHERE = 0x7ffffffe, /* an interface that the datagrams do not come in by */
	FOR_EVER = 10000,	/* reads of one call: it does not end by itself */
	CALLS = 100,
	AHEAD = 4, /* datagrams that one call of io_uring reads */
	PACKET = 64,
};

static struct {
	int fd; /* -1: nobody sends */
	union rn_sockaddr to;
	socklen_t to_len;
	size_t len; /* of each datagram */
} sender = { .fd = -1 };
static unsigned reads; /* calls of the kernel that may take a datagram */

static void send_more(unsigned count)
{
	static const uint8_t data[RN_SUPER_SEGMENTS * PACKET];

	for (unsigned i = 0; sender.fd >= 0 && reads < FOR_EVER && i < count; i++)
		assert_true(sendto(sender.fd, data, sender.len, 0, &sender.to.sa,
				   sender.to_len) >= 0);
}

int __real_rn_uring_submit(struct rn_uring *u, unsigned ends);
int __wrap_rn_uring_submit(struct rn_uring *u, unsigned ends);

static bool answer_syscall(long number, long arg[KIT_SYSCALL_ARGS], long *rc)
{
	(void)arg;
	(void)rc;
	if (number == SYS_recvmsg) {
		send_more(1);
		reads++;
	}
	work_add(WORK_SYSCALL);
	return false;
}

int __wrap_rn_uring_submit(struct rn_uring *u, unsigned ends)
{
	send_more(AHEAD);
	reads++;
	work_add(AHEAD * WORK_SYSCALL);
	return __real_rn_uring_submit(u, ends);
}

/* ------------------------------------------------------------------------ sockets */
static struct rn_udp *u;
static uint64_t stats[RN_STAT_COUNT];

static struct rn_udp *open_end(const struct rn_gid *gid, uint32_t ifindex)
{
	const int sock = roce_socket(gid);
	const struct rn_udp_cfg cfg = { .sock_count = 1,
					.sock = &sock,
					.gid = gid,
					.ifindex = ifindex,
					.uring = io_by_uring(),
					.stats = stats };

	assert_true(sock >= 0);
	return rn_udp_new(&cfg);
}

static int setup(void **state)
{
	const struct rn_gid gid = roce_gid(0);

	(void)state;
	u = open_end(&gid, LO);
	reads = 0;
	return u ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	if (sender.fd >= 0)
		close(sender.fd);
	sender.fd = -1;
	rn_udp_free(u);
	u = NULL;
	return 0;
}

static void begin_sending(const struct rn_gid *to, size_t len)
{
	sender.to_len = rn_gid_sockaddr(&sender.to, to, RN_ROCE_PORT, LO);
	sender.len = len;
	sender.fd = socket(sender.to.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(sender.fd >= 0);
}

static void assert_each_call_takes_one(struct rn_udp *from)
{
	const struct rn_net *net = rn_udp_net(from);
	struct rn_rx rx[RN_RX_BATCH];

	for (unsigned i = 0; i < CALLS; i++) {
		unsigned before = reads;

		rn_udp_look_everywhere(from);
		work_begin();
		/* Looking at a socket in vain is no end: another may have something. */
		assert_int_equal(net->ops->receive(net->ctx, rx), -EAGAIN);
		assert_work(2 * AHEAD * WORK_SYSCALL + WORK_PACKET);
		assert_in_range(reads - before, 0, 2);
	}
	assert_in_range(reads, CALLS / AHEAD, 2 * CALLS);
}

static void empty_datagrams_to_an_address(void **state)
{
	const struct rn_gid gid = roce_gid(0);

	(void)state;
	begin_sending(&gid, 0);
	assert_each_call_takes_one(u);
}

static void empty_datagrams_to_a_group(void **state)
{
	const struct rn_gid group = { .raw = { [10] = 0xff,
					       [11] = 0xff,
					       [12] = 239,
					       [13] = 77,
					       [14] = (uint8_t)(getpid() >> 8),
					       [15] = (uint8_t)getpid() } };
	struct ip_mreqn by = { .imr_ifindex = LO };
	int fd = rn_group_open(&group, LO);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(rn_udp_join(u, &group, fd), 0);
	begin_sending(&group, 0);
	assert_int_equal(
		setsockopt(sender.fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)), 0);
	assert_each_call_takes_one(u);
}

/* The kernel gives an IPv6 group's socket what comes in by any interface: honest packets
 * of other devices. The loopback interface has no groups, but says where from as well.
 */
static void packets_to_a_group_on_another_interface(void **state)
{
	const struct rn_gid gid = roce_gid(1), at = roce_gid_loopback6();
	int fd = roce_socket(&at);
	struct rn_udp *other;

	(void)state;
	if (fd < 0)
		skip(); /* no IPv6 here */
	roce_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	other = open_end(&gid, ELSEWHERE);
	assert_non_null(other);
	assert_int_equal(rn_udp_join(other, &at, fd), 0);
	begin_sending(&at, PACKET);
	assert_each_call_takes_one(other);
	rn_udp_free(other);
}

/* A datagram may be a super-packet of many packets, and all of them are one call. */
static void a_call_with_packets_is_as_much_as_they_are(void **state)
{
	const struct rn_net *net = rn_udp_net(u);
	const struct rn_gid gid = roce_gid(0);
	struct rn_rx rx[RN_RX_BATCH];
	int n, seg = PACKET;

	(void)state;
	begin_sending(&gid, (size_t)RN_SUPER_SEGMENTS * PACKET);
	(void)!setsockopt(sender.fd, SOL_UDP, UDP_SEGMENT, &seg, sizeof(seg));
	for (unsigned i = 0; i < CALLS; i++) {
		work_begin();
		n = net->ops->receive(net->ctx, rx);
		assert_in_range(n, 1, RN_RX_BATCH);
		assert_work(2 * AHEAD * WORK_SYSCALL + (unsigned)n * WORK_PACKET);
	}
}

/* What comes behind them is found all the same. */
static void a_packet_behind_empty_datagrams_is_delivered(void **state)
{
	const struct rn_net *net = rn_udp_net(u);
	const struct rn_gid gid = roce_gid(0);
	struct rn_rx rx[RN_RX_BATCH];
	unsigned empty = 0;
	int n;

	(void)state;
	begin_sending(&gid, 0);
	send_more(20);
	sender.len = PACKET;
	send_more(1);
	close(sender.fd);
	sender.fd = -1;
	while ((n = net->ops->receive(net->ctx, rx)) == -EAGAIN)
		empty++;
	assert_int_equal(n, 1);
	assert_int_equal(rx[0].len, PACKET);
	assert_int_equal(empty, 20);
}

/* --------------------------------------------------------------------- middleware */
static unsigned asked; /* calls of the wire below */

static int always_a_packet(void *ctx, struct rn_rx *rx)
{
	static uint8_t data[PACKET];
	static struct rn_flow flow;

	(void)ctx;
	asked++;
	if (asked >= FOR_EVER)
		return 0;
	rx[0] = (struct rn_rx){ .flow = &flow, .data = data, .len = PACKET };
	return 1;
}

static int always_nothing_left(void *ctx, struct rn_rx *rx)
{
	(void)ctx;
	(void)rx;
	return ++asked < FOR_EVER ? -EAGAIN : 0;
}

static void packets_that_a_rule_drops(void **state)
{
	const struct rn_net_ops ops = { .receive = always_a_packet };
	struct rn_net wire = { .ops = &ops };
	struct world w = { 0 };
	struct rn_fault *fault = make(&wire, "drop rx", stats, &w);
	const struct rn_net *net = rn_fault_net(fault);
	struct rn_rx rx[RN_RX_BATCH];

	(void)state;
	asked = 0;
	for (unsigned i = 0; i < CALLS; i++) {
		assert_int_equal(net->ops->receive(net->ctx, rx), -EAGAIN);
		assert_int_equal(asked, i + 1);
	}
	rn_fault_free(fault);
}

static void a_wire_with_nothing_left_is_asked_once(const struct rn_net *net)
{
	struct rn_rx rx[RN_RX_BATCH];

	asked = 0;
	for (unsigned i = 0; i < CALLS; i++) {
		assert_int_equal(net->ops->receive(net->ctx, rx), -EAGAIN);
		assert_int_equal(asked, i + 1);
	}
}

static void middleware_asks_once(void **state)
{
	const struct rn_net_ops ops = { .receive = always_nothing_left };
	const struct rn_capture_host names = { .sender = find_sender, .peer = find_peer };
	struct rn_net wire = { .ops = &ops };
	struct rn_capture *capture = rn_capture_new(&wire, &names, NULL);
	struct world w = { 0 };
	struct rn_fault *fault = make(&wire, "drop rx", stats, &w);
	char err[200];
	struct rn_tap *tap = rn_tap_open("/dev/null", &wire, err, sizeof(err));

	(void)state;
	assert_non_null(capture);
	a_wire_with_nothing_left_is_asked_once(rn_capture_net(capture));
	a_wire_with_nothing_left_is_asked_once(rn_fault_net(fault));
	if (tap) { /* where there is a libpcap */
		a_wire_with_nothing_left_is_asked_once(rn_tap_net(tap));
		rn_tap_close(tap);
	}
	rn_capture_free(capture);
	rn_fault_free(fault);
}

#define SOCKET_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SOCKET_TEST(empty_datagrams_to_an_address),
		SOCKET_TEST(empty_datagrams_to_a_group),
		SOCKET_TEST(packets_to_a_group_on_another_interface),
		SOCKET_TEST(a_call_with_packets_is_as_much_as_they_are),
		SOCKET_TEST(a_packet_behind_empty_datagrams_is_delivered),
		cmocka_unit_test(packets_that_a_rule_drops),
		cmocka_unit_test(middleware_asks_once),
	};
	int missing = io_missing();

	return missing ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
