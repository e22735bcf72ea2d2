/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp.h - queue pairs, their attributes and their multicast groups. */
#ifndef RNP_QP_H
#define RNP_QP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/pd.h"
#include "rocin/stats.h"

struct rn_netdev;
struct rn_qp;
struct rn_qp_attr;
struct rnp_context;
struct rnp_rss;
struct rnp_rwq_table;
struct rnp_wq;
struct rnp_wr_list;
struct rnp_xrcd;

struct rnp_qp {
	union rnp_abi_qp base;
	struct rnp_handle handle;
	struct rnp_context *ctx;
	/* The core's QP, which is at the start of @block; NULL if the QP was destroyed or
	 * its context closed. Guarded by the engine lock.
	 */
	struct rn_qp *core;
	/* copy of base.qp.pd, which the program might change; NULL for a target QP */
	struct ibv_pd *pd;
	struct rnp_buffer block;
	/* Memory lent to @core for incoming (@resources) and for outgoing (@reads) READs
	 * and atomics, or NULL. If there are several handles on a QP, one of them has
	 * this memory and @block; in the others both are NULL.
	 */
	void *resources, *reads;
	struct rn_stats_qp *stats;
	LIST_ENTRY(rnp_qp) link; /* guarded by the engine lock */
	/* memberships in multicast groups; guarded by the engine lock */
	LIST_HEAD(, rnp_mcast) mcasts;
	struct ibv_qp_cap cap;
	/* @rate_limit (kbps) and @burst (bytes) are what the program has set; the static
	 * rates are those of the QP's address vectors. The lowest of the rates is used.
	 * Guarded by the engine lock.
	 */
	uint32_t rate_limit, burst;
	uint8_t static_rate, alt_static_rate; /* enum ibv_rate */
	bool sq_sig_all;
	/* number of flow rules of this QP; guarded by the engine lock */
	unsigned flows;
	/* Number of asynchronous events of the QP that were written to the program's
	 * pipe, less those that were purged unread. Guarded by the engine lock.
	 */
	uint32_t async_events;
	/* the tallies of those completion counters that count this QP's completions;
	 * NULL: none. Only the handle that has @block has them. Guarded by the
	 * engine lock.
	 */
	struct rn_tallies *counting;
	struct rnp_xrcd *xrcd; /* XRC domain of an XRC target QP, or NULL */
	struct rnp_wq *wq;     /* the WQ that this hidden QP implements, or NULL */
	/* table of WQs to which RSS distributes frames; or NULL */
	struct rnp_rwq_table *table;
	struct rnp_rss *rss; /* hash key and fields; NULL without @table */
	/* Circular list of all handles on this QP; a program gets further ones by
	 * ibv_open_qp(). Guarded by the engine lock.
	 */
	struct rnp_qp *next_handle;
	/* requests built by ibv_wr_*(); NULL: the QP was created without these functions
	 */
	struct rnp_wr_list *wr;
};

static inline struct rnp_qp *to_rnp_qp(struct ibv_qp *qp)
{
	return (struct rnp_qp *)qp;
}

struct rn_rnr;
/* Returns the number of RNR NAKs that all QPs of the device have received and sent. The
 * number never decreases; it changes in the same step as the count of the QP concerned.
 * Returns 0 in a fork() child. Any thread may call it.
 */
uint64_t rnp_count_rnr(const struct rnp_context *ctx);

/* Stores in @rnr the RNR NAKs of the QP with number @qpn. Return: a handle of the QP,
 * which the caller must not dereference without the engine lock; NULL if there is no such
 * QP. The engine lock is not held.
 */
const struct ibv_qp *rnp_find_rnr(const struct rnp_context *ctx, uint32_t qpn,
				  struct rn_rnr *rnr);

/* Has the peer of the QP with number @qpn acknowledged any of the QP's requests? Return:
 * if so, a handle of the QP, as rnp_find_rnr() returns it; otherwise NULL.
 */
const struct ibv_qp *rnp_find_answered(const struct rnp_context *ctx, uint32_t qpn);

struct ibv_qp *rnp_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *rnp_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *ex);
int rnp_destroy_qp(struct ibv_qp *base);
int rnp_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask);
int rnp_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr);
int rnp_modify_qp_rate_limit(struct ibv_qp *base, struct ibv_qp_rate_limit_attr *attr);
int rnp_set_ece(struct ibv_qp *base, struct ibv_ece *ece);
int rnp_query_ece(struct ibv_qp *base, struct ibv_ece *ece);
int rnp_query_qp_data_in_order(struct ibv_qp *base, enum ibv_wr_opcode op,
			       uint32_t flags);
int rnp_attach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid);
int rnp_detach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid);
/* Returns the QP that the program has passed, or NULL. The engine lock is held. */
static inline struct rnp_qp *rnp_qp_find(const struct rnp_context *ctx,
					 const struct ibv_qp *base)
{
	return rnp_handle_find(ctx, RNP_KIND_QP, base);
}

/* Hides the CQEs of the QP from the program; the engine lock is held. */
void rnp_qp_skip_cqes(struct rnp_qp *qp);
void rnp_qp_detach(struct rnp_qp *qp);
/* Creates the hidden QP that implements a work queue, in the state RESET. @in->max_*: the
 * capacities wanted; out: those of the queue. Returns NULL with errno on failure.
 */
struct rnp_qp *rnp_qp_create_queue(struct rnp_wq *wq, struct ibv_wq_init_attr *in);
/* Allocates a QP whose public fields are those of @attr; all others are zero. This is the
 * common part of ibv_create_qp() and ibv_open_qp(). Returns NULL if there is not enough
 * memory.
 */
struct rnp_qp *rnp_qp_alloc(struct rnp_context *ctx, struct ibv_pd *pd,
			    const struct ibv_qp_init_attr *attr);

/**
 * rnp_qp_attr_from() - Check and convert the attributes of ibv_modify_qp()
 * @dev:	Device whose GID table attr->ah_attr refers to
 * @mask:	enum ibv_qp_attr_mask; only fields named there are read
 * @out:	Out; undefined on failure
 *
 * Return: 0; -EINVAL: a state or MTU that does not exist, or @mask has IBV_QP_CAP; an
 *	   error of rnp_av_from_attr(). rn_qp_modify() checks the rest.
 */
int rnp_qp_attr_from(const struct rn_netdev *dev, const struct ibv_qp_attr *attr,
		     uint32_t mask, struct rn_qp_attr *out);

/* Converts the core's attributes to those of verbs. Fills in all of @attr except cap,
 * which the core does not have.
 */
void rnp_qp_attr_to(const struct rn_qp_attr *in, struct ibv_qp_attr *attr);

#endif /* RNP_QP_H */
