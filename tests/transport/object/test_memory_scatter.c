/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_memory_scatter.c - lists that name a null region: zeros come out, what goes in
 * is gone.
 */
#include "tests/kit/device/rc_pair.h"

enum {
	NULL_KEY = 0x999900,
	PD = 1,
	LEN = 3000,
};

static struct rn_mr null_mr;

static struct rc null_new(uint32_t access_delay)
{
	const struct pair_cfg cfg = { .mtu_max = 1024, .mem_delay = access_delay };
	struct rc r = rc_new(&cfg);

	rn_mr_init_null(&null_mr, NULL_KEY, PD);
	rn_dev_add_mr(r.p->dev[0], &null_mr);
	fill(r.ma, 1);
	fill(r.mb, 2);
	return r;
}

static void null_free(struct rc *r)
{
	rn_dev_remove_mr(r->p->dev[0], &null_mr);
	pair_free(r->p);
}

/* 1000 bytes of memory, 1000 of nothing, 1000 of memory. */
static void three(const struct rc *r, struct rn_sge sge[3])
{
	sge[0] = pair_sge(r->ma, 0, 1000);
	sge[1] = (struct rn_sge){ .addr = ~UINT64_C(0) - 10,
				  .len = 1000,
				  .lkey = NULL_KEY };
	sge[2] = pair_sge(r->ma, 2000, 1000);
}

static void transfer(struct rc *r, enum rn_wr_opcode opcode)
{
	struct rn_sge sge[3];
	struct rn_send_wr wr = wr_to(r, opcode, sge, 0);

	three(r, sge);
	wr.num_sge = 3;
	assert_int_equal(pair_post_send(r->a, &wr), 0);
	pair_run_until_quiet(r->p);
	pair_expect_wc(r->a->scq, WR_ID, RN_WC_SUCCESS);
}

static void a_null_region_gathers_zeros(void **state)
{
	static const uint8_t zeros[1000];

	(void)state;
	for (uint32_t delay = 0; delay <= 1000; delay += 1000) {
		struct rc r = null_new(delay);

		transfer(&r, RN_WR_RDMA_WRITE);
		assert_memory_equal(r.mb->data, r.ma->data, 1000);
		assert_memory_equal(r.mb->data + 1000, zeros, 1000);
		assert_memory_equal(r.mb->data + 2000, r.ma->data + 2000, 1000);
		null_free(&r);
	}
}

static void a_null_region_swallows_what_is_scattered(void **state)
{
	static uint8_t before[1000];

	(void)state;
	for (uint32_t delay = 0; delay <= 1000; delay += 1000) {
		struct rc r = null_new(delay);

		memcpy(before, r.ma->data + 1000, 1000);
		transfer(&r, RN_WR_RDMA_READ);
		assert_memory_equal(r.ma->data, r.mb->data, 1000);
		assert_memory_equal(r.ma->data + 1000, before, 1000);
		assert_memory_equal(r.ma->data + 2000, r.mb->data + 2000, 1000);
		null_free(&r);
	}
}

static void a_receive_into_a_null_region_has_its_length(void **state)
{
	struct rc r = null_new(0);
	struct rn_sge sge[3], out;
	struct rn_recv_wr recv = { .wr_id = 5, .sg = sge, .num_sge = 3 };
	struct rn_send_wr wr = {
		.wr_id = 6, .opcode = RN_WR_SEND, .sg = &out, .num_sge = 1
	};
	struct rn_cqe cqe;

	(void)state;
	three(&r, sge);
	assert_int_equal(pair_post_recv(r.a, &recv), 0);
	out = pair_sge(r.mb, 0, LEN);
	assert_int_equal(pair_post_send(r.b, &wr), 0);
	pair_run_until_quiet(r.p);
	cqe = pair_expect_wc(r.a->rcq, 5, RN_WC_SUCCESS);
	assert_int_equal(cqe.byte_len, LEN);
	assert_memory_equal(r.ma->data + 2000, r.mb->data + 2000, 1000);
	null_free(&r);
}

static void a_peer_cannot_use_a_null_region(void **state)
{
	struct rc r = null_new(0);
	struct rn_sge sge;
	struct rn_send_wr wr;

	(void)state;
	sge = pair_sge(r.mb, 0, 8);
	wr = wr_to(&r, RN_WR_RDMA_WRITE, &sge, 8);
	sge = pair_sge(r.mb, 0, 8);
	wr.rkey = NULL_KEY;
	assert_int_equal(pair_post_send(r.b, &wr), 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.b->scq, WR_ID, RN_WC_REM_ACCESS_ERR);
	null_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_null_region_gathers_zeros),
		cmocka_unit_test(a_null_region_swallows_what_is_scattered),
		cmocka_unit_test(a_receive_into_a_null_region_has_its_length),
		cmocka_unit_test(a_peer_cannot_use_a_null_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
