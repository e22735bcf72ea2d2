/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_verbs_kit.h - verbs on two engines in virtual time.
 *
 * The contexts are created without libibverbs: no plugin is loaded, and the kit
 * initialises the members of objects that libibverbs would initialise. A test can make
 * some resources of the device unavailable. The PCIe hierarchy is simulated by the test.
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
	/* code for 4 s, so that nothing is retransmitted during a test */
	VVERBS_TIMEOUT = 20,
	VVERBS_CQES = 16,
};

/* The objects of a device that a program uses. */
struct vverbs_device {
	struct rnp_context ctx;
	struct ibv_comp_channel channel;
	struct ibv_pd *pd;
	/* CQ with a completion channel; NULL: the test has destroyed it */
	struct ibv_cq *cq;
	struct ibv_qp *qp; /* RC QP in state RESET; NULL: the test has destroyed it */
};

extern struct kit_end vverbs_ends[2];
extern struct vverbs_device vverbs_devices[2];

/* Resources that the test makes unavailable. All members are false when a test begins. */
struct vverbs_parts {
	bool no_numbers; /* no queue pair numbers are left */
	bool no_object;	 /* the device has its maximum number of objects */
	bool no_groups;	 /* the engine cannot register the socket of a group */
	/* the path to @narrow is too small for packets of any path MTU */
	bool is_narrow;
	struct rn_gid narrow;
	/* The following members are results, for checks of the test. */
	unsigned raw_gets;	    /* number of users of the sockets of raw packet QPs */
	int objects[RNP_HCA_KINDS]; /* numbers of objects, as the devices count them */
};

extern struct vverbs_parts vverbs_parts;

/* The PCIe hierarchy to which vverbs_put_below_pcie() connects a device. */
struct vverbs_host {
	struct rn_pcie_knobs knobs;
	unsigned refusals; /* how many of the next registrations of regions fail */
	/* Set when memory was last drained: true if the region with @key of device
	 * @drained was still registered.
	 */
	struct rnp_engine *drained;
	uint32_t key;
	bool was_open;
	struct rn_host_bell bell; /* the doorbell that was rung last */
};

extern struct vverbs_host vverbs_host;

/* Fixtures of cmocka: a device on each of vverbs_ends. */
int vverbs_setup(void **state);
int vverbs_teardown(void **state);

/* Opens a context on the engine of end @n. */
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
/* Returns attributes for RTR and RTS that lead to the QP of device @other. */
struct ibv_qp_attr vverbs_towards(unsigned other);
void vverbs_to_init(struct ibv_qp *qp);
void vverbs_to_state(struct ibv_qp *qp, enum ibv_qp_state state);
/* Connects the QPs of the two devices to each other, and brings them to RTS. */
void vverbs_connect(void);

/* Connects the device to vverbs_host until the test restores d->ctx.engine->pcie. Returns
 * false if the PCIe layer was not built.
 */
bool vverbs_put_below_pcie(struct vverbs_device *d);

#endif /* RNP_VIRTUAL_VERBS_KIT_H */
