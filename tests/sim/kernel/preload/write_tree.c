/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write_tree.c - write a tree for test scripts: write_tree PARENT-DIR DEVICES */
#include <stdio.h>
#include <stdlib.h>

#include "sim/sysfs/sysfs_tree.h"
#include "tests/sim/kernel/fixture.h"

int main(int argc, char **argv)
{
	struct rn_netdev devs[RN_NETDEV_MAX];
	char path[4096], err[256];
	unsigned n;

	if (argc != 3)
		return 2;
	n = (unsigned)atoi(argv[2]);
	if (n < 1 || n > RN_NETDEV_MAX)
		return 2;
	for (unsigned i = 0; i < n; i++)
		devs[i] = lo_device(i);
	if (rn_sysfs_tree_write(argv[1], devs, n, path, sizeof(path), err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	puts(path);
	return 0;
}
