/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_internal.h - the device of a scenario, as virtual.c and virtual_cm.c see it. */
#ifndef RN_VIRTUAL_INTERNAL_H
#define RN_VIRTUAL_INTERNAL_H

#include "rocin/cqe.h"
#include "rocin/mcast.h"
#include "rocin/mr.h"
#include "sim/vnet/vnet.h"
#include "virtual.h"
#include "virtual_cm.h"

struct rn_srq;

enum {
	RN_VIRTUAL_MEMORY = 1 << 20, /* bytes for regions, from address RN_VIRTUAL_BASE */
	RN_VIRTUAL_CQES = 1024,
	RN_VIRTUAL_QUEUE = 1024, /* packets or events that nobody has looked at */
	RN_VIRTUAL_WRS = 64,	 /* per queue, unless the scenario says otherwise */
	RN_VIRTUAL_PD = 1,
};

#define RN_VIRTUAL_BASE UINT64_C(0x100000)
#define RN_VIRTUAL_RING UINT64_C(0x10000000) /* of CQ i: 1 << 20 bytes further each */

struct rn_virtual {
	struct rn_dev *dev;
	const struct rn_scenario *s;
	const struct rn_scene_names *names;
	struct rn_vnet *net; /* the device is its only host: the scenario is the wire */
	uint64_t stats[RN_STAT_COUNT];

	uint8_t memory[RN_VIRTUAL_MEMORY];
	struct rn_mr mr[RN_SCN_MRS];
	uint64_t offset[RN_SCN_MRS]; /* of the region in memory */
	uint64_t length[RN_SCN_MRS];
	bool gone[RN_SCN_MRS]; /* deregistered, or never registered */
	bool unmapped[RN_SCN_MRS];
	unsigned regions; /* that were gone through */

	struct rn_cq cq[2]; /* sends, receives */
	struct rn_cqe ring[2][RN_VIRTUAL_CQES];
	rn_ns cqe_at[2][RN_VIRTUAL_CQES];
	struct rn_scene_wc wc[2]; /* the one that is looked at */

	struct rn_srq *srq[RN_SCN_SRQS];
	void *srq_ring[RN_SCN_SRQS];

	struct rn_qp *qp[RN_SCN_QPS];
	struct rn_mcast mcast[RN_SCN_QPS]; /* in the group of the scenario */
	struct rn_scene_packet packet[RN_VIRTUAL_QUEUE];
	unsigned packets, packets_taken;
	struct rn_scene_event event[RN_VIRTUAL_QUEUE];
	unsigned events, events_taken;
	unsigned comps[2]; /* completion events not taken */
	bool held;	   /* no packet leaves */
	uint64_t let_go;   /* but so many */
	struct rn_virtual_cm cm;
};

#endif /* RN_VIRTUAL_INTERNAL_H */
