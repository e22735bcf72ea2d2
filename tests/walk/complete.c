/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* complete.c - completions are judged, events are taken. */
#include "walk.h"

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
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	default:
		return IBV_WC_SEND;
	}
}

static void judge_status(const struct wr *r, const struct ibv_wc *wc)
{
	const uint32_t sends = 1u << IBV_WC_LOC_LEN_ERR | 1u << IBV_WC_LOC_QP_OP_ERR |
			       1u << IBV_WC_LOC_PROT_ERR | 1u << IBV_WC_WR_FLUSH_ERR |
			       1u << IBV_WC_MW_BIND_ERR | 1u << IBV_WC_BAD_RESP_ERR |
			       1u << IBV_WC_REM_INV_REQ_ERR |
			       1u << IBV_WC_REM_ACCESS_ERR | 1u << IBV_WC_REM_OP_ERR |
			       1u << IBV_WC_RETRY_EXC_ERR |
			       1u << IBV_WC_RNR_RETRY_EXC_ERR;
	const uint32_t recvs =
		1u << IBV_WC_LOC_LEN_ERR | 1u << IBV_WC_LOC_QP_OP_ERR |
		1u << IBV_WC_LOC_PROT_ERR | 1u << IBV_WC_WR_FLUSH_ERR |
		1u << IBV_WC_LOC_ACCESS_ERR | /* of a WRITE with immediate */
		1u << IBV_WC_REM_INV_REQ_ERR;
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
	if (qp->kind == SRQ) {
		judge_status(r, wc);
		w->completions++;
		w->successes += wc->status == IBV_WC_SUCCESS;
		return;
	}
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
		case IBV_EVENT_SRQ_LIMIT_REACHED:
		case IBV_EVENT_WQ_FATAL:
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
