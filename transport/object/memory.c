/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - memory regions and windows, the table of their keys, and copying between
 * packets and the memory that SGEs describe.
 */
#include "memory.h"

#include <errno.h>
#include <string.h>

#include "rocin/cqe.h"
#include "srq.h"
#include "transport/container/key_table.h"

/* ------------------------------------------------- initialising regions and windows */
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
	/* Checks the address of the last byte, not of the byte after it, because a region
	 * may end at 2^64.
	 */
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

/* ------------------------------------------------- binding and invalidating windows */
/* Access flags that a BIND_MW may have. LOCAL_WRITE has no meaning for a window, but
 * programs set it as they do for regions.
 */
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

/* Finds the window that a BIND_MW names by the index in @key. Return: the window; NULL if
 * there is none with that index, or if it may not be bound.
 */
static struct rn_mr *find_bindable(const struct rn_qp *qp, uint32_t key)
{
	struct rn_mr *mw = find_key(qp, key);

	if (!mw || !is_window(mw) || mw->pd != qp->pd) /* IBTA C10-72: same PD */
		return NULL;
	/* IBTA o10-37.2.30: a type 2 window must not be bound already */
	if (mw->kind == RN_MR_KIND_MW2 && mw->region)
		return NULL;
	return mw;
}

/* Returns the access rights that a region must have so that a window with the rights
 * @access can be bound to it. These are MW_BIND; LOCAL_WRITE if the window allows remote
 * writes or atomics (C10-74); and the FLUSH rights of the window.
 */
static uint32_t needed_of_region(uint32_t access)
{
	const uint32_t flush = RN_ACCESS_FLUSH_GLOBAL | RN_ACCESS_FLUSH_PERSISTENT;
	uint32_t needed = RN_ACCESS_MW_BIND | (access & flush); /* MW_BIND: IBTA C10-73 */

	if (access & (RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_ATOMIC))
		needed |= RN_ACCESS_LOCAL_WRITE;
	return needed;
}

/* Finds the region to which a BIND_MW binds a window. Return: the region; NULL if there
 * is none, or if the window may not be bound to it.
 */
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
	/* IBTA C10-75: the window must lie within the region. */
	return rn_mr_contains(region, wqe->remote_addr, bind->length) ? region : NULL;
}

/* Checks the parameters of a BIND_MW: a type 1 window must not be zero-based (IBTA
 * o10-36.2.2), and a type 2 window must not have length 0 (IBTA o10-37.2.40).
 */
static bool is_bind_sane(const struct rn_mr *mw, const struct rn_wqe_bind *bind)
{
	if (bind->access & ~BIND_KNOWN)
		return false;
	if (mw->kind == RN_MR_KIND_MW1)
		return !(bind->access & RN_ACCESS_ZERO_BASED);
	return bind->length > 0;
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

/* Ends the binding of a window, if it is bound. */
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

/* Ends the bindings of all windows that are bound to the region. */
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

/* ----------------------------------------------- the device's table of keys */
void rn_dev_add_mr(struct rn_dev *dev, struct rn_mr *mr)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_ADD_MR, .object = mr, .u.mr = mr);
	int rc = rn_htab_insert(&dev->mrs, &mr->node);

	assert(rc == 0);
}

void rn_dev_remove_mr(struct rn_dev *dev, struct rn_mr *mr)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_REMOVE_MR, .object = mr);

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

/* ------------------------------------------------------ checks of L_Keys and R_Keys */
/* Kinds of objects that an L_Key (LOCAL) or R_Key (REMOTE) may stand for. */
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
	/* Only one queue pair may access a window of type 2B, the one that has bound it
	 * (IBTA Vol 1, 10.6.7.2.5).
	 */
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

/* -------------------------------------------------------------- lists of SGEs */
/* A position in a list of SGEs. */
struct cursor {
	const struct rn_sge *sg;
	uint32_t num_sge; /* number of SGEs left, including the current one */
	uint32_t skip;	  /* offset in the current SGE */
	uint32_t pd;	  /* protection domain that the L_Keys must belong to */
};

static struct cursor seek(const struct rn_sge *sg, uint32_t num_sge, uint32_t offset,
			  uint32_t pd)
{
	struct cursor c = { .sg = sg, .num_sge = num_sge, .skip = offset, .pd = pd };

	while (c.num_sge && c.skip >= c.sg->len) {
		c.skip -= c.sg->len;
		c.sg++;
		c.num_sge--;
	}
	return c;
}

/* Fills in @use for the next bytes at the cursor: at most @len bytes, and at most the
 * rest of the present SGE. Moves the cursor behind them. Return: how many bytes these
 * are; 0 at the end of the list.
 */
static uint32_t next_piece(struct cursor *c, uint32_t len, struct rn_key_use *use)
{
	uint32_t n;

	while (c->num_sge && c->sg->len == c->skip) {
		c->sg++;
		c->num_sge--;
		c->skip = 0;
	}
	if (!c->num_sge)
		return 0;
	n = c->sg->len - c->skip;
	n = n < len ? n : len;
	use->key = c->sg->lkey;
	use->pd = c->pd;
	use->va = c->sg->addr + c->skip;
	use->len = n;
	c->skip += n;
	return n;
}

/* Returns true if the range lies in the first SGE. This is the usual case: most lists
 * have one SGE, and in longer lists the first is often a header that is read alone.
 */
static bool is_in_first(const struct rn_sge *sg, uint32_t num_sge, uint32_t offset,
			uint32_t len)
{
	return num_sge > 0 && offset <= sg->len && len <= sg->len - offset;
}

static bool list_fits(struct cursor c, uint32_t len)
{
	uint64_t room = 0;

	if (c.num_sge)
		room = c.sg->len - c.skip;
	for (uint32_t i = 1; i < c.num_sge && room < len; i++)
		room += c.sg[i].len;
	return room >= len;
}

static inline bool open_piece(struct rn_qp *qp, const struct rn_key_use *use,
			      rn_iova *iova, struct rn_mr **mr)
{
	enum rn_key_result result = rn_mr_check_local(&qp->dev->mrs, use, iova, mr);

	if (result != RN_KEY_OK)
		qp->why = (uint8_t)(RN_SYN_LKEY + result);
	return result == RN_KEY_OK;
}

static void note_fault(struct rn_qp *qp)
{
	rn_count(qp->dev, RN_STAT_MEM_FAULT);
	qp->why = RN_SYN_LOCAL_MEMORY;
}

/* --------------------------------------------------------- packet to memory */
/* Copies bytes from a packet to the memory that @use describes, which is an SGE or a part
 * of one. @flags and @msg are those of struct rn_mem_attr.
 */
static enum rn_wc_status scatter_piece(struct rn_qp *qp, const struct rn_key_use *use,
				       const uint8_t *from, uint32_t flags, uint32_t msg)
{
	const struct rn_dev_cfg *cfg = &qp->dev->cfg;
	struct rn_mr *mr;
	rn_iova iova;

	if (!open_piece(qp, use, &iova, &mr))
		return RN_WC_LOC_PROT_ERR;
	if (mr->kind == RN_MR_KIND_NULL)
		return RN_WC_SUCCESS;
	if (cfg->mem->write(cfg->mem_ctx, iova, from, (uint32_t)use->len,
			    rn_mem_attr_of(qp->qpn, flags | rn_mem_flags(mr), msg)) ==
	    RN_MEM_DONE)
		return RN_WC_SUCCESS;
	note_fault(qp);
	return RN_WC_LOC_PROT_ERR;
}

/* A list of SGEs, and the protection domain that its L_Keys must belong to. */
struct list {
	const struct rn_sge *sg;
	uint32_t num_sge, pd;
};

// NOLINTNEXTLINE(readability-function-size): each parameter is needed
static enum rn_wc_status scatter(struct rn_qp *qp, struct list list, uint32_t offset,
				 const void *src, uint32_t len, uint32_t flags,
				 uint32_t msg)
{
	struct rn_key_use use = { .pd = list.pd, .access = RN_ACCESS_LOCAL_WRITE };
	const uint8_t *from = src;
	struct cursor c;

	if (len == 0)
		return RN_WC_SUCCESS;
	if (is_in_first(list.sg, list.num_sge, offset, len)) {
		use.key = list.sg->lkey;
		use.va = list.sg->addr + offset;
		use.len = len;
		return scatter_piece(qp, &use, from, flags, msg);
	}
	c = seek(list.sg, list.num_sge, offset, list.pd);
	if (!list_fits(c, len))
		return RN_WC_LOC_LEN_ERR;
	while (len) {
		uint32_t n = next_piece(&c, len, &use);
		enum rn_wc_status status = scatter_piece(qp, &use, from, flags, msg);

		if (status != RN_WC_SUCCESS)
			return status;
		from += n;
		len -= n;
	}
	return RN_WC_SUCCESS;
}

enum rn_wc_status rn_scatter(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, const void *src, uint32_t len)
{
	const struct list list = { sg, num_sge, rn_qp_recv_pd(qp) };

	return scatter(qp, list, offset, src, len, 0, rn_rsp_next_msn(qp));
}

enum rn_wc_status rn_scatter_response(struct rn_qp *qp, struct rn_send_wqe *wqe,
				      uint32_t offset, const void *src, uint32_t len)
{
	const struct list list = { rn_wqe_sge(qp, wqe), wqe->num_sge, qp->pd };

	return scatter(qp, list, offset, src, len, RN_MEM_RESPONSE, qp->req.sq.head);
}

/* --------------------------------------------------------- memory to packet */
// NOLINTNEXTLINE(readability-function-size): the parameters of rn_mem_ops.read
enum rn_mem_result rn_mem_read(struct rn_dev *dev, void *dst, rn_iova src, uint32_t len,
			       struct rn_mem_attr attr, uint64_t tag,
			       struct rn_crc32_part *part)
{
	const struct rn_mem_ops *mem = dev->cfg.mem;

	if (part && mem->read_part)
		return mem->read_part(dev->cfg.mem_ctx, dst, src, len, attr, part);
	return mem->read(dev->cfg.mem_ctx, dst, src, len, attr, tag);
}

/* Copies to a packet the bytes of memory that @use describes, which are an SGE or a part
 * of one. The other arguments, and the result, are those of rn_gather().
 */
// NOLINTNEXTLINE(readability-function-size): each parameter is needed
static inline enum rn_mem_result gather_piece(struct rn_qp *qp,
					      const struct rn_key_use *use, void *dst,
					      uint64_t tag, uint32_t *outstanding,
					      struct rn_crc32_part *part)
{
	enum rn_mem_result result;
	struct rn_mr *mr;
	rn_iova iova;

	if (!open_piece(qp, use, &iova, &mr))
		return RN_MEM_FAULT;
	if (mr->kind == RN_MR_KIND_NULL) {
		memset(dst, 0, (uint32_t)use->len);
		return RN_MEM_DONE;
	}
	result = rn_mem_read(qp->dev, dst, iova, (uint32_t)use->len,
			     rn_mem_attr_of(qp->qpn, rn_mem_flags(mr), qp->req.cur), tag,
			     part);
	if (result == RN_MEM_FAULT)
		note_fault(qp);
	else if (result == RN_MEM_PENDING)
		(*outstanding)++;
	return result;
}

// NOLINTNEXTLINE(readability-function-size): each parameter is needed
enum rn_mem_result rn_gather(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, void *dst, uint32_t len, uint64_t tag,
			     uint32_t *outstanding, struct rn_crc32_part *part)
{
	struct rn_key_use use = { .pd = qp->pd };
	enum rn_mem_result result = RN_MEM_DONE;
	uint8_t *to = dst;
	struct cursor c;

	if (is_in_first(sg, num_sge, offset, len)) {
		use.key = sg->lkey;
		use.va = sg->addr + offset;
		use.len = len;
		return len ? gather_piece(qp, &use, dst, tag, outstanding, part)
			   : RN_MEM_DONE;
	}
	c = seek(sg, num_sge, offset, qp->pd);
	while (len) {
		uint32_t n = next_piece(&c, len, &use);
		enum rn_mem_result r;

		assert(n > 0); /* the length of the WQE is the sum of its SGEs */
		/* @part is meant for the CRC of the whole payload, so it is passed on
		 * only if the payload is a single piece.
		 */
		r = gather_piece(qp, &use, to, tag, outstanding,
				 to == dst && n == len ? part : NULL);
		if (r == RN_MEM_FAULT)
			return RN_MEM_FAULT;
		if (r == RN_MEM_PENDING)
			result = RN_MEM_PENDING;
		to += n;
		len -= n;
	}
	return result;
}
