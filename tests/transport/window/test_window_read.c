/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_window_read.c - queue pairs that share the room for READ responses: in turn, and
 * nobody forgotten. No test takes the time after which a queue pair asks regardless,
 * unless it says so.
 */
#include "tests/kit/device/pair.h"
#include "transport/qp/qp.h"

enum {
	ALL = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ |
	      RN_ACCESS_REMOTE_ATOMIC,
	LARGE = 4096,
	SMALL = 1024,
	WINDOW = 6 << 10, /* one large READ, or six small ones */
	QPS = 3,
	READS = 12,
	BYTES = 64 << 10, /* of the region */
};

#define ROUND_TRIP RN_USEC(20)
#define PATIENCE RN_MSEC(1) /* of a queue pair without a READ under way */

struct readers {
	struct pair *p;
	struct pair_qp *a[QPS];
	struct pair_mr *ma, *mb;
	rn_ns late[QPS];     /* the responses to this one take longer, by so much */
	rn_ns asked_at[QPS]; /* the last request of this one left */
	unsigned asked[QPS];
	unsigned ahead; /* most requests that QP 0 had sent when QP 1 sent its last */
};

static unsigned number_of(const struct readers *r, uint32_t dest_qpn)
{
	for (unsigned i = 0; i < QPS; i++)
		if (r->a[i] && r->a[i]->qp->attr.dest_qpn == dest_qpn)
			return i;
	fail_msg("a packet to nobody");
	return 0;
}

static struct pair_fate see(void *ctx, const struct pair_packet *k)
{
	struct readers *r = ctx;
	struct pair_fate fate = { .copies = 1 };
	uint32_t dest_qpn = rn_get_be24(k->data + 5);

	if (k->from == 0) {
		unsigned i = number_of(r, dest_qpn);

		assert_int_equal(k->data[0], RN_RC_READ_REQUEST);
		r->asked_at[i] = k->at;
		r->asked[i]++;
		if (i == 1)
			r->ahead = r->asked[0];
		return fate;
	}
	for (unsigned i = 0; i < QPS; i++)
		if (r->a[i] && r->a[i]->qpn == dest_qpn)
			fate.extra_ns = r->late[i];
	return fate;
}

static struct readers begin(void)
{
	struct readers r = { .p = pair_new(&(struct pair_cfg){ .read_window = WINDOW,
							       .read_chunk = LARGE }) };

	r.ma = pair_mr_new(r.p, 0, BYTES, ALL);
	r.mb = pair_mr_new(r.p, 1, BYTES, ALL);
	for (unsigned i = 0; i < QPS; i++) {
		struct pair_qp *b = pair_qp_new(r.p, 1, RN_QPT_RC);

		r.a[i] = pair_qp_new(r.p, 0, RN_QPT_RC);
		pair_connect(r.a[i], b);
	}
	return r;
}

static void post_read(struct readers *r, unsigned i, uint32_t len)
{
	struct rn_sge sge = pair_sge(r->ma, 0, len);
	struct rn_send_wr wr = { .opcode = RN_WR_RDMA_READ,
				 .flags = RN_SEND_SIGNALED,
				 .remote_addr = r->mb->mr.va,
				 .rkey = r->mb->mr.lkey,
				 .sg = &sge,
				 .num_sge = 1 };

	assert_int_equal(pair_post_send(r->a[i], &wr), 0);
}

static unsigned completed(struct readers *r, unsigned i)
{
	unsigned count = 0;
	struct rn_cqe e;

	while (pair_poll(r->a[i]->scq, &e)) {
		assert_int_equal(pair_cqe_status(&e), RN_WC_SUCCESS);
		count++;
	}
	return count;
}

static void two_that_read_take_turns(void **state)
{
	struct readers r = begin();

	(void)state;
	pair_set_hook(r.p, see, &r);
	for (unsigned n = 0; n < READS; n++)
		post_read(&r, 0, LARGE);
	for (unsigned n = 0; n < READS / 3; n++)
		post_read(&r, 1, LARGE);
	pair_run_for(r.p, (READS + READS / 3 + 2) * (ROUND_TRIP + RN_USEC(1)));
	assert_int_equal(completed(&r, 0), READS);
	assert_int_equal(completed(&r, 1), READS / 3);
	/* One each, and two for the turn that was under way. */
	assert_in_range(r.ahead, READS / 3, READS / 3 + 2);
	pair_free(r.p);
}

static void small_reads_do_not_pass_a_large_one(void **state)
{
	struct readers r = begin();

	(void)state;
	pair_set_hook(r.p, see, &r);
	for (unsigned n = 0; n < READS; n++) {
		post_read(&r, 0, SMALL);
		post_read(&r, 2, SMALL);
	}
	post_read(&r, 1, LARGE);
	pair_run_for(r.p, 4 * ROUND_TRIP);
	assert_int_equal(completed(&r, 1), 1);
	pair_run_until_quiet(r.p);
	assert_int_equal(completed(&r, 0), READS);
	assert_int_equal(completed(&r, 2), READS);
	pair_free(r.p);
}

/* Their responses take no room. */
static void atomics_do_not_stand_in_line(void **state)
{
	struct readers r = begin();
	struct rn_sge sge = pair_sge(r.ma, 0, 8);
	struct rn_send_wr wr = { .opcode = RN_WR_ATOMIC_FETCH_AND_ADD,
				 .flags = RN_SEND_SIGNALED,
				 .remote_addr = r.mb->mr.va,
				 .rkey = r.mb->mr.lkey,
				 .sg = &sge,
				 .num_sge = 1 };

	(void)state;
	post_read(&r, 0, LARGE);
	post_read(&r, 1, LARGE);
	assert_int_equal(pair_post_send(r.a[2], &wr), 0);
	pair_run_for(r.p, ROUND_TRIP + RN_USEC(1));
	assert_int_equal(completed(&r, 2), 1);
	assert_int_equal(completed(&r, 1), 0);
	pair_run_until_quiet(r.p);
	assert_int_equal(completed(&r, 1), 1);
	pair_free(r.p);
}

/* Whose patience has ended has asked, and does not stand in line any more. */
static void who_asked_regardless_is_not_called_again(void **state)
{
	struct readers r = begin();

	(void)state;
	pair_set_hook(r.p, see, &r);
	r.late[0] = PATIENCE + 5 * ROUND_TRIP;
	r.late[1] = 20 * ROUND_TRIP;
	post_read(&r, 0, LARGE);
	post_read(&r, 1, LARGE);
	pair_run_for(r.p, PATIENCE + 8 * ROUND_TRIP);
	assert_int_equal(completed(&r, 0), 1);
	assert_int_equal(r.asked[1], 1);
	post_read(&r, 2, LARGE);
	assert_int_equal(r.asked[2], 0);
	pair_run_for(r.p, 16 * ROUND_TRIP);
	assert_int_equal(completed(&r, 1), 1);
	assert_int_equal(completed(&r, 2), 1);
	assert_in_range(r.asked_at[2], 0, r.asked_at[1] + 22 * ROUND_TRIP);
	pair_free(r.p);
}

/* It is QP 1's turn, and it does not want it any more. */
static void a_turn_that_is_not_taken_is_the_next_ones(void **state)
{
	struct readers r = begin();

	(void)state;
	pair_set_hook(r.p, see, &r);
	post_read(&r, 0, LARGE);
	post_read(&r, 1, LARGE);
	post_read(&r, 2, LARGE);
	pair_run_for(r.p, ROUND_TRIP - RN_USEC(1));
	r.p->frozen = true; /* with the response on its way */
	pair_run_for(r.p, ROUND_TRIP);
	assert_int_equal(completed(&r, 0), 1);
	pair_qp_destroy(r.a[1]);
	r.a[1] = NULL;
	r.p->frozen = false;
	pair_flush(r.p);
	assert_int_equal(r.asked[2], 1);
	pair_run_until_quiet(r.p);
	assert_int_equal(completed(&r, 2), 1);
	pair_free(r.p);
}

/* It is QP 1's turn, which has failed; it is not destroyed. */
static void who_has_failed_holds_no_turn(void **state)
{
	struct readers r = begin();
	struct rn_cqe e;

	(void)state;
	pair_set_hook(r.p, see, &r);
	post_read(&r, 0, LARGE);
	post_read(&r, 1, LARGE);
	post_read(&r, 2, LARGE);
	pair_run_for(r.p, ROUND_TRIP - RN_USEC(1));
	r.p->frozen = true; /* with the response on its way */
	pair_run_for(r.p, ROUND_TRIP);
	assert_int_equal(completed(&r, 0), 1);
	assert_int_equal(pair_modify_state(r.a[1], RN_QPS_ERR), 0);
	assert_true(pair_poll(r.a[1]->scq, &e));
	assert_int_equal(pair_cqe_status(&e), RN_WC_WR_FLUSH_ERR);
	r.p->frozen = false;
	pair_flush(r.p);
	assert_int_equal(r.asked[2], 1);
	pair_run_until_quiet(r.p);
	assert_int_equal(completed(&r, 2), 1);
	pair_free(r.p);
}

/* It would not fit however long it waited. */
static void a_read_larger_than_the_window_goes_alone(void **state)
{
	struct readers r = begin();

	(void)state;
	pair_set_hook(r.p, see, &r);
	r.p->dev[0]->cfg.read_window = LARGE / 2;
	post_read(&r, 0, LARGE);
	assert_int_equal(r.asked[0], 1);
	post_read(&r, 1, SMALL);
	assert_int_equal(r.asked[1], 0);
	pair_run_until_quiet(r.p);
	assert_int_equal(completed(&r, 0), 1);
	assert_int_equal(completed(&r, 1), 1);
	pair_free(r.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_that_read_take_turns),
		cmocka_unit_test(small_reads_do_not_pass_a_large_one),
		cmocka_unit_test(atomics_do_not_stand_in_line),
		cmocka_unit_test(who_asked_regardless_is_not_called_again),
		cmocka_unit_test(a_turn_that_is_not_taken_is_the_next_ones),
		cmocka_unit_test(who_has_failed_holds_no_turn),
		cmocka_unit_test(a_read_larger_than_the_window_goes_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
