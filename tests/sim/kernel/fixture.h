/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fixture.h - devices as rn_netdev_discover() would give them, made by hand. */
#ifndef RN_TEST_KERNEL_FIXTURE_H
#define RN_TEST_KERNEL_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "rocin/gid.h"
#include "rocin/netdev.h"

static inline struct rn_gid ipv4_gid(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct rn_gid){ .raw = { [10] = 0xff, 0xff, a, b, c, d } };
}

/* rocin<idx> on lo with GIDs 127.0.<idx>.1 and ::1, link up. */
static inline struct rn_netdev lo_device(unsigned idx)
{
	struct rn_netdev dev = { .ifname = "lo",
				 .ifindex = 1,
				 .mtu = 65536,
				 .up = true,
				 .node_guid = 0x0272636e00000000 | idx,
				 .gid_count = 2 };

	snprintf(dev.ibdev, sizeof(dev.ibdev), "rocin%u", idx);
	dev.gid[0] = ipv4_gid(127, 0, (uint8_t)idx, 1);
	dev.gid[1].raw[15] = 1;
	return dev;
}

#endif /* RN_TEST_KERNEL_FIXTURE_H */
