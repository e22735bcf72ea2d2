/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_atomic_write.c - ATOMIC WRITE by ibv_wr_atomic_write() and ibv_post_send(). */
#include "tests/provider/kit/verbs_kit.h"

enum {
	ROUNDS = 200,
	/* IB_UVERBS_DEVICE_ATOMIC_WRITE, which the headers of release 44 lack */
	CAP_BIT = 40,
};

static struct ibv_qp *create_ex(struct kit *k, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { .max_send_wr = 8,
			 .max_recv_wr = 8,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = ops,
	};

	return ibv_create_qp_ex(k->ctx, &attr);
}

static uint64_t load(const struct kit *k)
{
	return __atomic_load_n((uint64_t *)(void *)(k->buf + KIT_HALF), __ATOMIC_ACQUIRE);
}

static uint64_t target(const struct kit *k)
{
	return (uintptr_t)k->buf + KIT_HALF;
}

static void the_device_says_that_it_has_atomic_write(void **state)
{
	const struct kit *k = *state;
	struct ibv_device_attr_ex attr;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &attr), 0);
	assert_true(attr.device_cap_flags_ex >> CAP_BIT & 1);
}

/* Without the flag in send_ops_flags the QP does not have the call. A UD QP cannot have
 * it.
 */
static void atomic_write_is_an_operation_of_rc(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = create_ex(k, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_init_attr_ex ud = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_WRITE,
	};

	assert_non_null(qp);
	assert_null(ibv_qp_to_qp_ex(qp)->wr_atomic_write);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_null(ibv_create_qp_ex(k->ctx, &ud));
	assert_int_equal(errno, EOPNOTSUPP);
}

/* The call copies its 8 bytes, though the QP has no room for inline data. */
static void ibv_wr_atomic_write_writes_words_in_order(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp =
		create_ex(k, IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_RDMA_READ);
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;

	assert_non_null(qp);
	ex = ibv_qp_to_qp_ex(qp);
	kit_to_init(qp);
	kit_to_rts(k, qp, qp->qp_num);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		uint64_t word = i * UINT64_C(0x0101010101010101), read;

		ibv_wr_start(ex);
		ex->wr_id = i;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_atomic_write(ex, k->mr->rkey, target(k), &word);
		ex->wr_id = 1000 + i;
		ibv_wr_rdma_read(ex, k->mr->rkey, target(k));
		ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 8);
		read = word;
		word = 0;
		assert_int_equal(ibv_wr_complete(ex), 0);
		wc = kit_expect(k->cq, i, IBV_WC_ATOMIC_WRITE);
		assert_int_equal(wc.qp_num, qp->qp_num);
		kit_expect(k->cq, 1000 + i, IBV_WC_RDMA_READ);
		assert_memory_equal(k->buf, &read, 8);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void post_send_takes_atomic_writes_of_8_bytes(void **state)
{
	struct kit *k = *state;
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .wr_id = 1,
				  .opcode = IBV_WR_ATOMIC_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.rdma = { target(k), k->mr->rkey } },
			   *bad;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	memcpy(k->buf, "01234567", 8);
	kit_post_recv(k, qp[1], 2, kit_sge(k, 1, 64, 8));
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 1, IBV_WC_ATOMIC_WRITE);
	/* The completion of a SEND behind it shows that the word was written. */
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = 0;
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 2, IBV_WC_RECV);
	assert_memory_equal(k->buf + KIT_HALF, "01234567", 8);

	wr.opcode = IBV_WR_ATOMIC_WRITE;
	sge.length = 4;
	assert_int_equal(ibv_post_send(qp[0], &wr, &bad), EINVAL);
	sge.length = 16;
	assert_int_equal(ibv_post_send(qp[0], &wr, &bad), EINVAL);
	sge.length = 8;
	wr.wr.rdma.remote_addr += 4;
	kit_post_send(qp[0], &wr);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_REM_INV_REQ_ERR);
	kit_destroy_pair(qp);
}

static void a_poller_never_sees_half_a_word(void **state)
{
	struct kit *k = *state;
	uint64_t word[2] = { 0, UINT64_MAX }, seen;
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_WRITE,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
				  .wr.rdma = { target(k), k->mr->rkey } };
	struct ibv_qp *qp[2];
	struct ibv_wc wc;

	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < ROUNDS; i++) {
		sge.addr = (uintptr_t)&word[i % 2];
		kit_post_send(qp[0], &wr);
		do {
			seen = load(k);
			assert_true(seen == 0 || seen == UINT64_MAX);
		} while (ibv_poll_cq(k->cq, 1, &wc) == 0);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	kit_destroy_pair(qp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_device_says_that_it_has_atomic_write),
		TEST(atomic_write_is_an_operation_of_rc),
		TEST(ibv_wr_atomic_write_writes_words_in_order),
		TEST(post_send_takes_atomic_writes_of_8_bytes),
		TEST(a_poller_never_sees_half_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
