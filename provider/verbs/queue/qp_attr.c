/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp_attr.c - changes and queries attributes and states of queue pairs:
 * ibv_modify_qp(), ibv_query_qp().
 */
#include "provider/persona/persona.h"
#include "provider/verbs/object/provider.h"

#include <errno.h>
#include <stdlib.h>

#include "provider/engine/engine.h"
#include "provider/engine/pcie.h"
#include "provider/engine/trace_points.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/pd.h"
#include "qp.h"
#include "rocin/queue_pair.h"

/* --------------------------------------------- conversion between verbs and the core */
RNP_SAME(RN_QPS_RESET, IBV_QPS_RESET);
RNP_SAME(RN_QPS_INIT, IBV_QPS_INIT);
RNP_SAME(RN_QPS_RTR, IBV_QPS_RTR);
RNP_SAME(RN_QPS_RTS, IBV_QPS_RTS);
RNP_SAME(RN_QPS_SQD, IBV_QPS_SQD);
RNP_SAME(RN_QPS_SQE, IBV_QPS_SQE);
RNP_SAME(RN_QPS_ERR, IBV_QPS_ERR);
RNP_SAME(RN_ATTR_STATE, IBV_QP_STATE);
RNP_SAME(RN_ATTR_CUR_STATE, IBV_QP_CUR_STATE);
RNP_SAME(RN_ATTR_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY);
RNP_SAME(RN_ATTR_ACCESS_FLAGS, IBV_QP_ACCESS_FLAGS);
RNP_SAME(RN_ATTR_PKEY_INDEX, IBV_QP_PKEY_INDEX);
RNP_SAME(RN_ATTR_PORT, IBV_QP_PORT);
RNP_SAME(RN_ATTR_QKEY, IBV_QP_QKEY);
RNP_SAME(RN_ATTR_AV, IBV_QP_AV);
RNP_SAME(RN_ATTR_PATH_MTU, IBV_QP_PATH_MTU);
RNP_SAME(RN_ATTR_TIMEOUT, IBV_QP_TIMEOUT);
RNP_SAME(RN_ATTR_RETRY_CNT, IBV_QP_RETRY_CNT);
RNP_SAME(RN_ATTR_RNR_RETRY, IBV_QP_RNR_RETRY);
RNP_SAME(RN_ATTR_RQ_PSN, IBV_QP_RQ_PSN);
RNP_SAME(RN_ATTR_MAX_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
RNP_SAME(RN_ATTR_ALT_PATH, IBV_QP_ALT_PATH);
RNP_SAME(RN_ATTR_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
RNP_SAME(RN_ATTR_SQ_PSN, IBV_QP_SQ_PSN);
RNP_SAME(RN_ATTR_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
RNP_SAME(RN_ATTR_PATH_MIG_STATE, IBV_QP_PATH_MIG_STATE);
RNP_SAME(RN_ATTR_CAP, IBV_QP_CAP);
RNP_SAME(RN_MIG_MIGRATED, IBV_MIG_MIGRATED);
RNP_SAME(RN_MIG_REARM, IBV_MIG_REARM);
RNP_SAME(RN_MIG_ARMED, IBV_MIG_ARMED);
RNP_SAME(RN_ATTR_DEST_QPN, IBV_QP_DEST_QPN);
RNP_SAME(RN_ATTR_RATE_LIMIT, IBV_QP_RATE_LIMIT);

/* MTU codes are logarithms: code 1 is 256 bytes. */
enum {
	MTU_CODE_0 = 128
};

static bool is_state(enum ibv_qp_state state)
{
	return (unsigned)state < RN_QPS_COUNT;
}

static int check_attr(const struct ibv_qp_attr *a, uint32_t mask)
{
	const uint32_t known = 2 * IBV_QP_RATE_LIMIT - 1;

	if (mask & ~known)
		return -EOPNOTSUPP;
	if ((mask & IBV_QP_STATE) && !is_state(a->qp_state))
		return -EINVAL;
	if ((mask & IBV_QP_CUR_STATE) && !is_state(a->cur_qp_state))
		return -EINVAL;
	if ((mask & IBV_QP_PATH_MTU) &&
	    (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096))
		return -EINVAL;
	/* Queues keep their size (no IBV_DEVICE_RESIZE_MAX_WR). */
	if (mask & IBV_QP_CAP)
		return -EINVAL;
	if ((mask & IBV_QP_PATH_MIG_STATE) && (unsigned)a->path_mig_state > IBV_MIG_ARMED)
		return -EINVAL;
	return 0;
}

/* Converts the address of a peer, which must not be multicast. */
static int peer_from(const struct rn_netdev *dev, const struct ibv_ah_attr *a,
		     struct rn_av *av)
{
	int rc = rnp_av_from_attr(dev, a, av);

	return !rc && rn_gid_is_multicast(&av->dgid) ? -EINVAL : rc;
}

static int alt_from(const struct rn_netdev *dev, const struct ibv_qp_attr *a,
		    struct rn_alt_path *alt)
{
	*alt = (struct rn_alt_path){
		.pkey_index = a->alt_pkey_index,
		.port_num = a->alt_port_num,
		.timeout = a->alt_timeout,
	};
	return peer_from(dev, &a->alt_ah_attr, &alt->av);
}

int rnp_qp_attr_from(const struct rn_netdev *dev, const struct ibv_qp_attr *a,
		     uint32_t mask, struct rn_qp_attr *out)
{
	int rc = check_attr(a, mask);

	if (rc)
		return rc;
	*out = (struct rn_qp_attr){
		.state = (enum rn_qp_state)a->qp_state,
		.cur_state = (enum rn_qp_state)a->cur_qp_state,
		.qkey = a->qkey,
		.rq_psn = a->rq_psn,
		.sq_psn = a->sq_psn,
		.dest_qpn = a->dest_qp_num,
		.access = a->qp_access_flags,
		.pkey_index = a->pkey_index,
		.port_num = a->port_num,
		.max_rd_atomic = a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.min_rnr_timer = a->min_rnr_timer,
		.timeout = a->timeout,
		.retry_cnt = a->retry_cnt,
		.rnr_retry = a->rnr_retry,
	};
	if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY)
		out->en_sqd_async_notify = a->en_sqd_async_notify != 0;
	if (mask & IBV_QP_PATH_MTU)
		out->path_mtu = (uint32_t)MTU_CODE_0 << a->path_mtu;
	if (mask & IBV_QP_PATH_MIG_STATE)
		out->mig_state = (enum rn_mig_state)a->path_mig_state;
	if (mask & IBV_QP_ALT_PATH)
		rc = alt_from(dev, a, &out->alt);
	if (!rc && (mask & IBV_QP_AV))
		rc = peer_from(dev, &a->ah_attr, &out->av);
	return rc;
}

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	int code = 0;

	while (code < IBV_MTU_4096 && ((uint32_t)MTU_CODE_0 << code) < bytes)
		code++;
	return (enum ibv_mtu)code;
}

void rnp_qp_attr_to(const struct rn_qp_attr *in, struct ibv_qp_attr *attr)
{
	*attr = (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)in->state,
		.cur_qp_state = (enum ibv_qp_state)in->cur_state,
		.path_mtu = mtu_code(in->path_mtu),
		.path_mig_state = (enum ibv_mig_state)in->mig_state,
		.qkey = in->qkey,
		.rq_psn = in->rq_psn,
		.sq_psn = in->sq_psn,
		.dest_qp_num = in->dest_qpn,
		.qp_access_flags = in->access,
		.pkey_index = in->pkey_index,
		.en_sqd_async_notify = in->en_sqd_async_notify,
		.sq_draining = in->sq_draining,
		.max_rd_atomic = in->max_rd_atomic,
		.max_dest_rd_atomic = in->max_dest_rd_atomic,
		.min_rnr_timer = in->min_rnr_timer,
		.port_num = in->port_num,
		.timeout = in->timeout,
		.retry_cnt = in->retry_cnt,
		.rnr_retry = in->rnr_retry,
	};
	rnp_av_to_attr(&in->av, &attr->ah_attr);
	if (!in->alt.port_num) /* false if no alternate path was loaded */
		return;
	attr->alt_pkey_index = in->alt.pkey_index;
	attr->alt_port_num = in->alt.port_num;
	attr->alt_timeout = in->alt.timeout;
	rnp_av_to_attr(&in->alt.av, &attr->alt_ah_attr);
}

/* ------------------------------------------------ ibv_modify_qp() and ibv_query_qp() */
/* Returns the bits of @mask whose attributes apply to this type of QP. Programs set the
 * attributes of RC for both XRC types. Like a kernel, this function removes those that
 * only the other XRC type has, before the mask is checked.
 */
static uint32_t applicable(enum ibv_qp_type type, uint32_t mask)
{
	if (type == IBV_QPT_XRC_SEND)
		return mask &
		       ~(uint32_t)(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (type == IBV_QPT_XRC_RECV)
		return mask & ~(uint32_t)(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY);
	return mask;
}

/* Do the network paths of the QP carry packets of its path MTU, after the change @attr?
 * If not, all packets of that size would be lost.
 */
static bool paths_carry(struct rnp_qp *qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	const struct rn_netdev *dev = rnp_engine_netdev(qp->ctx->engine);
	struct rnp_path_mtu *paths = rnp_engine_paths(qp->ctx->engine);
	struct rn_qp_attr now;
	uint32_t mtu;

	if (!(mask & (IBV_QP_AV | IBV_QP_ALT_PATH)))
		return true;
	rn_qp_query(qp->core, &now);
	mtu = mask & IBV_QP_PATH_MTU ? attr->path_mtu : now.path_mtu;
	return (!(mask & IBV_QP_AV) || rnp_path_carries(paths, dev, &attr->av, mtu)) &&
	       (!(mask & IBV_QP_ALT_PATH) ||
		rnp_path_carries(paths, dev, &attr->alt.av, mtu));
}

/* READs and atomics of one direction, incoming or outgoing: the attribute that limits
 * their number, functions of the core that query and lend memory for them, and the member
 * of struct rnp_qp that keeps the address of that memory.
 */
struct room {
	uint32_t attr, count;
	uint32_t (*has)(const struct rn_qp *qp);
	size_t (*size)(uint32_t count);
	void *(*lend)(struct rn_qp *qp, void *mem, uint32_t count);
	void **kept;
};

static int make_room_for(struct rn_qp *core, uint32_t mask, const struct room *r)
{
	void *mem;

	if (!(mask & r->attr) || r->count > RN_RD_ATOMIC_MAX || r->count <= r->has(core))
		return 0;
	mem = malloc(r->size(r->count));
	if (!mem)
		return -ENOMEM;
	free(r->lend(core, mem, r->count));
	*r->kept = mem;
	return 0;
}

/* Lends the core memory for as many outstanding READs and atomics, incoming and outgoing,
 * as the attributes of the program allow. Most programs allow none or one; with memory
 * for the maximum, each of 10 000 QPs would have 7 KiB that it does not use. The engine
 * lock is held.
 */
static int make_room(const struct rnp_qp *qp, const struct rn_qp_attr *attr,
		     uint32_t mask)
{
	struct rnp_qp *holder = rn_qp_owner(qp->core);
	const struct room theirs = { RN_ATTR_MAX_DEST_RD_ATOMIC,
				     attr->max_dest_rd_atomic,
				     rn_qp_resources,
				     rn_qp_resources_size,
				     rn_qp_lend_resources,
				     &holder->resources },
			  ours = { RN_ATTR_MAX_RD_ATOMIC, attr->max_rd_atomic,
				   rn_qp_reads,		  rn_qp_reads_size,
				   rn_qp_lend_reads,	  &holder->reads };
	int rc = make_room_for(qp->core, mask, &theirs);

	return rc ? rc : make_room_for(qp->core, mask, &ours);
}

static bool is_paced_type(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD;
}

/* Checks a rate limit. Returns 0, or the positive errno if the QP cannot have such a
 * limit. The hint typical_pkt_sz is ignored.
 */
static int check_rate(const struct ibv_qp *base,
		      const struct ibv_qp_rate_limit_attr *attr)
{
	if (!is_paced_type(base->qp_type) || attr->comp_mask)
		return EOPNOTSUPP;
	if (attr->rate_limit == 0)
		return attr->max_burst_sz || attr->typical_pkt_sz ? EINVAL : 0;
	return attr->rate_limit < RNP_RATE_MIN || attr->rate_limit > RNP_RATE_MAX ? EINVAL
										  : 0;
}

/* Returns the static rate of an address vector in kbps, as ibv_rate_to_mbps() defines it.
 * Returns 0, which means no limit, if @rate is not one of enum ibv_rate, or is above the
 * highest rate that is enforced.
 */
static uint32_t static_kbps(uint8_t rate)
{
	static const uint32_t mbps[] = {
		[IBV_RATE_2_5_GBPS] = 2500, [IBV_RATE_5_GBPS] = 5000,
		[IBV_RATE_10_GBPS] = 10000, [IBV_RATE_14_GBPS] = 14062,
		[IBV_RATE_20_GBPS] = 20000, [IBV_RATE_25_GBPS] = 25781,
		[IBV_RATE_28_GBPS] = 28125, [IBV_RATE_30_GBPS] = 30000,
		[IBV_RATE_40_GBPS] = 40000, [IBV_RATE_50_GBPS] = 53125,
		[IBV_RATE_56_GBPS] = 56250, [IBV_RATE_60_GBPS] = 60000,
		[IBV_RATE_80_GBPS] = 80000,
	};

	return rate < RN_ARRAY_SIZE(mbps) ? mbps[rate] * 1000 : 0;
}

static void set_pace(struct rnp_qp *qp)
{
	uint32_t by_path = static_kbps(qp->static_rate), kbps = qp->rate_limit;

	if (by_path && (kbps == 0 || by_path < kbps))
		kbps = by_path;
	rn_qp_pace(qp->core, rnp_engine_now(), kbps, qp->burst);
}

/* Stores the rate limit and the static rates of a modify call in @qp, because the core
 * does not store them. The engine lock is held.
 */
static void take_rates(struct rnp_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask)
{
	bool reset = mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET;

	if (mask & IBV_QP_RATE_LIMIT || reset) {
		qp->rate_limit = reset ? 0 : attr->rate_limit;
		qp->burst = 0;
	}
	if (mask & IBV_QP_AV || reset)
		qp->static_rate = reset ? 0 : attr->ah_attr.static_rate;
	if (mask & IBV_QP_ALT_PATH || reset)
		qp->alt_static_rate = reset ? 0 : attr->alt_ah_attr.static_rate;
	if (mask & (IBV_QP_RATE_LIMIT | IBV_QP_AV))
		set_pace(qp);
}

/* Checks the rate limit of an ibv_modify_qp() call, if it has one. Returns 0 or -errno.
 */
static int check_rate_attr(const struct ibv_qp *base, const struct ibv_qp_attr *attr,
			   uint32_t mask)
{
	const struct ibv_qp_rate_limit_attr rate = { .rate_limit = attr->rate_limit };

	return mask & IBV_QP_RATE_LIMIT ? -check_rate(base, &rate) : 0;
}

/* Finds the QP that the program has passed. The engine lock is held. Returns 0; -EINVAL:
 * there is no such QP; -EOPNOTSUPP: it is an RSS QP, which has no state of its own (the
 * WQs of its table have).
 */
static int find_with_state(const struct rnp_context *ctx, const struct ibv_qp *base,
			   struct rnp_qp **qp)
{
	*qp = rnp_qp_find(ctx, base);
	if (!*qp)
		return -EINVAL;
	return (*qp)->table ? -EOPNOTSUPP : 0;
}

int rnp_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_engine *e = ctx->engine;
	struct rn_qp_attr core_attr;
	uint32_t mask = applicable(base->qp_type, (uint32_t)attr_mask);
	struct rnp_qp *qp;
	int rc, cancel;

	if (rnp_is_fork_child(ctx))
		return EIO;
	cancel = rnp_lock_engine(e);
	rc = find_with_state(ctx, base, &qp);
	if (rc)
		goto out;
	rc = rnp_qp_attr_from(rnp_engine_netdev(e), attr, mask, &core_attr);
	if (!rc)
		rc = -rnp_persona_check_modify(rnp_engine_persona(e), attr, mask);
	if (!rc)
		rc = check_rate_attr(base, attr, mask);
	if (!rc && !paths_carry(qp, &core_attr, mask))
		rc = -EINVAL;
	if (!rc)
		rc = make_room(qp, &core_attr, mask);
	if (rc)
		goto out;
	/* Receive packets that have arrived in the old state, and send acknowledgements
	 * that ERR or RESET would drop.
	 */
	if ((mask & IBV_QP_STATE) &&
	    (attr->qp_state == IBV_QPS_RESET || attr->qp_state == IBV_QPS_ERR)) {
		rnp_engine_receive_all(e);
		rnp_engine_send_last(e);
		rnp_engine_settle(e, base->qp_num);
	}
	rc = rn_qp_modify(rnp_engine_dev(e), qp->core, rnp_engine_now(), &core_attr,
			  mask);
	if (rc)
		goto out;
	take_rates(qp, attr, mask);
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		rnp_qp_skip_cqes(qp);
	rnp_engine_kick(e);
out:
	rnp_unlock_engine(e, cancel);
	rn_trace_qp_modify(base->qp_num, mask,
			   mask & IBV_QP_STATE ? (uint32_t)attr->qp_state : 0, -rc);
	return -rc;
}

int rnp_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rn_qp_attr core_attr;
	struct ibv_qp_attr rates;
	struct rnp_qp *qp;
	int cancel, rc;

	(void)attr_mask; /* @attr_mask is only a hint: all attributes are returned */
	if (rnp_is_fork_child(ctx))
		return EIO;
	cancel = rnp_lock_engine(ctx->engine);
	rc = find_with_state(ctx, base, &qp);
	if (!rc) {
		rn_qp_query(qp->core, &core_attr);
		rates = (struct ibv_qp_attr){ .rate_limit = qp->rate_limit,
					      .ah_attr.static_rate = qp->static_rate,
					      .alt_ah_attr.static_rate =
						      qp->alt_static_rate };
	}
	rnp_unlock_engine(ctx->engine, cancel);
	if (rc)
		return -rc;

	rnp_qp_attr_to(&core_attr, attr);
	attr->rate_limit = rates.rate_limit;
	attr->ah_attr.static_rate = rates.ah_attr.static_rate;
	attr->alt_ah_attr.static_rate = rates.alt_ah_attr.static_rate;
	attr->cap = qp->cap;
	*init_attr = (struct ibv_qp_init_attr){
		.qp_context = base->qp_context,
		.send_cq = base->send_cq,
		.recv_cq = base->recv_cq,
		.srq = base->srq,
		.cap = qp->cap,
		.qp_type = base->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
	/* The store is atomic, because several threads may query at once. */
	__atomic_store_n(&base->state, attr->qp_state, __ATOMIC_RELAXED);
	return 0;
}

/* Sets a rate limit. The engine lock is held. Returns 0, or EINVAL if there is no such QP
 * or it is not in RTS.
 */
static int limit_rate(struct rnp_context *ctx, const struct ibv_qp *base,
		      const struct ibv_qp_rate_limit_attr *attr)
{
	struct rnp_qp *qp = rnp_qp_find(ctx, base);

	if (!qp || rn_qp_state(qp->core) != RN_QPS_RTS)
		return EINVAL;
	qp->rate_limit = attr->rate_limit;
	qp->burst = attr->max_burst_sz;
	set_pace(qp);
	rnp_engine_kick(ctx->engine);
	return 0;
}

int rnp_modify_qp_rate_limit(struct ibv_qp *base, struct ibv_qp_rate_limit_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int cancel, rc;

	if (rnp_is_fork_child(ctx))
		return EIO;
	rc = check_rate(base, attr);
	if (rc)
		return rc;
	cancel = rnp_lock_engine(ctx->engine);
	rc = limit_rate(ctx, base, attr);
	rnp_unlock_engine(ctx->engine, cancel);
	return rc;
}

/* Checks that the QP which the program has passed exists. Returns 0; EIO in a fork()
 * child; EINVAL: there is no such QP.
 */
static int check_qp(const struct ibv_qp *base)
{
	const struct rnp_context *ctx = to_rnp_context(base->context);
	const struct rnp_qp *qp;
	int cancel;

	if (rnp_is_fork_child(ctx))
		return EIO;
	cancel = rnp_lock_engine(ctx->engine);
	qp = rnp_qp_find(ctx, base);
	rnp_unlock_engine(ctx->engine, cancel);
	return qp ? 0 : EINVAL;
}

/* Sets ECE (enhanced connection establishment) options. Those of vendor Rocin are
 * accepted, but no option is granted, since Rocin has none. Those of another vendor are
 * refused.
 */
int rnp_set_ece(struct ibv_qp *base, struct ibv_ece *ece)
{
	int rc = check_qp(base);

	if (!rc && (ece->vendor_id != RNP_VENDOR_ID || ece->comp_mask))
		rc = EINVAL;
	return rc;
}

int rnp_query_ece(struct ibv_qp *base, struct ibv_ece *ece)
{
	int rc = check_qp(base);

	if (!rc)
		*ece = (struct ibv_ece){ .vendor_id = RNP_VENDOR_ID };
	return rc;
}

static bool places_data(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM ||
	       op == IBV_WR_SEND_WITH_INV || op == IBV_WR_RDMA_WRITE ||
	       op == IBV_WR_RDMA_WRITE_WITH_IMM || op == IBV_WR_RDMA_READ;
}

static bool keeps_order(const struct rn_pcie_knobs *k)
{
	return k->place == RN_PLACE_NOW ||
	       (k->place == RN_PLACE_PCIE && !k->ooo && k->relaxed != RN_RELAXED_FORCE);
}

/* Is the data of a message placed in order? @flags: newer releases of libibverbs set a
 * flag that asks for a mask of capabilities; older ones ask only whether whole messages
 * are in order.
 */
int rnp_query_qp_data_in_order(struct ibv_qp *base, enum ibv_wr_opcode op, uint32_t flags)
{
	const uint32_t return_caps = 1 << 0; /* IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS */
	const int whole = 1 << 0, aligned_128 = 1 << 1;
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_engine *e = ctx->engine;
	const struct rn_pcie_knobs *k;
	const struct rnp_qp *qp;
	bool is_rts;
	int cancel;

	if (rnp_is_fork_child(ctx) || !places_data(op))
		return 0;
	cancel = rnp_lock_engine(e);
	qp = rnp_qp_find(ctx, base);
	is_rts = qp && rn_qp_state(qp->core) == RN_QPS_RTS;
	rnp_unlock_engine(e, cancel);
	k = rnp_pcie_knobs(rnp_engine_pcie(e));
	if (!is_rts || (k && !keeps_order(k)))
		return 0;
	return flags & return_caps ? whole | aligned_128 : 1;
}

uint64_t rnp_count_rnr(const struct rnp_context *ctx)
{
	return rnp_is_fork_child(ctx)
		       ? 0
		       : rnp_engine_counter(ctx->engine, RN_STAT_RNR_NAK_RX) +
				 rnp_engine_counter(ctx->engine, RN_STAT_RNR_NAK_TX);
}

/* Calls @look(core QP, @arg) with the engine lock held for the QP with number @qpn.
 * Returns a handle of that QP if @look returned true; NULL if it returned false or there
 * is no such QP.
 */
static const struct ibv_qp *find_by(const struct rnp_context *ctx, uint32_t qpn,
				    bool (*look)(const struct rn_qp *core, void *arg),
				    void *arg)
{
	const struct rnp_qp *qp = NULL;
	const struct rn_qp *core;
	int cancel;

	if (rnp_is_fork_child(ctx))
		return NULL;
	cancel = rnp_lock_engine(ctx->engine);
	core = rn_dev_find_qp(rnp_engine_dev(ctx->engine), qpn);
	if (core && look(core, arg))
		qp = rn_qp_owner(core);
	rnp_unlock_engine(ctx->engine, cancel);
	return qp ? &qp->base.qp : NULL;
}

static bool take_rnr(const struct rn_qp *core, void *arg)
{
	rn_qp_rnr(core, arg);
	return true;
}

const struct ibv_qp *rnp_find_rnr(const struct rnp_context *ctx, uint32_t qpn,
				  struct rn_rnr *rnr)
{
	return find_by(ctx, qpn, take_rnr, rnr);
}

static bool was_answered(const struct rn_qp *core, void *arg)
{
	(void)arg;
	return rn_qp_was_answered(core);
}

const struct ibv_qp *rnp_find_answered(const struct rnp_context *ctx, uint32_t qpn)
{
	return find_by(ctx, qpn, was_answered, NULL);
}
