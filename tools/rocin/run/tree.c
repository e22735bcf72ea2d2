/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tree.c - `rocin devices --tree`: the picture of a topology file, and the routes between
 * drives, NICs and GPUs with their reasons.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/machine/machine.h"
#include "sim/pcie/storage/storage_route.h"
#include "tools/rocin/common/cmd.h"
#include "tree.h"

struct tree {
	struct rn_machine m;
	struct rn_storage_policy policy;
	struct rn_storage_near near;
	struct rn_storage_nvlinks links;
};

/* Finds what storage makes of the topology, by the code with which it chooses routes. */
static int prepare(struct tree *t, const char *path, char *err, size_t err_len)
{
	const char *policy = getenv("ROCIN_STORAGE_POLICY");
	char text[RN_MACHINE_PATH];

	if (rn_machine_read(&t->m, path, err, err_len))
		return -1;
	rn_machine_near(&t->m, text, sizeof(text));
	if (rn_storage_near_parse(&t->near, text, err, err_len))
		return -1;
	rn_machine_nvlinks(&t->m, text, sizeof(text));
	if (rn_storage_nvlinks_parse(&t->links, text, err, err_len))
		return -1;
	return rn_storage_policy_parse(
		&t->policy, policy ? policy : RN_STORAGE_POLICY_DEFAULT, err, err_len);
}

/* Writes the route from a drive to a GPU, or why there is none. */
static void route_text(const struct tree *t, unsigned drive, unsigned gpu, char *buf,
		       size_t len)
{
	struct rn_storage_facts f = {
		.drive = drive,
		.gpu = (int)gpu,
		.p2p = rn_machine_has_roots(&t->m) ? RN_P2P_SPLIT : RN_P2P_SHARED,
		.near_gpus = t->near.gpus[drive],
		.other_gpus = (uint8_t)((1u << rn_machine_gpus(&t->m)) - 1),
		.nvlinks = t->links.gpus[gpu],
		.is_registered = true,
		.is_aligned = true
	};
	struct rn_storage_route route;

	if (rn_storage_route_choose(&t->policy, &f, &route))
		snprintf(buf, len, "nvme%u -> gpu%u: none, %s", drive, gpu,
			 rn_storage_reason_text(route.reason));
	else
		rn_storage_route_text(&route, buf, len);
}

/* Calls @fn for each pair of a drive or NIC and a GPU, with the text of their route. */
static void each_route(const struct tree *t,
		       void (*fn)(void *ctx, const char *from, const char *to,
				  const char *text),
		       void *ctx)
{
	char text[256];

	for (unsigned i = 0; i < t->m.parts; i++)
		for (unsigned g = 0; g < t->m.parts; g++) {
			const struct rn_machine_part *from = &t->m.part[i];
			const struct rn_machine_part *to = &t->m.part[g];

			if (to->kind != RN_MACHINE_GPU ||
			    (from->kind != RN_MACHINE_NVME &&
			     from->kind != RN_MACHINE_NIC))
				continue;
			if (from->kind == RN_MACHINE_NVME)
				route_text(t, from->number, to->number, text,
					   sizeof(text));
			else
				snprintf(text, sizeof(text), "%s -> %s: %s", from->name,
					 to->name,
					 rn_machine_distance_text(
						 rn_machine_distance(&t->m, i, g)));
			fn(ctx, from->name, to->name, text);
		}
}

static void print_route(void *ctx, const char *from, const char *to, const char *text)
{
	(void)ctx;
	(void)from;
	(void)to;
	printf("%s\n", text);
}

static void add_route(void *ctx, const char *from, const char *to, const char *text)
{
	json_array_append_new(
		ctx, json_pack("{s:s, s:s, s:s}", "from", from, "to", to, "route", text));
}

static int print_json(const struct tree *t)
{
	static const char *const kinds[] = { "root", "switch", "gpu", "nvme", "nic" };
	json_t *parts = json_array(), *links = json_array(), *routes = json_array(), *all;
	int rc;

	for (unsigned i = 0; i < t->m.parts; i++) {
		const struct rn_machine_part *p = &t->m.part[i];
		json_t *o =
			json_pack("{s:s, s:s}", "name", p->name, "kind", kinds[p->kind]);

		json_object_set_new(o, "under",
				    p->parent < 0
					    ? json_null()
					    : json_string(t->m.part[p->parent].name));
		if (p->kind == RN_MACHINE_ROOT)
			json_object_set_new(o, "numa", json_integer(p->number));
		if (p->path[0] != '\0')
			json_object_set_new(o, "path", json_string(p->path));
		json_array_append_new(parts, o);
	}
	for (unsigned i = 0; i < t->m.links; i++)
		json_array_append_new(links, json_pack("[i, i, i]", (int)t->m.link[i].a,
						       (int)t->m.link[i].b,
						       (int)t->m.link[i].lanes));
	each_route(t, add_route, routes);
	all = json_pack("{s:o, s:o, s:o}", "parts", parts, "nvlinks", links, "routes",
			routes);
	rc = json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
	return rc;
}

int rn_devices_tree(const char *path, bool json)
{
	static struct tree t;
	char err[512];

	if (!path || !*path) {
		rn_complain("--tree wants a topology: name its file by --topology, see "
			    "rocin-topology(5)");
		return RN_EXIT_USAGE;
	}
	if (prepare(&t, path, err, sizeof(err))) {
		rn_complain("%s", err);
		return RN_EXIT_USAGE;
	}
	if (json)
		return print_json(&t) ? RN_EXIT_FAILURE : 0;
	rn_machine_print(&t.m, stdout);
	printf("\n");
	each_route(&t, print_route, NULL);
	return 0;
}
