/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fake_netdevs.h - the same interfaces on every machine, in place of those of this one.
 *
 * lo; eth0 with a MAC, a labelled address and a link-local one; v6 with addresses of
 * IPv6 only; none without any; many with more addresses than a GID table holds.
 *
 * Link with -Wl,--wrap= of getifaddrs, freeifaddrs, if_nametoindex and ioctl.
 */
#ifndef FUZZ_FAKE_NETDEVS_H
#define FUZZ_FAKE_NETDEVS_H

#include <ifaddrs.h>

int __wrap_getifaddrs(struct ifaddrs **out);
void __wrap_freeifaddrs(struct ifaddrs *all);
unsigned __wrap_if_nametoindex(const char *name);
int __wrap_ioctl(int fd, unsigned long request, ...);

#endif /* FUZZ_FAKE_NETDEVS_H */
