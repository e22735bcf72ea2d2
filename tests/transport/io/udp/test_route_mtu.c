/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_route_mtu.c - what a route carries is what was configured; what ICMP makes of it
 * is in adversary.icmp.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/tools/rocind/kit/netns.h"
#include "transport/io/udp/route_mtu.h"

static const struct rn_gid ours = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
static const struct rn_gid theirs = { .raw = { [10] = 0xff, 0xff, 10, 1, 0, 2 } };
static const struct rn_gid ours6 = { .raw = { 0xfd, 0x77, [15] = 1 } };
static const struct rn_gid theirs6 = { .raw = { 0xfd, 0x78, [15] = 2 } };

static void interface_says_what_a_route_does_not(void **state)
{
	(void)state;
	assert_int_equal(rn_route_mtu(&ours, &theirs, 0), 3000);
	assert_true(netns_ip("link set v0 mtu 2000"));
	assert_int_equal(rn_route_mtu(&ours, &theirs, 0), 2000);
	assert_true(netns_ip("link set v0 mtu 3000"));
}

static void route_says_less_than_its_interface(void **state)
{
	(void)state;
	assert_true(netns_ip("route replace 10.1.0.0/16 via 10.0.0.9 mtu 1400"));
	assert_int_equal(rn_route_mtu(&ours, &theirs, 0), 1400);
	assert_true(netns_ip("route replace 10.1.0.0/16 via 10.0.0.9"));
	assert_int_equal(rn_route_mtu(&ours, &theirs, 0), 3000);
}

static void ipv6_is_no_different(void **state)
{
	(void)state;
	if (access("/proc/net/if_inet6", F_OK))
		skip();
	assert_true(netns_ip("addr add fd77::1/64 dev v0 nodad"));
	assert_true(netns_ip("-6 route add fd78::/64 via fd77::9 mtu 1500"));
	assert_int_equal(rn_route_mtu(&ours6, &theirs6, 0), 1500);
}

static void nothing_is_known_of_what_has_no_route(void **state)
{
	static const struct rn_gid nobody = { .raw = {
						      [10] = 0xff, 0xff, 192, 0, 2, 1 } };

	(void)state;
	assert_int_equal(rn_route_mtu(&ours, &nobody, 0), 0);
	assert_int_equal(rn_route_mtu(&theirs, &ours, 0), 0); /* no address of ours */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interface_says_what_a_route_does_not),
		cmocka_unit_test(route_says_less_than_its_interface),
		cmocka_unit_test(ipv6_is_no_different),
		cmocka_unit_test(nothing_is_known_of_what_has_no_route),
	};

	if (!netns_enter() || !netns_ip("link add v0 mtu 3000 type veth peer name v1") ||
	    !netns_ip("addr add 10.0.0.1/24 dev v0") || !netns_ip("link set v1 up") ||
	    !netns_ip("link set v0 up") ||
	    !netns_ip("route add 10.1.0.0/16 via 10.0.0.9")) {
		printf("skipped: no network namespace or no veth interfaces\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
