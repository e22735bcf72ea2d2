/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - rules about which bytes are used, by whom and when; see rules/memory.def. */
#include "model/model.h"

#include <string.h>

enum {
	ATOMIC_LEN = 8,
	/* maximum number of earlier requests that a new one is compared with */
	LOOK_BACK = 64,
};

#define MESSAGE_MAX (UINT64_C(1) << 31)

/* ------------------------------------------------------------------- what ranges are */
static bool sends(enum ibv_wr_opcode opcode)
{
	return rn_val_takes_receive(opcode) || rn_val_is_write(opcode);
}

static bool is_within(const struct rn_val_mr *mr, uint64_t addr, uint64_t len)
{
	return addr >= mr->iova && addr - mr->iova <= mr->len &&
	       len <= mr->len - (addr - mr->iova);
}

/* Do two objects of one device belong to different PDs? All handles on one PD (the PD,
 * its imports, parent domains) have the same number.
 */
static bool is_of_other_pd(const struct rn_val_object *a, const struct rn_val_object *b)
{
	const struct rn_val_object *pd_a = a->pd, *pd_b = b->pd;

	if (a->process || b->process)
		return a->process == b->process && a->device == b->device && a->pdn &&
		       b->pdn && a->pdn != b->pdn;
	return pd_a && pd_b && pd_a->number != pd_b->number &&
	       rn_val_is_of_same_device(a, b);
}

/* ------------------------------------------------------------------- local buffers */
/* Returns the MR that had the lkey until it was deregistered, or NULL. */
static const struct rn_val_object *gone_mr_of_lkey(const struct rn_val *v, uint32_t lkey)
{
	const struct rn_val_object *o = v->newest_gone;

	while (o && !(o->kind == RN_VAL_MR && o->mr.lkey == lkey))
		o = o->older;
	return o;
}

static void find_unknown_lkey(struct rn_val *v, const struct rn_val_event *e,
			      const struct ibv_sge *s)
{
	const struct rn_val_object *gone = gone_mr_of_lkey(v, s->lkey);
	struct rn_val_text name;

	if (gone)
		rn_val_find2(v, e, RN_VAL_MEMORY_LKEY_DEREGISTERED, e->object, gone,
			     "lkey %#x, of %u bytes at %#llx, was that of %s", s->lkey,
			     s->length, (unsigned long long)s->addr,
			     rn_val_name(gone, &name));
	else
		rn_val_find(v, e, RN_VAL_MEMORY_WRONG_LKEY, e->object,
			    "no MR has lkey %#x, of %u bytes at %#llx", s->lkey,
			    s->length, (unsigned long long)s->addr);
}

static void check_entry(struct rn_val *v, const struct rn_val_event *e,
			const struct ibv_sge *s, bool is_written)
{
	const struct rn_val_object *mr = rn_val_mr_of_lkey(v, s->lkey);
	const struct rn_val_object *pd = rn_val_pd_of(mr),
				   *own_pd = rn_val_pd_of(e->object);
	struct rn_val_text name, own;

	if (!s->length)
		return;
	if (!mr) {
		find_unknown_lkey(v, e, s);
		return;
	}
	if (pd && own_pd && is_of_other_pd(e->object, mr))
		rn_val_find2(v, e, RN_VAL_MEMORY_LKEY_OF_OTHER_PD, e->object, mr,
			     "%s is of PD %u, and %s of PD %u", rn_val_name(mr, &name),
			     pd->number, rn_val_name(e->object, &own), own_pd->number);
	if (!mr->mr.has_memory)
		return;
	if (!is_within(&mr->mr, s->addr, s->length))
		rn_val_find2(
			v, e, RN_VAL_MEMORY_SGE_OUTSIDE_MR, e->object, mr,
			"%u bytes at %#llx are not within %s, of %llu bytes at %#llx",
			s->length, (unsigned long long)s->addr, rn_val_name(mr, &name),
			(unsigned long long)mr->mr.len, (unsigned long long)mr->mr.iova);
	if (is_written && !(mr->mr.access & IBV_ACCESS_LOCAL_WRITE))
		rn_val_find2(v, e, RN_VAL_MEMORY_LOCAL_WRITE_MISSING, e->object, mr,
			     "%s has access flags %#x", rn_val_name(mr, &name),
			     mr->mr.access);
}

static void check_inline(struct rn_val *v, const struct rn_val_event *e,
			 const struct rn_val_request *r)
{
	struct rn_val_text name;
	uint64_t len = rn_val_length_of(r);

	if (rn_val_fetches(r->opcode))
		rn_val_find(v, e, RN_VAL_MEMORY_INLINE_OPCODE, e->object,
			    "%s with IBV_SEND_INLINE", rn_val_opcode_name(r->opcode));
	if (len > e->object->qp.cap.max_inline_data)
		rn_val_find(v, e, RN_VAL_MEMORY_INLINE_TOO_LONG, e->object,
			    "%llu bytes inline, and %s takes %u", (unsigned long long)len,
			    rn_val_name(e->object, &name),
			    e->object->qp.cap.max_inline_data);
}

static void check_atomic(struct rn_val *v, const struct rn_val_event *e,
			 const struct rn_val_request *r)
{
	if (r->remote_addr % ATOMIC_LEN)
		rn_val_find(v, e, RN_VAL_MEMORY_ATOMIC_MISALIGNED, e->object,
			    "%s at %#llx", rn_val_opcode_name(r->opcode),
			    (unsigned long long)r->remote_addr);
	if (rn_val_length_of(r) < ATOMIC_LEN)
		rn_val_find(v, e, RN_VAL_MEMORY_ATOMIC_SHORT, e->object,
			    "%s with a buffer of %llu bytes",
			    rn_val_opcode_name(r->opcode),
			    (unsigned long long)rn_val_length_of(r));
}

/* ---------------------------------------------------------------------- the order */
static bool overlaps(const struct rn_val_request *r, const struct ibv_sge *s,
		     uint32_t count)
{
	for (uint32_t i = 0; i < r->sge_count; i++)
		for (uint32_t k = 0; k < count; k++)
			if (r->sge[i].lkey == s[k].lkey &&
			    r->sge[i].addr < s[k].addr + s[k].length &&
			    s[k].addr < r->sge[i].addr + r->sge[i].length)
				return true;
	return false;
}

/* Looks for an outstanding request (READ or atomic) that writes the data which request
 * @at of the post sends. Searches from the newest request back to one with a fence:
 * requests begin in order, and when a fenced request began, all requests before it had
 * completed.
 */
static void check_fence(struct rn_val *v, const struct rn_val_event *e, uint32_t at)
{
	const struct rn_val_request *r = &e->post.request[at];
	const struct rn_val_queue *q = &e->object->qp.send;
	bool is_early = false, is_past = r->flags & IBV_SEND_FENCE;

	if (!sends(r->opcode))
		return;
	for (uint32_t i = 0; !is_past && i < at && i < LOOK_BACK; i++) {
		const struct rn_val_request *before = &e->post.request[at - 1 - i];

		is_early = is_early || (rn_val_fetches(before->opcode) &&
					overlaps(r, before->sge, before->sge_count));
		is_past = before->flags & IBV_SEND_FENCE;
	}
	for (uint32_t i = 0; !is_past && q->fetching && i < q->count && i < LOOK_BACK;
	     i++) {
		const struct rn_val_wr *wr = rn_val_queued(q, q->count - 1 - i);
		uint32_t kept = wr->sge_count < RN_VAL_SGES ? wr->sge_count : RN_VAL_SGES;

		is_early = is_early || (wr->is_fetching && overlaps(r, wr->sge, kept));
		is_past = wr->flags & IBV_SEND_FENCE;
	}
	if (is_early)
		rn_val_find(v, e, RN_VAL_MEMORY_READ_NOT_FENCED, e->object,
			    "request %#llx, %s, sends from the buffer of one that has "
			    "not completed",
			    (unsigned long long)r->wr_id, rn_val_opcode_name(r->opcode));
}

/* ------------------------------------------------------------------------ windows */
static void check_bind(struct rn_val *v, const struct rn_val_event *e,
		       const struct rn_val_bind *b)
{
	const struct rn_val_object *mr = rn_val_bound_mr(v, b);
	struct rn_val_text name;

	if (!mr || mr->is_gone || !mr->mr.has_memory)
		return;
	if (!(mr->mr.access & IBV_ACCESS_MW_BIND))
		rn_val_find2(v, e, RN_VAL_MEMORY_BIND_WITHOUT_RIGHT, e->object, mr,
			     "%s has access flags %#x", rn_val_name(mr, &name),
			     mr->mr.access);
	if (!is_within(&mr->mr, b->addr, b->len))
		rn_val_find2(
			v, e, RN_VAL_MEMORY_BIND_OUTSIDE_MR, e->object, mr,
			"%llu bytes at %#llx are not within %s, of %llu bytes at %#llx",
			(unsigned long long)b->len, (unsigned long long)b->addr,
			rn_val_name(mr, &name), (unsigned long long)mr->mr.len,
			(unsigned long long)mr->mr.iova);
}

static void check_request(struct rn_val *v, const struct rn_val_event *e, uint32_t at)
{
	const struct rn_val_request *r = &e->post.request[at];
	bool is_send = e->kind == RN_VAL_POST_SEND;

	if (is_send && rn_wr_is_atomic(r->opcode))
		check_atomic(v, e, r);
	if (is_send && r->flags & IBV_SEND_INLINE) {
		check_inline(v, e, r);
		return;
	}
	if (is_send && r->opcode == IBV_WR_BIND_MW)
		check_bind(v, e, &r->bind);
	if (is_send && (int)r->opcode == RN_WR_FLUSH)
		return; /* a FLUSH uses only the lengths of its SGEs */
	if (is_send && rn_val_length_of(r) > MESSAGE_MAX)
		rn_val_find(v, e, RN_VAL_MEMORY_MESSAGE_TOO_LONG, e->object,
			    "%s of %llu bytes", rn_val_opcode_name(r->opcode),
			    (unsigned long long)rn_val_length_of(r));
	for (uint32_t i = 0; i < r->sge_count; i++)
		check_entry(v, e, &r->sge[i], !is_send || rn_val_fetches(r->opcode));
	if (is_send)
		check_fence(v, e, at);
}

/* Do two QPs send to the same address? An rkey alone does not tell that they write to the
 * same memory, as each device has keys of its own.
 */
static bool is_to_same(const struct rn_val_object *a, const struct rn_val_object *b)
{
	return a->qp.mask & b->qp.mask & IBV_QP_AV &&
	       !memcmp(&a->qp.attr.ah_attr.grh.dgid, &b->qp.attr.ah_attr.grh.dgid,
		       sizeof(union ibv_gid));
}

/* Checks whether the WRITE @now overlaps an earlier WRITE of another QP of which the
 * program does not know yet whether it was carried out. The order of the two is not
 * defined then.
 */
static void check_write(struct rn_val *v, const struct rn_val_event *e,
			const struct rn_val_write *now)
{
	for (uint32_t i = 0; i < RN_VAL_WRITES && i < v->tally.write_count; i++) {
		const struct rn_val_write *then = &v->tally.writes[i];
		struct rn_val_text name;

		if (then->qp == now->qp || then->rkey != now->rkey ||
		    then->addr >= now->addr + now->len ||
		    now->addr >= then->addr + then->len || !is_to_same(now->qp, then->qp))
			continue;
		rn_val_find2(v, e, RN_VAL_MEMORY_WRITES_OVERLAP, now->qp, then->qp,
			     "%llu bytes at %#llx, and %s WRITEs %llu bytes at %#llx",
			     (unsigned long long)now->len, (unsigned long long)now->addr,
			     rn_val_name(then->qp, &name), (unsigned long long)then->len,
			     (unsigned long long)then->addr);
		return;
	}
}

static void check_writes(struct rn_val *v, const struct rn_val_event *e)
{
	for (uint32_t i = 0; i < e->post.accepted && i < e->post.count; i++) {
		const struct rn_val_request *r = &e->post.request[i];
		struct rn_val_write now = { .qp = e->object,
					    .addr = r->remote_addr,
					    .len = rn_val_length_of(r),
					    .rkey = r->rkey };

		if (!rn_val_is_write(r->opcode) || !now.len)
			continue;
		check_write(v, e, &now);
		v->tally.writes[v->tally.write_count++ % RN_VAL_WRITES] = now;
	}
}

/* ------------------------------------------------------------------ remote memory */
static bool uses_rkey(enum ibv_wr_opcode opcode)
{
	return rn_val_fetches(opcode) || rn_val_is_write(opcode);
}

/* Returns the living MR with that rkey, or NULL. In most MRs lkey and rkey are equal. */
static const struct rn_val_object *mr_of_rkey(struct rn_val *v, uint32_t rkey)
{
	const struct rn_val_object *o = rn_val_mr_of_lkey(v, rkey);

	if (o && o->mr.rkey == rkey)
		return o;
	o = v->living;
	while (o && !(o->kind == RN_VAL_MR && o->mr.rkey == rkey))
		o = o->older;
	return o;
}

static uint32_t pd_number_of(const struct rn_val_object *o)
{
	return o->process ? o->pdn : rn_val_pd_of(o)->number;
}

/* Checks that a request stays within the bytes and the access rights of an MR or of a
 * window. @has: words for the report that say how the object got its access flags.
 */
static void check_remote_range(struct rn_val *v, const struct rn_val_event *e,
			       const struct rn_val_object *o,
			       const struct rn_val_mr *range, unsigned access,
			       const char *has)
{
	const struct rn_val_wr *wr = e->completion.wr;
	uint64_t len = rn_wr_is_atomic(wr->opcode) ? ATOMIC_LEN : wr->len;
	struct rn_val_text name;

	if (!is_within(range, wr->remote_addr, len))
		rn_val_find2(
			v, e, RN_VAL_MEMORY_REMOTE_OUTSIDE_MR, e->completion.qp, o,
			"%llu bytes at %#llx are not within %s, of %llu bytes at %#llx",
			(unsigned long long)len, (unsigned long long)wr->remote_addr,
			rn_val_name(o, &name), (unsigned long long)range->len,
			(unsigned long long)range->iova);
	else if (!(access & rn_val_access_of(wr->opcode)))
		rn_val_find2(v, e, RN_VAL_MEMORY_REMOTE_RIGHT_MISSING, e->completion.qp,
			     o, "%s, and %s %s access flags %#x",
			     rn_val_opcode_name(wr->opcode), rn_val_name(o, &name), has,
			     access);
}

static void check_remote_mr(struct rn_val *v, const struct rn_val_event *e,
			    const struct rn_val_object *peer,
			    const struct rn_val_object *mr)
{
	struct rn_val_text name, its;

	if (is_of_other_pd(peer, mr))
		rn_val_find2(v, e, RN_VAL_MEMORY_RKEY_OF_OTHER_PD, e->completion.qp, mr,
			     "%s is of PD %u, and %s of PD %u", rn_val_name(mr, &name),
			     pd_number_of(mr), rn_val_name(peer, &its),
			     pd_number_of(peer));
	else if (mr->mr.has_memory)
		check_remote_range(v, e, mr, &mr->mr, mr->mr.access, "has");
}

/* Checks a request that was refused and whose rkey belongs to no MR: it is, or was, the
 * rkey of a memory window.
 */
static void check_window(struct rn_val *v, const struct rn_val_event *e,
			 const struct rn_val_object *peer)
{
	const struct rn_val_wr *wr = e->completion.wr;
	const struct rn_val_object *mw = rn_val_window_of(v, peer, wr->rkey);
	struct rn_val_text name;

	if (mw && mw->mw.is_bound && mw->mw.rkey == wr->rkey)
		check_remote_range(
			v, e, mw,
			&(struct rn_val_mr){ .iova = mw->mw.addr, .len = mw->mw.len },
			mw->mw.access, "is bound with");
	else if (mw)
		rn_val_find2(v, e, RN_VAL_MEMORY_RKEY_UNKNOWN, e->completion.qp, mw,
			     "rkey %#x, of %s at %#llx, is not that of %s, which has "
			     "%#x and is %s",
			     wr->rkey, rn_val_opcode_name(wr->opcode),
			     (unsigned long long)wr->remote_addr, rn_val_name(mw, &name),
			     mw->mw.rkey, mw->mw.is_bound ? "bound" : "not bound");
	else
		rn_val_find2(v, e, RN_VAL_MEMORY_RKEY_UNKNOWN, e->completion.qp, peer,
			     "no MR has rkey %#x, of %s at %#llx", wr->rkey,
			     rn_val_opcode_name(wr->opcode),
			     (unsigned long long)wr->remote_addr);
}

/* Finds out why the peer has refused access, if the QP of the peer is in this process or
 * in one that runs under the validation layer, too, and so publishes its objects. The
 * rkeys of windows of other processes are not known.
 */
static void check_completion(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_completion *c = &e->completion;
	const struct rn_val_object *peer, *mr;
	bool is_window;

	if (c->wc->status != IBV_WC_REM_ACCESS_ERR || !c->qp || !c->wr || c->is_recv ||
	    !uses_rkey(c->wr->opcode))
		return;
	peer = rn_val_peer_of(v, c->qp);
	if (!peer && !rn_val_target_of(v, c->qp))
		rn_val_find(
			v, e, RN_VAL_MEMORY_REMOTE_REFUSED, c->qp,
			"%s of %llu bytes at %#llx with rkey %#x, to QP %#x, which no "
			"validated process of this host has",
			rn_val_opcode_name(c->wr->opcode), (unsigned long long)c->wr->len,
			(unsigned long long)c->wr->remote_addr, c->wr->rkey,
			c->qp->qp.attr.dest_qp_num);
	if (!peer)
		return;
	is_window = false;
	mr = peer->process ? rn_val_mr_at(v, peer, c->wr->rkey, &is_window)
			   : mr_of_rkey(v, c->wr->rkey);
	if (mr)
		check_remote_mr(v, e, peer, mr);
	else if (!is_window)
		check_window(v, e, peer);
}

/* -------------------------------------------------------------------- registration */
static void check_mr(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *like;
	unsigned access = e->make.mr.access;
	struct rn_val_text name;

	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		rn_val_find(v, e, RN_VAL_MEMORY_REMOTE_WITHOUT_LOCAL, e->object,
			    "%s() got access flags %#x", e->verb, access);
	if (!e->object || !e->make.mr.has_memory || !e->make.mr.addr)
		return;
	like = rn_val_mr_like(v, e->object);
	if (like)
		rn_val_find2(v, e, RN_VAL_MEMORY_MR_TWICE, e->object, like,
			     "%s is of the same %llu bytes at %#llx",
			     rn_val_name(like, &name), (unsigned long long)like->mr.len,
			     (unsigned long long)like->mr.addr);
}

void rn_val_check_memory(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object;

	/* A completion may have told the program that earlier WRITEs were carried out, so
	 * these are not compared with later ones.
	 */
	if (e->kind == RN_VAL_COMPLETION || e->kind == RN_VAL_CQ_EVENT ||
	    (e->kind == RN_VAL_DESTROY && rn_val_is(o, RN_VAL_QP)))
		v->tally.write_count = 0;
	if (e->kind == RN_VAL_POST_SEND && e->is_done && rn_val_is(o, RN_VAL_QP) &&
	    !o->is_gone)
		check_writes(v, e);
	if (e->kind == RN_VAL_COMPLETION)
		check_completion(v, e);
	if (e->kind == RN_VAL_MAKE && e->make.kind == RN_VAL_MR)
		check_mr(v, e);
	if (e->is_done || !e->object || e->object->is_gone)
		return;
	if (e->kind != RN_VAL_POST_SEND && e->kind != RN_VAL_POST_RECV)
		return;
	for (uint32_t i = 0; i < e->post.count; i++)
		check_request(v, e, i);
}
