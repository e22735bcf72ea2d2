/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_mcast_limits.c - UD multicast: refused calls, and the number of groups and
 * members.
 */
#include <sys/resource.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	MCAST_QPN = 0xffffff,
};

static void what_cannot_be_attached_is_refused(void **state)
{
	struct kit *k = *state;
	union ibv_gid group = kit_group(1);
	struct ibv_qp *ud = kit_create_qp(k, IBV_QPT_UD);
	struct ibv_qp *rc = kit_create_qp(k, IBV_QPT_RC);
	struct ibv_qp *uc = kit_create_qp(k, IBV_QPT_UC);

	assert_int_equal(ibv_attach_mcast(rc, &group, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(uc, &group, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(ud, &k->gid, 0), EINVAL);
	assert_int_equal(ibv_detach_mcast(ud, &group, 0), EINVAL);
	/* Attaching succeeds in RESET, and a second time. Detaching needs the LID that
	 * was given.
	 */
	assert_int_equal(ibv_attach_mcast(ud, &group, 7), 0);
	assert_int_equal(ibv_attach_mcast(ud, &group, 7), 0);
	assert_int_equal(ibv_detach_mcast(ud, &group, 8), EINVAL);
	assert_int_equal(ibv_destroy_qp(ud), EBUSY);
	kit_to_init(ud);
	assert_int_equal(ibv_detach_mcast(ud, &group, 7), 0);
	assert_int_equal(ibv_detach_mcast(ud, &group, 7), EINVAL);
	assert_int_equal(ibv_destroy_qp(ud), 0);
	assert_int_equal(ibv_destroy_qp(rc), 0);
	assert_int_equal(ibv_destroy_qp(uc), 0);
}

static void a_connection_to_a_group_is_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = MCAST_QPN,
				    .ah_attr = kit_address(k) };
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			 IBV_QP_RQ_PSN;

	kit_to_init(qp);
	attr.ah_attr.grh.dgid = kit_group(0);
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), EINVAL);
	attr.ah_attr.grh.dgid = k->gid;
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void as_many_groups_as_promised_and_no_more(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);
	struct rlimit files;
	struct ibv_device_attr attr;
	union ibv_gid group;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(ibv_query_device(k->ctx, &attr), 0);
	assert_true(attr.max_mcast_grp > 0);
	for (int i = 0; i < attr.max_mcast_grp; i++) {
		group = kit_group((unsigned)i);
		assert_int_equal(ibv_attach_mcast(qp, &group, 0), 0);
	}
	group = kit_group((unsigned)attr.max_mcast_grp);
	assert_int_equal(ibv_attach_mcast(qp, &group, 0), ENOMEM);
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), EINVAL);
	for (int i = 0; i < attr.max_mcast_grp; i++) {
		group = kit_group((unsigned)i);
		assert_int_equal(ibv_detach_mcast(qp, &group, 0), 0);
	}
	assert_int_equal(ibv_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void as_many_members_as_promised_and_no_more(void **state)
{
	struct kit *k = *state;
	union ibv_gid group = kit_group(0);
	struct ibv_device_attr attr;
	struct ibv_qp **qp;

	assert_int_equal(ibv_query_device(k->ctx, &attr), 0);
	assert_int_equal(attr.max_total_mcast_qp_attach,
			 attr.max_mcast_grp * attr.max_mcast_qp_attach);
	qp = calloc((size_t)attr.max_mcast_qp_attach + 1, sizeof(struct ibv_qp *));
	assert_non_null(qp);
	for (int i = 0; i <= attr.max_mcast_qp_attach; i++) {
		qp[i] = kit_create_qp(k, IBV_QPT_UD);
		assert_int_equal(ibv_attach_mcast(qp[i], &group, 0),
				 i < attr.max_mcast_qp_attach ? 0 : ENOMEM);
	}
	for (int i = 0; i <= attr.max_mcast_qp_attach; i++) {
		if (i < attr.max_mcast_qp_attach)
			assert_int_equal(ibv_detach_mcast(qp[i], &group, 0), 0);
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	}
	free(qp);
}

#define KIT_TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(what_cannot_be_attached_is_refused),
		KIT_TEST(a_connection_to_a_group_is_refused),
		KIT_TEST(as_many_groups_as_promised_and_no_more),
		KIT_TEST(as_many_members_as_promised_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
