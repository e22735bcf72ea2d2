/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_live_bell.c - what a NIC of a live run makes of doorbells: which WQEs it follows,
 * when a queue stops, and which receives are none. In the mode strict, where doorbells
 * arrive at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/rocin/litmus/live/live.h"

static struct rn_litmus_test t;
static struct rn_live l;
static struct ibv_qp sides[2] = { { .qp_num = 0x11 }, { .qp_num = 0x22 } };
static char told[200]; /* what was posted in the run, such as "x=1 y=2 " */

/* ---- What bell.c calls ---- */

int rn_live_fail(struct rn_live *live, const char *fmt, ...)
{
	(void)fmt;
	atomic_store(&live->shared->failed, true);
	return -1;
}

uint8_t *rn_live_address(const struct rn_live *live, unsigned loc)
{
	const struct rn_live_place *p = &live->map.place[loc];

	return live->memory[p->memory] + p->offset;
}

static void tell(const char *what, const char *value)
{
	size_t len = strlen(told);

	(void)snprintf(told + len, sizeof(told) - len, "%s=%s ", what, value);
}

static int note_post(struct rn_live *live, const struct rn_litmus_instr *in,
		     const int64_t *word, unsigned words)
{
	char value[32];

	(void)words;
	(void)snprintf(value, sizeof(value), "%d", (int)word[0]);
	tell(live->test->location[in->dst[0]].name, value);
	return 0;
}

static int note_receive(struct rn_live *live, unsigned rq, unsigned loc)
{
	(void)rq;
	tell("receive", loc == RN_LITMUS_NONE ? "none" : live->test->location[loc].name);
	return 0;
}

/* ---- A test, and its runs ---- */

/* All nodes are in one worker, and their queues have engines. */
static void begin(const char *text)
{
	struct rn_litmus_parser parser;
	char why[160] = "", whole[1000];

	(void)snprintf(whole, sizeof(whole),
		       "RDMA T\n\"about\"\n%sallowed (A.cpu:done=1)\n", text);
	rn_litmus_parser_init(&parser, whole, strlen(whole));
	assert_int_equal(rn_litmus_parse(&parser, &t), 1);
	l = (struct rn_live){ .test = &t, .nodes = ~0U };
	l.shared = aligned_alloc(RN_LIVE_PAGE, sizeof(*l.shared));
	assert_non_null(l.shared);
	memset(l.shared, 0, sizeof(*l.shared));
	if (!rn_live_map(&t, 64, &l.map, why, sizeof(why)))
		fail_msg("%s", why);
	for (unsigned i = 0; i < l.map.memories; i++)
		l.memory[i] = l.shared->host[i];
	for (unsigned i = 0; i < t.qps; i++)
		l.qp[i] = (struct rn_live_qp){ .side = { &sides[0], &sides[1] } };
	assert_int_equal(rn_live_queues_open(&l, note_post, note_receive), 0);
}

static void end(void)
{
	rn_live_queues_close(&l);
	free(l.shared);
}

static unsigned named(const char *name)
{
	for (unsigned i = 0; i < t.locations; i++)
		if (!strcmp(t.location[i].name, name))
			return i;
	fail_msg("no %s", name);
	return 0;
}

static int64_t address(const char *name)
{
	return RN_LITMUS_ADDRESS + named(name);
}

/* All words of a location, or one of them. */
static void set(const char *name, int64_t value)
{
	unsigned loc = named(name);
	int64_t *at = (int64_t *)(void *)rn_live_address(&l, loc);

	for (uint32_t i = 0; i < l.map.place[loc].bytes / sizeof(*at); i++)
		at[i] = value;
}

static void set_word(const char *name, unsigned i, int64_t value)
{
	((int64_t *)(void *)rn_live_address(&l, named(name)))[i] = value;
}

/* Rings all doorbells of a thread; those of BlueFlame carry @wqe. */
static void run(unsigned thread, int64_t wqe, const char *want)
{
	*told = '\0';
	atomic_store(&l.shared->has_bad_receive, false);
	for (unsigned i = 0; i < t.thread[thread].count; i++)
		assert_int_equal(rn_live_ring(&l, &t.thread[thread].instr[i], wqe), 0);
	assert_int_equal(rn_live_queues_finish(&l), 0);
	assert_string_equal(told, want);
}

#define PLACES                                                                   \
	"{ w@A.host=0, v@A.host=0, k@A.host=0, m@A.host=0, s@A.host=3,\n"        \
	"  d@A.host=0 size=128 align=128, x@B.host=0, y@B.host=0, z@B.host=0;\n" \
	"  q: A.nic0->B.nic0 }\n"

static void a_wqe_is_fetched_when_its_doorbell_has_arrived(void **state)
{
	(void)state;
	begin(PLACES "A.cpu ;\nbell q x <- w ;\nblue q y <- 0 ;\nbell q z <- v ;\n");
	set("w", 7);
	set("v", address("s")); /* the payload is elsewhere */
	set("s", 3);
	run(0, 9, "x=7 y=9 z=3 ");
	set("v", 8);
	run(0, address("s"), "x=7 y=3 z=8 ");
	end();
}

/* A WQE, an SGE list and the payload: what is still an address then is none. */
static void addresses_are_followed_three_times(void **state)
{
	(void)state;
	begin(PLACES "A.cpu ;\nbell q x <- w ;\nbell q y <- v ;\n");
	set("w", address("k"));
	set("k", address("s"));
	set("s", 3);
	set("v", 8);
	run(0, 0, "x=3 y=8 ");
	set("k", address("m"));
	set("m", address("s"));
	run(0, 0, "");
	/* A queue that has stopped in one run goes on in the next. */
	set("m", 4);
	run(0, 0, "x=4 y=8 ");
	end();
}

static void words_that_differ_are_no_address(void **state)
{
	(void)state;
	begin(PLACES "A.cpu ;\nbell q x <- d ;\n");
	set("s", 3);
	set("d", address("s"));
	run(0, 0, "x=3 ");
	set_word("d", 15, address("m"));
	run(0, 0, "");
	set("d", address("s"));
	set_word("d", 0, 5); /* no address, and one behind it */
	run(0, 0, "");
	set("d", 5);
	run(0, 0, "x=5 ");
	end();
}

static void addresses_of_another_host_are_none(void **state)
{
	(void)state;
	begin(PLACES "A.cpu ;\nbell q x <- w ;\nbell q y <- v ;\n");
	set("y", 6);
	set("v", 8);
	set("w", address("y"));
	run(0, 0, "");
	set("w", address("v"));
	run(0, 0, "x=8 y=8 ");
	end();
}

static void a_receive_names_a_buffer_of_its_host(void **state)
{
	(void)state;
	begin("{ w@B.host=0 size=128 align=128, x@B.host=0, y@B.host=0, s@A.host=0;\n"
	      "  q: A.nic0->B.nic0 }\nA.cpu | B.cpu ;\nsend q _ <- #1 | recv q w ;\n");
	set("w", address("x"));
	run(1, 0, "receive=x ");
	assert_false(atomic_load(&l.shared->has_bad_receive));
	/* What is none is posted somewhere, for the messages, and the run has no state.
	 */
	set("w", 0);
	run(1, 0, "receive=none ");
	assert_true(atomic_load(&l.shared->has_bad_receive));
	set("w", address("s"));
	run(1, 0, "receive=none ");
	assert_true(atomic_load(&l.shared->has_bad_receive));
	set("w", address("x"));
	set_word("w", 9, address("y"));
	run(1, 0, "receive=none ");
	assert_true(atomic_load(&l.shared->has_bad_receive));
	assert_int_equal(atomic_load(&l.shared->receives[0]), 4);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wqe_is_fetched_when_its_doorbell_has_arrived),
		cmocka_unit_test(addresses_are_followed_three_times),
		cmocka_unit_test(words_that_differ_are_no_address),
		cmocka_unit_test(addresses_of_another_host_are_none),
		cmocka_unit_test(a_receive_names_a_buffer_of_its_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
