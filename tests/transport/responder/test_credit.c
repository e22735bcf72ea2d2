/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_credit.c - end-to-end flow control between two devices of ours. */
#include "tests/kit/device/rc_pair.h"

enum {
	SENDS = 40,
	RECEIVES = 3, /* posted at a time */
};

static void post_receives(struct rc *r, unsigned *posted, unsigned count)
{
	for (unsigned i = 0; i < count && *posted < SENDS; i++)
		pair_post_recv_mr(r->b, (*posted)++, r->mb, 0, 64);
}

/* Before the first acknowledgement a sender knows nothing. */
static void first_word(struct rc *r)
{
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(r, RN_WR_RDMA_WRITE, &sge, 8);

	assert_int_equal(pair_post_send(r->a, &wr), 0);
	pair_run_until_quiet(r->p);
	pair_expect_wc(r->a->scq, WR_ID, RN_WC_SUCCESS);
}

/* A receiver that posts a few receives every millisecond; how many packets went in vain.
 */
static uint64_t in_vain(const struct pair_cfg *cfg, const struct pair_faults *faults)
{
	struct rc r = rc_new(cfg);
	unsigned posted = 0;
	uint64_t count;

	post_receives(&r, &posted, RECEIVES);
	first_word(&r);
	if (faults)
		pair_set_faults(r.p, faults);
	for (unsigned i = 0; i < SENDS; i++) {
		struct rn_sge sge;
		struct rn_send_wr wr = wr_to(&r, RN_WR_SEND, &sge, 64);

		wr.wr_id = i;
		assert_int_equal(pair_post_send(r.a, &wr), 0);
	}
	while (posted < SENDS) {
		pair_run_for(r.p, RN_MSEC(1));
		post_receives(&r, &posted, RECEIVES);
		pair_flush(r.p);
	}
	pair_run_until_quiet(r.p);
	for (unsigned i = 0; i < SENDS; i++) {
		pair_expect_wc(r.a->scq, i, RN_WC_SUCCESS);
		pair_expect_wc(r.b->rcq, i, RN_WC_SUCCESS);
	}
	count = pair_stat(r.p, 0, RN_STAT_RETRANSMITTED);
	pair_free(r.p);
	return count;
}

static void a_sender_that_knows_of_receives_sends_less_in_vain(void **state)
{
	uint64_t without = in_vain(&(struct pair_cfg){ 0 }, NULL);
	uint64_t with = in_vain(&(struct pair_cfg){ .credits = true }, NULL);

	(void)state;
	/* One message may go to try, and no other behind it. */
	print_message("%u and %u packets\n", (unsigned)without, (unsigned)with);
	assert_true(with < without / 4);
}

static void credits_that_are_lost_stop_nobody(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 40; seed++) {
		const struct pair_faults faults = {
			.seed = seed, .loss = 1000, .duplicate = 500, .reorder = 500
		};

		in_vain(&(struct pair_cfg){ .credits = true }, &faults);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sender_that_knows_of_receives_sends_less_in_vain),
		cmocka_unit_test(credits_that_are_lost_stop_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
