/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_explore.c - the explorer on small tests of what the bank does not have. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_kit.h"
#include "sim/litmus/explore.h"

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
	/* A register of a thread that did not finish has no value, not even 0. */
	{ "{ x@B.host=0 }\nB.cpu ;\nld r0 x ;\nwait x=1 ;\nforall (B.cpu:done=0)\n"
	  "forbidden (B.cpu:r0=0)\n",
	  "" },
	/* A load from a device does not overtake the CPU's store to the same place. */
	{ "{ d@B.gpu0=0 }\nB.cpu ;\nmwr d 7 ;\nmrd r0 d ;\nforall (B.cpu:r0=7)\n", "" },
	/* The store of a GPU to the host is on its way while a NIC fetches the GPU's next
	 * store; a fence between the two waits until it is there.
	 */
	{ "{ x@B.host=0, d@B.gpu0=0, y@A.host=0; q: B.nic0->A.nic0 }\nB.cpu | B.gpu0 ;\n"
	  "write q y <- d | st x 1 ;\npoll q | st d 1 ;\nld r0 x | ;\n"
	  "allowed (y=1 /\\ B.cpu:r0=0)\n",
	  "" },
	{ "{ x@B.host=0, d@B.gpu0=0, y@A.host=0; q: B.nic0->A.nic0 }\nB.cpu | B.gpu0 ;\n"
	  "write q y <- d | st x 1 ;\npoll q | mfence ;\nld r0 x | st d 1 ;\n"
	  "allowed (y=1 /\\ B.cpu:r0=1)\nforbidden (y=1 /\\ B.cpu:r0=0)\n",
	  "" },
	/* A work request is started when the one before it has fetched its bytes. */
	{ "{ s@A.host=0, t@A.host=0, x@B.host=0, y@B.host=0; q: A.nic0->B.nic0 }\n"
	  "A.cpu | A.cpu1 ;\nwrite q x <- s | st t 1 ;\nwrite q y <- t | st s 1 ;\n"
	  "allowed (x=0 /\\ y=1)\nforbidden (x=1 /\\ y=0)\n",
	  "" },
	/* What a NIC fetches ends with the third read: an address that leads nowhere
	 * stops the queue pair.
	 */
	{ "{ w@A.host=0, x@B.host=7; q: A.nic0->B.nic0 }\nA.cpu ;\nst w &w ;\n"
	  "bell q x <- w ;\npoll q ;\nforall (x=7 /\\ A.cpu:done=0)\n",
	  "" },
	{ "{ w@A.host=0, l@A.host=0, s@A.host=3, x@B.host=7; q: A.nic0->B.nic0 }\nA.cpu "
	  ";\n"
	  "st l &s ;\nst w &l ;\nbell q x <- w ;\npoll q ;\nforall (x=3)\n",
	  "mode=adversarial" },
	/* A BlueFlame doorbell holds the WQE, which counts as the first of three. */
	{ "{ l@A.host=0, s@A.host=3, x@B.host=7; q: A.nic0->B.nic0 }\nA.cpu ;\n"
	  "st l &s ;\nsfence ;\nblue q x <- &l ;\npoll q ;\nforall (x=3)\n",
	  "cpu=pso" },
	{ "{ l@A.host=0, k@A.host=0, s@A.host=3, x@B.host=7; q: A.nic0->B.nic0 }\nA.cpu "
	  ";\n"
	  "st l &s ;\nst k &l ;\nsfence ;\nblue q x <- &k ;\npoll q ;\n"
	  "forall (x=7 /\\ A.cpu:done=0)\n",
	  "" },
	/* One granule of payload fills all of the message, two fill theirs. */
	{ "{ w@A.host=0, s@A.host=5 size=128 align=128, x@B.host=7 size=128 align=128, "
	  "y@B.host=7 size=128; q: A.nic0->B.nic0 }\nA.cpu ;\nst w &s ;\n"
	  "bell q x <- w ;\npoll q ;\nst w 6 ;\nbell q y <- w ;\n"
	  "forall (x=5 /\\ y=6)\n",
	  "" },
	/* Memory on the NIC itself is fetched without a queue. */
	{ "{ w@A.host=0, m@A.nic0=1, x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\nst w &m "
	  ";\n"
	  "bell q x <- w ;\nmwr m 2 ;\nallowed (x=1)\nallowed (x=2)\nforbidden (x=0)\n",
	  "" },
	/* No route to the WQE: the QP stops. */
	{ "{ w@A.gpu0=1, x@B.host=7; q: A.nic0->B.nic0 }\nA.cpu ;\nbell q x <- w ;\n"
	  "poll q ;\nforall (x=7 /\\ A.cpu:done=0)\n",
	  "rc.p2p=deny" },
	/* cpu=pso: stores to one place stay in order, a call has its own fence, and
	 * nothing passes a store fence from either side.
	 */
	{ "{ x@A.host=0 }\nA.cpu ;\nst x 1 ;\nst x 2 ;\nforall (x=2)\n", "cpu=pso" },
	{ "{ x@A.host=0, y@A.host=0 }\nA.cpu | A.cpu1 ;\nst x 1 | ld r0 y ;\n"
	  "st y 1 | ld r1 x ;\nallowed (A.cpu1:r0=1 /\\ A.cpu1:r1=0)\n",
	  "cpu=pso" },
	{ "{ x@A.host=0, y@A.host=0 }\nA.cpu | A.cpu1 ;\nst x 1 | ld r0 y ;\n"
	  "sfence | ld r1 x ;\nst y 1 | ;\n"
	  "forbidden (A.cpu1:r0=1 /\\ A.cpu1:r1=0)\nallowed (A.cpu1:r0=1)\n",
	  "cpu=pso" },
	{ "{ s@A.host=0, x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\nst s 1 ;\n"
	  "write q x <- s ;\nforall (x=1)\n",
	  "cpu=pso" },
	/* A load may pass the store fence, which only orders stores. */
	{ "{ x@A.host=0, y@A.host=0 }\nA.cpu | A.cpu1 ;\nst x 1 | st y 1 ;\n"
	  "sfence | sfence ;\nld r0 y | ld r0 x ;\n"
	  "allowed (A.cpu:r0=0 /\\ A.cpu1:r0=0)\n",
	  "" },
	/* Doorbells of one queue pair stay in order, BlueFlame's too. */
	{ "{ x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\nblue q x <- 1 ;\nblue q x <- 2 ;\n"
	  "forall (x=2)\n",
	  "cpu=pso" },
	/* Each granule goes to its own place: a copy is torn where its source is. */
	{ "{ s@A.host=0 size=128, x@B.host=0 size=128; q: A.nic0->B.nic0; "
	  "p: B.nic0->A.nic0; r: B.nic0->A.nic0 }\nA.cpu | B.cpu ;\n"
	  "pollr p | imm p s <- #1 ;\npollr r | imm r s <- #2 ;\nwrite q x <- s | ;\n"
	  "allowed (s=-999999999 /\\ x=-999999999)\n"
	  "forbidden (s=-999999999 /\\ x=1)\nforbidden (s=-999999999 /\\ x=2)\n",
	  "" },
	/* ack=placed waits for the data of the NIC that acknowledges, not for that of its
	 * neighbour.
	 */
	{ "{ d@B.gpu0=0, t@A.host=9, x@B.host=0, f@A.host=0; q: A.nic0->B.nic0; "
	  "p: A.nic1->B.nic1; r: B.nic0->A.nic0 }\nA.cpu | B.cpu ;\n"
	  "imm p d <- #1 | pollr p ;\nwait f=1 | write r f <- #1 ;\nwrite q x <- #1 | ;\n"
	  "poll q | ;\nread q t <- d | ;\npoll q | ;\nld r0 t | ;\n"
	  "allowed (A.cpu:r0=0)\nallowed (A.cpu:r0=1)\n",
	  "ackearly=0,ports=split" },
	/* Nor for that of another QP of the same NIC. */
	{ "{ d@B.gpu0=0, t@A.host=9, x@B.host=0, f@A.host=0; q: A.nic0->B.nic0; "
	  "p: A.nic0->B.nic0; s: A.nic1->B.nic1; r: B.nic0->A.nic0 }\n"
	  "A.cpu | B.cpu ;\nimm p d <- #1 | pollr p ;\n"
	  "wait f=1 | write r f <- #1 ;\nwrite q x <- #1 | ;\n"
	  "poll q | ;\nread s t <- d | ;\npoll s | ;\nld r0 t | ;\n"
	  "allowed (A.cpu:r0=0)\nallowed (A.cpu:r0=1)\n",
	  "ackearly=0,ports=split" },
	{ "{ d@B.gpu0=0, t@A.host=9, x@B.host=0, f@A.host=0; q: A.nic0->B.nic0; "
	  "p: A.nic0->B.nic0; r: B.nic0->A.nic0 }\nA.cpu | B.cpu ;\n"
	  "imm p d <- #1 | pollr p ;\nwait f=1 | write r f <- #1 ;\nwrite p x <- #1 | ;\n"
	  "poll p | ;\nread q t <- d | ;\npoll q | ;\nld r0 t | ;\n"
	  "forall (A.cpu:r0=1)\n",
	  "ackearly=0,ports=split" },
};

static void plan_of(struct rn_litmus_test *t, const char *program, const char *words)
{
	struct rn_litmus_parser p;
	char text[1024];

	snprintf(text, sizeof(text), "RDMA small\n%s", program);
	rn_litmus_parser_init(&p, text, strlen(text));
	if (rn_litmus_parse(&p, t) != 1)
		fail_msg("%u: %s\n%s", p.error_line, p.error, text);
	make_plan(t, words);
}

/* Runs that a seed decides; here a `wait' may look more than once. */
static void assert_runs_end_in(const struct rn_explore *e)
{
	struct rn_model *m = malloc(plan.size);

	assert_non_null(m);
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct rn_litmus_outcome outcome;

		rn_trace_run(&plan, m, seed, &outcome, NULL);
		assert_true(has_final(e, &outcome));
	}
	free(m);
}

static void small_tests(void **state)
{
	static struct rn_litmus_test t;

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(small); i++) {
		struct rn_explore e = { 0 };

		plan_of(&t, small[i].program, small[i].knobs);
		explore(&e);
		assert_true(e.complete && e.finals > 0);
		assert_runs_end_in(&e);
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
				fail_msg("line %u of\n%s", v->line, small[i].program);
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

/* A location that a NIC may be sent to has no more granules than a message. */
static void what_is_fetched_is_as_large_as_a_message(void **state)
{
	static const char large[] =
		"{ w@A.host=0 size=256, x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		"bell q x <- w ;\nallowed (x=0)\n";
	static struct rn_litmus_test t;
	struct rn_litmus_setup setup;

	(void)state;
	plan_of(&t, large, "");
	setup = plan.setup;
	setup.knobs.granule = 8;
	assert_int_equal(rn_model_plan(&plan, &t, &setup), -E2BIG);
}

/* ---- What a trace tells of a TLP ---- */

enum {
	STEPS = 256,
};

/* One run of @program; the number of TLPs of @kind that are sent with all of @flags. */
static unsigned count_sent(const char *program, const char *words, unsigned kind,
			   unsigned flags)
{
	static struct rn_litmus_test t;
	static struct rn_litmus_step steps[STEPS];
	struct rn_trace trace = { .step = steps, .room = STEPS };
	struct rn_litmus_outcome outcome;
	struct rn_model *m;
	unsigned n = 0;

	plan_of(&t, program, words);
	m = malloc(plan.size);
	assert_non_null(m);
	rn_trace_run(&plan, m, 1, &outcome, &trace);
	free(m);
	assert_in_range(trace.count, 1, STEPS);
	for (size_t i = 0; i < trace.count; i++)
		n += steps[i].kind == RN_STEP_ISSUE && steps[i].tlp_kind == kind &&
		     (steps[i].tlp_flags & flags) == flags;
	return n;
}

static void a_flush_is_told_from_a_read(void **state)
{
	static const char flush[] = "{ x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
				    "flush q x ;\npoll q ;\nforall (x=0)\n";
	static const char read[] = "{ x@B.host=0, t@A.host=0; q: A.nic0->B.nic0 }\n"
				   "A.cpu ;\nread q t <- x ;\npoll q ;\nforall (x=0)\n";

	(void)state;
	assert_int_equal(count_sent(flush, "", RN_TLP_READ, RN_TLP_FLUSH), 1);
	assert_int_equal(count_sent(read, "", RN_TLP_READ, RN_TLP_FLUSH), 0);
}

/* What a NIC sends carries IDO or not, its completion entries like its data. */
static void id_ordering_is_for_all_that_a_nic_sends(void **state)
{
	static const char imm[] = "{ x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu | B.cpu ;\n"
				  "imm q x <- #1 U | pollr q ;\nforall (x=1)\n";

	(void)state;
	assert_int_equal(count_sent(imm, "ido=1", RN_TLP_WRITE, RN_TLP_IDO), 2);
	assert_int_equal(count_sent(imm, "ido=1", RN_TLP_WRITE, RN_TLP_IDO | RN_TLP_CQE),
			 1);
	assert_int_equal(count_sent(imm, "ido=0", RN_TLP_WRITE, RN_TLP_IDO), 0);
	assert_int_equal(count_sent(imm, "ido=0", RN_TLP_WRITE, RN_TLP_CQE), 1);
}

static void doorbells_and_fetches_are_tlps(void **state)
{
	static const char bell[] =
		"{ w@A.host=0, s@A.host=1, x@B.host=0; q: A.nic0->B.nic0 }"
		"\nA.cpu ;\nst w &s ;\nbell q x <- w U ;\nforall (x=1)\n";
	static const char blue[] = "{ x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
				   "blue q x <- 1 U ;\nforall (x=1)\n";

	(void)state;
	assert_int_equal(count_sent(bell, "", RN_TLP_WRITE, RN_TLP_BELL), 1);
	assert_int_equal(count_sent(bell, "", RN_TLP_READ, 0), 2);
	assert_int_equal(count_sent(blue, "", RN_TLP_WRITE, RN_TLP_BELL), 1);
	assert_int_equal(count_sent(blue, "", RN_TLP_READ, 0), 0);
}

/* ---- The search ---- */

static void moves_that_commute_are_taken_at_once_unless_told_not_to(void **state)
{
	static const char two[] =
		"{ x@B.host=0, y@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		"write q x <- #1 ;\nwrite q y <- #1 ;\npoll q ;\n"
		"forall (x=1)\n";
	static struct rn_litmus_test t;
	struct rn_explore reduced = { 0 }, all = { .no_reduction = true };

	(void)state;
	plan_of(&t, two, "");
	explore(&reduced);
	explore(&all);
	assert_true(reduced.complete && all.complete);
	assert_true(all.states > 2 * reduced.states);
	assert_int_equal(all.finals, reduced.finals);
	rn_explore_free(&reduced);
	rn_explore_free(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_tests),
		cmocka_unit_test(a_flush_is_told_from_a_read),
		cmocka_unit_test(id_ordering_is_for_all_that_a_nic_sends),
		cmocka_unit_test(doorbells_and_fetches_are_tlps),
		cmocka_unit_test(what_is_fetched_is_as_large_as_a_message),
		cmocka_unit_test(moves_that_commute_are_taken_at_once_unless_told_not_to),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
