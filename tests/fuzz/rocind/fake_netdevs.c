/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fake_netdevs.c - the same interfaces on every machine, in place of those of this one.
 *
 * lo; eth0 with a MAC, a labelled address and a link-local one; v6 with addresses of
 * IPv6 only; none and tun0 without any; many with more addresses than a GID table holds.
 *
 * Link with -Wl,--wrap= of the functions below.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "tests/fuzz/script.h"

int __wrap_getifaddrs(struct ifaddrs **out);
void __wrap_freeifaddrs(struct ifaddrs *all);
unsigned __wrap_if_nametoindex(const char *name);
int __wrap_ioctl(int fd, unsigned long request, ...);

enum {
	UP = IFF_UP | IFF_RUNNING,
	MTU = 1500,
	MANY = 17,
	ENTRIES_MAX = 32,
};

/* An address in words; none: the entry of the link itself. */
static const struct {
	const char *name;
	unsigned flags;
	const char *address;
} listed[] = {
	{ "lo", UP | IFF_LOOPBACK, NULL },
	{ "lo", UP | IFF_LOOPBACK, "127.0.0.1" },
	{ "lo", UP | IFF_LOOPBACK, "::1" },
	{ "eth0", UP, NULL },
	{ "eth0", UP, "10.0.0.1" },
	{ "eth0:1", UP, "10.0.0.2" },
	{ "eth0", UP, "2001:db8::1" },
	{ "eth0", UP, "fe80::1" },
	{ "v6", IFF_UP, "2001:db8::2" },
	{ "v6", IFF_UP, "fe80::1" },
	{ "none", 0, NULL },
};

static struct {
	struct ifaddrs entry[ENTRIES_MAX];
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_ll link;
	} addr[ENTRIES_MAX];
	unsigned count;
} fake;

static void add(const char *name, unsigned flags)
{
	struct ifaddrs *ifa = &fake.entry[fake.count];

	require(fake.count < ENTRIES_MAX);
	ifa->ifa_name = (char *)(uintptr_t)name;
	ifa->ifa_flags = flags;
	ifa->ifa_addr = &fake.addr[fake.count].any;
	if (fake.count)
		ifa[-1].ifa_next = ifa;
	fake.count++;
}

static void set_link(struct sockaddr_ll *link)
{
	link->sll_family = AF_PACKET;
	link->sll_hatype = ARPHRD_ETHER;
	link->sll_halen = 6;
	memcpy(link->sll_addr, "\x02\x00\x5e\x10\x20\x30", 6);
}

static void list_all(void)
{
	for (unsigned i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
		const char *text = listed[i].address;
		unsigned n = fake.count;

		add(listed[i].name, listed[i].flags);
		if (!text) {
			set_link(&fake.addr[n].link);
		} else if (strchr(text, ':')) {
			fake.addr[n].v6.sin6_family = AF_INET6;
			inet_pton(AF_INET6, text, &fake.addr[n].v6.sin6_addr);
		} else {
			fake.addr[n].v4.sin_family = AF_INET;
			inet_pton(AF_INET, text, &fake.addr[n].v4.sin_addr);
		}
	}
	for (uint32_t i = 0; i < MANY; i++) {
		add("many", UP);
		fake.addr[fake.count - 1].v4 =
			(struct sockaddr_in){ .sin_family = AF_INET,
					      .sin_addr.s_addr = htonl(0x0a010000u + i) };
	}
	add("tun0", UP); /* some links have no address at all */
	fake.entry[fake.count - 1].ifa_addr = NULL;
}

int __wrap_getifaddrs(struct ifaddrs **out)
{
	if (!fake.count)
		list_all();
	*out = fake.entry;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *all)
{
	require(all == fake.entry);
}

unsigned __wrap_if_nametoindex(const char *name)
{
	for (unsigned i = 0; i < fake.count; i++)
		if (strcmp(fake.entry[i].ifa_name, name) == 0)
			return i + 1;
	return 0;
}

/* The only request of the code under test. */
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct ifreq *req;
	va_list ap;

	va_start(ap, request);
	req = va_arg(ap, struct ifreq *);
	va_end(ap);
	require(fd >= 0 && request == SIOCGIFMTU);
	req->ifr_mtu = MTU;
	return 0;
}
