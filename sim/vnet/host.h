/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host.h - helpers for tests and simulations that run a device in virtual time. */
#ifndef RN_VNET_HOST_H
#define RN_VNET_HOST_H

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/mem.h"
#include "rocin/rx_tx.h"
#include "rocin/transport.h"
#include "rocin/wire.h"

/* Lets @dev build its next packet and adds the ICRC, so that @bytes holds the packet as
 * its receiver sees it. @bytes has room for RN_PACKET_MAX + RN_ICRC_LEN bytes. Returns
 * the length of the packet, from BTH to ICRC, or 0 if the device has no packet that may
 * leave now.
 */
static inline uint32_t rn_vhost_transmit(struct rn_dev *dev, rn_ns now, unsigned what,
					 uint8_t *bytes, struct rn_flow *flow,
					 struct rn_tx *tx)
{
	uint32_t len = rn_dev_transmit(dev, now, what, bytes, RN_PACKET_MAX, tx);

	if (!len)
		return 0;
	*flow = *tx->flow;
	rn_icrc_seal_with(flow, 0, bytes, len, &tx->part);
	return len + RN_ICRC_LEN;
}

/* Implements rn_mem_ops.atomic for simulated hosts that never receive an atomic request.
 */
static inline enum rn_mem_result rn_vhost_no_atomic(void *ctx,
						    const struct rn_mem_atomic_req *req,
						    uint64_t *orig,
						    struct rn_mem_attr attr, uint64_t tag)
{
	(void)ctx, (void)req, (void)orig, (void)attr, (void)tag;
	return RN_MEM_FAULT;
}

#endif /* RN_VNET_HOST_H */
