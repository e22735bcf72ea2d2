/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_device_pieces.c - what many queue pairs have to do at once is done in pieces, and
 * the device says that there is more. How much work a piece may be is counted elsewhere
 * (tests/adversary/bounds).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rocin/queue_pair.h"
#include "rocin/transport.h"
#include "tests/kit/device/many.h"
#include "transport/qp/qp.h"

enum {
	DEEP = 40, /* requests of a full queue */
};

/* Takes all packets that the device has; nobody answers them. */
static unsigned take_packets(struct many *m)
{
	uint8_t buf[RN_PACKET_MAX];
	unsigned count = 0;
	struct rn_tx tx;

	while (rn_dev_transmit(m->side[0].dev, m->now, RN_TX_ALL, buf, sizeof(buf), &tx))
		count++;
	return count;
}

static void send_all(struct many *m)
{
	while (rn_dev_has_packets(m->side[0].dev, RN_TX_ALL))
		take_packets(m);
}

/* Queue pairs with @depth requests each, whose peer is gone; all packets have left. */
static struct many *talk_to_nobody(unsigned qps, unsigned depth)
{
	struct many *m = many_new(&(struct many_cfg){
		.qps = qps, .depth = depth, .len = 8, .room = 1, .is_peer_gone = true });

	for (unsigned n = 0; n < depth; n++)
		for (unsigned i = 0; i < qps; i++)
			assert_true(many_post(m, i));
	send_all(m);
	return m;
}

/* Their windows are full: each is asked in vain whether it has another packet. */
static void queue_pairs_that_may_not_send_are_asked_in_pieces(void **state)
{
	struct many *m = talk_to_nobody(3 * RN_VAIN_MAX + 1, 2);
	struct rn_dev *dev = m->side[0].dev;

	(void)state;
	for (unsigned i = 0; i < m->cfg.qps; i++)
		rn_dev_schedule(dev, m->qp[0][i]);
	assert_true(rn_dev_deadline(dev) > m->now);
	for (unsigned piece = 0; piece < 3; piece++) {
		assert_int_equal(take_packets(m), 0);
		assert_true(rn_dev_has_packets(dev, RN_TX_WORK));
		assert_true(rn_dev_deadline(dev) <= m->now);
		rn_dev_expire(dev, m->now);
	}
	assert_int_equal(take_packets(m), 0);
	assert_false(rn_dev_has_packets(dev, RN_TX_WORK));
	assert_true(rn_dev_deadline(dev) > m->now);
	many_free(m);
}

static void timers_that_run_out_at_once_are_served_in_pieces(void **state)
{
	struct many *m = talk_to_nobody(2 * RN_EXPIRE_MAX, 1);
	struct rn_dev *dev = m->side[0].dev;
	const uint64_t *timeouts = &m->side[0].stats[RN_STAT_LOCAL_ACK_TIMEOUT];

	(void)state;
	m->now += RN_MSEC(1000);
	rn_dev_expire(dev, m->now);
	assert_int_equal(*timeouts, RN_EXPIRE_MAX);
	assert_true(rn_dev_deadline(dev) <= m->now);
	rn_dev_expire(dev, m->now);
	assert_int_equal(*timeouts, 2 * RN_EXPIRE_MAX);
	assert_true(rn_dev_deadline(dev) > m->now);
	many_free(m);
}

/* The requests of those that fail count, too: each is a completion. */
static void full_queues_that_fail_are_flushed_in_pieces(void **state)
{
	struct many *m = talk_to_nobody(RN_EXPIRE_MAX / 2, DEEP);
	struct rn_dev *dev = m->side[0].dev;
	uint32_t begun = dev->completions;

	(void)state;
	while (rn_dev_deadline(dev) != RN_NEVER) {
		uint32_t before = dev->completions;

		if (rn_dev_deadline(dev) > m->now)
			m->now += RN_MSEC(1000);
		rn_dev_expire(dev, m->now);
		/* of the last queue pair all sends, and its receives */
		assert_in_range(dev->completions - before, 0, RN_EXPIRE_MAX + 2 * DEEP);
		send_all(m);
	}
	assert_true(dev->completions - begun >= m->cfg.qps * DEEP);
	many_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_pairs_that_may_not_send_are_asked_in_pieces),
		cmocka_unit_test(timers_that_run_out_at_once_are_served_in_pieces),
		cmocka_unit_test(full_queues_that_fail_are_flushed_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
