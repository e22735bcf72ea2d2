/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_amplify_cm.c - how much the connection manager sends to an address that may be
 * forged: at most three messages for each that came from there, whatever comes and
 * whatever the program does. All MADs have the same length, so messages count for bytes.
 *
 * The attacker sees nothing of what is sent to that address, so it cannot name our IDs.
 */
#include "rocin/random.h"
#include "tests/transport/cm/cm_fixture.h"

enum {
	LIMIT = 3,
	OPEN_MAX = KIT_CONNS,
};

/* Messages from the forged address, which is that of end a, and to it. */
static unsigned came, sent;
static struct rn_cm_conn *held[OPEN_MAX]; /* what the program has not closed */
static unsigned held_count;

/* What the program does with a request. */
enum program {
	ACCEPTS,
	ASKS_FOR_TIME_AND_ACCEPTS,
	ASKS_FOR_TIME,
	REJECTS,
	WAITS,
	CLOSES,
	PROGRAM_COUNT
};

static void count_sent(void)
{
	struct kit_message tx;

	while (kit_transmit(&kit.b, &tx))
		if (memcmp(&tx.flow.dst, &kit.a.gid, sizeof(kit.a.gid)) == 0)
			sent++;
	assert_in_range(sent, 0, LIMIT * came);
}

static void answer(enum program program, struct rn_cm_conn *conn, bool is_sidr)
{
	const struct rn_cm_no no = { .reason = RN_CM_REJ_CONSUMER };
	struct rn_cm_offer offer = kit_offer(&kit.b, 0x22);

	if (program == ASKS_FOR_TIME || program == ASKS_FOR_TIME_AND_ACCEPTS)
		rn_cm_mra(kit.b.cm, conn, 20, false);
	if (program == ACCEPTS || program == ASKS_FOR_TIME_AND_ACCEPTS) {
		if (is_sidr)
			rn_cm_sidr_reply(kit.b.cm, conn, RN_CM_SIDR_SUCCESS, &offer);
		else
			rn_cm_accept(kit.b.cm, kit.now, conn, &offer);
	}
	if (program == REJECTS)
		rn_cm_reject(kit.b.cm, kit.now, conn, &no);
	if (program == CLOSES) {
		rn_cm_close(kit.b.cm, kit.now, conn);
		return;
	}
	assert_in_range(held_count, 0, OPEN_MAX - 1);
	held[held_count++] = conn;
}

static void serve(enum program program)
{
	struct rn_cm_event ev;

	while (rn_cm_next_event(kit.b.cm, &ev))
		if (ev.type == RN_CM_EV_REQ || ev.type == RN_CM_EV_SIDR_REQ)
			answer(program, ev.conn, ev.type == RN_CM_EV_SIDR_REQ);
	count_sent();
}

static void forge(const struct rn_cm_msg *msg, enum program program)
{
	const struct kit_message tx = kit_compose(&kit.a, &kit.b, msg, came + 1);

	came++;
	kit_give(&kit, &kit.b, &tx);
	serve(program);
}

static void let_all_time_pass(enum program program)
{
	while (rn_cm_deadline(kit.b.cm) != RN_NEVER) {
		kit_next_deadline(&kit, &kit.b);
		serve(program);
	}
}

static void close_all(void)
{
	while (held_count)
		rn_cm_close(kit.b.cm, kit.now, held[--held_count]);
	count_sent();
}

/* What a request brings for the program. */
static const uint8_t *ip_data(void)
{
	static uint8_t data[RN_CM_SIDR_REQ_DATA];

	kit_ip_data(&kit, data);
	return data;
}

static struct rn_cm_msg request(uint32_t id)
{
	return (struct rn_cm_msg){
		.attr = RN_CM_REQ,
		.data = ip_data(),
		.data_len = RN_CM_REQ_DATA,
		.req = { .local_id = id,
			 .service_id = rn_cm_service_id(RN_CM_PS_TCP, KIT_PORT),
			 .ca_guid = kit.a.guid,
			 .qpn = 0x11 + id,
			 .resp_res = 4,
			 .remote_resp_timeout = 18,
			 .local_resp_timeout = 18,
			 .retry_count = 7,
			 .mtu = 3,
			 .max_cm_retries = 15,
			 .primary = { .local_gid = kit.a.gid, .remote_gid = kit.b.gid } },
	};
}

static struct rn_cm_msg sidr_request(uint32_t id)
{
	return (struct rn_cm_msg){
		.attr = RN_CM_SIDR_REQ,
		.data = ip_data(),
		.data_len = RN_CM_SIDR_REQ_DATA,
		.sidr_req = { .request_id = id,
			      .service_id = rn_cm_service_id(RN_CM_PS_TCP, KIT_PORT) },
	};
}

static int begin(void **state)
{
	came = sent = held_count = 0;
	return setup(state);
}

static void a_listener_sends_three_messages_for_a_request_at_most(void **state)
{

	(void)state;
	for (unsigned program = 0; program < PROGRAM_COUNT; program++)
		for (unsigned copies = 1; copies <= 6; copies++)
			for (unsigned sidr = 0; sidr < 2; sidr++) {
				struct rn_cm_msg msg;

				kit_close(&kit);
				begin(state);
				msg = sidr ? sidr_request(7) : request(7);
				for (unsigned i = 0; i < copies; i++)
					forge(&msg, (enum program)program);
				let_all_time_pass((enum program)program);
				close_all();
				let_all_time_pass((enum program)program);
			}
}

/* It still gets as many as it may. */
static void a_request_that_is_accepted_is_worth_three_copies_of_the_answer(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	msg = request(7);
	forge(&msg, ACCEPTS);
	assert_int_equal(sent, 1);
	let_all_time_pass(ACCEPTS);
	assert_int_equal(sent, LIMIT);
	assert_true(kit.b.stats[RN_CM_STAT_UNPROVEN] > 0);
	assert_int_equal(kit.b.stats[RN_CM_STAT_RESENT], LIMIT - 1);
}

/* The last copy leaves with the last of those that follow quickly. */
static void the_last_copy_is_late(void **state)
{
	rn_ns before = kit.now;
	struct rn_cm_msg msg;

	(void)state;
	msg = request(7);
	msg.req.local_resp_timeout = 20; /* 4.3 s */
	forge(&msg, ACCEPTS);
	kit_next_deadline(&kit, &kit.b);
	count_sent();
	assert_int_equal(sent, 2);
	assert_true(kit.now - before == RN_MSEC(200));
	while (sent < LIMIT) {
		kit_next_deadline(&kit, &kit.b);
		count_sent();
	}
	assert_true(kit.now - before == RN_MSEC(200 + 400 + 800 + 1600 + 3200));
}

static void a_copy_of_the_request_brings_new_credit(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	msg = request(7);
	forge(&msg, ACCEPTS);
	while (kit.b.stats[RN_CM_STAT_UNPROVEN] == 0) {
		kit_next_deadline(&kit, &kit.b);
		count_sent();
	}
	forge(&msg, ACCEPTS);
	kit_next_deadline(&kit, &kit.b);
	count_sent();
	assert_int_equal(came, 2);
	let_all_time_pass(ACCEPTS);
	assert_in_range(sent, LIMIT + 1, 2 * LIMIT);
}

static unsigned copies_of_an_answer(uint32_t id)
{
	struct rn_cm_event ev;
	struct kit_message tx;
	struct rn_cm_msg msg;
	unsigned copies = 0;

	msg = request(id);
	tx = kit_compose(&kit.a, &kit.b, &msg, id);
	kit_give(&kit, &kit.b, &tx);
	ev = kit_event(&kit.b, RN_CM_EV_REQ);
	answer(ACCEPTS, ev.conn, false);
	for (;;) {
		while (kit_transmit(&kit.b, &tx))
			copies++;
		if (kit_state(ev.conn) != RN_CM_REP_SENT)
			break;
		kit_next_deadline(&kit, &kit.b);
	}
	while (rn_cm_next_event(kit.b.cm, &ev))
		;
	return copies;
}

/* A peer that has answered once gets all copies, until long after; another does not. */
static void who_has_named_our_id_is_proven_for_some_time(void **state)
{
	struct rn_gid a = kit.a.gid;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(copies_of_an_answer(100), 16);
	kit.a.gid.raw[15] ^= 0x40;
	assert_int_equal(copies_of_an_answer(101), LIMIT);
	kit.a.gid = a;
	kit.now += RN_MSEC(600000);
	assert_int_equal(copies_of_an_answer(102), LIMIT);
}

/* Addresses are kept by a hash, and some of these have the place of the proven one. */
static void who_is_proven_proves_nobody_else(void **state)
{
	struct kit_message tx;
	rn_ns start;

	(void)state;
	kit_establish(&kit, &active, &passive);
	start = kit.now;
	kit.a.gid.raw[13] ^= 1; /* no address below is the proven one */
	for (uint32_t i = 0; i < 1024; i++) {
		kit.now = start;
		kit.a.gid.raw[14] = (uint8_t)(i >> 8);
		kit.a.gid.raw[15] = (uint8_t)i;
		assert_int_equal(copies_of_an_answer(200 + i), LIMIT);
		while (held_count)
			rn_cm_close(kit.b.cm, kit.now, held[--held_count]);
		while (kit_transmit(&kit.b, &tx))
			continue;
	}
}

static void each_copy_of_a_lookup_is_answered(void **state)
{
	const struct rn_cm_msg msg = sidr_request(7);

	(void)state;
	for (unsigned i = 1; i <= 3 * LIMIT; i++) {
		forge(&msg, ACCEPTS);
		assert_int_equal(sent, i);
	}
}

/* Any messages in any order, the program at random. IDs of ours cannot be named, but for
 * a guess that is wrong.
 */
static void forge_at_random(struct rn_random *r)
{
	static const uint8_t attrs[] = { RN_CM_REQ,  RN_CM_MRA,	     RN_CM_REJ,
					 RN_CM_REP,  RN_CM_RTU,	     RN_CM_DREQ,
					 RN_CM_DREP, RN_CM_SIDR_REQ, RN_CM_SIDR_REP,
					 RN_CM_LAP,  RN_CM_APR };
	uint8_t attr = attrs[rn_random_below(r, sizeof(attrs))];
	uint32_t theirs = 1 + rn_random_below(r, 4), ours = rn_random_below(r, 2);
	struct rn_cm_msg msg = { .attr = (enum rn_cm_attr)attr };

	if (attr == RN_CM_REQ)
		msg = request(theirs);
	else if (attr == RN_CM_SIDR_REQ)
		msg = sidr_request(theirs);
	else if (attr == RN_CM_DREQ)
		msg.dreq = (struct rn_cm_dreq){ .local_id = theirs, .remote_id = ours };
	else if (attr == RN_CM_REJ)
		msg.rej = (struct rn_cm_rej){ .local_id = theirs,
					      .remote_id = ours,
					      .reason = RN_CM_REJ_TIMEOUT };
	else
		msg.rtu = (struct rn_cm_ids){ .local_id = theirs, .remote_id = ours };
	if (attr == RN_CM_REQ && rn_random_below(r, 4) == 0)
		msg.req.service_id++;
	if (attr == RN_CM_REQ && rn_random_below(r, 4) == 0)
		msg.req.max_cm_retries = (uint8_t)rn_random_below(r, 16);
	forge(&msg, (enum program)rn_random_below(r, PROGRAM_COUNT));
}

static void play_seed(void **state, uint64_t seed)
{
	struct rn_random r = rn_random_of(seed, 0);

	kit_close(&kit);
	begin(state);
	for (unsigned i = 0; i < 40; i++) {
		forge_at_random(&r);
		if (rn_random_below(&r, 3) == 0 && rn_cm_deadline(kit.b.cm) != RN_NEVER) {
			kit_next_deadline(&kit, &kit.b);
			serve(ACCEPTS);
		}
		if (rn_random_below(&r, 8) == 0 || held_count > OPEN_MAX / 2)
			close_all();
	}
	close_all();
	let_all_time_pass(WAITS);
	close_all();
	let_all_time_pass(WAITS);
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 0);
}

static void no_order_of_messages_gets_more(void **state)
{
	for (uint64_t seed = 0; seed < 300; seed++)
		play_seed(state, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ONE(f) cmocka_unit_test_setup_teardown(f, begin, teardown)
		ONE(a_listener_sends_three_messages_for_a_request_at_most),
		ONE(a_request_that_is_accepted_is_worth_three_copies_of_the_answer),
		ONE(the_last_copy_is_late),
		ONE(a_copy_of_the_request_brings_new_credit),
		ONE(who_has_named_our_id_is_proven_for_some_time),
		ONE(who_is_proven_proves_nobody_else),
		ONE(each_copy_of_a_lookup_is_answered),
		ONE(no_order_of_messages_gets_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
