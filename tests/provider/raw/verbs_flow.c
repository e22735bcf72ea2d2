/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_flow.c - flow steering: which rules deliver a frame to which queue pair. */
#include <arpa/inet.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/kit/raw_kit.h"

enum {
	PORT = 4001,
	OTHER = 4002,
};

/* ------------------------------------------------------------------ matching */
static void each_layer_decides(void **state)
{
	struct raw_players p = raw_players_new(*state);
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_eth eth = {
		.type = IBV_FLOW_SPEC_ETH,
		.size = sizeof(eth),
		.val = { .dst_mac = { 0x01, 0x50, 0x56, 0x19, 0x20, 0xa7 },
			 .ether_type = htons(0x800) },
		.mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 },
			  .ether_type = 0xffff },
	};
	struct ibv_flow_spec_ipv4_ext ip = {
		.type = IBV_FLOW_SPEC_IPV4_EXT,
		.size = sizeof(ip),
		.val = { .dst_ip = htonl(0x02020202), .proto = 17 },
		.mask = { .dst_ip = UINT32_MAX, .proto = 255 },
	};
	/* a byte of each matched field, from the MAC to the port */
	static const unsigned wrong[] = { 3, 13, 23, 32, 37 };
	struct ibv_flow *flow;

	raw_rule_add(&rule, &eth, sizeof(eth));
	raw_rule_add(&rule, &ip, sizeof(ip));
	raw_rule_port(&rule, PORT);
	flow = raw_flow(p.qp[0], &rule);
	raw_players_send(&p, PORT, 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		raw_write_frame(p.k, PORT, RAW_LEN, 5);
		p.k->buf[wrong[i]] ^= 0x10;
		raw_players_expect(&p, 0);
	}
	raw_write_frame(p.k, PORT, RAW_LEN, 5);
	p.k->buf[7] ^= 0x10; /* a source address, which no rule matches */
	raw_players_expect(&p, 1);
	raw_flow_end(flow);
	raw_players_send(&p, PORT, 0);
	raw_players_end(&p);
}

static void one_queue_pair_may_have_several_rules(void **state)
{
	struct raw_players p = raw_players_new(*state);
	struct ibv_flow *a = raw_flow_port(p.qp[0], PORT);
	struct ibv_flow *b = raw_flow_port(p.qp[0], OTHER);
	struct ibv_flow *c = raw_flow_port(p.qp[1], PORT);

	raw_players_send(&p, PORT, 3);
	raw_players_send(&p, OTHER, 1);
	raw_flow_end(a);
	raw_players_send(&p, PORT, 2);
	raw_flow_end(b);
	raw_flow_end(c);
	raw_players_end(&p);
}

static struct ibv_flow *any_flow(struct ibv_qp *qp, enum ibv_flow_attr_type type,
				 uint16_t priority)
{
	struct raw_rule rule = raw_rule_new(type, priority);

	return raw_flow(qp, &rule);
}

static void priorities_defaults_and_sniffers_have_their_order(void **state)
{
	struct raw_players p = raw_players_new(*state);
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 7);
	struct ibv_flow *normal, *all, *more;

	all = any_flow(p.qp[0], IBV_FLOW_ATTR_ALL_DEFAULT, 0);
	raw_players_send(&p, PORT, 1);
	more = any_flow(p.qp[1], IBV_FLOW_ATTR_MC_DEFAULT, 0);
	raw_players_send(&p, PORT, 2);
	raw_write_frame(p.k, PORT, RAW_LEN, 1);
	p.k->buf[0] = 0x02; /* no longer a group address */
	raw_players_expect(&p, 1);
	raw_rule_port(&rule, PORT);
	normal = raw_flow(p.qp[2], &rule);
	raw_players_send(&p, PORT, 4);
	raw_players_send(&p, OTHER, 2);
	raw_flow_end(more);
	more = raw_flow_port(p.qp[1], PORT); /* its priority is 0 */
	raw_players_send(&p, PORT, 2);
	raw_players_send(&p, OTHER, 1);
	raw_flow_end(more);
	raw_flow_end(all);
	raw_players_send(&p, PORT, 4);
	raw_flow_end(normal);
	raw_players_end(&p);
}

static void a_rule_may_drop_or_let_pass(void **state)
{
	struct raw_players p = raw_players_new(*state);
	struct raw_rule drop = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 3);
	struct raw_rule pass = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 2);
	struct ibv_flow_spec_action_drop action = { .type = IBV_FLOW_SPEC_ACTION_DROP,
						    .size = sizeof(action) };
	struct raw_rule late = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 9);
	struct ibv_flow *dropping, *passing, *behind;

	raw_rule_port(&drop, PORT);
	raw_rule_add(&drop, &action, sizeof(action));
	raw_rule_port(&pass, PORT);
	pass.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	raw_rule_port(&late, PORT);
	behind = raw_flow(p.qp[1], &late);
	passing = raw_flow(p.qp[0], &pass);
	raw_players_send(&p, PORT, 3);
	dropping = raw_flow(p.qp[2], &drop);
	raw_players_send(&p, PORT, 1);
	raw_flow_end(passing);
	raw_players_send(&p, PORT, 0);
	raw_flow_end(dropping);
	raw_players_send(&p, PORT, 2);
	raw_flow_end(behind);
	raw_players_end(&p);
}

static void a_sniffer_sees_everything(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *a = raw_qp(k), *b = raw_qp(k);
	struct ibv_flow *sniffer = any_flow(b, IBV_FLOW_ATTR_SNIFFER, 0);
	struct ibv_flow *flow = raw_flow_port(a, PORT);

	raw_post(k, a, 0);
	raw_post(k, b, 1);
	raw_post(k, b, 2);
	raw_send_to(k, a, OTHER);
	raw_expect(k, b, 1, OTHER, RAW_LEN);
	raw_send_to(k, a, PORT);
	raw_expect(k, b, 2, PORT, RAW_LEN);
	raw_expect(k, a, 0, PORT, RAW_LEN);
	raw_flow_end(sniffer);
	raw_flow_end(flow);
	raw_end(a);
	raw_end(b);
}

static struct ibv_qp *qp_on(struct kit *k, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = k->cq,
		.recv_cq = cq,
		.cap = { .max_recv_wr = 4, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_qp *qp = ibv_create_qp(k->pd, &attr);

	assert_non_null(qp);
	raw_to_rts(qp);
	return qp;
}

static void the_tag_of_a_rule_stands_in_the_completion(void **state)
{
	struct kit *k = *state;
	struct ibv_cq_init_attr_ex init = {
		.cqe = 16, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_FLOW_TAG
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(k->ctx, &init);
	struct ibv_poll_cq_attr poll = { .comp_mask = 0 };
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_action_tag tag = { .type = IBV_FLOW_SPEC_ACTION_TAG,
						.size = sizeof(tag),
						.tag_id = 0x123456 };
	struct ibv_qp *sender = raw_qp(k), *qp;
	struct ibv_flow *flow;
	time_t end = time(NULL) + 20;
	int rc;

	assert_non_null(cq);
	qp = qp_on(k, ibv_cq_ex_to_cq(cq));
	raw_rule_port(&rule, PORT);
	raw_rule_add(&rule, &tag, sizeof(tag));
	flow = raw_flow(qp, &rule);
	raw_post(k, qp, 0);
	raw_send_to(k, sender, PORT);
	while ((rc = ibv_start_poll(cq, &poll)) == ENOENT)
		assert_true(time(NULL) < end);
	assert_int_equal(rc, 0);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_byte_len(cq), RAW_LEN);
	assert_int_equal(ibv_wc_read_flow_tag(cq), 0x123456);
	ibv_end_poll(cq);
	raw_flow_end(flow);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	raw_end(sender);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

/* ---------------------------------------------------------------------- life */
static void a_queue_pair_with_rules_cannot_go(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);

	assert_ptr_equal(flow->context, k->ctx);
	assert_int_equal(ibv_destroy_qp(qp), EBUSY);
	raw_flow_end(flow);
	raw_end(qp);
}

static void refuse(struct ibv_qp *qp, struct raw_rule *rule, int why)
{
	errno = 0;
	assert_null(ibv_create_flow(qp, &rule->attr));
	assert_int_equal(errno, why);
}

static void rules_that_cannot_be_are_refused(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct kit *k = *state;
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_esp esp = { .type = IBV_FLOW_SPEC_ESP, .size = sizeof(esp) };
	struct ibv_qp *qp;

	raw_rule_port(&rule, PORT);
	for (size_t i = 0; i < 3; i++) {
		qp = kit_create_qp(k, types[i]);
		refuse(qp, &rule, EOPNOTSUPP);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	qp = raw_qp(k);
	rule.attr.port = 2;
	refuse(qp, &rule, EINVAL);
	rule.attr.port = 1;
	rule.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
	refuse(qp, &rule, EINVAL);
	rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	raw_rule_add(&rule, &esp, sizeof(esp));
	refuse(qp, &rule, EOPNOTSUPP);
	raw_end(qp);
}

static void a_closed_context_leaves_no_rules(void **state)
{
	struct kit *k = *state;
	struct raw_players p = raw_players_new(*state);
	void *second;
	struct kit *other;
	struct ibv_qp *qp;
	struct ibv_flow *flow;

	kit_setup(&second);
	other = second;
	qp = raw_qp(other);
	flow = raw_flow_port(qp, PORT);
	raw_post(other, qp, 0);
	raw_send_to(k, p.sender, PORT);
	assert_int_equal(kit_expect(other->cq, 0, IBV_WC_RECV).byte_len, RAW_LEN);
	/* libibverbs does not free the flow when the context is closed; the device
	 * removes its rule. So the test frees it.
	 */
	assert_int_equal(ibv_close_device(other->ctx), 0);
	free(flow);
	raw_players_send(&p, PORT, 0);
	raw_players_end(&p);
}

static void a_child_of_fork_has_no_rules(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct ibv_counters_init_attr init = { .comp_mask = 0 };
	struct ibv_counter_attach_attr attr = { .counter_desc = IBV_COUNTER_BYTES };
	struct ibv_counters *counters = ibv_create_counters(k->ctx, &init);
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	pid_t child = fork();
	int status;

	if (child == 0) {
		uint64_t value;
		int bad = 0;

		bad |= ibv_create_flow(qp, &rule.attr) != NULL || errno != EIO;
		bad |= (ibv_create_counters(k->ctx, &init) != NULL || errno != EIO) << 1;
		bad |= (ibv_read_counters(counters, &value, 1, 0) != EIO) << 2;
		bad |= (ibv_attach_counters_point_flow(counters, &attr, NULL) != EIO)
		       << 3;
		bad |= (ibv_destroy_flow(flow) != 0) << 4;
		bad |= (ibv_destroy_counters(counters) != 0) << 5;
		_exit(bad);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	raw_post(k, qp, 0);
	raw_send_to(k, qp, PORT);
	raw_expect(k, qp, 0, PORT, RAW_LEN);
	raw_flow_end(flow);
	assert_int_equal(ibv_destroy_counters(counters), 0);
	raw_end(qp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_layer_decides),
		TEST(one_queue_pair_may_have_several_rules),
		TEST(priorities_defaults_and_sniffers_have_their_order),
		TEST(a_rule_may_drop_or_let_pass),
		TEST(a_sniffer_sees_everything),
		TEST(the_tag_of_a_rule_stands_in_the_completion),
		TEST(a_queue_pair_with_rules_cannot_go),
		TEST(rules_that_cannot_be_are_refused),
		TEST(a_closed_context_leaves_no_rules),
		TEST(a_child_of_fork_has_no_rules),
	};

	raw_need_privilege();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
