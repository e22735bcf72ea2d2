/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* netdev.h - finds the network interface and addresses that each rocin device stands for.
 *
 * The generated sysfs files, the provider and rocind must agree on the list of devices.
 * All get it from rn_netdev_discover() with the same specification, so rocin0 is the same
 * device in all of them.
 */
#ifndef RN_NETDEV_H
#define RN_NETDEV_H

#include "rocin/gid.h"

enum {
	RN_NETDEV_MAX = 32, /* largest number of devices in one specification */
};

struct rn_netdev {
	char ibdev[32];	 /* "rocin0", "rocin1", ... in the order of the specification */
	char ifname[16]; /* name of the interface, in this network namespace */
	uint32_t ifindex;
	uint32_t mtu; /* MTU of the interface, in bytes */
	/* the interface was IFF_UP and IFF_RUNNING when it was discovered */
	bool up;
	/* The specification names no addresses of the interface, so addresses that are
	 * added to it later belong to the device, too.
	 */
	bool all_addresses;
	/* GUID in host order; unique per host, namespace and device */
	uint64_t node_guid;
	uint32_t gid_count; /* number of GIDs, 1 .. RN_GID_MAX */
	struct rn_gid gid[RN_GID_MAX];
};

/**
 * rn_netdev_discover() - Make the list of devices that a specification describes
 * @spec:	"IF[:ADDR[+ADDR...]][,IF...]", for instance "lo:127.0.0.2,eth0". NULL or
 *		"" means "lo", and "lo" without addresses means 127.0.0.1 and ::1. For any
 *		other interface without addresses, all of its addresses are used, IPv4
 *		first, then IPv6 global, then link-local.
 * @devs:	Out: the devices, in the order of @spec
 * @max:	Number of elements in @devs
 * @err:	Out on failure: error text, one sentence without a newline
 * @err_len:	Bytes in @err
 *
 * An address in @spec must exist on the interface; any 127.0.0.0/8 address exists on lo.
 * ::1 is left out, without an error, if the namespace has no IPv6.
 *
 * Return: number of devices (at least 1), or -EINVAL (syntax), -ENODEV (no such
 *	   interface), -EADDRNOTAVAIL (no such address), -ENOSPC (more than @max devices
 *	   or RN_GID_MAX addresses), or what getifaddrs() failed with.
 * Threads: any; keeps no state.
 */
int rn_netdev_discover(const char *spec, struct rn_netdev *devs, unsigned max, char *err,
		       size_t err_len);

/* Returns the largest path MTU (256..4096) for an interface MTU. 96 bytes are left for
 * headers, as by Linux' iboe_get_mtu(), and the rest is rounded down to a legal path MTU;
 * 0 if it is below 256.
 */
static inline uint32_t rn_netdev_path_mtu(uint32_t if_mtu)
{
	for (uint32_t mtu = 4096; mtu >= 256; mtu /= 2)
		if (if_mtu >= mtu + 96)
			return mtu;
	return 0;
}

/* Returns the link rate of an interface in kbit/s, at most 4000000000. Return: 0 if the
 * interface does not report a rate (loopback and virtual interfaces), or if the network
 * namespace has no interface of this name.
 */
uint32_t rn_netdev_rate(const char *ifname);

#endif /* RN_NETDEV_H */
