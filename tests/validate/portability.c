/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portability.c - cases of the category portability. */
#include "cases.h"

static void create_with_inline(struct kit *k, uint32_t bytes)
{
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = bytes },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(k->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void create_with_256(struct kit *k)
{
	create_with_inline(k, 256);
}

static void create_with_32(struct kit *k)
{
	create_with_inline(k, 32);
}

static const struct val_case cases[] = {
	{ "portability/inline-large", create_with_256, create_with_32, false },
};
const struct val_cases portability_cases = VAL_CASES(cases);
