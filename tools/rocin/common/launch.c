/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* launch.c - sets up the environment in which a program finds the Rocin devices, and
 * finds the tests that are installed with rocin.
 */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "sim/sysfs/sysfs_tree.h"
#include "transport/io/host/log.h"
#include "transport/io/host/runtime_dir.h"

/* Finds the path of this program, even without /proc. */
static int own_path(char *path, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", path, len - 1);
	const char *execfn;

	if (n > 0) {
		path[n] = '\0';
		return 0;
	}
	execfn = (const char *)getauxval(AT_EXECFN); // NOLINT(performance-no-int-to-ptr)
	if (!execfn || strlen(execfn) >= len)
		return -ENOENT;
	snprintf(path, len, "%s", execfn);
	return 0;
}

/* Writes the directory of this program to @path, which has PATH_MAX bytes. */
static int own_directory(char *path, char *err, size_t err_len)
{
	char *slash;

	if (own_path(path, PATH_MAX) || !(slash = strrchr(path, '/'))) {
		snprintf(err, err_len, "cannot tell where this program is installed");
		return -ENOENT;
	}
	*slash = '\0';
	return 0;
}

static int find_plugin(struct rn_launch *l, char *err, size_t err_len)
{
	char self[PATH_MAX], joined[PATH_MAX + sizeof(RN_BIN_TO_PLUGIN) + 2];
	int rc = own_directory(self, err, err_len);

	if (rc)
		return rc;
	snprintf(joined, sizeof(joined), "%s/%s", self, RN_BIN_TO_PLUGIN);
	if (!realpath(joined, l->plugin_dir)) {
		snprintf(err, err_len, "%s is missing; install Rocin again", joined);
		return -ENOENT;
	}
	if (strpbrk(l->plugin_dir, " :;\t")) {
		snprintf(err, err_len,
			 "\"%s\" has a space, colon or semicolon in it, which LD_PRELOAD "
			 "and RDMAV_DRIVERS take for a separator; move Rocin elsewhere",
			 l->plugin_dir);
		return -EINVAL;
	}
	if (snprintf(l->preload, sizeof(l->preload), "%s/librocin-kernel.so",
		     l->plugin_dir) >= (int)sizeof(l->preload) ||
	    snprintf(l->gpu, sizeof(l->gpu), "%s/librocin-gpu.so.0", l->plugin_dir) >=
		    (int)sizeof(l->gpu) ||
	    snprintf(l->cuda, sizeof(l->cuda), "%s/cuda", l->plugin_dir) >=
		    (int)sizeof(l->cuda) ||
	    snprintf(l->driver, sizeof(l->driver), "%s/librocin", l->plugin_dir) >=
		    (int)sizeof(l->driver)) {
		snprintf(err, err_len, "the path of the plugin is too long");
		return -ENAMETOOLONG;
	}
	if (access(l->preload, R_OK)) {
		rc = -errno;
		snprintf(err, err_len, "%s: %s", l->preload, strerror(-rc));
		return rc;
	}
	return 0;
}

int rn_launch_prepare(struct rn_launch *l, const char *netdevs, char *err, size_t err_len)
{
	char parent[RN_RUNTIME_PATH_MAX];
	int rc = find_plugin(l, err, err_len);

	l->closes_pages = false;
	l->has_gpus = false;
	if (rc)
		return rc;
	if (!netdevs)
		netdevs = getenv("ROCIN_NETDEVS");
	rc = rn_netdev_discover(netdevs, l->devs, RN_NETDEV_MAX, err, err_len);
	if (rc < 0)
		return rc;
	l->dev_count = (unsigned)rc;
	rc = rn_runtime_tree_parent(parent, sizeof(parent), err, err_len);
	if (rc)
		return rc;
	return rn_sysfs_tree_write(parent, l->devs, l->dev_count, l->tree,
				   sizeof(l->tree), err, err_len);
}

/* Returns true if @item is an element of @list. */
static bool listed(const char *list, const char *item, char separator)
{
	size_t len = strlen(item);

	for (const char *p = list; p; p = strchr(p, separator), p = p ? p + 1 : NULL)
		if (!strncmp(p, item, len) && (p[len] == separator || p[len] == '\0'))
			return true;
	return false;
}

/* Adds @item to the list in the environment variable @name, unless the list has it
 * already. @first: true adds it before the other elements, false behind them.
 */
static int add_to_list(const char *name, const char *item, char separator, bool first)
{
	const char *old = getenv(name);
	char *joined;
	int rc;

	if (!old || !*old)
		return setenv(name, item, 1) ? -errno : 0;
	if (listed(old, item, separator))
		return 0;
	rc = asprintf(&joined, "%s%c%s", first ? item : old, separator,
		      first ? old : item);
	if (rc < 0)
		return -ENOMEM;
	rc = setenv(name, joined, 1) ? -errno : 0;
	free(joined);
	return rc;
}

int rn_launch_setenv(const struct rn_launch *l, const char *netdevs, char *err,
		     size_t err_len)
{
	const char *declared = getenv("ROCIN_PCIE_DEVICE");
	const char *sanitize = getenv("ROCIN_SANITIZE");
	bool closes_pages = l->closes_pages || (declared && *declared) ||
			    (sanitize && *sanitize && strcmp(sanitize, "off") != 0);
	int rc = 0;

	if (l->has_gpus && access(l->cuda, R_OK)) {
		rc = -errno;
		snprintf(err, err_len,
			 "%s: %s; this Rocin was built without the stand-ins of "
			 "the CUDA libraries",
			 l->cuda, strerror(-rc));
		return rc;
	}
	/* Our libraries are appended to LD_PRELOAD, because the runtime library of a
	 * compiler's sanitizer must be its first entry, while our libraries work at any
	 * position.
	 */
	if (add_to_list("LD_PRELOAD", l->preload, ':', false) ||
	    (closes_pages && add_to_list("LD_PRELOAD", l->gpu, ':', false)) ||
	    (l->has_gpus && add_to_list("LD_LIBRARY_PATH", l->cuda, ':', true)) ||
	    add_to_list("RDMAV_DRIVERS", l->driver, ':', true) ||
	    setenv("ROCIN_TREE", l->tree, 1) ||
	    (netdevs && setenv("ROCIN_NETDEVS", netdevs, 1))) {
		rc = -ENOMEM;
		snprintf(err, err_len, "cannot set the environment: %s", strerror(-rc));
	}
	return rc;
}

const char *rn_bank_find(const char *bank, const char *name, char *path, char *err,
			 size_t err_len)
{
	char self[PATH_MAX], joined[PATH_MAX + sizeof(RN_BIN_TO_DATA) + NAME_MAX];

	if (name && (name[0] == '/' || access(name, F_OK) == 0))
		return name;
	if (own_directory(self, err, err_len))
		return name;
	snprintf(joined, sizeof(joined), "%s/%s/%s%s%s", self, RN_BIN_TO_DATA, bank,
		 name ? "/" : "", name ? name : "");
	if (realpath(joined, path))
		return path;
	snprintf(err, err_len,
		 "the bank of tests %s is missing; install Rocin again, or name files or "
		 "directories",
		 joined);
	return name;
}
