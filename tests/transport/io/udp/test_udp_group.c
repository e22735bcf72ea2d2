/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_udp_group.c - multicast groups through real sockets on loopback. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "rocin/icrc.h"
#include "rocin/stats.h"
#include "tests/kit/system/descriptors.h"
#include "tests/kit/system/io_kind.h"
#include "tests/kit/system/roce_socket.h"
#include "tests/kit/system/wrap_syscall.h"
#include "transport/io/udp/udp_internal.h"

enum {
	DATA = 200, /* BTH to pad; the ICRC comes behind */
	PACKET = DATA + RN_ICRC_LEN,
	ENDS = 3,
	LO = 1,
	WAIT_MS = 60000,
	NO_INTERFACE = 0x7ffffffe,
};

/* As many processes, each with an address; the first sends. */
struct world {
	struct rn_udp *end[ENDS];
	uint64_t stats[ENDS][RN_STAT_COUNT];
	struct rn_gid addr[ENDS];
	struct rn_gid group;
	struct rn_rx got[RN_RX_BATCH];
	uint8_t data[PACKET];
};

/* 239.x.y.z: no other process has them. */
static struct rn_gid group_of(unsigned n)
{
	unsigned pid = (unsigned)getpid();

	return (struct rn_gid){ .raw = { [10] = 0xff,
					 [11] = 0xff,
					 [12] = 239,
					 [13] = (uint8_t)(pid >> 14 | 0x80),
					 [14] = (uint8_t)(pid >> 6),
					 [15] = (uint8_t)(pid << 2 | n) } };
}

static struct rn_udp *open_end(const struct rn_gid *addr, uint32_t ifindex,
			       uint64_t *stats)
{
	const int sock = roce_socket(addr);
	const struct rn_udp_cfg cfg = { .sock_count = 1,
					.sock = &sock,
					.gid = addr,
					.ifindex = ifindex,
					.gso = true,
					.uring = io_by_uring(),
					.stats = stats };

	assert_true(sock >= 0);
	return rn_udp_new(&cfg);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->group = group_of(0);
	for (unsigned i = 0; i < ENDS; i++) {
		w->addr[i] = roce_gid(i);
		w->end[i] = open_end(&w->addr[i], LO, w->stats[i]);
		assert_non_null(w->end[i]);
	}
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < ENDS; i++)
		rn_udp_free(w->end[i]);
	free(w);
	return 0;
}

static int join(struct rn_udp *u, const struct rn_gid *group)
{
	int fd = rn_group_open(group, LO);

	return fd < 0 ? fd : rn_udp_join(u, group, fd);
}

static void leave(struct rn_udp *u, const struct rn_gid *group)
{
	rn_group_close(rn_udp_leave(u, group), group, LO);
}

static void send_with(struct world *w, const struct rn_gid *group, uint8_t number,
		      uint8_t hop_limit)
{
	const struct rn_flow flow = { .src = w->addr[0],
				      .dst = *group,
				      .ifindex = LO,
				      .sport = RN_ROCE_PORT,
				      .tclass = 0x6a,
				      .hop_limit = hop_limit };
	const struct rn_super super = { .flow = &flow,
					.data = w->data,
					.len = PACKET,
					.seg_len = PACKET,
					.count = 1 };
	struct rn_net *net = rn_udp_net(w->end[0]);

	memset(w->data, number, DATA);
	rn_icrc_seal(&flow, 0, w->data, DATA);
	assert_int_equal(net->ops->transmit(net->ctx, &super), 0);
}

static void send_to(struct world *w, const struct rn_gid *group, uint8_t number)
{
	send_with(w, group, number, 17);
}

static int receive(struct world *w, unsigned i)
{
	struct rn_net *net = rn_udp_net(w->end[i]);

	rn_udp_look_everywhere(w->end[i]);
	return net->ops->receive(net->ctx, w->got);
}

static void expect(struct world *w, unsigned i, const struct rn_gid *group,
		   uint8_t number)
{
	struct pollfd fd = { .fd = rn_udp_groups_fd(w->end[i]), .events = POLLIN };
	struct rn_icrc_hint hint = { 0 };
	const struct rn_flow *flow;

	if (!rn_udp_holds(w->end[i]))
		assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(receive(w, i), 1);
	flow = w->got[0].flow;
	assert_int_equal(w->got[0].len, PACKET);
	assert_int_equal(w->got[0].data[0], number);
	assert_memory_equal(&flow->src, &w->addr[0], sizeof(flow->src));
	assert_memory_equal(&flow->dst, group, sizeof(flow->dst));
	assert_int_equal(flow->tclass, 0x6a);
	assert_int_equal(flow->hop_limit, 17);
	assert_int_equal(rn_icrc_check(&hint, flow, w->got[0].data, PACKET, 0, true),
			 RN_ICRC_OK);
}

static void every_end_that_joined_gets_one_copy(void **state)
{
	struct world *w = *state;

	/* The sender is one of them. */
	for (unsigned i = 0; i < ENDS; i++)
		assert_int_equal(join(w->end[i], &w->group), 0);
	for (unsigned n = 0; n < 5; n++)
		send_to(w, &w->group, (uint8_t)n);
	for (unsigned i = 0; i < ENDS; i++) {
		for (unsigned n = 0; n < 5; n++)
			expect(w, i, &w->group, (uint8_t)n);
		assert_int_equal(receive(w, i), 0);
	}
}

/* The kernel's own is 1 for groups, whatever a socket has for single destinations: that
 * of the flow must be said, also where it is the same as the latter.
 */
static void packets_leave_with_the_hop_limit_of_the_flow(void **state)
{
	static const uint8_t limits[] = { 1, 2, 63, 64, 65, 255 };
	struct world *w = *state;

	assert_int_equal(join(w->end[1], &w->group), 0);
	for (unsigned i = 0; i < sizeof(limits); i++) {
		struct pollfd fd = { .fd = rn_udp_groups_fd(w->end[1]),
				     .events = POLLIN };

		send_with(w, &w->group, 1, limits[i]);
		if (!rn_udp_holds(w->end[1]))
			assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
		assert_int_equal(receive(w, 1), 1);
		assert_int_equal(w->got[0].flow->hop_limit, limits[i]);
	}
}

static void who_has_not_joined_or_left_gets_nothing(void **state)
{
	struct world *w = *state;
	const struct rn_gid other = group_of(1);

	assert_int_equal(join(w->end[0], &w->group), 0);
	assert_int_equal(join(w->end[1], &w->group), 0);
	assert_int_equal(join(w->end[2], &other), 0);
	leave(w->end[1], &w->group);
	assert_int_equal(rn_udp_leave(w->end[1], &w->group), -1);
	send_to(w, &w->group, 1);
	expect(w, 0, &w->group, 1);
	assert_int_equal(receive(w, 1), 0);
	assert_int_equal(receive(w, 2), 0);
}

static void groups_of_one_end_are_told_apart(void **state)
{
	struct world *w = *state;
	struct rn_gid group[4];

	for (unsigned n = 0; n < RN_ARRAY_SIZE(group); n++) {
		group[n] = group_of(n);
		assert_int_equal(join(w->end[1], &group[n]), 0);
	}
	for (unsigned n = 0; n < RN_ARRAY_SIZE(group); n++) {
		send_to(w, &group[n], (uint8_t)n);
		expect(w, 1, &group[n], (uint8_t)n);
	}
	leave(w->end[1], &group[1]);
	send_to(w, &group[1], 9);
	send_to(w, &group[3], 9);
	expect(w, 1, &group[3], 9);
	assert_int_equal(receive(w, 1), 0);
}

static void no_group_starves_another(void **state)
{
	struct world *w = *state;
	const struct rn_gid other = group_of(1);
	unsigned seen = 0;

	assert_int_equal(join(w->end[1], &w->group), 0);
	assert_int_equal(join(w->end[1], &other), 0);
	for (unsigned n = 0; n < 50; n++)
		send_to(w, &w->group, 1);
	send_to(w, &other, 2);
	for (unsigned n = 0; n < 5; n++) {
		assert_int_equal(receive(w, 1), 1);
		seen += w->got[0].data[0] == 2;
	}
	assert_int_equal(seen, 1);
}

static void a_full_socket_costs_the_others_nothing(void **state)
{
	struct world *w = *state;
	const int small = 2048;
	unsigned got = 0;

	assert_int_equal(join(w->end[1], &w->group), 0);
	assert_int_equal(join(w->end[2], &w->group), 0);
	assert_int_equal(setsockopt(w->end[2]->groups->fd, SOL_SOCKET, SO_RCVBUF, &small,
				    sizeof(small)),
			 0);
	for (unsigned n = 0; n < 100; n++)
		send_to(w, &w->group, (uint8_t)n);
	for (unsigned n = 0; n < 100; n++)
		expect(w, 1, &w->group, (uint8_t)n);
	while (receive(w, 2) == 1)
		got++;
	assert_in_range(got, 1, 99);
	/* The kernel says so with the next packet that it takes. */
	send_to(w, &w->group, 100);
	expect(w, 2, &w->group, 100);
	assert_int_equal(w->stats[2][RN_STAT_SOCK_OVERFLOW], 100 - got);
	assert_int_equal(w->stats[1][RN_STAT_SOCK_OVERFLOW], 0);
}

static void unicast_goes_on_beside_groups(void **state)
{
	struct world *w = *state;

	assert_int_equal(join(w->end[1], &w->group), 0);
	for (unsigned n = 0; n < 3; n++) {
		struct pollfd fd = { .fd = rn_udp_fd(w->end[1], 0), .events = POLLIN };

		send_to(w, &w->addr[1], (uint8_t)n);
		assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
		assert_int_equal(receive(w, 1), 1);
		assert_memory_equal(&w->got[0].flow->dst, &w->addr[1], 16);
		send_to(w, &w->group, (uint8_t)n);
		expect(w, 1, &w->group, (uint8_t)n);
	}
	assert_int_equal(receive(w, 1), 0);
}

static void an_interface_that_is_not_there_is_refused(void **state)
{
	struct world *w = *state;
	const struct rn_gid group6 = { .raw = { 0xff, 0x05, [15] = 1 } };

	assert_int_equal(rn_group_open(&w->group, NO_INTERFACE), -ENODEV);
	assert_int_equal(rn_group_open(&group6, NO_INTERFACE), -ENODEV);
}

static void a_port_that_is_held_without_sharing_is_refused(void **state)
{
	struct world *w = *state;
	int holder = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(holder >= 0);
	assert_int_equal(roce_bind(holder, &w->group), 0);
	assert_int_equal(join(w->end[1], &w->group), -EADDRINUSE);
	assert_null(w->end[1]->groups);
	close(holder);
	assert_int_equal(join(w->end[1], &w->group), 0);
}

/* Here no descriptor at all, or a file, which no set of the kernel's takes. */
static void a_socket_that_cannot_be_watched_is_not_joined(void **state)
{
	struct world *w = *state;
	int file = memfd_create("file", MFD_CLOEXEC);

	assert_int_equal(rn_udp_join(w->end[1], &w->group, -1), -EBADF);
	assert_int_equal(rn_udp_join(w->end[1], &w->group, file), -EPERM);
	assert_null(w->end[1]->groups);
	assert_int_equal(rn_udp_leave(w->end[1], &w->group), -1);
	assert_int_equal(close(file), 0); /* it is still the caller's */
	assert_int_equal(join(w->end[1], &w->group), 0);
}

/* Also what was taken out of the socket ahead of its turn. */
static void what_a_group_has_brought_goes_with_it(void **state)
{
	struct world *w = *state;

	assert_int_equal(join(w->end[1], &w->group), 0);
	for (unsigned n = 0; n < 40; n++)
		send_to(w, &w->group, (uint8_t)n);
	expect(w, 1, &w->group, 0);
	for (unsigned n = 1; n < 40 && io_by_uring() && !rn_udp_holds(w->end[1]); n++)
		expect(w, 1, &w->group, (uint8_t)n);
	leave(w->end[1], &w->group);
	assert_false(rn_udp_holds(w->end[1]));
	assert_int_equal(receive(w, 1), 0);
}

/* Its socket is still there as long as a fork() child holds a copy. */
static void a_group_that_was_left_wakes_nobody(void **state)
{
	struct world *w = *state;
	struct pollfd fd;
	int copy;

	assert_int_equal(join(w->end[1], &w->group), 0);
	copy = dup(w->end[1]->groups->fd);
	assert_true(copy >= 0);
	fd = (struct pollfd){ .fd = rn_udp_groups_fd(w->end[1]), .events = POLLIN };
	send_to(w, &w->group, 1);
	assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
	leave(w->end[1], &w->group);
	assert_int_equal(poll(&fd, 1, 0), 0);
	close(copy);
}

/* ---- What the kernel may say ---- */
static bool has_too_many, has_no_route;

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (has_too_many && level == IPPROTO_IP && name == IP_ADD_MEMBERSHIP) {
		errno = ENOBUFS;
		return -1;
	}
	return __real_setsockopt(fd, level, name, value, len);
}

static bool answer_syscall(long number, long arg[KIT_SYSCALL_ARGS], long *rc)
{
	(void)arg;
	if (has_no_route && number == SYS_connect) {
		errno = ENETUNREACH;
		*rc = -1;
		return true;
	}
	return false;
}

/* For verbs that is a lack of memory; ENOBUFS is none of their errors. */
static void more_groups_than_the_kernel_takes_are_enomem(void **state)
{
	struct world *w = *state;

	has_too_many = true;
	assert_int_equal(rn_group_open(&w->group, LO), -ENOMEM);
	has_too_many = false;
	assert_int_equal(join(w->end[1], &w->group), 0);
}

/* The kernel would let a socket in, and nothing would ever come. */
static void an_ipv6_group_that_loopback_has_no_route_to_is_refused(void **state)
{
	const struct rn_gid group6 = { .raw = { 0xff, 0x05, [15] = 1 } };
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	if (fd < 0)
		skip(); /* no IPv6 */
	close(fd);
	has_no_route = true;
	assert_int_equal(rn_group_open(&group6, LO), -ENETUNREACH);
	/* On others the route comes with the link: they are asked themselves. */
	assert_int_equal(rn_group_open(&group6, NO_INTERFACE), -ENODEV);
	has_no_route = false;
}

/* A program may not have many, and groups come and go. */
static void nothing_stays_open_of_a_device_that_is_closed(void **state)
{
	const struct rn_gid addr = roce_gid(0), group[] = { group_of(0), group_of(1) };
	uint64_t stats[RN_STAT_COUNT] = { 0 };
	unsigned before = count_descriptors();
	struct rn_udp *u = open_end(&addr, LO, stats);

	(void)state;
	for (unsigned n = 0; n < RN_ARRAY_SIZE(group); n++)
		assert_int_equal(join(u, &group[n]), 0);
	assert_true(count_descriptors() > before);
	rn_udp_free(u);
	assert_int_equal(count_descriptors(), before);
}

static void a_group_that_is_left_leaves_nothing_open(void **state)
{
	struct world *w = *state;
	const struct rn_gid other = group_of(1);
	unsigned before;

	assert_int_equal(join(w->end[1], &other), 0);
	before = count_descriptors(); /* with the set of all groups */
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(join(w->end[1], &w->group), 0);
		leave(w->end[1], &w->group);
	}
	assert_int_equal(count_descriptors(), before);
}

static void a_group_that_is_refused_leaves_nothing_open(void **state)
{
	struct world *w = *state;
	unsigned before = count_descriptors();

	assert_int_equal(rn_group_open(&w->group, NO_INTERFACE), -ENODEV);
	has_too_many = true;
	assert_int_equal(rn_group_open(&w->group, LO), -ENOMEM);
	has_too_many = false;
	assert_int_equal(count_descriptors(), before);
}

/* Whatever comes of it: a host may have no IPv6, or no route. */
static void looking_for_the_route_of_a_group_leaves_nothing_open(void **state)
{
	const struct rn_gid group6 = { .raw = { 0xff, 0x05, [15] = 1 } };
	unsigned before = count_descriptors();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		has_no_route = i > 0;
		(void)rn_group_route(&group6, LO);
		(void)rn_group_route(&group6, NO_INTERFACE);
		rn_group_close(rn_group_open(&group6, LO), &group6, LO);
	}
	has_no_route = false;
	assert_int_equal(count_descriptors(), before);
}

#define GROUP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GROUP_TEST(every_end_that_joined_gets_one_copy),
		GROUP_TEST(packets_leave_with_the_hop_limit_of_the_flow),
		GROUP_TEST(who_has_not_joined_or_left_gets_nothing),
		GROUP_TEST(groups_of_one_end_are_told_apart),
		GROUP_TEST(no_group_starves_another),
		GROUP_TEST(a_full_socket_costs_the_others_nothing),
		GROUP_TEST(unicast_goes_on_beside_groups),
		GROUP_TEST(an_interface_that_is_not_there_is_refused),
		GROUP_TEST(a_port_that_is_held_without_sharing_is_refused),
		GROUP_TEST(a_socket_that_cannot_be_watched_is_not_joined),
		GROUP_TEST(what_a_group_has_brought_goes_with_it),
		GROUP_TEST(a_group_that_was_left_wakes_nobody),
		GROUP_TEST(more_groups_than_the_kernel_takes_are_enomem),
		cmocka_unit_test(an_ipv6_group_that_loopback_has_no_route_to_is_refused),
		cmocka_unit_test(nothing_stays_open_of_a_device_that_is_closed),
		GROUP_TEST(a_group_that_is_left_leaves_nothing_open),
		GROUP_TEST(a_group_that_is_refused_leaves_nothing_open),
		cmocka_unit_test(looking_for_the_route_of_a_group_leaves_nothing_open),
	};
	int missing = io_missing();

	return missing ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
