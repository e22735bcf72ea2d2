/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plugin.c - the way into libibverbs: found, checked, registered.
 *
 * libibverbs loads the file NAME-rdmavNN.so, NN being the version of its private
 * interface. This plugin is one file under several names; the one it was loaded by says
 * which version is asking.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ops.h"
#include "provider.h"
#include "transport/io/host/sentence.h"

/* Written by the constructor only. */
static struct {
	void *verbs;
	struct rnp_abi abi;
	void *table[RNP_ABI_SLOTS];
} plugin;

const struct rnp_abi *rnp_plugin_abi(void)
{
	return &plugin.abi;
}

void *const *rnp_plugin_table(void)
{
	return plugin.table;
}

void *rnp_plugin_verbs(void)
{
	return plugin.verbs;
}

void rnp_tell(const char *fmt, ...)
{
	char line[512] = "rocin: ";
	size_t len = strlen(line);
	int saved_errno = errno;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line + len, sizeof(line) - len - 1, fmt, args);
	va_end(args);
	len = strlen(line);
	line[len] = '\n';
	if (syscall(SYS_write, STDERR_FILENO, line, len + 1) < 0)
		errno = saved_errno; /* nobody to tell */
	errno = saved_errno;
}

/* --------------------------------------------------------------------------- devices */
/* "rocin" and a number. */
static bool match_device(struct rnp_abi_sysfs_dev *sysfs_dev)
{
	static const char prefix[] = "rocin";
	const char *digit = sysfs_dev->ibdev_name + sizeof(prefix) - 1;

	if (strncmp(sysfs_dev->ibdev_name, prefix, sizeof(prefix) - 1) != 0 || !*digit)
		return false;
	while (isdigit((unsigned char)*digit))
		digit++;
	return !*digit;
}

static struct rnp_abi_device *alloc_device(struct rnp_abi_sysfs_dev *sysfs_dev)
{
	struct rnp_abi_device *device = calloc(1, sizeof(*device));

	(void)sysfs_dev;
	/* Or the library takes IBV_ACCESS_RELAXED_ORDERING out of every registration. */
	if (device)
		device->core_support = RNP_ABI_OPTIONAL_MR_ACCESS;
	return device;
}

static void uninit_device(struct rnp_abi_device *device)
{
	free(device);
}

static const struct rnp_abi_device_ops device_ops = {
	.name = "rocin",
	.match_min_abi_version = 0,
	.match_max_abi_version = INT_MAX,
	.match_device = match_device,
	.alloc_context = rnp_alloc_context,
	.import_context = rnp_import_context,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};

/* ----------------------------------------------------------------------- constructor */
/* NN of "...-rdmavNN.so", 0 if the name is another. */
static unsigned version_of(const char *path)
{
	static const char mark[] = "-rdmav";
	const char *at = NULL;

	for (const char *p = path; (p = strstr(p, mark)); p++)
		at = p + sizeof(mark) - 1;
	return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}

static int load(char *err, size_t err_len)
{
	Dl_info self = { 0 };
	unsigned version;
	int rc;

	if (!dladdr((void *)&plugin, &self) || !self.dli_fname)
		return rn_fail(err, err_len, -ENOSYS,
			       "the plugin cannot find its own name");
	version = version_of(self.dli_fname);
	if (!version)
		return rn_fail(err, err_len, -ENOSYS,
			       "the plugin's name does not end in -rdmavNN.so: %s",
			       self.dli_fname);
	plugin.verbs = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!plugin.verbs)
		return rn_fail(err, err_len, -ENOSYS, "there is no libibverbs.so.1 here");
	rc = rnp_abi_find_lib(&plugin.abi.lib, plugin.verbs, version, err, err_len);
	return rc ? rc : rnp_abi_learn(&plugin.abi, err, err_len);
}

static __attribute__((constructor)) void register_plugin(void)
{
	const struct rnp_abi_op *ops;
	char err[256];
	unsigned count;

	if (load(err, sizeof(err))) {
		rnp_tell("%s; no device of this plugin can be used", err);
		return;
	}
	ops = rnp_ops(&count);
	rnp_abi_fill_table(&plugin.abi, ops, count, plugin.table);
	plugin.abi.lib.register_driver(&device_ops);
}
