/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_silence.c - who is asked about because nothing comes from there. */
#include "rocin/transport.h"
#include "tests/kit/device/req_kit.h"

static void run_until_timeouts(struct raw *r, uint64_t count)
{
	while (pair_stat(r->p, 0, RN_STAT_LOCAL_ACK_TIMEOUT) < count)
		pair_run_for(r->p, RN_MSEC(1));
	expect_stat(r, RN_STAT_LOCAL_ACK_TIMEOUT, count);
}

/* One timeout may be a lost packet; two without an answer between are worth a look. */
static void a_silent_peer_is_named_from_the_second_timeout_on(void **state)
{
	struct raw r = req_new(NULL);
	struct rn_flow flow;

	(void)state;
	post_sends(&r, 2);
	run_until_timeouts(&r, 1);
	assert_false(rn_dev_silent(r.p->dev[0], &flow));
	raw_ack(&r, 200, 1); /* it is there after all */
	run_until_timeouts(&r, 2);
	assert_false(rn_dev_silent(r.p->dev[0], &flow));
	run_until_timeouts(&r, 3);
	assert_true(rn_dev_silent(r.p->dev[0], &flow));
	assert_memory_equal(&flow.src, &r.q->qp->flow.src, sizeof(flow.src));
	assert_memory_equal(&flow.dst, &r.q->qp->flow.dst, sizeof(flow.dst));
	assert_false(rn_dev_silent(r.p->dev[0], &flow));
	pair_run_until_quiet(r.p);
	req_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_peer_is_named_from_the_second_timeout_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
