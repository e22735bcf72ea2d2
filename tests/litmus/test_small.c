/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_small.c - the explorer on small tests of what the bank does not have. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model_kit.h"

static const struct {
	const char *program, *knobs;
} small[] = {
	/* A compare that fails leaves the value; the old one comes back. */
	{ "{ x@B.host=3, o@A.host=9; q: A.nic0->B.nic0 }\nA.cpu ;\ncas q o <- x 3 5 ;\n"
	  "cas q _ <- x 3 6 ;\npoll q ;\npoll q ;\nld r0 o ;\n"
	  "forall (x=5 /\\ A.cpu:r0=3)\n",
	  "" },
	/* One that fails writes nothing: a store after its read is not undone. */
	{ "{ x@B.host=3; q: A.nic0->B.nic0 }\nA.cpu | B.cpu ;\ncas q _ <- x 9 5 | st x 4 "
	  ";\n"
	  "poll q | ;\nforall (x=4)\n",
	  "" },
	/* An inline source is copied while posting, with the register of that moment. */
	{ "{ s@A.host=4, x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\nld r0 s ;\n"
	  "write q x <- #r0 ;\nst s 5 ;\nld r0 s ;\nforall (x=4 /\\ A.cpu:r0=5)\n",
	  "mode=adversarial" },
	/* A location of two granules can be torn, one of a single granule cannot. */
	{ "{ x@B.host=0 size=128; q: A.nic0->B.nic0 }\nA.cpu | B.cpu ;\n"
	  "write q x <- #1 | ld r0 x ;\nallowed (B.cpu:r0=-999999999)\n"
	  "allowed (B.cpu:r0=0)\nallowed (B.cpu:r0=1)\n",
	  "" },
	{ "{ x@B.host=0 size=64; q: A.nic0->B.nic0 }\nA.cpu | B.cpu ;\n"
	  "write q x <- #1 | ld r0 x ;\nforbidden (B.cpu:r0=-999999999)\n",
	  "mode=adversarial" },
	/* An alignment that crosses a granule; a larger granule holds it again. */
	{ "{ x@B.host=0 size=64 align=8; q: A.nic0->B.nic0 }\nA.cpu | B.cpu ;\n"
	  "write q x <- #1 | ld r0 x ;\nallowed (B.cpu:r0=-999999999)\n",
	  "" },
	/* Not routed: the QP breaks, nobody gets a completion. */
	{ "{ d@B.gpu0=0; q: A.nic0->B.nic0 }\nA.cpu ;\nwrite q d <- #1 ;\npoll q ;\n"
	  "forall (d=0 /\\ A.cpu:done=0)\n",
	  "rc.p2p=deny" },
	/* A completion that comes to one CQ of two QPs, in either order. */
	{ "{ x@B.host=0; q: A.nic0->B.nic0; p: A.nic0->B.nic0; cq c: q,p }\nA.cpu ;\n"
	  "write q x <- #1 ;\nwrite p x <- #2 ;\npoll c ;\npoll c ;\ntryp r0 c ;\n"
	  "forall (A.cpu:r0=0)\nallowed (x=1)\nallowed (x=2)\n",
	  "" },
	/* A thread that waits for ever does not finish, whichever memory it looks at. */
	{ "{ x@B.host=0, d@B.gpu0=0 }\nB.cpu | B.gpu0 ;\nwait d=1 | wait x=1 ;\n"
	  "forall (B.cpu:done=0 /\\ B.gpu0:done=0)\n",
	  "gpu=none" },
	/* A kernel runs only when it has been launched. */
	{ "{ x@B.host=0 }\nB.cpu | B.gpu0 ;\nmfence | st x 1 ;\n | mfence ;\n"
	  "forall (x=1)\n",
	  "" },
	{ "{ x@B.host=0, d@B.gpu0=0 }\nB.cpu | B.gpu0 ;\nmwr d 7 | ld r0 d ;\n"
	  "launch B.gpu0 | ;\nforall (B.gpu0:r0=7)\n",
	  "gpu=none" },
	/* A CPU's own store is seen by itself before it is visible to others. */
	{ "{ x@B.host=0 }\nB.cpu | B.cpu1 ;\nst x 1 | ld r0 x ;\nld r0 x | ;\n"
	  "forall (B.cpu:r0=1)\nallowed (B.cpu1:r0=0)\n",
	  "" },
	/* ATOMIC WRITE is one unit and waits for the READ before it. */
	{ "{ x@B.host=0, t@A.host=9; q: A.nic0->B.nic0 }\nA.cpu ;\nread q t <- x ;\n"
	  "awrite q x <- #1 ;\npoll q ;\npoll q ;\nld r0 t ;\nforall (A.cpu:r0=0)\n",
	  "mode=adversarial" },
	/* Packets of WRITEs out of order, but not those for the same bytes. */
	{ "{ x@B.host=0, b@B.host=0; q: A.nic0->B.nic0 }\nA.cpu | B.cpu ;\n"
	  "write q x <- #1 | pollr q ;\nwrite q x <- #2 | ld r0 x ;\nsend q b <- #1 | ;\n"
	  "forall (B.cpu:done=1)\nforbidden (B.cpu:r0=1)\nforbidden (B.cpu:r0=0)\n",
	  "mode=adversarial" },
};

static void small_tests(void **state)
{
	static struct rn_litmus_test t;

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(small); i++) {
		struct rn_explore e = { 0 };
		struct rn_litmus_parser p;
		char text[1024];

		snprintf(text, sizeof(text), "RDMA small\n%s", small[i].program);
		rn_litmus_parser_init(&p, text, strlen(text));
		if (rn_litmus_parse(&p, &t) != 1)
			fail_msg("%u: %s\n%s", p.error_line, p.error, text);
		make_plan(&t, small[i].knobs);
		explore(&e);
		assert_true(e.complete && e.finals > 0);
		for (unsigned k = 0; k < t.verdicts; k++) {
			const struct rn_litmus_verdict *v = &t.verdict[k];
			size_t hits = 0;
			bool good;

			for (size_t n = 0; n < e.finals; n++)
				hits += rn_litmus_holds(v, &e.final[n].outcome);
			good = v->expect == RN_LITMUS_ALLOWED  ? hits > 0
			       : v->expect == RN_LITMUS_ALWAYS ? hits == e.finals
							       : hits == 0;
			if (!good)
				fail_msg("line %u of\n%s", v->line, text);
		}
		rn_explore_free(&e);
	}
}

static void bounds(void **state)
{
	static struct rn_litmus_test t;
	const char *text =
		"RDMA x\n{ x@A.host=0 size=512, y@A.host=0 size=512, "
		"z@B.host=0 size=512, a@B.host=0 size=512, b@B.host=0 size=512; "
		"q: A.nic0->B.nic0 }\nA.cpu ;\nwrite q z,a,b <- x,y,x ;\n"
		"allowed (z=0)\n";
	struct rn_explore e = { .max_states = 3 };
	struct rn_litmus_parser p;
	struct rn_litmus_setup setup;
	char err[256];

	(void)state;
	rn_litmus_parser_init(&p, text, strlen(text));
	assert_int_equal(rn_litmus_parse(&p, &t), 1);
	assert_int_equal(rn_litmus_setup(&t, "", &setup, err, sizeof(err)), 0);
	assert_int_equal(rn_model_plan(&plan, &t, &setup), -E2BIG);
	setup.knobs.granule = 512;
	assert_int_equal(rn_model_plan(&plan, &t, &setup), 0);
	explore(&e);
	assert_false(e.complete);
	rn_explore_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_tests),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
