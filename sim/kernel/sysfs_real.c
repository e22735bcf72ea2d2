/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sysfs_real.c - links from a generated tree to the machine's real RDMA devices. */
#include "sysfs_real.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct scan {
	const char *root; /* the real "/sys" or "/dev" */
	const char *
		where; /* "class/infiniband": below root and, after prefix, in the tree */
	const char *prefix; /* "sys" or "dev" */
	rn_sysfs_visit_fn *visit;
	void *ctx;
};

static int emit_link(const struct scan *scan, const char *name, const char *target)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s%s%s", scan->prefix, scan->where,
		       *name ? "/" : "", name);
	return scan->visit(scan->ctx, &(struct rn_sysfs_entry){ .kind = RN_SYSFS_LINK,
								.path = path,
								.content = target });
}

/* Where @name really is, or NULL if it is not a device of the kernel: a plain file of
 * the class (abi_version), something of another generated tree, gone. The caller frees.
 */
static char *real_device(const struct scan *scan, const char *name)
{
	char path[PATH_MAX];
	char *real;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s/%s", scan->root, scan->where, name);
	real = realpath(path, NULL);
	if (!real)
		return NULL;
	if (stat(real, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode)) &&
	    strcmp(real, "/dev/null") != 0 && !strstr(real, "/devices/virtual/rocin/"))
		return real;
	free(real);
	return NULL;
}

/* The connection manager's node is ours (sysfs_tree.h). */
static bool is_skipped(const char *name)
{
	return name[0] == '.' || strcmp(name, "rdma_cm") == 0;
}

/* Return: how many links there were, or -errno. */
static int visit_entries(const struct scan *scan)
{
	char path[PATH_MAX];
	struct dirent **names;
	int count, links = 0, rc = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", scan->root, scan->where);
	count = scandir(path, &names, NULL, alphasort);
	if (count < 0)
		return errno == ENOMEM ? -ENOMEM : 0;
	for (int i = 0; i < count; i++) {
		char *target = is_skipped(names[i]->d_name)
				       ? NULL
				       : real_device(scan, names[i]->d_name);

		if (target && !rc) {
			rc = emit_link(scan, names[i]->d_name, target);
			links++;
		}
		free(target);
		free(names[i]);
	}
	free(names);
	return rc ? rc : links;
}

/* A class of which nothing is ours: the directory as a whole. */
static int visit_class(const struct scan *scan)
{
	char path[PATH_MAX];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", scan->root, scan->where);
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return emit_link(scan, "", path);
}

int rn_sysfs_visit_real(const char *sys, const char *dev, rn_sysfs_visit_fn *visit,
			void *ctx)
{
	static const char *const shared[] = { "class/infiniband",
					      "class/infiniband_verbs" };
	static const char *const whole[] = { "class/infiniband_mad",
					     "class/infiniband_cm" };
	struct scan scan = { .root = sys, .prefix = "sys", .visit = visit, .ctx = ctx };
	int links = 0;
	int rc;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(shared); i++) {
		scan.where = shared[i];
		rc = visit_entries(&scan);
		if (rc < 0)
			return rc;
		links += rc;
	}
	if (!links)
		return 0;

	rc = visit(ctx, &(struct rn_sysfs_entry){ .kind = RN_SYSFS_DIR,
						  .path = "sys/class/misc",
						  .content = "" });
	for (unsigned i = 0; i < RN_ARRAY_SIZE(whole) && !rc; i++) {
		scan.where = whole[i];
		rc = visit_class(&scan);
	}
	if (rc)
		return rc;

	scan.root = dev;
	scan.prefix = "dev";
	scan.where = "infiniband";
	rc = visit_entries(&scan);
	return rc < 0 ? rc : 0;
}
