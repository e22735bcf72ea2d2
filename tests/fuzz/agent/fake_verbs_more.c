/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fake_verbs_more.c - see fake_verbs.h: windows, shared receive queues, XRC, address
 * handles, groups, and the calls ibv_wr_*().
 */
#include <errno.h>

#include "fake_verbs_internal.h"
#include "tests/fuzz/script.h"

static unsigned users_of_xrcds;

/* ------------------------------------------------------------------ windows */
static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	require(pd && (type == IBV_MW_TYPE_1 || type == IBV_MW_TYPE_2));
	if (fake_fails())
		return NULL;
	fake_users_of_pds++;
	mw = fake_make(sizeof(*mw));
	*mw = (struct ibv_mw){ .context = pd->context, .pd = pd, .type = type };
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	fake_users_of_pds--;
	return fake_destroy(mw);
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	require(qp && mw->type == IBV_MW_TYPE_1 && bind->bind_info.mr->pd);
	return fake_fails() ? EINVAL : 0;
}

/* ------------------------------------------------------------ receive queues */
static struct ibv_srq *make_srq(struct ibv_pd *pd)
{
	struct ibv_srq *srq;

	if (fake_fails())
		return NULL;
	fake_users_of_pds++;
	srq = fake_make(sizeof(*srq));
	srq->context = pd->context;
	srq->pd = pd;
	return srq;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	require(pd && init);
	return make_srq(pd);
}

static struct ibv_srq *create_srq_ex(struct ibv_context *ctx,
				     struct ibv_srq_init_attr_ex *init)
{
	struct ibv_srq *srq;

	require(ctx && init->pd && init->xrcd && init->cq);
	srq = make_srq(init->pd);
	if (!srq)
		return NULL;
	srq->srq_context = init->xrcd;
	users_of_xrcds++;
	fake_users_of_cqs++;
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	fake_users_of_pds--;
	if (srq->srq_context) {
		users_of_xrcds--;
		fake_users_of_cqs--;
	}
	return fake_destroy(srq);
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	require(srq && attr && mask == IBV_SRQ_LIMIT);
	return fake_fails() ? EINVAL : 0;
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	*number = 0x51;
	return srq->srq_context ? 0 : EINVAL;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad)
{
	require(srq && !wr->next);
	*bad = wr;
	return fake_fails() ? ENOMEM : 0;
}

/* ----------------------------------------------------------------------- XRC */
static struct ibv_xrcd *open_xrcd(struct ibv_context *ctx,
				  struct ibv_xrcd_init_attr *init)
{
	struct ibv_xrcd *xrcd;

	require(init->fd == -1);
	if (fake_fails())
		return NULL;
	xrcd = fake_make(sizeof(*xrcd));
	xrcd->context = ctx;
	return xrcd;
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
	require(users_of_xrcds == 0);
	return fake_destroy(xrcd);
}

/* --------------------------------------------------------------- queue pairs */
static void wr_start(struct ibv_qp_ex *qp)
{
	require(qp != NULL);
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	require(qp != NULL);
	return fake_fails() ? EINVAL : 0;
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr,
			    const void *bytes)
{
	volatile uint8_t byte = 0;

	(void)rkey;
	(void)addr;
	require(qp != NULL);
	for (unsigned i = 0; i < sizeof(uint64_t); i++)
		byte ^= ((const uint8_t *)bytes)[i];
	(void)byte;
}

/* What libibverbs knows only of those that were made for them. */
struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = (struct ibv_qp_ex *)qp;

	return ex->wr_start ? ex : NULL;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *ctx,
				   struct ibv_qp_init_attr_ex *init)
{
	struct ibv_qp_ex *qp;

	require(init->pd ? init->send_cq != NULL : init->xrcd != NULL);
	if (fake_fails())
		return NULL;
	fake_users_of_pds++;
	fake_users_of_cqs++;
	qp = fake_make(sizeof(*qp));
	qp->qp_base.context = ctx;
	qp->qp_base.pd = init->pd;
	qp->qp_base.qp_type = init->qp_type;
	qp->wr_start = wr_start;
	qp->wr_complete = wr_complete;
	qp->wr_atomic_write = wr_atomic_write;
	return &qp->qp_base;
}

/* A queue pair counts the groups that it is in. */
int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	require(qp && gid && lid == 0);
	if (fake_fails() || qp->handle)
		return EINVAL;
	qp->handle++;
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	require(qp && gid && lid == 0);
	if (!qp->handle)
		return EINVAL;
	qp->handle--;
	return 0;
}

/* ----------------------------------------------------------- address handles */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah;

	require(pd && attr->is_global);
	if (fake_fails())
		return NULL;
	fake_users_of_pds++;
	ah = fake_make(sizeof(*ah));
	ah->pd = pd;
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	fake_users_of_pds--;
	return fake_destroy(ah);
}

void fake_extend(struct verbs_context *ctx)
{
	ctx->context.ops.alloc_mw = alloc_mw;
	ctx->context.ops.dealloc_mw = dealloc_mw;
	ctx->context.ops.bind_mw = bind_mw;
	ctx->context.ops.post_srq_recv = post_srq_recv;
	ctx->create_srq_ex = create_srq_ex;
	ctx->get_srq_num = get_srq_num;
	ctx->open_xrcd = open_xrcd;
	ctx->close_xrcd = close_xrcd;
	ctx->create_qp_ex = create_qp_ex;
}
