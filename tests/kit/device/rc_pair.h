/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rc_pair.h - two connected RC QPs, each with a memory region, for tests with both sides.
 */
#ifndef RN_RC_PAIR_H
#define RN_RC_PAIR_H

#include "tests/kit/device/pair.h"
#include "transport/qp/qp.h"

enum {
	ALL = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ |
	      RN_ACCESS_REMOTE_ATOMIC,
	BUF = 6 * 4096,
	WR_ID = 0x77,
	IMM = 0x01020304,
};

/* Two connected QPs, each with a memory region. */
struct rc {
	struct pair *p;
	struct pair_qp *a, *b;
	struct pair_mr *ma, *mb;
};

static inline struct rc rc_new(const struct pair_cfg *cfg)
{
	struct rc r = { .p = pair_new(cfg) };
	unsigned far = r.p->cfg.devices - 1;

	r.a = pair_qp_new(r.p, 0, RN_QPT_RC);
	r.b = pair_qp_new(r.p, far, RN_QPT_RC);
	r.ma = pair_mr_new(r.p, 0, BUF, ALL);
	r.mb = pair_mr_new(r.p, far, BUF, ALL);
	pair_connect(r.a, r.b);
	return r;
}

static inline void fill(struct pair_mr *m, unsigned salt)
{
	for (uint32_t i = 0; i < m->len; i++)
		m->data[i] = (uint8_t)(i * 7 + (i >> 8) + salt);
}

static inline void assert_quiet(const struct rc *r)
{
	pair_run_until_quiet(r->p);
	assert_int_equal(r->a->qp->req.in_flight, 0);
	assert_int_equal(r->b->qp->req.in_flight, 0);
	assert_true(rn_qp_sq_idle(r->a->qp));
	assert_false(rn_qp_unacked(r->a->qp));
	pair_expect_no_wc(r->a->scq);
	pair_expect_no_wc(r->b->rcq);
}

static inline struct rn_send_wr wr_to(const struct rc *r, enum rn_wr_opcode op,
				      struct rn_sge *sge, uint32_t len)
{
	*sge = pair_sge(r->ma, 0, len);
	return (struct rn_send_wr){ .wr_id = WR_ID,
				    .opcode = op,
				    .flags = RN_SEND_SIGNALED,
				    .imm = IMM,
				    .remote_addr = r->mb->mr.va,
				    .rkey = r->mb->mr.lkey,
				    .sg = sge,
				    .num_sge = 1 };
}

#endif /* RN_RC_PAIR_H */
