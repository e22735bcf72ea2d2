/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_parse.c - litmus files: what they say, and where they are wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/litmus/litmus.h"

static struct rn_litmus_test test;
static struct rn_litmus_parser parser;

static int parse(const char *text)
{
	rn_litmus_parser_init(&parser, text, strlen(text));
	return rn_litmus_parse(&parser, &test);
}

static void good(const char *text)
{
	if (parse(text) != 1)
		fail_msg("%u:%u: %s\n%s", parser.error_line, parser.error_column,
			 parser.error, text);
}

static void whole_test(void **state)
{
	(void)state;
	good("(* first *)\n"
	     "RDMA G2-imm;into+gpu   (* a name *)\n"
	     "\"WRITE WITH IMM\"\n"
	     "{ d@B.gpu0=3, f@B.host=-1 size=64 align=32; q: A.nic0->B.nic1 uc;\n"
	     "  relaxed d; opt gpu=owner; rule P6, GV1 }\n"
	     "A.cpu | B.cpu1 | B.gpu0 ;\n"
	     "imm q d,d <- #1,#r3 F U | pollr q | wait f=1 ;\n"
	     " | st f (* in between *) 1 | ld r0 d ;\n"
	     "[gpu=none,relaxed=f] allowed (B.gpu0:r0=0 /\\ f!=2)\n"
	     "~exists (A.cpu:done=1)\n");
	assert_string_equal(test.name, "G2-imm;into+gpu");
	assert_string_equal(test.about, "WRITE WITH IMM");
	assert_string_equal(test.rules, "P6, GV1");
	assert_int_equal(test.nodes, 2);
	assert_int_equal(test.locations, 2);
	assert_int_equal(test.location[0].agent, RN_AGENT_GPU);
	assert_true(test.location[0].relaxed);
	assert_int_equal(test.location[1].init, -1);
	assert_int_equal(test.location[1].size, 64);
	assert_int_equal(test.location[1].align, 32);
	assert_true(test.qp[0].uc);
	assert_int_equal(test.qp[0].peer_nic, RN_AGENT_NIC + 1);
	assert_int_equal(test.threads, 3);
	assert_int_equal(test.thread[1].agent, RN_AGENT_CPU);
	assert_int_equal(test.thread[0].count, 1);
	assert_int_equal(test.thread[2].count, 2);
	assert_string_equal(test.thread[1].instr[1].text, "st f 1");
	assert_int_equal(test.verdicts, 2);
	assert_int_equal(test.verdict[1].expect, RN_LITMUS_FORBIDDEN);
	assert_true(test.verdict[0].term[1].is_not);
	assert_int_equal(rn_litmus_parse(&parser, &test), 0);
}

static void messages(void **state)
{
	const struct rn_litmus_instr *in;

	(void)state;
	good("RDMA x\n{ d@B.host=0, e@B.host=0, s@A.host=1; q: A.nic0->B.nic0 }\n"
	     "A.cpu ;\nwrite q d,e <- s,#r3 U F ;\nfaa q _ <- d -2 ;\ncas q s <- d 1 r2 "
	     ";\n"
	     "flush q d,e ;\nawrite q d <- #5 ;\ntryp r1 q ;\nallowed (d=0)\n");
	in = test.thread[0].instr;
	assert_int_equal(in[0].op, RN_LITMUS_WRITE);
	assert_int_equal(in[0].count, 2);
	assert_false(in[0].src[0].is_inline);
	assert_int_equal(in[0].src[0].loc, 2);
	assert_true(in[0].src[1].is_inline && in[0].src[1].value.is_reg);
	assert_int_equal(in[0].src[1].value.reg, 3);
	assert_true(in[0].fence && in[0].unsignaled);
	assert_int_equal(in[1].dst[0], RN_LITMUS_NONE);
	assert_int_equal(in[1].value.number, -2);
	assert_true(in[2].value2.is_reg);
	assert_int_equal(in[3].count, 2);
	assert_int_equal(in[4].work, 4);
	assert_int_equal(in[5].cq, test.qp[0].send_cq);
	assert_int_equal(test.works, 5);
}

static void shared_cq(void **state)
{
	(void)state;
	good("RDMA x\n{ d@B.host=0; q: A.nic0->B.nic0; p: B.nic0->A.nic0; cq c: q, p.r "
	     "}\n"
	     "A.cpu ;\npoll c ;\npollr p ;\npoll q ;\nallowed (d=0)\n");
	assert_int_equal(test.qp[0].send_cq, test.qp[1].recv_cq);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(test.thread[0].instr[i].cq, test.qp[0].send_cq);
}

static void receives(void **state)
{
	const struct rn_litmus_instr *in;

	(void)state;
	good("RDMA x\n{ d@B.host=0; q: A.nic0->B.nic0; p: A.nic0->B.nic0; "
	     "r: A.nic0->B.nic0; srq s: q, p }\nA.cpu | B.cpu ;\n"
	     "send q _ <- #1 | recv s d ;\nsend r _ <- #2 F | recv r d ;\n"
	     "allowed (d=0)\n");
	assert_int_equal(test.rqs, 4);
	assert_int_equal(test.qp[0].recv_queue, test.qp[1].recv_queue);
	assert_string_equal(test.rq[test.qp[0].recv_queue].name, "s");
	assert_string_equal(test.rq[test.qp[2].recv_queue].name, "r");
	assert_int_equal(test.works, 2);
	assert_int_equal(test.receives, 2);
	in = test.thread[0].instr;
	assert_int_equal(in[1].dst[0], RN_LITMUS_NONE);
	assert_int_equal(in[1].count, 1);
	assert_true(in[1].fence);
	in = test.thread[1].instr;
	assert_int_equal(in[0].rq, test.qp[0].recv_queue);
	assert_int_equal(in[1].rq, test.qp[2].recv_queue);
	assert_int_equal(in[1].receive, 1);
	assert_int_equal(in[1].loc, 0);
}

static void aliases(void **state)
{
	(void)state;
	good("RDMA x\n{ d@A.host=0 }\nA.cpu ;\nld r0 d ;\n"
	     "exists (d=0)\n~exists (d=1)\nforall (d=0)\n");
	assert_int_equal(test.verdict[0].expect, RN_LITMUS_ALLOWED);
	assert_int_equal(test.verdict[1].expect, RN_LITMUS_FORBIDDEN);
	assert_int_equal(test.verdict[2].expect, RN_LITMUS_ALWAYS);
}

/* Everything before the part that is wrong. */
#define SETUP \
	"RDMA x\n{ d@B.host=0, s@A.host=1; q: A.nic0->B.nic0; u: A.nic0->B.nic0 uc }\n"
#define CPUS SETUP "A.cpu | B.cpu ;\n"

static const struct {
	const char *text;
	unsigned line, column;
	const char *says; /* part of the sentence */
} wrong[] = {
	{ "RDMB x", 1, 1, "RDMA" },
	{ "RDMA \n{", 2, 1, "name" },
	{ "RDMA x\n\"open", 2, 6, "'\"'" },
	{ "RDMA x\n{ d@B.disk=0 }", 2, 7, "memory" },
	{ "RDMA x\n{ d@B.nvme0=0 }", 2, 7, "memory" },
	{ "RDMA x\n{ d@B.gpu4=0 }", 2, 7, "memory" },
	{ "RDMA x\n{ d@B.host=1234567890 }", 2, 12, "9 digits" },
	{ "RDMA x\n{ d@B.host=0, d@B.host=0 }", 2, 15, "taken" },
	{ "RDMA x\n{ d@B.host=0 size=12 }", 2, 19, "multiple" },
	{ "RDMA x\n{ d@B.host=0 align=24 }", 2, 20, "power of two" },
	{ "RDMA x\n{ q: A.nic0 B.nic0 }", 2, 13, "'->'" },
	{ "RDMA x\n{ q: A.cpu->B.nic0 }", 2, 8, "NIC" },
	{ "RDMA x\n{ q: A.nic0->B.nic0; cq c: q, q.r }", 2, 31, "one NIC" },
	{ SETUP "A.nic0 ;\n", 3, 3, "thread" },
	{ SETUP "A.cpu | A.cpu ;\n", 3, 11, "taken" },
	{ CPUS "jump ;\n", 4, 1, "no such instruction" },
	{ CPUS "ld r0 d ;\n", 4, 7, "same host" },
	{ CPUS "ld r16 s ;\n", 4, 5, "register" },
	{ CPUS "mrd r0 s ;\n", 4, 8, "device memory" },
	{ CPUS "write q s <- #1 ;\n", 4, 9, "other end" },
	{ CPUS "write q d #1 ;\n", 4, 11, "'<-'" },
	{ CPUS "write q d <- #1,#2 ;\n", 4, 16, "'|'" },
	{ CPUS "write q d,d <- #1 ;\n", 4, 19, "','" },
	{ CPUS "read u s <- d ;\n", 4, 6, "RC" },
	{ CPUS " | write q d <- #1 ;\n", 4, 10, "another host" },
	{ CPUS "st s 1 | st d 1 | st d 2 ;\n", 4, 17, "';'" },
	{ CPUS "launch B.cpu | ;\n", 4, 10, "GPU thread" },
	{ CPUS "bell q s <- s ;\n", 4, 8, "other end" },
	{ CPUS "bell q d <- d ;\n", 4, 13, "same host" },
	{ CPUS "bell q d <- #1 ;\n", 4, 13, "a location" },
	{ CPUS "blue q d <- &d ;\n", 4, 14, "other end" },
	{ CPUS "st s &z ;\n", 4, 7, "no such location" },
	{ CPUS "write q d <- #&s ;\n", 4, 15, "a number" },
	{ CPUS "bell q d <- s | ;\nwrite q d <- s ;\n", 5, 14,
	  "q: has doorbells (bell, blue) or verbs calls, not both" },
	{ "RDMA x\n{ q: A.nic0->B.nic0; srq s: q, z }", 2, 32, "no such QP" },
	{ "RDMA x\n{ q: A.nic0->B.nic0; srq q: q }", 2, 26, "taken" },
	{ "RDMA x\n{ q: A.nic0->B.nic0; srq s: q; s@A.host=0 }", 2, 32, "taken" },
	{ "RDMA x\n{ u: A.nic0->B.nic0 uc; srq s: u }", 2, 32, "RC" },
	{ "RDMA x\n{ q: A.nic0->B.nic0; p: B.nic0->A.nic0; srq s: q, p }", 2, 51,
	  "one NIC" },
	{ "RDMA x\n{ q: A.nic0->B.nic0; srq s: q; srq r: q }", 2, 39, "has an SRQ" },
	{ CPUS "recv q s ;\n", 4, 6, "receives on another host" },
	{ CPUS " | recv u d ;\n", 4, 9, "RC" },
	{ CPUS " | recv q s ;\n", 4, 11, "same host" },
	{ CPUS " | recv z d ;\n", 4, 9, "no such QP or SRQ" },
	{ CPUS "send q _ <- s | ;\nallowed (d=1)\n", 4, 13,
	  "send q _ <- s: no thread posts a receive" },
	{ CPUS "send q d <- s | recv q d ;\nallowed (d=1)\n", 4, 24,
	  "what a receive names" },
	{ "RDMA x\n{ d@B.host=0, q: A.nic0->B.nic0; srq s: q }\nA.cpu | B.cpu ;\n"
	  " | recv q d ;\n",
	  4, 9, "has an SRQ" },
	{ "RDMA x\n{ d@B.host=0, s@A.host=1 size=16; q: A.nic0->B.nic0 }\n"
	  "A.cpu | B.cpu ;\nsend q _ <- s | recv q d ;\n",
	  4, 13, "8 bytes" },
	{ CPUS "st s 1 | ;\nallowed (z=1)\n", 5, 10, "no such location" },
	{ CPUS "st s 1 | ;\nallowed (C.cpu:r0=1)\n", 5, 12, "no such thread" },
	{ CPUS "st s 1 | ;\n[gpu=purple] allowed (d=1)\n", 5, 2, "knobs" },
	{ CPUS "st s 1 | ;\n[relaxed=z] allowed (d=1)\n", 5, 2, "no such location" },
	{ CPUS "st s 1 | ;\n[gpu=none] perhaps (d=1)\n", 5, 12, "allowed" },
	{ CPUS "st s 1 | ;\n", 5, 1, "an instruction or a verdict, such as allowed" },
	{ CPUS "st s 1 | ;\nRDMA y\n{ }\n", 5, 1, "an instruction or a verdict" },
	{ CPUS "st s 1 | 7 ;\nallowed (d=1)\n", 4, 10, "no such instruction" },
	{ CPUS "st s 1 (* | ;\n", 4, 8, "end of this comment" },
	{ "RDMA x (* y\n{ }\n", 1, 8, "end of this comment" },
	{ "RDMA x\n{ x@A.host=0;\n opt @/dev/zero; y@A.host=0 }\n", 3, 2, "no @FILE" },
	{ "RDMA x\n{ x@A.host=0;\n opt relaxed=y }\n", 3, 2, "no such location" },
	{ "RDMA "
	  "a-name-that-is-longer-than-any-that-somebody-could-want-to-read-in-a-report-"
	  "of-a-few-tests-and-then-some-more-and-more\n{ }\n",
	  1, 5, "the name of this test has 118 characters, 63 at most: shorten it" },
	{ "RDMA x\n{ x@A.host=0; a_longer_name_than_any_location_can_have@A.host=0 }\n",
	  2, 15, "this name has 40 characters, 15 at most: shorten it" },
};

static void errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		if (parse(wrong[i].text) != -EINVAL)
			fail_msg("understood:\n%s", wrong[i].text);
		if (!strstr(parser.error, wrong[i].says) ||
		    parser.error_line != wrong[i].line ||
		    parser.error_column != wrong[i].column)
			fail_msg("%u:%u: %s, not %u:%u %s, of:\n%s", parser.error_line,
				 parser.error_column, parser.error, wrong[i].line,
				 wrong[i].column, wrong[i].says, wrong[i].text);
	}
}

/* @count times @item between @before and @after; a '%' in it becomes the number. */
static char *repeat(const char *before, const char *item, unsigned count,
		    const char *after)
{
	size_t len = strlen(before) + count * (strlen(item) + 8) + strlen(after) + 1;
	size_t head = strcspn(item, "%");
	char *text = malloc(len), *at = text;

	assert_non_null(text);
	at += sprintf(at, "%s", before);
	for (unsigned i = 0; i < count; i++) {
		at += sprintf(at, "%.*s", (int)head, item);
		if (item[head])
			at += sprintf(at, "%u%s", i, item + head + 1);
	}
	sprintf(at, "%s", after);
	return text;
}

static void limits(void **state)
{
	static const struct {
		const char *before, *item, *after;
		unsigned most;
		const char *says;
	} limit[] = {
		{ "RDMA x\n{", "l%@A.host=0, ", "}\nA.cpu ;\nld r0 l0 ;\nallowed (l0=0)",
		  RN_LITMUS_LOCATIONS, "locations" },
		{ "RDMA x\n{ x@A.host=0; ", "q%: A.nic0->A.nic0; ",
		  "}\nA.cpu ;\nld r0 x ;\nallowed (x=0)", RN_LITMUS_QPS, "QPs" },
		{ "RDMA x\n{ x@A.host=0 }\nA.cpu", " | A.cpu%",
		  " ;\nld r0 x ;\nallowed (x=0)", RN_LITMUS_THREADS - 1, "threads" },
		{ "RDMA x\n{ x@A.host=0 }\nA.cpu ;\n", "st x % ;\n", "allowed (x=0)",
		  RN_LITMUS_INSTRS, "instructions" },
		{ "RDMA x\n{ x@A.host=0; q: A.nic0->A.nic0 }\nA.cpu ;\n",
		  "write q x <- #% ;\n", "allowed (x=0)", RN_LITMUS_OPS,
		  "work requests" },
		{ "RDMA x\n{ x@A.host=0 }\nA.cpu ;\nld r0 x ;\n", "allowed (x=%)\n", "",
		  RN_LITMUS_VERDICTS, "verdicts" },
		{ "RDMA x\n{ x@A.host=0 }\nA.cpu ;\nld r0 x ;\nallowed (x=0", " /\\ x=%",
		  ")", RN_LITMUS_TERMS - 1, "terms" },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(limit); i++) {
		char *text = repeat(limit[i].before, limit[i].item, limit[i].most,
				    limit[i].after);

		good(text);
		free(text);
		text = repeat(limit[i].before, limit[i].item, limit[i].most + 1,
			      limit[i].after);
		assert_int_equal(parse(text), -EINVAL);
		assert_non_null(strstr(parser.error, limit[i].says));
		free(text);
	}
}

static void setups(void **state)
{
	struct rn_litmus_setup one, other;
	char text[128], err[256];

	(void)state;
	good(SETUP "A.cpu ;\nst s 1 ;\n[gpu=none,relaxed=s+d,place=any] allowed (d=1)\n");
	assert_int_equal(
		rn_litmus_verdict_setup(&test, &test.verdict[0], &one, err, sizeof(err)),
		0);
	assert_int_equal(one.relaxed, 3);
	assert_int_equal(one.knobs.gpu_ordering, RN_GPU_ORDER_NONE);
	assert_int_equal(one.knobs.place, RN_PLACE_ANY);
	rn_litmus_setup_text(&test, &one, text, sizeof(text));
	assert_non_null(strstr(text, ",relaxed=d+s"));
	assert_int_equal(rn_litmus_setup(&test, text, &other, err, sizeof(err)), 0);
	assert_true(rn_litmus_same_setup(&one, &other));
	assert_int_equal(rn_litmus_setup(&test, "", &other, err, sizeof(err)), 0);
	assert_false(rn_litmus_same_setup(&one, &other));
	assert_int_equal(rn_litmus_setup(&test, "@/etc/passwd", &other, err, sizeof(err)),
			 -EINVAL);
}

static void conditions(void **state)
{
	struct rn_litmus_outcome outcome = { .value = { 0, 7 } };
	char text[64];

	(void)state;
	good("RDMA x\n{ x@A.host=0 }\nA.cpu ;\nld r0 x ;\n"
	     "allowed (A.cpu:r0=0 /\\ x!=3)\nallowed (A.cpu:r0!=1)\n");
	assert_true(rn_litmus_holds(&test.verdict[0], &outcome));
	rn_litmus_outcome_text(&test, &outcome, text, sizeof(text));
	assert_string_equal(text, "A.cpu:r0=0; x=7;");
	outcome.value[1] = 3;
	assert_false(rn_litmus_holds(&test.verdict[0], &outcome));
	assert_true(rn_litmus_holds(&test.verdict[1], &outcome));
	outcome.value[1] = RN_LITMUS_ADDRESS;
	rn_litmus_outcome_text(&test, &outcome, text, sizeof(text));
	assert_string_equal(text, "A.cpu:r0=0; x=&x;");
	outcome.absent = 1;
	assert_false(rn_litmus_holds(&test.verdict[1], &outcome));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_test), cmocka_unit_test(messages),
		cmocka_unit_test(shared_cq),  cmocka_unit_test(receives),
		cmocka_unit_test(aliases),    cmocka_unit_test(errors),
		cmocka_unit_test(limits),     cmocka_unit_test(setups),
		cmocka_unit_test(conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
