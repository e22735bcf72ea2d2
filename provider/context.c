/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* context.c - opening and closing a device.
 *
 * The block of a context is the library's struct verbs_context, as long as the library
 * says, with struct ibv_context at its end; struct rnp_context starts there and goes on.
 */
#include <stdlib.h>

#include "cmd_ioctl.h"
#include "fd.h"
#include "flow.h"
#include "mw.h"
#include "provider.h"

enum {
	ASYNC_RECORD_LEN = 16
}; /* bytes; event.c */

static char *block_of(struct rnp_context *ctx)
{
	return (char *)ctx + sizeof(struct ibv_context) - rnp_plugin_abi()->context_size;
}

/* The library's part; owns @cmd_fd from here on. */
static struct rnp_context *alloc(struct ibv_device *device, int cmd_fd)
{
	const struct rnp_abi *abi = rnp_plugin_abi();
	size_t before = abi->context_size - sizeof(struct ibv_context);
	char *block = abi->lib.init_and_alloc_context(
		device, cmd_fd, before + sizeof(struct rnp_context), NULL, 0);

	return block ? (struct rnp_context *)(block + before) : NULL;
}

/* Give back the library's part, with cmd_fd and async_fd. */
static void release(struct rnp_context *ctx)
{
	void *block = block_of(ctx);

	rnp_plugin_abi()->lib.uninit_context(block);
	free(block);
}

struct verbs_context *rnp_alloc_context(struct ibv_device *device, int cmd_fd,
					void *private_data)
{
	struct rnp_context *ctx;
	char err[256] = "";
	int rc;

	(void)private_data;
	rc = rnp_cmd_ensure(rnp_plugin_verbs(), cmd_fd, err, sizeof(err));
	if (rc) {
		rnp_fd_close(cmd_fd);
		goto err_tell;
	}
	ctx = alloc(device, cmd_fd);
	if (!ctx)
		return NULL;
	LIST_INIT(&ctx->channels);
	LIST_INIT(&ctx->qps);
	LIST_INIT(&ctx->cqs);
	LIST_INIT(&ctx->mrs);
	LIST_INIT(&ctx->dms);
	LIST_INIT(&ctx->flows);
	LIST_INIT(&ctx->pds);
	LIST_INIT(&ctx->mws);
	pthread_mutex_init(&ctx->channel_lock, NULL);

	rc = rnp_event_pipe_open(&ctx->async, ASYNC_RECORD_LEN);
	if (rc < 0)
		goto err_release;
	ctx->base.async_fd = rc;
	ctx->base.num_comp_vectors = RNP_COMP_VECTORS;
	ctx->hca = rnp_hca_open(device->name, &rnp_hooks, ctx, &ctx->engine, err,
				sizeof(err));
	if (!ctx->hca) {
		rc = -errno;
		goto err_pipe;
	}
	if (err[0]) /* it works, but not as was asked for */
		rnp_tell("%s: %s", device->name, err);
	rnp_plugin_abi()->lib.set_ops(block_of(ctx), rnp_plugin_table());
	return (struct verbs_context *)(void *)block_of(ctx);

err_pipe:
	rnp_event_pipe_close(&ctx->async);
err_release:
	release(ctx);
err_tell:
	if (err[0])
		rnp_tell("%s: %s", device->name, err);
	errno = -rc;
	return NULL;
}

/* What the program did not destroy leaves the device; its memory stays with the program,
 * as with any provider.
 */
static void detach_all(struct rnp_context *ctx)
{
	int cancel = rnp_enter(ctx->engine);
	struct rnp_qp *qp;
	struct rnp_cq *cq;
	struct rnp_mr *mr;
	struct rnp_dm *dm;
	struct rnp_flow *flow;
	struct rnp_pd *pd;
	struct rnp_mw *mw;

	while ((flow = LIST_FIRST(&ctx->flows)))
		rnp_flow_detach(flow);
	while ((qp = LIST_FIRST(&ctx->qps)))
		rnp_qp_detach(qp);
	while ((cq = LIST_FIRST(&ctx->cqs)))
		rnp_cq_detach(cq);
	while ((mw = LIST_FIRST(&ctx->mws)))
		rnp_mw_detach(mw);
	while ((mr = LIST_FIRST(&ctx->mrs)))
		rnp_mr_detach(mr);
	while ((dm = LIST_FIRST(&ctx->dms)))
		rnp_dm_detach(dm);
	while ((pd = LIST_FIRST(&ctx->pds)))
		rnp_pd_detach(ctx, pd);
	rnp_leave(ctx->engine, cancel);
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

void rnp_free_context(struct ibv_context *context)
{
	struct rnp_context *ctx = to_rnp_context(context);
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!rnp_is_copy(ctx))
		detach_all(ctx);
	rnp_hca_close(ctx->hca, ctx);
	/* Our own descriptors are copies in a fork child, too, and cost it nothing to
	 * close. */
	close_channels(ctx);
	rnp_event_pipe_close(&ctx->async);
	release(ctx);
	pthread_setcancelstate(cancel, NULL);
}
