/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_fault.c - how a program observes the faults of ROCIN_FAULT: each action, and
 * calls that fail.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <time.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	LEN = 64,
	SECONDS = 60, /* longest time to wait for an event */
};

/* Opens a device with fault rules. The engine reads them from the environment when the
 * device is opened.
 */
static struct kit *begin(const char *rules)
{
	void *kit;

	assert_int_equal(setenv("ROCIN_FAULT", rules, 1), 0);
	assert_int_equal(kit_setup(&kit), 0);
	assert_int_equal(unsetenv("ROCIN_FAULT"), 0);
	return kit;
}

static void end(struct kit *k)
{
	void *kit = k;

	assert_int_equal(kit_teardown(&kit), 0);
}

static void send_imm(struct kit *k, struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, LEN);
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .imm_data = htonl(0x01020304),
				  .send_flags = IBV_SEND_SIGNALED };

	kit_post_send(qp, &wr);
}

/* Sends one message from @from to @to and waits for both completions. Returns the
 * receive's.
 */
static struct ibv_wc pass(struct kit *k, struct ibv_qp *from, struct ibv_qp *to)
{
	struct ibv_wc wc[2], received = { 0 };

	kit_post_recv(k, to, 1, kit_sge(k, 1, 0, LEN));
	send_imm(k, from, 2);
	for (unsigned i = 0; i < 2; i++) {
		wc[i] = kit_wait(k->cq);
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		if (wc[i].wr_id == 1)
			received = wc[i];
	}
	return received;
}

static void expect_event(struct kit *k, enum ibv_event_type type)
{
	struct pollfd fd = { .fd = k->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, SECONDS * 1000) != 1)
		fail_msg("no event, %s was expected", ibv_event_type_str(type));
	assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
	assert_string_equal(ibv_event_type_str(event.event_type),
			    ibv_event_type_str(type));
	ibv_ack_async_event(&event);
}

static void one_packet_of_one_queue_pair_is_refused(void **state)
{
	struct kit *k = begin("nak=access qp=2 op=SEND_* nth=2");
	struct ibv_qp *qp[2];

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp);
	pass(k, qp[0], qp[1]);
	pass(k, qp[0], qp[1]);
	pass(k, qp[1], qp[0]);
	send_imm(k, qp[1], 3);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_REM_ACCESS_ERR);
	kit_destroy_pair(qp);
	end(k);
}

static void queue_pair_that_is_killed_says_so(void **state)
{
	struct kit *k = begin("kill rx op=SEND_* nth=2");
	struct ibv_qp *qp[2];

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp);
	pass(k, qp[0], qp[1]);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, LEN));
	send_imm(k, qp[0], 2);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_WR_FLUSH_ERR);
	expect_event(k, IBV_EVENT_QP_FATAL);
	kit_destroy_pair(qp);
	end(k);
}

static void completion_queue_can_overrun(void **state)
{
	struct kit *k = begin("overrun=send op=SEND_*");
	struct ibv_qp *qp[2];

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, LEN));
	send_imm(k, qp[0], 2);
	expect_event(k, IBV_EVENT_CQ_ERR);
	kit_destroy_pair(qp);
	end(k);
}

static void link_goes_down_and_comes_up(void **state)
{
	struct kit *k = begin("cut=20ms op=SEND_* nth=1");
	struct ibv_qp *qp[2];

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp);
	/* the message is retransmitted when the link is up again */
	pass(k, qp[0], qp[1]);
	expect_event(k, IBV_EVENT_PORT_ERR);
	expect_event(k, IBV_EVENT_PORT_ACTIVE);
	kit_destroy_pair(qp);
	end(k);
}

static void packets_that_change_with_a_good_icrc_are_believed(void **state)
{
	struct kit *k = begin("set immdt.data=0x11223344; corrupt at=16 xor=0xff "
			      "icrc=good op=SEND_*");
	struct ibv_qp *qp[2];
	struct ibv_wc wc;

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp);
	memset(k->buf, 0x5a, LEN);
	wc = pass(k, qp[0], qp[1]);
	assert_int_equal(ntohl(wc.imm_data), 0x11223344);
	assert_int_equal(k->buf[KIT_HALF], 0xa5);
	assert_int_equal(k->buf[KIT_HALF + 1], 0x5a);
	kit_destroy_pair(qp);
	end(k);
}

static void lost_damaged_and_refused_packets_are_repaired(void **state)
{
	struct kit *k = begin("drop op=SEND_* nth=1; corrupt op=SEND_* nth=2;"
			      "norecv op=SEND_* nth=1; nak=rnr:5 op=SEND_* nth=3;"
			      "nak=seq rx op=SEND_* nth=2; reorder op=SEND_* nth=4;"
			      "duplicate=3 tx rx; drop rx op=ACK nth=1");
	struct ibv_qp *qp[2];

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < 10; i++)
		pass(k, qp[0], qp[1]);
	kit_expect_none(k->cq);
	kit_destroy_pair(qp);
	end(k);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void delay_takes_at_least_its_time(void **state)
{
	struct kit *k = begin("delay=30ms op=SEND_* nth=1; delay=30ms rx op=ACK nth=1");
	struct ibv_qp *qp[2];
	int64_t start;

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp);
	start = now_ms();
	pass(k, qp[0], qp[1]);
	assert_true(now_ms() - start >= 30);
	kit_destroy_pair(qp);
	end(k);
}

static void calls_fail_with_the_errno_of_their_rule(void **state)
{
	struct kit *k = begin("fail=EDQUOT call=reg_mr nth=2; fail=EBUSY call=modify_qp "
			      "nth=7; fail=ENOSPC call=create_qp nth=3; fail=EIO "
			      "call=alloc_pd nth=2");
	struct ibv_qp_init_attr init = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct ibv_qp *qp[2];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp); /* calls modify_qp 6 times */
	errno = 0;
	assert_null(ibv_reg_mr(k->pd, k->buf, LEN, 0));
	assert_int_equal(errno, EDQUOT);
	errno = 0;
	assert_null(ibv_create_qp(k->pd, &init));
	assert_int_equal(errno, ENOSPC);
	errno = 0;
	assert_null(ibv_alloc_pd(k->ctx));
	assert_int_equal(errno, EIO);
	assert_int_equal(ibv_modify_qp(qp[0], &attr, IBV_QP_STATE), EBUSY);
	pass(k, qp[0], qp[1]); /* the QPs still work */
	assert_int_equal(ibv_modify_qp(qp[0], &attr, IBV_QP_STATE), 0);
	kit_destroy_pair(qp);
	end(k);
}

static void posts_fail_without_being_posted(void **state)
{
	struct kit *k = begin("fail=ENOMEM call=post_send nth=2; fail=EINVAL "
			      "call=post_recv nth=2; fail=EFAULT call=req_notify_cq");
	struct ibv_sge sge = kit_sge(k, 0, 0, LEN);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad_wr = NULL;
	struct ibv_recv_wr *bad_recv = NULL;
	struct ibv_qp *qp[2];

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp);
	pass(k, qp[0], qp[1]);
	assert_int_equal(ibv_post_send(qp[0], &wr, &bad_wr), ENOMEM);
	assert_ptr_equal(bad_wr, &wr);
	assert_int_equal(ibv_post_recv(qp[1], &recv, &bad_recv), EINVAL);
	assert_ptr_equal(bad_recv, &recv);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), EFAULT);
	kit_expect_none(k->cq);
	pass(k, qp[0], qp[1]);
	kit_destroy_pair(qp);
	end(k);
}

/* With a rule about calls, errno is set both if the rule makes the call fail and if the
 * call fails by itself.
 */
static void calls_that_answer_an_errno_set_it_too(void **state)
{
	struct kit *k = begin("fail=EBUSY call=modify_qp nth=7; fail=ENOMEM "
			      "call=post_send nth=1");
	struct ibv_sge sge = kit_sge(k, 0, 0, LEN);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_send_wr *bad_wr = NULL;
	struct ibv_qp *qp[2];

	(void)state;
	kit_pair(k, IBV_QPT_RC, qp); /* calls modify_qp 6 times */
	errno = 0;
	assert_int_equal(ibv_modify_qp(qp[0], &attr, IBV_QP_STATE), EBUSY);
	assert_int_equal(errno, EBUSY);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp[0], &attr, IBV_QP_STATE), EINVAL);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_post_send(qp[0], &wr, &bad_wr), ENOMEM);
	assert_int_equal(errno, ENOMEM);
	wr.num_sge = -1;
	assert_int_equal(ibv_post_send(qp[0], &wr, &bad_wr), EINVAL);
	assert_int_equal(errno, EINVAL);
	kit_destroy_pair(qp);
	end(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_packet_of_one_queue_pair_is_refused),
		cmocka_unit_test(queue_pair_that_is_killed_says_so),
		cmocka_unit_test(completion_queue_can_overrun),
		cmocka_unit_test(link_goes_down_and_comes_up),
		cmocka_unit_test(packets_that_change_with_a_good_icrc_are_believed),
		cmocka_unit_test(lost_damaged_and_refused_packets_are_repaired),
		cmocka_unit_test(delay_takes_at_least_its_time),
		cmocka_unit_test(calls_fail_with_the_errno_of_their_rule),
		cmocka_unit_test(posts_fail_without_being_posted),
		cmocka_unit_test(calls_that_answer_an_errno_set_it_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
