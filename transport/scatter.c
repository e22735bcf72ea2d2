/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scatter.c - between packets and the memory that scatter/gather entries name. */
#include "qp.h"

/* A position in a list of SGEs. */
struct cursor {
	const struct rn_sge *sg;
	uint32_t num_sge; /* left, the current one included */
	uint32_t skip;	  /* bytes of the current one that lie behind us */
};

static struct cursor seek(const struct rn_sge *sg, uint32_t num_sge, uint32_t offset)
{
	struct cursor c = { .sg = sg, .num_sge = num_sge, .skip = offset };

	while (c.num_sge && c.skip >= c.sg->len) {
		c.skip -= c.sg->len;
		c.sg++;
		c.num_sge--;
	}
	return c;
}

/* Bytes of the piece at the cursor, at most @len; 0 at the end of the list. Moves on. */
static uint32_t next_piece(struct cursor *c, uint32_t len, uint32_t pd,
			   struct rn_key_use *use)
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
	use->pd = pd;
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

static struct rn_mem_attr attr_of(const struct rn_qp *qp, const struct rn_mr *mr)
{
	return (struct rn_mem_attr){
		.qpn = qp->qpn,
		.flags = mr->access & RN_ACCESS_RELAXED_ORDERING ? RN_MEM_RELAXED : 0,
	};
}

enum rn_wc_status rn_scatter(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, const void *src, uint32_t len)
{
	struct cursor c = seek(sg, num_sge, offset);
	struct rn_dev *dev = qp->dev;
	const uint8_t *from = src;

	if (!fits(c, len))
		return RN_WC_LOC_LEN_ERR;
	while (len) {
		struct rn_key_use use = { .access = RN_ACCESS_LOCAL_WRITE };
		uint32_t n = next_piece(&c, len, qp->pd, &use);
		struct rn_mr *mr;
		rn_iova iova;

		if (rn_mr_check_local(&dev->mrs, &use, &iova, &mr) != RN_KEY_OK)
			return RN_WC_LOC_PROT_ERR;
		if (dev->cfg.mem->write(dev->cfg.mem_ctx, iova, from, n,
					attr_of(qp, mr)) != RN_MEM_DONE) {
			rn_count(dev, RN_STAT_MEM_FAULT);
			return RN_WC_LOC_PROT_ERR;
		}
		from += n;
		len -= n;
	}
	return RN_WC_SUCCESS;
}

// NOLINTNEXTLINE(readability-function-size): a list, a range of it and where it goes
enum rn_mem_result rn_gather(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, void *dst, uint32_t len, uint64_t tag,
			     uint32_t *outstanding)
{
	struct cursor c = seek(sg, num_sge, offset);
	enum rn_mem_result result = RN_MEM_DONE;
	struct rn_dev *dev = qp->dev;
	uint8_t *to = dst;

	while (len) {
		struct rn_key_use use = { .access = 0 };
		uint32_t n = next_piece(&c, len, qp->pd, &use);
		enum rn_mem_result r;
		struct rn_mr *mr;
		rn_iova iova;

		assert(n > 0); /* the WQE's length is the sum of its SGEs */
		if (rn_mr_check_local(&dev->mrs, &use, &iova, &mr) != RN_KEY_OK)
			return RN_MEM_FAULT;
		r = dev->cfg.mem->read(dev->cfg.mem_ctx, to, iova, n, attr_of(qp, mr),
				       tag);
		if (r == RN_MEM_FAULT) {
			rn_count(dev, RN_STAT_MEM_FAULT);
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
