/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_addresses.c - addresses that nobody uses any more are given back, and are as good
 * as new when somebody comes again.
 */
#include "tests/tools/rocind/kit/rocind_kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MANY = 200,
	LIMIT = 96, /* descriptors of rocind */
};

/* Milliseconds: a rocind that has started waits for its first client for so long, too,
 * and that may have no processor meanwhile.
 */
#define SHORT_WHILE "500"

/* 127.192.0.0/10, where no other test is: 14 bits of the process id, 8 for the test. */
static struct rn_netdev one_of_many(unsigned n)
{
	struct rn_netdev dev = kit_device(1);
	uint32_t host = htonl(0x7fc00000u | ((uint32_t)getpid() & 0x3fff) << 8 | n);

	assert_in_range(n, 0, 255);
	memcpy(dev.gid[0].raw + 12, &host, sizeof(host));
	return dev;
}

static void limit_descriptors(pid_t pid, rlim_t count)
{
	const struct rlimit limit = { count, count };

	assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &limit, NULL), 0);
}

static uint32_t group_count(struct rn_rocind *r)
{
	struct rn_rocind_status status;

	assert_int_equal(rn_rocind_status(r, &status, NULL, 0), 0);
	return status.groups;
}

static void use_once(const struct rn_netdev *dev)
{
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(dev, &a);

	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* Whatever comes is for the process that it names. */
static void expect_packets(const struct rn_netdev *dev, const struct rn_attach *a,
			   unsigned count)
{
	for (uint32_t k = 1; k < 4; k++) {
		for (unsigned i = 0; i < count; i++)
			kit_send(&dev->gid[0], k << 8 | a[i].slot, 16);
		for (unsigned i = 0; i < count; i++)
			assert_int_equal(kit_receive(a[i].sock[0]), k << 8 | a[i].slot);
	}
	for (unsigned i = 0; i < count; i++)
		assert_true(kit_is_empty(a[i].sock[0]));
}

static bool is_port_free(const struct rn_gid *gid)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_free;

	memcpy(&sa.sin_addr, gid->raw + 12, 4);
	is_free = bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
	close(fd);
	return is_free;
}

/* By asking again, for no event tells: rocind's keeper closes its copy of the socket a
 * moment later.
 */
static void await_free_port(const struct rn_gid *gid)
{
	for (unsigned ms = 0; !is_port_free(gid); ms++) {
		assert_in_range(ms, 0, KIT_WAIT_MS);
		poll(NULL, 0, 1);
	}
}

static unsigned free_ports(void)
{
	unsigned count = 0;

	for (unsigned n = 0; n < MANY; n++)
		count += is_port_free(&one_of_many(n).gid[0]);
	return count;
}

/* By asking again: no event tells. */
static void await_groups(struct rn_rocind *r, uint32_t count)
{
	for (unsigned ms = 0; group_count(r) != count; ms++) {
		if (ms == KIT_WAIT_MS)
			fail_msg("%u addresses are held", group_count(r));
		poll(NULL, 0, 1);
	}
}

/* ---- When descriptors are short ---- */

static void more_addresses_than_descriptors_can_be_used_in_turn(void **state)
{
	struct rn_rocind *r = kit_connect();

	(void)state;
	limit_descriptors(kit_daemon(r), LIMIT);
	for (unsigned n = 0; n < MANY; n++) {
		const struct rn_netdev dev = one_of_many(n);

		use_once(&dev);
	}
	assert_in_range(group_count(r), 1, LIMIT / 2);
	for (unsigned ms = 0; free_ports() < MANY - LIMIT / 2; ms++) {
		assert_in_range(ms, 0, KIT_WAIT_MS);
		poll(NULL, 0, 1);
	}
	assert_in_range(free_ports(), 0, MANY - 1);
	rn_rocind_close(r);
}

static void an_address_in_use_is_not_given_back(void **state)
{
	const struct rn_netdev mine = kit_device(1);
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&mine, &a);

	(void)state;
	limit_descriptors(kit_daemon(r), LIMIT);
	for (unsigned n = 0; n < MANY; n++) {
		const struct rn_netdev dev = one_of_many(n);

		use_once(&dev);
	}
	expect_packets(&mine, &a, 1);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* A device whose addresses are idle, among others that must make room for it: at every
 * number of descriptors that are left.
 */
static void addresses_that_somebody_comes_for_are_not_given_back(void **state)
{
	const struct rn_netdev wide = kit_device(8);
	struct rn_rocind *r = kit_connect();

	(void)state;
	limit_descriptors(kit_daemon(r), LIMIT);
	for (unsigned n = 0; n < 48; n++) {
		struct rn_rocind *wide_r;
		struct rn_attach a;

		use_once(&wide);
		for (unsigned k = 0; k < n; k++) {
			const struct rn_netdev dev = one_of_many(k);

			use_once(&dev);
		}
		wide_r = kit_attach(&wide, &a);
		for (unsigned k = 0; k < wide.gid_count; k++) {
			kit_send(&wide.gid[k], 0x500 | a.slot, 16);
			assert_int_equal(kit_receive(a.sock[k]), 0x500 | a.slot);
		}
		kit_close_socks(&a);
		rn_rocind_close(wide_r);
	}
	rn_rocind_close(r);
}

/* Everybody holds what they have: one more is refused, and gets in when one has gone. */
static void with_all_in_use_the_next_is_refused_until_one_goes(void **state)
{
	struct rn_rocind *r = kit_connect(), *held[LIMIT] = { NULL };
	struct rn_attach a[LIMIT];
	struct rn_netdev next;
	unsigned n = 0;

	(void)state;
	limit_descriptors(kit_daemon(r), LIMIT);
	for (; n < LIMIT; n++) {
		const struct rn_netdev dev = one_of_many(n);

		held[n] = rn_rocind_connect_running(NULL, 0);
		if (!held[n] || rn_rocind_attach(held[n], &dev, -1, &a[n], NULL, 0))
			break;
	}
	assert_in_range(n, 8, LIMIT / 2);
	rn_rocind_close(held[n]);
	kit_close_socks(&a[0]);
	rn_rocind_close(held[0]);
	next = one_of_many(n);
	use_once(&next);
	for (unsigned i = 1; i < n; i++) {
		kit_close_socks(&a[i]);
		rn_rocind_close(held[i]);
	}
	rn_rocind_close(r);
}

/* ---- With time ---- */

static void an_address_is_given_back_after_a_while(void **state)
{
	const struct rn_netdev dev = kit_device(1), other = one_of_many(0);
	struct rn_rocind *stays;
	struct rn_attach a;

	(void)state;
	setenv("ROCIN_IDLE_MS", SHORT_WHILE, 1);
	stays = kit_attach(&other, &a);
	use_once(&dev);
	await_groups(stays, 1);
	await_free_port(&dev.gid[0]);
	assert_false(is_port_free(&other.gid[0]));
	kit_close_socks(&a);
	rn_rocind_close(stays);
}

static void an_address_that_is_used_again_is_as_new(void **state)
{
	const struct rn_netdev dev = kit_device(1), other = one_of_many(0);
	struct rn_rocind *stays, *r[5];
	struct rn_attach held, a[5];

	(void)state;
	setenv("ROCIN_IDLE_MS", SHORT_WHILE, 1);
	stays = kit_attach(&other, &held);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 5; i++) {
			r[i] = kit_attach(&dev, &a[i]);
			assert_int_equal(a[i].slot, i + 1);
		}
		expect_packets(&dev, a, 5);
		for (unsigned i = 0; i < 5; i++) {
			kit_close_socks(&a[i]);
			rn_rocind_close(r[i]);
		}
		await_groups(stays, 1);
	}
	kit_close_socks(&held);
	rn_rocind_close(stays);
}

/* As a fork child of the process would keep them. */
static void sockets_that_are_left_over_are_in_nobodys_way(void **state)
{
	const struct rn_netdev dev = kit_device(1), other = one_of_many(0);
	struct rn_rocind *stays, *r[3];
	struct rn_attach held, left[3], a[3];

	(void)state;
	setenv("ROCIN_IDLE_MS", SHORT_WHILE, 1);
	stays = kit_attach(&other, &held);
	for (unsigned i = 0; i < 3; i++)
		r[i] = kit_attach(&dev, &left[i]);
	kit_close_socks(&left[0]);
	for (unsigned i = 0; i < 3; i++)
		rn_rocind_close(r[i]);
	await_groups(stays, 1);
	for (unsigned i = 0; i < 3; i++)
		r[i] = kit_attach(&dev, &a[i]);
	expect_packets(&dev, a, 3);
	for (unsigned i = 1; i < 3; i++)
		assert_true(kit_is_empty(left[i].sock[0]));
	/* They go while the others are in use. */
	kit_close_socks(&left[1]);
	kit_close_socks(&left[2]);
	expect_packets(&dev, a, 3);
	for (unsigned i = 0; i < 3; i++) {
		kit_close_socks(&a[i]);
		rn_rocind_close(r[i]);
	}
	kit_close_socks(&held);
	rn_rocind_close(stays);
}

static void sockets_that_are_left_over_let_no_other_rocind_in(void **state)
{
	const struct rn_netdev dev = kit_device(1), other = one_of_many(0);
	struct rn_rocind *stays, *r, *second;
	struct rn_attach held, left, a;
	pid_t pid;

	(void)state;
	setenv("ROCIN_IDLE_MS", SHORT_WHILE, 1);
	stays = kit_attach(&other, &held);
	rn_rocind_close(kit_attach(&dev, &left));
	await_groups(stays, 1);
	r = kit_attach(&dev, &a);
	setenv("ROCIN_IDLE_MS", "60000", 1);
	kit_use_inner_dir("second");
	second = kit_connect();
	pid = kit_daemon(second);
	assert_int_equal(
		rn_rocind_attach(second, &dev, -1, &(struct rn_attach){ 0 }, NULL, 0),
		-EADDRINUSE);
	expect_packets(&dev, &a, 1);
	assert_int_equal(rn_rocind_shutdown(second, NULL, 0), 0);
	rn_rocind_close(second);
	kit_await_end(pid);
	kit_close_socks(&left);
	kit_close_socks(&a);
	rn_rocind_close(r);
	kit_close_socks(&held);
	rn_rocind_close(stays);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(more_addresses_than_descriptors_can_be_used_in_turn),
		TEST(an_address_in_use_is_not_given_back),
		TEST(addresses_that_somebody_comes_for_are_not_given_back),
		TEST(with_all_in_use_the_next_is_refused_until_one_goes),
		TEST(an_address_is_given_back_after_a_while),
		TEST(an_address_that_is_used_again_is_as_new),
		TEST(sockets_that_are_left_over_are_in_nobodys_way),
		TEST(sockets_that_are_left_over_let_no_other_rocind_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
