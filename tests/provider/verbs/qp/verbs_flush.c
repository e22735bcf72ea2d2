/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_flush.c - FLUSH: when it completes, the bytes of earlier WRITEs are visible or
 * persistent.
 *
 * The headers of release 44 have no names for FLUSH, and their struct ibv_qp_ex has no
 * member wr_flush. So this file defines the numbers of release 45, and posts with
 * ibv_post_send().
 */
#include <arpa/inet.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	WR_FLUSH = 14,
	WC_FLUSH = 8,
	GLOBAL = 1,
	PERSISTENT = 2,
	RANGE = 0,
	WHOLE = 1,
	ACCESS_GLOBAL = 1 << 8,
	ACCESS_PERSISTENT = 1 << 9,
	QP_EX_WITH_FLUSH = 1 << 11,
	CAP_GLOBAL_BIT = 38,
	CAP_PERSISTENT_BIT = 39,
	LEN = 8192,
	FLUSH_ID = 100,
	WRITE_ID = 101,
};

struct flush {
	struct kit *k;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	uint8_t *mem;
};

/* Allows the peer to flush. A QP does not allow it by default. */
static void allow(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   ACCESS_GLOBAL | ACCESS_PERSISTENT,
	};

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
}

static int flush_setup(void **state)
{
	struct flush *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	kit_setup((void **)&f->k);
	kit_pair(f->k, IBV_QPT_RC, f->qp);
	allow(f->qp[1]);
	f->mem = aligned_alloc(4096, LEN);
	assert_non_null(f->mem);
	memset(f->mem, 0, LEN);
	f->mr = ibv_reg_mr(f->k->pd, f->mem, LEN,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_RELAXED_ORDERING | ACCESS_GLOBAL |
				   ACCESS_PERSISTENT);
	assert_non_null(f->mr);
	*state = f;
	return 0;
}

static int flush_teardown(void **state)
{
	struct flush *f = *state;

	kit_destroy_pair(f->qp);
	assert_int_equal(ibv_dereg_mr(f->mr), 0);
	free(f->mem);
	kit_teardown((void **)&f->k);
	free(f);
	return 0;
}

static struct ibv_send_wr flush_wr(const struct flush *f, struct ibv_sge *sge,
				   uint8_t placement, uint8_t level)
{
	*sge = (struct ibv_sge){ .length = LEN };
	return (struct ibv_send_wr){
		.wr_id = FLUSH_ID,
		.opcode = (enum ibv_wr_opcode)WR_FLUSH,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(placement | (uint32_t)level << 8),
		.sg_list = sge,
		.num_sge = 1,
		.wr.rdma = { (uintptr_t)f->mem, f->mr->rkey },
	};
}

static void the_device_says_that_it_flushes(void **state)
{
	const struct flush *f = *state;
	struct ibv_device_attr_ex attr;

	assert_int_equal(ibv_query_device_ex(f->k->ctx, NULL, &attr), 0);
	assert_true(attr.device_cap_flags_ex >> CAP_GLOBAL_BIT & 1);
	assert_true(attr.device_cap_flags_ex >> CAP_PERSISTENT_BIT & 1);
}

/* The requester may rely on the completion of the FLUSH, but not on that of the WRITE. */
static void flush_makes_earlier_writes_visible(void **state)
{
	static const struct {
		uint8_t placement, level;
	} how[] = { { GLOBAL, RANGE },
		    { PERSISTENT, RANGE },
		    { GLOBAL | PERSISTENT, RANGE },
		    { GLOBAL, WHOLE } };
	const struct flush *f = *state;

	for (unsigned round = 0; round < 40; round++) {
		struct ibv_sge sge = kit_sge(f->k, 0, 0, LEN), none;
		struct ibv_send_wr write = { .wr_id = WRITE_ID,
					     .opcode = IBV_WR_RDMA_WRITE,
					     .sg_list = &sge,
					     .num_sge = 1,
					     .wr.rdma = { (uintptr_t)f->mem,
							  f->mr->rkey } };
		struct ibv_send_wr flush = flush_wr(f, &none, how[round % 4].placement,
						    how[round % 4].level);

		memset(f->k->buf, (int)round + 1, LEN);
		if (how[round % 4].level == WHOLE)
			none.length = 0;
		write.next = &flush;
		kit_post_send(f->qp[0], &write);
		kit_expect(f->k->cq, FLUSH_ID, (enum ibv_wc_opcode)WC_FLUSH);
		assert_memory_equal(f->mem, f->k->buf, LEN);
	}
}

static void a_flush_needs_its_right(void **state)
{
	const struct flush *f = *state;
	struct ibv_sge sge;
	struct ibv_send_wr wr = flush_wr(f, &sge, GLOBAL, RANGE), *bad;

	wr.imm_data = 0;
	assert_int_equal(ibv_post_send(f->qp[0], &wr, &bad), EINVAL);
	wr.imm_data = htonl(4);
	assert_int_equal(ibv_post_send(f->qp[0], &wr, &bad), EINVAL);
	wr.imm_data = htonl(GLOBAL | 2 << 8);
	assert_int_equal(ibv_post_send(f->qp[0], &wr, &bad), EINVAL);
	wr.imm_data = htonl(GLOBAL);
	/* a key of a region that allows everything except FLUSH */
	wr.wr.rdma.rkey = f->k->mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)f->k->buf;
	kit_post_send(f->qp[0], &wr);
	assert_int_equal(kit_wait(f->k->cq).status, IBV_WC_REM_ACCESS_ERR);
}

static void a_queue_pair_that_allows_no_flush_refuses_it(void **state)
{
	const struct flush *f = *state;
	struct ibv_sge sge;
	struct ibv_send_wr wr = flush_wr(f, &sge, GLOBAL, RANGE);

	kit_post_send(f->qp[1], &wr); /* qp[0] does not allow FLUSH */
	assert_int_equal(kit_wait(f->k->cq).status, IBV_WC_REM_INV_REQ_ERR);
}

/* A libibverbs whose struct ibv_qp_ex lacks the member refuses the flag; a newer one
 * accepts it.
 */
static void ibv_wr_flush_is_there_where_the_library_has_it(void **state)
{
	const struct flush *f = *state;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = f->k->cq,
		.recv_cq = f->k->cq,
		.cap = { .max_send_wr = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = f->k->pd,
		.send_ops_flags = QP_EX_WITH_FLUSH,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(f->k->ctx, &attr);

	if (qp)
		assert_int_equal(ibv_destroy_qp(qp), 0);
	else
		assert_int_equal(errno, EOPNOTSUPP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, flush_setup, flush_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_device_says_that_it_flushes),
		TEST(flush_makes_earlier_writes_visible),
		TEST(a_flush_needs_its_right),
		TEST(a_queue_pair_that_allows_no_flush_refuses_it),
		TEST(ibv_wr_flush_is_there_where_the_library_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
