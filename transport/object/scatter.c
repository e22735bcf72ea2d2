/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scatter.c - between packets and the memory that scatter/gather entries name. */
#include "memory.h"

#include <string.h>

#include "srq.h"
#include "syndrome.h"

/* A position in a list of SGEs. */
struct cursor {
	const struct rn_sge *sg;
	uint32_t num_sge; /* left, the current one included */
	uint32_t skip;	  /* bytes of the current one that lie behind us */
	uint32_t pd;	  /* protection domain that the keys must be of */
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

/* Bytes of the piece at the cursor, at most @len; 0 at the end of the list. Moves on. */
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

/* Most lists have one entry, and of those that have more the first is the header. */
static bool is_in_first(const struct rn_sge *sg, uint32_t num_sge, uint32_t offset,
			uint32_t len)
{
	return num_sge > 0 && offset <= sg->len && len <= sg->len - offset;
}

static bool fits(struct cursor c, uint32_t len)
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

/* @flags, @msg: see struct rn_mem_attr. */
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

/* A list, and whose: what its keys must be of. */
struct list {
	const struct rn_sge *sg;
	uint32_t num_sge, pd;
};

// NOLINTNEXTLINE(readability-function-size): as rn_scatter(), and what the bytes are
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
	if (!fits(c, len))
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

// NOLINTNEXTLINE(readability-function-size): those of rn_mem_ops.read
enum rn_mem_result rn_mem_read(struct rn_dev *dev, void *dst, rn_iova src, uint32_t len,
			       struct rn_mem_attr attr, uint64_t tag,
			       struct rn_crc32_part *part)
{
	const struct rn_mem_ops *mem = dev->cfg.mem;

	if (part && mem->read_part)
		return mem->read_part(dev->cfg.mem_ctx, dst, src, len, attr, part);
	return mem->read(dev->cfg.mem_ctx, dst, src, len, attr, tag);
}

/* One entry or a part of it, at @use; as rn_gather(). */
// NOLINTNEXTLINE(readability-function-size): what, where it goes and who hears of it
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

// NOLINTNEXTLINE(readability-function-size): a list, a range of it and where it goes
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

		assert(n > 0); /* the WQE's length is the sum of its SGEs */
		/* Of several pieces none is the whole payload. */
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
