/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* modify.c - attributes and states of queue pairs. */
#include "qp.h"

#include "qp_state.h"

#include <errno.h>
#include <string.h>

enum {
	TIMER_CODE_MAX = 31,
	RETRY_MAX = 7,
};

/* One attribute: its bit, whether the value given is in range, how it is taken over. */
struct attr_rule {
	uint32_t bit;
	bool (*in_range)(const struct rn_dev *dev, const struct rn_qp_attr *a);
	size_t offset, size; /* of the field; 0 bytes: nothing to take over */
};

static bool any_value(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	(void)a;
	return true;
}

static bool port_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->port_num == 1;
}

static bool pkey_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->pkey_index == 0;
}

static bool is_path(const struct rn_dev *dev, const struct rn_av *av)
{
	struct rn_flow flow;

	return rn_qp_flow(dev, av, &flow) &&
	       rn_gid_is_ipv4(&flow.src) == rn_gid_is_ipv4(&flow.dst);
}

static bool av_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	return is_path(dev, &a->av);
}

static bool alt_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	return is_path(dev, &a->alt.av) && a->alt.port_num == 1 &&
	       a->alt.pkey_index == 0 && a->alt.timeout <= TIMER_CODE_MAX;
}

static bool mtu_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	uint32_t mtu = a->path_mtu;

	return mtu >= 256 && mtu <= dev->cfg.mtu_max && (mtu & (mtu - 1)) == 0;
}

static bool timeout_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->timeout <= TIMER_CODE_MAX;
}

static bool rnr_timer_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->min_rnr_timer <= TIMER_CODE_MAX;
}

static bool retry_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->retry_cnt <= RETRY_MAX;
}

static bool rnr_retry_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->rnr_retry <= RETRY_MAX;
}

static bool rd_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->max_rd_atomic <= RN_RD_ATOMIC_MAX;
}

static bool dest_rd_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->max_dest_rd_atomic <= RN_RD_ATOMIC_MAX;
}

static bool rq_psn_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->rq_psn <= RN_PSN_MASK;
}

static bool sq_psn_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->sq_psn <= RN_PSN_MASK;
}

static bool dest_qpn_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->dest_qpn <= RN_QPN_MASK;
}

#define FIELD(name) \
	offsetof(struct rn_qp_attr, name), sizeof(((struct rn_qp_attr *)0)->name)

/* clang-format off */
static const struct attr_rule rules[] = {
	{ RN_ATTR_EN_SQD_ASYNC_NOTIFY, any_value,          FIELD(en_sqd_async_notify) },
	{ RN_ATTR_ACCESS_FLAGS,        any_value,          FIELD(access) },
	{ RN_ATTR_PKEY_INDEX,          pkey_in_range,      FIELD(pkey_index) },
	{ RN_ATTR_PORT,                port_in_range,      FIELD(port_num) },
	{ RN_ATTR_QKEY,                any_value,          FIELD(qkey) },
	{ RN_ATTR_AV,                  av_in_range,        FIELD(av) },
	{ RN_ATTR_PATH_MTU,            mtu_in_range,       FIELD(path_mtu) },
	{ RN_ATTR_TIMEOUT,             timeout_in_range,   FIELD(timeout) },
	{ RN_ATTR_RETRY_CNT,           retry_in_range,     FIELD(retry_cnt) },
	{ RN_ATTR_RNR_RETRY,           rnr_retry_in_range, FIELD(rnr_retry) },
	{ RN_ATTR_RQ_PSN,              rq_psn_in_range,    FIELD(rq_psn) },
	{ RN_ATTR_MAX_RD_ATOMIC,       rd_in_range,        FIELD(max_rd_atomic) },
	{ RN_ATTR_MIN_RNR_TIMER,       rnr_timer_in_range, FIELD(min_rnr_timer) },
	{ RN_ATTR_SQ_PSN,              sq_psn_in_range,    FIELD(sq_psn) },
	{ RN_ATTR_MAX_DEST_RD_ATOMIC,  dest_rd_in_range,   FIELD(max_dest_rd_atomic) },
	{ RN_ATTR_DEST_QPN,            dest_qpn_in_range,  FIELD(dest_qpn) },
	{ RN_ATTR_ALT_PATH,            alt_in_range,       FIELD(alt) },
};
/* clang-format on */

static bool values_in_range(const struct rn_dev *dev, const struct rn_qp_attr *attr,
			    uint32_t mask)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(rules); i++)
		if ((mask & rules[i].bit) && !rules[i].in_range(dev, attr))
			return false;
	return true;
}

static void take_values(struct rn_qp *qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(rules); i++)
		if (mask & rules[i].bit)
			memcpy((uint8_t *)&qp->attr + rules[i].offset,
			       (const uint8_t *)attr + rules[i].offset, rules[i].size);
}

static bool is_connected(const struct rn_qp *qp)
{
	return qp->type != RN_QPT_UD && qp->type != RN_QPT_RAW_PACKET;
}

void rn_qp_set_path(struct rn_qp *qp)
{
	if (!is_connected(qp))
		return;
	rn_qp_flow(qp->dev, &qp->attr.av, &qp->flow);
	if (qp->stats) {
		qp->stats->dest_qpn = qp->attr.dest_qpn;
		qp->stats->dest_gid = qp->attr.av.dgid;
	}
	if (rn_qp_is_reliable(qp)) {
		rn_dest_leave(qp);
		rn_dest_join(qp);
	}
}

static void enter_rts(struct rn_qp *qp, rn_ns now, enum rn_qp_state from)
{
	qp->state = RN_QPS_RTS;
	if (from == RN_QPS_RTR)
		rn_req_rts(qp, now);
	qp->req.draining = false;
	qp->req.drained_event = false;
	rn_dev_schedule(qp->dev, qp);
}

static void enter_sqd(struct rn_qp *qp, rn_ns now, enum rn_qp_state from)
{
	qp->state = RN_QPS_SQD;
	if (from == RN_QPS_RTS)
		rn_req_sqd(qp, now);
}

static void enter(struct rn_qp *qp, rn_ns now, enum rn_qp_state from, enum rn_qp_state to)
{
	switch (to) {
	case RN_QPS_RESET:
		rn_qp_reset(qp);
		break;
	case RN_QPS_RTR:
		qp->state = to;
		rn_qp_set_path(qp);
		rn_rsp_rtr(qp);
		break;
	case RN_QPS_RTS:
		enter_rts(qp, now, from);
		break;
	case RN_QPS_SQD:
		enter_sqd(qp, now, from);
		break;
	case RN_QPS_ERR:
		rn_qp_error(qp, now);
		break;
	case RN_QPS_INIT:
	case RN_QPS_SQE:
		qp->state = to;
		break;
	case RN_QPS_COUNT:
		assert(false);
	}
}

static int check(const struct rn_qp *qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	enum rn_qp_state to = mask & RN_ATTR_STATE ? attr->state : qp->state;
	bool leaves_or_changes_sqd = to == RN_QPS_RTS || to == RN_QPS_SQD;
	int rc;

	if ((mask & RN_ATTR_CUR_STATE) && attr->cur_state != qp->state)
		return -EINVAL;
	rc = rn_qp_modify_check(qp->type, qp->state, to, mask);
	if (rc)
		return rc;
	if (qp->state == RN_QPS_SQD && qp->req.draining && leaves_or_changes_sqd)
		return -EINVAL;
	if (!rn_apm_may(qp, attr, mask, to))
		return -EINVAL;
	return values_in_range(qp->dev, attr, mask) ? 0 : -EINVAL;
}

static bool has_room(const struct rn_qp *qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	return (!(mask & RN_ATTR_MAX_DEST_RD_ATOMIC) ||
		attr->max_dest_rd_atomic <= qp->rsp.res_room) &&
	       (!(mask & RN_ATTR_MAX_RD_ATOMIC) ||
		attr->max_rd_atomic <= qp->req.rd_room);
}

int rn_qp_modify(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		 const struct rn_qp_attr *attr, uint32_t mask)
{
	enum rn_qp_state from = qp->state;
	enum rn_qp_state to = mask & RN_ATTR_STATE ? attr->state : from;
	int rc = check(qp, attr, mask);

	if (rc)
		return rc;
	if (!has_room(qp, attr, mask))
		return -ENOMEM;
	take_values(qp, attr, mask);
	if (from != to)
		enter(qp, now, from, to);
	else if (mask & RN_ATTR_AV)
		rn_qp_set_path(qp);
	rn_apm_modify(qp, attr, mask);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
	return 0;
}

uint32_t rn_qp_msn(const struct rn_qp *qp)
{
	return qp->rsp.msn;
}

uint32_t rn_qp_first_psn(const struct rn_qp *qp, bool of_peer)
{
	return of_peer ? qp->attr.rq_psn : qp->attr.sq_psn;
}

void rn_qp_query(const struct rn_qp *qp, struct rn_qp_attr *attr)
{
	*attr = qp->attr;
	attr->state = qp->state;
	attr->cur_state = qp->state;
	attr->sq_draining = qp->req.draining;
	if (qp->state >= RN_QPS_RTR)
		attr->rq_psn = qp->rsp.exp_psn.v;
	if (qp->state >= RN_QPS_RTS)
		attr->sq_psn = qp->req.next_psn.v;
}
