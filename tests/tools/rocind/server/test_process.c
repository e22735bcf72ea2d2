/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_process.c - what rocind changes of itself before it does anything. */
#include "tools/rocind/server/server.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Whatever program has started it. */
static void its_files_are_for_its_user_only(void **state)
{
	mode_t before = umask(0);

	(void)state;
	rnd_process_prepare();
	assert_int_equal(umask(before), 077);
}

static void a_starter_that_has_gone_does_not_take_it_along(void **state)
{
	struct sigaction old;

	(void)state;
	signal(SIGPIPE, SIG_DFL);
	rnd_process_prepare();
	assert_int_equal(sigaction(SIGPIPE, NULL, &old), 0);
	assert_true(old.sa_handler == SIG_IGN);
}

/* Its starter's limit on the size of files is less than a ring of a local wire has. */
static void memory_that_is_too_large_does_not_end_it(void **state)
{
	const struct rlimit small = { 4096, RLIM_INFINITY };
	struct rlimit old;
	int fd = memfd_create("large", MFD_CLOEXEC);

	(void)state;
	signal(SIGXFSZ, SIG_DFL);
	rnd_process_prepare();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(ftruncate(fd, 8192), -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	close(fd);
}

static void it_has_all_descriptors_that_it_may_have(void **state)
{
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	rnd_process_prepare();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, limit.rlim_max);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_files_are_for_its_user_only),
		cmocka_unit_test(a_starter_that_has_gone_does_not_take_it_along),
		cmocka_unit_test(memory_that_is_too_large_does_not_end_it),
		cmocka_unit_test(it_has_all_descriptors_that_it_may_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
