/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* xrc.c - XRC domains, and target QPs that several have open.
 *
 * A domain may be named by the inode of a file: who opens it with a descriptor of that
 * file, in this process and on this device, gets a handle on the same domain. A kernel
 * shares it between processes, too; here a target QP and its SRQs lie in one process.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider.h"
#include "provider/engine/fd.h"
#include "rocin/queue_pair.h"

struct rnp_xrc_domain {
	LIST_ENTRY(rnp_xrc_domain) link;
	uint32_t number;
	unsigned handles;
	dev_t dev;
	ino_t ino;
	int fd; /* a copy that keeps the inode from being used again; -1: no inode */
};

static struct rnp_xrc_domain *find_domain(const struct rnp_xrc_domains *list,
					  const struct stat *st)
{
	struct rnp_xrc_domain *d;

	LIST_FOREACH(d, list, link)
	if (d->fd >= 0 && d->dev == st->st_dev && d->ino == st->st_ino)
		return d;
	return NULL;
}

static struct rnp_xrc_domain *new_domain(struct rnp_hca *hca, int fd,
					 const struct stat *st)
{
	struct rnp_xrc_domain *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd >= 0 && d->fd < 0) {
		free(d);
		return NULL;
	}
	d->dev = st->st_dev;
	d->ino = st->st_ino;
	d->number = rnp_hca_new_xrcd(hca);
	LIST_INSERT_HEAD(rnp_hca_xrc_domains(hca), d, link);
	return d;
}

/* Find the domain behind @fd, or make a new one. The engine lock is held. Returns 0 or a
 * positive errno, the same as a kernel.
 */
static int get_domain(struct rnp_hca *hca, int fd, int oflag, struct rnp_xrc_domain **out)
{
	struct rnp_xrc_domain *d = NULL;
	struct stat st = { 0 };

	if (fd != -1) {
		if (fstat(fd, &st))
			return EBADF;
		d = find_domain(rnp_hca_xrc_domains(hca), &st);
		if (!d && !(oflag & O_CREAT))
			return EAGAIN;
		if (d && oflag & O_EXCL)
			return EINVAL;
	}
	if (!d)
		d = new_domain(hca, fd, &st);
	if (!d)
		return ENOMEM;
	d->handles++;
	*out = d;
	return 0;
}

static void put_domain(struct rnp_xrc_domain *d)
{
	if (--d->handles)
		return;
	LIST_REMOVE(d, link);
	if (d->fd >= 0)
		rn_fd_close(d->fd);
	free(d);
}

static int check_xrcd_attr(const struct rnp_context *ctx,
			   const struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;

	if (rnp_is_copy(ctx))
		return EIO;
	if (attr->comp_mask & ~needed)
		return EOPNOTSUPP;
	return (attr->comp_mask & needed) == needed ? 0 : EINVAL;
}

struct ibv_xrcd *rnp_open_xrcd(struct ibv_context *context,
			       struct ibv_xrcd_init_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct rnp_xrcd *xrcd = NULL;
	int rc = check_xrcd_attr(ctx, attr);
	int cancel;

	if (!rc) {
		xrcd = calloc(1, sizeof(*xrcd));
		rc = xrcd ? 0 : ENOMEM;
	}
	if (!rc) {
		cancel = rnp_enter(ctx->engine);
		rc = get_domain(ctx->hca, attr->fd, attr->oflags, &xrcd->domain);
		if (!rc) {
			xrcd->number = xrcd->domain->number;
			LIST_INSERT_HEAD(&ctx->xrcds, xrcd, link);
		}
		rnp_leave(ctx->engine, cancel);
	}
	if (rc) {
		free(xrcd);
		errno = rc;
		return NULL;
	}
	xrcd->base.context = context;
	return &xrcd->base;
}

void rnp_xrcd_detach(struct rnp_xrcd *xrcd)
{
	LIST_REMOVE(xrcd, link);
	put_domain(xrcd->domain);
}

int rnp_close_xrcd(struct ibv_xrcd *base)
{
	struct rnp_xrcd *xrcd = to_rnp_xrcd(base);
	struct rnp_context *ctx = to_rnp_context(base->context);
	int cancel;

	if (!rnp_is_copy(ctx)) {
		if (atomic_load(&xrcd->refs))
			return EBUSY;
		cancel = rnp_enter(ctx->engine);
		rnp_xrcd_detach(xrcd);
		rnp_leave(ctx->engine, cancel);
	}
	free(xrcd);
	return 0;
}

/* ------------------------------------------------------------------------ target QPs */
static int check_open_attr(const struct rnp_context *ctx,
			   const struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;

	if (rnp_is_copy(ctx))
		return EIO;
	if (attr->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT))
		return EOPNOTSUPP;
	if ((attr->comp_mask & needed) != needed || !attr->xrcd ||
	    attr->xrcd->context != &ctx->base || attr->qp_type != IBV_QPT_XRC_RECV)
		return EINVAL;
	return 0;
}

/* A handle on QP @qpn, if that is a target QP of this domain; or NULL. */
static struct rnp_qp *find_target(struct rnp_engine *e, const struct rnp_xrcd *xrcd,
				  uint32_t qpn)
{
	const struct rn_qp *core = rn_dev_find_qp(rnp_engine_dev(e), qpn);
	struct rnp_qp *qp = core ? rn_qp_owner(core) : NULL;

	return qp && qp->xrcd && qp->xrcd->domain == xrcd->domain ? qp : NULL;
}

/* Make @qp one more handle on QP @qpn. The engine lock is held. Returns 0 or EINVAL. */
static int share_target(struct rnp_qp *qp, uint32_t qpn)
{
	struct rnp_qp *other = find_target(qp->ctx->engine, qp->xrcd, qpn);

	if (!other)
		return EINVAL;
	qp->core = other->core;
	qp->stats = other->stats;
	qp->base.qp.qp_num = qp->base.qp.handle = qpn;
	qp->base.qp.state = (enum ibv_qp_state)rn_qp_state(qp->core);
	qp->next_handle = other->next_handle;
	other->next_handle = qp;
	LIST_INSERT_HEAD(&qp->ctx->qps, qp, link);
	return 0;
}

struct ibv_qp *rnp_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_XRC_RECV };
	struct rnp_qp *qp = NULL;
	int rc = check_open_attr(ctx, attr);
	int cancel;

	if (!rc) {
		if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
			init.qp_context = attr->qp_context;
		qp = rnp_qp_alloc(ctx, NULL, &init);
		rc = qp ? 0 : ENOMEM;
	}
	if (!rc) {
		qp->xrcd = to_rnp_xrcd(attr->xrcd);
		cancel = rnp_enter(ctx->engine);
		rc = share_target(qp, attr->qp_num);
		rnp_leave(ctx->engine, cancel);
	}
	if (rc) {
		free(qp);
		errno = rc;
		return NULL;
	}
	atomic_fetch_add(&qp->xrcd->refs, 1);
	return &qp->base.qp;
}
