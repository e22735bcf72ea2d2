/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_vendor_err.c - the field vendor_err of every completion with an error names the
 * reason.
 */
#include <sys/mman.h>

#include "rocin/cqe.h"
#include "tests/kit/apart.h"
#include "tests/provider/kit/verbs_kit.h"

enum {
	LEN = 64
};

static void expect(struct kit *k, enum ibv_wc_status status, enum rn_syndrome syndrome)
{
	struct ibv_wc wc = kit_wait(k->cq);

	if (wc.status != status || wc.vendor_err != (uint32_t)syndrome)
		fail_msg("%s, vendor_err 0x%x instead of %s, 0x%x",
			 ibv_wc_status_str(wc.status), wc.vendor_err,
			 ibv_wc_status_str(status), (unsigned)syndrome);
}

static void post(struct kit *k, struct ibv_qp *qp, enum ibv_wr_opcode op,
		 struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .sg_list = sge,
				  .num_sge = 1,
				  .opcode = op,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr =
						       (uintptr_t)k->buf + KIT_HALF,
					       .rkey = k->mr->rkey } };

	kit_post_send(qp, &wr);
}

static void success_has_none(void **state)
{
	struct kit *k = *state;
	struct ibv_sge sge = kit_sge(k, 0, 0, LEN);
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	post(k, qp[0], IBV_WR_RDMA_WRITE, &sge);
	expect(k, IBV_WC_SUCCESS, RN_SYN_NONE);
	kit_destroy_pair(qp);
}

static void an_l_key_says_what_it_does_not_open(void **state)
{
	struct kit *k = *state;
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_mr *other = ibv_reg_mr(pd, k->buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *constant = ibv_reg_mr(k->pd, k->buf, LEN, 0);
	const struct {
		uint32_t lkey, len;
		enum ibv_wr_opcode op;
		enum rn_syndrome syndrome;
	} rows[] = {
		{ k->mr->lkey + 1, LEN, IBV_WR_RDMA_WRITE, RN_SYN_LKEY_UNKNOWN },
		{ other->lkey, LEN, IBV_WR_RDMA_WRITE, RN_SYN_LKEY_PD },
		{ constant->lkey, LEN + 1, IBV_WR_RDMA_WRITE, RN_SYN_LKEY_RANGE },
		{ constant->lkey, LEN, IBV_WR_RDMA_READ, RN_SYN_LKEY_ACCESS },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_sge sge = { (uintptr_t)k->buf, rows[i].len, rows[i].lkey };
		struct ibv_qp *qp[2];

		kit_pair(k, IBV_QPT_RC, qp);
		post(k, qp[0], rows[i].op, &sge);
		expect(k, IBV_WC_LOC_PROT_ERR, rows[i].syndrome);
		kit_destroy_pair(qp);
	}
	assert_int_equal(ibv_dereg_mr(other), 0);
	assert_int_equal(ibv_dereg_mr(constant), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void memory_that_is_gone_is_not_a_bad_key(void **state)
{
	struct kit *k = *state;
	void *mem = map_apart(4096, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_qp *qp[2];

	assert_non_null(mem);
	mr = ibv_reg_mr(k->pd, mem, 4096, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(munmap(mem, 4096), 0);
	sge = (struct ibv_sge){ (uintptr_t)mem, LEN, mr->lkey };
	kit_pair(k, IBV_QPT_RC, qp);
	post(k, qp[0], IBV_WR_RDMA_WRITE, &sge);
	expect(k, IBV_WC_LOC_PROT_ERR, RN_SYN_LOCAL_MEMORY);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void what_the_peer_refuses_both_can_tell(void **state)
{
	struct kit *k = *state;
	struct ibv_sge sge = kit_sge(k, 0, 0, LEN), no_key = kit_sge(k, 1, 0, LEN);
	struct ibv_qp *qp[2];
	struct ibv_wc wc;

	/* The receive is shorter than the message. */
	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, LEN - 1));
	post(k, qp[0], IBV_WR_SEND, &sge);
	expect(k, IBV_WC_LOC_LEN_ERR, RN_SYN_TOO_LONG);
	expect(k, IBV_WC_REM_INV_REQ_ERR, RN_SYN_NAK_INVALID);
	kit_destroy_pair(qp);

	/* No region has the key of the receive. */
	no_key.lkey++;
	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_recv(k, qp[1], 1, no_key);
	post(k, qp[0], IBV_WR_SEND, &sge);
	expect(k, IBV_WC_LOC_PROT_ERR, RN_SYN_LKEY_UNKNOWN);
	expect(k, IBV_WC_REM_OP_ERR, RN_SYN_NAK_OPERATION);
	kit_destroy_pair(qp);

	/* No region of the peer has the R_Key. Later requests are flushed. */
	kit_pair(k, IBV_QPT_RC, qp);
	k->mr->rkey++;
	post(k, qp[0], IBV_WR_RDMA_WRITE, &sge);
	k->mr->rkey--;
	wc = kit_wait(k->cq);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.vendor_err, RN_SYN_NAK_ACCESS);
	post(k, qp[0], IBV_WR_RDMA_WRITE, &sge);
	expect(k, IBV_WC_WR_FLUSH_ERR, RN_SYN_FLUSHED);
	kit_destroy_pair(qp);
}

/* The QPs have no retries. A peer without a posted receive is reported differently from
 * one that does not answer.
 */
static void silence_is_told_from_a_peer_that_is_not_ready(void **state)
{
	struct kit *k = *state;
	struct ibv_sge sge = kit_sge(k, 0, 0, LEN);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = k->port.active_mtu,
		.ah_attr = kit_address(k),
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 14,
		.max_rd_atomic = 1,
	};
	struct ibv_qp *qp[2];

	for (unsigned i = 0; i < 2; i++) {
		qp[i] = kit_create_qp(k, IBV_QPT_RC);
		kit_to_init(qp[i]);
	}
	for (unsigned i = 0; i < 2; i++) {
		attr.dest_qp_num = qp[1 - i]->qp_num;
		attr.qp_state = IBV_QPS_RTR;
		assert_int_equal(ibv_modify_qp(qp[i], &attr,
					       IBV_QP_STATE | IBV_QP_AV |
						       IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						       IBV_QP_RQ_PSN |
						       IBV_QP_MAX_DEST_RD_ATOMIC |
						       IBV_QP_MIN_RNR_TIMER),
				 0);
		attr.qp_state = IBV_QPS_RTS;
		assert_int_equal(ibv_modify_qp(qp[i], &attr,
					       IBV_QP_STATE | IBV_QP_SQ_PSN |
						       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						       IBV_QP_RNR_RETRY |
						       IBV_QP_MAX_QP_RD_ATOMIC),
				 0);
	}
	post(k, qp[0], IBV_WR_SEND, &sge);
	expect(k, IBV_WC_RNR_RETRY_EXC_ERR, RN_SYN_NOT_READY);
	/* qp[0] is in the error state now, so that it does not answer. */
	post(k, qp[1], IBV_WR_RDMA_WRITE, &sge);
	expect(k, IBV_WC_RETRY_EXC_ERR, RN_SYN_SILENCE);
	kit_destroy_pair(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(success_has_none),
		cmocka_unit_test(an_l_key_says_what_it_does_not_open),
		cmocka_unit_test(memory_that_is_gone_is_not_a_bad_key),
		cmocka_unit_test(what_the_peer_refuses_both_can_tell),
		cmocka_unit_test(silence_is_told_from_a_peer_that_is_not_ready),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
