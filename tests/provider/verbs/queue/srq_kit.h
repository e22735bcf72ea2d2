/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* srq_kit.h - pairs of queue pairs whose receiving ends share an SRQ. */
#ifndef RN_SRQ_KIT_H
#define RN_SRQ_KIT_H

#include <poll.h>

#include "tests/provider/kit/verbs_kit.h"

/* Function of LeakSanitizer; NULL without it. Objects that a program does not destroy
 * before it closes their context leak.
 */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static inline void expect_leaks(bool on)
{
	if (on && __lsan_disable)
		__lsan_disable();
	if (!on && __lsan_enable)
		__lsan_enable();
}

enum {
	ROOM = 32,
	LEN = 512,
};

static inline struct ibv_srq *new_srq(struct ibv_pd *pd, uint32_t max_wr,
				      uint32_t max_sge)
{
	struct ibv_srq_init_attr attr = {
		.srq_context = &attr,
		.attr = { .max_wr = max_wr, .max_sge = max_sge },
	};
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	if (srq)
		assert_ptr_equal(srq->srq_context, &attr);
	return srq;
}

static inline struct ibv_qp *new_qp(struct kit *k, struct ibv_srq *srq,
				    enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.srq = srq,
		.cap = { .max_send_wr = KIT_WR,
			 .max_recv_wr = 7, /* ignored for a QP with an SRQ */
			 .max_send_sge = KIT_SGE,
			 .max_recv_sge = KIT_SGE },
		.qp_type = type,
	};
	struct ibv_qp *qp = ibv_create_qp(k->pd, &attr);

	assert_non_null(qp);
	assert_ptr_equal(qp->srq, srq);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	assert_int_equal(attr.cap.max_recv_sge, 0);
	return qp;
}

/* Makes a sending QP without the SRQ and a receiving QP with it. */
static inline void new_pair(struct kit *k, struct ibv_srq *srq, enum ibv_qp_type type,
			    struct ibv_qp *qp[2])
{
	qp[0] = kit_create_qp(k, type);
	qp[1] = new_qp(k, srq, type);
	for (unsigned i = 0; i < 2; i++)
		kit_to_init(qp[i]);
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(k, qp[i], qp[1 - i]->qp_num);
}

static inline int post_at(struct kit *k, struct ibv_srq *srq, uint64_t wr_id,
			  uint32_t offset, uint32_t len)
{
	struct ibv_sge sge = kit_sge(k, 1, offset, len);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad = NULL;
	int rc = ibv_post_srq_recv(srq, &wr, &bad);

	assert_ptr_equal(bad, rc ? &wr : NULL);
	return rc;
}

/* Posts a receive of @len bytes, with memory of its own. */
static inline int post(struct kit *k, struct ibv_srq *srq, uint64_t wr_id, uint32_t len)
{
	return post_at(k, srq, wr_id, (uint32_t)(wr_id % ROOM) * LEN, len);
}

/* Posts a receive whose memory begins at the start of the half. */
static inline int post_long(struct kit *k, struct ibv_srq *srq, uint64_t wr_id,
			    uint32_t len)
{
	return post_at(k, srq, wr_id, 0, len);
}

static inline void post_many(struct kit *k, struct ibv_srq *srq, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(post(k, srq, i, LEN), 0);
}

static inline void send_to(struct kit *k, struct ibv_qp *qp, uint32_t len)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, len);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	kit_post_send(qp, &wr);
}

static inline bool readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static inline void expect_async(struct kit *k, enum ibv_event_type type,
				const void *object)
{
	struct ibv_async_event ev;

	assert_true(readable(k->ctx->async_fd, 20000));
	assert_int_equal(ibv_get_async_event(k->ctx, &ev), 0);
	assert_int_equal(ev.event_type, type);
	assert_ptr_equal(type == IBV_EVENT_SRQ_LIMIT_REACHED
				 ? (const void *)ev.element.srq
				 : (const void *)ev.element.qp,
			 object);
	ibv_ack_async_event(&ev);
}

static inline void expect_no_async(struct kit *k)
{
	assert_false(readable(k->ctx->async_fd, 0));
}

#endif /* RN_SRQ_KIT_H */
