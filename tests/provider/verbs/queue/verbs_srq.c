/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_srq.c - shared receive queues with public verbs: objects, data, and sizes. */
#include "srq_kit.h"

/* ------------------------------------------------------------------ objects */
static void an_srq_is_what_was_asked_for(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 100, 3);
	struct ibv_srq_attr attr;

	assert_non_null(srq);
	assert_ptr_equal(srq->pd, k->pd);
	assert_ptr_equal(srq->context, k->ctx);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_in_range(attr.max_wr, 100, 128);
	assert_in_range(attr.max_sge, 3, 4);
	assert_int_equal(attr.srq_limit, 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void limits_of_the_device_are_kept(void **state)
{
	struct kit *k = *state;
	struct ibv_device_attr dev;
	struct ibv_srq *srq;

	assert_int_equal(ibv_query_device(k->ctx, &dev), 0);
	assert_true(dev.max_srq > 0 && dev.max_srq_wr > 0 && dev.max_srq_sge > 0);
	assert_true(dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	srq = new_srq(k->pd, (uint32_t)dev.max_srq_wr, (uint32_t)dev.max_srq_sge);
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_null(new_srq(k->pd, (uint32_t)dev.max_srq_wr + 1, 1));
	assert_int_equal(errno, EINVAL);
	assert_null(new_srq(k->pd, 1, (uint32_t)dev.max_srq_sge + 1));
	assert_int_equal(errno, EINVAL);
	assert_null(new_srq(k->pd, 0, 1));
	assert_int_equal(errno, EINVAL);
}

static void hundreds_of_srqs_have_numbers_of_their_own(void **state)
{
	enum {
		MANY = 500
	};
	struct kit *k = *state;
	struct ibv_srq *srq[MANY];
	uint32_t number[MANY];

	for (unsigned i = 0; i < MANY; i++) {
		srq[i] = new_srq(k->pd, 1, 1);
		assert_non_null(srq[i]);
		assert_int_equal(ibv_get_srq_num(srq[i], &number[i]), 0);
		assert_in_range(number[i], 1, 0xffffff);
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(number[i], number[j]);
	}
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(ibv_destroy_srq(srq[i]), 0);
}

static void kinds_of_srq_that_cannot_be_are_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = k->pd,
		.cq = k->cq,
		.tm_cap = { .max_num_tags = 4, .max_ops = 4 },
	};
	struct ibv_srq *srq;

	assert_null(ibv_create_srq_ex(k->ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.srq_type = IBV_SRQT_XRC; /* fails: no XRC domain is given */
	attr.comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_TM;
	assert_null(ibv_create_srq_ex(k->ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE; /* fails: no PD is given */
	attr.srq_type = IBV_SRQT_BASIC;
	assert_null(ibv_create_srq_ex(k->ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	srq = ibv_create_srq_ex(k->ctx, &attr);
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void what_is_in_use_stays(void **state)
{
	struct kit *k = *state;
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_srq *srq = new_srq(pd, 4, 1);
	struct ibv_qp *qp;

	assert_non_null(srq);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	qp = new_qp(k, srq, IBV_QPT_RC);
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void a_qp_with_an_srq_says_so(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 4, 1);
	struct ibv_qp *qp = new_qp(k, srq, IBV_QPT_RC);
	struct ibv_recv_wr wr = { 0 }, *bad = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	kit_to_init(qp);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init), 0);
	assert_ptr_equal(init.srq, srq);
	assert_int_equal(init.cap.max_recv_wr, 0);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	assert_int_equal(ibv_post_recv(qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* --------------------------------------------------------------------- data */
static void qps_share_the_receives(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, ROOM, 1);
	struct ibv_qp *a[2], *b[2];

	new_pair(k, srq, IBV_QPT_RC, a);
	new_pair(k, srq, IBV_QPT_UC, b);
	post_many(k, srq, 10);
	for (unsigned i = 0; i < 10; i++) {
		struct ibv_qp **to = i % 3 ? a : b;
		struct ibv_wc wc;

		memset(k->buf, 0x40 + (int)i, LEN);
		send_to(k, to[0], 100 + i);
		wc = kit_expect(k->cq, i, IBV_WC_RECV);
		assert_int_equal(wc.qp_num, to[1]->qp_num);
		assert_int_equal(wc.byte_len, 100 + i);
		assert_memory_equal(k->buf, k->buf + KIT_HALF + i * LEN, 100 + i);
	}
	kit_destroy_pair(a);
	kit_destroy_pair(b);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void datagrams_share_the_receives(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 4, 1);
	struct ibv_ah_attr address = kit_address(k);
	struct ibv_ah *ah = ibv_create_ah(k->pd, &address);
	struct ibv_sge sge = kit_sge(k, 0, 0, 77);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ibv_qp *qp[2];

	assert_non_null(ah);
	new_pair(k, srq, IBV_QPT_UD, qp);
	memset(k->buf, 0x5a, LEN);
	assert_int_equal(post(k, srq, 3, LEN), 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp[1]->qp_num;
	wr.wr.ud.remote_qkey = KIT_QKEY;
	kit_post_send(qp[0], &wr);
	assert_int_equal(kit_expect(k->cq, 3, IBV_WC_RECV).byte_len, 40 + 77);
	assert_memory_equal(k->buf, k->buf + KIT_HALF + 3 * LEN + 40, 77);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void a_sender_waits_for_a_receive(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 4, 1);
	struct ibv_qp *qp[2];

	new_pair(k, srq, IBV_QPT_RC, qp);
	send_to(k, qp[0], 8);
	kit_expect_none(k->cq);
	assert_int_equal(post(k, srq, 1, LEN), 0);
	kit_expect(k->cq, 1, IBV_WC_RECV);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void posting_says_what_is_wrong(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 4, 1);
	struct ibv_sge sge[2] = { kit_sge(k, 1, 0, 1), kit_sge(k, 1, 1, 1) };
	struct ibv_recv_wr wr[6], *bad = NULL;

	for (unsigned i = 0; i < 6; i++)
		wr[i] = (struct ibv_recv_wr){ .wr_id = i,
					      .next = i < 5 ? &wr[i + 1] : NULL,
					      .sg_list = sge,
					      .num_sge = 1 };
	assert_int_equal(ibv_post_srq_recv(srq, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[4]); /* the receives before it were posted */
	wr[5].num_sge = 2;
	assert_int_equal(ibv_post_srq_recv(srq, &wr[5], &bad), EINVAL);
	wr[5].num_sge = -1;
	assert_int_equal(ibv_post_srq_recv(srq, &wr[5], &bad), EINVAL);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* ------------------------------------------------------------------- resizing */
static void resizing_keeps_the_receives(void **state)
{
	struct kit *k = *state;
	struct ibv_srq *srq = new_srq(k->pd, 6, 1);
	struct ibv_srq_attr attr = { .max_wr = 5 };
	struct ibv_qp *qp[2];

	new_pair(k, srq, IBV_QPT_RC, qp);
	post_many(k, srq, 6);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.max_wr = 0;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.max_wr = 1u << 30;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr = (struct ibv_srq_attr){ .max_wr = 20, .srq_limit = 21 };
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
			 EINVAL);
	assert_int_equal(ibv_modify_srq(srq, &attr, 1 << 5), EINVAL);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 0);
	assert_int_equal(post(k, srq, 6, LEN), ENOMEM);
	attr = (struct ibv_srq_attr){ .max_wr = 20, .srq_limit = 20 };
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_in_range(attr.max_wr, 20, 32);
	assert_int_equal(attr.srq_limit, 20);
	for (unsigned i = 6; i < 20; i++)
		assert_int_equal(post(k, srq, i, LEN), 0);
	for (unsigned i = 0; i < 20; i++) {
		send_to(k, qp[0], 8);
		kit_expect(k->cq, i, IBV_WC_RECV);
	}
	expect_async(k, IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	attr.max_wr = 1;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(post(k, srq, 1, LEN), 0);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_srq_is_what_was_asked_for),
		TEST(limits_of_the_device_are_kept),
		TEST(hundreds_of_srqs_have_numbers_of_their_own),
		TEST(kinds_of_srq_that_cannot_be_are_refused),
		TEST(what_is_in_use_stays),
		TEST(a_qp_with_an_srq_says_so),
		TEST(qps_share_the_receives),
		TEST(datagrams_share_the_receives),
		TEST(a_sender_waits_for_a_receive),
		TEST(posting_says_what_is_wrong),
		TEST(resizing_keeps_the_receives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
