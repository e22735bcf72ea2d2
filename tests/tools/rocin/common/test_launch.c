/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_launch.c - the environment in which programs find the devices. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/rocin/common/launch.h"

char *__real_realpath(const char *path, char *resolved);
char *__wrap_realpath(const char *path, char *resolved);

static const char *installed_in; /* NULL: nowhere */

char *__wrap_realpath(const char *path, char *resolved)
{
	return installed_in ? strcpy(resolved, installed_in)
			    : __real_realpath(path, resolved);
}

#define PRELOAD "/opt/rocin/librocin-kernel.so"
#define DRIVER "/opt/rocin/librocin"
#define GPU "/opt/rocin/librocin-gpu.so.0"

static struct rn_launch launch = {
	.preload = PRELOAD,
	.driver = DRIVER,
	.gpu = GPU,
	.tree = "/run/rocin/trees/1",
};

static int clear(void **state)
{
	(void)state;
	unsetenv("LD_PRELOAD");
	unsetenv("RDMAV_DRIVERS");
	unsetenv("ROCIN_TREE");
	unsetenv("ROCIN_NETDEVS");
	unsetenv("ROCIN_SANITIZE");
	unsetenv("ROCIN_PCIE_DEVICE");
	launch.closes_pages = false;
	return 0;
}

static void set(const char *netdevs)
{
	char err[512] = "";

	assert_int_equal(rn_launch_setenv(&launch, netdevs, err, sizeof(err)), 0);
	assert_string_equal(err, "");
}

static void an_empty_environment_gets_what_is_needed_and_no_more(void **state)
{
	(void)state;
	set(NULL);
	assert_string_equal(getenv("LD_PRELOAD"), PRELOAD);
	assert_string_equal(getenv("RDMAV_DRIVERS"), DRIVER);
	assert_string_equal(getenv("ROCIN_TREE"), "/run/rocin/trees/1");
	assert_null(getenv("ROCIN_NETDEVS"));
}

/* System calls on pages that are closed go through the library that closes them. */
static void what_closes_pages_is_preloaded_as_well(void **state)
{
	static const struct {
		bool closes_pages;
		const char *sanitize, *device;
		bool has_gpu;
	} rows[] = {
		{ false, "on", NULL, true },   { false, "all,exitcode=0", NULL, true },
		{ false, "off", NULL, false }, { false, "", "", false },
		{ false, NULL, "all", true },  { true, NULL, NULL, true },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		clear(state);
		launch.closes_pages = rows[i].closes_pages;
		if (rows[i].sanitize)
			setenv("ROCIN_SANITIZE", rows[i].sanitize, 1);
		if (rows[i].device)
			setenv("ROCIN_PCIE_DEVICE", rows[i].device, 1);
		set(NULL);
		assert_string_equal(getenv("LD_PRELOAD"),
				    rows[i].has_gpu ? PRELOAD ":" GPU : PRELOAD);
	}
}

static void empty_lists_do_not_become_lists_with_an_empty_element(void **state)
{
	(void)state;
	setenv("LD_PRELOAD", "", 1);
	setenv("RDMAV_DRIVERS", "", 1);
	set(NULL);
	assert_string_equal(getenv("LD_PRELOAD"), PRELOAD);
	assert_string_equal(getenv("RDMAV_DRIVERS"), DRIVER);
}

static void what_is_preloaded_already_stays_first(void **state)
{
	(void)state;
	setenv("LD_PRELOAD", "libasan.so.8:/usr/lib/libfoo.so", 1);
	set(NULL);
	assert_string_equal(getenv("LD_PRELOAD"),
			    "libasan.so.8:/usr/lib/libfoo.so:" PRELOAD);
}

static void other_drivers_stay_behind_ours(void **state)
{
	(void)state;
	setenv("RDMAV_DRIVERS", "/usr/lib/libibverbs/libmlx5", 1);
	set(NULL);
	assert_string_equal(getenv("RDMAV_DRIVERS"),
			    DRIVER ":/usr/lib/libibverbs/libmlx5");
}

static void running_under_rocin_run_twice_changes_nothing(void **state)
{
	(void)state;
	setenv("LD_PRELOAD", "libfirst.so", 1);
	setenv("RDMAV_DRIVERS", "libsecond", 1);
	set("lo");
	set("lo");
	assert_string_equal(getenv("LD_PRELOAD"), "libfirst.so:" PRELOAD);
	assert_string_equal(getenv("RDMAV_DRIVERS"), DRIVER ":libsecond");
}

static void a_longer_or_shorter_name_is_another_library(void **state)
{
	(void)state;
	setenv("LD_PRELOAD", PRELOAD ".old:/x" PRELOAD, 1);
	setenv("RDMAV_DRIVERS", DRIVER "-debug", 1);
	set(NULL);
	assert_string_equal(getenv("LD_PRELOAD"), PRELOAD ".old:/x" PRELOAD ":" PRELOAD);
	assert_string_equal(getenv("RDMAV_DRIVERS"), DRIVER ":" DRIVER "-debug");
}

static void ours_is_found_wherever_it_stands(void **state)
{
	static const char *const lists[] = {
		PRELOAD ":libb.so",
		"liba.so:" PRELOAD,
		"liba.so:" PRELOAD ":libb.so",
		":" PRELOAD ":",
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(lists); i++) {
		setenv("LD_PRELOAD", lists[i], 1);
		set(NULL);
		assert_string_equal(getenv("LD_PRELOAD"), lists[i]);
	}
}

static void the_devices_asked_for_replace_those_of_the_environment(void **state)
{
	(void)state;
	setenv("ROCIN_NETDEVS", "eth0", 1);
	set(NULL);
	assert_string_equal(getenv("ROCIN_NETDEVS"), "eth0");
	set("lo:127.0.0.2");
	assert_string_equal(getenv("ROCIN_NETDEVS"), "lo:127.0.0.2");
}

/* This test was built to look for the plugin where nothing is. */
static void a_missing_plugin_is_one_sentence(void **state)
{
	static struct rn_launch other;
	char err[PATH_MAX + 256] = "";

	(void)state;
	assert_int_equal(rn_launch_prepare(&other, NULL, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "is missing; install Rocin again"));
}

/* LD_PRELOAD has no way to quote them, and RDMAV_DRIVERS none for ':' and ';'. */
static void a_place_with_separators_in_its_name_is_refused(void **state)
{
	static const char *const places[] = { "/opt/my rocin", "/opt/a:b", "/opt/a;b",
					      "/opt/a\tb" };
	static struct rn_launch other;

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(places); i++) {
		char err[PATH_MAX + 256] = "";

		installed_in = places[i];
		assert_int_equal(rn_launch_prepare(&other, NULL, err, sizeof(err)),
				 -EINVAL);
		assert_non_null(strstr(err, places[i]));
		assert_non_null(strstr(err, "move Rocin elsewhere"));
	}
	installed_in = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			an_empty_environment_gets_what_is_needed_and_no_more, clear),
		cmocka_unit_test_setup(what_closes_pages_is_preloaded_as_well, clear),
		cmocka_unit_test_setup(
			empty_lists_do_not_become_lists_with_an_empty_element, clear),
		cmocka_unit_test_setup(what_is_preloaded_already_stays_first, clear),
		cmocka_unit_test_setup(other_drivers_stay_behind_ours, clear),
		cmocka_unit_test_setup(running_under_rocin_run_twice_changes_nothing,
				       clear),
		cmocka_unit_test_setup(a_longer_or_shorter_name_is_another_library,
				       clear),
		cmocka_unit_test_setup(ours_is_found_wherever_it_stands, clear),
		cmocka_unit_test_setup(
			the_devices_asked_for_replace_those_of_the_environment, clear),
		cmocka_unit_test(a_missing_plugin_is_one_sentence),
		cmocka_unit_test(a_place_with_separators_in_its_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
