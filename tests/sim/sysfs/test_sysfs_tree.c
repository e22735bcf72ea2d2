/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sysfs_tree.c - the generated tree: what it says, and how it comes and changes. */
#include "sim/sysfs/sysfs_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/sim/kernel/fixture.h"
#include "tests/sim/kernel/scratch.h"

#define IBDEV0 "sys/class/infiniband/rocin0"
#define PORT0 IBDEV0 "/ports/1"

static void write_tree(char path[PATH_MAX], const struct rn_netdev *devs, unsigned n)
{
	char err[256] = "";
	int rc = rn_sysfs_tree_write(parent, devs, n, path, PATH_MAX, err, sizeof(err));

	assert_string_equal(err, "");
	assert_int_equal(rc, 0);
}

static void write_default(char path[PATH_MAX])
{
	struct rn_netdev devs[2] = { lo_device(0), lo_device(1) };

	write_tree(path, devs, 2);
}

static int open_tree(const char *tree)
{
	int fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void assert_text(const char *tree, const char *name, const char *want)
{
	char text[512];
	int root = open_tree(tree);
	int fd = openat(root, name, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		print_error("%s: %s\n", name, strerror(errno));
	assert_true(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	assert_true(len >= 0);
	text[len] = '\0';
	assert_string_equal(text, want);
	close(fd);
	close(root);
}

static struct stat stat_in(const char *tree, const char *name)
{
	int root = open_tree(tree);
	struct stat st;

	assert_int_equal(fstatat(root, name, &st, 0), 0);
	close(root);
	return st;
}

static void set_text(const char *tree, const char *name, const char *text)
{
	int root = open_tree(tree);
	int fd = openat(root, name, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	close(root);
}

static unsigned count_entries(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fdopendir(fd);
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2; /* "." and ".." */
}

static void files_say_what_a_kernel_would(void **state)
{
	static const struct {
		const char *name, *text;
	} want[] = {
		{ "sys/class/infiniband_verbs/abi_version", "6\n" },
		{ "sys/class/infiniband_verbs/uverbs_rocin0/ibdev", "rocin0\n" },
		{ "sys/class/infiniband_verbs/uverbs_rocin0/dev", "1:3\n" },
		{ "sys/class/infiniband_verbs/uverbs_rocin0/abi_version", "1\n" },
		{ IBDEV0 "/node_type", "1: CA\n" },
		{ IBDEV0 "/node_guid", "0272:636e:0000:0000\n" },
		{ IBDEV0 "/sys_image_guid", "0272:636e:0000:0000\n" },
		{ IBDEV0 "/fw_ver", ROCIN_VERSION "\n" },
		{ PORT0 "/state", "4: ACTIVE\n" },
		{ PORT0 "/phys_state", "5: LinkUp\n" },
		{ PORT0 "/link_layer", "Ethernet\n" },
		{ PORT0 "/rate", "100 Gb/sec (4X EDR)\n" },
		{ PORT0 "/lid", "0x0\n" },
		{ PORT0 "/lid_mask_count", "0\n" },
		{ PORT0 "/sm_lid", "0x0\n" },
		{ PORT0 "/sm_sl", "0\n" },
		{ PORT0 "/cap_mask", "0x00010000\n" },
		{ PORT0 "/pkeys/0", "0xffff\n" },
		{ PORT0 "/gids/0", "0000:0000:0000:0000:0000:ffff:7f00:0001\n" },
		{ PORT0 "/gids/1", "0000:0000:0000:0000:0000:0000:0000:0001\n" },
		{ "sys/class/infiniband/rocin1/node_guid", "0272:636e:0000:0001\n" },
		{ "sys/class/infiniband/rocin1/ports/1/gids/0",
		  "0000:0000:0000:0000:0000:ffff:7f00:0101\n" },
		{ "sys/devices/virtual/rocin/rocin0.nic/net/lo/ifindex", "1\n" },
		{ IBDEV0 "/device/infiniband_verbs/uverbs_rocin0/ibdev", "rocin0\n" },
	};
	char tree[PATH_MAX];

	(void)state;
	write_default(tree);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(want); i++)
		assert_text(tree, want[i].name, want[i].text);
}

/* ibv_query_gid_table() fails as a whole if one of these is missing. */
static void every_gid_index_has_its_three_files(void **state)
{
	char tree[PATH_MAX], name[128];

	(void)state;
	write_default(tree);
	for (unsigned i = 0; i < RN_GID_MAX; i++) {
		snprintf(name, sizeof(name), PORT0 "/gid_attrs/types/%u", i);
		assert_text(tree, name, "RoCE v2\n");
		snprintf(name, sizeof(name), PORT0 "/gid_attrs/ndevs/%u", i);
		assert_text(tree, name, "lo\n");
		snprintf(name, sizeof(name), PORT0 "/gids/%u", i);
		if (i >= 2)
			assert_text(tree, name,
				    "0000:0000:0000:0000:0000:0000:0000:0000\n");
	}
}

static void the_device_node_is_the_null_device(void **state)
{
	char tree[PATH_MAX];
	struct stat null, node;

	(void)state;
	write_default(tree);
	assert_int_equal(stat("/dev/null", &null), 0);
	node = stat_in(tree, "dev/infiniband/uverbs_rocin0");
	assert_true(S_ISCHR(node.st_mode));
	assert_int_equal(node.st_rdev, null.st_rdev);
}

static void the_connection_manager_has_a_node_and_a_number(void **state)
{
	char tree[PATH_MAX];

	(void)state;
	write_default(tree);
	assert_true(S_ISCHR(stat_in(tree, "dev/infiniband/rdma_cm").st_mode));
	assert_text(tree, "sys/class/misc/rdma_cm/abi_version", "4\n");
	assert_text(tree, "sys/class/misc/rdma_cm/dev", "10:62\n");
}

static void there_is_no_hardware_to_match(void **state)
{
	static const char *const absent[] = {
		IBDEV0 "/device/subsystem",
		IBDEV0 "/device/modalias",
		IBDEV0 "/device/driver",
		"sys/class/infiniband_mad",
	};
	char tree[PATH_MAX];
	int root;

	(void)state;
	if (access("/dev/infiniband", F_OK) == 0)
		skip(); /* real devices bring some of these */
	write_default(tree);
	root = open_tree(tree);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(absent); i++)
		assert_int_equal(faccessat(root, absent[i], F_OK, AT_SYMLINK_NOFOLLOW),
				 -1);
	close(root);
}

static void a_port_without_link_is_down(void **state)
{
	struct rn_netdev dev = lo_device(0);
	char tree[PATH_MAX];

	(void)state;
	dev.up = false;
	write_tree(tree, &dev, 1);
	assert_text(tree, PORT0 "/state", "1: DOWN\n");
	assert_text(tree, PORT0 "/phys_state", "3: Disabled\n");
}

/* librdmacm and NCCL tell devices apart by these. */
static void names_of_the_parents_differ_where_nccl_compares(void **state)
{
	char tree[PATH_MAX], path[PATH_MAX], real[2][PATH_MAX];

	(void)state;
	write_default(tree);
	for (unsigned i = 0; i < 2; i++) {
		size_t len;

		snprintf(path, sizeof(path),
			 "%.2000s/sys/class/infiniband/rocin%u/device", tree, i);
		assert_non_null(realpath(path, real[i]));
		len = strlen(real[i]);
		real[i][len - 1] = real[i][len - 3] = real[i][len - 4] = '0';
	}
	assert_string_not_equal(real[0], real[1]);
}

static void longest_names_fit(void **state)
{
	struct rn_netdev dev = lo_device(0);
	char tree[PATH_MAX];

	(void)state;
	memset(dev.ibdev, 'd', sizeof(dev.ibdev) - 1);
	memset(dev.ifname, 'i', sizeof(dev.ifname) - 1);
	dev.gid_count = RN_GID_MAX;
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		memset(dev.gid[i].raw, 0xff, 16);
	write_tree(tree, &dev, 1);
	assert_text(
		tree,
		"sys/class/infiniband/ddddddddddddddddddddddddddddddd/ports/1/gids/15",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\n");
}

static void equal_devices_share_a_tree_and_others_do_not(void **state)
{
	struct rn_netdev dev = lo_device(0);
	char first[PATH_MAX], second[PATH_MAX];

	(void)state;
	write_tree(first, &dev, 1);
	dev.ifindex = 99; /* stands nowhere in the tree */
	write_tree(second, &dev, 1);
	assert_string_equal(first, second);
	dev.gid[0] = ipv4_gid(127, 0, 0, 9);
	write_tree(second, &dev, 1);
	assert_string_not_equal(first, second);
}

static void assert_same_time(struct stat a, struct stat b)
{
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
	assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
}

/* A file as old as the epoch: any write since would show, whatever the clock does. */
static void age(const char *tree, const char *name)
{
	struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	int root = open_tree(tree);

	assert_int_equal(utimensat(root, name, old, 0), 0);
	close(root);
}

static const char *const aged[] = { IBDEV0,
				    IBDEV0 "/ports",
				    PORT0,
				    PORT0 "/gids",
				    PORT0 "/state",
				    PORT0 "/gids/0",
				    "sys/class/infiniband",
				    "sys/class/infiniband_verbs" };

static void a_complete_tree_is_not_touched_by_writing_it_again(void **state)
{
	char tree[PATH_MAX];
	struct stat before[RN_ARRAY_SIZE(aged)];

	(void)state;
	write_default(tree);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(aged); i++)
		age(tree, aged[i]);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(aged); i++)
		before[i] = stat_in(tree, aged[i]);
	write_default(tree);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(aged); i++)
		assert_same_time(before[i], stat_in(tree, aged[i]));
}

static void update_rewrites_files_and_leaves_directories(void **state)
{
	struct rn_netdev dev = lo_device(0);
	char tree[PATH_MAX];
	struct stat before[4];

	(void)state;
	write_default(tree);
	for (unsigned i = 0; i < 4; i++) {
		age(tree, aged[i]);
		before[i] = stat_in(tree, aged[i]);
	}
	dev.up = false;
	dev.gid_count = 3;
	dev.gid[0] = ipv4_gid(127, 0, 0, 7);
	for (unsigned i = 0; i < 16; i++)
		dev.gid[2].raw[i] = (uint8_t)(0x20 + i);
	assert_int_equal(rn_sysfs_tree_update(tree, &dev, 1), 0);
	assert_text(tree, PORT0 "/state", "1: DOWN\n");
	assert_text(tree, PORT0 "/phys_state", "3: Disabled\n");
	assert_text(tree, PORT0 "/gids/0", "0000:0000:0000:0000:0000:ffff:7f00:0007\n");
	assert_text(tree, PORT0 "/gids/2", "2021:2223:2425:2627:2829:2a2b:2c2d:2e2f\n");
	for (unsigned i = 0; i < 4; i++)
		assert_same_time(before[i], stat_in(tree, aged[i]));
	/* rocin1 was not given */
	assert_text(tree, "sys/class/infiniband/rocin1/ports/1/state", "4: ACTIVE\n");

	dev.up = true;
	assert_int_equal(rn_sysfs_tree_update(tree, &dev, 1), 0);
	assert_text(tree, PORT0 "/state", "4: ACTIVE\n");
}

static void update_of_an_unknown_device_or_tree_is_enoent(void **state)
{
	struct rn_netdev dev = lo_device(9);
	char tree[PATH_MAX];

	(void)state;
	write_default(tree);
	assert_int_equal(rn_sysfs_tree_update(tree, &dev, 1), -ENOENT);
	assert_int_equal(rn_sysfs_tree_update("/missing", &dev, 1), -ENOENT);
}

/* What a cleaner of old files, or an earlier update, leaves behind. */
static void writing_again_mends_what_is_missing_or_differs(void **state)
{
	char tree[PATH_MAX];
	int root;

	(void)state;
	write_default(tree);
	root = open_tree(tree);
	assert_int_equal(unlinkat(root, PORT0 "/gid_attrs/types/3", 0), 0);
	assert_int_equal(unlinkat(root, "sys/class/infiniband/rocin1", 0), 0);
	assert_int_equal(unlinkat(root, "dev/infiniband/uverbs_rocin0", 0), 0);
	assert_int_equal(symlinkat("/dev/zero", root, "dev/infiniband/uverbs_rocin0"), 0);
	assert_int_equal(unlinkat(root, PORT0 "/pkeys/0", 0), 0);
	assert_int_equal(unlinkat(root, PORT0 "/pkeys", AT_REMOVEDIR), 0);
	set_text(tree, PORT0 "/state", "1: DOWN but much longer than before\n");
	close(root);
	write_default(tree);
	assert_text(tree, PORT0 "/gid_attrs/types/3", "RoCE v2\n");
	assert_text(tree, "sys/class/infiniband/rocin1/node_type", "1: CA\n");
	assert_text(tree, PORT0 "/pkeys/0", "0xffff\n");
	assert_text(tree, PORT0 "/state", "4: ACTIVE\n");
	the_device_node_is_the_null_device(state);
}

static void the_umask_does_not_matter(void **state)
{
	struct rn_netdev dev = lo_device(0);
	char tree[PATH_MAX], err[256];
	mode_t mask = umask(0777);
	int rc = rn_sysfs_tree_write(parent, &dev, 1, tree, sizeof(tree), err,
				     sizeof(err));

	(void)state;
	umask(mask);
	assert_int_equal(rc, 0);
	assert_int_equal(stat_in(tree, PORT0).st_mode & 0777, 0755);
	assert_int_equal(stat_in(tree, PORT0 "/state").st_mode & 0777, 0644);
}

static void many_writers_at_once_leave_one_tree(void **state)
{
	enum {
		WRITERS = 8
	};
	pid_t pid[WRITERS];
	int status[WRITERS];
	int gate[2];
	char tree[PATH_MAX], byte;

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	for (unsigned i = 0; i < WRITERS; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0) {
			struct rn_netdev dev = lo_device(0);
			char path[PATH_MAX], err[256];

			close(gate[1]);
			(void)!read(gate[0], &byte, 1); /* until all are there */
			_exit(rn_sysfs_tree_write(parent, &dev, 1, path, sizeof(path),
						  err, sizeof(err)) != 0);
		}
	}
	close(gate[0]);
	close(gate[1]);
	/* All of them first: a failure removes the directory they write in. */
	for (unsigned i = 0; i < WRITERS; i++)
		assert_int_equal(waitpid(pid[i], &status[i], 0), pid[i]);
	for (unsigned i = 0; i < WRITERS; i++)
		assert_int_equal(status[i], 0);
	assert_int_equal(count_entries(parent), 1);
	write_tree(tree, &(struct rn_netdev[]){ lo_device(0) }[0], 1);
	assert_int_equal(count_entries(parent), 1);
}

static void failures_say_where_and_why_and_leave_nothing(void **state)
{
	struct rn_netdev dev = lo_device(0);
	char path[PATH_MAX], err[256] = "";

	(void)state;
	assert_int_equal(rn_sysfs_tree_write("/missing", &dev, 1, path, sizeof(path), err,
					     sizeof(err)),
			 -ENOENT);
	assert_string_equal(
		err,
		"cannot write the sysfs tree in /missing: No such file or directory");
	assert_int_equal(rn_sysfs_tree_write(parent, &dev, 1, path, 10, err, sizeof(err)),
			 -ENAMETOOLONG);
	assert_int_equal(rn_sysfs_tree_write("/proc/self", &dev, 1, path, sizeof(path),
					     err, sizeof(err)),
			 -ENOENT);
	assert_int_equal(count_entries(parent), 0);
}

#define TREE_TEST(fn) cmocka_unit_test_setup_teardown(fn, make_parent, remove_parent)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(files_say_what_a_kernel_would),
		TREE_TEST(every_gid_index_has_its_three_files),
		TREE_TEST(the_device_node_is_the_null_device),
		TREE_TEST(the_connection_manager_has_a_node_and_a_number),
		TREE_TEST(there_is_no_hardware_to_match),
		TREE_TEST(a_port_without_link_is_down),
		TREE_TEST(names_of_the_parents_differ_where_nccl_compares),
		TREE_TEST(longest_names_fit),
		TREE_TEST(equal_devices_share_a_tree_and_others_do_not),
		TREE_TEST(a_complete_tree_is_not_touched_by_writing_it_again),
		TREE_TEST(update_rewrites_files_and_leaves_directories),
		TREE_TEST(update_of_an_unknown_device_or_tree_is_enoent),
		TREE_TEST(writing_again_mends_what_is_missing_or_differs),
		TREE_TEST(the_umask_does_not_matter),
		TREE_TEST(many_writers_at_once_leave_one_tree),
		TREE_TEST(failures_say_where_and_why_and_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
