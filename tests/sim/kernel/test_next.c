/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_next.c - the functions that the hooks stand in front of. */
#include "sim/kernel/hooks/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const names[] = {
#define RNK_HOOK(name, version, if_missing) #name,
#include "sim/kernel/hooks/hooks.def"
#undef RNK_HOOK
};

static void early_functions_stand_in_before_the_constructor(void **state)
{
	char target[64] = "";
	int fd = NEXT(open)("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	Dl_info found;

	(void)state;
	assert_true(dladdr(rnk_next(RNK_FN_open), &found));
	assert_null(strstr(found.dli_fname, "libc.so"));
	assert_true(fd >= 0);
	close(fd);
	fd = NEXT(openat)(-1, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(NEXT(access)("/proc/self", R_OK), 0);
	assert_int_equal(NEXT(access)("/missing", R_OK), -1);
	assert_int_equal(errno, ENOENT);
	assert_true(NEXT(readlink)("/proc/self/exe", target, sizeof(target)) > 0);
}

static void early_open_passes_the_mode(void **state)
{
	const char *tmp = getenv("TMPDIR");
	mode_t mask = umask(022);
	struct stat st;
	int fd = NEXT(open)(tmp ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0640);

	(void)state;
	umask(mask);
	if (fd < 0)
		skip(); /* not every file system has O_TMPFILE */
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	close(fd);
}

/* dlsym() through a handle gives the default version, dlsym(RTLD_NEXT) may give an older.
 */
static void every_function_is_found_in_its_newest_version(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	(void)state;
	assert_non_null(libc);
	errno = ELOOP;
	assert_true(rnk_next_resolve_all());
	assert_int_equal(errno, ELOOP);
	for (unsigned fn = 0; fn < RNK_FN_COUNT; fn++) {
		void *want = dlsym(libc, names[fn]);
		Dl_info found;

		assert_true(dladdr(rnk_next((enum rnk_fn)fn), &found));
		if (strstr(found.dli_fname, "libc.so") &&
		    want != rnk_next((enum rnk_fn)fn))
			fail_msg("%s is not the default version", names[fn]);
	}
	dlclose(libc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(early_functions_stand_in_before_the_constructor),
		cmocka_unit_test(early_open_passes_the_mode),
		cmocka_unit_test(every_function_is_found_in_its_newest_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
