/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device.h - object numbers and limits of a device, which all contexts of the process
 * share, and queries of the device.
 */
#ifndef RNP_DEVICE_H
#define RNP_DEVICE_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct rnp_engine;
struct rnp_engine_hooks;
struct rnp_hca;

/* List of the open XRC domains of all contexts; guarded by the engine lock. See srq.c. */
LIST_HEAD(rnp_xrc_domains, rnp_xrc_domain);

/* Limits that ibv_query_device() reports and that are enforced here or in the core. */
enum {
	RNP_SRQ_MAX = 32768,
	/* Maximum number of QPs. It is half of the QPNs of a process, because the other
	 * half may have been released lately and not be usable yet.
	 */
	RNP_QP_MAX = 32768,
	RNP_CQ_MAX = 65536,
	RNP_PD_MAX = 65536,
	RNP_AH_MAX = 65536,
	RNP_MR_MAX = 1 << 20,
	/* maximum number of multicast groups, each of which needs a socket */
	RNP_MCAST_GRP_MAX = 256,
	RNP_MCAST_QP_MAX = 256, /* maximum number of QPs in one group */
	RNP_MW_MAX = 1 << 20,
	/* maximum number of WQs: a quarter of the QPNs of a process */
	RNP_WQ_MAX = 16384,
	RNP_RWQ_TABLE_MAX = 16384,
	RNP_COMP_CNTR_MAX = 16384,
	/* maximum size of a table of WQs: log2 of 512 entries */
	RNP_RWQ_TABLE_LOG_MAX = 9,
	RNP_COMP_VECTORS = 1,
	/* Maximum number of CQEs, and of microseconds, for which moderation may delay a
	 * completion event.
	 */
	RNP_CQ_MOD_MAX = 65535,
	RNP_RATE_MIN = 1000, /* kbps; a smaller limit is probably a mistake in the unit */
	RNP_RATE_MAX = 100000000,
	RNP_DM_BYTES = 256 << 10, /* bytes of device memory of all contexts together */
};

enum {
	/* ASCII "ROC"; not an assigned OUI, as the bit "locally administered" is set. */
	RNP_VENDOR_ID = 0x524f43,
};

enum rnp_hca_kind {
	RNP_HCA_AH,
	RNP_HCA_QP,
	RNP_HCA_SRQ,
	RNP_HCA_CQ,
	RNP_HCA_PD,
	RNP_HCA_MR,
	RNP_HCA_MCAST_GRP,
	RNP_HCA_MW,
	RNP_HCA_WQ,
	RNP_HCA_RWQ_TABLE,
	RNP_HCA_COMP_CNTR,
	RNP_HCA_KINDS
};

/**
 * rnp_hca_open() - Share or create this process's device
 * @ibdev:	Name such as "rocin0"
 * @owner:	The context, as for rnp_engine_get()
 * @engine:	Out: the engine of the device
 * @err:	Out on failure: error text
 *
 * Return: the device (reference taken), or NULL with errno.
 */
struct rnp_hca *rnp_hca_open(const char *ibdev, const struct rnp_engine_hooks *hooks,
			     void *owner, struct rnp_engine **engine, char *err,
			     size_t err_len);

/* Drops @owner's reference to the device and its engine. In a fork() child it touches
 * nothing that is shared with the parent.
 */
void rnp_hca_close(struct rnp_hca *hca, void *owner);

/* Count one more object of a kind, or one less. rnp_hca_add() enlarges the core's tables
 * if needed; it returns 0, or -ENOMEM if the advertised limit is reached or there is not
 * enough memory. The engine lock is held.
 */
int rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind);
void rnp_hca_remove(struct rnp_hca *hca, enum rnp_hca_kind kind);

/* Reserves device memory. The engine lock is held. Return: 0, or -ENOMEM if less is left.
 */
int rnp_hca_take_dm(struct rnp_hca *hca, uint64_t bytes);
void rnp_hca_give_dm(struct rnp_hca *hca, uint64_t bytes);

/* Return numbers that no existing object has. The engine lock is held. */
uint32_t rnp_hca_new_dm(struct rnp_hca *hca);
uint32_t rnp_hca_new_pd(struct rnp_hca *hca);
uint32_t rnp_hca_new_key(struct rnp_hca *hca);
uint32_t rnp_hca_new_srqn(struct rnp_hca *hca);
uint32_t rnp_hca_new_cq(struct rnp_hca *hca);
uint32_t rnp_hca_new_xrcd(struct rnp_hca *hca);

struct rnp_xrc_domains *rnp_hca_xrc_domains(struct rnp_hca *hca);

/* Writes a message to standard error, for failures that no errno describes. */
void rnp_tell_user(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

int rnp_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size);
/* Stores the speed of the port in @speed, in units of 100 Mb/s. */
int rnp_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *speed);
int rnp_query_port(struct ibv_context *context, uint8_t port_num,
		   struct ibv_port_attr *attr);
int rnp_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

#endif /* RNP_DEVICE_H */
