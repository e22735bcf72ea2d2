/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device.h - numbers and limits of one device, which all contexts on it share. */
#ifndef RNP_DEVICE_H
#define RNP_DEVICE_H

#include <infiniband/verbs.h>
#include <stdint.h>
#include <sys/queue.h>

struct rnp_engine;
struct rnp_engine_hooks;
struct rnp_hca;

/* The open XRC domains of all contexts; engine lock. See srq.c. */
LIST_HEAD(rnp_xrc_domains, rnp_xrc_domain);

/* Advertised by ibv_query_device() and enforced here or in the core. */
enum {
	RNP_SRQ_MAX = 32768,
	RNP_QP_MAX = 32768, /* half of the QPNs of one process: the other half may rest */
	RNP_CQ_MAX = 65536,
	RNP_PD_MAX = 65536,
	RNP_AH_MAX = 65536,
	RNP_MR_MAX = 1 << 20,
	RNP_MCAST_GRP_MAX = 256, /* each costs a socket */
	RNP_MCAST_QP_MAX = 256,	 /* in one group */
	RNP_MW_MAX = 1 << 20,
	RNP_WQ_MAX = 16384, /* a quarter of the QPNs */
	RNP_RWQ_TABLE_MAX = 16384,
	RNP_RWQ_TABLE_LOG_MAX = 9, /* 512 entries */
	RNP_COMP_VECTORS = 1,
	RNP_CQ_MOD_MAX = 65535, /* CQEs, and microseconds, that an event may wait */
	RNP_RATE_MIN = 1000,	/* kbps; a smaller rate limit is likely a wrong unit */
	RNP_RATE_MAX = 100000000,
	RNP_DM_BYTES = 256 << 10, /* memory on the NIC, of all contexts together */
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
	RNP_HCA_KINDS
};

/**
 * rnp_hca_open() - Share or create this process's device
 * @ibdev:	"rocin0"
 * @owner:	As for rnp_engine_get(): the context
 * @engine:	Out: the engine behind it
 * @err:	Out on failure: one sentence
 *
 * Return: the device (reference taken), or NULL with errno.
 */
struct rnp_hca *rnp_hca_open(const char *ibdev, const struct rnp_engine_hooks *hooks,
			     void *owner, struct rnp_engine **engine, char *err,
			     size_t err_len);

/* Drop @owner's reference to device and engine. In a fork child nothing shared is
 * touched. */
void rnp_hca_close(struct rnp_hca *hca, void *owner);

/* Count one more object; the core's tables grow with the number of objects. Engine lock
 * held. Return: 0, or -ENOMEM at the advertised limit or without memory.
 */
int rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind);
void rnp_hca_remove(struct rnp_hca *hca, enum rnp_hca_kind kind);

/* Memory on the NIC. Engine lock held. Return: 0, or -ENOMEM if less is left. */
int rnp_hca_take_dm(struct rnp_hca *hca, uint64_t bytes);
void rnp_hca_give_dm(struct rnp_hca *hca, uint64_t bytes);

/* Numbers that no living object has. Engine lock held. */
uint32_t rnp_hca_new_dm(struct rnp_hca *hca);
uint32_t rnp_hca_new_pd(struct rnp_hca *hca);
uint32_t rnp_hca_new_key(struct rnp_hca *hca);
uint32_t rnp_hca_new_srqn(struct rnp_hca *hca);
uint32_t rnp_hca_new_xrcd(struct rnp_hca *hca);

struct rnp_xrc_domains *rnp_hca_xrc_domains(struct rnp_hca *hca);

#endif /* RNP_DEVICE_H */
