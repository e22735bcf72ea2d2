/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hosts.c - for events.sh: HOSTS hosts at a fat tree of 16-port switches send small
 * messages by a permutation; how many events that were.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/fabric/fat_tree.h"

int main(int argc, char **argv)
{
	struct rn_fat_tree_cfg cfg = { .seed = 1,
				       .k = 16,
				       .traffic = RN_FAT_TREE_PERMUTATION,
				       .cc = RN_CC_ON,
				       .length = 512 };
	struct rn_fat_tree_result r;

	if (argc != 3)
		return 2;
	cfg.hosts = (uint32_t)strtoul(argv[1], NULL, 0);
	cfg.messages = (uint32_t)strtoul(argv[2], NULL, 0);
	if (rn_fat_tree_run(&cfg, &r) || r.failed)
		return 1;
	printf("%" PRIu64 " events, %" PRIu64 " packets\n", r.events, r.packets);
	return 0;
}
