/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_declare.c - rules that make registered memory a GPU's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/mr.h"
#include "sim/pcie/gpu/declare.h"

#define MIB (1ULL << 20)

static int match(const char *rules, const char *program, uint64_t addr, uint64_t len,
		 uint32_t access)
{
	struct rn_declare d;
	char err[200] = "";

	if (rn_declare_parse(&d, rules, err, sizeof(err)) != 0)
		fail_msg("%s: %s", rules, err);
	return rn_declare_match(&d, program, addr, len, access);
}

static void test_size(void **state)
{
	(void)state;
	assert_int_equal(match("size>=1M", "p", 0x1000, MIB, 0), 0);
	assert_int_equal(match("size>=1M", "p", 0x1000, MIB - 1, 0), -1);
	assert_int_equal(match("size<=4K", "p", 0x1000, 4096, 0), 0);
	assert_int_equal(match("size<=4K", "p", 0x1000, 4097, 0), -1);
	assert_int_equal(match("size>=2;size<=3", "p", 0, 2, 0), 0);
	assert_int_equal(match("size>=2;size<=3", "p", 0, 4, 0), -1);
	assert_int_equal(match("size>=1G", "p", 0, 1ULL << 30, 0), 0);
}

static void test_range(void **state)
{
	(void)state;
	assert_int_equal(match("range=0x1000-0x2000", "p", 0x1000, 0x1000, 0), 0);
	assert_int_equal(match("range=0x1000-0x2000", "p", 0x1001, 0x1000, 0), -1);
	assert_int_equal(match("range=0x1000-0x2000", "p", 0xfff, 1, 0), -1);
	assert_int_equal(match("range=0x1000-0x2000", "p", 0x3000, 1, 0), -1);
	assert_int_equal(match("range=0x1000-0x2000", "p", 0x1fff, UINT64_MAX, 0), -1);
}

static void test_access(void **state)
{
	(void)state;
	assert_int_equal(match("access=relaxed", "p", 0, 1, RN_ACCESS_RELAXED_ORDERING),
			 0);
	assert_int_equal(match("access=relaxed", "p", 0, 1, RN_ACCESS_LOCAL_WRITE), -1);
	assert_int_equal(match("access=remote-write;access=remote-read", "p", 0, 1,
			       RN_ACCESS_REMOTE_WRITE),
			 -1);
	assert_int_equal(match("access=remote-write;access=remote-read", "p", 0, 1,
			       RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ),
			 0);
}

static void test_program_and_gpu(void **state)
{
	(void)state;
	assert_int_equal(match("program=ib_write_bw;gpu=2", "ib_write_bw", 0, 1, 0), 2);
	assert_int_equal(match("program=ib_write_bw;gpu=2", "ib_write", 0, 1, 0), -1);
	assert_int_equal(match("all;gpu=3", "p", 0, 1, 0), 3);
}

static void test_first_rule_that_matches(void **state)
{
	static const char rules[] = "size>=1M;gpu=1|program=x;gpu=2|all;gpu=3";

	(void)state;
	assert_int_equal(match(rules, "x", 0, MIB, 0), 1);
	assert_int_equal(match(rules, "x", 0, 1, 0), 2);
	assert_int_equal(match(rules, "y", 0, 1, 0), 3);
}

static void test_refused_with_the_word(void **state)
{
	static const struct {
		const char *rules, *sentence;
	} cases[] = {
		{ "", "\"\" begins with an empty word" },
		{ "size>=1M;", "\"\" begins with an empty word" },
		{ "size>=1M||all", "\"|all\" begins with an empty word" },
		{ "size>1M", "\"size>1M\" is none of all, size>=" },
		{ "size>=", "\"size>=\" is not size>=BYTES" },
		{ "size>=1T", "\"size>=1T\" is not size>=BYTES" },
		{ "size>=-1", "\"size>=-1\" is not size>=BYTES" },
		{ "size>=99999999999999999999", "is not size>=BYTES" },
		{ "size<=18446744073709551615K", "is not size<=BYTES" },
		{ "range=0x2-0x1", "\"range=0x2-0x1\" is not range=0xFIRST-0xEND" },
		{ "range=0x-0x1", "is not range=" },
		{ "range=0x1", "is not range=" },
		{ "range=1-2", "is not range=" },
		{ "access=all", "\"access=all\" is not access=relaxed" },
		{ "program=", "is not program=NAME" },
		{ "gpu=4", "\"gpu=4\" is not gpu=0 to gpu=3" },
		{ "gpu=00", "is not gpu=0 to gpu=3" },
		{ "all|all|all|all|all|all|all|all|all|all|all|all|all|all|all|all|all",
		  "one rule too many" },
		{ "program=0123456789012345678901234567890123456789012345678901234567890"
		  "1234567890123456789012345678901234567890123456789012345678901234",
		  "too long" },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct rn_declare d = { .count = 77 };
		char err[300] = "";

		assert_int_equal(rn_declare_parse(&d, cases[i].rules, err, sizeof(err)),
				 -EINVAL);
		assert_int_equal(d.count, 77);
		if (!strstr(err, cases[i].sentence))
			fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].rules, err,
				 cases[i].sentence);
	}
}

static void test_sentence_is_cut(void **state)
{
	struct rn_declare d;
	char err[8];

	(void)state;
	assert_int_equal(rn_declare_parse(&d, "nonsense", err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "device ");
	assert_int_equal(rn_declare_parse(&d, "nonsense", NULL, 0), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_program_and_gpu),
		cmocka_unit_test(test_first_rule_that_matches),
		cmocka_unit_test(test_refused_with_the_word),
		cmocka_unit_test(test_sentence_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
