/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* import.c - contexts that share an open file, and objects that one takes from another.
 *
 * To a kernel, a context is an open file: whoever has a copy of its descriptor can import
 * the context and, by their handles, the objects of it. Here the contexts of a process
 * that share a file are a family, and a handle names an object of any of them. Objects
 * live as long as one of the family is open.
 *
 * An object is one, and handles on it are many: destroying it through one of them leaves
 * the others to be unimported.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "provider.h"

/* Outermost of all locks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards: open, last_file */
static LIST_HEAD(, rnp_context) open_contexts = LIST_HEAD_INITIALIZER(open_contexts);
static uint64_t last_file;

/* The lock may have been taken by another thread of the parent; its contexts are not
 * ours.
 */
static void forget_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	LIST_INIT(&open_contexts);
}

static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, forget_in_child);
}

/* ------------------------------------------------------------------------- families */
void rnp_open_add(struct rnp_context *ctx, const struct rnp_context *origin)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_fork);
	if (!origin)
		pthread_mutex_lock(&lock);
	/* else rnp_open_with() has it */
	ctx->file = origin ? origin->file : ++last_file;
	LIST_INSERT_HEAD(&open_contexts, ctx, open);
	if (!origin)
		pthread_mutex_unlock(&lock);
}

static struct rnp_context *other_of_family(const struct rnp_context *ctx)
{
	struct rnp_context *other;

	LIST_FOREACH(other, &open_contexts, open)
	if (other != ctx && other->file == ctx->file)
		return other;
	return NULL;
}

/* Engine lock held. */
static void move_objects(struct rnp_context *from, struct rnp_context *to)
{
	struct rnp_mr *mr;
	struct rnp_dm *dm;
	struct rnp_pd *pd;

	while ((mr = LIST_FIRST(&from->mrs))) {
		LIST_REMOVE(mr, link);
		LIST_INSERT_HEAD(&to->mrs, mr, link);
		mr->base.ibv_mr.context = &to->base;
	}
	while ((dm = LIST_FIRST(&from->dms))) {
		LIST_REMOVE(dm, link);
		LIST_INSERT_HEAD(&to->dms, dm, link);
		dm->base.context = &to->base;
	}
	while ((pd = LIST_FIRST(&from->pds))) {
		LIST_REMOVE(pd, link);
		LIST_INSERT_HEAD(&to->pds, pd, link);
	}
}

void rnp_open_remove(struct rnp_context *ctx)
{
	struct rnp_context *other;
	int cancel;

	pthread_mutex_lock(&lock);
	LIST_REMOVE(ctx, open);
	other = other_of_family(ctx);
	if (other) {
		cancel = rnp_enter(ctx->engine);
		move_objects(ctx, other);
		rnp_leave(ctx->engine, cancel);
	}
	pthread_mutex_unlock(&lock);
}

/* Status flags belong to the open file: a change through one descriptor is seen through
 * every copy. O_NONBLOCK means nothing to our device.
 */
static bool is_same_file(int a, int b)
{
	int flags = fcntl(a, F_GETFL), seen = fcntl(b, F_GETFL);
	bool same;

	if (flags < 0 || flags != seen || fcntl(a, F_SETFL, flags ^ O_NONBLOCK) < 0)
		return false;
	same = fcntl(b, F_GETFL) == (flags ^ O_NONBLOCK);
	(void)fcntl(a, F_SETFL, flags);
	return same;
}

void *rnp_open_with(int cmd_fd, void *(*fn)(struct rnp_context *origin, void *arg),
		    void *arg)
{
	struct rnp_context *ctx;
	void *result;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock);
	LIST_FOREACH(ctx, &open_contexts, open)
	if (is_same_file(ctx->base.cmd_fd, cmd_fd))
		break;
	result = fn(ctx, arg);
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel, NULL);
	return result;
}

/* -------------------------------------------------------------------------- objects */
typedef void *import_fn(struct rnp_context *ctx, struct rnp_context *member, void *arg);

/* Ask each of the family of @ctx, locked, until one answers; NULL with errno. */
static void *ask_family(struct rnp_context *ctx, import_fn *fn, void *arg)
{
	struct rnp_context *member;
	void *found = NULL;
	int cancel;

	if (rnp_is_copy(ctx)) {
		errno = EIO;
		return NULL;
	}
	errno = ENOENT;
	pthread_mutex_lock(&lock);
	cancel = rnp_enter(ctx->engine);
	LIST_FOREACH(member, &open_contexts, open)
	{
		if (member->file == ctx->file)
			found = fn(ctx, member, arg);
		if (found)
			break;
	}
	rnp_leave(ctx->engine, cancel);
	pthread_mutex_unlock(&lock);
	return found;
}

static void *import_pd(struct rnp_context *ctx, struct rnp_context *member, void *arg)
{
	const uint32_t *number = arg;
	struct rnp_pd_handle *h;
	struct rnp_pd *pd;

	LIST_FOREACH(pd, &member->pds, link)
	if (pd->number == *number)
		break;
	if (!pd)
		return NULL;
	h = rnp_pd_new_handle(&ctx->base, pd);
	if (h)
		atomic_fetch_add(&pd->held, 1);
	return h;
}

struct ibv_pd *rnp_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	struct rnp_pd_handle *h =
		ask_family(to_rnp_context(context), import_pd, &pd_handle);

	return h ? &h->base : NULL;
}

static void *import_dm(struct rnp_context *ctx, struct rnp_context *member, void *arg)
{
	const uint32_t *handle = arg;
	struct rnp_dm *dm, *copy;

	LIST_FOREACH(dm, &member->dms, link)
	if (dm->base.handle == *handle)
		break;
	if (!dm)
		return NULL;
	copy = rnp_dm_new_import(&ctx->base, dm);
	if (copy)
		dm->held++;
	return copy;
}

struct ibv_dm *rnp_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	struct rnp_dm *dm = ask_family(to_rnp_context(context), import_dm, &dm_handle);

	return dm ? &dm->base : NULL;
}

void rnp_unimport_dm(struct ibv_dm *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_dm *dm = (struct rnp_dm *)base, *origin = dm->origin;
	int cancel;

	if (origin)
		free(dm);
	if (rnp_is_copy(ctx))
		return;
	cancel = rnp_enter(ctx->engine);
	rnp_dm_release(origin ? origin : dm, 1);
	rnp_leave(ctx->engine, cancel);
}

struct mr_request {
	struct ibv_pd *pd;
	uint32_t handle;
};

static void *import_mr(struct rnp_context *ctx, struct rnp_context *member, void *arg)
{
	const struct mr_request *want = arg;
	struct rnp_mr *mr, *copy;

	LIST_FOREACH(mr, &member->mrs, link)
	if (mr->base.ibv_mr.handle == want->handle)
		break;
	if (!mr)
		return NULL;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return NULL;
	copy->base = (struct rnp_abi_mr){
		.ibv_mr = { .context = &ctx->base,
			    .pd = want->pd,
			    .length = mr->base.ibv_mr.length,
			    .handle = want->handle,
			    .lkey = mr->base.ibv_mr.lkey,
			    .rkey = mr->base.ibv_mr.rkey },
		.mr_type = RNP_ABI_IMPORTED_MR,
		.access = mr->base.access,
	};
	copy->origin = mr;
	mr->held++;
	return copy;
}

struct ibv_mr *rnp_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	struct mr_request want = { .pd = pd, .handle = mr_handle };
	struct rnp_mr *mr = ask_family(to_rnp_context(pd->context), import_mr, &want);

	return mr ? &mr->base.ibv_mr : NULL;
}

void rnp_unimport_mr(struct ibv_mr *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_mr *mr = (struct rnp_mr *)base, *origin = mr->origin;
	int cancel;

	if (origin)
		free(mr);
	if (rnp_is_copy(ctx))
		return;
	cancel = rnp_enter(ctx->engine);
	rnp_mr_release(origin ? origin : mr, 1);
	rnp_leave(ctx->engine, cancel);
}
