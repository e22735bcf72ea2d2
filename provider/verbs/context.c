/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* context.c - opening and closing a device. */
#include <stdlib.h>

#include "flow.h"
#include "mw.h"
#include "provider.h"
#include "wq.h"

enum {
	ASYNC_RECORD_LEN = 16
}; /* bytes; event.c */

/* The parts that need no device. */
static void init(struct rnp_context *ctx)
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

/* 0 or -errno. An import gets its descriptor from the library, when it is done. */
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

/* 0 or -errno. */
static int open_hca(struct rnp_context *ctx, const char *name,
		    const struct rnp_context *origin, char *err, size_t err_len)
{
	ctx->hca = rnp_hca_open(name, &rnp_hooks, ctx, &ctx->engine, err, err_len);
	if (!ctx->hca)
		return -errno;
	if (origin && ctx->engine != origin->engine) {
		rnp_hca_close(ctx->hca, ctx); /* that of @origin is dead */
		return -EIO;
	}
	return 0;
}

static void set_operations(struct rnp_context *ctx)
{
	int cancel = rnp_enter(ctx->engine);

	ctx->library->set_asking(ctx, false);
	if (rnp_engine_fails_calls(ctx->engine))
		ctx->library->set_asking(ctx, true);
	rnp_leave(ctx->engine, cancel);
}

int rnp_context_open(struct rnp_context *ctx, const struct rnp_library *library,
		     const struct rnp_context *origin, char *err, size_t err_len)
{
	int rc;

	ctx->library = library;
	init(ctx);
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

/* What the program did not destroy leaves the device; its memory stays with the program,
 * as with any provider.
 */
static void detach_all(struct rnp_context *ctx)
{
	int cancel = rnp_enter(ctx->engine);
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
	while ((qp = LIST_FIRST(&ctx->qps)))
		rnp_qp_detach(qp);
	while ((table = LIST_FIRST(&ctx->rwq_tables)))
		rnp_rwq_table_detach(ctx, table);
	while ((srq = LIST_FIRST(&ctx->srqs)))
		rnp_srq_detach(srq);
	while ((xrcd = LIST_FIRST(&ctx->xrcds)))
		rnp_xrcd_detach(xrcd);
	while ((cq = LIST_FIRST(&ctx->cqs)))
		rnp_cq_detach(cq);
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
	rnp_leave(ctx->engine, cancel);
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
	if (!rnp_is_copy(ctx)) {
		rnp_open_remove(ctx);
		detach_all(ctx);
	}
	rnp_hca_close(ctx->hca, ctx);
	/* Our own descriptors are copies in a fork child, too, and cost it nothing to
	 * close. */
	close_channels(ctx);
	if (ctx->has_async)
		rnp_event_pipe_close(&ctx->async);
}
