/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scatter.c - between packets and the memory that scatter/gather entries name. */
#include <string.h>

#include "rocin/syndrome.h"
#include "scatter.h"
#include "srq.h"

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

static bool fits(struct cursor c, uint32_t len)
{
	uint64_t room = 0;

	if (c.num_sge)
		room = c.sg->len - c.skip;
	for (uint32_t i = 1; i < c.num_sge && room < len; i++)
		room += c.sg[i].len;
	return room >= len;
}

static bool open_piece(struct rn_qp *qp, const struct rn_key_use *use, rn_iova *iova,
		       struct rn_mr **mr)
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
// NOLINTNEXTLINE(readability-function-size): as rn_scatter(), and what the bytes are
static enum rn_wc_status scatter(struct rn_qp *qp, struct cursor c, const void *src,
				 uint32_t len, uint32_t flags, uint32_t msg)
{
	struct rn_mem_attr attr = { .qpn = qp->qpn, .msg = msg };
	struct rn_dev *dev = qp->dev;
	const uint8_t *from = src;

	if (!fits(c, len))
		return RN_WC_LOC_LEN_ERR;
	while (len) {
		struct rn_key_use use = { .access = RN_ACCESS_LOCAL_WRITE };
		uint32_t n = next_piece(&c, len, &use);
		struct rn_mr *mr;
		rn_iova iova;

		if (!open_piece(qp, &use, &iova, &mr))
			return RN_WC_LOC_PROT_ERR;
		attr.flags = flags | rn_mem_flags(mr);
		if (mr->kind != RN_MR_KIND_NULL &&
		    dev->cfg.mem->write(dev->cfg.mem_ctx, iova, from, n, attr) !=
			    RN_MEM_DONE) {
			note_fault(qp);
			return RN_WC_LOC_PROT_ERR;
		}
		from += n;
		len -= n;
	}
	return RN_WC_SUCCESS;
}

enum rn_wc_status rn_scatter(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, const void *src, uint32_t len)
{
	struct cursor c = seek(sg, num_sge, offset, rn_qp_recv_pd(qp));

	return scatter(qp, c, src, len, 0, rn_rsp_next_msn(qp));
}

enum rn_wc_status rn_scatter_response(struct rn_qp *qp, struct rn_send_wqe *wqe,
				      uint32_t offset, const void *src, uint32_t len)
{
	struct cursor c = seek(rn_wqe_sge(qp, wqe), wqe->num_sge, offset, qp->pd);

	return scatter(qp, c, src, len, RN_MEM_RESPONSE, qp->req.sq.head);
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

// NOLINTNEXTLINE(readability-function-size): those of rn_mem_read(), and whose memory
static enum rn_mem_result read_piece(struct rn_dev *dev, const struct rn_mr *mr,
				     void *dst, rn_iova src, uint32_t len,
				     struct rn_mem_attr attr, uint64_t tag,
				     struct rn_crc32_part *part)
{
	if (mr->kind != RN_MR_KIND_NULL)
		return rn_mem_read(dev, dst, src, len, attr, tag, part);
	memset(dst, 0, len);
	return RN_MEM_DONE;
}

// NOLINTNEXTLINE(readability-function-size): a list, a range of it and where it goes
enum rn_mem_result rn_gather(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, void *dst, uint32_t len, uint64_t tag,
			     uint32_t *outstanding, struct rn_crc32_part *part)
{
	struct rn_mem_attr attr = { .qpn = qp->qpn, .msg = qp->req.cur };
	struct cursor c = seek(sg, num_sge, offset, qp->pd);
	enum rn_mem_result result = RN_MEM_DONE;
	struct rn_dev *dev = qp->dev;
	uint8_t *to = dst;

	while (len) {
		struct rn_key_use use = { .access = 0 };
		uint32_t n = next_piece(&c, len, &use);
		enum rn_mem_result r;
		struct rn_mr *mr;
		rn_iova iova;

		assert(n > 0); /* the WQE's length is the sum of its SGEs */
		if (!open_piece(qp, &use, &iova, &mr))
			return RN_MEM_FAULT;
		attr.flags = rn_mem_flags(mr);
		/* Of several pieces none is the whole payload. */
		r = read_piece(dev, mr, to, iova, n, attr, tag,
			       to == dst && n == len ? part : NULL);
		if (r == RN_MEM_FAULT) {
			note_fault(qp);
			return RN_MEM_FAULT;
		}
		if (r == RN_MEM_PENDING) {
			(*outstanding)++;
			result = RN_MEM_PENDING;
		}
		to += n;
		len -= n;
	}
	return result;
}
