/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_group.c - the sockets of one address: how they are opened, and what goes in and
 * out of the first of them.
 */
#include "rocin/gid.h"
#include "tests/tools/rocind/kit/server_kit.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/rocind/net/group.h"

int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
bool __wrap_rn_is_own_address(const struct rn_gid *gid, uint32_t ifindex);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
ssize_t __real_recv(int fd, void *buf, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);

static char order[64];	   /* 'b': a socket is bound; 's': packets are steered */
static int leftover;	   /* -1, or what another process closes when it is waited for */
static int error;	   /* what is read next gives, or 0 */
static unsigned questions; /* to the kernel: is that an address of this host? */
static bool comes_to_be;   /* it is one, from now on */
static const struct sockaddr_in6 *sender; /* of what is received next, or NULL */

static void note(char what)
{
	size_t len = strlen(order);

	if (len < sizeof(order) - 1)
		order[len] = what;
}

bool __wrap_rn_is_own_address(const struct rn_gid *gid, uint32_t ifindex)
{
	(void)gid;
	(void)ifindex;
	questions++;
	return comes_to_be;
}

int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	int rc = __real_bind(fd, addr, len);

	if (rc == 0)
		note('b');
	return rc;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (level == SOL_SOCKET && name == SO_ATTACH_REUSEPORT_CBPF)
		note('s');
	return __real_setsockopt(fd, level, name, value, len);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	(void)fds;
	(void)count;
	(void)timeout_ms;
	if (leftover < 0)
		fail_msg("there is nothing to wait for");
	close(leftover);
	leftover = -1;
	return 0;
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	if (!error)
		return __real_recv(fd, buf, len, flags);
	errno = error;
	error = 0;
	return -1;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (!sender)
		return __real_recvmsg(fd, msg, flags);
	memcpy(msg->msg_name, sender, sizeof(*sender));
	msg->msg_namelen = sizeof(*sender);
	msg->msg_controllen = 0;
	return 12;
}

static int setup(void **state)
{
	(void)state;
	memset(order, 0, sizeof(order));
	leftover = -1;
	error = 0;
	sender = NULL;
	return 0;
}

static struct rnd_group *open_group(unsigned n)
{
	const struct rn_gid gid = server_gid(n);
	struct rnd_group *group;
	char why[512] = "";

	if (rnd_group_open(&group, &gid, 0, 0, why, sizeof(why)))
		fail_msg("%s", why);
	return group;
}

static int bind_udp(const struct rn_gid *gid, uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

	memcpy(&sa.sin_addr, gid->raw + 12, 4);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	assert_int_equal(__real_bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

/* ---- Opening ---- */

static void a_port_that_cannot_be_had_costs_no_descriptor(void **state)
{
	/* 192.0.2.1: for documentation, nobody has it. */
	const struct rn_gid nobodys = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } };
	struct rnd_group *group;
	unsigned before = open_descriptors();

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rnd_group_open(&group, &nobodys, 0, 0, NULL, 0),
				 -EADDRNOTAVAIL);
	assert_int_equal(open_descriptors(), before);
}

/* The identification of what is fragmented is not known, and the ICRC covers it. */
static void what_is_sent_is_never_fragmented(void **state)
{
	struct rnd_group *group = open_group(0);
	socklen_t len = sizeof(int);

	(void)state;
	assert_int_equal(rnd_group_reach(group, 1), 0);
	for (unsigned i = 0; i < 2; i++) {
		int value = -1;

		assert_int_equal(getsockopt(group->sock[i], IPPROTO_IP, IP_MTU_DISCOVER,
					    &value, &len),
				 0);
		assert_int_equal(value, IP_PMTUDISC_DO);
	}
	rnd_group_close(group);
}

/* By then the kernel would spread the packets of the first two by a hash. */
static void packets_are_steered_before_there_is_a_third_socket(void **state)
{
	struct rnd_group *group = open_group(0);

	(void)state;
	assert_int_equal(rnd_group_reach(group, 4), 0);
	assert_int_equal(group->sock_count, 5);
	assert_int_equal(strncmp(order, "bbs", 3), 0);
	/* And to all of them when they are there. */
	assert_int_equal(order[strlen(order) - 1], 's');
	rnd_group_close(group);
}

/* Sockets of a rocind that died let nobody in until their process has closed them. */
static void a_port_that_is_about_to_be_free_is_waited_for(void **state)
{
	const struct rn_gid gid = server_gid(0);
	struct rnd_group *group;
	char why[512] = "";

	(void)state;
	leftover = bind_udp(&gid, RN_ROCE_PORT);
	assert_int_equal(rnd_group_open(&group, &gid, 0, RN_NEVER, why, sizeof(why)), 0);
	assert_int_equal(leftover, -1);
	rnd_group_close(group);
}

static void a_port_is_not_waited_for_beyond_the_deadline(void **state)
{
	const struct rn_gid gid = server_gid(0);
	int held = bind_udp(&gid, RN_ROCE_PORT);
	struct rnd_group *group;
	char why[512] = "";

	(void)state;
	assert_int_equal(rnd_group_open(&group, &gid, 0, 0, why, sizeof(why)),
			 -EADDRINUSE);
	close(held);
}

/* ---- Draining ---- */

static void send_to(int fd, const struct rn_gid *gid, uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	const uint8_t packet[12] = { 4 };

	memcpy(&sa.sin_addr, gid->raw + 12, 4);
	assert_int_equal(
		sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&sa, sizeof(sa)),
		sizeof(packet));
}

/* A process may have its socket tell of errors of ICMP, which come before packets. */
static void an_error_of_a_socket_leaves_no_packets_in_it(void **state)
{
	const struct rn_gid gid = server_gid(0);
	struct rnd_group *group = open_group(0);
	int out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char byte;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		send_to(out, &gid, RN_ROCE_PORT);
	error = ECONNREFUSED;
	rnd_group_drain(group, 0);
	assert_int_equal(error, 0);
	assert_int_equal(recv(group->sock[0], &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(out);
	rnd_group_close(group);
}

/* ---- Slot 0 ---- */

static int control_value(const struct msghdr *msg, int type)
{
	int value = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c;
	     c = CMSG_NXTHDR((struct msghdr *)msg, c)) {
		if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != type)
			continue;
		if (c->cmsg_len == CMSG_LEN(1))
			return *CMSG_DATA(c);
		memcpy(&value, CMSG_DATA(c), sizeof(value));
	}
	return value;
}

static void a_packet_leaves_with_the_hop_limit_and_class_of_its_flow(void **state)
{
	struct rnd_group *group = open_group(0);
	const struct rn_flow flow = {
		.src = server_gid(0), .dst = server_gid(1), .tclass = 0x48, .hop_limit = 7
	};
	const uint8_t packet[12] = { 100 };
	int in = bind_udp(&flow.dst, RN_ROCE_PORT), on = 1;
	char control[128];
	uint8_t got[64];
	struct iovec iov = { got, sizeof(got) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };

	(void)state;
	assert_int_equal(setsockopt(in, IPPROTO_IP, IP_RECVTTL, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(in, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)), 0);
	assert_true(rnd_group_send(group, &flow, packet, sizeof(packet)));
	assert_int_equal(recvmsg(in, &msg, MSG_DONTWAIT), sizeof(packet));
	assert_int_equal(control_value(&msg, IP_TTL), 7);
	assert_int_equal(control_value(&msg, IP_TOS), 0x48);
	close(in);
	rnd_group_close(group);
}

/* ---- To this host ---- */

static void send_packet(struct rnd_group *group, const struct rn_gid *to)
{
	const struct rn_flow flow = { .src = group->gid, .dst = *to };
	const uint8_t packet[16] = { 100 };

	rnd_group_send(group, &flow, packet, sizeof(packet));
}

static void the_kernel_is_asked_once_about_a_destination(void **state)
{
	const struct rnd_admission admission = { .own_port = 61441 };
	const struct rn_gid elsewhere = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } };
	const struct rn_gid alike = { .raw = { [10] = 0xff, 0xff, 192, 0, 3, 1 } };
	struct rnd_group *group = open_group(0);

	(void)state;
	group->admission = &admission;
	questions = 0;
	for (unsigned i = 0; i < 100; i++)
		send_packet(group, &elsewhere);
	assert_int_equal(questions, 1);
	/* Which has the same place in the table. */
	send_packet(group, &alike);
	assert_int_equal(questions, 2);
	send_packet(group, &alike);
	assert_int_equal(questions, 2);
	rnd_group_forget_places(group);
	send_packet(group, &alike);
	assert_int_equal(questions, 3);
	group->admission = NULL;
	rnd_group_close(group);
}

/* It is asked again when an address has come: what went to the network goes to this host
 * then.
 */
static void an_address_that_comes_is_one_of_this_host(void **state)
{
	const struct rnd_admission admission = { .own_port = 61441 };
	const struct rn_gid late = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } };
	struct rnd_group *group = open_group(0);

	(void)state;
	group->admission = &admission;
	group->groups = &server.groups;
	server.groups.first = group;
	send_packet(group, &late);
	assert_int_equal(group->own_sock, -1);
	comes_to_be = true;
	send_packet(group, &late);
	assert_int_equal(group->own_sock, -1);
	server.netlink.fd = -1;
	rnd_watch_changed(&server);
	send_packet(group, &late);
	assert_true(group->own_sock >= 0);
	comes_to_be = false;
	server.groups.first = NULL;
	group->admission = NULL;
	rnd_group_close(group);
}

/* Only what comes from a port that is admitted counts there. */
static void a_packet_to_this_host_comes_from_the_own_port(void **state)
{
	const struct rnd_admission admission = { .own_port = 61441 };
	const struct rn_gid here = server_gid(1);
	struct rnd_group *group = open_group(0);
	int in = bind_udp(&here, RN_ROCE_PORT);
	struct sockaddr_in from = { 0 };
	socklen_t len = sizeof(from);
	uint8_t got[64];

	(void)state;
	comes_to_be = true;
	group->admission = &admission;
	send_packet(group, &here);
	assert_int_equal(recvfrom(in, got, sizeof(got), MSG_DONTWAIT,
				  (struct sockaddr *)&from, &len),
			 16);
	assert_int_equal(ntohs(from.sin_port), admission.own_port);
	assert_memory_equal(&from.sin_addr, group->gid.raw + 12, 4);
	comes_to_be = false;
	group->admission = NULL;
	rnd_group_close(group);
	close(in);
}

/* Without it no answer would find the way. */
static void who_sends_from_a_link_local_address_is_known_with_its_interface(void **state)
{
	const struct sockaddr_in6 from = { .sin6_family = AF_INET6,
					   .sin6_port = htons(0xc123),
					   .sin6_scope_id = 5,
					   .sin6_addr.s6_addr = { 0xfe,
								  0x80, [15] = 2 } };
	const struct rnd_group group = { .gid = { .raw = { 0x20, 0x01, [15] = 1 } } };
	struct rn_flow flow;
	uint8_t packet[64];

	(void)state;
	sender = &from;
	assert_int_equal(rnd_group_receive(&group, &flow, packet, sizeof(packet)), 12);
	assert_int_equal(flow.ifindex, 5);
	assert_int_equal(flow.sport, 0xc123);
	assert_memory_equal(flow.src.raw, from.sin6_addr.s6_addr, 16);
	assert_memory_equal(&flow.dst, &group.gid, sizeof(flow.dst));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		TEST(a_port_that_cannot_be_had_costs_no_descriptor),
		TEST(what_is_sent_is_never_fragmented),
		TEST(the_kernel_is_asked_once_about_a_destination),
		TEST(an_address_that_comes_is_one_of_this_host),
		TEST(a_packet_to_this_host_comes_from_the_own_port),
		TEST(packets_are_steered_before_there_is_a_third_socket),
		TEST(a_port_that_is_about_to_be_free_is_waited_for),
		TEST(a_port_is_not_waited_for_beyond_the_deadline),
		TEST(an_error_of_a_socket_leaves_no_packets_in_it),
		TEST(a_packet_leaves_with_the_hop_limit_and_class_of_its_flow),
		TEST(who_sends_from_a_link_local_address_is_known_with_its_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
