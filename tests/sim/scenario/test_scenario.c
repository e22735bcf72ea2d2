/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_scenario.c - scenario files: what is understood, and how the rest is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/scenario/scenario.h"

static struct rn_scenario scenario;
static struct rn_scn_error error;

static int parse(const char *text)
{
	return rn_scenario_parse(&scenario, text, strlen(text), &error);
}

static const struct rn_scn_line *line_of(const char *text)
{
	char buf[1024];

	snprintf(buf, sizeof(buf), "# X1: y\nsetup rc\n%s\nend\n", text);
	if (parse(buf))
		fail_msg("%u:%u: %s", error.line, error.column, error.sentence);
	return &scenario.line[0];
}

static void rules_and_title_stand_in_the_first_line(void **state)
{
	(void)state;
	assert_int_equal(parse("# B5, B6, H25: A gap.\nend\n"), 0);
	assert_int_equal(scenario.rules, 3);
	assert_string_equal(scenario.rule[0], "B5");
	assert_string_equal(scenario.rule[2], "H25");
	assert_string_equal(scenario.title, "A gap.");
}

static void names_and_rules_have_at_most_23_letters_and_rules_are_at_most_8(void **state)
{
	const char *text =
		"# A1, A2, A3, A4, A5, A6, A7, a-rule-of-twenty-3-lett: x\n"
		"mr a-name-of-twenty-3-lett\n+0 dereg a-name-of-twenty-3-lett\n"
		"end\n";

	(void)state;
	assert_int_equal(parse(text), 0);
	assert_int_equal(scenario.rules, RN_SCN_RULES);
	assert_string_equal(scenario.rule[7], "a-rule-of-twenty-3-lett");
	assert_string_equal(scenario.mr[0].name, "a-name-of-twenty-3-lett");
	assert_int_equal(scenario.line[0].subject, 0);
}

static void a_later_declaration_changes_fields(void **state)
{
	(void)state;
	assert_int_equal(parse("# X1: y\nsetup rc\nqp 1 rtr mtu 256\nend\n"), 0);
	assert_int_equal(scenario.qps, 1);
	assert_int_equal(scenario.qp[0].type, RN_QPT_RC);
	assert_int_equal(scenario.qp[0].line.value[RN_F_MTU], 256);
	assert_int_equal(scenario.qp[0].line.value[RN_F_STATE], RN_QPS_RTR);
	assert_int_equal(scenario.qp[0].line.value[RN_F_EPSN], 100);
}

static void times_have_units(void **state)
{
	static const struct {
		const char *text;
		rn_ns ns;
		uint32_t timeouts;
	} cases[] = {
		{ "+0 quiet", 0, 0 },
		{ "+7ns quiet", 7, 0 },
		{ "+5us quiet", 5000, 0 },
		{ "+1.5ms quiet", 1500000, 0 },
		{ "+0.25s quiet", 250000000, 0 },
		{ "+3T quiet", 0, 3 },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		const struct rn_scn_line *l = line_of(cases[i].text);

		assert_int_equal(l->from.ns, cases[i].ns);
		assert_int_equal(l->from.timeouts, cases[i].timeouts);
		assert_int_equal(l->to.ns, cases[i].ns);
	}
}

static void expectations_may_have_a_range(void **state)
{
	const struct rn_scn_line *l = line_of("+10us..4T > 1 RC_ACK psn 5");

	(void)state;
	assert_int_equal(l->from.ns, 10000);
	assert_int_equal(l->to.timeouts, 4);
	assert_int_equal(l->opcode, RN_RC_ACK);
	assert_int_equal(l->value[RN_F_PSN], 5);
}

static void fields_take_their_forms(void **state)
{
	const struct rn_scn_line *l =
		line_of("+0 < 1 RC_WRITE_ONLY psn 0x10 len 8 va m+128 rkey r^1 ack");

	(void)state;
	assert_int_equal(l->value[RN_F_PSN], 16);
	assert_int_equal(l->value[RN_F_VA], 128);
	assert_int_equal(l->region[RN_F_VA], 0);
	assert_int_equal(l->region[RN_F_RKEY], 1);
	assert_int_equal(l->value[RN_F_RKEY], 1);
	assert_true(rn_scn_has(l, RN_F_ACK));
	assert_false(rn_scn_has(l, RN_F_SE));

	l = line_of("+0 post 1 faa wr 3 va 0x1000 rkey 0x77 add 5 fence");
	assert_int_equal(l->value[RN_F_KIND], 6); /* IBV_WR_ATOMIC_FETCH_AND_ADD */
	assert_int_equal(l->region[RN_F_VA], RN_SCN_ABSOLUTE);
	assert_true(rn_scn_has(l, RN_F_FENCE));

	l = line_of("+0 > 1 RC_ACK psn 1 no ack");
	assert_true(rn_scn_has(l, RN_F_ACK));
	assert_int_equal(l->value[RN_F_ACK], 0);
}

static void what_is_not_understood_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text;
		unsigned line, column;
		const char *says;
	} cases[] = {
		{ "", 1, 1, "the last line is" },
		{ "\n", 1, 1, "the first line is" },
		{ "# B5 no colon\nend\n", 1, 3, "colon" },
		{ "# B5:\nend\n", 1, 6, "a sentence" },
		{ "# A1, A2, A3, A4, A5, A6, A7, A8, A9: x\nend\n", 1, 35, "a rule" },
		{ "# a-rule-of-twenty-5-letters: x\nend\n", 1, 3, "a rule" },
		{ "# B5: x\nmr a-name-of-twenty-4-lettr\nend\n", 2, 4,
		  "at most 23 letters" },
		{ "# B5: x\n", 2, 1, "the last line is" },
		{ "# B5: x\nfrob\nend\n", 2, 1, "expected setup" },
		{ "# B5: x\nsetup rc9\nend\n", 2, 7, "rc0, rc, uc0, ud0" },
		{ "# B5: x\nqp 1\nend\n", 2, 5, "a type" },
		{ "# B5: x\nqp 1 rc mtu x\nend\n", 2, 13, "a number after mtu" },
		{ "# B5: x\nmr m access all,frob\nend\n", 2, 13, "no value of access" },
		{ "# B5: x\n+5 quiet\nend\n", 2, 1, "a time" },
		{ "# B5: x\n+5us..1T quiet\nend\n", 2, 1, "only what is expected" },
		{ "# B5: x\n+0 dance\nend\n", 2, 4, "what happens" },
		{ "# B5: x\n+0 post 1 send\nend\n", 2, 9, "a queue pair" },
		{ "# B5: x\nsetup rc\n+0 < 1 RC_FROB\nend\n", 3, 8, "an opcode" },
		{ "# B5: x\nsetup rc\n+0 > 1 RC_ACK frob\nend\n", 3, 15, "not a field" },
		{ "# B5: x\nsetup rc\n+0 > 1 RC_ACK psn 1 psn 2\nend\n", 3, 21, "twice" },
		{ "# B5: x\nsetup rc\n+0 > 1 RC_ACK no psn 2\nend\n", 3, 18,
		  "not a field" },
		{ "# B5: x\nsetup rc\n+0 > 1 RC_ACK data q+1\nend\n", 3, 20, "a region" },
		{ "# B5: x\nsetup rc\n+0 > 1 RC_ACK data m+x\nend\n", 3, 20,
		  "no number" },
		{ "# B5: x\nsetup rc\n+0 event 1 frob\nend\n", 3, 12, "an event" },
		{ "# B5: x\nsetup rc\n+0 count frob\nend\n", 3, 10, "a counter" },
		{ "# B5: x\nend\n+0 quiet\n", 3, 1, "nothing comes after end" },
		{ "# B5: x\nsetup rc\n+0 > 1 RC_ACK psn 99999999999999999999\nend\n", 3,
		  19, "a number" },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		assert_int_not_equal(parse(cases[i].text), 0);
		if (!strstr(error.sentence, cases[i].says))
			fail_msg("case %zu says: %s", i, error.sentence);
		assert_int_equal(error.line, cases[i].line);
		assert_int_equal(error.column, cases[i].column);
	}
}

static void objects_have_names_of_their_own(void **state)
{
	(void)state;
	assert_int_equal(parse("# X1: y\nmr m\nmw w type 1\nsrq s rq 4\nsrq t xrcd 9\n"
			       "device ipv6\ndevice cc\nqp 1 rc srq s\nqp s ud\n"
			       "+0 recv t wr 1\n+0 recv s wr 2\n+0 event t cq_err\n"
			       "+0 < 1 XRC_SEND_ONLY srq t\n+0 > 1 XRC_SEND_ONLY srq 7\n"
			       "+0 post 1 local_inv inv w^1\nend\n"),
			 0);
	assert_true(scenario.ipv6 && scenario.cc);
	assert_int_equal(scenario.mrs, 2);
	assert_int_equal(scenario.mr[1].line.verb, RN_SCN_MW);
	assert_int_equal(scenario.srqs, 2);
	assert_int_equal(scenario.qp[0].line.region[RN_F_SRQ], 0);
	assert_true(scenario.line[0].of_srq && scenario.line[0].subject == 1);
	assert_false(scenario.line[1].of_srq); /* a queue pair comes first */
	assert_true(scenario.line[2].of_srq);
	assert_int_equal(scenario.line[3].region[RN_F_SRQ], 1);
	assert_int_equal(scenario.line[4].region[RN_F_SRQ], RN_SCN_ABSOLUTE);
	assert_int_equal(scenario.line[4].value[RN_F_SRQ], 7);
	assert_int_equal(scenario.line[5].region[RN_F_RKEY_NUMBER], 1);
	assert_int_equal(scenario.line[5].value[RN_F_RKEY_NUMBER], 1);
	assert_int_equal(parse("# X1: y\nqp 1 rc srq q\nend\n"), -EPROTO);
	assert_non_null(strstr(error.sentence, "name of an SRQ"));
	assert_int_equal(parse("# X1: y\ndevice ipv5\nend\n"), -EPROTO);
	assert_non_null(strstr(error.sentence, "ipv6"));
}

static void there_is_an_end_to_lines(void **state)
{
	static char text[16384];
	size_t len = (size_t)snprintf(text, sizeof(text), "# X1: y\n");

	(void)state;
	for (unsigned i = 0; i <= RN_SCN_LINES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "+0 quiet\n");
	assert_int_not_equal(parse(text), 0);
	assert_non_null(strstr(error.sentence, "too many lines"));
}

/* Every word of the language stands in the manual. */
static void the_manual_is_complete(void **state)
{
	static char manual[1 << 16];
	FILE *f = fopen(RN_MANUAL, "re");
	size_t len;

	(void)state;
	assert_non_null(f);
	len = fread(manual, 1, sizeof(manual) - 1, f);
	fclose(f);
	manual[len] = '\0';
	for (unsigned i = 0; i < RN_F_COUNT; i++)
		if (!strstr(manual, rn_scn_fields[i].name) &&
		    rn_scn_fields[i].form != RN_SCN_BARE)
			fail_msg("no word about %s", rn_scn_fields[i].name);
	for (unsigned i = 0; i < RN_SCN_VERBS; i++)
		if (!strstr(manual, rn_scn_verb_name[i]))
			fail_msg("no word about %s", rn_scn_verb_name[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_and_title_stand_in_the_first_line),
		cmocka_unit_test(
			names_and_rules_have_at_most_23_letters_and_rules_are_at_most_8),
		cmocka_unit_test(a_later_declaration_changes_fields),
		cmocka_unit_test(times_have_units),
		cmocka_unit_test(expectations_may_have_a_range),
		cmocka_unit_test(fields_take_their_forms),
		cmocka_unit_test(what_is_not_understood_is_refused_with_its_place),
		cmocka_unit_test(objects_have_names_of_their_own),
		cmocka_unit_test(there_is_an_end_to_lines),
		cmocka_unit_test(the_manual_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
