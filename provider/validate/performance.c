/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* performance.c - rules about what makes a program slower than it could be; see
 * rules/performance.def. A QP or a CQ is judged when it is destroyed.
 */
#include "model/model.h"

enum {
	/* Number of requests of a QP, or of completions of a CQ, from which on the QP or
	 * the CQ is judged. With fewer of them, nobody would notice the difference.
	 */
	BUSY = 1000,
	/* number of calls that enter the kernel, each after only a few requests, from
	 * which on there is a finding
	 */
	OFTEN = 256,
	PAGE = 4096, /* size of a page in bytes */
	FEW = 64,    /* maximum number of requests between two such calls */
	SMALL_MRS = 256,
	RESIZES = 8,
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

static void check_posts(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_qp *qp = &e->object->qp;
	struct rn_val_text name;

	(void)rn_val_name(e->object, &name);
	if (qp->tally.small >= BUSY && !qp->tally.inlined)
		rn_val_find(v, e, RN_VAL_PERFORMANCE_SMALL_NOT_INLINE, e->object,
			    "%llu messages of %s had no more than max_inline_data, which "
			    "is %u bytes",
			    (unsigned long long)qp->tally.small, name.text,
			    qp->cap.max_inline_data);
	if (qp->tally.posts_in_row >= BUSY)
		rn_val_find(v, e, RN_VAL_PERFORMANCE_POST_ONE_BY_ONE, e->object,
			    "%llu single requests of %s were posted right behind another",
			    (unsigned long long)qp->tally.posts_in_row, name.text);
	if (qp->tally.requests >= BUSY && qp->tally.fenced == qp->tally.requests)
		rn_val_find(v, e, RN_VAL_PERFORMANCE_ALL_FENCED, e->object,
			    "all %llu requests of %s were fenced",
			    (unsigned long long)qp->tally.requests, name.text);
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
	if (cq->events >= BUSY && cq->entries <= cq->events)
		rn_val_find(v, e, RN_VAL_PERFORMANCE_EVENT_FOR_EACH, e->object,
			    "%s had %llu events for %llu completions",
			    rn_val_name(e->object, &name), (unsigned long long)cq->events,
			    (unsigned long long)cq->entries);
}

/* Does a request send data that is short enough to be inline, with an opcode that may
 * have inline data?
 */
static bool is_small(const struct rn_val_qp *qp, const struct rn_val_request *r)
{
	uint64_t len = rn_val_length_of(r);

	return len && len <= qp->cap.max_inline_data &&
	       (r->opcode == IBV_WR_SEND || r->opcode == IBV_WR_SEND_WITH_IMM ||
		r->opcode == IBV_WR_RDMA_WRITE ||
		r->opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

static void count_post(struct rn_val *v, struct rn_val_object *o,
		       const struct rn_val_event *e)
{
	struct rn_val_qp *qp = &o->qp;

	for (uint32_t i = 0; i < e->post.accepted && i < e->post.count; i++) {
		const struct rn_val_request *r = &e->post.request[i];
		bool is_inline = r->flags & IBV_SEND_INLINE;

		qp->tally.requests++;
		qp->tally.signaled += qp->sq_sig_all || r->flags & IBV_SEND_SIGNALED;
		qp->tally.fenced += (r->flags & IBV_SEND_FENCE) != 0;
		qp->tally.small += is_small(qp, r);
		qp->tally.inlined += is_inline;
	}
	qp->tally.posts++;
	qp->tally.posts_in_row += e->post.count == 1 && v->tally.last_post == o->serial;
	v->tally.last_post = o->serial;
}

static void check_entries(struct rn_val *v, const struct rn_val_event *e)
{
	for (uint32_t i = 0; i < e->post.count; i++) {
		const struct rn_val_request *r = &e->post.request[i];

		for (uint32_t k = 1; k < r->sge_count; k++)
			if (r->sge[k].lkey == r->sge[k - 1].lkey && r->sge[k].length &&
			    r->sge[k - 1].length &&
			    r->sge[k].addr == r->sge[k - 1].addr + r->sge[k - 1].length)
				rn_val_find(v, e, RN_VAL_PERFORMANCE_ADJACENT_SGES,
					    e->object,
					    "entries %u and %u adjoin at %#llx", k - 1, k,
					    (unsigned long long)r->sge[k].addr);
	}
}

/* -------------------------------------------------------------------- registration */
/* Counts a call that comes after new requests have been posted. Returns true if it is the
 * last of OFTEN calls in a row with at most FEW requests between each two.
 */
static bool is_often(uint64_t now, uint64_t *then, uint32_t *late)
{
	uint64_t since = now - *then;

	*then = now;
	if (!since)
		return false;
	*late = since <= FEW ? *late + 1 : 0;
	return *late == OFTEN;
}

static void check_mr(struct rn_val *v, const struct rn_val_event *e)
{
	if (is_often(v->tally.requests, &v->tally.requests_then, &v->tally.late_mrs))
		rn_val_find(v, e, RN_VAL_PERFORMANCE_REG_IN_DATA_PATH, e->object,
			    "memory was registered %d times behind new requests", OFTEN);
	if (e->make.mr.has_memory && e->make.mr.len < PAGE &&
	    ++v->tally.small_mrs == SMALL_MRS)
		rn_val_find(v, e, RN_VAL_PERFORMANCE_SMALL_MRS, e->object,
			    "%d MRs of less than %d bytes were registered", SMALL_MRS,
			    PAGE);
}

static void check_ah(struct rn_val *v, const struct rn_val_event *e)
{
	if (is_often(v->tally.requests, &v->tally.requests_at_ah, &v->tally.late_ahs))
		rn_val_find(v, e, RN_VAL_PERFORMANCE_AH_IN_DATA_PATH, e->object,
			    "address handles were created %d times behind new requests",
			    OFTEN);
}

static void check_resize(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_cq *cq = &e->object->cq;

	if (!e->rc && cq->entries && ++cq->tally.resizes == RESIZES)
		rn_val_find(v, e, RN_VAL_PERFORMANCE_RESIZE_OFTEN, e->object,
			    "the CQ was resized %d times since its first completion",
			    RESIZES);
}

static void check_end(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->object->kind == RN_VAL_QP) {
		check_qp(v, e);
		check_posts(v, e);
	}
	if (e->object->kind == RN_VAL_CQ)
		check_cq(v, e);
}

static void check_make(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->make.kind == RN_VAL_MR)
		check_mr(v, e);
	if (e->make.kind == RN_VAL_AH)
		check_ah(v, e);
}

void rn_val_check_performance(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_object *o = e->object;

	if (!o || o->is_gone)
		return;
	if (e->kind == RN_VAL_MAKE)
		check_make(v, e);
	if (e->kind == RN_VAL_POST_SEND && !e->is_done)
		check_entries(v, e);
	if (e->kind == RN_VAL_POST_SEND && e->is_done && o->kind == RN_VAL_QP)
		count_post(v, o, e);
	if (e->kind == RN_VAL_POLL && o->kind == RN_VAL_CQ) {
		o->cq.tally.single_polls += e->poll.asked == 1;
		v->tally.last_post = 0;
	}
	if (e->kind == RN_VAL_RESIZE_CQ && e->is_done && o->kind == RN_VAL_CQ)
		check_resize(v, e);
	if (e->kind == RN_VAL_DESTROY && !e->is_done)
		check_end(v, e);
}
