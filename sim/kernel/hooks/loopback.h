/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* loopback.h - shows loopback interfaces to libfabric in the form that it accepts.
 *
 * No kernel has an RDMA device on the loopback interface, so libfabric's verbs provider
 * omits that interface when it looks for the addresses of devices
 * (prov/verbs/src/verbs_info.c), and without an address it offers no FI_EP_MSG. Devices
 * of Rocin are on the loopback interface unless the user says otherwise. So if libfabric
 * calls getifaddrs(), the entry of an interface with such a device has the device's
 * address and lacks the flag IFF_LOOPBACK. Other callers get the list unchanged.
 */
#ifndef RNK_LOOPBACK_H
#define RNK_LOOPBACK_H

#include <ifaddrs.h>
#include <stdbool.h>

struct rn_netdev;

/* Returns true if @caller, a return address, is in libfabric or in a provider that
 * libfabric has loaded.
 */
bool rnk_loopback_is_for(const void *caller);

/* Changes the entries of loopback interfaces that have devices of Rocin. For each device,
 * one entry of each address family gets the device's first address of that family.
 */
void rnk_loopback_show(struct ifaddrs *all, const struct rn_netdev *devs, unsigned count);

#endif /* RNK_LOOPBACK_H */
