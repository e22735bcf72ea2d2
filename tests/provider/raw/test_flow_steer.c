/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_flow_steer.c - which queue pairs receive a frame. */
#include "provider/raw/flow.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "frames.h"

enum {
	QPS = 4
};

/* A queue pair is a letter here. @got: the letters of those that received the frame. */
static char qps[QPS] = { 'a', 'b', 'c', 'd' };
static char got[16];
static uint32_t tags[16];

static void deliver(void *arg, void *qp, uint32_t tag)
{
	size_t n = strlen(got);

	(void)arg;
	assert_true(n + 1 < sizeof(got));
	got[n] = *(const char *)qp;
	got[n + 1] = '\0';
	tags[n] = tag;
}

static void expect(struct rnp_steer *s, const struct frame *f, const char *who)
{
	unsigned n;

	got[0] = '\0';
	n = rnp_steer_frame(s, f->byte, f->len, deliver, NULL);
	assert_string_equal(got, who);
	assert_int_equal(n, strlen(who));
}

static struct rnp_rule rule(enum rnp_rule_kind kind, unsigned qp, uint16_t priority)
{
	return (struct rnp_rule){ .kind = kind, .qp = &qps[qp], .priority = priority };
}

/* A normal rule that matches one layer: UDP or TCP. */
static struct rnp_rule layer_rule(unsigned qp, uint16_t priority, uint32_t layer)
{
	struct rnp_rule r = rule(RNP_RULE_NORMAL, qp, priority);

	r.match.layers = layer;
	return r;
}

/* Creates the steer @s with rules. This is a macro because struct rnp_steer contains a
 * list head and cannot be returned by value.
 */
#define STEER(s, ...)                                                            \
	struct rnp_rule s##_rules[] = { __VA_ARGS__ };                           \
	struct rnp_steer s;                                                      \
	rnp_steer_init(&s);                                                      \
	for (size_t i_ = 0; i_ < sizeof(s##_rules) / sizeof(s##_rules[0]); i_++) \
	rnp_steer_add(&s, &s##_rules[i_])

static struct frame unicast(void)
{
	struct frame f = frame_udp4();

	f.byte[0] = 0x02;
	return f;
}

static void without_rules_nobody_gets_it(void **state)
{
	struct frame f = frame_udp4();
	struct rnp_steer s;

	(void)state;
	rnp_steer_init(&s);
	assert_true(rnp_steer_is_empty(&s));
	expect(&s, &f, "");
}

static void a_normal_rule_gets_what_it_matches(void **state)
{
	struct frame udp = frame_udp4(), tcp = frame_tcp6();

	(void)state;
	STEER(s, layer_rule(0, 0, RNP_LAYER_UDP));
	expect(&s, &udp, "a");
	expect(&s, &tcp, "");
	assert_false(rnp_steer_is_empty(&s));
	rnp_steer_remove(&s, &s_rules[0]);
	assert_true(rnp_steer_is_empty(&s));
	expect(&s, &udp, "");
}

static void a_lower_number_goes_first(void **state)
{
	struct frame udp = frame_udp4(), tcp = frame_tcp6();

	(void)state;
	STEER(s, layer_rule(0, 7, RNP_LAYER_ETH), layer_rule(1, 65535, RNP_LAYER_ETH),
	      layer_rule(2, 3, RNP_LAYER_UDP));
	expect(&s, &udp, "c");
	expect(&s, &tcp, "a");
	rnp_steer_remove(&s, &s_rules[0]);
	expect(&s, &tcp, "b");
}

static void rules_of_one_priority_all_get_a_copy_each_qp_one(void **state)
{
	struct frame udp = frame_udp4();

	(void)state;
	STEER(s, layer_rule(0, 1, RNP_LAYER_ETH), layer_rule(1, 1, RNP_LAYER_UDP),
	      layer_rule(0, 1, RNP_LAYER_IP4), layer_rule(2, 1, RNP_LAYER_TCP));
	expect(&s, &udp, "ab");
	expect(&s, &udp, "ab");
}

static void defaults_get_what_is_left(void **state)
{
	struct frame multicast = frame_tcp6(), udp = frame_udp4(), one = unicast();

	(void)state;
	STEER(s, rule(RNP_RULE_ALL_DEFAULT, 0, 0), rule(RNP_RULE_MC_DEFAULT, 1, 0),
	      layer_rule(2, 9, RNP_LAYER_UDP));
	expect(&s, &udp, "c");
	expect(&s, &multicast, "b");
	rnp_steer_remove(&s, &s_rules[1]);
	expect(&s, &multicast, "a");
	rnp_steer_remove(&s, &s_rules[2]);
	expect(&s, &one, "a");
}

static void a_multicast_default_gets_no_unicast(void **state)
{
	struct frame one = unicast(), none = { .len = 0 };

	(void)state;
	STEER(s, rule(RNP_RULE_MC_DEFAULT, 1, 0));
	expect(&s, &one, "");
	expect(&s, &none, "");
}

static void a_sniffer_gets_a_copy_of_all(void **state)
{
	struct frame udp = frame_udp4(), tcp = frame_tcp6(), none = { .len = 0 };

	(void)state;
	STEER(s, layer_rule(0, 0, RNP_LAYER_UDP), rule(RNP_RULE_SNIFFER, 1, 0),
	      rule(RNP_RULE_ALL_DEFAULT, 2, 0), rule(RNP_RULE_SNIFFER, 0, 0));
	expect(&s, &udp, "ba");
	expect(&s, &tcp, "bac");
	expect(&s, &none, "bac");
}

static void a_rule_that_drops_ends_it(void **state)
{
	struct frame udp = frame_udp4(), tcp = frame_tcp6();

	(void)state;
	STEER(s, layer_rule(0, 2, RNP_LAYER_UDP), layer_rule(1, 2, RNP_LAYER_UDP),
	      layer_rule(2, 3, RNP_LAYER_UDP), rule(RNP_RULE_ALL_DEFAULT, 3, 0));
	s_rules[1].drop = true;
	expect(&s, &udp, "");
	expect(&s, &tcp, "d");
	s_rules[1].drop = false;
	expect(&s, &udp, "ab");
}

static void a_rule_that_does_not_trap_lets_it_pass(void **state)
{
	struct frame udp = frame_udp4();

	(void)state;
	STEER(s, layer_rule(0, 1, RNP_LAYER_UDP), layer_rule(1, 2, RNP_LAYER_UDP),
	      layer_rule(0, 3, RNP_LAYER_UDP), rule(RNP_RULE_ALL_DEFAULT, 2, 0));
	s_rules[0].dont_trap = true;
	expect(&s, &udp, "ab");
	s_rules[1].dont_trap = true;
	expect(&s, &udp, "ab");
	s_rules[2].dont_trap = true;
	expect(&s, &udp, "abc");
}

static void tallies_count_what_rules_match(void **state)
{
	struct frame udp = frame_udp4(), tcp = frame_tcp6();
	struct rnp_tally both = { 0 }, dropped = { 0 };

	(void)state;
	STEER(s, layer_rule(0, 1, RNP_LAYER_UDP), layer_rule(1, 2, RNP_LAYER_ETH),
	      layer_rule(2, 3, RNP_LAYER_ETH));
	s_rules[0].tally = s_rules[1].tally = &both;
	s_rules[2].tally = &dropped;
	expect(&s, &udp, "a");
	expect(&s, &tcp, "b");
	assert_int_equal(both.frames, 2);
	assert_int_equal(both.bytes, udp.len + tcp.len);
	assert_int_equal(dropped.frames, 0);
	rnp_steer_remove(&s, &s_rules[1]);
	s_rules[2].drop = true;
	expect(&s, &tcp, "");
	assert_int_equal(dropped.frames, 1);
	assert_int_equal(dropped.bytes, tcp.len);
}

static void the_tag_is_that_of_the_rule(void **state)
{
	struct frame udp = frame_udp4();

	(void)state;
	STEER(s, layer_rule(0, 1, RNP_LAYER_UDP), layer_rule(1, 1, RNP_LAYER_UDP));
	s_rules[0].tag = 77;
	s_rules[1].tag = 0xffffff;
	expect(&s, &udp, "ab");
	assert_int_equal(tags[0], 77);
	assert_int_equal(tags[1], 0xffffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_rules_nobody_gets_it),
		cmocka_unit_test(a_normal_rule_gets_what_it_matches),
		cmocka_unit_test(a_lower_number_goes_first),
		cmocka_unit_test(rules_of_one_priority_all_get_a_copy_each_qp_one),
		cmocka_unit_test(defaults_get_what_is_left),
		cmocka_unit_test(a_multicast_default_gets_no_unicast),
		cmocka_unit_test(a_sniffer_gets_a_copy_of_all),
		cmocka_unit_test(a_rule_that_drops_ends_it),
		cmocka_unit_test(a_rule_that_does_not_trap_lets_it_pass),
		cmocka_unit_test(tallies_count_what_rules_match),
		cmocka_unit_test(the_tag_is_that_of_the_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
