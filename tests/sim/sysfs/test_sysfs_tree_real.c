/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sysfs_tree_real.c - links from a generated tree to the machine's real RDMA
 * devices.
 *
 * The machine is a directory; its nodes are links to devices that every machine has.
 */
#include "sim/sysfs/sysfs_tree.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/sim/kernel/scratch.h"

static void make_real(char sys[PATH_MAX], char dev[PATH_MAX])
{
	static const char *const dirs[] = {
		"",
		"sys",
		"sys/class",
		"sys/pci",
		"sys/pci/mlx5_0",
		"sys/pci/uverbs0",
		"sys/devices",
		"sys/devices/virtual",
		"sys/devices/virtual/rocin",
		"dev",
		"dev/infiniband",
		"sys/devices/virtual/rocin/rocin7",
		"sys/class/infiniband",
		"sys/class/infiniband_verbs",
		"sys/class/infiniband_mad",
	};
	static const char *const links[][2] = {
		{ "../../pci/mlx5_0", "sys/class/infiniband/mlx5_0" },
		{ "../../devices/virtual/rocin/rocin7", "sys/class/infiniband/rocin7" },
		{ "../../pci/uverbs0", "sys/class/infiniband_verbs/uverbs0" },
		{ "/dev/zero", "dev/infiniband/uverbs0" },
		{ "/dev/full", "dev/infiniband/rdma_cm" },
		{ "/dev/null", "dev/infiniband/uverbs_rocin7" },
	};
	char path[PATH_MAX];

	for (unsigned i = 0; i < RN_ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%.2000s/real/%s", parent, dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	for (unsigned i = 0; i < RN_ARRAY_SIZE(links); i++) {
		snprintf(path, sizeof(path), "%.2000s/real/%s", parent, links[i][1]);
		assert_int_equal(symlink(links[i][0], path), 0);
	}
	snprintf(path, sizeof(path),
		 "%.2000s/real/sys/class/infiniband_verbs/abi_version", parent);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(sys, PATH_MAX, "%.2000s/real/sys", parent);
	snprintf(dev, PATH_MAX, "%.2000s/real/dev", parent);
}

struct seen {
	char text[8 * PATH_MAX];
	size_t len;
};

static int note(void *ctx, const struct rn_sysfs_entry *entry)
{
	struct seen *seen = ctx;
	const char *target = entry->content;

	if (entry->kind == RN_SYSFS_DIR)
		return 0;
	if (!strncmp(target, parent, strlen(parent)))
		target += strlen(parent);
	seen->len +=
		(size_t)snprintf(seen->text + seen->len, sizeof(seen->text) - seen->len,
				 "%s -> %s\n", entry->path, target);
	return 0;
}

static void real_devices_are_linked_and_those_of_other_trees_are_not(void **state)
{
	char sys[PATH_MAX], dev[PATH_MAX];
	struct seen *seen = calloc(1, sizeof(*seen));

	(void)state;
	assert_non_null(seen);
	make_real(sys, dev);
	assert_int_equal(rn_sysfs_visit_real(sys, dev, note, seen), 0);
	assert_string_equal(
		seen->text,
		"sys/class/infiniband/mlx5_0 -> /real/sys/pci/mlx5_0\n"
		"sys/class/infiniband_verbs/uverbs0 -> /real/sys/pci/uverbs0\n"
		"sys/class/infiniband_mad -> /real/sys/class/infiniband_mad\n"
		"dev/infiniband/uverbs0 -> /dev/zero\n");
	free(seen);
}

static void rdma_support_without_a_device_adds_nothing(void **state)
{
	char sys[PATH_MAX], dev[PATH_MAX], path[PATH_MAX + 64];
	struct seen *seen = calloc(1, sizeof(*seen));

	(void)state;
	assert_non_null(seen);
	make_real(sys, dev);
	snprintf(path, sizeof(path), "%s/class/infiniband/mlx5_0", sys);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/class/infiniband_verbs/uverbs0", sys);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rn_sysfs_visit_real(sys, dev, note, seen), 0);
	assert_string_equal(seen->text, "");
	assert_int_equal(rn_sysfs_visit_real("/missing", "/missing", note, seen), 0);
	assert_string_equal(seen->text, "");
	free(seen);
}

#define TREE_TEST(fn) cmocka_unit_test_setup_teardown(fn, make_parent, remove_parent)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(real_devices_are_linked_and_those_of_other_trees_are_not),
		TREE_TEST(rdma_support_without_a_device_adds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
