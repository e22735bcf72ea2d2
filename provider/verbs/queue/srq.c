/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq.c - shared receive queues, and the objects of XRC: domains, and target QPs that
 * several contexts can open. Receives are posted in post.c.
 */
#include "srq.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cq.h"
#include "provider/persona/persona.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/event.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"
#include "qp.h"
#include "rocin/queue_pair.h"
#include "rocin/srq.h"
#include "transport/io/host/own_fd.h"

enum {
	RING_ALIGN = 64
};

/* Checks the attributes. Returns 0, or a positive errno if such an SRQ cannot exist. */
static int check_init(const struct rnp_context *ctx, const struct ibv_srq_init_attr_ex *a)
{
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	if (a->comp_mask & ~(uint32_t)(IBV_SRQ_INIT_ATTR_RESERVED - 1) ||
	    a->srq_type == IBV_SRQT_TM)
		return EOPNOTSUPP;
	if (a->srq_type != IBV_SRQT_BASIC && a->srq_type != IBV_SRQT_XRC)
		return EINVAL;
	if (!(a->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return EINVAL;
	if (a->srq_type == IBV_SRQT_XRC && (a->comp_mask & xrc) != xrc)
		return EINVAL;
	if (a->attr.max_wr < 1 || a->attr.max_wr > RN_WR_MAX ||
	    a->attr.max_sge > RN_SGE_MAX)
		return EINVAL;
	return rnp_persona_check_srq(rnp_engine_persona(ctx->engine), a->srq_type,
				     &a->attr);
}

/* Adds @by to the use counts of the CQ and of the XRC domain that the SRQ refers to, if
 * any. The engine lock is held.
 */
static void count_uses(struct rnp_srq *srq, int by)
{
	if (srq->cq)
		rnp_cq_count_users(srq->cq, by);
	if (srq->xrcd)
		atomic_fetch_add(&srq->xrcd->refs, (unsigned)by);
}

/* Finds the objects that a new SRQ refers to, and counts the SRQ as their user. Returns
 * 0, or EINVAL if one of them does not exist in this context.
 */
static int find_home(struct rnp_srq *srq, const struct ibv_srq_init_attr_ex *a)
{
	struct rnp_context *ctx = srq->ctx;
	const bool is_xrc = a->srq_type == IBV_SRQT_XRC;
	int cancel = rnp_lock_engine(ctx->engine), rc = 0;

	if (is_xrc) {
		srq->xrcd = rnp_handle_find(ctx, RNP_KIND_XRCD, a->xrcd);
		srq->cq = rnp_handle_find(ctx, RNP_KIND_CQ, a->cq);
	}
	if (!rnp_pd_find(ctx, a->pd) || (is_xrc && (!srq->xrcd || !srq->cq)))
		rc = EINVAL;
	if (!rc) {
		srq->pd = a->pd;
		rnp_pd_get(a->pd);
		count_uses(srq, 1);
	}
	rnp_unlock_engine(ctx->engine, cancel);
	return rc;
}

/* Frees an SRQ that was not added to the device. */
static void free_srq(struct rnp_srq *srq)
{
	struct rnp_context *ctx = srq->ctx;
	int cancel;

	rnp_buffer_free(&srq->ring);
	free(srq->core);
	if (srq->pd) {
		cancel = rnp_lock_engine(ctx->engine);
		count_uses(srq, -1);
		rnp_unlock_engine(ctx->engine, cancel);
		rnp_pd_put(srq->pd);
	}
	rnp_object_free(RNP_KIND_SRQ, srq);
}

static struct rnp_buffer new_ring(struct rnp_engine *e, uint32_t max_wr, uint32_t max_sge)
{
	return (struct rnp_buffer){ .len = rn_srq_ring_size(max_wr, max_sge),
				    .resource = RNP_RESOURCE_SRQ,
				    .engine = e };
}

/* Allocates the core's SRQ and the ring of WQEs. Returns 0 or a positive errno. */
static int alloc_ring(struct rnp_srq *srq, const struct ibv_srq_init_attr_ex *a)
{
	srq->core = malloc(rn_srq_size());
	srq->ring = new_ring(srq->ctx->engine, a->attr.max_wr, a->attr.max_sge);
	return !srq->core || rnp_buffer_alloc(&srq->ring, a->pd, RING_ALIGN) ? ENOMEM : 0;
}

static struct rnp_srq *alloc_srq(struct rnp_context *ctx,
				 const struct ibv_srq_init_attr_ex *a)
{
	struct rnp_srq *srq = rnp_object_new(RNP_KIND_SRQ, NULL);

	if (!srq)
		return NULL;
	srq->ctx = ctx;
	srq->max_sge = a->attr.max_sge;
	srq->base.context = &ctx->base;
	srq->base.srq_context = a->srq_context;
	srq->base.pd = a->pd;
	pthread_mutex_init(&srq->base.mutex, NULL);
	pthread_cond_init(&srq->base.cond, NULL);
	return srq;
}

static void record_srq(const struct rnp_context *ctx, struct rnp_srq *srq, uint32_t pdn)
{
	const struct rn_stats_object o = {
		.kind = RN_STATS_SRQ,
		.number = srq->number,
		.ctxn = (uint32_t)ctx->file,
		.pdn = pdn,
		.type = srq->xrcd ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.cqn = srq->cq ? srq->cq->number : 0,
	};

	srq->record = rnp_engine_record(ctx->engine, &o);
}

/* Adds the SRQ to the device. The engine lock is held. Returns 0 or a positive errno. */
static int add_srq(struct rnp_srq *srq, const struct ibv_srq_attr *attr)
{
	struct rnp_context *ctx = srq->ctx;
	struct rn_srq_init init = {
		.pd = to_rnp_pd(srq->pd)->number,
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		.xrcd = srq->xrcd ? srq->xrcd->number : 0,
		.cq = srq->cq ? &srq->cq->core : NULL,
		.owner = srq,
	};
	int rc = -rnp_hca_add(ctx->hca, RNP_HCA_SRQ);

	if (rc)
		return rc;
	init.srqn = rnp_hca_new_srqn(ctx->hca);
	rn_srq_create(rnp_engine_dev(ctx->engine), srq->core, srq->ring.addr, &init);
	srq->base.handle = srq->number = init.srqn;
	record_srq(ctx, srq, init.pd);
	LIST_INSERT_HEAD(&ctx->srqs, srq, link);
	rnp_handle_add(ctx, RNP_KIND_SRQ, srq);
	return 0;
}

/* Creates an SRQ of any type. Returns NULL with errno. */
static struct ibv_srq *new_srq(struct rnp_context *ctx,
			       const struct ibv_srq_init_attr_ex *a)
{
	int rc = rnp_is_fork_child(ctx) ? EIO : check_init(ctx, a);
	struct rnp_srq *srq = rc ? NULL : alloc_srq(ctx, a);
	int cancel;

	if (!srq) {
		errno = rc ? rc : ENOMEM;
		return NULL;
	}
	rc = find_home(srq, a);
	if (!rc)
		rc = alloc_ring(srq, a);
	if (!rc) {
		cancel = rnp_lock_engine(ctx->engine);
		rc = add_srq(srq, &a->attr);
		rnp_unlock_engine(ctx->engine, cancel);
	}
	if (!rc)
		return &srq->base;
	free_srq(srq);
	errno = rc;
	return NULL;
}

struct ibv_srq *rnp_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	const struct ibv_srq_init_attr_ex a = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
		.pd = pd,
	};

	return new_srq(to_rnp_context(pd->context), &a);
}

struct ibv_srq *rnp_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr_ex a = *attr;

	if (!(a.comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		a.srq_type = IBV_SRQT_BASIC;
	return new_srq(to_rnp_context(context), &a);
}

/* Changes the limit and the size of an SRQ as @mask says, or neither if one of them is
 * not possible. The engine lock is held.
 * @ring: a new ring if the size changes; out: the ring that the caller has to free.
 * Returns 0 or -errno.
 */
static int change_srq(struct rnp_srq *srq, const struct ibv_srq_attr *attr, int mask,
		      struct rnp_buffer *ring)
{
	struct rn_srq_attr now;
	uint32_t limit, room;
	void *old;
	int rc = 0;

	rn_srq_query(srq->core, &now);
	limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : now.limit;
	room = mask & IBV_SRQ_MAX_WR ? attr->max_wr : now.max_wr;
	if (limit > room)
		return -EINVAL;
	if (mask & IBV_SRQ_MAX_WR) {
		rn_srq_set_limit(srq->core, 0);
		rc = rn_srq_resize(srq->core, ring->addr, room, &old);
		if (rc) {
			limit = now.limit;
		} else {
			struct rnp_buffer was = srq->ring;

			assert(was.addr == old);
			srq->ring = *ring;
			*ring = was;
		}
	}
	rn_srq_set_limit(srq->core, limit);
	return rc;
}

/* Finds the SRQ that the program has passed, and counts one more user of it, so that it
 * cannot be destroyed. Returns NULL if there is no such SRQ.
 */
static struct rnp_srq *hold_srq(struct rnp_context *ctx, const struct ibv_srq *base)
{
	int cancel = rnp_lock_engine(ctx->engine);
	struct rnp_srq *srq = rnp_handle_find(ctx, RNP_KIND_SRQ, base);

	if (srq)
		srq->qps++;
	rnp_unlock_engine(ctx->engine, cancel);
	return srq;
}

static int check_modify(const struct rnp_context *ctx, const struct ibv_srq_attr *attr,
			int mask)
{
	if (rnp_is_fork_child(ctx))
		return EIO;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR && (attr->max_wr < 1 || attr->max_wr > RN_WR_MAX))
		return EINVAL;
	return 0;
}

int rnp_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_buffer ring = { 0 };
	int rc = check_modify(ctx, attr, mask), cancel;
	struct rnp_srq *srq;

	if (rc)
		return rc;
	srq = hold_srq(ctx, base);
	if (!srq)
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR) {
		ring = new_ring(ctx->engine, attr->max_wr, srq->max_sge);
		rc = rnp_buffer_alloc(&ring, srq->pd, RING_ALIGN);
	}
	cancel = rnp_lock_engine(ctx->engine);
	if (!rc)
		rc = change_srq(srq, attr, mask, &ring);
	srq->qps--;
	rnp_unlock_engine(ctx->engine, cancel);
	rnp_buffer_free(&ring);
	return -rc;
}

int rnp_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	const struct rnp_srq *srq;
	struct rn_srq_attr now;
	int cancel;

	if (rnp_is_fork_child(ctx))
		return EIO;
	cancel = rnp_lock_engine(ctx->engine);
	srq = rnp_handle_find(ctx, RNP_KIND_SRQ, base);
	if (srq)
		rn_srq_query(srq->core, &now);
	rnp_unlock_engine(ctx->engine, cancel);
	if (!srq)
		return EINVAL;
	*attr = (struct ibv_srq_attr){
		.max_wr = now.max_wr,
		.max_sge = now.max_sge,
		.srq_limit = now.limit,
	};
	return 0;
}

int rnp_get_srq_num(struct ibv_srq *base, uint32_t *srq_num)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx); /* works in a fork() child, too */
	const struct rnp_srq *srq = rnp_handle_find(ctx, RNP_KIND_SRQ, base);

	if (srq)
		*srq_num = srq->number;
	rnp_unlock_destroyed(ctx, lock);
	return srq ? 0 : EINVAL;
}

void rnp_srq_detach(struct rnp_srq *srq)
{
	rn_srq_destroy(srq->core);
	count_uses(srq, -1);
	rnp_engine_forget(srq->ctx->engine, srq->record);
	rnp_hca_remove(srq->ctx->hca, RNP_HCA_SRQ);
	LIST_REMOVE(srq, link);
}

static void drain_events(struct rnp_srq *srq)
{
	struct rnp_awaited acks = { .mutex = &srq->base.mutex,
				    .cond = &srq->base.cond,
				    .acked = &srq->base.events_completed };

	if (srq->async_events)
		srq->async_events -= rnp_event_pipe_purge(&srq->ctx->async, &srq->base);
	acks.read = srq->async_events;
	rnp_await_acks(&acks);
}

/* Removes the SRQ from the device, and from the table by which the program names it. If
 * the engine lock is not held, because @lock is RNP_NO_LOCK, does only the latter.
 * Returns 0 or a positive errno.
 */
static int end_srq(struct rnp_context *ctx, struct rnp_srq *srq, int lock)
{
	if (!srq)
		return ENOENT;
	if (lock != RNP_NO_LOCK) {
		if (srq->qps > 0)
			return EBUSY;
		rnp_srq_detach(srq);
	}
	rnp_handle_remove(ctx, RNP_KIND_SRQ, srq);
	free(srq->core);
	srq->core = NULL; /* the next post sees that the SRQ was destroyed */
	return 0;
}

int rnp_destroy_srq(struct ibv_srq *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_srq *srq = rnp_handle_find(ctx, RNP_KIND_SRQ, base);
	int err = end_srq(ctx, srq, lock);

	rnp_unlock_destroyed(ctx, lock);
	if (err)
		return err;
	if (lock != RNP_NO_LOCK) {
		drain_events(srq);
		pthread_cond_destroy(&base->cond);
		pthread_mutex_destroy(&base->mutex);
	}
	rnp_buffer_free(&srq->ring);
	rnp_pd_put(srq->pd);
	rnp_object_free(RNP_KIND_SRQ, srq);
	return 0;
}

/* ----------------------------------------------------------------------- XRC domains */
/* A domain may be identified by the inode of a file: each ibv_open_xrcd() with a
 * descriptor of that file, in this process and on this device, returns a handle on the
 * same domain. A kernel shares domains between processes, too; here a target QP and its
 * SRQs are in one process.
 */
struct rnp_xrc_domain {
	LIST_ENTRY(rnp_xrc_domain) link;
	uint32_t number;
	unsigned handles;
	dev_t dev;
	ino_t ino;
	/* A copy of the descriptor by which the program named the file. While it is open,
	 * no other file gets the same inode number. -1: the domain is not identified by a
	 * file.
	 */
	int fd;
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

/* Returns in *@out the XRC domain that is identified by the file @fd, or makes a new one.
 * The engine lock is held. Returns 0, or the positive errno that a kernel would return.
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

	if (rnp_is_fork_child(ctx))
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
		xrcd = rnp_object_new(RNP_KIND_XRCD, NULL);
		rc = xrcd ? 0 : ENOMEM;
	}
	if (!rc) {
		cancel = rnp_lock_engine(ctx->engine);
		rc = get_domain(ctx->hca, attr->fd, attr->oflags, &xrcd->domain);
		if (!rc) {
			xrcd->base.context = context;
			xrcd->number = xrcd->domain->number;
			LIST_INSERT_HEAD(&ctx->xrcds, xrcd, link);
			rnp_handle_add(ctx, RNP_KIND_XRCD, xrcd);
		}
		rnp_unlock_engine(ctx->engine, cancel);
	}
	if (rc) {
		rnp_object_free(RNP_KIND_XRCD, xrcd);
		errno = rc;
		return NULL;
	}
	return &xrcd->base;
}

void rnp_xrcd_detach(struct rnp_xrcd *xrcd)
{
	LIST_REMOVE(xrcd, link);
	put_domain(xrcd->domain);
}

int rnp_close_xrcd(struct ibv_xrcd *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx), err = 0;
	struct rnp_xrcd *xrcd = rnp_handle_find(ctx, RNP_KIND_XRCD, base);

	if (!xrcd)
		err = ENOENT;
	else if (lock != RNP_NO_LOCK && atomic_load(&xrcd->refs))
		err = EBUSY;
	if (!err) {
		rnp_handle_remove(ctx, RNP_KIND_XRCD, xrcd);
		if (lock != RNP_NO_LOCK)
			rnp_xrcd_detach(xrcd);
	}
	rnp_unlock_destroyed(ctx, lock);
	if (!err)
		rnp_object_free(RNP_KIND_XRCD, xrcd);
	return err;
}

/* ------------------------------------------------------------------------ target QPs */
static int check_open_attr(const struct rnp_context *ctx,
			   const struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (attr->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT))
		return EOPNOTSUPP;
	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV)
		return EINVAL;
	return 0;
}

/* Returns a handle on the QP with number @qpn; NULL if there is no such QP, or it is not
 * a target QP of the XRC domain @xrcd.
 */
static struct rnp_qp *find_target(struct rnp_engine *e, const struct rnp_xrcd *xrcd,
				  uint32_t qpn)
{
	const struct rn_qp *core = rn_dev_find_qp(rnp_engine_dev(e), qpn);
	struct rnp_qp *qp = core ? rn_qp_owner(core) : NULL;

	return qp && qp->xrcd && qp->xrcd->domain == xrcd->domain ? qp : NULL;
}

/* Makes @qp one more handle on the target QP with number @qpn. The engine lock is held.
 * Returns 0; EINVAL: there is no such QP in the XRC domain.
 */
static int share_target(struct rnp_qp *qp, const struct ibv_xrcd *xrcd, uint32_t qpn)
{
	struct rnp_qp *other = NULL;

	qp->xrcd = rnp_handle_find(qp->ctx, RNP_KIND_XRCD, xrcd);
	if (qp->xrcd)
		other = find_target(qp->ctx->engine, qp->xrcd, qpn);
	if (!other)
		return EINVAL;
	qp->core = other->core;
	qp->stats = other->stats;
	qp->base.qp.qp_num = qp->base.qp.handle = qpn;
	qp->base.qp.state = (enum ibv_qp_state)rn_qp_state(qp->core);
	qp->next_handle = other->next_handle;
	other->next_handle = qp;
	LIST_INSERT_HEAD(&qp->ctx->qps, qp, link);
	atomic_fetch_add(&qp->xrcd->refs, 1);
	rnp_handle_add(qp->ctx, RNP_KIND_QP, qp);
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
		cancel = rnp_lock_engine(ctx->engine);
		rc = share_target(qp, attr->xrcd, attr->qp_num);
		rnp_unlock_engine(ctx->engine, cancel);
	}
	if (rc) {
		rnp_object_free(RNP_KIND_QP, qp);
		errno = rc;
		return NULL;
	}
	return &qp->base.qp;
}
