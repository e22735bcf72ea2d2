/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp.c - queue pairs are made, connected to anyone, modified and destroyed. */
#include "walk.h"

static struct ibv_qp_cap draw_cap(struct walker *w)
{
	return (struct ibv_qp_cap){ .max_send_wr = 1 + below(w, QUEUE_WR),
				    .max_recv_wr = 1 + below(w, QUEUE_WR),
				    .max_send_sge = 1 + below(w, SGES),
				    .max_recv_sge = 1 + below(w, SGES),
				    .max_inline_data =
					    chance(w, 50) ? below(w, 129) : 0 };
}

/* What a new QP hangs on, pinned: PD, CQs, SRQ, XRC domain. */
struct needs {
	enum ibv_qp_type type;
	struct object *pd, *send, *recv, *srq, *xrcd;
};

static void unpin_needs(const struct needs *n)
{
	unpin(n->xrcd);
	unpin(n->srq);
	unpin(n->recv);
	unpin(n->send);
	unpin(n->pd);
}

/* A PD for all, CQs for those that complete; all of one context. */
static bool draw_needs(struct walker *w, struct needs *n)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC,	    IBV_QPT_RC,
						  IBV_QPT_UC,	    IBV_QPT_UD,
						  IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV };

	*n = (struct needs){ .type = types[below(w, 6)] };
	if (n->type == IBV_QPT_XRC_RECV)
		return (n->xrcd = pin(w, XRCD, NULL)) != NULL;
	n->pd = pin(w, PD, NULL);
	if (n->pd)
		n->send = pin(w, CQ, n->pd->ctx);
	if (!n->send)
		return false;
	if (n->type == IBV_QPT_XRC_SEND)
		return true;
	n->recv = pin(w, CQ, n->pd->ctx);
	if (n->recv && chance(w, 30))
		n->srq = pin_in(w, SRQ, n->pd->domain);
	if (n->srq && n->srq->is_xrc)
		n->srq = (unpin(n->srq), NULL);
	return n->recv != NULL;
}

static struct ibv_qp *create_qp(struct walker *w, struct object *o, const struct needs *n)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = o,
		.cap = draw_cap(w),
		.qp_type = n->type,
		.sq_sig_all = chance(w, 40),
		.send_cq = n->send ? n->send->cq : NULL,
		.recv_cq = n->recv ? n->recv->cq : NULL,
		.srq = n->srq ? n->srq->srq : NULL,
		.pd = n->pd ? n->pd->pd : NULL,
		.xrcd = n->xrcd ? n->xrcd->xrcd : NULL,
		.comp_mask = n->xrcd ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
	};
	struct ibv_qp *qp;

	if (n->type == IBV_QPT_XRC_RECV)
		attr.sq_sig_all = 0;
	o->sq_sig_all = attr.sq_sig_all;
	qp = ibv_create_qp_ex(o->ctx, &attr);
	if (!qp)
		wrong("a QP of type %d is refused: %s", (int)n->type, strerror(errno));
	o->max_inline = attr.cap.max_inline_data;
	o->max_sge[0] = attr.cap.max_send_sge;
	o->max_sge[1] = attr.cap.max_recv_sge;
	return qp;
}

void make_qp(struct walker *w)
{
	struct object *o = NULL;
	struct needs n;

	if (draw_needs(w, &n))
		o = begin(QP, n.pd ? n.pd->ctx : n.xrcd->ctx);
	if (o) {
		o->type = n.type;
		o->send_cq = n.send;
		o->recv_cq = n.recv;
		o->of_srq = n.srq;
		o->groups = 0;
		memset(o->posted, 0, sizeof(o->posted));
		memset(o->completed, 0, sizeof(o->completed));
		o->qp = create_qp(w, o, &n);
		MUST(o->qp->state == IBV_QPS_RESET);
		/* How many receives of an SRQ wait here cannot be known. */
		if (n.srq)
			n.recv->may_overflow = true;
		o->domain = o->peer_pd = n.pd ? n.pd->domain : NULL;
		o->qpn = o->qp->qp_num;
		made(o, (struct object *[PARENTS]){ n.pd, n.send,
						    n.recv == n.send ? NULL : n.recv,
						    n.srq, n.xrcd });
	}
	unpin_needs(&n);
}

void bury_wrs(struct object *o)
{
	struct object *cq[2] = { o->send_cq, o->recv_cq };

	for (unsigned i = 0; i < 2; i++) {
		if (cq[i])
			pthread_mutex_lock(&cq[i]->poll_lock);
		if (cq[i])
			cq[i]->waiting -= (int)(o->posted[i] - o->completed[i]);
		o->completed[i] = o->posted[i];
		if (i == 1)
			o->epoch++;
		if (cq[i])
			pthread_mutex_unlock(&cq[i]->poll_lock);
	}
}

void destroy_qp(struct object *o)
{
	int rc = ibv_destroy_qp(o->qp);

	if (rc == EBUSY && o->groups) {
		give_back(o, false);
		return;
	}
	if (rc || o->groups)
		wrong("ibv_destroy_qp: %d (%s)", rc, strerror(rc));
	bury_wrs(o);
	give_back(o, true);
}

void kill_qp(struct walker *w)
{
	struct object *o = take(w, QP);

	if (o)
		destroy_qp(o);
}

/* ------------------------------------------------------------------------- states */
static enum ibv_qp_state state_now(struct object *o)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST(!ibv_query_qp(o->qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

static void reset(struct object *o)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	MAY("modify to RESET", ibv_modify_qp(o->qp, &attr, IBV_QP_STATE), 0);
	bury_wrs(o);
}

void to_error(struct object *o)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	/* EINVAL: it is in RESET, from where no way leads to ERR. */
	MAY("modify to ERR", ibv_modify_qp(o->qp, &attr, IBV_QP_STATE), 0, EINVAL);
}

static void to_init(struct walker *w, struct object *o)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = QKEY };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (chance(w, 90))
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				       IBV_ACCESS_REMOTE_ATOMIC;
	mask |= o->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	MAY("modify to INIT", ibv_modify_qp(o->qp, &attr, mask), 0);
}

static int to_rtr(struct walker *w, struct object *o, uint32_t dest_qpn, uint32_t psn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = (enum ibv_mtu)(1 + below(w, 3)),
				    .dest_qp_num = dest_qpn,
				    .rq_psn = psn,
				    .max_dest_rd_atomic = (uint8_t)(1 + below(w, 8)),
				    .min_rnr_timer = 1,
				    .ah_attr = { .is_global = 1,
						 .port_num = 1,
						 .grh = { .dgid = world.gid,
							  .hop_limit = 64 } } };
	int mask = IBV_QP_STATE;

	if (o->type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (o->type == IBV_QPT_RC || o->type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(o->qp, &attr, mask);
}

static int to_rts(struct walker *w, struct object *o, uint32_t psn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = psn,
				    .timeout = (uint8_t)(14 + below(w, 2)),
				    .retry_cnt = (uint8_t)below(w, 3),
				    .rnr_retry =
					    (uint8_t)(chance(w, 70) ? 7 : below(w, 7)),
				    .max_rd_atomic = (uint8_t)(1 + below(w, 8)) };
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (o->type == IBV_QPT_RC || o->type == IBV_QPT_XRC_SEND)
		mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	if (o->type == IBV_QPT_RC || o->type >= IBV_QPT_XRC_SEND)
		mask |= IBV_QP_TIMEOUT;
	return ibv_modify_qp(o->qp, &attr, mask);
}

/* An error on the way, which a packet of an older peer can bring, is no fault.
 */
static void bring_up(struct walker *w, struct object *o, uint32_t dest_qpn,
		     uint32_t send_psn, uint32_t recv_psn)
{
	int rc;

	reset(o);
	to_init(w, o);
	rc = to_rtr(w, o, dest_qpn, recv_psn);
	if (!rc && chance(w, 95))
		rc = to_rts(w, o, send_psn);
	if (rc && (rc != EINVAL || state_now(o) != IBV_QPS_ERR))
		wrong("a QP of type %d does not come up: %d (%s)", (int)o->type, rc,
		      strerror(rc));
}

void connect_qps(struct walker *w)
{
	struct object *a = pin(w, QP, NULL), *b = pin(w, QP, NULL);
	uint32_t psn[2] = { below(w, 1 << 24), below(w, 1 << 24) };

	if (a && b &&
	    a->type != (b->type == IBV_QPT_XRC_SEND   ? IBV_QPT_XRC_RECV
			: b->type == IBV_QPT_XRC_RECV ? IBV_QPT_XRC_SEND
						      : b->type))
		b = (unpin(b), NULL);
	if (a && b && b < a) {
		struct object *c = a;

		a = b;
		b = c;
	}
	if (a) {
		pthread_mutex_lock(&a->post_lock);
		if (b && b != a)
			pthread_mutex_lock(&b->post_lock);
		/* Without a partner: to itself, or to a QP that may not be there. */
		a->peer_pd = b ? b->domain : NULL;
		bring_up(w, a, b ? b->qp->qp_num : below(w, 1 << 24), psn[0],
			 b == a ? psn[0] : psn[1]);
		if (b && b != a) {
			b->peer_pd = a->domain;
			bring_up(w, b, a->qp->qp_num, psn[1], psn[0]);
			pthread_mutex_unlock(&b->post_lock);
		}
		pthread_mutex_unlock(&a->post_lock);
	}
	unpin(b);
	unpin(a);
}

void modify_at_random(struct walker *w)
{
	struct object *o = pin(w, QP, NULL);
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)below(w, 8),
				    .cur_qp_state = (enum ibv_qp_state)below(w, 8),
				    .port_num = (uint8_t)(1 + chance(w, 20)),
				    .pkey_index = (uint16_t)chance(w, 20),
				    .qkey = QKEY,
				    .qp_access_flags = below(w, 16),
				    .path_mtu = (enum ibv_mtu)below(w, 8),
				    .min_rnr_timer = (uint8_t)below(w, 40),
				    .timeout = (uint8_t)(14 + below(w, 3)),
				    .retry_cnt = (uint8_t)below(w, 9),
				    .rnr_retry = (uint8_t)below(w, 9),
				    .ah_attr = { .is_global = chance(w, 90),
						 .port_num = 1,
						 .grh = { .dgid = world.gid,
							  .hop_limit = 1 } } };
	int mask = (int)below(w, 1 << 21);

	if (!o)
		return;
	pthread_mutex_lock(&o->post_lock);
	if (chance(w, 50))
		mask &= IBV_QP_STATE | 1 << below(w, 21);
	MAY("modify at random", ibv_modify_qp(o->qp, &attr, mask), 0, EINVAL, EOPNOTSUPP);
	if (state_now(o) == IBV_QPS_RESET)
		bury_wrs(o);
	pthread_mutex_unlock(&o->post_lock);
	unpin(o);
}

void query_qp(struct walker *w)
{
	struct object *o = pin(w, QP, NULL);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!o)
		return;
	MAY("ibv_query_qp", ibv_query_qp(o->qp, &attr, (int)below(w, 1 << 21), &init), 0);
	MUST(init.send_cq == (o->send_cq ? o->send_cq->cq : NULL));
	MUST(init.srq == (o->of_srq ? o->of_srq->srq : NULL));
	MUST(init.qp_type == o->type && init.sq_sig_all == o->sq_sig_all);
	/* To ERR without the lock: beside others that post and poll. */
	if (chance(w, 10))
		to_error(o);
	unpin(o);
}
