/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_pair_srq.c - receives that several QPs share, end to end. */
#include "tests/kit/device/pair.h"
/* Four senders share the receives of four QPs on a wire that loses packets. */
static void messages_arrive_once_over_a_bad_wire(void **state)
{
	enum {
		QPS = 4,
		EACH = 40,
		BUF = 4096
	};
	struct pair *p = pair_new(&(struct pair_cfg){ .mtu_max = 256 });
	struct pair_srq *s = pair_srq_new(p, 1, 8, 0);
	struct pair_mr *from = pair_mr_new(p, 0, BUF, 0);
	struct pair_mr *to = pair_mr_new(p, 1, 16 * BUF, RN_ACCESS_LOCAL_WRITE);
	struct pair_cq *rcq = pair_cq_new(p, 1, 1024);
	struct pair_qp *a[QPS], *b[QPS];
	unsigned got[QPS] = { 0 }, total = 0;
	uint64_t next = 8;

	(void)state;
	pair_set_faults(p,
			&(struct pair_faults){ .seed = 7, .loss = 300, .reorder = 100 });
	for (uint32_t i = 0; i < BUF; i++)
		from->data[i] = (uint8_t)(i * 3);
	for (unsigned i = 0; i < QPS; i++) {
		const struct rn_qp_init init = { .type = RN_QPT_RC,
						 .srq = s->srq,
						 .recv_cq = &rcq->cq };

		a[i] = pair_qp_new(p, 0, RN_QPT_RC);
		b[i] = pair_qp_new_with(p, 1, &init);
		pair_connect(a[i], b[i]);
	}
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(pair_post_srq_mr(s, i, to, i * BUF, BUF), 0);
	for (unsigned i = 0; i < QPS * EACH; i++) {
		struct rn_sge sge = pair_sge(from, 0, 1 + i * 13 % 2000);
		const struct rn_send_wr wr = { .opcode = RN_WR_SEND_WITH_IMM,
					       .imm = i / QPS,
					       .sg = &sge,
					       .num_sge = 1 };

		assert_int_equal(pair_post_send(a[i % QPS], &wr), 0);
	}
	while (total < QPS * EACH) {
		struct rn_cqe e;

		pair_run_for(p, RN_USEC(500));
		while (pair_poll(rcq, &e)) {
			unsigned q = (e.qpn - b[0]->qpn) / 2;

			assert_int_equal(pair_cqe_status(&e), RN_WC_SUCCESS);
			assert_int_equal(e.imm, got[q]);
			assert_int_equal(e.byte_len, 1 + (got[q] * QPS + q) * 13 % 2000);
			assert_memory_equal(to->data + e.wr_id % 16 * BUF, from->data,
					    e.byte_len);
			got[q]++;
			total++;
			assert_int_equal(
				pair_post_srq_mr(s, next, to, next % 16 * BUF, BUF), 0);
			next++;
		}
	}
	pair_run_until_quiet(p);
	pair_expect_no_wc(rcq);
	pair_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_once_over_a_bad_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
