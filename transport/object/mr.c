/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr.c - memory regions and windows: judging accesses, binding, the table of keys. */
#include "memory.h"

#include <errno.h>

#include "transport/container/key_table.h"
#include "transport/qp/qp.h"

/* -------------------------------------------------------------------- objects */
#define ACCESS_KNOWN                                                         \
	(RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_MASK | RN_ACCESS_MW_BIND | \
	 RN_ACCESS_ZERO_BASED | RN_ACCESS_ON_DEMAND | RN_ACCESS_HUGETLB |    \
	 RN_ACCESS_OPTIONAL_RANGE)

int rn_mr_init(struct rn_mr *mr, const struct rn_mr_attr *attr)
{
	uint64_t va = attr->access & RN_ACCESS_ZERO_BASED ? 0 : attr->va;

	if (attr->access & ~ACCESS_KNOWN)
		return -EINVAL;
	if (attr->access & (RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_ATOMIC) &&
	    !(attr->access & RN_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	/* The last byte, not the end: a region may reach up to 2^64. */
	if (attr->length > 0 && va + (attr->length - 1) < va)
		return -EINVAL;

	*mr = (struct rn_mr){
		.node = { .key = attr->key >> RN_KEY_INDEX_SHIFT },
		.lkey = attr->key,
		.pd = attr->pd,
		.va = va,
		.length = attr->length,
		.iova_base = attr->iova_base,
		.access = attr->access,
		.kind = RN_MR_KIND_MR,
		.valid = true,
	};
	return 0;
}

void rn_mr_init_null(struct rn_mr *mr, uint32_t key, uint32_t pd)
{
	*mr = (struct rn_mr){
		.node = { .key = key >> RN_KEY_INDEX_SHIFT },
		.lkey = key,
		.pd = pd,
		.length = UINT64_MAX,
		.access = RN_ACCESS_LOCAL_WRITE,
		.kind = RN_MR_KIND_NULL,
		.valid = true,
	};
}

void rn_mw_init(struct rn_mr *mr, enum rn_mr_kind kind, uint32_t key, uint32_t pd)
{
	assert(kind == RN_MR_KIND_MW1 || kind == RN_MR_KIND_MW2);
	*mr = (struct rn_mr){
		.node = { .key = key >> RN_KEY_INDEX_SHIFT },
		.lkey = key,
		.pd = pd,
		.kind = kind,
	};
}

/* -------------------------------------------------------------------- windows */
/* LOCAL_WRITE says nothing about a window; programs set it as they do for regions. */
#define BIND_KNOWN (RN_ACCESS_REMOTE_MASK | RN_ACCESS_LOCAL_WRITE | RN_ACCESS_ZERO_BASED)

static struct rn_mr *find_key(const struct rn_qp *qp, uint32_t key)
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
	struct rn_mr *mw = find_key(qp, key);

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
	struct rn_mr *region = find_key(qp, bind->region);
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

static void add_to_qp(struct rn_mr *mw, struct rn_qp *qp)
{
	mw->qpn = qp->qpn;
	mw->next_window = qp->windows;
	mw->window_link = &qp->windows;
	if (qp->windows)
		qp->windows->window_link = &mw->next_window;
	qp->windows = mw;
}

/* End the binding of a window, if it has one. */
static void unbind(struct rn_mr *mw)
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

/* End the bindings of all windows to the region. */
static void unbind_all_of_region(struct rn_dev *dev, const struct rn_mr *region)
{
	for (struct rn_hnode *n = rn_htab_first(&dev->mrs); n && region->windows;
	     n = rn_htab_next(&dev->mrs, n)) {
		struct rn_mr *mw = RN_CONTAINER_OF(n, struct rn_mr, node);

		if (mw->region == region)
			unbind(mw);
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
	unbind(mw);
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
		add_to_qp(mw, qp);
	return RN_WC_SUCCESS;
}

bool rn_mw_invalidate(struct rn_qp *qp, uint32_t key)
{
	struct rn_mr *mw = find_key(qp, key);

	/* o10-37.2.26: windows of type 1 and regions are not invalidated. */
	if (!mw || mw->lkey != key || mw->kind != RN_MR_KIND_MW2 || mw->pd != qp->pd)
		return false;
	if (mw->region && mw->qpn != qp->qpn)
		return false;
	unbind(mw);
	return true;
}

void rn_mw_forget_qp(struct rn_qp *qp)
{
	while (qp->windows)
		unbind(qp->windows);
}

/* ------------------------------------------------------ the table of a device */
void rn_dev_add_mr(struct rn_dev *dev, struct rn_mr *mr)
{
	int rc = rn_htab_insert(&dev->mrs, &mr->node);

	assert(rc == 0);
}

void rn_dev_remove_mr(struct rn_dev *dev, struct rn_mr *mr)
{
	if (mr->region)
		unbind(mr);
	unbind_all_of_region(dev, mr);
	assert(mr->windows == 0);
	rn_htab_remove(&dev->mrs, &mr->node);
}

bool rn_dev_has_mr_index(const struct rn_dev *dev, uint32_t key_index)
{
	return rn_htab_find(&dev->mrs, key_index) != NULL;
}

const struct rn_mr *rn_dev_find_mr(const struct rn_dev *dev, uint32_t key_index)
{
	struct rn_hnode *node = rn_htab_find(&dev->mrs, key_index);

	return node ? RN_CONTAINER_OF(node, struct rn_mr, node) : NULL;
}

/* ------------------------------------------------------------------- accesses */
/* Kinds that each sort of key may stand for. */
enum {
	LOCAL = 1 << RN_MR_KIND_MR | 1 << RN_MR_KIND_NULL,
	REMOTE = 1 << RN_MR_KIND_MR | 1 << RN_MR_KIND_MW1 | 1 << RN_MR_KIND_MW2,
};

static inline enum rn_key_result check_access(const struct rn_htab *tab,
					      const struct rn_key_use *use,
					      unsigned kinds, rn_iova *iova,
					      struct rn_mr **mr_out)
{
	struct rn_hnode *node = rn_htab_find(tab, use->key >> RN_KEY_INDEX_SHIFT);
	struct rn_mr *mr;

	if (!node)
		return RN_KEY_UNKNOWN;
	mr = RN_CONTAINER_OF(node, struct rn_mr, node);
	if (mr->lkey != use->key)
		return RN_KEY_UNKNOWN;
	if (!mr->valid || !(kinds & 1u << mr->kind))
		return RN_KEY_INVALID;
	if (mr->pd != use->pd)
		return RN_KEY_PD;
	/* Type 2B: domain and queue pair. IBTA Vol 1, 10.6.7.2.5. */
	if (mr->kind == RN_MR_KIND_MW2 && mr->qpn != use->qpn)
		return RN_KEY_QP;
	if ((mr->access & use->access) != use->access)
		return RN_KEY_ACCESS;
	if (mr->kind != RN_MR_KIND_NULL && !use->whole &&
	    !rn_mr_contains(mr, use->va, use->len))
		return RN_KEY_RANGE;

	*iova = mr->iova_base + (use->whole ? 0 : use->va - mr->va);
	if (mr_out)
		*mr_out = mr;
	return RN_KEY_OK;
}

enum rn_key_result rn_mr_check_remote(const struct rn_htab *tab,
				      const struct rn_key_use *use, rn_iova *iova,
				      struct rn_mr **mr)
{
	assert(use->access != 0);
	assert((use->access & ~RN_ACCESS_REMOTE_MASK) == 0);
	return check_access(tab, use, REMOTE, iova, mr);
}

enum rn_key_result rn_mr_check_local(const struct rn_htab *tab,
				     const struct rn_key_use *use, rn_iova *iova,
				     struct rn_mr **mr)
{
	assert((use->access & ~RN_ACCESS_LOCAL_WRITE) == 0);
	return check_access(tab, use, LOCAL, iova, mr);
}

bool rn_qp_sge_address(const struct rn_qp *qp, const struct rn_sge *sge, rn_iova *addr)
{
	struct rn_key_use use = {
		.key = sge->lkey, .pd = qp->pd, .va = sge->addr, .len = sge->len
	};
	struct rn_mr *mr;

	return rn_mr_check_local(&qp->dev->mrs, &use, addr, &mr) == RN_KEY_OK &&
	       mr->kind != RN_MR_KIND_NULL;
}

const char *rn_key_result_name(enum rn_key_result result)
{
	static const char *const names[] = {
		[RN_KEY_OK] = "ok",
		[RN_KEY_UNKNOWN] = "unknown key",
		[RN_KEY_INVALID] = "key of an invalid object",
		[RN_KEY_PD] = "key of another protection domain",
		[RN_KEY_QP] = "key of another queue pair's window",
		[RN_KEY_ACCESS] = "missing access right",
		[RN_KEY_RANGE] = "range outside of the region",
	};

	static_assert(RN_ARRAY_SIZE(names) == RN_KEY_RESULT_COUNT, "one name each");
	assert(result < RN_KEY_RESULT_COUNT);
	return names[result];
}
