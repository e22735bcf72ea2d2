/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mw.c - memory windows: what BIND_MW and the invalidations do. See mw.h. */
#include "mw.h"

/* LOCAL_WRITE says nothing about a window; programs set it as they do for regions. */
#define BIND_KNOWN (RN_ACCESS_REMOTE_MASK | RN_ACCESS_LOCAL_WRITE | RN_ACCESS_ZERO_BASED)

static struct rn_mr *find(const struct rn_qp *qp, uint32_t key)
{
	struct rn_hnode *node = rn_htab_find(&qp->dev->mrs, key >> RN_KEY_INDEX_SHIFT);

	return node ? RN_CONTAINER_OF(node, struct rn_mr, node) : NULL;
}

static bool is_window(const struct rn_mr *mr)
{
	return mr->kind == RN_MR_KIND_MW1 || mr->kind == RN_MR_KIND_MW2;
}

/* The window that a BIND_MW names by its index; NULL if it cannot be bound. */
static struct rn_mr *find_bindable(const struct rn_qp *qp, uint32_t key)
{
	struct rn_mr *mw = find(qp, key);

	if (!mw || !is_window(mw) || mw->pd != qp->pd) /* C10-72 */
		return NULL;
	if (mw->kind == RN_MR_KIND_MW2 && mw->region) /* o10-37.2.30 */
		return NULL;
	return mw;
}

/* What the region must grant besides MW_BIND: a peer's writes are local ones, too
 * (C10-74), and only some memory can be flushed.
 */
static uint32_t needed_of_region(uint32_t access)
{
	const uint32_t flush = RN_ACCESS_FLUSH_GLOBAL | RN_ACCESS_FLUSH_PERSISTENT;
	uint32_t needed = RN_ACCESS_MW_BIND | (access & flush); /* C10-73 */

	if (access & (RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_ATOMIC))
		needed |= RN_ACCESS_LOCAL_WRITE;
	return needed;
}

/* The region that the window can be bound to; NULL: it cannot. */
static struct rn_mr *find_region(const struct rn_qp *qp, const struct rn_send_wqe *wqe,
				 const struct rn_wqe_bind *bind)
{
	struct rn_mr *region = find(qp, bind->region);
	uint32_t needed = needed_of_region(bind->access);

	if (!region || region->lkey != bind->region || !region->valid)
		return NULL;
	if (region->kind != RN_MR_KIND_MR || region->pd != qp->pd)
		return NULL;
	if ((region->access & needed) != needed ||
	    (region->access & RN_ACCESS_ZERO_BASED))
		return NULL;
	/* C10-75 */
	return rn_mr_contains(region, wqe->remote_addr, bind->length) ? region : NULL;
}

static bool is_bind_sane(const struct rn_mr *mw, const struct rn_wqe_bind *bind)
{
	if (bind->access & ~BIND_KNOWN)
		return false;
	if (mw->kind == RN_MR_KIND_MW1)
		return !(bind->access & RN_ACCESS_ZERO_BASED); /* o10-36.2.2 */
	return bind->length > 0;			       /* o10-37.2.40 */
}

static void enlist(struct rn_mr *mw, struct rn_qp *qp)
{
	mw->qpn = qp->qpn;
	mw->next_window = qp->windows;
	mw->window_link = &qp->windows;
	if (qp->windows)
		qp->windows->window_link = &mw->next_window;
	qp->windows = mw;
}

void rn_mw_unbind(struct rn_mr *mw)
{
	mw->valid = false;
	if (!mw->region)
		return;
	assert(mw->region->windows > 0);
	mw->region->windows--;
	mw->region = NULL;
	if (mw->kind != RN_MR_KIND_MW2)
		return;
	*mw->window_link = mw->next_window;
	if (mw->next_window)
		mw->next_window->window_link = mw->window_link;
}

void rn_mw_end_all(struct rn_dev *dev, const struct rn_mr *region)
{
	for (struct rn_hnode *n = rn_htab_first(&dev->mrs); n && region->windows;
	     n = rn_htab_next(&dev->mrs, n)) {
		struct rn_mr *mw = RN_CONTAINER_OF(n, struct rn_mr, node);

		if (mw->region == region)
			rn_mw_unbind(mw);
	}
}

enum rn_wc_status rn_mw_bind(struct rn_qp *qp, struct rn_send_wqe *wqe)
{
	const struct rn_wqe_bind *bind = rn_wqe_bind(wqe);
	struct rn_mr *mw = find_bindable(qp, wqe->rkey);
	struct rn_mr *region = NULL;

	if (!mw || !is_bind_sane(mw, bind))
		return RN_WC_MW_BIND_ERR;
	if (bind->length) {
		region = find_region(qp, wqe, bind);
		if (!region)
			return RN_WC_MW_BIND_ERR;
	}
	rn_mw_unbind(mw);
	mw->lkey = wqe->rkey;
	if (!region)
		return RN_WC_SUCCESS;
	mw->va = bind->access & RN_ACCESS_ZERO_BASED ? 0 : wqe->remote_addr;
	mw->length = bind->length;
	mw->iova_base = region->iova_base + (wqe->remote_addr - region->va);
	mw->access = (bind->access & RN_ACCESS_REMOTE_MASK) |
		     (region->access & RN_ACCESS_RELAXED_ORDERING);
	mw->region = region;
	mw->valid = true;
	region->windows++;
	if (mw->kind == RN_MR_KIND_MW2)
		enlist(mw, qp);
	return RN_WC_SUCCESS;
}

bool rn_mw_invalidate(struct rn_qp *qp, uint32_t key)
{
	struct rn_mr *mw = find(qp, key);

	/* o10-37.2.26: windows of type 1 and regions are not invalidated. */
	if (!mw || mw->lkey != key || mw->kind != RN_MR_KIND_MW2 || mw->pd != qp->pd)
		return false;
	if (mw->region && mw->qpn != qp->qpn)
		return false;
	rn_mw_unbind(mw);
	return true;
}

void rn_mw_forget_qp(struct rn_qp *qp)
{
	while (qp->windows)
		rn_mw_unbind(qp->windows);
}
