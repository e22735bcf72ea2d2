/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_mr_pages.c - the check whether memory is mapped and writable. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/verbs/memory/mr.h"
#include "tests/kit/apart.h"

enum {
	PAGES = 8
};

static size_t page;

/* Maps eight pages. The fifth is unmapped, and the seventh is read-only. */
static int map(void **state)
{
	char *mem;

	page = (size_t)sysconf(_SC_PAGESIZE);
	mem = map_apart(PAGES * page, PROT_READ | PROT_WRITE);
	if (!mem)
		return -1;
	*state = mem;
	return munmap(mem + 4 * page, page) || mprotect(mem + 6 * page, page, PROT_READ);
}

static int unmap(void **state)
{
	return munmap(*state, PAGES * page);
}

static void memory_that_is_there_is_accepted_at_any_alignment(void **state)
{
	char *mem = *state;

	assert_int_equal(rnp_pages_populate(mem, 4 * page, true), 0);
	assert_int_equal(rnp_pages_populate(mem + 1, 4 * page - 1, true), 0);
	assert_int_equal(rnp_pages_populate(mem + page - 1, 2, false), 0);
	assert_int_equal(rnp_pages_populate(mem + 6 * page, page, false), 0);
}

static void a_hole_is_a_fault(void **state)
{
	char *mem = *state;

	assert_int_equal(rnp_pages_populate(mem + 3 * page, page + 1, false), -EFAULT);
	assert_int_equal(rnp_pages_populate(mem + 3 * page, page + 1, true), -EFAULT);
	assert_int_equal(rnp_pages_populate(mem, PAGES * page, false), -EFAULT);
}

static void memory_that_may_not_be_written_is_a_fault(void **state)
{
	char *mem = *state;

	assert_int_equal(rnp_pages_populate(mem + 5 * page, 2 * page, true), -EFAULT);
	assert_int_equal(rnp_pages_populate(mem + 5 * page, 2 * page, false), 0);
}

static void a_range_that_wraps_is_refused(void **state)
{
	(void)state;
	assert_int_equal(rnp_pages_populate((void *)(UINTPTR_MAX - 10), 100, false),
			 -EINVAL);
	assert_int_equal(rnp_pages_populate((void *)64, SIZE_MAX, false), -EINVAL);
}

static void an_empty_range_is_accepted_anywhere(void **state)
{
	(void)state;
	assert_int_equal(rnp_pages_populate(NULL, 0, true), 0);
}

static void the_way_for_old_kernels_finds_holes_too(void **state)
{
	char *mem = *state;

	assert_int_equal(rnp_pages_read(mem + 1, 3 * page), 0);
	assert_int_equal(rnp_pages_read(mem + 3 * page, page + 1), -EFAULT);
	assert_int_equal(rnp_pages_read(mem + 4 * page, 1), -EFAULT);
	assert_int_equal(rnp_pages_read(mem + 6 * page + 5, 1), 0);
}

static void a_question_about_pages_brings_none(void **state)
{
	const size_t many = 3000; /* more pages than one system call checks */
	unsigned char *there = malloc(many);
	char *mem = map_apart(many * page, PROT_READ | PROT_WRITE);

	(void)state;
	assert_non_null(there);
	assert_non_null(mem);
	assert_int_equal(rnp_pages_mapped(mem + 1, many * page - 2), 0);
	rnp_pages_expect(mem + 1, many * page - 2);
	assert_int_equal(mincore(mem, many * page, there), 0);
	for (size_t i = 0; i < many; i++)
		assert_int_equal(there[i] & 1, 0);
	assert_int_equal(munmap(mem + (many - 1) * page, page), 0);
	assert_int_equal(rnp_pages_mapped(mem, (many - 1) * page), 0);
	assert_int_equal(rnp_pages_mapped(mem + 1, (many - 1) * page), -EFAULT);
	assert_int_equal(munmap(mem, (many - 1) * page), 0);
	free(there);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_about_pages_brings_none),
		cmocka_unit_test(memory_that_is_there_is_accepted_at_any_alignment),
		cmocka_unit_test(a_hole_is_a_fault),
		cmocka_unit_test(memory_that_may_not_be_written_is_a_fault),
		cmocka_unit_test(a_range_that_wraps_is_refused),
		cmocka_unit_test(an_empty_range_is_accepted_anywhere),
		cmocka_unit_test(the_way_for_old_kernels_finds_holes_too),
	};

	return cmocka_run_group_tests(tests, map, unmap);
}
