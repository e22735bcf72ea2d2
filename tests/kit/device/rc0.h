/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rc0.h - the responder tests' QP, which is RC0 of tests/rules.md with receives. */
#ifndef RN_TEST_RC0_H
#define RN_TEST_RC0_H

#include "tests/kit/device/raw.h"

enum {
	RC0_RECV_LEN = 4096,
	RC0_RECVS = 4, /* number of receives for which @recv has room */
	RC0_ALL_RIGHTS = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			 RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC,
};

struct rc0 {
	struct raw r;
	/* memory of the receives: receive i has RC0_RECV_LEN bytes from i * RC0_RECV_LEN
	 * on
	 */
	struct pair_mr *recv;
	unsigned posted;
};

static inline struct rc0 rc0_new(const struct pair_cfg *cfg, enum rn_qp_type type,
				 enum rn_qp_state state,
				 void (*change)(struct rn_qp_attr *))
{
	struct rc0 t = { .r = raw_new(cfg, type, state, change) };

	t.recv = pair_mr_new(t.r.p, 0, RC0_RECVS * RC0_RECV_LEN, RN_ACCESS_LOCAL_WRITE);
	return t;
}

/* Posts a receive of @len bytes. The wr_ids of receives are 1, 2, ... */
static inline void rc0_post_len(struct rc0 *t, uint32_t len)
{
	uint32_t offset = t->posted % RC0_RECVS * RC0_RECV_LEN;

	assert_int_equal(pair_post_recv_mr(t->r.q, ++t->posted, t->recv, offset, len), 0);
}

static inline void rc0_post(struct rc0 *t, unsigned count)
{
	while (count--)
		rc0_post_len(t, RC0_RECV_LEN);
}

/* Creates an RC QP in state RTS with @recvs receives. */
static inline struct rc0 rc0_rts(unsigned recvs)
{
	struct rc0 t = rc0_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);

	rc0_post(&t, recvs);
	return t;
}

static inline void rc0_free(struct rc0 *t)
{
	raw_free(&t->r);
}

static inline const uint8_t *rc0_recv_data(const struct rc0 *t, uint64_t wr_id)
{
	return t->recv->data + (wr_id - 1) % RC0_RECVS * RC0_RECV_LEN;
}

static inline enum rn_qp_state rc0_state(const struct rc0 *t)
{
	return rn_qp_state(t->r.q->qp);
}

static inline uint64_t rc0_stat(const struct rc0 *t, enum rn_stat stat)
{
	return pair_stat(t->r.p, 0, stat);
}

/* Returns the RETH for the bytes [offset, offset + len) of the remote region. */
static inline struct rn_reth rc0_reth(const struct rc0 *t, uint32_t offset, uint32_t len)
{
	return (struct rn_reth){ .va = t->r.mr->mr.va + offset,
				 .rkey = t->r.mr->mr.lkey,
				 .dma_len = len };
}

/* Asserts that the data is the payload that raw_send() uses if the test gives none. */
#define rc0_expect_pattern(data, psn, len)                                   \
	do {                                                                 \
		for (uint32_t i_ = 0; i_ < (uint32_t)(len); i_++)            \
			assert_int_equal((data)[i_], (uint8_t)((psn) + i_)); \
	} while (0)

#define rc0_expect_receive(t, wr_id, len) \
	rc0_expect_receive_at((t), (wr_id), (len), __FILE__, __LINE__)
static inline struct rn_cqe rc0_expect_receive_at(struct rc0 *t, uint64_t wr_id,
						  uint32_t len, const char *file,
						  int line)
{
	struct rn_cqe cqe =
		pair_expect_wc_at(t->r.q->rcq, wr_id, RN_WC_SUCCESS, file, line);

	_assert_int_equal((LargestIntegralType)pair_cqe_opcode(&cqe),
			  (LargestIntegralType)RN_WC_RECV, file, line);
	_assert_int_equal(cqe.byte_len, len, file, line);
	_assert_int_equal(cqe.qpn, t->r.q->qpn, file, line);
	return cqe;
}

/* Asserts that the device has sent a NAK with this syndrome and nothing else, that the QP
 * is in state ERR, and that the receives from @first_wr on were flushed.
 */
#define rc0_expect_fatal(t, syndrome, psn, msn, first_wr) \
	rc0_expect_fatal_at((t), (syndrome), (psn), (msn), (first_wr), __FILE__, __LINE__)
static inline void rc0_expect_fatal_at(struct rc0 *t, uint8_t syndrome, uint32_t psn,
				       uint32_t msn, uint64_t first_wr, const char *file,
				       int line)
{
	raw_expect_aeth_at(&t->r, syndrome, psn, msn, file, line);
	_assert_int_equal((LargestIntegralType)rc0_state(t),
			  (LargestIntegralType)RN_QPS_ERR, file, line);
	for (uint64_t wr = first_wr; wr <= t->posted; wr++)
		pair_expect_wc_at(t->r.q->rcq, wr, RN_WC_WR_FLUSH_ERR, file, line);
	pair_expect_no_wc_at(t->r.q->rcq, file, line);
	raw_expect_silence_at(&t->r, file, line);
}

/* Asserts that the device has sent no packet, completed no receive and raised no event.
 */
#define rc0_expect_nothing(t) rc0_expect_nothing_at((t), __FILE__, __LINE__)
static inline void rc0_expect_nothing_at(struct rc0 *t, const char *file, int line)
{
	struct rn_event ev;

	raw_expect_silence_at(&t->r, file, line);
	pair_expect_no_wc_at(t->r.q->rcq, file, line);
	if (pair_next_event(t->r.p, &ev)) {
		print_error("unexpected event %d\n", (int)ev.async);
		_fail(file, line);
	}
}

static inline void rc0_fill(struct rc0 *t, uint8_t salt)
{
	for (uint32_t i = 0; i < RAW_MR_LEN; i++)
		t->r.mr->data[i] = (uint8_t)(i * 7 + (i >> 8) + salt);
}

static inline struct rc0 rc0_rts_filled(unsigned recvs)
{
	struct rc0 t = rc0_rts(recvs);

	rc0_fill(&t, 0);
	return t;
}

static inline void rc0_read(struct rc0 *t, uint32_t psn, uint32_t offset, uint32_t len)
{
	raw_send(&t->r, RAW(.op = RN_RC_READ_REQUEST, .psn = psn, .ack_req = true,
			    .reth = rc0_reth(t, offset, len)));
}

static inline void rc0_send(struct rc0 *t, uint32_t psn)
{
	raw_send(&t->r, RAW(.op = RN_RC_SEND_ONLY, .psn = psn, .ack_req = true));
}

/* Blocks the transmitter of the device: until rc0_thaw(), it receives requests and sends
 * nothing.
 */
static inline void rc0_freeze(struct rc0 *t)
{
	t->r.p->frozen = true;
}

static inline void rc0_thaw(struct rc0 *t)
{
	t->r.p->frozen = false;
	pair_flush(t->r.p);
}

/* Asserts that the next packet is a response with the data of the remote region from
 * @offset on.
 */
#define rc0_expect_response(t, op_, psn_, msn_, offset, len_)                        \
	do {                                                                         \
		const struct raw_packet *k_ = raw_expect(&(t)->r, (op_), (psn_));    \
                                                                                     \
		assert_int_equal(k_->len, (len_));                                   \
		assert_int_equal(k_->dest_qpn, RAW_PEER_QPN);                        \
		assert_int_equal(k_->pkey, 0xffff);                                  \
		assert_int_equal((uint32_t)k_->pad - 1, -(uint32_t)(len_)&3);        \
		if ((op_) != RN_RC_READ_RESPONSE_MIDDLE) {                           \
			assert_int_equal(k_->aeth.syndrome, 0x1f);                   \
			assert_int_equal(k_->aeth.msn, (msn_));                      \
		}                                                                    \
		if (len_)                                                            \
			assert_memory_equal(k_->payload, (t)->r.mr->data + (offset), \
					    (len_));                                 \
	} while (0)

static inline void rc0_expect_3000(struct rc0 *t, uint32_t psn, uint32_t msn)
{
	rc0_expect_response(t, RN_RC_READ_RESPONSE_FIRST, psn, msn, 0, 1024);
	rc0_expect_response(t, RN_RC_READ_RESPONSE_MIDDLE, psn + 1, msn, 1024, 1024);
	rc0_expect_response(t, RN_RC_READ_RESPONSE_LAST, psn + 2, msn, 2048, 952);
}

static inline void rc0_expect_zeros(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(data[i], 0);
}

/* Asserts that the packet, which has PSN 100, leads to a NAK with this syndrome and to
 * the event.
 */
static inline void rc0_expect_refused(const struct raw_packet *pkt, uint8_t syndrome,
				      enum rn_async_event event)
{
	struct rc0 t = rc0_rts(2);

	raw_send(&t.r, pkt);
	rc0_expect_fatal(&t, syndrome, 100, 0, 1);
	pair_expect_async(t.r.q, event);
	raw_send(&t.r, pkt);
	rc0_expect_nothing(&t);
	rc0_free(&t);
}

/* Asserts that the packet, which has PSN 100, leads to such a NAK and to an access error,
 * and that it has changed no byte of the remote region.
 */
static inline void rc0_expect_harmless(struct rc0 *t, const struct raw_packet *pkt,
				       uint8_t syndrome)
{
	raw_send(&t->r, pkt);
	rc0_expect_fatal(t, syndrome, 100, 0, 1);
	pair_expect_async(t->r.q, RN_EVENT_QP_ACCESS_ERR);
	rc0_expect_nothing(t);
	rc0_expect_zeros(t->r.mr->data, RAW_MR_LEN);
}

/* Returns the 8 bytes of the remote region from @offset on. */
static inline uint64_t rc0_load(const struct rc0 *t, uint32_t offset)
{
	uint64_t v;

	memcpy(&v, t->r.mr->data + offset, sizeof(v));
	return v;
}

static inline void rc0_store(struct rc0 *t, uint32_t offset, uint64_t v)
{
	memcpy(t->r.mr->data + offset, &v, sizeof(v));
}

static inline struct rn_atomic_eth rc0_atomic(const struct rc0 *t, uint32_t offset,
					      uint64_t swap_add, uint64_t compare)
{
	return (struct rn_atomic_eth){ .va = t->r.mr->mr.va + offset,
				       .rkey = t->r.mr->mr.lkey,
				       .swap_add = swap_add,
				       .compare = compare };
}

#endif /* RN_TEST_RC0_H */
