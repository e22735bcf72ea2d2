/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_redirect.c - which paths are ours and where they lie. */
#include "sim/kernel/redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A directory with a space in its name that passes for a tree. */
static char scratch[PATH_MAX]; /* made by mkdtemp, holds the tree and a link to it */
static char tree[PATH_MAX];
static const char *const parts[] = { "/the tree", "/the tree/sys", "/the tree/sys/class",
				     "/the tree/sys/class/infiniband_verbs" };

static void path_in_scratch(char *path, const char *name)
{
	assert_in_range(snprintf(path, PATH_MAX, "%.2000s%s", scratch, name), 1,
			PATH_MAX - 1);
}

static int make_tree(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char path[PATH_MAX], real[PATH_MAX];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%.2000s/rocin-test-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(path));
	assert_non_null(realpath(path, real));
	snprintf(scratch, sizeof(scratch), "%s", real);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		path_in_scratch(path, parts[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	path_in_scratch(path, "/the tree/sys/class/infiniband_verbs/abi_version");
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	path_in_scratch(path, "/link");
	assert_int_equal(symlink("the tree", path), 0);
	path_in_scratch(tree, "/the tree");
	return 0;
}

static int remove_tree(void **state)
{
	char path[PATH_MAX];

	(void)state;
	rnk_tree_set(NULL);
	path_in_scratch(path, "/the tree/sys/class/infiniband_verbs/abi_version");
	unlink(path);
	path_in_scratch(path, "/link");
	unlink(path);
	for (unsigned i = sizeof(parts) / sizeof(parts[0]); i-- > 0;) {
		path_in_scratch(path, parts[i]);
		rmdir(path);
	}
	return rmdir(scratch);
}

static int use_tree(void **state)
{
	(void)state;
	return rnk_tree_set(tree) ? 0 : -1;
}

static void assert_not_ours(const char *path)
{
	size_t size = rnk_mapped_size(path);

	if (size)
		print_error("%s\n", path ? path : "NULL");
	assert_int_equal(size, 0);
}

static void assert_maps_to(const char *path, const char *inside)
{
	char want[2 * PATH_MAX];
	size_t size = rnk_mapped_size(path);
	char *buf;

	snprintf(want, sizeof(want), "%s%s", tree, inside);
	if (!size)
		print_error("%s is not ours\n", path);
	assert_int_equal(size, strlen(want) + 1);
	buf = malloc(size); /* of the exact size: ASan sees a byte too many */
	assert_non_null(buf);
	assert_string_equal(rnk_map(path, buf, size), want);
	free(buf);
}

static void each_prefix_is_ours_itself_and_what_lies_below(void **state)
{
	static const char *const prefix[] = {
		"/sys/class/infiniband",      "/sys/class/infiniband_verbs",
		"/sys/class/infiniband_mad",  "/sys/class/infiniband_cm",
		"/sys/class/misc/rdma_cm",    "/dev/infiniband",
		"/sys/devices/virtual/rocin",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++) {
		char path[128];

		assert_maps_to(prefix[i], prefix[i]);
		snprintf(path, sizeof(path), "%s/a/b", prefix[i]);
		assert_maps_to(path, path);
	}
}

static void neighbours_of_the_prefixes_are_not_ours(void **state)
{
	static const char *const path[] = {
		"",
		"/",
		"/s",
		"/d",
		"/sys",
		"/sys/",
		"/sys/class",
		"/sys/class/net/lo",
		"/sys/class/infinibandx",
		"/sys/class/infiniban",
		"/sys/class/infiniband_",
		"/sys/class/infiniband_verbsy/x",
		"/sys/class/misc",
		"/sys/class/misc/rdma_cmx",
		"/sys/devices/virtual",
		"/sys/devices/virtual/net/lo",
		"/sys/devices/virtual/rocinante",
		"/dev",
		"/dev/null",
		"/dev/infinibandx",
		"/dev/shm/sys/class/infiniband",
		"/srv/sys/class/infiniband",
		"/usr/sys/class/infiniband",
		"sys/class/infiniband",
		"infiniband",
		"./sys/class/infiniband",
		"dev/infiniband",
	};

	(void)state;
	assert_not_ours(NULL);
	for (unsigned i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		assert_not_ours(path[i]);
}

static void idle_components_do_not_hide_a_prefix(void **state)
{
	(void)state;
	assert_maps_to("//sys///class//infiniband", "/sys/class/infiniband");
	assert_maps_to("/./sys/./class/././infiniband", "/sys/class/infiniband");
	assert_maps_to("//./dev/.//infiniband/uverbs_rocin0",
		       "/dev/infiniband/uverbs_rocin0");
}

/* lstat("link/") and lstat("link") differ. */
static void what_follows_a_prefix_is_kept_as_written(void **state)
{
	(void)state;
	assert_maps_to("/sys/class/infiniband/", "/sys/class/infiniband/");
	assert_maps_to("/sys/class/infiniband/.", "/sys/class/infiniband/.");
	assert_maps_to("/sys/class/infiniband//rocin0/",
		       "/sys/class/infiniband//rocin0/");
	assert_maps_to("/sys/class/infiniband/rocin0/..",
		       "/sys/class/infiniband/rocin0/..");
	assert_maps_to("/sys/class/infiniband/rocin0/../../net",
		       "/sys/class/infiniband/rocin0/../../net");
}

static void dotdot_before_a_prefix_is_taken_back(void **state)
{
	(void)state;
	assert_maps_to("/../sys/class/infiniband", "/sys/class/infiniband");
	assert_maps_to("/sys/class/net/../infiniband/x", "/sys/class/infiniband/x");
	assert_maps_to("/dev/../sys/class/infiniband", "/sys/class/infiniband");
	assert_maps_to("/sys/class/infiniband/../infiniband_verbs",
		       "/sys/class/infiniband_verbs");
	assert_not_ours("/sys/class/infiniband/..");
	assert_not_ours("/sys/class/infiniband/./../net");
	assert_not_ours("/dev/infiniband/../null");
}

static void three_dots_are_a_name(void **state)
{
	(void)state;
	assert_not_ours("/sys/class/.../infiniband");
	assert_not_ours("/sys/.class/infiniband");
	assert_maps_to("/sys/class/infiniband/...", "/sys/class/infiniband/...");
}

static void endless_paths_are_left_to_the_kernel(void **state)
{
	size_t len = 3 * PATH_MAX;
	char *path = malloc(len + 1);

	(void)state;
	assert_non_null(path);
	memset(path, 'a', len);
	path[len] = '\0';
	memcpy(path, "/sys/class/infiniband/", 22);
	assert_not_ours(path);
	memcpy(path, "/sys/class/infinibandaaaa", 25);
	assert_not_ours(path);
	free(path);
}

/* The longest prefix has less than 32 bytes, and so has what leads to one by "..". */
static void a_path_longer_than_every_prefix_leads_to_none(void **state)
{
	(void)state;
	assert_maps_to("/sys/class/aaaaaaaaaaaaaaaaaaaa/../infiniband",
		       "/sys/class/infiniband");
	assert_not_ours("/sys/class/aaaaaaaaaaaaaaaaaaaaa/../infiniband");
	assert_not_ours("/sys/class/aaaaaaaaaaaaaaaaaaaaaa/../infiniband");
}

/* Cut every path short at every length, in memory of that length. */
static void no_byte_behind_the_string_is_read(void **state)
{
	static const char *const path[] = { "/sys/class/infiniband/rocin0/ports/1",
					    "/sys/class/misc/../infiniband/./x/..",
					    "//.//sys/devices/virtual/rocin/../rocin/" };

	(void)state;
	for (unsigned i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		for (size_t len = 0; len <= strlen(path[i]); len++) {
			char *copy = malloc(len + 1);
			size_t size;

			assert_non_null(copy);
			memcpy(copy, path[i], len);
			copy[len] = '\0';
			size = rnk_mapped_size(copy);
			if (size) {
				char *buf = malloc(size);

				assert_non_null(buf);
				assert_ptr_equal(rnk_map(copy, buf, size), buf);
				assert_int_equal(strlen(buf) + 1, size);
				free(buf);
			}
			free(copy);
		}
	}
}

static void a_path_changed_meanwhile_is_not_written_past_the_buffer(void **state)
{
	char path[] = "/sys/class/infiniband/x";
	char longer[] = "/sys/class/infiniband/xyz";
	char buf[PATH_MAX];
	size_t size = rnk_mapped_size(path);

	(void)state;
	assert_ptr_equal(rnk_map(longer, buf, size), longer);
	longer[strlen(path) + 1] = '\0'; /* one byte too many */
	assert_ptr_equal(rnk_map(longer, buf, size), longer);
	assert_ptr_equal(rnk_map("/etc", buf, size), "/etc");
}

static void results_in_the_tree_get_their_names_back(void **state)
{
	char path[2 * PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/sys/devices/virtual/rocin/a", tree);
	assert_string_equal(rnk_unmapped(path), "/sys/devices/virtual/rocin/a");
	snprintf(path, sizeof(path), "%s/sys", tree);
	assert_string_equal(rnk_unmapped(path), "/sys");
	snprintf(path, sizeof(path), "%s/dev/infiniband", tree);
	assert_string_equal(rnk_unmapped(path), "/dev/infiniband");
}

static void results_elsewhere_stay(void **state)
{
	char path[2 * PATH_MAX];

	(void)state;
	assert_null(rnk_unmapped(NULL));
	assert_string_equal(rnk_unmapped("relative"), "relative");
	assert_string_equal(rnk_unmapped("/sys/class/net"), "/sys/class/net");
	assert_string_equal(rnk_unmapped(tree), tree);
	snprintf(path, sizeof(path), "%sx/sys/class", tree);
	assert_string_equal(rnk_unmapped(path), path);
	snprintf(path, sizeof(path), "%s/system", tree);
	assert_string_equal(rnk_unmapped(path), path);
}

static void a_tree_named_through_a_link_is_known_by_its_real_name(void **state)
{
	char path[PATH_MAX];

	(void)state;
	path_in_scratch(path, "/link//");
	assert_true(rnk_tree_set(path));
	assert_string_equal(rnk_tree(), tree);
}

static void without_a_usable_tree_nothing_is_ours(void **state)
{
	char incomplete[PATH_MAX], missing[PATH_MAX], endless[PATH_MAX + 2];
	const char *const bad[] = { NULL,    "",	  "the tree", incomplete,
				    missing, "/dev/null", endless };
	int before = open(".", O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(chdir(scratch), 0); /* where there is a relative one */
	assert_int_equal(access("the tree", R_OK), 0);
	path_in_scratch(incomplete, "");
	path_in_scratch(missing, "/missing");
	memset(endless, '/', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(rnk_tree_set(bad[i]));
		assert_null(rnk_tree());
		assert_not_ours("/sys/class/infiniband");
		assert_string_equal(rnk_unmapped(tree), tree);
	}
	assert_int_equal(fchdir(before), 0);
	close(before);
}

static void errno_is_kept(void **state)
{
	char buf[PATH_MAX + 64];

	(void)state;
	errno = ELOOP;
	rnk_tree_set("/missing");
	assert_int_equal(errno, ELOOP);
	rnk_tree_set(tree);
	assert_int_equal(errno, ELOOP);
	rnk_map("/dev/infiniband", buf, rnk_mapped_size("/dev/infiniband"));
	assert_int_equal(errno, ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_prefix_is_ours_itself_and_what_lies_below,
				       use_tree),
		cmocka_unit_test_setup(neighbours_of_the_prefixes_are_not_ours, use_tree),
		cmocka_unit_test_setup(idle_components_do_not_hide_a_prefix, use_tree),
		cmocka_unit_test_setup(what_follows_a_prefix_is_kept_as_written,
				       use_tree),
		cmocka_unit_test_setup(dotdot_before_a_prefix_is_taken_back, use_tree),
		cmocka_unit_test_setup(three_dots_are_a_name, use_tree),
		cmocka_unit_test_setup(endless_paths_are_left_to_the_kernel, use_tree),
		cmocka_unit_test_setup(a_path_longer_than_every_prefix_leads_to_none,
				       use_tree),
		cmocka_unit_test_setup(no_byte_behind_the_string_is_read, use_tree),
		cmocka_unit_test_setup(
			a_path_changed_meanwhile_is_not_written_past_the_buffer,
			use_tree),
		cmocka_unit_test_setup(results_in_the_tree_get_their_names_back,
				       use_tree),
		cmocka_unit_test_setup(results_elsewhere_stay, use_tree),
		cmocka_unit_test(a_tree_named_through_a_link_is_known_by_its_real_name),
		cmocka_unit_test(without_a_usable_tree_nothing_is_ours),
		cmocka_unit_test(errno_is_kept),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
