/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp_attr.c - attributes of queue pairs between verbs and the core. */
#include "qp_attr.h"

#include <errno.h>

#include "av.h"

#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), "verbs numbers")

SAME(RN_QPS_RESET, IBV_QPS_RESET);
SAME(RN_QPS_INIT, IBV_QPS_INIT);
SAME(RN_QPS_RTR, IBV_QPS_RTR);
SAME(RN_QPS_RTS, IBV_QPS_RTS);
SAME(RN_QPS_SQD, IBV_QPS_SQD);
SAME(RN_QPS_SQE, IBV_QPS_SQE);
SAME(RN_QPS_ERR, IBV_QPS_ERR);
SAME(RN_ATTR_STATE, IBV_QP_STATE);
SAME(RN_ATTR_CUR_STATE, IBV_QP_CUR_STATE);
SAME(RN_ATTR_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY);
SAME(RN_ATTR_ACCESS_FLAGS, IBV_QP_ACCESS_FLAGS);
SAME(RN_ATTR_PKEY_INDEX, IBV_QP_PKEY_INDEX);
SAME(RN_ATTR_PORT, IBV_QP_PORT);
SAME(RN_ATTR_QKEY, IBV_QP_QKEY);
SAME(RN_ATTR_AV, IBV_QP_AV);
SAME(RN_ATTR_PATH_MTU, IBV_QP_PATH_MTU);
SAME(RN_ATTR_TIMEOUT, IBV_QP_TIMEOUT);
SAME(RN_ATTR_RETRY_CNT, IBV_QP_RETRY_CNT);
SAME(RN_ATTR_RNR_RETRY, IBV_QP_RNR_RETRY);
SAME(RN_ATTR_RQ_PSN, IBV_QP_RQ_PSN);
SAME(RN_ATTR_MAX_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
SAME(RN_ATTR_ALT_PATH, IBV_QP_ALT_PATH);
SAME(RN_ATTR_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
SAME(RN_ATTR_SQ_PSN, IBV_QP_SQ_PSN);
SAME(RN_ATTR_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME(RN_ATTR_PATH_MIG_STATE, IBV_QP_PATH_MIG_STATE);
SAME(RN_ATTR_CAP, IBV_QP_CAP);
SAME(RN_MIG_MIGRATED, IBV_MIG_MIGRATED);
SAME(RN_MIG_REARM, IBV_MIG_REARM);
SAME(RN_MIG_ARMED, IBV_MIG_ARMED);
SAME(RN_ATTR_DEST_QPN, IBV_QP_DEST_QPN);
SAME(RN_ATTR_RATE_LIMIT, IBV_QP_RATE_LIMIT);

/* MTU codes are powers of two: 1 is 256 bytes. */
enum {
	MTU_CODE_0 = 128
};

static bool is_state(enum ibv_qp_state state)
{
	return (unsigned)state < RN_QPS_COUNT;
}

static int judge(const struct ibv_qp_attr *a, uint32_t mask)
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

/* A connection has one other end. */
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
	int rc = judge(a, mask);

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
	if (!in->alt.port_num) /* none was loaded */
		return;
	attr->alt_pkey_index = in->alt.pkey_index;
	attr->alt_port_num = in->alt.port_num;
	attr->alt_timeout = in->alt.timeout;
	rnp_av_to_attr(&in->alt.av, &attr->alt_ah_attr);
}
