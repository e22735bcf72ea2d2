/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_flow_spec.c - parsing of flow rules in the form that a program passes. */
#include "provider/raw/flow.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "frames.h"

/* A rule that the functions below append specifications to, without gaps. */
struct text {
	struct ibv_flow_attr attr;
	uint8_t specs[1024];
	size_t len;
};

static_assert(offsetof(struct text, specs) == sizeof(struct ibv_flow_attr),
	      "specifications follow the attributes");

static struct text new_text(void)
{
	return (struct text){ .attr = { .port = 1 } };
}

static void add(struct text *t, const void *spec, size_t size)
{
	memcpy(t->specs + t->len, spec, size);
	t->len += size;
	t->attr.num_of_specs++;
}

#define ADD(t, kind, name, ...)                              \
	do {                                                 \
		struct name spec_ = { .type = (kind),        \
				      .size = sizeof(spec_), \
				      __VA_ARGS__ };         \
		add((t), &spec_, sizeof(spec_));             \
	} while (0)

#define ADD_ETH(t, ...) ADD(t, IBV_FLOW_SPEC_ETH, ibv_flow_spec_eth, __VA_ARGS__)
#define ADD_IP4(t, ...) ADD(t, IBV_FLOW_SPEC_IPV4, ibv_flow_spec_ipv4, __VA_ARGS__)
#define ADD_EXT(t, ...) \
	ADD(t, IBV_FLOW_SPEC_IPV4_EXT, ibv_flow_spec_ipv4_ext, __VA_ARGS__)
#define ADD_IP6(t, ...) ADD(t, IBV_FLOW_SPEC_IPV6, ibv_flow_spec_ipv6, __VA_ARGS__)
#define ADD_TCP(t, ...) ADD(t, IBV_FLOW_SPEC_TCP, ibv_flow_spec_tcp_udp, __VA_ARGS__)
#define ADD_UDP(t, ...) ADD(t, IBV_FLOW_SPEC_UDP, ibv_flow_spec_tcp_udp, __VA_ARGS__)

static int read_text(const struct text *t, struct rnp_rule *rule)
{
	struct ibv_counters *counters;

	return rnp_flow_spec_parse(&t->attr, rule, &counters);
}

static void expect(const struct text *t, int rc)
{
	struct rnp_rule rule;

	assert_int_equal(read_text(t, &rule), rc);
}

static bool matches(const struct text *t, const struct frame *f)
{
	struct rnp_frame_view v;
	struct rnp_rule rule;

	assert_int_equal(read_text(t, &rule), 0);
	rnp_frame_parse(&v, f->byte, f->len);
	return rnp_flow_matches(&rule.match, &v);
}

static void fields_of_every_layer_are_compared(void **state)
{
	struct frame udp = frame_udp4(), tcp = frame_tcp6();
	struct text t = new_text();

	(void)state;
	ADD_ETH(&t,
		.val = { .dst_mac = { 1, 0x50, 0x56, 0x19, 0x20, 0xa7 },
			 .ether_type = htons(0x800) },
		.mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 },
			  .ether_type = 0xffff });
	assert_true(matches(&t, &udp));
	assert_false(matches(&t, &tcp));
	ADD_EXT(&t,
		.val = { .src_ip = htonl(0x01010101),
			 .proto = 17,
			 .ttl = 64,
			 .tos = 16,
			 .flags = 2 },
		.mask = { .src_ip = UINT32_MAX,
			  .proto = 255,
			  .ttl = 255,
			  .tos = 255,
			  .flags = 6 });
	assert_true(matches(&t, &udp));
	ADD_UDP(&t, .val = { .dst_port = htons(5678), .src_port = htons(9) },
		.mask = { .dst_port = 0xffff });
	assert_true(matches(&t, &udp));
	assert_false(matches(&t, &tcp));

	t = new_text();
	ADD_IP6(&t,
		.val = { .dst_ip = { 0xb0, 0xb1 },
			 .flow_label = htonl(0x34567),
			 .next_hdr = 6,
			 .traffic_class = 0x12,
			 .hop_limit = 63 },
		.mask = { .dst_ip = { 255, 255 },
			  .flow_label = htonl(0xfffff),
			  .next_hdr = 255,
			  .traffic_class = 255,
			  .hop_limit = 255 });
	ADD_TCP(&t, .val = { .src_port = htons(1234) }, .mask = { .src_port = 0xffff });
	assert_true(matches(&t, &tcp));
	assert_false(matches(&t, &udp));
}

static void a_prefix_of_an_address_will_do(void **state)
{
	struct frame udp = frame_udp4();
	struct text t = new_text(), u = new_text();

	(void)state;
	ADD_IP4(&t, .val = { .dst_ip = htonl(0x02020000) },
		.mask = { .dst_ip = htonl(0xffff0000) });
	assert_true(matches(&t, &udp));
	ADD_IP4(&u, .val = { .dst_ip = htonl(0x02030000) },
		.mask = { .dst_ip = htonl(0xffff0000) });
	assert_false(matches(&u, &udp));
}

static void a_vlan_tag_that_is_wanted_must_be_there(void **state)
{
	struct frame with = frame_eth(0x8100), without = frame_udp4();
	struct text t = new_text();

	(void)state;
	frame_vlan(&with, 0xa005, 0x0800);
	ADD_ETH(&t, .val = { .vlan_tag = htons(5) },
		.mask = { .vlan_tag = htons(0xfff) });
	assert_true(matches(&t, &with));
	assert_false(matches(&t, &without));
	t = new_text();
	ADD_ETH(&t, .val = { .vlan_tag = 0 }, .mask = { .vlan_tag = htons(0xfff) });
	assert_false(matches(&t, &without));
}

static void no_specification_is_everything(void **state)
{
	struct frame udp = frame_udp4();
	struct text t = new_text();

	(void)state;
	assert_true(matches(&t, &udp));
}

static void what_is_to_be_done_is_taken_over(void **state)
{
	struct ibv_counters counters, *found = NULL;
	struct text t = new_text();
	struct rnp_rule rule;

	(void)state;
	t.attr.priority = 300;
	t.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	ADD(&t, IBV_FLOW_SPEC_ACTION_TAG, ibv_flow_spec_action_tag, .tag_id = 0xabcdef);
	ADD(&t, IBV_FLOW_SPEC_ACTION_COUNT, ibv_flow_spec_counter_action,
	    .counters = &counters);
	assert_int_equal(rnp_flow_spec_parse(&t.attr, &rule, &found), 0);
	assert_int_equal(rule.kind, RNP_RULE_NORMAL);
	assert_int_equal(rule.priority, 300);
	assert_int_equal(rule.tag, 0xabcdef);
	assert_true(rule.dont_trap);
	assert_false(rule.drop);
	assert_ptr_equal(found, &counters);
	t = new_text();
	ADD(&t, IBV_FLOW_SPEC_ACTION_DROP, ibv_flow_spec_action_drop, );
	assert_int_equal(rnp_flow_spec_parse(&t.attr, &rule, &found), 0);
	assert_true(rule.drop);
	assert_null(found);
	t.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	expect(&t, -EINVAL);
}

static void kinds_of_rules(void **state)
{
	static const struct {
		enum ibv_flow_attr_type type;
		enum rnp_rule_kind kind;
	} kinds[] = {
		{ IBV_FLOW_ATTR_NORMAL, RNP_RULE_NORMAL },
		{ IBV_FLOW_ATTR_ALL_DEFAULT, RNP_RULE_ALL_DEFAULT },
		{ IBV_FLOW_ATTR_MC_DEFAULT, RNP_RULE_MC_DEFAULT },
		{ IBV_FLOW_ATTR_SNIFFER, RNP_RULE_SNIFFER },
	};
	struct text t = new_text();
	struct rnp_rule rule;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		t = new_text();
		t.attr.type = kinds[i].type;
		assert_int_equal(read_text(&t, &rule), 0);
		assert_int_equal(rule.kind, kinds[i].kind);
		t.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
		expect(&t, i == 0 ? 0 : -EINVAL);
		t.attr.flags = 0;
		ADD_ETH(&t, .mask = { .ether_type = 0 });
		expect(&t, i == 0 ? 0 : -EINVAL);
	}
	t = new_text();
	t.attr.type = (enum ibv_flow_attr_type)4;
	expect(&t, -EINVAL);
}

static void attributes_that_cannot_be_are_refused(void **state)
{
	struct text t = new_text();

	(void)state;
	t.attr.port = 0;
	expect(&t, -EINVAL);
	t.attr.port = 2;
	expect(&t, -EINVAL);
	t = new_text();
	t.attr.comp_mask = 1;
	expect(&t, -EINVAL);
	t = new_text();
	t.attr.flags = 1;
	expect(&t, -EINVAL);
	t.attr.flags = 1 << 3;
	expect(&t, -EINVAL);
	t.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	expect(&t, -EOPNOTSUPP);
	t = new_text();
	t.attr.num_of_specs = RNP_FLOW_SPECS_MAX + 1;
	expect(&t, -EINVAL);
}

static void sizes_must_be_those_of_the_types(void **state)
{
	static const unsigned types[] = {
		IBV_FLOW_SPEC_ETH,	    IBV_FLOW_SPEC_IPV4,
		IBV_FLOW_SPEC_IPV4_EXT,	    IBV_FLOW_SPEC_IPV6,
		IBV_FLOW_SPEC_TCP,	    IBV_FLOW_SPEC_UDP,
		IBV_FLOW_SPEC_ACTION_TAG,   IBV_FLOW_SPEC_ACTION_DROP,
		IBV_FLOW_SPEC_ACTION_COUNT,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		unsigned fits = 0;

		for (unsigned size = 0; size < 200; size++) {
			struct ibv_counters counters;
			struct text t = new_text();
			struct ibv_flow_spec_counter_action s = {
				.type = (enum ibv_flow_spec_type)types[i],
				.size = (uint16_t)size,
				.counters = &counters,
			};
			struct rnp_rule rule;

			add(&t, &s, sizeof(s));
			if (types[i] != IBV_FLOW_SPEC_ACTION_COUNT)
				memset(t.specs + 8, 0, 8);
			fits += read_text(&t, &rule) == 0;
		}
		assert_int_equal(fits, 1);
	}
}

static void what_other_devices_can_is_said_to_be_missing(void **state)
{
	static const unsigned types[] = {
		IBV_FLOW_SPEC_ESP,
		IBV_FLOW_SPEC_VXLAN_TUNNEL,
		IBV_FLOW_SPEC_GRE,
		IBV_FLOW_SPEC_MPLS,
		IBV_FLOW_SPEC_ACTION_HANDLE,
		IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ETH,
		IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_TCP,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct text t = new_text();

		ADD(&t, (enum ibv_flow_spec_type)types[i], ibv_flow_spec_action_tag, );
		expect(&t, -EOPNOTSUPP);
	}
	for (unsigned type = 0; type < 0x20; type++) {
		struct text t = new_text();

		ADD(&t, (enum ibv_flow_spec_type)type, ibv_flow_spec_action_tag, );
		expect(&t, -EINVAL);
	}
}

#define REFUSE_BOTH(first, second)           \
	do {                                 \
		struct text t_ = new_text(); \
		first(&t_, );                \
		expect(&t_, 0);              \
		second(&t_, );               \
		expect(&t_, -EINVAL);        \
	} while (0)

static void layers_that_exclude_each_other_are_refused(void **state)
{
	(void)state;
	REFUSE_BOTH(ADD_ETH, ADD_ETH);
	REFUSE_BOTH(ADD_IP4, ADD_IP4);
	REFUSE_BOTH(ADD_IP4, ADD_EXT);
	REFUSE_BOTH(ADD_IP4, ADD_IP6);
	REFUSE_BOTH(ADD_EXT, ADD_IP6);
	REFUSE_BOTH(ADD_IP6, ADD_IP4);
	REFUSE_BOTH(ADD_TCP, ADD_UDP);
	REFUSE_BOTH(ADD_UDP, ADD_UDP);
}

static void rules_that_no_frame_can_match_are_refused(void **state)
{
	struct text t = new_text();

	(void)state;
	ADD_ETH(&t, .val = { .ether_type = htons(0x86dd) },
		.mask = { .ether_type = 0xffff });
	ADD_IP4(&t, );
	expect(&t, -EINVAL);
	t = new_text();
	ADD_ETH(&t, .val = { .ether_type = htons(0x800) },
		.mask = { .ether_type = 0xffff });
	ADD_IP6(&t, );
	expect(&t, -EINVAL);
	t = new_text();
	ADD_EXT(&t, .val = { .proto = 17 }, .mask = { .proto = 255 });
	ADD_TCP(&t, );
	expect(&t, -EINVAL);
	t = new_text();
	ADD_EXT(&t, .mask = { .flags = 1 });
	expect(&t, -EINVAL);
	t = new_text();
	ADD_IP6(&t, .mask = { .flow_label = htonl(0x100000) });
	expect(&t, -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_every_layer_are_compared),
		cmocka_unit_test(a_prefix_of_an_address_will_do),
		cmocka_unit_test(a_vlan_tag_that_is_wanted_must_be_there),
		cmocka_unit_test(no_specification_is_everything),
		cmocka_unit_test(what_is_to_be_done_is_taken_over),
		cmocka_unit_test(kinds_of_rules),
		cmocka_unit_test(attributes_that_cannot_be_are_refused),
		cmocka_unit_test(sizes_must_be_those_of_the_types),
		cmocka_unit_test(what_other_devices_can_is_said_to_be_missing),
		cmocka_unit_test(layers_that_exclude_each_other_are_refused),
		cmocka_unit_test(rules_that_no_frame_can_match_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
