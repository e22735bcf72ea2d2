/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - rules about which bytes are used, by whom and when; see rules/memory.def. */
#include "model.h"

enum {
	WR_FLUSH = 14 /* IBV_WR_FLUSH: only the lengths of its entries are used */
};

static void check_entry(struct rn_val *v, const struct rn_val_event *e,
			const struct ibv_sge *s)
{
	const struct rn_val_object *mr = rn_val_mr_of_lkey(v, s->lkey);
	struct rn_val_text name;

	if (!s->length)
		return;
	if (!mr) {
		rn_val_find(v, e, RN_VAL_MEMORY_WRONG_LKEY, e->object,
			    "no MR has lkey %#x, of %u bytes at %#llx", s->lkey,
			    s->length, (unsigned long long)s->addr);
		return;
	}
	if (mr->mr.has_memory &&
	    (s->addr < mr->mr.iova || s->addr - mr->mr.iova > mr->mr.len ||
	     s->length > mr->mr.len - (s->addr - mr->mr.iova)))
		rn_val_find2(
			v, e, RN_VAL_MEMORY_SGE_OUTSIDE_MR, e->object, mr,
			"%u bytes at %#llx are not within %s, of %llu bytes at %#llx",
			s->length, (unsigned long long)s->addr, rn_val_name(mr, &name),
			(unsigned long long)mr->mr.len, (unsigned long long)mr->mr.iova);
}

static void check_inline(struct rn_val *v, const struct rn_val_event *e,
			 const struct rn_val_request *r)
{
	struct rn_val_text name;
	uint64_t len = 0;

	for (uint32_t i = 0; i < r->sge_count; i++)
		len += r->sge[i].length;
	if (len > e->object->qp.cap.max_inline_data)
		rn_val_find(v, e, RN_VAL_MEMORY_INLINE_TOO_LONG, e->object,
			    "%llu bytes inline, and %s takes %u", (unsigned long long)len,
			    rn_val_name(e->object, &name),
			    e->object->qp.cap.max_inline_data);
}

static void check_request(struct rn_val *v, const struct rn_val_event *e,
			  const struct rn_val_request *r)
{
	bool is_send = e->kind == RN_VAL_POST_SEND;

	if (is_send &&
	    (r->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	     r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) &&
	    r->remote_addr % 8)
		rn_val_find(v, e, RN_VAL_MEMORY_ATOMIC_MISALIGNED, e->object,
			    "%s at %#llx", rn_val_opcode_name(r->opcode),
			    (unsigned long long)r->remote_addr);
	if (is_send && r->flags & IBV_SEND_INLINE) {
		check_inline(v, e, r);
		return;
	}
	if (is_send && (int)r->opcode == WR_FLUSH)
		return;
	for (uint32_t i = 0; i < r->sge_count; i++)
		check_entry(v, e, &r->sge[i]);
}

void rn_val_check_memory(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->is_done || !e->object || e->object->is_gone)
		return;
	if (e->kind != RN_VAL_POST_SEND && e->kind != RN_VAL_POST_RECV)
		return;
	for (uint32_t i = 0; i < e->post.count; i++)
		check_request(v, e, &e->post.request[i]);
}
