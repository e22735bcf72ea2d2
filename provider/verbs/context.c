/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* context.c - opens, closes and imports contexts.
 *
 * For a kernel, a context is an open file: a process with a copy of its descriptor can
 * import the context, and import the objects of the context by their handles. Here the
 * contexts of a process that share an open file are called a family, and a handle
 * identifies an object of any context of the family. Objects exist as long as one context
 * of the family is open.
 *
 * There may be several handles on an object. If the object is destroyed through one of
 * them, the others can only be unimported.
 */
#include "context.h"

#include <fcntl.h>
#include <stdlib.h>

#include "provider/verbs/memory/mr.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/event.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"
#include "provider/verbs/queue/cq.h"
#include "provider/verbs/queue/qp.h"
#include "provider/verbs/queue/srq.h"
#include "provider/verbs/queue/steering.h"

/* -------------------------------------------------------- contexts that share a file */
/* Guards open_contexts and last_file. It is the outermost of all locks. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, rnp_context) open_contexts = LIST_HEAD_INITIALIZER(open_contexts);
static uint64_t last_file;

/* Resets the list of contexts and its lock in a fork() child. Another thread of the
 * parent may have held the lock, and the contexts belong to the parent.
 */
static void forget_in_child(void)
{
	pthread_mutex_init(&open_lock, NULL);
	LIST_INIT(&open_contexts);
}

static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, forget_in_child);
}

void rnp_open_add(struct rnp_context *ctx, const struct rnp_context *origin)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_fork);
	if (!origin)
		pthread_mutex_lock(&open_lock);
	/* with an origin, rnp_open_with() holds @open_lock already */
	ctx->file = origin ? origin->file : ++last_file;
	LIST_INSERT_HEAD(&open_contexts, ctx, open);
	if (!origin)
		pthread_mutex_unlock(&open_lock);
}

static struct rnp_context *other_of_family(const struct rnp_context *ctx)
{
	struct rnp_context *other;

	LIST_FOREACH(other, &open_contexts, open)
	if (other != ctx && other->file == ctx->file)
		return other;
	return NULL;
}

/* Moves importable objects to another context. The engine lock is held. */
static void move_objects(struct rnp_context *from, struct rnp_context *to)
{
	struct rnp_mr *mr;
	struct rnp_dm *dm;
	struct rnp_pd *pd;

	while ((mr = LIST_FIRST(&from->mrs))) {
		LIST_REMOVE(mr, link);
		LIST_INSERT_HEAD(&to->mrs, mr, link);
		rnp_handle_move(from, to, RNP_KIND_MR, mr);
		mr->base.ibv_mr.context = &to->base;
	}
	while ((dm = LIST_FIRST(&from->dms))) {
		LIST_REMOVE(dm, link);
		LIST_INSERT_HEAD(&to->dms, dm, link);
		rnp_handle_move(from, to, RNP_KIND_DM, dm);
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

	pthread_mutex_lock(&open_lock);
	LIST_REMOVE(ctx, open);
	other = other_of_family(ctx);
	if (other) {
		cancel = rnp_lock_engine(ctx->engine);
		move_objects(ctx, other);
		rnp_unlock_engine(ctx->engine, cancel);
	}
	pthread_mutex_unlock(&open_lock);
}

/* Do both descriptors refer to one open file? Status flags belong to the open file, so a
 * change through one descriptor is seen through its copies. The function changes
 * O_NONBLOCK for a moment, which Rocin's device files do not use.
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
	pthread_mutex_lock(&open_lock);
	LIST_FOREACH(ctx, &open_contexts, open)
	if (is_same_file(ctx->base.cmd_fd, cmd_fd))
		break;
	result = fn(ctx, arg);
	pthread_mutex_unlock(&open_lock);
	pthread_setcancelstate(cancel, NULL);
	return result;
}

/* ------------------------------------------------------ opening and closing contexts */
enum {
	ASYNC_RECORD_LEN = 16 /* bytes of struct async_record in event.c */
};

/* Initializes the members that need no device. */
static void init_lists(struct rnp_context *ctx)
{
	LIST_INIT(&ctx->channels);
	LIST_INIT(&ctx->qps);
	LIST_INIT(&ctx->srqs);
	LIST_INIT(&ctx->xrcds);
	LIST_INIT(&ctx->cqs);
	LIST_INIT(&ctx->mrs);
	LIST_INIT(&ctx->dms);
	LIST_INIT(&ctx->flows);
	LIST_INIT(&ctx->ahs);
	LIST_INIT(&ctx->pds);
	LIST_INIT(&ctx->mws);
	LIST_INIT(&ctx->rwq_tables);
	pthread_mutex_init(&ctx->channel_lock, NULL);
	ctx->base.num_comp_vectors = RNP_COMP_VECTORS;
}

/* Opens the pipe of asynchronous events. For an imported context (@origin is not NULL)
 * it opens none, because libibverbs opens the pipe of such a context later. Returns 0
 * or -errno.
 */
static int open_async(struct rnp_context *ctx, const struct rnp_context *origin)
{
	int fd;

	if (origin)
		return 0;
	fd = rnp_event_pipe_open(&ctx->async, ASYNC_RECORD_LEN);
	if (fd < 0)
		return fd;
	ctx->base.async_fd = fd;
	ctx->has_async = true;
	return 0;
}

/* Opens the device of the context. Returns 0 or -errno. */
static int open_hca(struct rnp_context *ctx, const char *name,
		    const struct rnp_context *origin, char *err, size_t err_len)
{
	ctx->hca = rnp_hca_open(name, &rnp_hooks, ctx, &ctx->engine, err, err_len);
	if (!ctx->hca)
		return -errno;
	if (origin && ctx->engine != origin->engine) {
		/* a new engine was made, because that of @origin is dead */
		rnp_hca_close(ctx->hca, ctx);
		return -EIO;
	}
	return 0;
}

static void set_operations(struct rnp_context *ctx)
{
	int cancel = rnp_lock_engine(ctx->engine);

	ctx->library->set_call_faults(ctx, false);
	if (rnp_engine_has_call_faults(ctx->engine))
		ctx->library->set_call_faults(ctx, true);
	rnp_unlock_engine(ctx->engine, cancel);
}

int rnp_context_open(struct rnp_context *ctx, const struct rnp_library *library,
		     const struct rnp_context *origin, char *err, size_t err_len)
{
	int rc;

	ctx->library = library;
	init_lists(ctx);
	rc = open_async(ctx, origin);
	if (rc)
		return rc;
	rc = open_hca(ctx, ctx->base.device->name, origin, err, err_len);
	if (rc) {
		if (ctx->has_async)
			rnp_event_pipe_close(&ctx->async);
		return rc;
	}
	set_operations(ctx);
	rnp_open_add(ctx, origin);
	return 0;
}

/* Removes from the device the objects that the program did not destroy. Their memory
 * remains allocated, as with any provider, but no longer counts as pinned.
 */
static void detach_all(struct rnp_context *ctx)
{
	int cancel = rnp_lock_engine(ctx->engine);
	struct rnp_xrcd *xrcd;
	struct rnp_srq *srq;
	struct rnp_qp *qp;
	struct rnp_cq *cq;
	struct rnp_mr *mr;
	struct rnp_dm *dm;
	struct rnp_flow *flow;
	struct rnp_ah *ah;
	struct rnp_pd *pd;
	struct rnp_mw *mw;
	struct rnp_rwq_table *table;

	while ((flow = LIST_FIRST(&ctx->flows)))
		rnp_flow_detach(flow);
	while ((qp = LIST_FIRST(&ctx->qps))) {
		rnp_buffer_unpin(&qp->block);
		rnp_qp_detach(qp);
	}
	while ((table = LIST_FIRST(&ctx->rwq_tables)))
		rnp_rwq_table_detach(ctx, table);
	while ((srq = LIST_FIRST(&ctx->srqs))) {
		rnp_buffer_unpin(&srq->ring);
		rnp_srq_detach(srq);
	}
	while ((xrcd = LIST_FIRST(&ctx->xrcds)))
		rnp_xrcd_detach(xrcd);
	while ((cq = LIST_FIRST(&ctx->cqs))) {
		rnp_buffer_unpin(&cq->ring_mem);
		rnp_cq_detach(cq);
	}
	while ((mw = LIST_FIRST(&ctx->mws)))
		rnp_mw_detach(mw);
	while ((mr = LIST_FIRST(&ctx->mrs))) {
		rnp_mr_detach(mr);
		rnp_mr_release(mr, 1);
	}
	while ((dm = LIST_FIRST(&ctx->dms))) {
		rnp_dm_detach(dm);
		rnp_dm_release(dm, 1);
	}
	while ((ah = LIST_FIRST(&ctx->ahs)))
		rnp_ah_detach(ctx, ah);
	while ((pd = LIST_FIRST(&ctx->pds)))
		rnp_pd_detach(ctx, pd);
	for (; ctx->comp_cntrs; ctx->comp_cntrs--)
		rnp_hca_remove(ctx->hca, RNP_HCA_COMP_CNTR);
	rnp_unlock_engine(ctx->engine, cancel);
	rnp_engine_close_raw(ctx->engine);
}

static void close_channels(struct rnp_context *ctx)
{
	struct rnp_channel *channel;

	while ((channel = LIST_FIRST(&ctx->channels))) {
		LIST_REMOVE(channel, link);
		rnp_event_pipe_close(&channel->pipe);
		free(channel);
	}
}

void rnp_context_close(struct rnp_context *ctx)
{
	if (!rnp_is_fork_child(ctx)) {
		rnp_open_remove(ctx);
		detach_all(ctx);
	}
	rnp_hca_close(ctx->hca, ctx);
	/* A fork() child has copies of these descriptors and closes them, too. */
	close_channels(ctx);
	if (ctx->has_async)
		rnp_event_pipe_close(&ctx->async);
	rnp_handle_close(ctx);
	ctx->engine = rnp_engine_gone();
}

/* ------------------------------------------------------------------ imported objects */
typedef void *import_fn(struct rnp_context *ctx, struct rnp_context *member, void *arg);

/* Calls @fn for each context that shares the open file of @ctx (its family), with
 * @open_lock and the engine lock held, until a call returns an object. Returns that
 * object, or NULL with errno.
 */
static void *ask_family(struct rnp_context *ctx, import_fn *fn, void *arg)
{
	struct rnp_context *member;
	void *found = NULL;
	int cancel;

	if (rnp_is_fork_child(ctx)) {
		errno = EIO;
		return NULL;
	}
	errno = ENOENT;
	pthread_mutex_lock(&open_lock);
	cancel = rnp_lock_engine(ctx->engine);
	LIST_FOREACH(member, &open_contexts, open)
	{
		if (member->file == ctx->file)
			found = fn(ctx, member, arg);
		if (found)
			break;
	}
	rnp_unlock_engine(ctx->engine, cancel);
	pthread_mutex_unlock(&open_lock);
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
	if (!h)
		return NULL;
	atomic_fetch_add(&pd->held, 1);
	rnp_handle_add(ctx, RNP_KIND_PD, h);
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
	if (dm->handle.number == *handle)
		break;
	if (!dm)
		return NULL;
	copy = rnp_dm_new_import(&ctx->base, dm);
	if (!copy)
		return NULL;
	dm->held++;
	rnp_handle_add(ctx, RNP_KIND_DM, copy);
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
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_dm *dm = rnp_handle_find(ctx, RNP_KIND_DM, base), *origin;

	if (dm) {
		origin = dm->origin;
		if (origin || lock != RNP_NO_LOCK)
			rnp_handle_remove(ctx, RNP_KIND_DM, dm);
		if (origin)
			rnp_object_free(RNP_KIND_DM, dm);
		if (lock != RNP_NO_LOCK)
			rnp_dm_release(origin ? origin : dm, 1);
	}
	rnp_unlock_destroyed(ctx, lock);
}

struct mr_request {
	struct ibv_pd *pd;
	uint32_t handle;
};

static void *import_mr(struct rnp_context *ctx, struct rnp_context *member, void *arg)
{
	const struct mr_request *want = arg;
	struct rnp_mr *mr, *copy;

	if (!rnp_pd_find(ctx, want->pd)) {
		errno = EINVAL;
		return NULL;
	}
	LIST_FOREACH(mr, &member->mrs, link)
	if (mr->handle.number == want->handle)
		break;
	if (!mr)
		return NULL;
	copy = rnp_object_new(RNP_KIND_MR, NULL);
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
	rnp_handle_add(ctx, RNP_KIND_MR, copy);
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
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_mr *mr = rnp_handle_find(ctx, RNP_KIND_MR, base), *origin;

	if (mr) {
		origin = mr->origin;
		if (origin || lock != RNP_NO_LOCK)
			rnp_handle_remove(ctx, RNP_KIND_MR, mr);
		if (origin)
			rnp_object_free(RNP_KIND_MR, mr);
		if (lock != RNP_NO_LOCK)
			rnp_mr_release(origin ? origin : mr, 1);
	}
	rnp_unlock_destroyed(ctx, lock);
}
