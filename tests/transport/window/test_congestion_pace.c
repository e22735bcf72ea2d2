/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_congestion_pace.c - requests leave at the rate that was set. */
#include "rocin/transport.h"
#include "tests/kit/device/pair.h"
#include "transport/qp/qp.h"

enum {
	ALL = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ,
	KBPS = 8000, /* a byte per microsecond */
	HEADERS = 12 + 16 + 4,
};

struct fixture {
	struct pair *p;
	struct pair_qp *a, *b;
	struct pair_mr *ma, *mb;
};

static struct fixture fixture_new(void)
{
	struct fixture f = { .p = pair_new(&(struct pair_cfg){ .mtu_max = 1024 }) };

	f.a = pair_qp_new(f.p, 0, RN_QPT_RC);
	f.b = pair_qp_new(f.p, 1, RN_QPT_RC);
	pair_connect(f.a, f.b);
	f.ma = pair_mr_new(f.p, 0, 1 << 16, ALL);
	f.mb = pair_mr_new(f.p, 1, 1 << 16, ALL);
	return f;
}

static void post(struct fixture *f, enum rn_wr_opcode op, uint32_t len)
{
	struct rn_sge sge = pair_sge(f->ma, 0, len);
	struct rn_send_wr wr = { .opcode = op,
				 .flags = RN_SEND_SIGNALED,
				 .remote_addr = f->mb->mr.va,
				 .rkey = f->mb->mr.lkey,
				 .sg = &sge,
				 .num_sge = 1 };

	assert_int_equal(pair_post_send(f->a, &wr), 0);
}

/* How long it takes until the request completes. */
static rn_ns run(struct fixture *f)
{
	rn_ns begin = f->p->net->now;
	struct rn_cqe cqe;

	pair_run_until_quiet(f->p);
	cqe = pair_expect_wc(f->a->scq, 0, RN_WC_SUCCESS);
	return (rn_ns)cqe.timestamp_ns - begin;
}

static void a_long_message_takes_its_time(void **state)
{
	struct fixture f = fixture_new();
	const uint32_t len = 1 << 16;
	/* All but the last packet and the credit have been waited for. */
	rn_ns least = RN_USEC((rn_ns)len - 1024) - RN_MSEC(1);
	rn_ns took;

	(void)state;
	rn_qp_pace(f.a->qp, f.p->net->now, KBPS, 0);
	assert_int_equal(rn_qp_rate(f.a->qp), KBPS);
	post(&f, RN_WR_RDMA_WRITE, len);
	took = run(&f);
	assert_in_range(took, least, least + RN_MSEC(8));
	assert_int_equal(pair_stat(f.p, 0, RN_STAT_RETRANSMITTED), 0);
	assert_int_equal(pair_stat(f.p, 0, RN_STAT_LOCAL_ACK_TIMEOUT), 0);
	pair_free(f.p);
}

/* Slower than a packet per ACK timeout: nobody takes the pause for a loss. */
static void a_very_slow_rate_is_no_loss(void **state)
{
	struct fixture f = fixture_new();

	(void)state;
	rn_qp_pace(f.a->qp, f.p->net->now, 50, 1);
	post(&f, RN_WR_RDMA_WRITE, 8 * 1024);
	assert_true(run(&f) >= RN_MSEC(7 * 160));
	assert_int_equal(pair_stat(f.p, 0, RN_STAT_RETRANSMITTED), 0);
	assert_int_equal(pair_stat(f.p, 0, RN_STAT_LOCAL_ACK_TIMEOUT), 0);
	pair_free(f.p);
}

static void a_burst_leaves_at_once(void **state)
{
	struct fixture f = fixture_new();
	const uint32_t burst = 16 * (1024 + HEADERS);

	(void)state;
	rn_qp_pace(f.a->qp, f.p->net->now, 100, burst);
	pair_run_for(f.p, RN_MSEC(10000)); /* the pause that pays for it */
	post(&f, RN_WR_RDMA_WRITE, 16 * 1024);
	assert_true(run(&f) < RN_MSEC(1));
	/* What comes right after waits: a packet takes 83 ms, and the ACK timer, which
	 * was armed, gave it three.
	 */
	post(&f, RN_WR_RDMA_WRITE, 12 * 1024);
	assert_true(run(&f) > RN_MSEC(400));
	pair_free(f.p);
}

static void the_answers_to_a_read_are_not_held_back(void **state)
{
	struct fixture f = fixture_new();

	(void)state;
	rn_qp_pace(f.a->qp, f.p->net->now, KBPS, 0);
	rn_qp_pace(f.b->qp, f.p->net->now, 1, 1);
	post(&f, RN_WR_RDMA_READ, 1 << 16);
	assert_true(run(&f) < RN_MSEC(5));
	pair_free(f.p);
}

static void without_a_rate_what_waited_leaves(void **state)
{
	struct fixture f = fixture_new();
	struct rn_qp_attr reset = { .state = RN_QPS_RESET };

	(void)state;
	rn_qp_pace(f.a->qp, f.p->net->now, 1, 1);
	post(&f, RN_WR_RDMA_WRITE, 1 << 16);
	pair_run_for(f.p, RN_MSEC(10));
	pair_expect_no_wc(f.a->scq);
	rn_qp_pace(f.a->qp, f.p->net->now, 0, 0);
	assert_true(run(&f) < RN_MSEC(5));

	rn_qp_pace(f.a->qp, f.p->net->now, 1, 1);
	assert_int_equal(
		rn_qp_modify(f.p->dev[0], f.a->qp, f.p->net->now, &reset, RN_ATTR_STATE),
		0);
	assert_int_equal(rn_qp_rate(f.a->qp), 0);
	assert_int_equal(rn_dev_deadline(f.p->dev[0]), RN_NEVER);
	pair_free(f.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_message_takes_its_time),
		cmocka_unit_test(a_very_slow_rate_is_no_loss),
		cmocka_unit_test(a_burst_leaves_at_once),
		cmocka_unit_test(the_answers_to_a_read_are_not_held_back),
		cmocka_unit_test(without_a_rate_what_waited_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
