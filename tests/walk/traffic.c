/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* traffic.c - work requests are posted, completions and events are looked at. */
#include "walk.h"

/* ------------------------------------------------------------------------- posting */
/* A buffer to send from or receive into, mostly right. Regions stay pinned in @mr. */
static uint32_t draw_sges(struct walker *w, const struct object *qp, uint32_t max,
			  struct ibv_sge *sge, int *num, struct object **mr)
{
	uint32_t total = 0;

	*num = 1 + (int)below(w, SGES);
	for (int i = 0; i < *num; i++) {
		struct object *o = mr[i] =
			chance(w, 99) ? pin_in(w, MR, qp->pd_object) : pin(w, MR, NULL);
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
		sge[i] = (struct ibv_sge){ .addr = (uintptr_t)o->mr->addr + at,
					   .length = len,
					   .lkey = o->mr->lkey };
		if (chance(w, 1))
			sge[i].lkey ^= 1 + below(w, 1000);
		total += len;
	}
	return total;
}

static void unpin_all(struct object *const *mr, int num)
{
	for (int i = 0; i < num; i++)
		unpin(mr[i]);
}

/* A record for a WR; false: the seed's are used up. post_lock held. */
static bool new_wr(struct object *qp, uint32_t *index, bool recv)
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
	if (atomic_fetch_add(&cq->waiting, 1) >= atomic_load(&cq->cqe))
		atomic_store(&cq->may_overflow, true);
	return true;
}

/* The record is written; who sees its completion reads it. */
static void posting(uint32_t index)
{
	atomic_store(&world.wr[index].fate, POSTING);
}

static void refused(struct object *qp, uint32_t index)
{
	struct wr *r = &world.wr[index];
	struct object *cq = r->recv ? qp->recv_cq : qp->send_cq;

	if (atomic_exchange(&r->fate, REFUSED) != POSTING)
		wrong("a WR that was refused has completed");
	qp->posted[r->recv]--;
	atomic_fetch_sub(&cq->waiting, 1);
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
	};

	return ops[below(w, type == IBV_QPT_RC || chance(w, 2) ? 7
			    : type == IBV_QPT_UC	       ? 4
							       : 2)];
}

static void draw_target(struct walker *w, const struct object *qp, struct ibv_send_wr *wr,
			uint32_t len)
{
	struct object *mr = qp->peer_pd ? pin_in(w, MR, qp->peer_pd) : pin(w, MR, NULL);
	uint64_t addr = 0x1000;
	uint32_t rkey = 1;

	if (mr) {
		uint32_t room = (uint32_t)mr->mr->length;

		addr = (uintptr_t)mr->mr->addr + below(w, len < room ? room - len : room);
		rkey = mr->mr->rkey;
		if (chance(w, 2))
			addr += BLOCK_LEN;
		if (chance(w, 2))
			rkey ^= 1 + below(w, 1000);
		unpin(mr);
	}
	if (wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr->wr.atomic.remote_addr = chance(w, 95) ? addr & ~7ull : addr;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = draw(w);
		return;
	}
	wr->wr.rdma.remote_addr = addr;
	wr->wr.rdma.rkey = rkey;
}

/* The CPU reads the data of an inline WR while it is posted: out of this thread's own
 * buffer, or the device would write it at the same time.
 */
static void make_inline(struct walker *w, struct object *qp, struct ibv_send_wr *wr,
			struct ibv_sge *sge)
{
	sge[0].addr = (uintptr_t)w->scratch;
	sge[0].length = qp->max_inline ? below(w, qp->max_inline + 1 + chance(w, 5)) : 0;
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_INLINE;
}

struct chain {
	struct ibv_send_wr wr[3];
	struct ibv_sge sge[3][SGES];
	struct object *mr[3][SGES];
	int pinned[3];
	uint32_t index[3];
	unsigned count;
};

static void draw_wr(struct walker *w, struct object *qp, struct chain *c, unsigned i,
		    struct object *ah)
{
	struct ibv_send_wr *wr = &c->wr[i];
	struct wr *r = &world.wr[c->index[i]];
	uint32_t len = draw_sges(w, qp, 300, c->sge[i], &c->pinned[i], c->mr[i]);

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
	if (wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP && wr->num_sge && chance(w, 95)) {
		wr->num_sge = 1;
		c->sge[i][0].length = len = 8;
	}
	if (wr->opcode <= IBV_WR_SEND_WITH_IMM && chance(w, 20))
		make_inline(w, qp, wr, c->sge[i]);
	if (qp->type == IBV_QPT_UD) {
		wr->wr.ud.ah = ah->ah;
		wr->wr.ud.remote_qpn = chance(w, 95)
					       ? world.object[QP][below(w, SLOTS)].qpn
					       : below(w, 1 << 24);
		wr->wr.ud.remote_qkey = chance(w, 95) ? QKEY : QKEY + 1;
	} else {
		draw_target(w, qp, wr, len);
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

	if (qp && qp->type == IBV_QPT_UD && !(ah = pin(w, AH, qp->ctx)))
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
		refused(qp, c.index[i - 1]);
	w->refused += c.count - good;
	pthread_mutex_unlock(&qp->post_lock);
	for (unsigned i = 0; i < c.count; i++)
		unpin_all(c.mr[i], c.pinned[i]);
	unpin(ah);
	unpin(qp);
}

void post_recv(struct walker *w)
{
	struct object *qp = pin(w, QP, NULL), *mr[SGES];
	struct ibv_recv_wr wr = { 0 }, *bad = NULL;
	struct ibv_sge sge[SGES];
	uint32_t index;
	int rc;

	if (!qp)
		return;
	pthread_mutex_lock(&qp->post_lock);
	for (unsigned i = 1 + below(w, 4); i && new_wr(qp, &index, true); i--) {
		world.wr[index].len = draw_sges(w, qp, BLOCK_LEN, sge, &wr.num_sge, mr);
		wr.wr_id = wr_id_of(index);
		wr.sg_list = sge;
		posting(index);
		rc = ibv_post_recv(qp->qp, &wr, &bad);
		MAY("ibv_post_recv", rc, 0, EINVAL, ENOMEM);
		MUST(!rc || bad == &wr);
		if (rc) {
			refused(qp, index);
			w->refused++;
		}
		unpin_all(mr, wr.num_sge);
	}
	pthread_mutex_unlock(&qp->post_lock);
	unpin(qp);
}

/* --------------------------------------------------------------------- completions */
static enum ibv_wc_opcode opcode_of(enum ibv_wr_opcode opcode)
{
	switch ((int)opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	default:
		return IBV_WC_SEND;
	}
}

static void judge_status(const struct wr *r, const struct ibv_wc *wc)
{
	const uint32_t sends = 1u << IBV_WC_LOC_LEN_ERR | 1u << IBV_WC_LOC_QP_OP_ERR |
			       1u << IBV_WC_LOC_PROT_ERR | 1u << IBV_WC_WR_FLUSH_ERR |
			       1u << IBV_WC_BAD_RESP_ERR | 1u << IBV_WC_REM_INV_REQ_ERR |
			       1u << IBV_WC_REM_ACCESS_ERR | 1u << IBV_WC_REM_OP_ERR |
			       1u << IBV_WC_RETRY_EXC_ERR |
			       1u << IBV_WC_RNR_RETRY_EXC_ERR;
	const uint32_t recvs =
		1u << IBV_WC_LOC_LEN_ERR | 1u << IBV_WC_LOC_QP_OP_ERR |
		1u << IBV_WC_LOC_PROT_ERR | 1u << IBV_WC_WR_FLUSH_ERR |
		1u << IBV_WC_LOC_ACCESS_ERR | 1u << IBV_WC_REM_INV_REQ_ERR |
		1u << IBV_WC_REM_ACCESS_ERR; /* of a WRITE with immediate */
	uint32_t allowed = r->recv ? recvs : sends;

	if (wc->status != IBV_WC_SUCCESS) {
		if (wc->status > 31 || !(allowed & 1u << wc->status))
			wrong("a %s completes with %s", r->recv ? "receive" : "send",
			      ibv_wc_status_str(wc->status));
		return;
	}
	if (r->recv) {
		if (wc->opcode == IBV_WC_RECV && wc->byte_len > r->len)
			wrong("a receive of %u bytes completes with %u", r->len,
			      wc->byte_len);
		MUST(wc->opcode == IBV_WC_RECV ||
		     wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM);
		return;
	}
	if (!r->signaled)
		wrong("a WR that is not signaled completes with success");
	if (wc->opcode != opcode_of(r->opcode))
		wrong("WR opcode %d completes as %d", (int)r->opcode, (int)wc->opcode);
}

/* cq->poll_lock held. */
static void judge(struct walker *w, struct object *cq, const struct ibv_wc *wc)
{
	uint32_t index = (uint32_t)wc->wr_id;
	struct object *qp;
	struct wr *r;
	int fate;

	if (wc->wr_id != wr_id_of(index) || index >= WRS)
		wrong("a completion from nowhere: wr_id %#llx",
		      (unsigned long long)wc->wr_id);
	r = &world.wr[index];
	fate = atomic_exchange(&r->fate, COMPLETED);
	qp = r->qp;
	if (fate != POSTING)
		wrong("a %s %s", r->recv ? "receive" : "send",
		      fate == COMPLETED ? "completes twice"
					: "was refused or never posted, and completes");
	if (r->epoch != atomic_load(&qp->epoch))
		wrong("a completion of a QP that was reset or destroyed");
	MUST(wc->qp_num == qp->qpn);
	MUST(cq == (r->recv ? qp->recv_cq : qp->send_cq));
	if (r->sequence <= qp->completed[r->recv])
		wrong("WR %u of a queue completes behind WR %u", r->sequence,
		      qp->completed[r->recv]);
	/* Those between were not signaled. */
	atomic_fetch_sub(&cq->waiting, (int)(r->sequence - qp->completed[r->recv]));
	qp->completed[r->recv] = r->sequence;
	judge_status(r, wc);
	w->completions++;
	w->successes += wc->status == IBV_WC_SUCCESS;
}

static void poll_extended(struct walker *w, struct object *cq)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)cq->cq;
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	unsigned want = 1 + below(w, 8);
	int rc = ibv_start_poll(ex, &attr);

	MAY("ibv_start_poll", rc, 0, ENOENT);
	if (rc)
		return;
	while (!rc) {
		struct ibv_wc wc = { .wr_id = ex->wr_id, .status = ex->status };

		wc.qp_num = ibv_wc_read_qp_num(ex);
		if (wc.status == IBV_WC_SUCCESS) {
			wc.opcode = ibv_wc_read_opcode(ex);
			wc.byte_len = ibv_wc_read_byte_len(ex);
		}
		judge(w, cq, &wc);
		rc = --want ? ibv_next_poll(ex) : ENOENT;
	}
	MAY("ibv_next_poll", rc, ENOENT);
	ibv_end_poll(ex);
}

void poll_once(struct walker *w, struct object *cq)
{
	struct ibv_wc wc[8];
	int want = 1 + (int)below(w, 8), n;

	pthread_mutex_lock(&cq->poll_lock);
	if (cq->extended && chance(w, 60)) {
		poll_extended(w, cq);
	} else {
		n = ibv_poll_cq(cq->cq, want, wc);
		/* An overrun CQ is broken and may say so. */
		if (n < 0 && !cq->may_overflow)
			wrong("ibv_poll_cq: %d", n);
		MUST(n <= want);
		for (int i = 0; i < n; i++)
			judge(w, cq, &wc[i]);
	}
	pthread_mutex_unlock(&cq->poll_lock);
}

void poll_cq(struct walker *w)
{
	struct object *cq = pin(w, CQ, NULL);

	if (cq)
		poll_once(w, cq);
	unpin(cq);
}

/* -------------------------------------------------------------------------- events */
void arm_cq(struct walker *w)
{
	struct object *cq = pin(w, CQ, NULL);

	if (cq)
		MAY("ibv_req_notify_cq", ibv_req_notify_cq(cq->cq, chance(w, 30)), 0);
	unpin(cq);
}

void read_async_events(struct ibv_context *ctx)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(ctx, &event)) {
		switch ((int)event.event_type) {
		case IBV_EVENT_CQ_ERR:
			atomic_store(&((struct object *)event.element.cq->cq_context)
					      ->may_overflow,
				     true);
			break;
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
		case IBV_EVENT_COMM_EST:
		case IBV_EVENT_SQ_DRAINED:
		case IBV_EVENT_QP_LAST_WQE_REACHED:
			break;
		default:
			wrong("an event of type %s",
			      ibv_event_type_str(event.event_type));
		}
		ibv_ack_async_event(&event);
	}
	MUST(errno == EAGAIN || errno == EWOULDBLOCK);
}

void take_events(struct walker *w)
{
	struct object *ch = pin(w, CHANNEL, NULL), *ctx = pin(w, CTX, NULL);
	struct ibv_cq *cq;
	void *arg;

	if (ch) {
		while (!ibv_get_cq_event(ch->channel, &cq, &arg)) {
			MUST(((struct object *)arg)->kind == CQ && cq->cq_context == arg);
			ibv_ack_cq_events(cq, 1);
		}
		MUST(errno == EAGAIN || errno == EWOULDBLOCK);
	}
	if (ctx)
		read_async_events(ctx->context);
	unpin(ctx);
	unpin(ch);
}
