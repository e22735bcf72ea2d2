/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_netdev.c - specifications of devices on the loopback interface, and on others. */

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "rocin/gid.h"
#include "rocin/netdev.h"

/* ---- Interfaces that this machine does not have ---- */

static struct ifaddrs *played; /* by the test; NULL: those of the machine */

int __real_getifaddrs(struct ifaddrs **all);
int __wrap_getifaddrs(struct ifaddrs **all);
void __real_freeifaddrs(struct ifaddrs *all);
void __wrap_freeifaddrs(struct ifaddrs *all);
unsigned __real_if_nametoindex(const char *name);
unsigned __wrap_if_nametoindex(const char *name);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __real_inet_pton(int family, const char *text, void *addr);
int __wrap_inet_pton(int family, const char *text, void *addr);

int __wrap_getifaddrs(struct ifaddrs **all)
{
	*all = played;
	return played ? 0 : __real_getifaddrs(all);
}

void __wrap_freeifaddrs(struct ifaddrs *all)
{
	if (all != played)
		__real_freeifaddrs(all);
}

/* Of the place in the list, far beyond those of the machine. */
unsigned __wrap_if_nametoindex(const char *name)
{
	unsigned index = 0x7ffffff0;

	if (!played)
		return __real_if_nametoindex(name);
	for (const struct ifaddrs *i = played; i; i = i->ifa_next, index++)
		if (strcmp(i->ifa_name, name) == 0)
			return index;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!played)
		return __real_ioctl(fd, request, arg);
	assert_int_equal(request, SIOCGIFMTU);
	((struct ifreq *)arg)->ifr_mtu = 1500;
	return 0;
}

/* No text is looked at that is longer than any address. */
int __wrap_inet_pton(int family, const char *text, void *addr)
{
	assert_in_range(strlen(text), 0, INET6_ADDRSTRLEN - 1);
	return __real_inet_pton(family, text, addr);
}

static char salt_path[64]; /* where another process puts its salt meanwhile; "": nobody */
static const uint64_t salt_of_another = UINT64_C(0x5a17);

pid_t __real_gettid(void);
pid_t __wrap_gettid(void);

static void write_salt(void)
{
	FILE *f = fopen(salt_path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(&salt_of_another, sizeof(salt_of_another), 1, f), 1);
	fclose(f);
}

/* The process asks for it when it has found no salt and is going to make one. */
pid_t __wrap_gettid(void)
{
	if (*salt_path)
		write_salt();
	return __real_gettid();
}

static struct rn_gid ipv4(const char *text)
{
	struct rn_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	assert_int_equal(inet_pton(AF_INET, text, gid.raw + 12), 1);
	return gid;
}

static struct rn_netdev one(const char *spec)
{
	struct rn_netdev dev;
	char why[256] = "";

	if (rn_netdev_discover(spec, &dev, 1, why, sizeof(why)) != 1)
		fail_msg("%s: %s", spec, why);
	return dev;
}

static void expect_gid(const struct rn_gid *gid, const char *text)
{
	const struct rn_gid want = ipv4(text);

	assert_memory_equal(gid, &want, sizeof(want));
}

static void nothing_and_lo_mean_loopback(void **state)
{
	static const char *const specs[] = { NULL, "", "lo" };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const struct rn_netdev dev = one(specs[i]);

		assert_string_equal(dev.ibdev, "rocin0");
		assert_string_equal(dev.ifname, "lo");
		assert_int_equal(dev.ifindex, if_nametoindex("lo"));
		assert_in_range(dev.mtu, 1500, 1 << 20);
		assert_true(dev.up);
		assert_in_range(dev.gid_count, 1, 2);
		expect_gid(&dev.gid[0], "127.0.0.1");
		if (dev.gid_count == 2)
			assert_int_equal(dev.gid[1].raw[15], 1);
	}
}

static void addresses_keep_the_order_that_they_are_given_in(void **state)
{
	const struct rn_netdev dev = one("lo:127.0.0.9+127.1.2.3+127.0.0.1");

	(void)state;
	assert_int_equal(dev.gid_count, 3);
	expect_gid(&dev.gid[0], "127.0.0.9");
	expect_gid(&dev.gid[1], "127.1.2.3");
	expect_gid(&dev.gid[2], "127.0.0.1");
}

static void devices_are_numbered_in_the_order_that_they_are_given_in(void **state)
{
	struct rn_netdev dev[3];

	(void)state;
	assert_int_equal(rn_netdev_discover("lo:127.0.0.9,lo:127.0.0.8,lo:127.0.0.7", dev,
					    3, NULL, 0),
			 3);
	for (unsigned i = 0; i < 3; i++) {
		const char digit[2] = { (char)('0' + i), '\0' };

		assert_string_equal(dev[i].ibdev + 5, digit);
		assert_int_equal(dev[i].gid[0].raw[15], 9 - i);
	}
}

static void an_address_given_twice_to_one_device_counts_once(void **state)
{
	(void)state;
	assert_int_equal(one("lo:127.0.0.9+127.0.0.9").gid_count, 1);
	assert_int_equal(one("lo:127.0.0.9+::ffff:127.0.0.9").gid_count, 1);
}

static void wrong_specifications_are_refused_with_a_sentence(void **state)
{
	static const struct {
		const char *spec;
		int rc;
		const char *words;
	} cases[] = {
		{ ",", -EINVAL, "interface name is missing" },
		{ "lo,", -EINVAL, "interface name is missing" },
		{ ":127.0.0.1", -EINVAL, "interface name is missing" },
		{ "lo:", -EINVAL, "is not an IPv4 or IPv6 address" },
		{ "lo:127.0.0.1+", -EINVAL, "is not an IPv4 or IPv6 address" },
		{ "lo:127.0.0", -EINVAL, "\"127.0.0\" is not" },
		{ "lo:127.0.0.1.1", -EINVAL, "is not an IPv4 or IPv6 address" },
		/* 46 characters: one more than an address can have */
		{ "lo:0000:0000:0000:0000:0000:ffff:255.255.255.2550", -EINVAL,
		  "is not an IPv4 or IPv6 address" },
		{ "lo:0123456789012345678901234567890123456789012345678901234567890",
		  -EINVAL, "is not an IPv4 or IPv6 address" },
		{ "lo:192.0.2.1", -EADDRNOTAVAIL,
		  "lo does not have the address 192.0.2.1" },
		{ "lo:0.0.0.0", -EADDRNOTAVAIL, "lo does not have" },
		{ "no-such-if", -ENODEV, "no network interface \"no-such-if\"" },
		{ "a-name-that-is-much-too-long-for-one", -ENODEV,
		  "no network interface" },
		{ "lo:127.0.0.9,lo:127.0.0.9", -EINVAL,
		  "127.0.0.9 is given to two devices" },
		{ "lo:127.0.0.1,lo:127.0.0.2,lo:127.0.0.3", -ENOSPC,
		  "more than 2 devices" },
		{ "lo:127.0.0.1+127.0.0.2+127.0.0.3+127.0.0.4+127.0.0.5+127.0.0.6+127.0."
		  "0.7+"
		  "127.0.0.8+127.0.0.9+127.0.0.10+127.0.0.11+127.0.0.12+127.0.0.13+127.0."
		  "0.14+"
		  "127.0.0.15+127.0.0.16+127.0.0.17",
		  -ENOSPC, "more than 16 addresses" },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct rn_netdev dev[2];
		char why[256] = "";

		assert_int_equal(
			rn_netdev_discover(cases[i].spec, dev, 2, why, sizeof(why)),
			cases[i].rc);
		if (!strstr(why, cases[i].words))
			fail_msg("%s: %s", cases[i].spec, why);
	}
}

static void a_guid_is_stable_local_and_differs_between_devices(void **state)
{
	const struct rn_netdev first = one("lo:127.0.0.9"), again = one("lo:127.0.0.9");
	const struct rn_netdev other = one("lo:127.0.0.8");

	(void)state;
	assert_true(first.node_guid == again.node_guid);
	assert_true(first.node_guid != other.node_guid);
	assert_int_equal(first.node_guid >> 56 & 3, 2); /* local, not a group */
}

/* Of two devices whose addresses differ in the last byte. */
static void a_guid_does_not_tell_that_of_another_device(void **state)
{
	const uint64_t prime = UINT64_C(0x100000001b3), bits = UINT64_C(3) << 56;
	const uint64_t known = one("lo:127.0.0.9").node_guid;
	const uint64_t other = one("lo:127.0.0.8").node_guid;
	uint64_t inverse = prime;

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		inverse *= 2 - prime * inverse;
	assert_true(prime * inverse == 1);
	/* As if the hash were FNV-1a, with any value of the two bits that are lost */
	for (uint64_t lost = 0; lost < 4; lost++) {
		uint64_t before = ((known & ~bits) | lost << 56) * inverse ^ 9;

		assert_true((((before ^ 8) * prime ^ other) & ~bits) != 0);
	}
}

static void of_two_salts_made_at_once_one_counts(void **state)
{
	char dir[] = "/tmp/rocin-test-XXXXXX";
	const char *set = getenv("ROCIN_RUNTIME_DIR");
	char *before = set ? strdup(set) : NULL;
	uint64_t found = 0, first, again;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("ROCIN_RUNTIME_DIR", dir, 1);
	snprintf(salt_path, sizeof(salt_path), "%s/guid-salt", dir);
	first = one("lo:127.0.0.9").node_guid;
	again = one("lo:127.0.0.9").node_guid;
	f = fopen(salt_path, "r");
	assert_non_null(f);
	assert_int_equal(fread(&found, sizeof(found), 1, f), 1);
	fclose(f);
	unlink(salt_path);
	*salt_path = '\0';
	if (before)
		setenv("ROCIN_RUNTIME_DIR", before, 1);
	else
		unsetenv("ROCIN_RUNTIME_DIR");
	free(before);
	assert_int_equal(rmdir(dir), 0);
	assert_true(found == salt_of_another);
	assert_true(first == again);
}

static struct ifaddrs iface(const char *name, unsigned flags, struct sockaddr_in6 *addr)
{
	return (struct ifaddrs){ .ifa_name = (char *)name,
				 .ifa_flags = flags,
				 .ifa_addr = (struct sockaddr *)addr };
}

/* It means something on its interface only; within one it is given once. */
static void a_link_local_address_may_be_that_of_two_interfaces(void **state)
{
	struct sockaddr_in6 local = { .sin6_family = AF_INET6,
				      .sin6_addr.s6_addr = { 0xfe, 0x80, [15] = 1 } };
	struct sockaddr_in6 global = { .sin6_family = AF_INET6,
				       .sin6_addr.s6_addr = { 0xfd, [15] = 1 } };
	struct ifaddrs list[] = { iface("a", IFF_UP | IFF_RUNNING, &local),
				  iface("b", IFF_UP | IFF_RUNNING, &local),
				  iface("a", IFF_UP | IFF_RUNNING, &global),
				  iface("b", IFF_UP | IFF_RUNNING, &global) };
	struct rn_netdev dev[2];
	char why[256] = "";

	(void)state;
	for (unsigned i = 0; i + 1 < RN_ARRAY_SIZE(list); i++)
		list[i].ifa_next = &list[i + 1];
	played = list;
	assert_int_equal(
		rn_netdev_discover("a:fe80::1,b:fe80::1", dev, 2, why, sizeof(why)), 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(dev[i].ifname, i ? "b" : "a");
		assert_int_equal(dev[i].gid_count, 1);
		assert_memory_equal(&dev[i].gid[0], &local.sin6_addr, 16);
	}
	assert_int_equal(
		rn_netdev_discover("a:fe80::1,a:fe80::1", dev, 2, why, sizeof(why)),
		-EINVAL);
	assert_non_null(strstr(why, "fe80::1 is given to two devices"));
	assert_int_equal(
		rn_netdev_discover("a:fd00::1,b:fd00::1", dev, 2, why, sizeof(why)),
		-EINVAL);
	assert_non_null(strstr(why, "fd00::1 is given to two devices"));
	played = NULL;
}

static void a_port_is_up_where_its_interface_is_up_and_has_a_carrier(void **state)
{
	static const struct {
		unsigned flags;
		bool up;
	} cases[] = { { 0, false },
		      { IFF_UP, false },
		      { IFF_RUNNING, false },
		      { IFF_UP | IFF_RUNNING, true },
		      { IFF_UP | IFF_RUNNING | IFF_MULTICAST, true } };
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6,
				     .sin6_addr.s6_addr = { 0xfd, [15] = 1 } };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct ifaddrs only = iface("eth7", cases[i].flags, &addr);

		played = &only;
		assert_int_equal(one("eth7").up, cases[i].up);
		played = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_and_lo_mean_loopback),
		cmocka_unit_test(addresses_keep_the_order_that_they_are_given_in),
		cmocka_unit_test(
			devices_are_numbered_in_the_order_that_they_are_given_in),
		cmocka_unit_test(an_address_given_twice_to_one_device_counts_once),
		cmocka_unit_test(wrong_specifications_are_refused_with_a_sentence),
		cmocka_unit_test(a_guid_is_stable_local_and_differs_between_devices),
		cmocka_unit_test(a_guid_does_not_tell_that_of_another_device),
		cmocka_unit_test(of_two_salts_made_at_once_one_counts),
		cmocka_unit_test(a_link_local_address_may_be_that_of_two_interfaces),
		cmocka_unit_test(
			a_port_is_up_where_its_interface_is_up_and_has_a_carrier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
