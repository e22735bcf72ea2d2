/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq.h - shared receive queues, XRC domains, and XRC QPs opened by ibv_open_qp(). */
#ifndef RNP_SRQ_H
#define RNP_SRQ_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/pd.h"
#include "rocin/stats.h"

struct rn_srq;
struct rnp_context;
struct rnp_cq;

struct rnp_srq {
	struct ibv_srq base;
	struct rnp_handle handle;
	struct rnp_context *ctx;
	LIST_ENTRY(rnp_srq) link; /* guarded by the engine lock */
	/* the core's SRQ, in memory of its own; NULL: the SRQ was destroyed */
	struct rn_srq *core;
	struct ibv_pd *pd; /* copy of base.pd, which the program might change */
	struct rnp_buffer ring;
	/* number of the SRQ and maximum SGEs of a WQE; they do not change */
	uint32_t number, max_sge;
	/* domain of an XRC SRQ; NULL for other SRQs */
	struct rnp_xrcd *xrcd;
	struct rnp_cq *cq;
	/* number of QPs that use the SRQ; guarded by the engine lock */
	unsigned qps;
	/* Number of asynchronous events of the SRQ that were written to the program's
	 * pipe, less those that were purged unread. Guarded by the engine lock.
	 */
	uint32_t async_events;
	struct rn_stats_object *record;
};

/* A handle on an XRC domain: one call of ibv_open_xrcd(). */
struct rnp_xrcd {
	struct ibv_xrcd base;
	struct rnp_handle handle;
	LIST_ENTRY(rnp_xrcd) link; /* guarded by the engine lock */
	struct rnp_xrc_domain *domain;
	uint32_t number;  /* number of @domain; does not change */
	atomic_uint refs; /* number of SRQs and QPs that use the handle */
};

static inline struct rnp_srq *to_rnp_srq(struct ibv_srq *srq)
{
	return (struct rnp_srq *)srq;
}
static inline struct rnp_xrcd *to_rnp_xrcd(struct ibv_xrcd *x)
{
	return (struct rnp_xrcd *)x;
}

struct ibv_srq *rnp_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
struct ibv_srq *rnp_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr);
int rnp_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask);
int rnp_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr);
int rnp_get_srq_num(struct ibv_srq *base, uint32_t *srq_num);
int rnp_destroy_srq(struct ibv_srq *base);
void rnp_srq_detach(struct rnp_srq *srq);
struct ibv_xrcd *rnp_open_xrcd(struct ibv_context *context,
			       struct ibv_xrcd_init_attr *attr);
int rnp_close_xrcd(struct ibv_xrcd *base);
/* Removes the domain handle from the device. The caller has removed its SRQs and QPs
 * before.
 */
void rnp_xrcd_detach(struct rnp_xrcd *xrcd);
struct ibv_qp *rnp_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

#endif /* RNP_SRQ_H */
