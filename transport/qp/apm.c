/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* apm.c - automatic path migration: the other path of a connected QP.
 *
 *   MIGRATED  M is 1 in all packets that leave, and means nothing in those that come.
 *   REARM     The program has loaded another path. M is 0. The first packet with M 0
 *             says that the peer has loaded one, too: ARMED.
 *   ARMED     M is 0. The QP changes over to the other path when the program says so,
 *             when no retry is left, or when the peer does: a packet with M 1 comes by
 *             that path. Then it is MIGRATED, with the event PATH_MIG.
 *
 * A packet with M 1 that comes by the first path is an old one that was overtaken, and as
 * good as any. One that comes by neither asks for a path that this end does not know: it
 * is dropped, and the first of them raises PATH_MIG_ERR.
 *
 * Source: IBTA Vol 1, 17.2.8.
 */
#include <string.h>

#include "requester.h"

static bool gid_is(const struct rn_gid *a, const struct rn_gid *b)
{
	return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

bool rn_flow_is_back(const struct rn_flow *in, const struct rn_flow *out)
{
	return gid_is(&in->src, &out->dst) && gid_is(&in->dst, &out->src) &&
	       (!rn_gid_is_link_local(&in->src) || in->ifindex == out->ifindex);
}

bool rn_apm_is_migrated(const struct rn_qp *qp)
{
	return qp->attr.mig_state == RN_MIG_MIGRATED;
}

/* What is on its way was sent by the path that is left: it goes once more. */
static void migrate(struct rn_qp *qp)
{
	assert(qp->attr.mig_state == RN_MIG_ARMED);
	qp->attr.av = qp->attr.alt.av;
	qp->attr.timeout = qp->attr.alt.timeout;
	qp->attr.mig_state = RN_MIG_MIGRATED;
	qp->apm.loaded = false;
	if (rn_qp_is_reliable(qp)) {
		rn_req_go_back(qp);
		qp->req.retry_left = qp->attr.retry_cnt;
		rn_dev_arm_timer(qp->dev, qp);
	}
	rn_qp_set_path(qp);
	rn_event_raise(qp, RN_EVENT_PATH_MIG);
}

/* -------------------------------------------------------------- the program */
bool rn_apm_may(const struct rn_qp *qp, const struct rn_qp_attr *attr, uint32_t mask,
		enum rn_qp_state to)
{
	enum rn_mig_state from = qp->attr.mig_state;

	if (!(mask & RN_ATTR_PATH_MIG_STATE))
		return true;
	switch (attr->mig_state) {
	case RN_MIG_MIGRATED:
		return from != RN_MIG_REARM;
	case RN_MIG_REARM:
		return from != RN_MIG_ARMED && to == RN_QPS_RTS &&
		       (qp->apm.loaded || mask & RN_ATTR_ALT_PATH);
	case RN_MIG_ARMED:
		break;
	}
	return false;
}

void rn_apm_modify(struct rn_qp *qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	if (mask & RN_ATTR_ALT_PATH)
		qp->apm.loaded = true;
	if (!(mask & RN_ATTR_PATH_MIG_STATE))
		return;
	if (attr->mig_state == RN_MIG_REARM)
		qp->attr.mig_state = RN_MIG_REARM;
	else if (qp->attr.mig_state == RN_MIG_ARMED)
		migrate(qp);
}

/* ----------------------------------------------------------------- the peer */
static bool is_request(const struct rn_qp *qp, const struct rn_packet *p)
{
	struct rn_flow alt;

	return qp->attr.mig_state == RN_MIG_ARMED && p->bth.migreq &&
	       rn_qp_flow(qp->dev, &qp->attr.alt.av, &alt) &&
	       rn_flow_is_back(p->flow, &alt);
}

bool rn_apm_takes(struct rn_qp *qp, const struct rn_packet *p)
{
	if (is_request(qp, p))
		return true;
	if (qp->attr.mig_state == RN_MIG_ARMED && p->bth.migreq && !qp->apm.refused) {
		qp->apm.refused = true;
		rn_event_raise(qp, RN_EVENT_PATH_MIG_ERR);
	}
	return false;
}

void rn_apm_received(struct rn_qp *qp, const struct rn_packet *p)
{
	if (is_request(qp, p)) {
		migrate(qp);
	} else if (qp->attr.mig_state == RN_MIG_REARM && !p->bth.migreq) {
		qp->attr.mig_state = RN_MIG_ARMED;
		qp->apm.refused = false;
	}
}

bool rn_apm_escape(struct rn_qp *qp)
{
	if (qp->attr.mig_state != RN_MIG_ARMED)
		return false;
	migrate(qp);
	return true;
}
