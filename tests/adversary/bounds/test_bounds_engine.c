/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_bounds_engine.c - each entry of an engine is a bounded piece of work, though its
 * wire always has more: a poll, a post, a step, and what empties the sockets at the end.
 */
#include "tests/provider/kit/virtual_kit.h"

#include "rocin/net.h"
#include "tests/kit/work.h"

enum {
	LEN = 4096 + 64, /* of each packet that comes */
	SUPERS = 64,	 /* super-packets that one entry sends at most, held ones first */
	STEPS = 32,	 /* of rnp_engine_receive_all() */
};

static unsigned received, sent; /* calls of the wire */

/* The dearest packets: long ones whose ICRC is wrong in the end. */
static int always_a_batch(void *ctx, struct rn_rx *rx)
{
	static uint8_t data[LEN] = { 0x04, 0, 0xff, 0xff };
	static struct rn_flow flow;

	received++;
	work_add(WORK_SYSCALL);
	flow.dst = *(const struct rn_gid *)ctx;
	for (unsigned i = 0; i < RN_RX_BATCH; i++)
		rx[i] = (struct rn_rx){ .flow = &flow, .data = data, .len = LEN };
	return RN_RX_BATCH;
}

static int take_all(void *ctx, const struct rn_super *super)
{
	(void)ctx;
	(void)super;
	work_add(WORK_SYSCALL);
	sent++;
	return 0;
}

static struct kit_end end[2];
static struct rn_net *usual; /* the wire of the kit */

static int setup(void **state)
{
	static const struct rn_net_ops ops = { .receive = always_a_batch,
					       .transmit = take_all };
	static struct rn_net endless;

	(void)state;
	virtual_pair(end, 14);
	endless = (struct rn_net){ .ops = &ops, .ctx = &end[0].gid, .gso = true };
	usual = end[0].e->wire.net;
	end[0].e->wire.net = &endless;
	received = sent = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end[0].e->wire.net = usual;
	virtual_close_pair(end);
	return 0;
}

/* Of an entry that has received by at most @calls. */
static void assert_bounded(unsigned calls)
{
	assert_in_range(received, 1, calls);
	assert_in_range(sent, 0, SUPERS);
	assert_work(WORK_MESSAGE +
		    (uint64_t)(received + sent) * RN_RX_BATCH * WORK_PACKET);
	received = sent = 0;
}

static void a_poll_takes_a_few_batches(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		work_begin();
		rnp_engine_poll(end[0].e);
		assert_bounded(RNP_DRAIN_APP);
	}
}

static void a_step_takes_as_many_as_it_is_told(void **state)
{
	(void)state;
	for (unsigned drain = RNP_DRAIN_APP; drain <= RNP_DRAIN_BACKGROUND; drain *= 2) {
		work_begin();
		rnp_engine_step(end[0].e, virtual_now(), drain, RNP_ACKS_NOW);
		assert_bounded(drain);
	}
}

static void emptying_the_sockets_ends(void **state)
{
	(void)state;
	work_begin();
	rnp_engine_receive_all(end[0].e);
	assert_bounded(STEPS * RNP_DRAIN_BACKGROUND);
}

static void a_post_sends_and_receives_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KIT_WRS; i++) {
		work_begin();
		kit_post_send_locked(&end[0], RN_WR_SEND, KIT_BUF, 0);
		assert_int_equal(received, 0);
		assert_in_range(sent, 0, SUPERS);
		assert_work(WORK_MESSAGE + (uint64_t)sent * RN_RX_BATCH * WORK_PACKET);
		sent = 0;
	}
}

int main(void)
{
#define ONE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		ONE(a_poll_takes_a_few_batches),
		ONE(a_step_takes_as_many_as_it_is_told),
		ONE(emptying_the_sockets_ends),
		ONE(a_post_sends_and_receives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
