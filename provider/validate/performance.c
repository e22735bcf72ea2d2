/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* performance.c - rules about what makes a program slower than it is; see
 * rules/performance.def. What a QP or CQ did is judged when it is destroyed.
 */
#include "model.h"

enum {
	BUSY = 1000, /* requests or completions; with fewer, nobody notices */
};

static void check_qp(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_qp *qp = &e->object->qp;
	struct rn_val_text name;

	if (qp->tally.requests >= BUSY && qp->tally.signaled == qp->tally.requests)
		rn_val_find(v, e, RN_VAL_PERFORMANCE_ALL_SIGNALED, e->object,
			    "all %llu requests of %s were signaled",
			    (unsigned long long)qp->tally.requests,
			    rn_val_name(e->object, &name));
}

static void check_cq(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_cq *cq = &e->object->cq;
	struct rn_val_text name;

	if (cq->entries >= BUSY && cq->tally.single_polls == cq->polls)
		rn_val_find(v, e, RN_VAL_PERFORMANCE_POLL_ONE_BY_ONE, e->object,
			    "%llu completions of %s were polled one by one",
			    (unsigned long long)cq->entries,
			    rn_val_name(e->object, &name));
}

static void count_post(struct rn_val_qp *qp, const struct rn_val_event *e)
{
	for (uint32_t i = 0; i < e->post.accepted && i < e->post.count; i++) {
		bool is_signaled =
			qp->sq_sig_all || e->post.request[i].flags & IBV_SEND_SIGNALED;

		qp->tally.requests++;
		qp->tally.signaled += is_signaled;
	}
	qp->tally.posts++;
}

void rn_val_check_performance(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_object *o = e->object;

	if (!o || o->is_gone)
		return;
	if (e->kind == RN_VAL_POST_SEND && e->is_done && o->kind == RN_VAL_QP)
		count_post(&o->qp, e);
	if (e->kind == RN_VAL_POLL && o->kind == RN_VAL_CQ)
		o->cq.tally.single_polls += e->poll.asked == 1;
	if (e->kind != RN_VAL_DESTROY || e->is_done)
		return;
	if (o->kind == RN_VAL_QP)
		check_qp(v, e);
	if (o->kind == RN_VAL_CQ)
		check_cq(v, e);
}
