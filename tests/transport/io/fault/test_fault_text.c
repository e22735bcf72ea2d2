/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fault_text.c - rules about faults: what is read, and what is refused how. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/opcode.h"
#include "transport/io/fault/net_fault.h"

static struct rn_fault_rules read_rules(const char *text)
{
	struct rn_fault_rules rules;
	char err[300] = "";

	if (rn_fault_rules_parse(text, "test", &rules, err, sizeof(err)))
		fail_msg("%s", err);
	return rules;
}

static struct rn_fault_rule read_rule(const char *text)
{
	struct rn_fault_rules rules = read_rules(text);

	assert_int_equal(rules.count, 1);
	return rules.rule[0];
}

static bool has_op(const struct rn_fault_rule *r, unsigned op)
{
	return (r->ops[op / 64] >> op % 64 & 1) != 0;
}

static void every_condition_is_read(void **state)
{
	struct rn_fault_rule r =
		read_rule("drop tx rx dev=rocin1 program=ib_send_bw pid=77 qpn=0x000103 "
			  "qp=4 op=RC_SEND_ONLY psn=0x10..20 nth=3..9 every=2 "
			  "chance=0.5% count=6");

	(void)state;
	assert_int_equal(r.act, RN_FAULT_DROP);
	assert_true(r.in_dir[RN_FAULT_TX]);
	assert_true(r.in_dir[RN_FAULT_RX]);
	assert_string_equal(r.dev, "rocin1");
	assert_string_equal(r.program, "ib_send_bw");
	assert_int_equal(r.pid, 77);
	assert_int_equal(r.qpn, 0x103);
	assert_int_equal(r.qp, 4);
	assert_true(has_op(&r, RN_RC_SEND_ONLY));
	assert_false(has_op(&r, RN_RC_SEND_FIRST));
	assert_true(r.has_psn);
	assert_int_equal(r.psn_first, 0x10);
	assert_int_equal(r.psn_last, 20);
	assert_int_equal(r.nth, 3);
	assert_int_equal(r.nth_last, 9);
	assert_int_equal(r.every, 2);
	assert_int_equal(r.chance, 5000);
	assert_int_equal(r.count, 6);
	assert_false(r.is_unconditional);
}

static void rule_without_conditions_is_about_every_packet_sent(void **state)
{
	struct rn_fault_rule r = read_rule("  drop\t");

	(void)state;
	assert_true(r.in_dir[RN_FAULT_TX]);
	assert_false(r.in_dir[RN_FAULT_RX]);
	assert_int_equal(r.nth, 1);
	assert_int_equal(r.nth_last, 0);
	assert_int_equal(r.every, 1);
	assert_int_equal(r.chance, 1000000);
	assert_true(r.is_unconditional);
	for (unsigned op = 0; op < 256; op++)
		assert_true(has_op(&r, op));
}

static void every_action_is_read(void **state)
{
	struct rn_fault_rules rules = read_rules("duplicate=3; delay=1.5ms; reorder=4\n"
						 "corrupt at=-4 xor=0x80 icrc=good\n"
						 "mark; nak=rnr:14; kill; overrun=recv\n"
						 "cut=2s; fail=ENOSPC call=create_qp\n"
						 "set bth.psn=7 aeth.syndrome=0x60; cut");
	const struct rn_fault_rule *r = rules.rule;

	(void)state;
	assert_int_equal(rules.count, 12);
	assert_int_equal(r[0].copies, 3);
	assert_int_equal(r[1].time, 1500000);
	assert_int_equal(r[2].places, 4);
	assert_int_equal(r[3].at, -4);
	assert_int_equal(r[3].flip, 0x80);
	assert_true(r[3].good_icrc);
	assert_int_equal(r[4].act, RN_FAULT_MARK);
	assert_int_equal(r[5].syndrome, 0x2e);
	assert_int_equal(r[6].act, RN_FAULT_KILL);
	assert_int_equal(r[7].act, RN_FAULT_OVERRUN);
	assert_false(r[7].of_send_cq);
	assert_int_equal(r[8].time, 2000000000);
	assert_int_equal(r[9].error, ENOSPC);
	assert_string_equal(rn_fault_calls[r[9].call], "create_qp");
	assert_int_equal(r[10].changes, 2);
	assert_int_equal(r[10].change[1].value, 0x60);
	assert_int_equal(r[11].time, 0);
}

static void naks_have_the_syndromes_of_the_specification(void **state)
{
	(void)state;
	assert_int_equal(read_rule("nak=seq").syndrome, 0x60);
	assert_int_equal(read_rule("nak=invalid").syndrome, 0x61);
	assert_int_equal(read_rule("nak=access").syndrome, 0x62);
	assert_int_equal(read_rule("nak=operation").syndrome, 0x63);
	assert_int_equal(read_rule("nak=rnr").syndrome, 0x21);
}

static void messages_of_the_connection_manager_are_named(void **state)
{
	(void)state;
	assert_int_equal(read_rule("drop").mads, 0);
	assert_int_equal(read_rule("drop mad=REQ").mads, 1);
	assert_int_equal(read_rule("drop mad=sidr_*,APR").mads,
			 1 << 7 | 1 << 8 | 1 << 10);
	assert_int_equal(read_rule("drop mad=*").mads, 0x7ff);
}

static void opcodes_are_named_in_many_ways(void **state)
{
	struct rn_fault_rule r = read_rule("drop op=WRITE_*,rc_send_only,0x64");

	(void)state;
	assert_true(has_op(&r, RN_RC_WRITE_FIRST));
	assert_true(has_op(&r, RN_UC_WRITE_ONLY_IMM));
	assert_true(has_op(&r, RN_XRC_WRITE_LAST));
	assert_true(has_op(&r, RN_RC_SEND_ONLY));
	assert_false(has_op(&r, RN_UC_SEND_ONLY));
	assert_true(has_op(&r, RN_UD_SEND_ONLY));
	assert_false(has_op(&r, RN_RC_ACK));
	r = read_rule("drop op=*N*O*Y");
	assert_true(has_op(&r, RN_UC_SEND_ONLY));
	assert_false(has_op(&r, RN_RC_WRITE_ONLY_IMM));
	assert_false(has_op(&r, RN_RC_ACK));
	r = read_rule("drop op=response");
	assert_true(has_op(&r, RN_RC_ACK));
	assert_true(has_op(&r, RN_RC_READ_RESPONSE_LAST));
	assert_false(has_op(&r, RN_RC_READ_REQUEST));
}

/* They would have no meaning for others. */
static void some_actions_choose_their_packets(void **state)
{
	struct rn_fault_rule nak = read_rule("nak=access rx");
	struct rn_fault_rule norecv = read_rule("norecv");
	struct rn_fault_rule set = read_rule("set reth.rkey=1");

	(void)state;
	assert_true(has_op(&nak, RN_RC_READ_REQUEST));
	assert_false(has_op(&nak, RN_RC_ACK));
	assert_false(has_op(&nak, RN_UC_SEND_ONLY));
	assert_true(norecv.in_dir[RN_FAULT_RX]);
	assert_false(norecv.in_dir[RN_FAULT_TX]);
	assert_true(has_op(&norecv, RN_UD_SEND_ONLY));
	assert_false(has_op(&norecv, RN_RC_WRITE_ONLY));
	assert_true(has_op(&set, RN_RC_WRITE_ONLY));
	assert_false(has_op(&set, RN_RC_SEND_ONLY));
}

static void comments_blank_lines_and_the_seed_are_no_rules(void **state)
{
	struct rn_fault_rules rules = read_rules("# drop\n\n  seed=99 # for today\n"
						 " ;; drop nth=2 # ; kill\r\n");

	(void)state;
	assert_int_equal(rules.seed, 99);
	assert_int_equal(rules.count, 1);
	assert_int_equal(rules.rule[0].nth_last, 2);
	assert_int_equal(read_rules("").count, 0);
	assert_int_equal(read_rules("drop").seed, 1);
}

static void same_rule_has_the_same_identity_however_it_is_spaced(void **state)
{
	(void)state;
	assert_true(read_rule("drop  tx\tnth=1").id == read_rule(" drop tx nth=1 ").id);
	assert_true(read_rule("drop tx").id != read_rule("drop rx").id);
}

static void what_is_wrong_is_refused_with_place_and_expectation(void **state)
{
	static const char *const wrong[][2] = {
		{ "lose", "expected drop, duplicate" },
		{ "drop=1%", "chance=1%" },
		{ "drop twice", "expected tx, rx, dev=" },
		{ "drop tx tx", "once" },
		{ "drop tx=1", "no value" },
		{ "drop nth", "nth=3" },
		{ "drop nth=0", "nth=3" },
		{ "drop nth=5..4", "nth=3" },
		{ "drop every=0", "one of K" },
		{ "drop count=0", "at most" },
		{ "drop chance=101%", "percentage" },
		{ "drop chance=5", "percentage" },
		{ "drop op=RC_SEND", "op=RC_SEND_ONLY" },
		{ "drop op=", "op=RC_SEND_ONLY" },
		{ "drop op=ACK,", "op=RC_SEND_ONLY" },
		{ "drop op=*SEND*X*", "op=RC_SEND_ONLY" },
		{ "drop mad=", "mad=REQ" },
		{ "drop mad=REQS", "mad=REQ" },
		{ "drop mad=REQ,", "mad=REQ" },
		{ "fail=EINVAL call=create_qp mad=REQ", "goes with the action" },
		{ "drop psn=0x1000000", "PSN" },
		{ "drop psn=1..", "PSN" },
		{ "drop qpn=0", "local QP" },
		{ "drop qp=65536", "K-th QP" },
		{ "drop pid=0", "process number" },
		{ "drop dev=", "name of a device" },
		{ "drop program=sixteen_letters_", "15 bytes" },
		{ "drop at=3", "goes with the action" },
		{ "drop call=reg_mr", "goes with the action" },
		{ "duplicate=0", "up to 16" },
		{ "duplicate=17", "up to 16" },
		{ "delay", "delay=2ms" },
		{ "delay=5", "delay=2ms" },
		{ "delay=0ms", "delay=2ms" },
		{ "delay=2h", "delay=2ms" },
		{ "reorder=1001", "up to 1000" },
		{ "corrupt xor=256", "1 to 255" },
		{ "corrupt at=-0", "BTH" },
		{ "corrupt icrc=maybe", "icrc=good" },
		{ "set", "without a field" },
		{ "set bth.psm=1", "header field" },
		{ "set bth.pad=4", "hold" },
		{ "set bth.pad", "hold" },
		{ "drop bth.psn=1", "after set only" },
		{ "set bth.a=1 bth.m=1 bth.se=1 bth.pad=1 bth.tver=1", "four" },
		{ "set reth.va=1 aeth.msn=2", "no packet" },
		{ "nak", "nak=seq" },
		{ "nak=rnr:32", "nak=seq" },
		{ "nak=seq op=ACK", "no packet" },
		{ "norecv tx", "received" },
		{ "overrun", "overrun=send" },
		{ "overrun=both", "overrun=send" },
		{ "cut=never", "cut=2s" },
		{ "fail call=reg_mr", "fail=ENOMEM" },
		{ "fail=EFOO call=reg_mr", "fail=ENOMEM" },
		{ "fail=0 call=reg_mr", "fail=ENOMEM" },
		{ "fail=ENOMEM", "without a call" },
		{ "fail=ENOMEM call=sleep", "call=create_qp" },
		{ "fail=ENOMEM call=reg_mr tx", "goes with the action" },
		{ "seed", "seed=7" },
		{ "seed=x", "seed=7" },
		{ "seed=1 drop", "nothing after" },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		struct rn_fault_rules rules = { .seed = 77 };
		char text[120], err[300] = "";

		snprintf(text, sizeof(text), "drop\n\n%s", wrong[i][0]);
		if (rn_fault_rules_parse(text, "my file", &rules, err, sizeof(err)) !=
		    -EINVAL)
			fail_msg("\"%s\" is taken", wrong[i][0]);
		if (strncmp(err, "my file:3: ", 11) != 0 || !strstr(err, wrong[i][1]))
			fail_msg("\"%s\": %s", wrong[i][0], err);
		assert_int_equal(rules.seed, 77);
	}
}

static void more_than_64_rules_are_refused(void **state)
{
	struct rn_fault_rules rules;
	char text[6 * 65 + 1] = "", err[200] = "";

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		strcat(text, "drop;");
	assert_int_equal(read_rules(text).count, 64);
	strcat(text, "drop");
	assert_int_equal(rn_fault_rules_parse(text, "x", &rules, err, sizeof(err)),
			 -EINVAL);
	assert_non_null(strstr(err, "64"));
}

static void settings_take_a_file_the_short_form_or_rules(void **state)
{
	struct rn_fault_rules rules;
	char path[] = "/tmp/test_fault_text-XXXXXX", text[60], err[300];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "# two\ndrop\nkill\n", 16), 16);
	snprintf(text, sizeof(text), "@%s", path);
	assert_int_equal(rn_fault_read(text, &rules, err, sizeof(err)), 0);
	assert_int_equal(rules.count, 2);
	assert_int_equal(write(fd, "lose\n", 5), 5);
	assert_int_equal(rn_fault_read(text, &rules, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, path));
	assert_non_null(strstr(err, ":4: \"lose\""));
	close(fd);
	unlink(path);
	assert_int_equal(rn_fault_read(text, &rules, err, sizeof(err)), -ENOENT);
	assert_int_equal(rn_fault_read("@/dev/zero", &rules, err, sizeof(err)), -EFBIG);
	assert_int_equal(rn_fault_read("@/", &rules, err, sizeof(err)), -EISDIR);

	assert_int_equal(rn_fault_read("dup=2%,seed=5", &rules, err, sizeof(err)), 0);
	assert_int_equal(rules.count, 1);
	assert_int_equal(rules.rule[0].act, RN_FAULT_DUPLICATE);
	assert_int_equal(rn_fault_read("drop nth=2", &rules, err, sizeof(err)), 0);
	assert_int_equal(rn_fault_read("delay=2ms", &rules, err, sizeof(err)), 0);
	assert_int_equal(rules.rule[0].act, RN_FAULT_DELAY);
	assert_int_equal(rn_fault_read("drop=1", &rules, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "drop=1%"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_condition_is_read),
		cmocka_unit_test(rule_without_conditions_is_about_every_packet_sent),
		cmocka_unit_test(every_action_is_read),
		cmocka_unit_test(naks_have_the_syndromes_of_the_specification),
		cmocka_unit_test(opcodes_are_named_in_many_ways),
		cmocka_unit_test(messages_of_the_connection_manager_are_named),
		cmocka_unit_test(some_actions_choose_their_packets),
		cmocka_unit_test(comments_blank_lines_and_the_seed_are_no_rules),
		cmocka_unit_test(same_rule_has_the_same_identity_however_it_is_spaced),
		cmocka_unit_test(what_is_wrong_is_refused_with_place_and_expectation),
		cmocka_unit_test(more_than_64_rules_are_refused),
		cmocka_unit_test(settings_take_a_file_the_short_form_or_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
