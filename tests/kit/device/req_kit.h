/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* req_kit.h - functions for tests of the requester, which post to the QP under test. */
#ifndef RN_REQ_KIT_H
#define RN_REQ_KIT_H

#include "tests/kit/device/raw.h"

#include "transport/qp/qp.h"

/* Times that follow from the attributes of RC0 (raw.h). */
/* minimum ACK timeout for code 14: 67 ms */
#define ACK_TIMEOUT_LEAST ((rn_ns)4096 << 14)
/* time at which the timer of the device expires: 268 ms */
#define ACK_TIMEOUT (4 * ACK_TIMEOUT_LEAST)
#define RNR_CODE_20 RN_USEC(10240)

enum {
	REMOTE_RKEY = 0x1234
};
#define REMOTE_VA 0x7f0000001000u

/* Returns the initial value of byte @i of the test's memory region. */
static inline uint8_t pattern(uint32_t i)
{
	return (uint8_t)(7 * i + 1);
}

static inline void fill(const struct pair_mr *mr)
{
	for (uint32_t i = 0; i < mr->len; i++)
		mr->data[i] = pattern(i);
}

static inline struct raw req_new(void (*change)(struct rn_qp_attr *))
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, change);

	fill(r.mr);
	return r;
}

/* Posts a request for the bytes of an SGE, and sends the packets that can be sent now. */
static inline void post_sge(struct raw *r, uint64_t wr_id, enum rn_wr_opcode opcode,
			    struct rn_sge sge, uint32_t flags)
{
	struct rn_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.flags = flags,
		.imm = 0x01020304,
		.remote_addr = REMOTE_VA,
		.rkey = REMOTE_RKEY,
		.compare_add = 0x1111222233334444,
		.swap = 0x5555666677778888,
		.sg = &sge,
		.num_sge = 1,
	};

	assert_int_equal(pair_post_send(r->q, &wr), 0);
}

/* The same for the first @len bytes of the test's memory region. */
static inline void post_flags(struct raw *r, uint64_t wr_id, enum rn_wr_opcode opcode,
			      uint32_t len, uint32_t flags)
{
	post_sge(r, wr_id, opcode, pair_sge(r->mr, 0, len), flags);
}

static inline void post(struct raw *r, uint64_t wr_id, enum rn_wr_opcode opcode,
			uint32_t len)
{
	post_flags(r, wr_id, opcode, len, RN_SEND_SIGNALED);
}

/* Posts a request whose L_Key is not valid. */
static inline void post_bad_lkey(struct raw *r, uint64_t wr_id)
{
	struct rn_sge sge = pair_sge(r->mr, 0, 100);
	struct rn_send_wr wr = {
		.wr_id = wr_id, .opcode = RN_WR_SEND, .sg = &sge, .num_sge = 1
	};

	sge.lkey ^= 1;
	assert_int_equal(pair_post_send(r->q, &wr), 0);
}

/* Returns the opcode of packet number @i of a message of @n packets. */
static inline uint8_t req_nth(uint32_t i, uint32_t n, uint8_t first, uint8_t only)
{
	if (n == 1)
		return only;
	if (i == 0)
		return first;
	return (uint8_t)(first + (i == n - 1 ? 2 : 1));
}

/* Asserts that the device has sent a message of @len bytes in packets of 1024 bytes.
 * Sends an ACK for the message, and asserts that the request completes. Its wr_id must be
 * @len.
 */
static inline void check_message(struct raw *r, uint32_t psn, uint32_t len, uint8_t first,
				 uint8_t only)
{
	uint32_t n = len ? (len + 1023) / 1024 : 1;

	for (uint32_t i = 0; i < n; i++) {
		const struct raw_packet *k =
			raw_expect(r, req_nth(i, n, first, only), psn + i);

		assert_int_equal(k->len, i == n - 1 ? len - i * 1024 : 1024);
		assert_int_equal(k->ack_req, i == n - 1);
		assert_memory_equal(k->payload, r->mr->data + i * 1024, k->len);
	}
	raw_expect_silence(r);
	raw_ack(r, psn + n - 1, 1);
	pair_expect_wc(r->q->scq, len, RN_WC_SUCCESS);
	pair_expect_no_wc(r->q->scq);
}

/* Posts SENDs of one packet each. Their PSNs and wr_ids are 200, 201, ... */
static inline void post_sends(struct raw *r, unsigned count)
{
	for (uint64_t i = 0; i < count; i++) {
		post(r, 200 + i, RN_WR_SEND, 8);
		raw_expect(r, RN_RC_SEND_ONLY, (uint32_t)(200 + i));
	}
}

static inline void expect_successes(struct raw *r, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		pair_expect_wc(r->q->scq, i, RN_WC_SUCCESS);
	pair_expect_no_wc(r->q->scq);
}

static inline void expect_state(const struct raw *r, enum rn_qp_state state)
{
	assert_int_equal(rn_qp_state(r->q->qp), state);
}

static inline void expect_stat(const struct raw *r, enum rn_stat stat, uint64_t value)
{
	assert_int_equal(pair_stat(r->p, 0, stat), value);
}

/* Frees the device. Before that, asserts that the counters of unacknowledged requests are
 * 0 if no request is in progress.
 */
static inline void req_free(struct raw *r)
{
	const struct rn_qp *qp = r->q->qp;

	if (rn_qp_sq_idle(qp)) {
		assert_int_equal(qp->req.in_flight, 0);
		assert_int_equal(qp->req.rd_count, 0);
		assert_int_equal(qp->dev->read_in_flight, 0);
	}
	if (qp->peer && rn_qp_sq_idle(qp))
		assert_int_equal(qp->peer->in_flight, 0);
	raw_free(r);
}

/* Sends a READ response with PSN @psn and @len bytes of payload. */
static inline void send_read_response(struct raw *r, uint8_t op, uint32_t psn,
				      uint32_t len)
{
	raw_send(r, RAW(.op = op, .psn = psn, .len = len,
			.aeth = { .syndrome = RN_AETH_NO_CREDIT, .msn = 1 }));
}

#endif /* RN_REQ_KIT_H */
