/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* traffic.c - work requests are posted, completions and events are looked at.
 */
#include "walk.h"

uint32_t draw_sges(struct walker *w, const struct object *qp, bool recv, uint32_t max,
		   struct ibv_sge *sge, int *num, struct object **mr)
{
	uint32_t total = 0;

	*num = 1 + (int)below(w, chance(w, 98) && qp->max_sge[recv] ? qp->max_sge[recv]
								    : SGES);
	for (int i = 0; i < *num; i++) {
		struct object *o = mr[i] =
			chance(w, 99) ? pin_in(w, MR, qp->domain) : pin(w, MR, NULL);
		uint32_t at, len;

		if (!o) {
			*num = i;
			break;
		}
		at = below(w, (uint32_t)o->mr->length);
		len = below(w, (uint32_t)o->mr->length - at + 1);
		if (len > max)
			len = max;
		if (chance(w, 1))
			len += BLOCK_LEN;
		sge[i] = (struct ibv_sge){ .addr = o->va + at,
					   .length = len,
					   .lkey = o->mr->lkey };
		if (chance(w, 1))
			sge[i].lkey ^= 1 + below(w, 1000);
		total += len;
	}
	return total;
}

void unpin_all(struct object *const *mr, int num)
{
	for (int i = 0; i < num; i++)
		unpin(mr[i]);
}

bool new_wr(struct object *qp, uint32_t *index, bool recv)
{
	struct object *cq = recv ? qp->recv_cq : qp->send_cq;
	struct wr *r;

	*index = atomic_fetch_add(&world.wrs, 1);
	if (*index >= WRS)
		return false;
	r = &world.wr[*index];
	r->qp = qp;
	r->epoch = qp->epoch;
	r->recv = recv;
	r->sequence = ++qp->posted[recv];
	if (cq && atomic_fetch_add(&cq->waiting, 1) >= atomic_load(&cq->cqe))
		atomic_store(&cq->may_overflow, true);
	return true;
}

void posting(uint32_t index)
{
	atomic_store(&world.wr[index].fate, POSTING);
}

void refused(uint32_t index)
{
	struct wr *r = &world.wr[index];
	struct object *cq = r->recv ? r->qp->recv_cq : r->qp->send_cq;

	if (atomic_exchange(&r->fate, REFUSED) != POSTING)
		wrong("a WR that was refused has completed");
	r->qp->posted[r->recv]--;
	if (cq)
		atomic_fetch_sub(&cq->waiting, 1);
}

static bool is_connected(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

static enum ibv_wr_opcode draw_opcode(struct walker *w, enum ibv_qp_type type)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND_WITH_INV,
		IBV_WR_LOCAL_INV,
		IBV_WR_BIND_MW,
	};

	return ops[below(w, type == IBV_QPT_RC && chance(w, 20)	 ? 10
			    : is_connected(type) || chance(w, 2) ? 7
			    : type == IBV_QPT_UC		 ? 4
								 : 2)];
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void draw_target(struct walker *w, const struct object *qp, struct ibv_send_wr *wr,
			uint32_t len)
{
	struct object *mr = qp->peer_pd ? pin_in(w, MR, qp->peer_pd) : pin(w, MR, NULL);
	struct object *mw = pin(w, MW, NULL);
	uint64_t addr = 0x1000;
	uint32_t rkey = 1;

	if (mr) {
		uint32_t room = (uint32_t)mr->mr->length;

		addr = mr->va + below(w, len < room ? room - len : room);
		rkey = mr->mr->rkey;
		if (chance(w, 2))
			addr += BLOCK_LEN;
		if (chance(w, 2))
			rkey ^= 1 + below(w, 1000);
		unpin(mr);
	}
	if (mw && chance(w, 30))
		rkey = mw->rkey;
	unpin(mw);
	if (is_atomic(wr->opcode)) {
		wr->wr.atomic.remote_addr = chance(w, 95) ? addr & ~7ull : addr;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = draw(w);
		return;
	}
	wr->wr.rdma.remote_addr = addr;
	wr->wr.rdma.rkey = rkey;
}

/* The CPU reads the data of an inline WR while it is posted: out of this
 * thread's own buffer, or the device would write it at the same time.
 */
static void make_inline(struct walker *w, struct object *qp, struct ibv_send_wr *wr,
			struct ibv_sge *sge)
{
	sge[0].addr = (uintptr_t)w->scratch;
	sge[0].length = qp->max_inline ? below(w, qp->max_inline + 1 + chance(w, 5)) : 0;
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_INLINE;
}

/* Which SRQ of an XRC domain a message is for. */
static uint32_t draw_srqn(struct walker *w)
{
	return chance(w, 95) ? world.object[SRQ][below(w, SLOTS)].srqn
			     : below(w, 1 << 24);
}

struct chain {
	struct ibv_send_wr wr[3];
	struct ibv_sge sge[3][SGES];
	struct object *mr[3][SGES];
	struct object *window[3], *bound[3]; /* of a BIND: and its region */
	int pinned[3];
	uint32_t index[3];
	unsigned count;
};

/* BIND and LOCAL_INV; the window and the region stay pinned until it is posted.
 */
static void draw_window(struct walker *w, struct object *qp, struct chain *c, unsigned i)
{
	struct ibv_send_wr *wr = &c->wr[i];
	struct object *mw = c->window[i] = pin_in(w, MW, qp->domain);
	struct object *mr = c->bound[i] = pin_in(w, MR, qp->domain);

	wr->num_sge = 0;
	if (!mw || !mr || wr->opcode == IBV_WR_LOCAL_INV) {
		wr->opcode = IBV_WR_LOCAL_INV;
		wr->invalidate_rkey = mw ? mw->rkey : 1;
		return;
	}
	atomic_store(&mr->maybe_bound, true);
	wr->bind_mw.mw = mw->mw;
	wr->bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr->mr,
		.addr = mr->va,
		.length = below(w, (uint32_t)mr->mr->length + 1),
		.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};
	mw->rkey = wr->bind_mw.rkey;
}

static void draw_wr(struct walker *w, struct object *qp, struct chain *c, unsigned i,
		    struct object *ah)
{
	struct ibv_send_wr *wr = &c->wr[i];
	struct wr *r = &world.wr[c->index[i]];
	uint32_t len = draw_sges(w, qp, false, 300, c->sge[i], &c->pinned[i], c->mr[i]);

	*wr = (struct ibv_send_wr){ .wr_id = wr_id_of(c->index[i]),
				    .sg_list = c->sge[i],
				    .num_sge = c->pinned[i],
				    .opcode = draw_opcode(w, qp->type),
				    .imm_data = (uint32_t)draw(w) };
	if (chance(w, 70))
		wr->send_flags |= IBV_SEND_SIGNALED;
	if (chance(w, 20))
		wr->send_flags |= IBV_SEND_SOLICITED;
	if (chance(w, 5) && qp->type == IBV_QPT_RC)
		wr->send_flags |= IBV_SEND_FENCE;
	if (is_atomic(wr->opcode) && wr->num_sge && chance(w, 95)) {
		wr->num_sge = 1;
		c->sge[i][0].length = len = 8;
	}
	if (wr->opcode <= IBV_WR_SEND_WITH_IMM && chance(w, 20))
		make_inline(w, qp, wr, c->sge[i]);
	if (wr->opcode >= IBV_WR_LOCAL_INV)
		draw_window(w, qp, c, i);
	else if (qp->type == IBV_QPT_UD) {
		wr->wr.ud.ah = ah->ah;
		wr->wr.ud.remote_qpn = chance(w, 95)
					       ? world.object[QP][below(w, SLOTS)].qpn
					       : below(w, 1 << 24);
		wr->wr.ud.remote_qkey = chance(w, 95) ? QKEY : QKEY + 1;
	} else {
		draw_target(w, qp, wr, len);
		if (qp->type == IBV_QPT_XRC_SEND)
			wr->qp_type.xrc.remote_srqn = draw_srqn(w);
		if (wr->opcode == IBV_WR_SEND_WITH_INV)
			wr->invalidate_rkey = wr->wr.rdma.rkey;
	}
	r->len = len;
	r->opcode = wr->opcode;
	r->signaled = qp->sq_sig_all || wr->send_flags & IBV_SEND_SIGNALED;
	if (i)
		c->wr[i - 1].next = wr;
}

void post_send(struct walker *w)
{
	struct object *qp = pin(w, QP, NULL), *ah = NULL;
	struct chain c = { .count = 0 };
	struct ibv_send_wr *bad = NULL;
	unsigned want = 1 + below(w, 3), good;
	int rc = 0;

	if (qp && qp->type == IBV_QPT_UD && !(ah = pin_in(w, AH, qp->domain)))
		qp = (unpin(qp), NULL);
	if (qp && qp->type == IBV_QPT_XRC_RECV && chance(w, 95))
		qp = (unpin(qp), NULL);
	if (!qp)
		return;
	pthread_mutex_lock(&qp->post_lock);
	while (c.count < want && new_wr(qp, &c.index[c.count], false)) {
		draw_wr(w, qp, &c, c.count, ah);
		posting(c.index[c.count]);
		c.count++;
	}
	if (c.count)
		rc = ibv_post_send(qp->qp, c.wr, &bad);
	MAY("ibv_post_send", rc, 0, EINVAL, ENOMEM);
	good = rc ? (unsigned)(bad - c.wr) : c.count;
	MUST(good <= c.count && (!rc || good < c.count));
	for (unsigned i = c.count; i > good; i--)
		refused(c.index[i - 1]);
	w->refused += c.count - good;
	pthread_mutex_unlock(&qp->post_lock);
	for (unsigned i = 0; i < c.count; i++) {
		unpin_all(c.mr[i], c.pinned[i]);
		unpin(c.window[i]);
		unpin(c.bound[i]);
	}
	unpin(ah);
	unpin(qp);
}

/* Type 1: a verb of its own, which posts a WR. */
void bind_window(struct walker *w)
{
	struct object *qp = pin(w, QP, NULL), *mw = NULL, *mr = NULL;
	struct ibv_mw_bind bind = { .bind_info.mw_access_flags =
					    IBV_ACCESS_REMOTE_WRITE };
	uint32_t index;
	int rc;

	if (qp && qp->domain)
		mw = pin_in(w, MW, qp->domain);
	if (mw && mw->mw_type == IBV_MW_TYPE_1)
		mr = pin_in(w, MR, qp->domain);
	if (mr) {
		pthread_mutex_lock(&qp->post_lock);
		if (new_wr(qp, &index, false)) {
			bind.wr_id = wr_id_of(index);
			bind.send_flags = chance(w, 70) ? IBV_SEND_SIGNALED : 0;
			bind.bind_info.mr = mr->mr;
			bind.bind_info.addr = mr->va;
			bind.bind_info.length = chance(w, 20) ? 0 : mr->mr->length;
			world.wr[index].opcode = IBV_WR_BIND_MW;
			world.wr[index].signaled = qp->sq_sig_all || bind.send_flags;
			atomic_store(&mr->maybe_bound, true);
			posting(index);
			/* ibv_mw.rkey belongs to who binds; another thread may want to.
			 */
			pthread_mutex_lock(&mw->post_lock);
			rc = ibv_bind_mw(qp->qp, mw->mw, &bind);
			/* EPERM: not the same struct ibv_pd, says the library. */
			MAY("ibv_bind_mw", rc, 0, EINVAL, EPERM, ENOMEM, EOPNOTSUPP);
			if (rc)
				refused(index);
			mw->rkey = mw->mw->rkey;
			pthread_mutex_unlock(&mw->post_lock);
		}
		pthread_mutex_unlock(&qp->post_lock);
	}
	unpin(mr);
	unpin(mw);
	unpin(qp);
}

void post_recvs(struct walker *w, struct object *o, unsigned most, post_recv_fn *post)
{
	struct ibv_recv_wr wr = { 0 }, *bad = NULL;
	struct object *mr[SGES];
	struct ibv_sge sge[SGES];
	uint32_t index;
	int rc;

	pthread_mutex_lock(&o->post_lock);
	for (unsigned i = 1 + below(w, most); i && new_wr(o, &index, true); i--) {
		world.wr[index].len =
			draw_sges(w, o, true, BLOCK_LEN, sge, &wr.num_sge, mr);
		wr.wr_id = wr_id_of(index);
		wr.sg_list = sge;
		posting(index);
		rc = post(o, &wr, &bad);
		MAY("posting a receive", rc, 0, EINVAL, ENOMEM);
		MUST(!rc || bad == &wr);
		if (rc) {
			refused(index);
			w->refused++;
		}
		unpin_all(mr, wr.num_sge);
	}
	pthread_mutex_unlock(&o->post_lock);
}

static int post_to_qp(struct object *o, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return ibv_post_recv(o->qp, wr, bad);
}

void post_recv(struct walker *w)
{
	struct object *qp = pin(w, QP, NULL);

	if (qp && (!qp->recv_cq || qp->of_srq) && chance(w, 95))
		qp = (unpin(qp), NULL);
	if (!qp)
		return;
	post_recvs(w, qp, 4, post_to_qp);
	unpin(qp);
}
