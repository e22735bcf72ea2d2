/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_netlink_view.c - devices as RDMA netlink reads them from a tree, and when there is
 * no socket of RDMA netlink.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/kernel/netlink/socket.h"
#include "sim/kernel/netlink/view.h"
#include "sim/sysfs/sysfs_tree.h"

static char parent[] = "/tmp/rocin-view-XXXXXX", tree[PATH_MAX];

static int make_tree(void **state)
{
	static const struct rn_netdev devs[] = {
		{ .ibdev = "rocin0",
		  .ifname = "lo",
		  .up = true,
		  .node_guid = 0x061facdc9e6d62f2,
		  .gid_count = 1 },
		{ .ibdev = "rocin1",
		  .ifname = "nowhere9",
		  .node_guid = 0xa,
		  .gid_count = 1 },
	};
	char err[256];

	(void)state;
	return !mkdtemp(parent) ||
	       rn_sysfs_tree_write(parent, devs, RN_ARRAY_SIZE(devs), tree, sizeof(tree),
				   err, sizeof(err));
}

static int remove_tree(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", parent);
	return system(command); /* NOLINT(cert-env33-c,concurrency-mt-unsafe) */
}

static void devices_are_those_of_the_tree(void **state)
{
	static struct rnk_nl_gathered g;

	(void)state;
	rnk_nl_gather(&g, tree, 0);
	assert_int_equal(g.view.device_count, 2);
	assert_null(g.view.programs->client);
	assert_int_equal(g.device[0].index, 0);
	assert_string_equal(g.device[0].name, "rocin0");
	assert_string_equal(g.device[0].ifname, "lo");
	assert_int_not_equal(g.device[0].ifindex, 0);
	assert_true(g.device[0].up);
	assert_int_equal(g.device[0].node_guid, 0x061facdc9e6d62f2);
	assert_int_equal(g.device[1].index, 1);
	assert_string_equal(g.device[1].name, "rocin1");
	assert_int_equal(g.device[1].ifindex, 0);
	assert_false(g.device[1].up);
	assert_int_equal(g.device[1].node_guid, 0xa);
	rnk_nl_release(&g);
}

static void real_devices_are_not_hidden(void **state)
{
	char path[PATH_MAX + 64];
	int fd = rnk_nl_open(SOCK_RAW | SOCK_CLOEXEC, tree);

	(void)state;
	if (fd < 0)
		skip(); /* no netlink sockets for programs */
	assert_true(rnk_nl_is_ours(fd));
	close(fd);
	(void)snprintf(path, sizeof(path), "%s/sys/class/infiniband/mlx5_0", tree);
	assert_int_equal(symlink("/sys/devices/none", path), 0);
	errno = 0;
	assert_int_equal(rnk_nl_open(SOCK_RAW | SOCK_CLOEXEC, tree), -1);
	assert_int_equal(errno, EPROTONOSUPPORT);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_those_of_the_tree),
		cmocka_unit_test(real_devices_are_not_hidden),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
