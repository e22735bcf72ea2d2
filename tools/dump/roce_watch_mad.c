/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* roce_watch_mad.c - what the connection manager's messages tell: which queue pairs
 * belong together, and with which PSN each begins.
 */
#include <string.h>

#include "roce_watch_internal.h"

enum {
	MTU_CODE_MAX = 5
};

static uint32_t mtu_bytes(uint8_t code)
{
	return code >= 1 && code <= MTU_CODE_MAX ? 128u << code : 0;
}

static struct rn_watch_call *find_call(struct rn_watch *w, const struct rn_gid *src,
				       const struct rn_gid *dst, uint32_t local_id)
{
	for (unsigned i = 0; i < RN_WATCH_CALLS; i++) {
		struct rn_watch_call *c = &w->call[i];

		if (c->is_used && c->local_id == local_id &&
		    memcmp(&c->src, src, sizeof(*src)) == 0 &&
		    memcmp(&c->dst, dst, sizeof(*dst)) == 0)
			return c;
	}
	return NULL;
}

/* A REQ that comes again says the same. */
static void called(struct rn_watch_job *job, const struct rn_cm_req *req)
{
	const struct rn_flow *flow = &job->p->flow;
	struct rn_watch *w = job->w;
	struct rn_watch_call *c = find_call(w, &flow->src, &flow->dst, req->local_id);

	if (!c)
		c = &w->call[w->next_call++ % RN_WATCH_CALLS];
	*c = (struct rn_watch_call){
		.is_used = true,
		.src = flow->src,
		.dst = flow->dst,
		.local_id = req->local_id,
		.qpn = req->qpn,
		.start_psn = req->start_psn,
		.pmtu = mtu_bytes(req->mtu),
		.transport = req->transport,
		.resp_res = req->resp_res,
		.init_depth = req->init_depth,
	};
}

static void begin(struct rn_watch *w, struct rn_watch_flow *f, uint32_t psn,
		  uint32_t pmtu, uint32_t depth)
{
	rn_watch_begin(w, f, rn_psn(psn));
	f->knows_message = true;
	f->half.pmtu = pmtu;
	f->depth = depth;
	/* MSNs begin at 0. */
	f->has_msn = true;
	f->msn_ref = 0;
	f->msn_low = f->msn_high = 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* A REP: from now on both know each other. What comes again finds no call any more. */
static void answered(struct rn_watch_job *job, const struct rn_cm_rep *rep)
{
	const struct rn_flow *flow = &job->p->flow;
	struct rn_watch *w = job->w;
	struct rn_watch_call *c = find_call(w, &flow->dst, &flow->src, rep->remote_id);
	struct rn_watch_flow *there, *back;

	if (!c)
		return;
	c->is_used = false;
	if (c->transport != RN_CM_TRANSPORT_RC && c->transport != RN_CM_TRANSPORT_UC)
		return;
	there = rn_watch_find(w, &c->src, &c->dst, rep->qpn, true);
	back = rn_watch_find(w, &c->dst, &c->src, c->qpn, true);
	if (!there || !back)
		return;
	rn_watch_pair(w, there, back, true);
	begin(w, there, rep->start_psn, c->pmtu, least(c->init_depth, rep->resp_res));
	begin(w, back, c->start_psn, c->pmtu, least(rep->init_depth, c->resp_res));
}

/* A DREQ: what begins with another PSN than the next is another connection. */
static void left(struct rn_watch_job *job, const struct rn_cm_dreq *dreq)
{
	const struct rn_flow *flow = &job->p->flow;
	struct rn_watch_flow *f =
		rn_watch_find(job->w, &flow->src, &flow->dst, dreq->remote_qpn, false);

	if (!f || f->peer == RN_WATCH_NONE)
		return;
	f->may_restart = true;
	job->w->flow[f->peer]->may_restart = true;
}

void rn_watch_mad(struct rn_watch_job *job)
{
	const uint8_t *mad = rn_packet_payload(job->p, RN_MAD_LEN);
	struct rn_mad_hdr hdr;
	struct rn_cm_msg msg;

	if (job->p->bth.dest_qpn != RN_QPN_GSI || !mad)
		return;
	rn_mad_hdr_parse(&hdr, mad);
	if (hdr.mgmt_class != RN_MAD_CLASS_CM ||
	    rn_cm_msg_parse(&msg, hdr.attr_id, mad + RN_MAD_HDR_LEN))
		return;
	if (msg.attr == RN_CM_REQ)
		called(job, &msg.req);
	else if (msg.attr == RN_CM_REP)
		answered(job, &msg.rep);
	else if (msg.attr == RN_CM_DREQ)
		left(job, &msg.dreq);
}
