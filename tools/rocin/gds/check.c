/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check.c - `rocin gds check`: drives, file systems, routes and settings. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gds.h"
#include "rocin/pcie.h"
#include "sim/cufile/settings/settings.h"
#include "tools/rocin/common/cmd.h"

enum {
	REMARKS = 16,
	POLICY = 64,
};

struct check {
	struct rn_cufile_settings s;
	char policy[POLICY];
	unsigned remarks;
	char remark[REMARKS][RN_CUFILE_TEXT * 2];
};

static void add_remark(void *ctx, const char *sentence)
{
	struct check *c = ctx;

	if (c->remarks < REMARKS)
		snprintf(c->remark[c->remarks++], sizeof(c->remark[0]), "%s", sentence);
}

/* What the simulated machine has, as gdscheck lists it. A kind of storage that is not
 * simulated goes by compatibility mode.
 */
static const struct {
	const char *name;
	const char *modes; /* NULL: only compatibility mode */
} kinds[] = {
	{ "NVMe", "nvfs" },
	{ "NVMeOF", NULL },
	{ "SCSI", NULL },
	{ "ScaleFlux CSD", NULL },
	{ "NVMesh", NULL },
	{ "DDN EXAScaler", NULL },
	{ "IBM Spectrum Scale", NULL },
	{ "NFS", "nvfs" },
	{ "BeeGFS", NULL },
	{ "ScaTeFS", NULL },
	{ "WekaFS", NULL },
	{ "Userspace RDMA", "nvfs" },
};

static bool allows_compat(const struct check *c)
{
	return c->s.flag[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE] ||
	       c->s.flag[CUFILE_PARAM_FORCE_COMPAT_MODE];
}

static const char *modes_of(const struct check *c, unsigned kind)
{
	const char *modes =
		c->s.flag[CUFILE_PARAM_FORCE_COMPAT_MODE] ? NULL : kinds[kind].modes;

	if (modes)
		return allows_compat(c) ? "nvfs, compat" : modes;
	return allows_compat(c) ? "compat" : "Unsupported";
}

/* What each route of the policy is, for somebody who has never heard of it. */
static const char *route_text(const char *word)
{
	static const struct {
		const char *word, *text;
	} texts[] = {
		{ "direct", "the drive writes into the GPU, below one switch" },
		{ "p2p", "the drive writes into the GPU through another root port" },
		{ "nvlink", "into a GPU near the drive, and on by NVLink" },
		{ "gpu", "into a GPU near the drive, and on by PCIe" },
		{ "host", "into host memory, and on by a copy (compatibility mode)" },
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(texts); i++)
		if (!strcmp(word, texts[i].word))
			return texts[i].text;
	return "?";
}

/* ----------------------------------------------------------------------- as text */
static void print_addresses(const char *key, const struct rn_cufile_addresses *a)
{
	printf(" %s :", key);
	for (unsigned i = 0; i < a->count; i++)
		printf(" %s", a->address[i]);
	printf("\n");
}

static void print_settings(const struct rn_cufile_settings *s)
{
	for (unsigned i = 0; i < RN_CUFILE_FLAGS; i++)
		printf(" %s.%s : %s\n", rn_cufile_flag_section(i), rn_cufile_flag_key(i),
		       s->flag[i] ? "true" : "false");
	for (unsigned i = 0; i < RN_CUFILE_SIZES; i++)
		printf(" %s.%s : %zu\n", rn_cufile_size_row(i)->section,
		       rn_cufile_size_row(i)->key, s->size[i]);
	printf(" logging.level : %s\n", s->string[CUFILE_PARAM_LOGGING_LEVEL]);
	print_addresses("properties.rdma_dev_addr_list", &s->addresses);
	printf(" properties.rdma_dynamic_routing_order :");
	for (unsigned i = 0; i < s->routings; i++)
		printf(" %s",
		       rn_cufile_routing_name((enum rn_cufile_routing)s->routing[i]));
	printf("\n");
	for (unsigned i = 0; i < s->mounts; i++) {
		char key[RN_CUFILE_TEXT * 2];

		snprintf(key, sizeof(key), "fs.%s.mount_table %s",
			 rn_cufile_fs_name(s->mount[i].fs), s->mount[i].path);
		print_addresses(key, &s->mount[i].addresses);
	}
	for (unsigned i = 0; i < s->denied; i++)
		printf(" denylist.%s : %s\n", s->deny[i].kind, s->deny[i].name);
}

static void print_text(const struct check *c)
{
	const char *near = getenv("ROCIN_STORAGE_NEAR");
	const char *links = getenv("ROCIN_STORAGE_NVLINK");
	const char *pcie = getenv("ROCIN_PCIE");
	const char *servers = getenv("ROCIN_STORAGE_SERVER");
	char words[POLICY], *at = words, *word;

	printf("Rocin %s, API of cuFile 1.16; drives and GPUs are simulated\n\nDRIVERS\n",
	       ROCIN_VERSION);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(kinds); i++)
		printf(" %-18s : %s\n", kinds[i].name, modes_of(c, i));
	printf("\nROUTES, the first that is possible\n");
	snprintf(words, sizeof(words), "%s", c->policy);
	while ((word = strsep(&at, ",")) != NULL)
		printf(" %-7s %s\n", word, route_text(word));
	printf(" PCIe    %s\n", pcie ? pcie : "off: data is there when a call returns");
	printf(" GPUs near drives: %s\n",
	       near ? near : "all, unless rc.p2p says otherwise");
	printf(" NVLinks: %s\n", links ? links : "none");
	printf(" network drives: %s\n", servers ? servers : "none");
	printf("\nSETTINGS, of %s\n", c->s.file[0] != '\0' ? c->s.file : "the defaults");
	print_settings(&c->s);
	if (c->remarks > 0)
		printf("\nWRONG\n");
	for (unsigned i = 0; i < c->remarks; i++)
		printf(" %s\n", c->remark[i]);
}

/* ----------------------------------------------------------------------- as JSON */
static json_t *addresses_json(const struct rn_cufile_addresses *a)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < a->count; i++)
		json_array_append_new(list, json_string(a->address[i]));
	return list;
}

static json_t *settings_json(const struct rn_cufile_settings *s)
{
	json_t *o = json_object(), *order = json_array(), *mounts = json_object();
	char key[RN_CUFILE_TEXT];

	for (unsigned i = 0; i < RN_CUFILE_FLAGS; i++) {
		snprintf(key, sizeof(key), "%s.%s", rn_cufile_flag_section(i),
			 rn_cufile_flag_key(i));
		json_object_set_new(o, key, json_boolean(s->flag[i]));
	}
	for (unsigned i = 0; i < RN_CUFILE_SIZES; i++) {
		snprintf(key, sizeof(key), "%s.%s", rn_cufile_size_row(i)->section,
			 rn_cufile_size_row(i)->key);
		json_object_set_new(o, key, json_integer((json_int_t)s->size[i]));
	}
	for (unsigned i = 0; i < s->routings; i++)
		json_array_append_new(order,
				      json_string(rn_cufile_routing_name(
					      (enum rn_cufile_routing)s->routing[i])));
	for (unsigned i = 0; i < s->mounts; i++)
		json_object_set_new(mounts, s->mount[i].path,
				    addresses_json(&s->mount[i].addresses));
	json_object_set_new(o, "properties.rdma_dynamic_routing_order", order);
	json_object_set_new(o, "properties.rdma_dev_addr_list",
			    addresses_json(&s->addresses));
	json_object_set_new(o, "mount_table", mounts);
	return o;
}

static int print_json(const struct check *c)
{
	json_t *drivers = json_object(), *routes = json_array(), *wrong = json_array();
	char words[POLICY], *at = words, *word;
	json_t *all;
	int rc;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(kinds); i++)
		json_object_set_new(drivers, kinds[i].name, json_string(modes_of(c, i)));
	snprintf(words, sizeof(words), "%s", c->policy);
	while ((word = strsep(&at, ",")) != NULL)
		json_array_append_new(routes, json_string(word));
	for (unsigned i = 0; i < c->remarks; i++)
		json_array_append_new(wrong, json_string(c->remark[i]));
	all = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "version", ROCIN_VERSION,
			"api", "1.16", "file", c->s.file, "drivers", drivers, "routes",
			routes, "settings", settings_json(&c->s), "wrong", wrong);
	rc = json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
	return rc;
}

int rn_gds_check(bool json)
{
	static struct check c;
	char err[RN_CUFILE_TEXT * 2];

	if (rn_cufile_load(&c.s, add_remark, &c, err, sizeof(err))) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	rn_cufile_policy(&c.s, c.policy, sizeof(c.policy));
	if (json && print_json(&c))
		return RN_EXIT_FAILURE;
	if (!json)
		print_text(&c);
	return c.remarks > 0 ? RN_EXIT_FAILURE : 0;
}
