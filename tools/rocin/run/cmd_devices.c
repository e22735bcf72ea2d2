/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_devices.c - `rocin devices`: lists the devices that a program under `rocin
 * run` finds.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "rocin/netdev.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/host/gid_sockaddr.h"
#include "tree.h"

enum {
	OPT_TREE = 0x100,
	OPT_TOPOLOGY,
};

struct devices_args {
	const char *netdevs, *topology;
	bool json, tree;
};

static const struct argp_option options[] = {
	RN_OPTION_NETDEV(0),
	RN_OPTION_JSON(0),
	{ "tree", OPT_TREE, NULL, 0,
	  "Show the switches and root ports of a topology file, and the routes between "
	  "devices",
	  0 },
	{ "topology", OPT_TOPOLOGY, "FILE", 0,
	  "The topology file of --tree, as for rocin run", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct devices_args *args = state->input;

	switch (key) {
	case 'n':
		args->netdevs = arg;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case OPT_TREE:
		args->tree = true;
		return 0;
	case OPT_TOPOLOGY:
		args->topology = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "List the devices that a program started by `rocin run` finds.",
};

static void print_text(const struct rn_netdev *devs, unsigned count)
{
	char text[RN_GID_TEXT_MAX];

	printf("%-9s %-15s %-6s %-5s GID\n", "DEVICE", "INTERFACE", "STATE", "MTU");
	for (unsigned i = 0; i < count; i++) {
		const struct rn_netdev *d = &devs[i];

		for (unsigned g = 0; g < d->gid_count; g++) {
			if (g == 0)
				printf("%-9s %-15s %-6s %-5" PRIu32, d->ibdev, d->ifname,
				       d->up ? "ACTIVE" : "DOWN",
				       rn_netdev_path_mtu(d->mtu));
			else
				printf("%-9s %-15s %-6s %-5s", "", "", "", "");
			printf(" %u %s\n", g, rn_gid_text(&d->gid[g], text));
		}
	}
}

static int print_json(const struct rn_netdev *devs, unsigned count)
{
	json_t *list = json_array();
	int rc;

	for (unsigned i = 0; i < count; i++) {
		const struct rn_netdev *d = &devs[i];
		json_t *gids = json_array();
		char text[RN_GID_TEXT_MAX];

		for (unsigned g = 0; g < d->gid_count; g++)
			json_array_append_new(gids,
					      json_string(rn_gid_text(&d->gid[g], text)));
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:i, s:o}", "device", d->ibdev,
					"interface", d->ifname, "state",
					d->up ? "ACTIVE" : "DOWN", "path_mtu",
					(int)rn_netdev_path_mtu(d->mtu), "gids", gids));
	}
	rc = json_dumpf(list, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(list);
	return rc;
}

int rn_cmd_devices(int argc, char **argv)
{
	static struct rn_netdev devs[RN_NETDEV_MAX];
	struct devices_args args = { 0 };
	char err[512];
	int count;

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	if (args.tree || args.topology)
		return rn_devices_tree(args.topology ? args.topology
						     : getenv("ROCIN_TOPOLOGY"),
				       args.json);
	count = rn_netdev_discover(args.netdevs ? args.netdevs : getenv("ROCIN_NETDEVS"),
				   devs, RN_NETDEV_MAX, err, sizeof(err));
	if (count < 0) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	if (args.json)
		return print_json(devs, (unsigned)count) ? RN_EXIT_FAILURE : 0;
	print_text(devs, (unsigned)count);
	return 0;
}
