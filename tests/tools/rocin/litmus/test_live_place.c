/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the locations of a live test lie, and what is refused with which reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/rocin/litmus/live/live.h"

static struct rn_litmus_test t;
static struct rn_live_map map;
static char why[160];

static bool lay_out(const char *text, uint32_t granule)
{
	struct rn_litmus_parser parser;

	rn_litmus_parser_init(&parser, text, strlen(text));
	assert_int_equal(rn_litmus_parse(&parser, &t), 1);
	*why = '\0';
	return rn_live_map(&t, granule, &map, why, sizeof(why));
}

#define HEAD "RDMA T\n\"about\"\n"
#define TAIL "allowed (A.cpu:done=1)\n"

static void test_elements_side_by_side(void **unused)
{
	(void)unused;
	assert_true(lay_out(HEAD "{ a@B.host=0, x@B.host=0, y@B.host=0, m@B.host=0;\n"
				 "  q: A.nic0->B.nic0 }\nA.cpu ;\n"
				 "write q x,m,y <- #1,#1,#1 ;\n" TAIL,
			    64));
	assert_int_equal(map.element, 64);
	assert_int_equal(map.place[3].offset, map.place[1].offset + 64);
	assert_int_equal(map.place[2].offset, map.place[3].offset + 64);
	assert_true(map.place[0].offset + 64 <= map.place[1].offset);
	assert_int_equal(map.place[1].bytes, 8);
}

static void test_granule_decides_element(void **unused)
{
	(void)unused;
	assert_true(lay_out(HEAD
			    "{ x@B.host=0, y@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
			    "write q x,y <- #1,#1 ;\n" TAIL,
			    1024));
	assert_int_equal(map.place[1].offset, map.place[0].offset + 1024);
}

static void test_memories_and_nics(void **unused)
{
	(void)unused;
	assert_true(lay_out(HEAD "{ d@B.gpu0=0, e@A.gpu0=0, f@B.host=0;\n"
				 "  q: A.nic0->B.nic1; p: B.nic1->A.nic0 }\nA.cpu ;\n"
				 "write q d <- #1 ;\n" TAIL,
			    64));
	assert_int_equal(map.nics, 2);
	assert_int_equal(map.memories, 4);
	assert_int_not_equal(map.memory[map.place[0].memory].gpu,
			     map.memory[map.place[1].memory].gpu);
	assert_int_equal(map.memory[map.place[2].memory].agent, RN_AGENT_CPU);
}

/* A drive writes a page, at whose beginning the location is: a message to or from it
 * moves the location, and no other lies in the page.
 */
static void test_drive_fills_pages(void **unused)
{
	(void)unused;
	assert_true(lay_out(HEAD
			    "{ f@A.host=0, d@A.gpu0=0, e@A.gpu0=0 }\nA.nvme0 | A.cpu ;\n"
			    "dma d 1 | pollc dma ;\ndmacqe 0 | ;\n" TAIL,
			    64));
	assert_int_equal(map.place[1].offset % RN_LIVE_PAGE, 0);
	assert_int_equal(map.place[1].bytes, 8);
	assert_true(map.place[2].offset >= map.place[1].offset + RN_LIVE_PAGE);
}

static void test_memory_on_a_nic(void **unused)
{
	(void)unused;
	assert_true(lay_out(HEAD "{ m@B.nic0=0, n@B.nic0=0, o@B.nic1=0, x@A.host=0;\n"
				 "  q: A.nic0->B.nic0 }\nA.cpu | B.cpu ;\n"
				 "write q m,n <- x,#1 | mrd r0 o ;\n" TAIL,
			    64));
	assert_int_equal(map.nics, 3);
	assert_int_equal(map.memory[map.place[0].memory].agent, RN_AGENT_NIC);
	assert_int_equal(map.place[0].memory, map.place[1].memory);
	assert_int_equal(map.place[1].offset, map.place[0].offset + 64);
	assert_int_equal(map.memory[map.place[2].memory].agent, RN_AGENT_NIC + 1);
}

static void test_refused(void **unused)
{
	static const struct {
		const char *text, *reason;
	} rows[] = {
		{ HEAD "{ m@B.nic1=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		       "write q m <- #1 ;\n" TAIL,
		  "through that NIC only" },
		{ HEAD "{ m@A.nic1=0, x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		       "write q x <- m ;\n" TAIL,
		  "through that NIC only" },
		{ HEAD "{ m@A.nic1=0, x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		       "read q m <- x ;\n" TAIL,
		  "through that NIC only" },
		{ HEAD "{ m@B.nic1=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		       "faa q _ <- m 1 ;\n" TAIL,
		  "through that NIC only" },
		{ HEAD "{ m@A.nic0=0, x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		       "bell q x <- m ;\n" TAIL,
		  "from which it would fetch" },
		{ HEAD "{ m@A.nic0=0, x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		       "blue q x <- &m ;\n" TAIL,
		  "from which it would fetch" },
		{ HEAD "{ m@A.nic0=0, w@A.host=0, x@B.host=0; q: A.nic0->B.nic0 }\n"
		       "A.cpu ;\nst w &m ;\nbell q x <- w ;\n" TAIL,
		  "from which it would fetch" },
		{ HEAD "{ m@B.nic0=0; q: A.nic0->B.nic0 }\nA.cpu | B.cpu ;\n"
		       "send q _ <- #1 | recv q m ;\n" TAIL,
		  "from which it would fetch" },
		{ HEAD "{ m@A.nic0=0 }\nA.gpu0 ;\nld r0 m ;\n"
		       "allowed (A.gpu0:r0=0)\n",
		  "no kernel" },
		{ HEAD "{ x@B.host=0, y@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		       "flush q x,y ;\n" TAIL,
		  "one range" },
		{ HEAD "{ x@B.host=0, y@B.host=0, z@B.host=0; q: A.nic0->B.nic0 }\n"
		       "A.cpu ;\nwrite q x,y <- #1,#1 ;\nwrite q x,z <- #1,#1 ;\n" TAIL,
		  "side by side" },
		{ HEAD "{ x@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		       "write q x,x <- #1,#2 ;\n" TAIL,
		  "side by side" },
		{ HEAD "{ x@B.host=0, y@B.host=0; q: A.nic0->B.nic0 }\nA.cpu ;\n"
		       "write q x,y,x <- #1,#2,#3 ;\n" TAIL,
		  "side by side" },
		{ HEAD "{ x@A.host=0, y@A.host=0; q: A.nic0->A.nic0 }\n"
		       "A.cpu | A.nvme0 ;\nwrite q x,y <- #1,#2 | dma y 3 ;\n" TAIL,
		  "writes a page" },
		{ HEAD "{ x@A.host=0 }\nA.nvme0 | A.cpu ;\n"
		       "dma x 1 | ;\ndmacqe 0 | ;\ndmacqe 0 | ;\n" TAIL,
		  "reports a transfer, once" },
		{ HEAD "{ x@A.host=0 size=64 align=8 }\nA.cpu ;\nst x 1 ;\n" TAIL,
		  "one word" },
		{ HEAD "{ x@A.gpu0=0 size=64 align=8 }\nA.cpu ;\nld r0 x ;\n" TAIL,
		  "one word" },
		{ HEAD "{ x@A.host=0 size=64 align=8 }\nA.cpu | A.gpu0 ;\n"
		       "ld r0 x | ld r0 x ;\n" TAIL,
		  "one word" },
		{ HEAD "{ x@A.host=0 }\nA.nvme0 | A.cpu ;\ndmacqe 0 | ;\n" TAIL,
		  "reports a transfer, once" },
	};

	(void)unused;
	for (size_t i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		assert_false(lay_out(rows[i].text, 64));
		if (!strstr(why, rows[i].reason))
			fail_msg("\"%s\" does not say \"%s\"", why, rows[i].reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elements_side_by_side),
		cmocka_unit_test(test_granule_decides_element),
		cmocka_unit_test(test_memories_and_nics),
		cmocka_unit_test(test_drive_fills_pages),
		cmocka_unit_test(test_memory_on_a_nic),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
