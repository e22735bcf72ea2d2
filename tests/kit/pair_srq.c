/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pair_srq.c - one or two devices on a wire in virtual time: shared receive queues. */
#include "pair_internal.h"

#include <stdlib.h>

#include "rocin/srq.h"

enum {
	PD = 1,
	FIRST_SRQN = 0x81,
};

struct pair_srq *pair_srq_new_with(struct pair *p, unsigned dev,
				   const struct rn_srq_init *init)
{
	struct pair_srq *s = calloc(1, sizeof(*s));
	struct rn_srq_init in = *init;
	void *mem = malloc(rn_srq_size());

	assert_non_null(s);
	assert_non_null(mem);
	assert_true(p->srq_count < PAIR_OBJECTS);
	in.srqn = in.srqn ? in.srqn : FIRST_SRQN + p->srq_count;
	in.pd = in.pd ? in.pd : PD;
	in.max_sge = in.max_sge ? in.max_sge : PAIR_SGE_DEFAULT;
	in.owner = s;
	if (in.xrcd && !in.cq)
		in.cq = &pair_cq_new(p, dev, PAIR_CQ_DEFAULT)->cq;
	s->cq = in.cq ? in.cq->owner : NULL;
	s->ring = malloc(rn_srq_ring_size(in.max_wr, in.max_sge));
	assert_non_null(s->ring);
	s->srq = rn_srq_create(p->dev[dev], mem, s->ring, &in);
	s->p = p;
	s->dev = dev;
	s->srqn = in.srqn;
	p->srq[p->srq_count++] = s;
	return s;
}

struct pair_srq *pair_srq_new(struct pair *p, unsigned dev, uint32_t max_wr,
			      uint32_t xrcd)
{
	return pair_srq_new_with(p, dev,
				 &(struct rn_srq_init){ .max_wr = max_wr, .xrcd = xrcd });
}

void pair_srq_destroy(struct pair_srq *s)
{
	struct pair *p = s->p;

	rn_srq_destroy(s->srq);
	for (unsigned i = 0; i < p->srq_count; i++)
		if (p->srq[i] == s)
			p->srq[i] = NULL;
	free(s->srq);
	free(s->ring);
	free(s);
}

int pair_post_srq_mr(struct pair_srq *s, uint64_t wr_id, const struct pair_mr *mr,
		     uint32_t offset, uint32_t len)
{
	struct rn_sge sge = pair_sge(mr, offset, len);

	return rn_srq_post_recv(
		s->srq, &(struct rn_recv_wr){ .wr_id = wr_id, .sg = &sge, .num_sge = 1 });
}

void pair_expect_limit(struct pair_srq *s)
{
	struct rn_event ev;

	assert_true(pair_next_event(s->p, &ev));
	assert_false(ev.completion);
	assert_int_equal(ev.async, RN_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(ev.srq, s->srq);
}
