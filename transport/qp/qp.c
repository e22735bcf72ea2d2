/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp.c - creates and destroys queue pairs, and moves them to the error states. */
#include "qp.h"

#include <string.h>

#include "requester.h"
#include "rocin/queue_pair.h"
#include "rocin/raw_packet.h"
#include "transport/object/memory.h"
#include "transport/object/srq.h"

/* Memory budget of an RC QP: 2 KiB without its WQEs, including the provider's part. */
static_assert(sizeof(struct rn_qp) <= 1216, "a QP without its WQEs fits 2 KiB");
static_assert(sizeof(struct rn_send_wqe) % _Alignof(struct rn_sge) == 0,
	      "SGEs follow a send WQE");
static_assert(sizeof(struct rn_recv_wqe) % _Alignof(struct rn_sge) == 0,
	      "SGEs follow a receive WQE");

enum {
	BIND_PART = sizeof(struct rn_wqe_bind),
	ALIGN = 64,
};

/* Offsets and sizes of the parts of a QP's memory block. */
struct layout {
	uint32_t send_stride, recv_stride;
	uint32_t send_capacity, recv_capacity; /* powers of two */
	size_t send_at, recv_at, req_stage_at, rsp_stage_at, res_at, rd_at, cc_at, size;
	bool req_stage, rsp_stage, res, rd;
};

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Returns how many bytes a send WQE needs in its slot behind struct rn_send_wqe. */
static uint32_t send_extra(const struct rn_qp_init *in)
{
	uint32_t sges = in->max_send_sge * (uint32_t)sizeof(struct rn_sge);
	uint32_t extra = max_u32(sges, in->max_inline);

	if (in->type == RN_QPT_UD)
		extra += RN_WQE_UD_PART;
	else
		extra = max_u32(extra, BIND_PART);
	if (in->type == RN_QPT_RC || in->type == RN_QPT_XRC_SEND)
		extra = max_u32(extra, RN_WQE_ATOMIC_PART + sges);
	return (extra + 7) & ~7u;
}

static size_t align_up(size_t n)
{
	return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static bool init_is_sane(const struct rn_qp_init *in)
{
	bool xrc = in->type == RN_QPT_XRC_SEND || in->type == RN_QPT_XRC_RECV;
	bool known = xrc || in->type == RN_QPT_RC || in->type == RN_QPT_UC ||
		     in->type == RN_QPT_UD || in->type == RN_QPT_RAW_PACKET;

	if ((in->srq || xrc) && (in->max_recv_wr || in->max_recv_sge))
		return false;
	if (in->type == RN_QPT_XRC_RECV && (in->max_send_wr || !in->xrcd))
		return false;
	return known && !(xrc && in->srq) && in->qpn <= RN_QPN_MASK &&
	       in->max_send_wr <= RN_WR_MAX && in->max_recv_wr <= RN_WR_MAX &&
	       in->max_send_sge <= RN_SGE_MAX && in->max_recv_sge <= RN_SGE_MAX &&
	       in->max_inline <= RN_INLINE_MAX;
}

/* Returns the number of SGEs that a receive WQE may have. For an XRC_RECV QP it is the
 * maximum, because the WQE may come from any SRQ of the XRC domain.
 */
static uint32_t recv_sges(const struct rn_qp_init *in)
{
	if (in->type == RN_QPT_XRC_RECV)
		return RN_SGE_MAX;
	return in->srq ? in->srq->rq.max_sge : in->max_recv_sge;
}

/* Returns the size in bytes of the requester's bounce buffer. It has room for the payload
 * of a packet or, in a raw packet QP, for an Ethernet frame.
 */
static size_t stage_len(const struct rn_qp_init *in)
{
	return in->type == RN_QPT_RAW_PACKET ? align_up(RN_FRAME_MAX) : RN_MTU_MAX;
}

/* Returns true if a QP of this type answers READs and atomics of its peer. */
static bool executes_reads(enum rn_qp_type type)
{
	return type == RN_QPT_RC || type == RN_QPT_XRC_RECV;
}

/* Returns true if a QP of this type can send READs and atomics. */
static bool sends_reads(enum rn_qp_type type)
{
	return type == RN_QPT_RC || type == RN_QPT_XRC_SEND;
}

static struct layout layout_of(const struct rn_dev *dev, const struct rn_qp_init *in)
{
	struct layout l = {
		.send_stride = (uint32_t)sizeof(struct rn_send_wqe) + send_extra(in),
		.recv_stride = (uint32_t)(sizeof(struct rn_recv_wqe) +
					  recv_sges(in) * sizeof(struct rn_sge)),
		.send_capacity = rn_power_of_two(in->max_send_wr),
		.recv_capacity = rn_power_of_two(in->max_recv_wr),
		.req_stage = !dev->cfg.mem->always_done && in->max_send_wr > 0,
		.rsp_stage = !dev->cfg.mem->always_done && executes_reads(in->type),
		.res = executes_reads(in->type) && !in->lent_resources,
		.rd = sends_reads(in->type) && !in->lent_resources,
	};

	l.send_at = align_up(sizeof(struct rn_qp));
	l.recv_at = align_up(l.send_at + (size_t)l.send_stride * l.send_capacity);
	l.req_stage_at = align_up(l.recv_at + (size_t)l.recv_stride * l.recv_capacity);
	l.rsp_stage_at = l.req_stage_at + (l.req_stage ? stage_len(in) : 0);
	l.res_at = l.rsp_stage_at + (l.rsp_stage ? RN_MTU_MAX : 0);
	l.rd_at = l.res_at + (l.res ? rn_qp_resources_size(RN_RD_ATOMIC_MAX) : 0);
	l.cc_at = l.rd_at + (l.rd ? rn_qp_reads_size(RN_RD_ATOMIC_MAX) : 0);
	l.size = l.cc_at + (dev->cfg.cc ? sizeof(struct rn_cc) : 0);
	return l;
}

size_t rn_qp_size(const struct rn_dev *dev, const struct rn_qp_init *init)
{
	return init_is_sane(init) ? layout_of(dev, init).size : 0;
}

static void init_lists(struct rn_qp *qp)
{
	rn_list_init(&qp->work_link);
	rn_list_init(&qp->ack_link);
	rn_list_init(&qp->peer_link);
	rn_list_init(&qp->busy_link);
	rn_list_init(&qp->window_link);
	rn_list_init(&qp->read_link);
	rn_list_init(&qp->event_link);
}

static void init_queues(struct rn_qp *qp, const struct rn_qp_init *in,
			const struct layout *l)
{
	uint8_t *block = (uint8_t *)qp;

	qp->req.sq = (struct rn_wq){ .slot = block + l->send_at,
				     .stride = l->send_stride,
				     .capacity = l->send_capacity,
				     .max_sge = in->max_send_sge,
				     .max_wr = in->max_send_wr };
	qp->rsp.rq = (struct rn_wq){ .slot = block + l->recv_at,
				     .stride = l->recv_stride,
				     .capacity = l->recv_capacity,
				     .max_sge = recv_sges(in),
				     .max_wr = in->max_recv_wr };
	qp->req.stage.buf = l->req_stage ? block + l->req_stage_at : NULL;
	qp->rsp.stage.buf = l->rsp_stage ? block + l->rsp_stage_at : NULL;
	if (l->res)
		rn_qp_lend_resources(qp, block + l->res_at, RN_RD_ATOMIC_MAX);
	if (l->rd)
		rn_qp_lend_reads(qp, block + l->rd_at, RN_RD_ATOMIC_MAX);
}

struct rn_qp *rn_qp_create(struct rn_dev *dev, void *mem, const struct rn_qp_init *init)
{
	struct layout l = layout_of(dev, init);
	struct rn_qp *qp = mem;
	int rc;
	RN_SHOW_CALL(dev, .kind = RN_CALL_QP_CREATE, .object = mem, .u.qp = init);

	assert(init_is_sane(init));
	assert((uintptr_t)mem % ALIGN == 0);
	memset(qp, 0, sizeof(*qp));
	qp->node.key = init->qpn;
	qp->dev = dev;
	qp->type = init->type;
	qp->qpn = init->qpn;
	qp->pd = init->type == RN_QPT_XRC_RECV ? 0 : init->pd;
	qp->srq = init->srq;
	qp->xrcd = init->xrcd;
	qp->max_inline = init->max_inline;
	qp->sq_sig_all = init->sq_sig_all;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->owner = init->owner;
	init_lists(qp);
	init_queues(qp, init, &l);
	qp->cc = dev->cfg.cc ? (struct rn_cc *)((uint8_t *)mem + l.cc_at) : NULL;
	rn_cc_init(qp);
	rn_req_reset(qp);
	rn_rsp_reset(qp);
	rc = rn_htab_insert(&dev->qps, &qp->node);
	assert(rc == 0);
	if (qp->srq)
		qp->srq->qps++;
	rn_qp_set_stats(qp, init->stats);
	return qp;
}

static void stop_sending(struct rn_qp *qp)
{
	rn_timer_remove(&qp->dev->timers, &qp->timer);
	rn_window_withdraw(qp);
	rn_read_window_withdraw(qp);
	/* Responses may have waited for the pacing timer, which has just been stopped. */
	if (rn_rsp_work_due(qp))
		rn_dev_schedule(qp->dev, qp);
	else
		rn_list_remove(&qp->work_link);
	qp->burst = 0;
}

void rn_qp_reset(struct rn_qp *qp)
{
	qp->state = RN_QPS_RESET;
	rn_window_leave(qp);
	rn_cc_reset(qp);
	rn_req_reset(qp);
	rn_rsp_reset(qp);
	stop_sending(qp);
	rn_list_remove(&qp->work_link);
	rn_list_remove(&qp->ack_link);
	qp->attr = (struct rn_qp_attr){ .state = RN_QPS_RESET };
	qp->apm = (struct rn_apm){ 0 };
}

void rn_qp_destroy(struct rn_dev *dev, struct rn_qp *qp)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_QP_DESTROY, .object = qp);

	assert(qp->dev == dev);
	assert(qp->mcast_count == 0);
	rn_qp_reset(qp);
	rn_mw_forget_qp(qp);
	rn_event_forget_qp(qp);
	if (dev->last_qp == qp)
		dev->last_qp = NULL;
	if (qp->stats)
		__atomic_store_n(&qp->stats->qpn, 0, __ATOMIC_RELAXED);
	if (qp->srq)
		qp->srq->qps--;
	rn_htab_remove(&dev->qps, &qp->node);
}

void rn_qp_error(struct rn_qp *qp, rn_ns now)
{
	if (qp->state == RN_QPS_RESET || qp->state == RN_QPS_ERR)
		return;
	qp->state = RN_QPS_ERR;
	rn_req_flush(qp, now);
	qp->req.draining = false;
	rn_window_uncharge(qp, qp->req.in_flight);
	rn_rsp_flush(qp, now);
	stop_sending(qp);
	if (rn_qp_uses_srq(qp))
		rn_event_raise(qp, RN_EVENT_LAST_WQE_REACHED);
	rn_qp_publish(qp);
}

void rn_qp_sq_error(struct rn_qp *qp, rn_ns now)
{
	assert(!rn_qp_is_reliable(qp));
	if (qp->state != RN_QPS_RTS && qp->state != RN_QPS_SQD)
		return;
	qp->state = RN_QPS_SQE;
	rn_req_flush(qp, now);
	qp->req.draining = false;
	stop_sending(qp);
	rn_qp_publish(qp);
}

static bool lost_cqe(const struct rn_qp *qp)
{
	return (qp->send_cq && qp->send_cq->overrun) ||
	       (qp->recv_cq && qp->recv_cq->overrun) || qp->rsp.cq_lost;
}

/* For each CQ that has lost a CQE, moves the QPs that use it to ERR. Their flush CQEs
 * may overrun other CQs, so this is repeated until no CQ has lost a further CQE.
 */
void rn_qp_fail_overrun(struct rn_dev *dev, rn_ns now)
{
	while (dev->cq_failed) {
		dev->cq_failed = false;
		for (struct rn_hnode *n = rn_htab_first(&dev->qps); n;
		     n = rn_htab_next(&dev->qps, n)) {
			struct rn_qp *qp = RN_CONTAINER_OF(n, struct rn_qp, node);

			if (!lost_cqe(qp))
				continue;
			if (qp->state == RN_QPS_RESET || qp->state == RN_QPS_ERR)
				continue;
			rn_event_raise(qp, RN_EVENT_QP_FATAL);
			rn_qp_error(qp, now);
		}
	}
}

void rn_qp_set_stats(struct rn_qp *qp, struct rn_stats_qp *stats)
{
	if (stats) {
		if (qp->stats)
			*stats = *qp->stats;
		else
			*stats = (struct rn_stats_qp){ .qpn = qp->qpn,
						       .type = (uint8_t)qp->type };
	}
	qp->stats = stats;
	rn_qp_publish(qp);
}

bool rn_qp_flow(const struct rn_dev *dev, const struct rn_av *av, struct rn_flow *flow)
{
	static const struct rn_gid unused;
	const struct rn_gid *src;

	if (av->sgid_index >= dev->cfg.gid_count)
		return false;
	src = &dev->cfg.gid[av->sgid_index];
	if (memcmp(src, &unused, sizeof(unused)) == 0)
		return false;
	*flow = (struct rn_flow){
		.src = *src,
		.dst = av->dgid,
		.ifindex = dev->cfg.ifindex,
		.sport = RN_ROCE_PORT,
		.tclass = rn_cc_tclass(dev, av->tclass),
		.hop_limit = av->hop_limit,
	};
	return true;
}

void rn_qp_set_tallies(struct rn_qp *qp, const struct rn_tallies *tallies)
{
	qp->tallies = tallies;
}

void rn_qp_tally(const struct rn_qp *qp, enum rn_tally_kind kind,
		 enum rn_wc_status status, uint32_t bytes)
{
	struct rn_tally *t = qp->tallies ? qp->tallies->by[kind] : NULL;

	if (!t)
		return;
	if (status != RN_WC_SUCCESS)
		__atomic_store_n(&t->failed, t->failed + 1, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&t->done, t->done + (t->of_bytes ? bytes : 1),
				 __ATOMIC_RELEASE);
}

void rn_qp_complete_recv(struct rn_qp *qp, rn_ns now, struct rn_completion *c)
{
	struct rn_wq *rq = &qp->rsp.rq;
	const struct rn_recv_wqe *wqe = rn_wq_at(rq, rq->head);
	const struct rn_srq *srq = qp->rsp.taken_from;

	assert(rn_wq_count(rq) > 0);
	qp->dev->received++;
	c->wr_id = wqe->wr_id;
	rq->head++;
	qp->rsp.taken_from = NULL;
	rn_cq_push(qp->dev, srq && srq->cq ? srq->cq : qp->recv_cq, qp, now, c);
	rn_qp_tally(qp, RN_TALLY_RECV, c->status, c->byte_len);
}

void rn_qp_fail_recv(struct rn_qp *qp, rn_ns now, enum rn_wc_status status)
{
	struct rn_completion c = { .status = status, .opcode = RN_WC_RECV };

	rn_qp_complete_recv(qp, now, &c);
}

void rn_qp_recv_too_short(struct rn_qp *qp, rn_ns now)
{
	rn_qp_take_recv(qp, qp->srq);
	rn_qp_fail_recv(qp, now, RN_WC_LOC_LEN_ERR);
}

enum rn_qp_state rn_qp_state(const struct rn_qp *qp)
{
	return qp->state;
}

void *rn_qp_owner(const struct rn_qp *qp)
{
	return qp->owner;
}

void rn_qp_set_owner(struct rn_qp *qp, void *owner)
{
	qp->owner = owner;
}

uint32_t rn_qp_qpn(const struct rn_qp *qp)
{
	return qp->qpn;
}

bool rn_qp_sq_idle(const struct rn_qp *qp)
{
	return rn_req_idle(qp);
}

bool rn_qp_unsent(const struct rn_qp *qp)
{
	return qp->req.cur != qp->req.sq.tail;
}

bool rn_qp_unacked(const struct rn_qp *qp)
{
	return rn_qp_is_reliable(qp) && qp->req.una.v != qp->req.high.v;
}

void rn_qp_fail(struct rn_dev *dev, struct rn_qp *qp, rn_ns now)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_QP_FAIL, .object = qp, .now = now);

	if (qp->state == RN_QPS_RESET || qp->state == RN_QPS_ERR)
		return;
	rn_event_raise(qp, RN_EVENT_QP_FATAL);
	rn_qp_error(qp, now);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
}

void rn_qp_overrun(struct rn_dev *dev, struct rn_qp *qp, rn_ns now, bool of_send_cq)
{
	struct rn_cq *cq = of_send_cq ? qp->send_cq : qp->recv_cq;
	RN_SHOW_CALL(dev, .kind = RN_CALL_QP_OVERRUN, .object = qp, .now = now,
		     .u.of_send_cq = of_send_cq);

	if (!cq || cq->overrun)
		return;
	rn_count(dev, RN_STAT_CQ_OVERRUN);
	cq->overrun = true;
	dev->cq_failed = true;
	rn_event_raise_cq(dev, cq, true);
	rn_dev_settle(dev, now);
}
