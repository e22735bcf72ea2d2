/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_diagnostic.c - what a device says of packets to who captures them. */
#include "rocin/diagnostic.h"
#include "rocin/transport.h"
#include "tests/kit/device/rc_pair.h"

enum {
	HEARD_MAX = 64
};

static struct rn_diagnostic heard[HEARD_MAX];
static bool had_packet[HEARD_MAX];
static unsigned heard_count;

static void hear(void *ctx, const struct rn_diagnostic *diagnostic,
		 const struct rn_rx *rx)
{
	(void)ctx;
	assert_true(heard_count < HEARD_MAX);
	had_packet[heard_count] = rx != NULL;
	heard[heard_count++] = *diagnostic;
}

static struct rc listen_to_both(void)
{
	struct rc r = rc_new(&(struct pair_cfg){ 0 });

	heard_count = 0;
	rn_dev_set_diagnostic(r.a->qp->dev, hear, NULL);
	rn_dev_set_diagnostic(r.b->qp->dev, hear, NULL);
	return r;
}

static void of_what_goes_well_nothing_is_said(void **state)
{
	struct rc r = listen_to_both();
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_RDMA_WRITE, &sge, 9000);

	(void)state;
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.a->scq, WR_ID, RN_WC_SUCCESS);
	assert_int_equal(heard_count, 0);
	pair_free(r.p);
}

static void a_key_that_does_not_open_is_named(void **state)
{
	struct rc r = listen_to_both();
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_RDMA_WRITE, &sge, 100);

	(void)state;
	wr.rkey ^= 1;
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	assert_int_equal(heard_count, 3);
	assert_int_equal(heard[0].kind, RN_DIAGNOSTIC_REFUSED);
	assert_int_equal(heard[0].code, RN_OBJECTION_KEY);
	assert_int_equal(heard[0].key, wr.rkey);
	assert_int_equal(heard[0].len, 100);
	assert_int_equal(heard[0].va, wr.remote_addr);
	assert_true(had_packet[0]);
	assert_int_equal(heard[1].kind, RN_DIAGNOSTIC_NAK);
	assert_int_equal(heard[1].code,
			 rn_aeth_syndrome(RN_AETH_NAK, RN_NAK_REMOTE_ACCESS));
	assert_int_equal(heard[1].dest_qpn, r.a->qp->qpn);
	assert_true(heard[1].is_sent && heard[1].is_response && !had_packet[1]);
	assert_int_equal(heard[2].kind, RN_DIAGNOSTIC_COUNTED);
	assert_int_equal(heard[2].code, RN_STAT_REQ_REMOTE_ACCESS);
	pair_free(r.p);
}

static void who_has_no_receive_is_asked_again(void **state)
{
	struct rc r = listen_to_both();
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_SEND, &sge, 100);
	unsigned resent = 0;

	(void)state;
	r.a->qp->attr.rnr_retry = 2;
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	for (unsigned i = 0; i < heard_count; i++) {
		if (heard[i].kind != RN_DIAGNOSTIC_RESENT)
			continue;
		assert_int_equal(heard[i].code, RN_STAT_RNR_NAK_RX);
		assert_int_equal(heard[i].dest_qpn, r.b->qp->qpn);
		assert_true(heard[i].is_sent && !heard[i].is_response);
		resent++;
	}
	assert_true(resent > 0);
	pair_free(r.p);
}

static struct pair_fate lose(void *ctx, const struct pair_packet *pkt)
{
	(void)ctx;
	(void)pkt;
	return (struct pair_fate){ 0 };
}

/* Time has passed since a packet arrived: what is counted now is about none. */
static void no_packet_is_blamed_for_a_timeout(void **state)
{
	struct rc r = listen_to_both();
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_RDMA_WRITE, &sge, 100);

	(void)state;
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.a->scq, WR_ID, RN_WC_SUCCESS);
	pair_set_hook(r.p, lose, NULL);
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.a->scq, WR_ID, RN_WC_RETRY_EXC_ERR);
	assert_true(pair_stat(r.p, 0, RN_STAT_LOCAL_ACK_TIMEOUT) > 0);
	for (unsigned i = 0; i < heard_count; i++)
		assert_false(had_packet[i]);
	pair_free(r.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_what_goes_well_nothing_is_said),
		cmocka_unit_test(a_key_that_does_not_open_is_named),
		cmocka_unit_test(who_has_no_receive_is_asked_again),
		cmocka_unit_test(no_packet_is_blamed_for_a_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
