/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_watch.c - addresses and links that change under a running device.
 *
 * In a network namespace with a veth pair; exit code 77 where none can be had.
 */
#include "tests/tools/rocind/kit/rocind_kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/tools/rocind/kit/netns.h"

/* The kernel tells of a link that comes up once in a second, for all of them: the news of
 * one test would come in the middle of the next.
 */
static bool comes_up(const char *name)
{
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strncpy(ifr.ifr_name, name, sizeof(ifr.ifr_name) - 1);
	for (unsigned i = 0; i < KIT_WAIT_MS / 10; i++) {
		if (ioctl(fd, SIOCGIFFLAGS, &ifr) == 0 && (ifr.ifr_flags & IFF_RUNNING))
			break;
		usleep(10000);
	}
	close(fd);
	return ifr.ifr_flags & IFF_RUNNING;
}

static int setup(void **state)
{
	if (!netns_ip("link add rn0 address 02:00:5e:10:00:01 type veth peer name rn1") ||
	    !netns_ip("link set rn1 up") || !netns_ip("addr add 10.91.0.1/24 dev rn0") ||
	    !netns_ip("addr add 2001:db8:91::1/64 dev rn0 nodad") ||
	    !netns_ip("link set rn0 up") || !comes_up("rn0"))
		return -1;
	return kit_setup(state);
}

static int teardown(void **state)
{
	netns_ip("link del rn0");
	return kit_teardown(state);
}

static struct rn_netdev discover(const char *spec)
{
	struct rn_netdev dev;
	char why[256] = "";
	int count = rn_netdev_discover(spec, &dev, 1, why, sizeof(why));

	if (count != 1)
		fail_msg("%s: %s", spec, why);
	return dev;
}

static struct rn_gid gid(const char *text)
{
	struct rn_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	if (inet_pton(AF_INET, text, gid.raw + 12) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	return gid;
}

/* The event about this address. Others are ignored, as of the automatic link-local one,
 * or that the link is up.
 */
static struct rn_rocind_event await_gid(struct rn_rocind *r, const struct rn_gid *want)
{
	for (;;) {
		struct rn_rocind_event event = kit_event(r);

		assert_int_not_equal(event.kind, RN_ROCIND_GONE);
		if (memcmp(&event.gid, want, sizeof(*want)) == 0)
			return event;
		if (event.sock >= 0)
			close(event.sock);
	}
}

static void a_device_of_all_addresses_gets_those_that_appear_later(void **state)
{
	const struct rn_netdev dev = discover("rn0");
	const struct rn_gid later = gid("10.91.0.7"), later6 = gid("2001:db8:91::7");
	struct rn_rocind_event event;
	struct rn_attach a, b;
	struct rn_rocind *r = kit_attach(&dev, &a), *second = kit_attach(&dev, &b);

	(void)state;
	assert_true(netns_ip("addr add 10.91.0.7/24 dev rn0"));
	event = await_gid(r, &later);
	assert_int_equal(event.kind, RN_ROCIND_GID_ADDED);
	assert_in_range(event.gid_idx, dev.gid_count, RN_GID_MAX - 1);
	close(event.sock);

	event = await_gid(second, &later);
	assert_int_equal(event.kind, RN_ROCIND_GID_ADDED);
	kit_send(&later, b.qpn_counter << 8 | b.slot, 16);
	assert_int_equal(kit_receive(event.sock), b.qpn_counter << 8 | b.slot);
	close(event.sock);

	/* Without nodad: it can be bound only once duplicate detection has cleared it. */
	assert_true(netns_ip("addr add 2001:db8:91::7/64 dev rn0"));
	event = await_gid(r, &later6);
	assert_int_equal(event.kind, RN_ROCIND_GID_ADDED);
	close(event.sock);
	kit_close_socks(&a);
	kit_close_socks(&b);
	rn_rocind_close(second);
	rn_rocind_close(r);
}

static void a_listed_address_goes_and_comes_back_at_its_place(void **state)
{
	struct rn_rocind_event event;
	struct rn_netdev dev;
	struct rn_attach a;
	struct rn_rocind *r;

	(void)state;
	dev = discover("rn0:2001:db8:91::1+10.91.0.1");
	r = kit_attach(&dev, &a);
	assert_true(netns_ip("addr add 10.91.0.7/24 dev rn0")); /* none of its business */
	assert_true(netns_ip("addr del 10.91.0.1/24 dev rn0"));
	event = await_gid(r, &dev.gid[1]);
	assert_int_equal(event.kind, RN_ROCIND_GID_REMOVED);
	assert_int_equal(event.gid_idx, 1);
	close(a.sock[1]);

	assert_true(netns_ip("addr add 10.91.0.1/24 dev rn0"));
	event = await_gid(r, &dev.gid[1]);
	while (event.kind ==
	       RN_ROCIND_GID_REMOVED) /* the other one left with the first */
		event = await_gid(r, &dev.gid[1]);
	assert_int_equal(event.kind, RN_ROCIND_GID_ADDED);
	assert_int_equal(event.gid_idx, 1);
	kit_send(&dev.gid[1], a.qpn_counter << 8 | a.slot, 16);
	assert_int_equal(kit_receive(event.sock), a.qpn_counter << 8 | a.slot);
	close(event.sock);
	close(a.sock[0]);
	rn_rocind_close(r);
}

/* Named ones are not followed by others, even if they are all that there are. */
static void a_device_of_named_addresses_gets_no_others(void **state)
{
	struct rn_netdev dev = discover("rn0");
	struct rn_rocind_event event;
	struct rn_attach a;
	struct rn_rocind *r;

	(void)state;
	assert_true(dev.all_addresses);
	assert_false(discover("rn0:10.91.0.1").all_addresses);
	assert_false(discover("lo").all_addresses);
	dev.all_addresses = false;
	r = kit_attach(&dev, &a);
	assert_true(netns_ip("addr add 10.91.0.7/24 dev rn0"));
	assert_true(netns_ip("addr del 2001:db8:91::1/64 dev rn0"));
	do {
		event = kit_event(r);
		assert_int_not_equal(event.kind, RN_ROCIND_GID_ADDED);
	} while (event.kind != RN_ROCIND_GID_REMOVED);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

static void the_link_is_told_when_it_goes_down_and_up(void **state)
{
	const struct rn_netdev dev = discover("rn0:10.91.0.1");
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a);

	(void)state;
	/* The carrier comes a moment after the interface; if too late for dev, with news.
	 */
	if (!dev.up)
		assert_int_equal(kit_event(r).kind, RN_ROCIND_PORT_UP);
	assert_true(netns_ip("link set rn1 down")); /* the other end: no carrier */
	assert_int_equal(kit_event(r).kind, RN_ROCIND_PORT_DOWN);
	assert_true(netns_ip("link set rn1 up"));
	assert_int_equal(kit_event(r).kind, RN_ROCIND_PORT_UP);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

static void an_interface_that_is_removed_takes_everything_along(void **state)
{
	const struct rn_netdev dev = discover("rn0:10.91.0.1+2001:db8:91::1");
	unsigned removed = 0, down = 0;
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a);

	(void)state;
	assert_true(netns_ip("link del rn0"));
	while (removed < 2 || down < 1) {
		struct rn_rocind_event event = kit_event(r);

		removed += event.kind == RN_ROCIND_GID_REMOVED;
		down += event.kind == RN_ROCIND_PORT_DOWN;
		assert_int_not_equal(event.kind, RN_ROCIND_GONE);
	}
	kit_close_socks(&a);
	rn_rocind_close(r);
	assert_true(
		netns_ip("link add rn0 type veth peer name rn1")); /* for the teardown */
}

/* ---- IPv6 sockets ---- */

static int get_int(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, IPPROTO_IPV6, name, &value, &len), 0);
	return value;
}

static void ipv6_and_link_local_addresses_are_bound(void **state)
{
	struct rn_netdev dev = discover("rn0:2001:db8:91::1");
	struct sockaddr_in6 sa;
	socklen_t len = sizeof(sa);
	struct rn_attach a;
	struct rn_rocind *r;

	(void)state;
	assert_true(netns_ip("addr add fe80::91/64 dev rn0 nodad"));
	dev.gid[dev.gid_count++] = gid("fe80::91");
	r = kit_attach(&dev, &a);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(get_int(a.sock[i], IPV6_V6ONLY), 1);
		assert_int_equal(get_int(a.sock[i], IPV6_MTU_DISCOVER), IPV6_PMTUDISC_DO);
		assert_int_equal(get_int(a.sock[i], IPV6_RECVTCLASS), 1);
		assert_int_equal(get_int(a.sock[i], IPV6_RECVHOPLIMIT), 1);
		assert_int_equal(getsockname(a.sock[i], (struct sockaddr *)&sa, &len), 0);
		assert_memory_equal(&sa.sin6_addr, &dev.gid[i], 16);
		assert_int_equal(sa.sin6_scope_id, i == 0 ? 0 : dev.ifindex);
	}
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* ---- Discovery ---- */

static void discovery_takes_all_addresses_ipv4_first_link_local_last(void **state)
{
	struct rn_netdev dev;

	(void)state;
	assert_true(netns_ip("addr add fe80::91/64 dev rn0 nodad"));
	assert_true(netns_ip("addr add 10.91.0.7/24 dev rn0 label rn0:7"));
	dev = discover("rn0");
	assert_in_range(dev.gid_count, 4, 5); /* and perhaps the automatic one */
	assert_true(rn_gid_is_ipv4(&dev.gid[0]));
	assert_true(rn_gid_is_ipv4(&dev.gid[1]));
	assert_memory_equal(&dev.gid[2], gid("2001:db8:91::1").raw, 16);
	assert_true(rn_gid_is_link_local(&dev.gid[3]));
	assert_string_equal(dev.ifname, "rn0");
	assert_int_equal(dev.ifindex, if_nametoindex("rn0"));
	assert_int_equal(dev.mtu, 1500);
	assert_true(dev.up);
}

static void a_guid_comes_from_the_mac_and_tells_devices_of_one_card_apart(void **state)
{
	const uint64_t mac_bits = 0xffffff0000ffffff;
	struct rn_netdev dev[2];

	(void)state;
	assert_int_equal(
		rn_netdev_discover("rn0:10.91.0.1,rn0:2001:db8:91::1", dev, 2, NULL, 0),
		2);
	assert_string_equal(dev[0].ibdev, "rocin0");
	assert_string_equal(dev[1].ibdev, "rocin1");
	assert_int_equal(dev[0].node_guid & mac_bits, 0x00005e0000100001);
	assert_int_equal(dev[1].node_guid & mac_bits, 0x00005e0000100001);
	assert_int_not_equal(dev[0].node_guid, dev[1].node_guid);
}

static void discovery_names_what_is_missing(void **state)
{
	struct rn_netdev dev;
	char why[256] = "";

	(void)state;
	assert_int_equal(rn_netdev_discover("rn1", &dev, 1, why, sizeof(why)),
			 -EADDRNOTAVAIL);
	assert_string_equal(why, "rn1 has no IP address");
	assert_int_equal(rn_netdev_discover("rn0:10.91.0.2", &dev, 1, why, sizeof(why)),
			 -EADDRNOTAVAIL);
	assert_string_equal(why, "rn0 does not have the address 10.91.0.2");
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		assert_true(netns_ip("addr add 10.91.1.%u/24 dev rn0", i + 1));
	assert_int_equal(rn_netdev_discover("rn0", &dev, 1, why, sizeof(why)), -ENOSPC);
	assert_non_null(strstr(why, "more than 16 addresses"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_device_of_all_addresses_gets_those_that_appear_later),
		TEST(a_listed_address_goes_and_comes_back_at_its_place),
		TEST(a_device_of_named_addresses_gets_no_others),
		TEST(the_link_is_told_when_it_goes_down_and_up),
		TEST(an_interface_that_is_removed_takes_everything_along),
		TEST(ipv6_and_link_local_addresses_are_bound),
		TEST(discovery_takes_all_addresses_ipv4_first_link_local_last),
		TEST(a_guid_comes_from_the_mac_and_tells_devices_of_one_card_apart),
		TEST(discovery_names_what_is_missing),
	};

	if (!netns_enter() || !netns_ip("link add rn0 type veth peer name rn1") ||
	    !netns_ip("link del rn0")) {
		printf("skipped: no network namespace with a veth pair can be made "
		       "here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
