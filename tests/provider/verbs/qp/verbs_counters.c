/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_counters.c - counters of flow rules.
 *
 * Needs an interface as verbs_raw.c does.
 */
#include "tests/provider/kit/raw_kit.h"

enum {
	PORT = 4001,
	OTHER = 4002,
};

static int attach(struct ibv_counters *counters, enum ibv_counter_description desc,
		  uint32_t index, struct ibv_flow *flow)
{
	struct ibv_counter_attach_attr attr = { .counter_desc = desc, .index = index };

	return ibv_attach_counters_point_flow(counters, &attr, flow);
}

static struct ibv_counters *new_counters(struct kit *k)
{
	struct ibv_counters_init_attr init = { .comp_mask = 0 };
	struct ibv_counters *counters = ibv_create_counters(k->ctx, &init);

	assert_non_null(counters);
	return counters;
}

static void counting(struct raw_rule *rule, struct ibv_counters *counters)
{
	struct ibv_flow_spec_counter_action count = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT,
		.size = sizeof(count),
		.counters = counters,
	};

	raw_rule_add(rule, &count, sizeof(count));
}

static void expect_values(struct ibv_counters *counters, uint64_t packets, uint64_t bytes)
{
	uint64_t v[4] = { 9, 9, 9, 9 };

	assert_int_equal(ibv_read_counters(counters, v, 4, 0), 0);
	assert_int_equal(v[0], bytes);
	assert_int_equal(v[1], 0);
	assert_int_equal(v[2], packets);
	assert_int_equal(v[3], packets + bytes);
}

static void counters_add_up_what_rules_match(void **state)
{
	struct raw_players p = raw_players_new(*state);
	struct ibv_counters *counters = new_counters(p.k);
	struct raw_rule one = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	struct raw_rule two = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 5);
	struct ibv_flow_spec_action_drop drop = { .type = IBV_FLOW_SPEC_ACTION_DROP,
						  .size = sizeof(drop) };
	struct ibv_flow *flow[2];

	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 0, NULL), 0);
	assert_int_equal(attach(counters, IBV_COUNTER_PACKETS, 2, NULL), 0);
	assert_int_equal(attach(counters, IBV_COUNTER_PACKETS, 3, NULL), 0);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 3, NULL), 0);
	expect_values(counters, 0, 0);
	raw_rule_port(&one, PORT);
	counting(&one, counters);
	raw_rule_port(&two, OTHER);
	raw_rule_add(&two, &drop, sizeof(drop));
	counting(&two, counters);
	flow[0] = raw_flow(p.qp[0], &one);
	flow[1] = raw_flow(p.qp[1], &two);
	raw_players_send(&p, PORT, 1);
	expect_values(counters, 1, RAW_LEN);
	raw_players_send(&p, OTHER, 0);
	raw_players_send(&p, OTHER + 1, 0);
	expect_values(counters, 2, 2 * RAW_LEN);
	raw_flow_end(flow[0]);
	raw_players_send(&p, PORT, 0);
	expect_values(counters, 2, 2 * RAW_LEN);
	assert_int_equal(ibv_destroy_counters(counters), EBUSY);
	raw_flow_end(flow[1]);
	assert_int_equal(ibv_destroy_counters(counters), 0);
	raw_players_end(&p);
}

static void counters_refuse_what_makes_no_sense(void **state)
{
	struct kit *k = *state;
	struct ibv_counters_init_attr init = { .comp_mask = 1 };
	struct ibv_counters *counters = new_counters(k);
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow;
	uint64_t values[8];

	assert_null(ibv_create_counters(k->ctx, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(attach(counters, (enum ibv_counter_description)2, 0, NULL),
			 EOPNOTSUPP);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 1000, NULL), EINVAL);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 7, NULL), 0);
	counting(&rule, counters);
	flow = raw_flow(qp, &rule);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 0, NULL), EBUSY);
	assert_int_equal(attach(counters, IBV_COUNTER_BYTES, 0, flow), EOPNOTSUPP);
	assert_int_equal(ibv_read_counters(counters, values, 7, 0), EINVAL);
	assert_int_equal(ibv_read_counters(counters, values, 8, 2), EINVAL);
	assert_int_equal(ibv_read_counters(counters, values, 8,
					   IBV_READ_COUNTERS_ATTR_PREFER_CACHED),
			 0);
	raw_flow_end(flow);
	assert_int_equal(ibv_destroy_counters(counters), 0);
	raw_end(qp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counters_add_up_what_rules_match),
		TEST(counters_refuse_what_makes_no_sense),
	};

	raw_need_privilege();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
