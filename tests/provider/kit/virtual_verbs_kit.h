/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_verbs_kit.h - verbs on two engines in virtual time.
 *
 * The contexts are made by hand, without libibverbs: no plugin is loaded, and what the
 * library adds to an object the kit adds. Some parts of the device can be told to have no
 * more, and the hierarchy of PCIe is the test's.
 *
 * Link with the options that tests/provider/CMakeLists.txt gives to
 * rnp_virtual_verbs_kit.
 */
#ifndef RNP_VIRTUAL_VERBS_KIT_H
#define RNP_VIRTUAL_VERBS_KIT_H

#include "virtual_kit.h"

#include "provider/verbs/object/provider.h"
#include "provider/verbs/verbs.h"
#include "rocin/host_api.h"
#include "rocin/pcie.h"

enum {
	VVERBS_TIMEOUT = 20, /* 4 s: nothing comes because it was sent again */
	VVERBS_CQES = 16,
};

/* What libibverbs has of a device that a program uses. */
struct vverbs_device {
	struct rnp_context ctx;
	struct ibv_comp_channel channel;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* with the channel; NULL: destroyed by the test */
	struct ibv_qp *qp; /* RC, in RESET; likewise */
};

extern struct kit_end vverbs_ends[2];
extern struct vverbs_device vverbs_devices[2];

/* Set by the test; all false at the start of each. */
struct vverbs_parts {
	bool no_numbers; /* of queue pairs */
	bool no_object;	 /* the device has as many as it may */
	bool no_groups;	 /* the socket of a group cannot be taken in */
	bool is_narrow;	 /* the way to @narrow carries no packet of any path MTU */
	struct rn_gid narrow;
	/* For the test to look at. */
	unsigned raw_gets;	    /* users of the sockets of raw packet QPs */
	int objects[RNP_HCA_KINDS]; /* that the devices count */
};

extern struct vverbs_parts vverbs_parts;

/* The hierarchy that vverbs_put_below_pcie() puts a device below. */
struct vverbs_host {
	struct rn_pcie_knobs knobs;
	unsigned refusals; /* of the next regions */
	/* When memory was settled last: was the region with @key of @drained open? */
	struct rnp_engine *drained;
	uint32_t key;
	bool was_open;
	struct rn_host_bell bell; /* that was rung last */
};

extern struct vverbs_host vverbs_host;

/* cmocka fixtures: a device on each of vverbs_ends. */
int vverbs_setup(void **state);
int vverbs_teardown(void **state);

/* A context on the engine of end @n. */
void vverbs_open(struct vverbs_device *d, unsigned n);
void vverbs_close(struct vverbs_device *d);

struct ibv_cq *vverbs_new_cq(struct vverbs_device *d);
struct ibv_qp *vverbs_new_qp(struct vverbs_device *d, enum ibv_qp_type type);

enum {
	VVERBS_TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	VVERBS_TO_RTS = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
};

struct ibv_ah_attr vverbs_address(const struct rn_gid *gid);
/* Attributes for RTR and RTS, towards the QP of device @other. */
struct ibv_qp_attr vverbs_towards(unsigned other);
void vverbs_to_init(struct ibv_qp *qp);
void vverbs_to_state(struct ibv_qp *qp, enum ibv_qp_state state);
/* The QPs of the two devices, to each other, in RTS. */
void vverbs_connect(void);

/* Below vverbs_host, until the test puts d->ctx.engine->pcie back. False: built
 * without it.
 */
bool vverbs_put_below_pcie(struct vverbs_device *d);

#endif /* RNP_VIRTUAL_VERBS_KIT_H */
