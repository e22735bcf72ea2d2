/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A state file gives back what runs ended in, the newest of each test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/common/cmd.h"
#include "tools/rocin/litmus/report.h"

void rn_complain(const char *fmt, ...)
{
	(void)fmt;
}

static const char program[] = "RDMA T\n\"about\"\n{ x@B.host=0; q: A.nic0->B.nic0 }\n"
			      "A.cpu | B.cpu ;\nwrite q x <- #1 | ld r0 x ;\n"
			      "allowed (B.cpu:r0=0 /\\ x=1)\n";
static struct rn_litmus_test t;
static char path[] = "/tmp/rocin-state-XXXXXX";

static int make_file(void **unused)
{
	struct rn_litmus_parser parser;
	int fd = mkstemp(path);

	(void)unused;
	rn_litmus_parser_init(&parser, program, strlen(program));
	assert_int_equal(rn_litmus_parse(&parser, &t), 1);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **unused)
{
	(void)unused;
	return unlink(path);
}

static void fill(struct rn_report_run *run, int64_t r0, uint64_t count)
{
	struct rn_litmus_outcome out;

	memset(&out, 0, sizeof(out));
	out.value[0] = r0;
	out.absent = r0 < 0;
	rn_report_add_state(&t, run, &out, 5)->count += count - 1;
	run->runs += count;
}

static void test_round_trip(void **unused)
{
	struct rn_report_run run = { .knobs = "typical" }, again = { .knobs = "typical" };
	struct rn_litmus_options o = { .backend = "live", .seed = 1 };
	uint64_t digest = rn_litmus_digest(&o, &t, &run);
	struct rn_litmus_memory *m = rn_litmus_memory_open(path);

	(void)unused;
	assert_non_null(m);
	fill(&run, 0, 3);
	assert_int_equal(rn_litmus_remember(m, digest, &t, &run), 0);
	fill(&run, -1, 4);
	assert_int_equal(rn_litmus_remember(m, digest, &t, &run), 0);
	assert_int_equal(rn_litmus_remember(m, digest + 1, &t, &again), 0);
	rn_litmus_memory_close(m);

	m = rn_litmus_memory_open(path);
	assert_non_null(m);
	assert_int_equal(rn_litmus_recall(m, digest, &t, &again), 7);
	assert_int_equal(again.state_count, 2);
	assert_int_equal(again.state[0].count, 3);
	assert_int_equal(again.state[1].count, 4);
	assert_int_equal(again.state[1].outcome.absent, 1);
	assert_int_equal(again.state[1].outcome.value[0], -1);
	assert_int_equal(again.state[1].seed, 5);
	assert_int_equal(rn_litmus_recall(m, digest + 2, &t, &again), 0);
	rn_litmus_memory_close(m);
	free(run.state);
	free(again.state);
}

/* Another seed, other knobs or another program is another test. */
static void test_digest(void **unused)
{
	struct rn_report_run run = { .knobs = "typical" }, other = { .knobs = "ibta" };
	struct rn_litmus_options o = { .backend = "live", .seed = 1 };
	uint64_t digest = rn_litmus_digest(&o, &t, &run);
	static struct rn_litmus_test changed;

	(void)unused;
	assert_int_not_equal(digest, rn_litmus_digest(&o, &t, &other));
	changed = t;
	strcpy(changed.thread[1].instr[0].text, "ld r1 x");
	assert_int_not_equal(digest, rn_litmus_digest(&o, &changed, &run));
	o.seed = 2;
	assert_int_not_equal(digest, rn_litmus_digest(&o, &t, &run));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_digest),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
