/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* request.c - requests that the peer answers one by one: READ, atomics, ATOMIC WRITE and
 * FLUSH. All of them count against max_rd_atomic.
 *
 * Source: IBTA Vol 1, 9.4.4 (READ), 9.4.5 (atomics), A19 (ATOMIC WRITE, FLUSH).
 */
#include "window.h"
#include "requester.h"

/* The common part of all: @bytes of response, @packets PSNs. */
static void request_sent(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			 struct rn_psn psn, uint32_t packets, uint32_t bytes)
{
	struct rn_requester *req = &qp->req;

	if (!rn_psn_before(psn, req->high))
		rn_req_count_message(req, wqe);
	rn_req_start(req, wqe);
	req->since_ack_req = 0;
	rn_req_read_sent(qp, rn_psn_add(psn, packets - 1), bytes);
	rn_dest_charge(qp, now, RN_PACKET_COST);
	rn_req_sent(qp, now, psn, rn_psn_add(psn, packets));
	rn_req_move_on(req, wqe, packets);
}

static bool may_request(struct rn_qp *qp, rn_ns now, uint32_t bytes)
{
	return qp->req.rd_count < qp->attr.max_rd_atomic &&
	       rn_dest_may_send(qp, now, RN_PACKET_COST) &&
	       rn_read_window_open(qp, now, bytes);
}

uint32_t rn_req_build_read(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			   struct rn_build *b)
{
	struct rn_requester *req = &qp->req;
	struct rn_segment s = { .psn = rn_req_next_psn(req, wqe),
				.opcode = RN_RC_READ_REQUEST |
					  rn_req_opcode_class(qp->type) };
	struct rn_reth reth = { .va = wqe->remote_addr, .rkey = wqe->rkey };
	uint32_t offset = req->cur_packet << rn_req_mtu_shift(qp);
	uint32_t packets;
	uint8_t *p;

	if (wqe->state == RN_WQE_POSTED)
		wqe->packet_count = rn_req_count_packets(qp, wqe->length);
	packets = rn_req_read_packets(qp, wqe, req->cur_packet);
	reth.va += offset;
	reth.dma_len = packets << rn_req_mtu_shift(qp);
	if (reth.dma_len > wqe->length - offset)
		reth.dma_len = wqe->length - offset;
	if (!may_request(qp, now, reth.dma_len))
		return 0;

	p = rn_req_emit_xrceth(qp, wqe, rn_req_emit_bth(qp, b, &s, true, false));
	p = rn_reth_emit(p, &reth);
	request_sent(qp, now, wqe, s.psn, packets, reth.dma_len);
	return (uint32_t)(p - b->buf);
}

uint32_t rn_req_build_atomic(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			     struct rn_build *b)
{
	const struct rn_wqe_atomic *operands = rn_wqe_atomic(wqe);
	bool swap = wqe->opcode == RN_WR_ATOMIC_CMP_AND_SWP;
	struct rn_segment s = {
		.psn = rn_req_next_psn(&qp->req, wqe),
		.opcode = rn_wqe_info(wqe)->only | rn_req_opcode_class(qp->type),
	};
	struct rn_atomic_eth eth = {
		.va = wqe->remote_addr,
		.rkey = wqe->rkey,
		.swap_add = swap ? operands->swap : operands->compare_add,
		.compare = swap ? operands->compare_add : 0,
	};
	uint8_t *p;

	if (!may_request(qp, now, 0))
		return 0;
	wqe->packet_count = 1;
	p = rn_req_emit_xrceth(qp, wqe, rn_req_emit_bth(qp, b, &s, true, false));
	p = rn_atomic_eth_emit(p, &eth);
	request_sent(qp, now, wqe, s.psn, 1, 0);
	return (uint32_t)(p - b->buf);
}

/* The headers of a request of one packet, up to the RETH. */
static uint8_t *emit_one(const struct rn_qp *qp, const struct rn_send_wqe *wqe,
			 const struct rn_segment *s, const struct rn_build *b)
{
	const struct rn_reth reth = {
		.va = wqe->remote_addr,
		.rkey = wqe->rkey,
		.dma_len = wqe->length,
	};
	uint8_t *p = rn_req_emit_xrceth(qp, wqe, rn_req_emit_bth(qp, b, s, true, false));

	if (wqe->opcode == RN_WR_FLUSH) {
		const struct rn_feth feth = {
			.placement = wqe->imm & UINT8_MAX,
			.selectivity = (uint8_t)(wqe->imm >> 8),
		};

		p = rn_feth_emit(p, &feth);
	}
	return rn_reth_emit(p, &reth);
}

uint32_t rn_req_build_atomic_write(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
				   struct rn_build *b)
{
	const struct rn_segment s = {
		.psn = rn_req_next_psn(&qp->req, wqe),
		.len = wqe->length,
		.opcode = RN_RC_ATOMIC_WRITE | rn_req_opcode_class(qp->type),
	};
	uint8_t *payload = b->buf + rn_opcode_info[s.opcode].hdr_len;
	enum rn_mem_result result;
	uint8_t *p;

	if (!may_request(qp, now, 0))
		return 0;
	result = rn_req_fetch(qp, wqe, s.psn, 0, s.len, payload, NULL);
	if (result == RN_MEM_FAULT)
		rn_req_fail_locally(qp, now, wqe, RN_WC_LOC_PROT_ERR);
	if (result != RN_MEM_DONE)
		return 0;
	wqe->packet_count = 1;
	p = emit_one(qp, wqe, &s, b);
	assert(p == payload);
	request_sent(qp, now, wqe, s.psn, 1, 0);
	return (uint32_t)(p - b->buf) + s.len;
}

uint32_t rn_req_build_flush(struct rn_qp *qp, rn_ns now, struct rn_send_wqe *wqe,
			    struct rn_build *b)
{
	const struct rn_segment s = {
		.psn = rn_req_next_psn(&qp->req, wqe),
		.opcode = RN_RC_FLUSH | rn_req_opcode_class(qp->type),
	};
	uint8_t *p;

	if (!may_request(qp, now, 0))
		return 0;
	wqe->packet_count = 1;
	p = emit_one(qp, wqe, &s, b);
	request_sent(qp, now, wqe, s.psn, 1, 0);
	return (uint32_t)(p - b->buf);
}
