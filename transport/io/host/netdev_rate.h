/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* netdev_rate.h - how fast an interface says that its link is. */
#ifndef RN_NETDEV_RATE_H
#define RN_NETDEV_RATE_H

#include <stdint.h>

/* In 1000 bits per second, at most 4000000000; 0 if it does not say, as loopback and
 * virtual interfaces, or there is none of this name in the network namespace.
 */
uint32_t rn_netdev_rate(const char *ifname);

#endif /* RN_NETDEV_RATE_H */
