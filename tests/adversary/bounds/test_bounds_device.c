/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_bounds_device.c - each call into a device, or into a connection manager, is a
 * bounded piece of work: so many units for each packet, timer and completion of it.
 *
 * First what is dearest: 60 000 queue pairs whose peer is gone, packets that somebody
 * forges. Then each call of simulated worlds, whatever goes on in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/cm.h"
#include "rocin/queue_pair.h"
#include "rocin/transport.h"
#include "sim/fabric/connections.h"
#include "sim/world/plan.h"
#include "sim/world/world.h"
#include "tests/kit/device/many.h"
#include "tests/kit/work.h"
#include "transport/qp/qp.h"

enum {
	QPS = 60000, /* almost as many as a device may have */
	DEEP = 300,  /* requests of one queue pair */
	BATCH = 64,  /* packets of one call, as of a back end */
	SEEDS = 30,
};

/* --------------------------------------------------------- each call is measured */
void __real_rn_dev_receive(struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
			   unsigned count);
void __wrap_rn_dev_receive(struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
			   unsigned count);
void __real_rn_dev_expire(struct rn_dev *dev, rn_ns now);
void __wrap_rn_dev_expire(struct rn_dev *dev, rn_ns now);
uint32_t __real_rn_dev_transmit(struct rn_dev *dev, rn_ns now, unsigned what,
				uint8_t *buf, size_t cap, struct rn_tx *tx);
uint32_t __wrap_rn_dev_transmit(struct rn_dev *dev, rn_ns now, unsigned what,
				uint8_t *buf, size_t cap, struct rn_tx *tx);
bool __real_rn_cm_receive(struct rn_cm *cm, rn_ns now, const struct rn_cm_rx *rx);
bool __wrap_rn_cm_receive(struct rn_cm *cm, rn_ns now, const struct rn_cm_rx *rx);
void __real_rn_cm_expire(struct rn_cm *cm, rn_ns now);
void __wrap_rn_cm_expire(struct rn_cm *cm, rn_ns now);

static uint64_t dearest[5]; /* of receive, expire, transmit and the two of a CM */

static void note(unsigned which, uint64_t inputs)
{
	uint64_t each = work_done() / (inputs ? inputs : 1);

	if (each > dearest[which])
		dearest[which] = each;
}

void __wrap_rn_dev_receive(struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
			   unsigned count)
{
	uint32_t before = dev->completions;

	work_begin();
	__real_rn_dev_receive(dev, now, pkts, count);
	note(0, count);
	assert_work(WORK_CALL + (uint64_t)count * WORK_PACKET +
		    (uint64_t)(dev->completions - before) * WORK_COMPLETION);
}

void __wrap_rn_dev_expire(struct rn_dev *dev, rn_ns now)
{
	uint32_t before = dev->completions;

	work_begin();
	__real_rn_dev_expire(dev, now);
	note(1, 1);
	assert_work(RN_EXPIRE_MAX * WORK_TIMER +
		    (uint64_t)(dev->completions - before) * WORK_COMPLETION);
}

/* Which may also ask queue pairs in vain. */
uint32_t __wrap_rn_dev_transmit(struct rn_dev *dev, rn_ns now, unsigned what,
				uint8_t *buf, size_t cap, struct rn_tx *tx)
{
	uint32_t len;

	work_begin();
	len = __real_rn_dev_transmit(dev, now, what, buf, cap, tx);
	note(2, 1);
	assert_work(WORK_PACKET + RN_VAIN_MAX * WORK_CALL);
	return len;
}

bool __wrap_rn_cm_receive(struct rn_cm *cm, rn_ns now, const struct rn_cm_rx *rx)
{
	bool taken;

	work_begin();
	taken = __real_rn_cm_receive(cm, now, rx);
	note(3, 1);
	assert_work(WORK_PACKET);
	return taken;
}

void __wrap_rn_cm_expire(struct rn_cm *cm, rn_ns now)
{
	work_begin();
	__real_rn_cm_expire(cm, now);
	note(4, 1);
	assert_work(RN_CM_EXPIRE_MAX * WORK_TIMER);
}

static void say(const char *what)
{
	printf("%s: a packet received at most %llu units, timers %llu, a packet made "
	       "%llu, a MAD %llu, timers of a CM %llu\n",
	       what, (unsigned long long)dearest[0], (unsigned long long)dearest[1],
	       (unsigned long long)dearest[2], (unsigned long long)dearest[3],
	       (unsigned long long)dearest[4]);
	memset(dearest, 0, sizeof(dearest));
}

/* ------------------------------------------------------- a peer of many that is gone */
/* As the engine does in a step, but for all that may leave. Return: packets. */
static unsigned fill(struct many *m)
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
		fill(m);
}

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

static bool are_alive(const struct many *m)
{
	for (unsigned i = 0; i < m->cfg.qps; i++)
		if (rn_qp_state(m->qp[0][i]) == RN_QPS_RTS)
			return true;
	return false;
}

/* All of them are due at once, retry after retry, until they fail. Between two pieces
 * packets leave, and could be received.
 */
static void run_out(struct many *m)
{
	struct rn_dev *dev = m->side[0].dev;
	unsigned pieces = 0;

	m->now += RN_MSEC(1000);
	while (rn_dev_deadline(dev) != RN_NEVER) {
		if (rn_dev_deadline(dev) > m->now)
			m->now += RN_MSEC(1000);
		rn_dev_expire(dev, m->now);
		send_all(m);
		assert_in_range(++pieces, 1, 20 * m->cfg.qps);
	}
	assert_false(are_alive(m));
	assert_true(pieces > m->cfg.qps / RN_EXPIRE_MAX);
}

static void timers_of_60000_queue_pairs_run_out_in_pieces(void **state)
{
	struct many *m = talk_to_nobody(QPS, 1);

	(void)state;
	run_out(m);
	many_free(m);
	say("60 000 queue pairs");
}

/* One step is enough for as many as have something that may leave. */
static void queue_pairs_that_may_send_are_asked_once(void **state)
{
	struct many *m = many_new(&(struct many_cfg){
		.qps = 5000, .depth = 1, .len = 8, .room = 1, .is_peer_gone = true });

	(void)state;
	for (unsigned i = 0; i < m->cfg.qps; i++)
		assert_true(many_post(m, i));
	assert_int_equal(fill(m), m->cfg.qps);
	assert_true(rn_dev_deadline(m->side[0].dev) > m->now);
	many_free(m);
}

/* The requests of all that fail in one call are no more than those of one, and
 * RN_EXPIRE_MAX.
 */
static void queues_that_are_full_fail_in_pieces(void **state)
{
	struct many *m = talk_to_nobody(RN_EXPIRE_MAX, DEEP);
	struct rn_dev *dev = m->side[0].dev;

	(void)state;
	m->now += RN_MSEC(1000);
	while (rn_dev_deadline(dev) != RN_NEVER) {
		uint32_t before = dev->completions;

		if (rn_dev_deadline(dev) > m->now)
			m->now += RN_MSEC(1000);
		rn_dev_expire(dev, m->now);
		/* receives, too */
		assert_in_range(dev->completions - before, 0, RN_EXPIRE_MAX + 2 * DEEP);
		send_all(m);
	}
	assert_false(are_alive(m));
	many_free(m);
	say("full queues");
}

/* Whose ACK has come meanwhile does not time out: packets are taken between two pieces.
 */
static void who_is_answered_between_two_pieces_sends_nothing_again(void **state)
{
	struct many *m = talk_to_nobody(2 * RN_EXPIRE_MAX, 1);
	struct rn_dev *dev = m->side[0].dev;
	uint64_t *timeouts = &m->side[0].stats[RN_STAT_LOCAL_ACK_TIMEOUT];

	(void)state;
	m->now += RN_MSEC(1000);
	rn_dev_expire(dev, m->now);
	assert_int_equal(*timeouts, RN_EXPIRE_MAX);
	assert_true(rn_dev_deadline(dev) <= m->now);
	for (unsigned i = RN_EXPIRE_MAX; i < m->cfg.qps; i++) {
		rn_qp_destroy(dev, m->qp[0][i]);
		free(m->block[0][i]);
	}
	m->cfg.qps = RN_EXPIRE_MAX;
	rn_dev_expire(dev, m->now);
	assert_int_equal(*timeouts, RN_EXPIRE_MAX);
	assert_true(rn_dev_deadline(dev) > m->now);
	many_free(m);
}

/* All have a packet on its way, and the window is full: each is asked in vain whether it
 * has another. A device that has more to ask has a deadline.
 */
static void queue_pairs_that_may_not_send_are_asked_in_pieces(void **state)
{
	struct many *m = talk_to_nobody(5000, 2);
	struct rn_dev *dev = m->side[0].dev;
	unsigned pieces = 0;

	(void)state;
	for (unsigned i = 0; i < m->cfg.qps; i++)
		rn_dev_schedule(dev, m->qp[0][i]);
	assert_true(rn_dev_deadline(dev) > m->now);
	do {
		rn_dev_expire(dev, m->now);
		assert_int_equal(fill(m), 0);
		pieces++;
	} while (rn_dev_deadline(dev) <= m->now);
	assert_false(rn_dev_has_packets(dev, RN_TX_WORK));
	assert_int_equal(pieces, (m->cfg.qps + RN_VAIN_MAX - 1) / RN_VAIN_MAX);
	many_free(m);
}

/* ------------------------------------------------------------------ forged packets */
/* To a queue pair of @m, and with everything else at random; the ICRC of every other one
 * is right.
 */
static uint32_t forge(const struct many *m, struct rn_random *random, uint8_t *buf,
		      struct rn_flow *flow)
{
	const struct rn_qp *qp = m->qp[0][rn_random_below(random, m->cfg.qps)];
	uint32_t len = RN_BTH_LEN + (uint32_t)rn_random_below(random, 4200);

	*flow = (struct rn_flow){ .src = qp->flow.dst,
				  .dst = qp->flow.src,
				  .sport = (uint16_t)rn_random_next(random) };
	for (unsigned i = 0; i < len; i++)
		buf[i] = (uint8_t)rn_random_next(random);
	buf[1] &= 0xf0; /* version 0 */
	buf[2] = buf[3] = 0xff;
	buf[5] = (uint8_t)(qp->qpn >> 16);
	buf[6] = (uint8_t)(qp->qpn >> 8);
	buf[7] = (uint8_t)qp->qpn;
	buf[8] = 0x80;
	if (rn_random_below(random, 4))
		memset(buf + 9, 0, 3); /* the PSN that both ends begin with */
	if (rn_random_below(random, 2))
		rn_icrc_seal(flow, 0, buf, len);
	return len + RN_ICRC_LEN;
}

static void forged_packets_are_no_more_work_than_others(void **state)
{
	static uint8_t data[BATCH][5000];
	struct many *m = talk_to_nobody(1000, 16);
	struct rn_random random = { .state = 1 };
	struct rn_flow flow[BATCH];
	struct rn_rx rx[BATCH];

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < BATCH; i++) {
			uint32_t len = forge(m, &random, data[i], &flow[i]);

			rx[i] = (struct rn_rx){ .flow = &flow[i],
						.data = data[i],
						.len = len };
		}
		rn_dev_receive(m->side[0].dev, m->now += RN_USEC(1), rx, BATCH);
		send_all(m);
	}
	many_free(m);
	say("forged packets");
}

/* -------------------------------------------------------------------------- worlds */
static void each_call_of_worlds_is_bounded(void **state)
{
	struct rn_world *w = rn_world_new();
	struct rn_world_result result;
	static struct rn_plan plan;

	(void)state;
	assert_non_null(w);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		rn_plan_make(&plan, seed, 0);
		rn_world_run(w, &plan, NULL, NULL, &result);
		assert_false(result.failed);
	}
	rn_world_free(w);
	say("worlds");
}

static void each_call_of_connection_managers_is_bounded(void **state)
{
	struct rn_connections_result result;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct rn_connections_cfg cfg = { .seed = seed };

		assert_int_equal(rn_connections_run(&cfg, &result), 0);
		assert_false(result.failed);
	}
	say("connections");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_of_60000_queue_pairs_run_out_in_pieces),
		cmocka_unit_test(queues_that_are_full_fail_in_pieces),
		cmocka_unit_test(who_is_answered_between_two_pieces_sends_nothing_again),
		cmocka_unit_test(queue_pairs_that_may_send_are_asked_once),
		cmocka_unit_test(queue_pairs_that_may_not_send_are_asked_in_pieces),
		cmocka_unit_test(forged_packets_are_no_more_work_than_others),
		cmocka_unit_test(each_call_of_worlds_is_bounded),
		cmocka_unit_test(each_call_of_connection_managers_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
