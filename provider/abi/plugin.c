/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plugin.c - registers the plugin with libibverbs, and opens devices for it.
 *
 * libibverbs loads the file NAME-rdmavNN.so, NN being the version of its private
 * interface. The plugin is one file under several names; the name by which it was loaded
 * tells the version.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "driver_abi.h"
#include "provider/persona/persona.h"
#include "provider/verbs/context.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/provider.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "watch.h"

/* State of the plugin, written only by the constructor of the library. */
static struct {
	void *verbs;
	struct rnp_abi abi;
	struct rnp_library library;
	void *table[RNP_ABI_SLOTS];
	void *fault_table[RNP_ABI_SLOTS]; /* operations that ask the fault rules first */
	/* operations that report each call to the validation layer, and also ask the
	 * fault rules
	 */
	void *watch_table[RNP_ABI_SLOTS];
	bool is_watched; /* the validation layer is on */
} plugin;

/* -------------------------------------------------------------------------- contexts */
/* Returns the start of the memory block of a context. The block begins with the library's
 * struct verbs_context, whose length differs between releases. Its last member is struct
 * ibv_context, with which the plugin's struct rnp_context begins.
 */
static char *block_of(struct rnp_context *ctx)
{
	return (char *)ctx + sizeof(struct ibv_context) - plugin.abi.context_size;
}

static struct verbs_context *public_part(struct rnp_context *ctx)
{
	return ctx ? (struct verbs_context *)(void *)block_of(ctx) : NULL;
}

/* Allocates a context; owns @cmd_fd from now on. */
static struct rnp_context *new_block(struct ibv_device *device, int cmd_fd)
{
	size_t before = plugin.abi.context_size - sizeof(struct ibv_context);
	char *block = plugin.abi.lib.init_and_alloc_context(
		device, cmd_fd, before + sizeof(struct rnp_context), NULL, 0);

	return block ? (struct rnp_context *)(block + before) : NULL;
}

/* Frees a context whose opening has failed: closes cmd_fd and async_fd, and frees the
 * library's part of the memory.
 */
static void free_block(struct rnp_context *ctx)
{
	void *block = block_of(ctx);

	plugin.abi.lib.uninit_context(block);
	free(block);
}

/* The contexts that were closed last, newest first. If a program uses an object of a
 * closed context, libibverbs reads that context and calls its operations. While the
 * context is kept here, such a call fails; if its memory had been freed, the call would
 * crash.
 */
enum {
	CLOSED_MAX = 64,
};

static pthread_mutex_t closed_lock = PTHREAD_MUTEX_INITIALIZER; /* guards @closed */
static LIST_HEAD(, rnp_context) closed = LIST_HEAD_INITIALIZER(closed);

static void forget_in_child(void)
{
	pthread_mutex_init(&closed_lock, NULL);
	LIST_INIT(&closed);
}

/* Removes the context that was closed first and returns it, if more than CLOSED_MAX are
 * kept; otherwise returns NULL.
 */
static struct rnp_context *take_surplus(void)
{
	struct rnp_context *ctx;
	unsigned count = 0;

	LIST_FOREACH(ctx, &closed, closed)
	if (count++ == CLOSED_MAX)
		break;
	if (ctx)
		LIST_REMOVE(ctx, closed);
	return ctx;
}

/* Keeps a closed context. All of its operations fail. */
static void keep_block(struct rnp_context *ctx)
{
	struct rnp_context *surplus;

	plugin.abi.lib.set_ops(block_of(ctx), plugin.table);
	rnp_abi_uninit_but_ops(&plugin.abi, block_of(ctx));
	ctx->base.cmd_fd = ctx->base.async_fd = -1;
	pthread_mutex_lock(&closed_lock);
	LIST_INSERT_HEAD(&closed, ctx, closed);
	surplus = take_surplus();
	pthread_mutex_unlock(&closed_lock);
	if (!surplus)
		return;
	rnp_abi_free_ops(&plugin.abi, block_of(surplus));
	free(block_of(surplus));
}

static void set_call_faults(struct rnp_context *ctx, bool asking)
{
	plugin.abi.lib.set_ops(block_of(ctx), asking ? plugin.fault_table : plugin.table);
	if (plugin.is_watched)
		plugin.abi.lib.set_ops(block_of(ctx), plugin.watch_table);
}

static void mark_qp_ex(union rnp_abi_qp *qp)
{
	rnp_abi_mark_qp_ex(&plugin.abi, qp);
}

/* Opens a context. Owns @cmd_fd, also on failure. @origin: for ibv_import_device(), the
 * open context whose descriptor @cmd_fd duplicates; NULL for ibv_open_device().
 */
static struct rnp_context *open_context(struct ibv_device *device, int cmd_fd,
					const struct rnp_context *origin)
{
	struct rnp_context *ctx = NULL;
	char err[256] = "";
	int rc = rnp_cmd_ensure(plugin.verbs, cmd_fd, err, sizeof(err));

	if (rc) {
		rn_fd_close(cmd_fd);
	} else {
		ctx = new_block(device, cmd_fd);
		if (!ctx)
			return NULL;
		rc = rnp_context_open(ctx, &plugin.library, origin, err, sizeof(err));
	}
	/* @err says why opening failed, or what a device that was opened lacks */
	if (err[0])
		rnp_tell_user("%s: %s", device->name, err);
	if (!rc) {
		rnp_watch_forget_rnr();
		rnp_watch_opened(&ctx->base);
		return ctx;
	}
	if (ctx)
		free_block(ctx);
	errno = -rc;
	return NULL;
}

static struct verbs_context *alloc_context(struct ibv_device *device, int cmd_fd,
					   void *private_data)
{
	(void)private_data;
	return public_part(open_context(device, cmd_fd, NULL));
}

static void *import_from(struct rnp_context *origin, void *arg)
{
	const int *cmd_fd = arg;

	if (!origin) {
		/* No context of this process has the open file of @cmd_fd. Either a
		 * context of another process has it, whose engine cannot be used here, or
		 * none has.
		 */
		rn_fd_close(*cmd_fd);
		errno = EOPNOTSUPP;
		return NULL;
	}
	return open_context(origin->base.device, *cmd_fd, origin);
}

/* Imports a context by its descriptor @cmd_fd. All devices of Rocin have the same device
 * number, so @device may be the wrong one; the imported context gets the device of the
 * context that is imported.
 */
static struct verbs_context *import_context(struct ibv_device *device, int cmd_fd)
{
	(void)device;
	return public_part(rnp_open_with(cmd_fd, import_from, &cmd_fd));
}

static void free_context(struct ibv_context *context)
{
	struct rnp_context *ctx = to_rnp_context(context);
	int cancel;

	rnp_watch_closed(context);
	if (ctx->is_closed)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_context_close(ctx);
	keep_block(ctx);
	pthread_setcancelstate(cancel, NULL);
}

/* --------------------------------------------------------------------------- devices */
/* Is the name of the device "rocin" followed by a number? */
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
	/* Without this flag libibverbs removes IBV_ACCESS_RELAXED_ORDERING
	 * from registrations.
	 */
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
	.alloc_context = alloc_context,
	.import_context = import_context,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
};

/* ----------------------------------------------------------------------- constructor */
/* Returns the number NN of a file name "...-rdmavNN.so"; 0: another name. */
static unsigned version_of(const char *path)
{
	static const char mark[] = "-rdmav";
	const char *at = NULL;

	for (const char *p = path; (p = strstr(p, mark)); p++)
		at = p + sizeof(mark) - 1;
	return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}

/* Writes the file name of the loaded libibverbs, which ends in its release
 * ("libibverbs.so.1.14.44.0"), to @name. The name is followed by the version of the
 * private interface that the library asked for.
 */
static void name_library(unsigned version, char *name, size_t len)
{
	char path[PATH_MAX] = "libibverbs.so.1";
	const struct link_map *map = NULL;
	const char *slash;

	if (!dlinfo(plugin.verbs, RTLD_DI_LINKMAP, &map) && !realpath(map->l_name, path))
		(void)snprintf(path, sizeof(path), "%s", map->l_name);
	slash = strrchr(path, '/');
	(void)snprintf(name, len, "%s (private interface %u)", slash ? slash + 1 : path,
		       version);
}

/* Learns the layouts of the loaded libibverbs. On failure, @err tells which library it
 * is and what to do.
 */
static int learn(unsigned version, char *err, size_t err_len)
{
	char why[128], name[160];
	int rc = rnp_abi_find_lib(&plugin.abi.lib, plugin.verbs, version, why,
				  sizeof(why));

	if (!rc)
		rc = rnp_abi_learn(&plugin.abi, why, sizeof(why));
	if (!rc)
		return 0;
	name_library(version, name, sizeof(name));
	return rn_fail(
		err, err_len, rc,
		"%s is none that this plugin understands, as %s; use the libibverbs of "
		"the distribution, or a newer Rocin",
		name, why);
}

static int load(char *err, size_t err_len)
{
	Dl_info self = { 0 };
	unsigned version;

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
	return learn(version, err, err_len);
}

static void fill_tables(void)
{
	static const struct rnp_abi_op own = { RNP_OP_free_context,
					       (void (*)(void))free_context };
	const struct rnp_abi_op *ops;
	unsigned count;

	rnp_abi_fill_table(&plugin.abi, &own, 1, plugin.table);
	ops = rnp_ops(&count);
	rnp_abi_fill_table(&plugin.abi, ops, count, plugin.table);
	rnp_watch_over(ops, count);
	ops = rnp_fault_ops(&count);
	rnp_abi_fill_table(&plugin.abi, ops, count, plugin.fault_table);
	rnp_watch_over(ops, count);
	ops = rnp_watch_ops(&count);
	rnp_abi_fill_table(&plugin.abi, ops, count, plugin.watch_table);
}

/* Removes from the plugin's table the operations that the provider of the persona lacks
 * (the persona is the device of another maker that ROCIN_AS names). For these libibverbs
 * keeps its default, which fails with EOPNOTSUPP. If ROCIN_AS has a wrong name, nothing
 * is removed: each device then fails to open, see rnp_settings_read().
 */
static void remove_lacking(void)
{
	const struct rnp_persona *persona;
	char err[256];

	(void)rnp_persona_read(&persona, err, sizeof(err));
	for (unsigned op = 0; op < RNP_OP_COUNT; op++) {
		uint8_t slot = plugin.abi.slot[op];

		if (slot == RNP_ABI_NO_SLOT ||
		    !rnp_persona_lacks(persona, rnp_abi_op_name(op)))
			continue;
		plugin.table[slot] = NULL;
		plugin.fault_table[slot] = NULL;
		plugin.watch_table[slot] = NULL;
	}
}

static __attribute__((constructor)) void register_plugin(void)
{
	char err[512];

	if (load(err, sizeof(err))) {
		rnp_tell_user("%s; no device of this plugin can be used", err);
		return;
	}
	plugin.library = (struct rnp_library){ .qp_ex_len = plugin.abi.qp_ex_len,
					       .mark_qp_ex = mark_qp_ex,
					       .set_call_faults = set_call_faults };
	fill_tables();
	remove_lacking();
	plugin.is_watched = rnp_watch_start();
	pthread_atfork(NULL, NULL, forget_in_child);
	plugin.abi.lib.register_driver(&device_ops);
}
