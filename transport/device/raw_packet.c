/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_packet.c - sends and receives the Ethernet frames of RAW_PACKET queue pairs. */
#include "rocin/raw_packet.h"

#include "transport/object/memory.h"
#include "transport/object/srq.h"
#include "transport/qp/requester.h"

/* Counts a frame in @frames, a counter of the QP. The counters of the device do not count
 * it, because they are about RoCE packets.
 */
static void count_frame(uint64_t *frames)
{
	__atomic_store_n(frames, *frames + 1, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------- sent frames */
/* Returns the WQE whose frame is to be sent next; NULL if none may be sent. */
static struct rn_send_wqe *next_wqe(const struct rn_qp *qp)
{
	const struct rn_requester *req = &qp->req;
	uint32_t limit = qp->state == RN_QPS_SQD ? req->sqd_limit : req->sq.tail;

	if (qp->state != RN_QPS_RTS && qp->state != RN_QPS_SQD)
		return NULL;
	return req->cur == limit ? NULL : rn_wq_at(&req->sq, req->cur);
}

/* Completes the WQE whose frame has been built. Like any request it takes a PSN in the
 * send queue, though no packet carries that PSN.
 */
static void frame_left(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;

	req->next_psn = rn_psn_add(req->next_psn, 1);
	req->cur++;
	if (qp->stats)
		count_frame(&qp->stats->tx_packets);
	rn_req_retire(qp, now, RN_WC_SUCCESS);
	rn_req_check_drained(qp);
}

static uint32_t build_frame(struct rn_qp *qp, rn_ns now, uint8_t *buf, uint32_t *flags)
{
	struct rn_send_wqe *wqe = next_wqe(qp);
	uint32_t len;

	if (!wqe)
		return 0;
	len = wqe->length;
	if (len < RN_FRAME_MIN || len > RN_FRAME_MAX) {
		rn_req_fail_head(qp, now, RN_WC_LOC_LEN_ERR);
		return 0;
	}
	switch (rn_req_fetch(qp, wqe, qp->req.next_psn, 0, len, buf, NULL)) {
	case RN_MEM_DONE:
		break;
	case RN_MEM_PENDING:
		return 0;
	case RN_MEM_FAULT:
		rn_req_fail_head(qp, now, RN_WC_LOC_PROT_ERR);
		return 0;
	}
	*flags = wqe->flags;
	frame_left(qp, now);
	return len;
}

static uint32_t transmit_frame(struct rn_dev *dev, rn_ns now, uint8_t *buf, size_t cap,
			       uint32_t *flags)
{
	struct rn_list *link;

	assert(cap >= RN_FRAME_MAX);
	while ((link = rn_list_pop_front(&dev->frames))) {
		struct rn_qp *qp = RN_CONTAINER_OF(link, struct rn_qp, work_link);
		uint32_t len = build_frame(qp, now, buf, flags);

		rn_dev_settle(dev, now);
		if (len && next_wqe(qp))
			rn_dev_schedule(dev, qp);
		rn_qp_publish(qp);
		if (len)
			return len;
	}
	return 0;
}

uint32_t rn_dev_transmit_frame(struct rn_dev *dev, rn_ns now, uint8_t *buf, size_t cap,
			       uint32_t *flags)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_TRANSMIT_FRAME, .now = now,
		     .u.transmit = { .buf = buf, .cap = cap, .flags = flags });

	return RN_SHOW_RESULT(transmit_frame(dev, now, buf, cap, flags));
}

/* ---------------------------------------------------------- received frames */
static bool receives(const struct rn_qp *qp)
{
	return qp->state != RN_QPS_RESET && qp->state != RN_QPS_INIT &&
	       qp->state != RN_QPS_ERR;
}

static bool place_frame(struct rn_qp *qp, rn_ns now, const struct rn_rx_frame *f)
{
	struct rn_recv_wqe *wqe = rn_qp_take_recv(qp, qp->srq);
	struct rn_completion c = {
		.opcode = RN_WC_RECV,
		.byte_len = f->len,
		.imm = f->tag,
		.flags = f->checksums_ok ? RN_WC_IP_CSUM_OK : 0,
	};

	c.status = rn_scatter(qp, rn_recv_sge(wqe), wqe->num_sge, 0, f->data, f->len);
	if (c.status == RN_WC_LOC_LEN_ERR)
		rn_count(qp->dev, RN_STAT_RESP_LOCAL_LENGTH);
	if (c.status == RN_WC_SUCCESS)
		qp->rsp.msn = rn_rsp_next_msn(qp);
	rn_qp_complete_recv(qp, now, &c);
	if (c.status != RN_WC_SUCCESS)
		rn_qp_error(qp, now);
	return c.status == RN_WC_SUCCESS;
}

static bool receive_frame(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
			  const struct rn_rx_frame *f)
{
	bool taken;

	assert(qp->type == RN_QPT_RAW_PACKET && f->len > 0 && f->len <= RN_FRAME_MAX);
	if (!receives(qp)) {
		rn_count(dev, RN_STAT_RX_BAD_STATE);
		return false;
	}
	if (!rn_qp_next_recv(qp, qp->srq)) {
		rn_count(dev, RN_STAT_RX_NO_RECV);
		return false;
	}
	taken = place_frame(qp, now, f);
	if (taken && qp->stats)
		count_frame(&qp->stats->rx_packets);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
	return taken;
}

bool rn_qp_receive_frame(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
			 const struct rn_rx_frame *f)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_RECEIVE_FRAME, .object = qp, .now = now,
		     .u.frame = f);

	return RN_SHOW_RESULT(receive_frame(dev, qp, now, f));
}
