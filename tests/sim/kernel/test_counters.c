/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_counters.c - the files of counters are written when their paths are used, and no
 * others.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/netdev.h"
#include "scratch.h"
#include "sim/kernel/counters.h"
#include "sim/kernel/redirect.h"
#include "sim/sysfs/sysfs_tree.h"
#include "transport/io/rocind/stats_ended.h"

static const char stale[] = "123456789\n"; /* in each file before a test */
static char tree[PATH_MAX];

/* A program that has ended: it has sent 77 packets of 4000 bytes in all. */
static void end_program(const char *dir)
{
	const struct rn_stats_page page = {
		.magic = RN_STATS_PAGE_MAGIC,
		.version = RN_STATS_PAGE_VERSION,
		.counter_count = RN_STAT_COUNT,
		.counter = { [RN_STAT_TX_PACKETS] = 77, [RN_STAT_TX_BYTES] = 4000 }
	};
	int fd = memfd_create("page", MFD_CLOEXEC);

	assert_int_equal(write(fd, &page, sizeof(page)), sizeof(page));
	assert_int_equal(rn_stats_ended_add(dir, "rocin0", fd), 0);
	close(fd);
}

static int make_tree(void **state)
{
	static const struct rn_netdev dev = {
		.ibdev = "rocin0", .ifname = "lo", .up = true, .gid_count = 1
	};
	char run[PATH_MAX], err[256];

	if (make_parent(state))
		return -1;
	(void)snprintf(run, sizeof(run), "%.3000s/run", parent);
	if (mkdir(run, 0700) || setenv("ROCIN_RUNTIME_DIR", run, 1))
		return -1;
	end_program(run);
	return rn_sysfs_tree_write(parent, &dev, 1, tree, sizeof(tree), err,
				   sizeof(err)) ||
			       !rnk_tree_set(tree)
		       ? -1
		       : 0;
}

static int remove_tree(void **state)
{
	rnk_tree_set(NULL);
	unsetenv("ROCIN_RUNTIME_DIR");
	return remove_parent(state);
}

/* The path of something of port 1 of rocin0. */
static const char *of_port(const char *name)
{
	static char path[2 * PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/sys/class/infiniband/rocin0/ports/1/%s",
		       tree, name);
	return path;
}

static void set(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, stale, sizeof(stale) - 1), sizeof(stale) - 1);
	close(fd);
}

static void check(const char *path, const char *want)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	assert_string_equal(text, want);
}

static const char *const used[] = { "counters/port_xmit_packets",
				    "counters/port_xmit_data",
				    "counters/port_rcv_packets", "hw_counters/sent_pkts",
				    "hw_counters/rcvd_pkts" };

static int set_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(used); i++)
		set(of_port(used[i]));
	return 0;
}

/* Uses a path of the port; those of @used have these texts then, NULL: the one before. */
static void use(const char *name, const char *const want[RN_ARRAY_SIZE(used)])
{
	errno = 7;
	rnk_counters_refresh(of_port(name));
	assert_int_equal(errno, 7);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(used); i++)
		check(of_port(used[i]), want[i] ? want[i] : stale);
}

static void a_counter_is_written_when_its_file_is_used(void **state)
{
	(void)state;
	use("counters/port_xmit_data", (const char *const[]){ [1] = "1000\n", [4] = 0 });
	use("counters//port_rcv_packets",
	    (const char *const[]){ [1] = "1000\n", [2] = "0\n", [4] = 0 });
	use("hw_counters/sent_pkts",
	    (const char *const[]){ [1] = "1000\n", [2] = "0\n", [3] = "77\n", [4] = 0 });
}

static void all_counters_are_written_when_their_directory_is_used(void **state)
{
	(void)state;
	use("counters", (const char *const[]){ "77\n", "1000\n", "0\n", [4] = NULL });
	use("hw_counters/",
	    (const char *const[]){ "77\n", "1000\n", "0\n", "77\n", "0\n" });
}

static void other_files_of_the_tree_are_left_alone(void **state)
{
	static const char *const other[] = { "",
					     "state",
					     "counter",
					     "counters2",
					     "hw_counter",
					     "xhw_counters",
					     "hw_hw_counters",
					     "counters/no_such_counter",
					     "counters/port_xmit_data/x",
					     "../2/counters/port_xmit_data" };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(other); i++)
		use(other[i], (const char *const[RN_ARRAY_SIZE(used)]){ NULL });
	rnk_counters_refresh(NULL);
	assert_int_not_equal(access(of_port("counters/no_such_counter"), F_OK), 0);
}

/* A program may have files of its own with such names. */
static void files_outside_the_tree_are_left_alone(void **state)
{
	static const char *const dirs[] = { "mine", "mine/rocin0", "mine/rocin0/ports",
					    "mine/rocin0/ports/1",
					    "mine/rocin0/ports/1/counters" };
	char path[2 * PATH_MAX];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(dirs); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", parent, dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	strcat(path, "/port_xmit_packets");
	set(path);
	rnk_counters_refresh(path);
	check(path, stale);
	use("counters/port_xmit_packets", (const char *const[]){ "77\n", [4] = NULL });
}

/* ... nor where the tree is not in use. */
static void nothing_is_written_without_a_tree(void **state)
{
	(void)state;
	rnk_tree_set(NULL);
	use("counters", (const char *const[RN_ARRAY_SIZE(used)]){ NULL });
	assert_true(rnk_tree_set(tree));
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup(fn, set_all)
	const struct CMUnitTest tests[] = {
		TEST(a_counter_is_written_when_its_file_is_used),
		TEST(all_counters_are_written_when_their_directory_is_used),
		TEST(other_files_of_the_tree_are_left_alone),
		TEST(files_outside_the_tree_are_left_alone),
		TEST(nothing_is_written_without_a_tree),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
