/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_first_data.c - each RTU of a connection is lost, or late, while the programs send:
 * two connection managers and two devices in one virtual time. The connection manager of
 * the passive side asks rocind (rnd_cm_has_request()), which reads the record of the QP
 * in the stats page of its program.
 */
#include <string.h>
#include <sys/mman.h>

#include "tests/tools/rocind/kit/server_kit.h"

#include "rocin/stats.h"
#include "tests/kit/device/pair.h"
#include "tests/transport/cm/cm_kit.h"
#include "tools/rocind/cm/cm.h"
#include "tools/rocind/cm/cm_channel.h"

enum {
	ACTIVE, /* device of the active side, and of the passive one */
	PASSIVE,
	ACTIVE_QPN = 0x11, /* as in kit_connect() */
	SIZE = 4096,
	WR_ID = 7,
};

static struct kit kit;
static struct pair *net;
static struct guest program; /* of the passive side, with its stats page */
static int page;
static struct rn_cm_conn *active, *passive;
static struct pair_qp *qp[2];
static struct pair_mr *mr[2];

/* What the program's device has published by now. */
static void show_record(void)
{
	const struct rn_stats_page header = { .magic = RN_STATS_PAGE_MAGIC,
					      .version = RN_STATS_PAGE_VERSION,
					      .qp_capacity = 1 };

	assert_int_equal(pwrite(page, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(page, &qp[PASSIVE]->stats, sizeof(qp[PASSIVE]->stats),
				RN_STATS_QP_OFFSET),
			 sizeof(qp[PASSIVE]->stats));
}

static bool has_request(const struct rn_cm_info *info, uint32_t qpn)
{
	show_record();
	server.cm->records_left = RND_CM_RECORDS_MAX;
	return rnd_cm_has_request(server.cm, info, qpn);
}

static uint32_t passive_qpn(void)
{
	return 0xabc00 | program.client->attachment.slot;
}

static int begin(void **state)
{
	const struct rn_ctl_attach rq = attach_request(0, 1);
	struct rn_qp_attr attr;

	assert_int_equal(server_setup(state), 0);
	page = memfd_create("page", MFD_CLOEXEC);
	assert_true(page >= 0);
	program = come_and_greet();
	attach(&program, &rq, page);
	kit_open(&kit, KIT_CONNS);
	kit.b.gid = server_gid(0);
	kit.b.sees = has_request;
	net = pair_new(&(struct pair_cfg){ .devices = 2 });
	qp[ACTIVE] = pair_qp_new_with(
		net, ACTIVE,
		&(struct rn_qp_init){ .type = RN_QPT_RC, .qpn = ACTIVE_QPN });
	qp[PASSIVE] = pair_qp_new_with(
		net, PASSIVE,
		&(struct rn_qp_init){ .type = RN_QPT_RC, .qpn = passive_qpn() });
	attr = pair_attr(qp[ACTIVE], PASSIVE, 0);
	pair_modify_until(qp[ACTIVE], &attr, RN_QPS_INIT);
	for (unsigned i = 0; i < 2; i++)
		mr[i] = pair_mr_new(net, i, SIZE, RN_ACCESS_LOCAL_WRITE);
	return 0;
}

static int end(void **state)
{
	pair_free(net);
	kit_close(&kit);
	go(&program);
	close(page);
	return server_teardown(state);
}

/* The attributes of a QP that librdmacm sets: what the connection manager says of it. */
static struct rn_qp_attr attr_of(unsigned side)
{
	const struct rn_cm_qp *info =
		&rn_cm_conn_info(side == ACTIVE ? active : passive)->qp;
	struct rn_qp_attr attr = pair_attr(qp[side], !side, info->dest_qpn);

	attr.rq_psn = info->rq_psn;
	attr.sq_psn = info->sq_psn;
	attr.timeout = info->timeout;
	attr.retry_cnt = 7;
	attr.rnr_retry = info->rnr_retry;
	attr.min_rnr_timer = 0; /* 655 ms */
	return attr;
}

static void lead(unsigned side, enum rn_qp_state until)
{
	struct rn_qp_attr attr = attr_of(side);

	pair_modify_until(qp[side], &attr, until);
}

static void lead_from_rtr_to_rts(unsigned side)
{
	struct rn_qp_attr attr = attr_of(side);

	attr.state = RN_QPS_RTS;
	assert_int_equal(rn_qp_modify(net->dev[side], qp[side]->qp, net->net->now, &attr,
				      rn_qp_required(RN_QPT_RC, RN_QPS_RTS)),
			 0);
}

static void receive(unsigned side)
{
	assert_int_equal(pair_post_recv_mr(qp[side], WR_ID, mr[side], 0, SIZE), 0);
}

static void send_one(unsigned side)
{
	struct rn_sge sge = pair_sge(mr[side], 0, 100);
	const struct rn_send_wr wr = { .wr_id = WR_ID,
				       .opcode = RN_WR_SEND,
				       .flags = RN_SEND_SIGNALED,
				       .sg = &sge,
				       .num_sge = 1 };

	assert_int_equal(pair_post_send(qp[side], &wr), 0);
}

static void hear_request(void)
{
	passive = kit_request(&kit, &active);
}

/* The passive program has its QP in @state when it accepts: in RTS with librdmacm. */
static void accept_in(enum rn_qp_state state)
{
	struct rn_cm_offer offer = kit_offer(&kit.b, passive_qpn());

	hear_request();
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	lead(PASSIVE, state);
}

/* The active side gets the REP, leads its QP to RTS, and its RTU is lost. */
static void lose_rtu(void)
{
	struct rn_cm_msg rtu;

	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	lead(ACTIVE, RN_QPS_RTS);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), 0);
	kit_take(&kit.a, RN_CM_RTU, &rtu);
}

/* Both worlds go on to the next time at which the passive connection manager acts. The
 * RTU that a repeated REP causes is lost, too.
 */
static void run_to_deadline(void)
{
	rn_ns deadline = rn_cm_deadline(kit.b.cm);
	struct kit_message rep;
	struct rn_cm_msg rtu;

	assert_true(deadline != RN_NEVER);
	pair_run_for(net, deadline - kit.now);
	kit_next_deadline(&kit, &kit.b);
	while (kit_transmit(&kit.b, &rep)) {
		kit_give(&kit, &kit.a, &rep);
		if (kit_state(active) == RN_CM_ESTABLISHED)
			kit_take(&kit.a, RN_CM_RTU, &rtu);
	}
}

static void expect_established(void)
{
	kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
	kit_no_event(&kit.b);
	kit_quiet(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_ESTABLISHED);
	assert_int_equal(kit_state(active), RN_CM_ESTABLISHED);
	assert_true(rn_cm_deadline(kit.b.cm) == RN_NEVER);
}

/* The active side has acknowledged data, so it has got the REP, and waits for no RTU. */
static void data_of_the_passive_side_stands_for_lost_rtus(void **state)
{
	(void)state;
	accept_in(RN_QPS_RTS);
	receive(ACTIVE);
	lose_rtu();
	send_one(PASSIVE);
	run_to_deadline();
	expect_established();
	pair_expect_wc(qp[PASSIVE]->scq, WR_ID, RN_WC_SUCCESS);
	pair_expect_wc(qp[ACTIVE]->rcq, WR_ID, RN_WC_SUCCESS);
	assert_int_equal(kit.b.stats[RN_CM_STAT_RESENT], 0);
}

/* It is sent while the other QP is not connected: it is lost, and comes by a retry. */
static void data_that_came_before_the_rep_was_sent_again(void **state)
{
	(void)state;
	accept_in(RN_QPS_RTS);
	receive(ACTIVE);
	send_one(PASSIVE);
	pair_run_wire(net);
	assert_int_equal(pair_stat(net, ACTIVE, RN_STAT_RX_SENDS), 0);
	lose_rtu();
	while (kit_state(passive) == RN_CM_REP_SENT)
		run_to_deadline();
	expect_established();
	pair_expect_wc(qp[PASSIVE]->scq, WR_ID, RN_WC_SUCCESS);
	pair_expect_wc(qp[ACTIVE]->rcq, WR_ID, RN_WC_SUCCESS);
}

/* Without a receive for it there is an RNR NAK, which says the same of the QP. */
static void data_that_finds_no_receive_stands_for_lost_rtus(void **state)
{
	(void)state;
	accept_in(RN_QPS_RTS);
	lose_rtu();
	send_one(PASSIVE);
	run_to_deadline();
	expect_established();
	pair_expect_no_wc(qp[PASSIVE]->scq);
	receive(ACTIVE);
	pair_run_until_quiet(net);
	pair_expect_wc(qp[PASSIVE]->scq, WR_ID, RN_WC_SUCCESS);
}

/* The QP was connected before, and its peer acknowledged much: that was somebody else. */
static void answers_of_an_earlier_peer_stand_for_nothing(void **state)
{
	struct pair_qp *earlier = pair_qp_new(net, ACTIVE, RN_QPT_RC);

	(void)state;
	pair_connect(earlier, qp[PASSIVE]);
	assert_int_equal(pair_post_recv_mr(earlier, WR_ID, mr[ACTIVE], 0, SIZE), 0);
	send_one(PASSIVE);
	pair_run_until_quiet(net);
	pair_expect_wc(qp[PASSIVE]->scq, WR_ID, RN_WC_SUCCESS);
	assert_int_equal(pair_modify_state(qp[PASSIVE], RN_QPS_RESET), 0);
	accept_in(RN_QPS_RTR);
	lose_rtu();
	run_to_deadline();
	kit_no_event(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_REP_SENT);
	assert_int_equal(pair_modify_state(qp[PASSIVE], RN_QPS_RESET), 0);
	lead(PASSIVE, RN_QPS_RTS);
	run_to_deadline();
	kit_no_event(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_REP_SENT);
}

/* Nothing was sent at all, and nothing came. */
static void silence_stands_for_nothing(void **state)
{
	(void)state;
	accept_in(RN_QPS_RTS);
	lose_rtu();
	while (rn_cm_deadline(kit.b.cm) != RN_NEVER)
		run_to_deadline();
	kit_event(&kit.b, RN_CM_EV_UNREACHABLE);
	assert_int_equal(kit.b.stats[RN_CM_STAT_RESENT], 2);
}

/* A peer that does not go on when it has got the REP has not answered, though its QP is
 * sent to.
 */
static void data_that_nobody_acknowledges_stands_for_nothing(void **state)
{
	(void)state;
	accept_in(RN_QPS_RTS);
	send_one(PASSIVE);
	while (rn_cm_deadline(kit.b.cm) != RN_NEVER)
		run_to_deadline();
	kit_event(&kit.b, RN_CM_EV_UNREACHABLE);
	pair_run_until_quiet(net);
	pair_expect_wc(qp[PASSIVE]->scq, WR_ID, RN_WC_RETRY_EXC_ERR);
}

/* The mirror: the active side sends, as most do. */
static void data_of_the_active_side_stands_for_lost_rtus(void **state)
{
	(void)state;
	accept_in(RN_QPS_RTS);
	receive(PASSIVE);
	lose_rtu();
	send_one(ACTIVE);
	run_to_deadline();
	expect_established();
	pair_expect_wc(qp[PASSIVE]->rcq, WR_ID, RN_WC_SUCCESS);
}

/* A program that has its QP in RTR until it hears of the RTU is told by COMM_EST, and
 * tells that (rdma_notify()). Nothing waits for a timer, and the RTU, which is late,
 * is none any more.
 */
static void data_in_rtr_establishes_by_its_event(void **state)
{
	struct kit_message rtu;
	struct rn_cm_msg msg;
	struct rn_event ev;

	(void)state;
	accept_in(RN_QPS_RTR);
	receive(PASSIVE);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	lead(ACTIVE, RN_QPS_RTS);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), 0);
	rtu = kit_take(&kit.a, RN_CM_RTU, &msg);
	send_one(ACTIVE);
	pair_run_wire(net);
	pair_expect_async(qp[PASSIVE], RN_EVENT_COMM_EST);
	assert_int_equal(rn_cm_established(kit.b.cm, passive), 0);
	expect_established();
	kit_give(&kit, &kit.b, &rtu);
	kit_no_event(&kit.b);
	assert_int_equal(kit_state(passive), RN_CM_ESTABLISHED);
	/* Once: more data raises nothing, and the QP goes on to RTS. */
	pair_expect_wc(qp[PASSIVE]->rcq, WR_ID, RN_WC_SUCCESS);
	receive(PASSIVE);
	send_one(ACTIVE);
	pair_run_until_quiet(net);
	assert_false(pair_next_event(net, &ev));
	lead_from_rtr_to_rts(PASSIVE);
}

/* The same of a program that does not pass the event on: the timer finds the data. */
static void data_in_rtr_stands_for_lost_rtus(void **state)
{
	(void)state;
	accept_in(RN_QPS_RTR);
	receive(PASSIVE);
	lose_rtu();
	send_one(ACTIVE);
	run_to_deadline();
	expect_established();
	pair_expect_async(qp[PASSIVE], RN_EVENT_COMM_EST);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data_of_the_passive_side_stands_for_lost_rtus),
		TEST(data_that_came_before_the_rep_was_sent_again),
		TEST(data_that_finds_no_receive_stands_for_lost_rtus),
		TEST(answers_of_an_earlier_peer_stand_for_nothing),
		TEST(silence_stands_for_nothing),
		TEST(data_that_nobody_acknowledges_stands_for_nothing),
		TEST(data_of_the_active_side_stands_for_lost_rtus),
		TEST(data_in_rtr_establishes_by_its_event),
		TEST(data_in_rtr_stands_for_lost_rtus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
