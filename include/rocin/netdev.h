/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* netdev.h - what a rocin device stands for: one network interface and a set of
 * its addresses.
 *
 * Every part that must agree on the list of devices (the sysfs tree, the provider,
 * rocind) gets it from rn_netdev_discover() with the same specification, so rocin0 is the
 * same device in all of them.
 */
#ifndef RN_NETDEV_H
#define RN_NETDEV_H

#include "rocin/gid.h"

enum {
	RN_NETDEV_MAX = 32, /* devices in one specification */
};

struct rn_netdev {
	char ibdev[32];	 /* "rocin0", "rocin1", ... in the order of the specification */
	char ifname[16]; /* name of an interface of this network namespace */
	uint32_t ifindex;
	uint32_t mtu; /* bytes, of the interface */
	bool up;      /* IFF_UP and IFF_RUNNING when discovered */
	/* No addresses were specified, so later ones belong to it, too. */
	bool all_addresses;
	uint64_t node_guid; /* host order; unique per host, namespace and device */
	uint32_t gid_count; /* 1 .. RN_GID_MAX */
	struct rn_gid gid[RN_GID_MAX];
};

/**
 * rn_netdev_discover() - Make the list of devices that a specification describes
 * @spec:	"IF[:ADDR[+ADDR...]][,IF...]", for instance "lo:127.0.0.2,eth0". NULL or
 *		"" means "lo", and "lo" without addresses means 127.0.0.1 and ::1. Any
 *		other interface without addresses means all of its addresses, IPv4 first,
 *		then IPv6 global, then link-local.
 * @devs:	Out: filled from the front
 * @max:	Room in @devs
 * @err:	Out on failure: one sentence for a person, without a newline
 * @err_len:	Bytes in @err
 *
 * An address given by hand must exist on the interface; any 127.0.0.0/8 address exists
 * on lo. ::1 is left out silently where the namespace has no IPv6.
 *
 * Return: number of devices (at least 1), or -EINVAL (syntax), -ENODEV (no such
 *	   interface), -EADDRNOTAVAIL (no such address), -ENOSPC (more than @max devices
 *	   or RN_GID_MAX addresses), or what getifaddrs() failed with.
 * Threads: any; keeps no state.
 */
int rn_netdev_discover(const char *spec, struct rn_netdev *devs, unsigned max, char *err,
		       size_t err_len);

/* Path MTU (256..4096) that fits an interface MTU: it leaves 96 bytes for headers (as
 * Linux' iboe_get_mtu() does) and is rounded down to a legal value; 0 if below 256.
 */
static inline uint32_t rn_netdev_path_mtu(uint32_t if_mtu)
{
	for (uint32_t mtu = 4096; mtu >= 256; mtu /= 2)
		if (if_mtu >= mtu + 96)
			return mtu;
	return 0;
}

/* Link rate of an interface in kbit/s, at most 4000000000. 0 if the interface does
 * not report one, as loopback and virtual interfaces, or if the network namespace has
 * no interface of this name.
 */
uint32_t rn_netdev_rate(const char *ifname);

#endif /* RN_NETDEV_H */
