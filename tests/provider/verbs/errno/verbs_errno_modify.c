/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_errno_modify.c - ibv_modify_qp() with one wrong attribute: which errno it
 * returns, and that the QP does not change. The right attributes are at their limits.
 */
#include "tests/provider/kit/verbs_kit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static struct ibv_qp_attr good_rtr(const struct kit *k)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0xffffff,
		.rq_psn = 0xffffff,
		.ah_attr = kit_address(k),
		.max_dest_rd_atomic = 128,
		.min_rnr_timer = 31,
		.sq_psn = 0xffffff,
		.timeout = 31,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 128,
	};
}

enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
};

/* ibv_modify_qp() fails with @err, and the QP does not change. */
static void expect_refused(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask, int err,
			   unsigned row)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr before, after;
	int rc;

	assert_int_equal(ibv_query_qp(qp, &before, ~0, &init), 0);
	rc = ibv_modify_qp(qp, &attr, mask);
	if (rc != err)
		fail_msg("row %u: %d instead of %d", row, rc, err);
	assert_int_equal(ibv_query_qp(qp, &after, ~0, &init), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(qp->state, before.qp_state);
}

static void modify_to_init(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);
	struct ibv_qp_attr good = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	const struct {
		struct ibv_qp_attr attr;
		int mask, err;
	} rows[] = {
		{ { .qp_state = (enum ibv_qp_state)99, .port_num = 1 }, TO_INIT, EINVAL },
		{ { .qp_state = IBV_QPS_RTS, .port_num = 1 }, TO_INIT, EINVAL },
		{ { .qp_state = IBV_QPS_INIT, .port_num = 0 }, TO_INIT, EINVAL },
		{ { .qp_state = IBV_QPS_INIT, .port_num = 2 }, TO_INIT, EINVAL },
		{ { .qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = 1 },
		  TO_INIT,
		  EINVAL },
		{ good, TO_INIT & ~IBV_QP_PORT, EINVAL },
		{ good, TO_INIT & ~IBV_QP_PKEY_INDEX, EINVAL },
		{ good, TO_INIT & ~IBV_QP_ACCESS_FLAGS, EINVAL },
		{ good, TO_INIT | IBV_QP_QKEY, EINVAL },
		{ good, TO_INIT | IBV_QP_CAP, EINVAL },
		/* the state is RESET, and cur_qp_state is too */
		{ good, TO_INIT | IBV_QP_CUR_STATE, 0 },
	};

	for (unsigned i = 0; i + 1 < COUNT(rows); i++)
		expect_refused(qp, rows[i].attr, rows[i].mask, rows[i].err, i);
	good.cur_qp_state = IBV_QPS_RTS;
	expect_refused(qp, good, TO_INIT | IBV_QP_CUR_STATE, EINVAL, 100);
	assert_int_equal(ibv_modify_qp(qp, &good, TO_INIT), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void modify_to_rtr(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);
	struct ibv_qp_attr good = good_rtr(k), rows[13];

	kit_to_init(qp);
	for (unsigned i = 0; i < COUNT(rows); i++)
		rows[i] = good;
	rows[0].path_mtu = (enum ibv_mtu)0;
	rows[1].path_mtu = (enum ibv_mtu)6;
	rows[2].dest_qp_num = 1 << 24;
	rows[3].rq_psn = 1 << 24;
	rows[4].max_dest_rd_atomic = 129;
	rows[5].min_rnr_timer = 32;
	rows[6].ah_attr.is_global = 0;
	rows[7].ah_attr.port_num = 2;
	rows[8].ah_attr.grh.sgid_index = (uint8_t)k->port.gid_tbl_len;
	rows[9].ah_attr.grh.sgid_index = (uint8_t)(k->port.gid_tbl_len - 1);
	memset(&rows[10].ah_attr.grh.dgid, 0, sizeof(rows[10].ah_attr.grh.dgid));
	rows[11].ah_attr.grh.dgid.raw[10] = rows[11].ah_attr.grh.dgid.raw[11] = 0;
	/* a multicast GID is no address of a peer */
	rows[12].ah_attr.grh.dgid.raw[12] = 224;
	for (unsigned i = 0; i < COUNT(rows); i++)
		expect_refused(qp, rows[i], TO_RTR, EINVAL, i);
	for (int bit = IBV_QP_CUR_STATE; bit <= TO_RTR; bit <<= 1)
		if (TO_RTR & bit)
			expect_refused(qp, good, TO_RTR & ~bit, EINVAL, (unsigned)bit);
	expect_refused(qp, good, TO_RTR | IBV_QP_ALT_PATH, EINVAL, 200);
	expect_refused(qp, good, TO_RTR | IBV_QP_RATE_LIMIT, EINVAL, 201);
	expect_refused(qp, good, TO_RTR | 1 << 27, EOPNOTSUPP, 202);
	assert_int_equal(ibv_modify_qp(qp, &good, TO_RTR), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void modify_to_rts(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);
	struct ibv_qp_attr good = good_rtr(k), rows[6];

	kit_to_init(qp);
	assert_int_equal(ibv_modify_qp(qp, &good, TO_RTR), 0);
	good.qp_state = IBV_QPS_RTS;
	for (unsigned i = 0; i < COUNT(rows); i++)
		rows[i] = good;
	rows[0].sq_psn = 1 << 24;
	rows[1].timeout = 32;
	rows[2].retry_cnt = 8;
	rows[3].rnr_retry = 8;
	rows[4].max_rd_atomic = 129;
	rows[5].qp_state = IBV_QPS_INIT;
	for (unsigned i = 0; i < COUNT(rows); i++)
		expect_refused(qp, rows[i], TO_RTS, EINVAL, i);
	for (int bit = IBV_QP_CUR_STATE; bit <= TO_RTS; bit <<= 1)
		if (TO_RTS & bit)
			expect_refused(qp, good, TO_RTS & ~bit, EINVAL, (unsigned)bit);
	expect_refused(qp, good, TO_RTS | IBV_QP_DEST_QPN, EINVAL, 300);
	assert_int_equal(ibv_modify_qp(qp, &good, TO_RTS), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modify_to_init),
		cmocka_unit_test(modify_to_rtr),
		cmocka_unit_test(modify_to_rts),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
