/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* loopback.h - interfaces as libfabric is to see them.
 *
 * No kernel has an RDMA device on the loopback interface, so libfabric's verbs provider
 * leaves that out when it looks for the addresses of devices (prov/verbs/src/
 * verbs_info.c), and without an address it offers no FI_EP_MSG. Devices of ours are on
 * loopback unless the user says otherwise: to libfabric, and to nobody else, the entry of
 * such an interface bears the device's address and is not called loopback.
 */
#ifndef RNK_LOOPBACK_H
#define RNK_LOOPBACK_H

#include <ifaddrs.h>
#include <stdbool.h>

struct rn_netdev;

/* Is this code of libfabric, or of a provider that it has loaded? */
bool rnk_loopback_is_for(const void *caller);

/* Change the entries of loopback interfaces that devices are on, one of each family: the
 * next gets the first address of the device.
 */
void rnk_loopback_show(struct ifaddrs *all, const struct rn_netdev *devs, unsigned count);

#endif /* RNK_LOOPBACK_H */
