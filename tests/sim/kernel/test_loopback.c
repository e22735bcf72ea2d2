/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_loopback.c - interfaces as libfabric is to see them. */
#include "sim/kernel/hooks/loopback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "rocin/gid.h"
#include "rocin/netdev.h"

enum {
	ENTRIES = 4
};

struct list {
	struct ifaddrs entry[ENTRIES];
	struct sockaddr_in v4[ENTRIES];
	struct sockaddr_in6 v6;
};

/* eth0 without an address, eth0, lo, and lo with ::1 */
static void fill(struct list *l)
{
	memset(l, 0, sizeof(*l));
	for (unsigned i = 0; i < ENTRIES; i++) {
		l->entry[i].ifa_next = i + 1 < ENTRIES ? &l->entry[i + 1] : NULL;
		l->entry[i].ifa_name = i < 2 ? "eth0" : "lo";
		l->entry[i].ifa_flags = IFF_UP | (i < 2 ? 0 : (unsigned)IFF_LOOPBACK);
		l->v4[i].sin_family = AF_INET;
		inet_pton(AF_INET, i < 2 ? "10.0.0.1" : "127.0.0.1", &l->v4[i].sin_addr);
		if (i > 0)
			l->entry[i].ifa_addr = (struct sockaddr *)&l->v4[i];
	}
	l->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
				       .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	l->entry[3].ifa_addr = (struct sockaddr *)&l->v6;
}

static struct rn_netdev device(const char *ifname, const char *address)
{
	struct rn_netdev dev = { .gid_count = 1 };

	strcpy(dev.ifname, ifname);
	dev.gid[0] = (struct rn_gid){ .raw = { [10] = 0xff, 0xff } };
	assert_int_equal(inet_pton(AF_INET, address, &dev.gid[0].raw[12]), 1);
	return dev;
}

static const char *address_of(const struct list *l, unsigned i)
{
	static char text[INET_ADDRSTRLEN];

	return inet_ntop(AF_INET, &l->v4[i].sin_addr, text, sizeof(text));
}

static void loopback_bears_the_address_of_the_device(void **state)
{
	struct rn_netdev devs[] = { device("lo", "127.3.2.1"),
				    device("lo", "127.3.2.2") };
	struct list l;

	(void)state;
	fill(&l);
	rnk_loopback_show(l.entry, devs, 2);
	assert_string_equal(address_of(&l, 2), "127.3.2.1");
	assert_false(l.entry[2].ifa_flags & IFF_LOOPBACK);
	assert_true(l.entry[2].ifa_flags & IFF_UP);
	assert_true(l.entry[3].ifa_flags & IFF_LOOPBACK); /* no device there */
	assert_string_equal(address_of(&l, 1), "10.0.0.1");
	devs[0].gid[devs[0].gid_count++] = (struct rn_gid){ .raw = { [15] = 1 } };
	fill(&l);
	rnk_loopback_show(l.entry, devs, 1);
	assert_false(l.entry[3].ifa_flags & IFF_LOOPBACK);
}

static void other_interfaces_stay_as_they_are(void **state)
{
	const struct rn_netdev dev = device("eth0", "10.0.0.9");
	struct list before, after;

	(void)state;
	fill(&before);
	fill(&after);
	rnk_loopback_show(after.entry, &dev, 1);
	assert_memory_equal(before.v4, after.v4, sizeof(before.v4));
	for (unsigned i = 0; i < ENTRIES; i++)
		assert_int_equal(before.entry[i].ifa_flags, after.entry[i].ifa_flags);
	rnk_loopback_show(NULL, &dev, 1);
}

static void only_libfabric_is_told(void **state)
{
	(void)state;
	assert_false(
		rnk_loopback_is_for((const void *)(uintptr_t)only_libfabric_is_told));
	assert_false(rnk_loopback_is_for(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loopback_bears_the_address_of_the_device),
		cmocka_unit_test(other_interfaces_stay_as_they_are),
		cmocka_unit_test(only_libfabric_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
