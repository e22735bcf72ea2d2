/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wq.c - receive work queues, which go through their states, and tables of them. */
#include "walk.h"

void make_wq(struct walker *w)
{
	struct object *pd = pin(w, PD, NULL), *cq = NULL, *o = NULL;
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ,
					 .max_wr = 1 + below(w, QUEUE_WR),
					 .max_sge = 1 + below(w, SGES) };

	if (pd && (cq = pin(w, CQ, pd->ctx)))
		o = begin(WQ, pd->ctx);
	if (o) {
		o->domain = pd->domain;
		o->send_cq = NULL;
		o->recv_cq = cq;
		memset(o->posted, 0, sizeof(o->posted));
		memset(o->completed, 0, sizeof(o->completed));
		attr.wq_context = o;
		attr.pd = pd->pd;
		attr.cq = cq->cq;
		o->wq = ibv_create_wq(o->ctx, &attr);
		MUST(o->wq && o->wq->state == IBV_WQS_RESET);
		o->max_sge[1] = attr.max_sge;
		o->qpn = o->wq->wq_num;
		made(o, (struct object *[PARENTS]){ pd, cq });
	}
	unpin(cq);
	unpin(pd);
}

/* EBUSY while a table names it. */
void destroy_wq(struct object *o)
{
	bool in_use;
	int rc;

	pthread_mutex_lock(&world.lock);
	in_use = o->children > 0;
	pthread_mutex_unlock(&world.lock);
	rc = ibv_destroy_wq(o->wq);
	if (rc != (in_use ? EBUSY : 0))
		wrong("ibv_destroy_wq: %d (%s)", rc, strerror(rc));
	if (!rc)
		bury_wrs(o);
	give_back(o, !rc);
}

void kill_wq(struct walker *w)
{
	struct object *o = take(w, WQ);

	if (o)
		destroy_wq(o);
}

static int to_state(struct object *o, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };
	int rc = ibv_modify_wq(o->wq, &attr);

	if (!rc && state == IBV_WQS_RESET)
		bury_wrs(o);
	return rc;
}

void wq_to_error(struct object *o)
{
	/* EINVAL: it is in RESET, where nothing waits. */
	MAY("modify WQ to ERR", to_state(o, IBV_WQS_ERR), 0, EINVAL);
}

void modify_wq(struct walker *w)
{
	static const enum ibv_wq_state state[] = { IBV_WQS_RESET, IBV_WQS_RDY,
						   IBV_WQS_RDY,	  IBV_WQS_RDY,
						   IBV_WQS_ERR,	  IBV_WQS_UNKNOWN };
	struct object *o = pin(w, WQ, NULL);
	enum ibv_wq_state next = state[below(w, 6)];

	if (!o)
		return;
	pthread_mutex_lock(&o->post_lock);
	MAY("ibv_modify_wq", to_state(o, next), next == IBV_WQS_UNKNOWN ? EINVAL : 0,
	    next == IBV_WQS_RESET ? 0 : EINVAL);
	pthread_mutex_unlock(&o->post_lock);
	unpin(o);
}

static int post_to_wq(struct object *o, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return ibv_post_wq_recv(o->wq, wr, bad);
}

void post_wq_recv(struct walker *w)
{
	struct object *o = pin(w, WQ, NULL);

	if (!o)
		return;
	post_recvs(w, o, 4, post_to_wq);
	unpin(o);
}

/* ------------------------------------------------------------------------- tables */
void make_table(struct walker *w)
{
	struct object *wq[2] = { pin(w, WQ, NULL) }, *o = NULL;
	struct ibv_wq *entry[4];
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = below(w, 3),
						    .ind_tbl = entry };
	bool two = false;

	if (wq[0])
		o = begin(TABLE, wq[0]->ctx);
	if (o) {
		wq[1] = pin(w, WQ, o->ctx);
		for (unsigned i = 0; i < 1u << attr.log_ind_tbl_size; i++) {
			entry[i] = wq[wq[1] ? i % 2 : 0]->wq;
			two = two || entry[i] != entry[0];
		}
		o->table = ibv_create_rwq_ind_table(o->ctx, &attr);
		MUST(o->table);
		made(o, (struct object *[PARENTS]){ wq[0], two ? wq[1] : NULL });
	}
	unpin(wq[1]);
	unpin(wq[0]);
}

void kill_table(struct walker *w)
{
	kill_one(w, TABLE);
}
