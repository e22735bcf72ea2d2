/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mw_kit.h - a queue pair, a region and a window, for the tests of windows. */
#ifndef RN_MW_KIT_H
#define RN_MW_KIT_H

#include "tests/kit/device/req_kit.h"

enum {
	REGION = 4096,
	MW_KEY = 0x777700,
	PD = 1,
	NAK_ACCESS = 0x62,
	NAK_SEQ = 0x60,
	BINDABLE = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_MW_BIND,
	PEER_RIGHTS =
		RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC,
};

/* RC0, a region without remote rights, and a window. */
struct win {
	struct raw r;
	struct pair_mr *region, *recv;
	struct rn_mr mw;
	uint32_t psn; /* of the peer's next request */
};

/* Windows are linked to it and to the QP: it must not move. */
static struct win w;

static inline void win_start(enum rn_mr_kind kind, uint32_t access, uint32_t pd)
{
	w = (struct win){ .r = req_new(NULL), .psn = RAW_PSN_RX };
	w.region = pair_mr_new(w.r.p, 0, REGION, access);
	w.recv = pair_mr_new(w.r.p, 0, REGION, RN_ACCESS_LOCAL_WRITE);
	rn_mw_init(&w.mw, kind, MW_KEY, pd);
	rn_dev_add_mr(w.r.p->dev[0], &w.mw);
}

static inline void win_new(enum rn_mr_kind kind)
{
	win_start(kind, BINDABLE, PD);
}

static inline void win_free(void)
{
	rn_dev_remove_mr(w.r.p->dev[0], &w.mw);
	assert_int_equal(w.region->mr.windows, 0);
	req_free(&w.r);
}

/* Bind [offset, offset + len) of the region with the window's key byte being @byte. */
static inline struct rn_send_wr bind_wr(uint64_t wr_id, uint8_t byte, uint32_t offset,
					uint64_t len, uint32_t access)
{
	return (struct rn_send_wr){
		.wr_id = wr_id,
		.opcode = RN_WR_BIND_MW,
		.flags = RN_SEND_SIGNALED,
		.rkey = MW_KEY | byte,
		.remote_addr = w.region->mr.va + offset,
		.bind_length = len,
		.bind_region = w.region->mr.lkey,
		.bind_access = access,
	};
}

static inline void post_ok(struct pair_qp *q, const struct rn_send_wr *wr)
{
	assert_int_equal(pair_post_send(q, wr), 0);
}

static inline void bind_part(uint8_t byte, uint32_t offset, uint32_t len, uint32_t access)
{
	struct rn_send_wr wr = bind_wr(1, byte, offset, len, access);
	struct rn_cqe cqe;

	post_ok(w.r.q, &wr);
	cqe = pair_expect_wc(w.r.q->scq, 1, RN_WC_SUCCESS);
	assert_int_equal(pair_cqe_opcode(&cqe), RN_WC_BIND_MW);
	assert_int_equal(w.mw.lkey, MW_KEY | byte);
}

static inline void bind_all(uint8_t byte)
{
	bind_part(byte, 0, REGION, PEER_RIGHTS);
}

static inline void invalidate(struct pair_qp *q, uint32_t key, enum rn_wc_status status)
{
	struct rn_send_wr wr = { .wr_id = 2,
				 .opcode = RN_WR_LOCAL_INV,
				 .flags = RN_SEND_SIGNALED,
				 .imm = key };
	struct rn_cqe cqe;

	post_ok(q, &wr);
	cqe = pair_expect_wc(q->scq, 2, status);
	assert_int_equal(pair_cqe_opcode(&cqe), RN_WC_LOCAL_INV);
}

/* Does the key open the range to a WRITE that comes to the QP? If not, it is in ERR. */
static inline bool opens_to(const struct pair_qp *q, uint32_t psn, uint32_t key,
			    uint64_t va, uint32_t len)
{
	static const uint8_t bytes[64] = { 0xab };
	struct raw_packet k;

	raw_send(&w.r, RAW(.op = RN_RC_WRITE_ONLY, .dest_qpn = q->qpn, .psn = psn,
			   .ack_req = true, .payload = bytes, .len = len,
			   .reth = { .va = va, .rkey = key, .dma_len = len }));
	assert_true(raw_next(&w.r, &k));
	assert_int_equal(k.op, RN_RC_ACK);
	assert_int_equal(k.psn, psn);
	if (k.aeth.syndrome == NAK_ACCESS)
		return false;
	assert_int_equal(k.aeth.syndrome, 0x1f);
	return true;
}

static inline bool opens(uint32_t key, uint32_t offset, uint32_t len)
{
	return opens_to(w.r.q, w.psn++, key, w.region->mr.va + offset, len);
}

/* Of another QP towards the same peer, which sends its requests there. */
static inline struct pair_qp *other_qp(void)
{
	struct pair_qp *q = pair_qp_new(w.r.p, 0, RN_QPT_RC);
	struct rn_qp_attr attr = pair_attr(q, 1, RAW_PEER_QPN);

	attr.rq_psn = RAW_PSN_RX;
	attr.retry_cnt = 3;
	pair_modify_until(q, &attr, RN_QPS_RTS);
	return q;
}

#endif /* RN_MW_KIT_H */
