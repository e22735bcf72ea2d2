/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_question.c - what `rocin doctor --peer` asks, and what it makes of the answers, in
 * virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/mad.h"
#include "tools/rocin/doctor/question.h"

enum {
	TID = 77,
	ASKS_MAX = 23, /* as ANSWERS_AT_ONCE of rocind reckons with */
	HERE_MS = 1000000,
};

/* A peer behind a path. */
static struct peer {
	uint32_t len_max;    /* longest packet that gets through */
	rn_ns one_way;	     /* half a round trip */
	int64_t clock_ms;    /* how far its clock is ahead */
	unsigned lose;	     /* this many packets get lost at first */
	unsigned ends_after; /* it ends after this number of questions; 0: never */
	bool is_old;	     /* it does not know the question */
	struct rn_peer_info info;
	unsigned asked;
} peer;

static rn_ns now;
static struct rn_question q;

static int64_t ms_here(rn_ns t)
{
	return HERE_MS + t / RN_MSEC(1);
}

static void answer(uint32_t len, uint64_t tid)
{
	uint8_t ask[RN_MAD_LEN], mad[RN_MAD_LEN];
	struct rn_mad_hdr hdr;

	peer.info.time_ms = (uint64_t)(ms_here(now + peer.one_way) + peer.clock_ms);
	rn_peer_ask_emit(ask, tid);
	rn_peer_answer_emit(mad, ask, &peer.info);
	rn_mad_hdr_parse(&hdr, mad);
	hdr.status = peer.is_old ? RN_MAD_STATUS_BAD_METHOD_ATTR : 0;
	rn_mad_hdr_emit(mad, &hdr);
	now += 2 * peer.one_way;
	rn_question_hear(&q, mad, peer.is_old ? RN_PEER_ASK_MIN : len, now, ms_here(now));
}

static void talk(uint32_t mtu)
{
	uint32_t len;

	now = RN_MSEC(10);
	peer.asked = 0;
	rn_question_init(&q, TID, mtu, 1, now);
	while (q.due != RN_NEVER) {
		now = q.due > now ? q.due : now;
		len = rn_question_ask(&q, now, ms_here(now));
		if (!len)
			continue;
		assert_true(++peer.asked <= ASKS_MAX);
		if (peer.lose)
			peer.lose--;
		else if (len <= peer.len_max &&
			 (!peer.ends_after || peer.asked <= peer.ends_after))
			answer(len, q.tid);
	}
	assert_int_equal(rn_question_ask(&q, now, ms_here(now)), 0);
}

static int setup(void **state)
{
	(void)state;
	peer = (struct peer){
		.len_max = RN_PEER_ASK_MAX,
		.one_way = RN_MSEC(1),
		.info = { .version = "9.9", .path_mtu = 4096, .icrc = RN_PEER_ICRC_EXACT }
	};
	return 0;
}

static void a_good_peer_is_asked_twice(void **state)
{
	(void)state;
	talk(4096);
	assert_int_equal(peer.asked, 2);
	assert_int_equal(q.answer, RN_PEER_ANSWERS);
	assert_string_equal(q.info.version, "9.9");
	assert_int_equal(q.info.icrc, RN_PEER_ICRC_EXACT);
	assert_int_equal(q.mtu_through, 4096);
	assert_int_equal(q.round_trip, 2 * peer.one_way);
}

static void silence_ends(void **state)
{
	rn_ns began = RN_MSEC(10);

	(void)state;
	peer.len_max = 0;
	talk(4096);
	assert_int_equal(q.answer, RN_PEER_NO_ANSWER);
	assert_in_range(now - began, RN_MSEC(500), RN_MSEC(3000));
	assert_in_range(peer.asked, 2, 6);
}

static void a_few_losses_do_no_harm(void **state)
{
	(void)state;
	peer.lose = 2;
	talk(1024);
	assert_int_equal(q.answer, RN_PEER_ANSWERS);
	assert_int_equal(q.mtu_through, 1024);
}

static void the_longest_packet_that_gets_through_is_found(void **state)
{
	(void)state;
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		peer.len_max = rn_peer_ask_len(mtu) + 3;
		talk(4096);
		assert_int_equal(q.mtu_through, mtu);
		assert_int_equal(q.mtu_here, 4096);
	}
	peer.len_max = RN_PEER_ASK_MIN;
	talk(4096);
	assert_int_equal(q.answer, RN_PEER_ANSWERS);
	assert_int_equal(q.mtu_through, 0);
	assert_false(q.fell_silent);
}

/* Silence to all long questions does not mean a narrow path if the peer has ended. */
static void a_peer_that_ends_is_told_from_a_narrow_path(void **state)
{
	(void)state;
	peer.ends_after = 1;
	talk(4096);
	assert_int_equal(q.answer, RN_PEER_ANSWERS);
	assert_int_equal(q.mtu_through, 0);
	assert_true(q.fell_silent);

	peer.ends_after = 0;
	peer.len_max = 0;
	talk(4096);
	assert_false(q.fell_silent); /* it has never answered */
}

static void one_that_does_not_know_the_question_is_left_alone(void **state)
{
	(void)state;
	peer.is_old = true;
	talk(4096);
	assert_int_equal(q.answer, RN_PEER_REFUSES);
	assert_int_equal(peer.asked, 1);
}

/* Whatever the way there and back takes, the real difference lies within the error. */
static void clocks_are_compared(void **state)
{
	static const int64_t ahead[] = { 0, 1, -1, 2500, -86400000 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(ahead); i++)
		for (unsigned lose = 0; lose < 3; lose++) {
			peer.clock_ms = ahead[i];
			peer.one_way = RN_MSEC(1 + 30 * (rn_ns)i);
			peer.lose = lose;
			talk(1024);
			assert_true(q.clock_ms - q.clock_error_ms <= ahead[i]);
			assert_true(q.clock_ms + q.clock_error_ms >= ahead[i]);
		}
}

/* Off path, an attacker does not know the number. */
static void an_answer_to_no_question_is_ignored(void **state)
{
	(void)state;
	now = RN_MSEC(10);
	rn_question_init(&q, TID, 1024, 1, now);
	answer(RN_PEER_ASK_MIN, TID); /* before anything was asked */
	assert_int_equal(q.answer, RN_PEER_NO_ANSWER);
	assert_int_equal(rn_question_ask(&q, now, ms_here(now)), RN_PEER_ASK_MIN);
	answer(RN_PEER_ASK_MIN, TID + 1);
	assert_int_equal(q.answer, RN_PEER_NO_ANSWER);
	answer(RN_PEER_ASK_MIN, TID);
	assert_int_equal(q.answer, RN_PEER_ANSWERS);
	assert_int_equal(rn_question_ask(&q, now, ms_here(now)), rn_peer_ask_len(1024));
	answer(RN_PEER_ASK_MIN, TID);	  /* the first once more */
	answer(RN_PEER_ASK_MIN, TID + 1); /* too short: the long one is lost */
	assert_int_equal(q.mtu_through, 0);
	answer(rn_peer_ask_len(1024), TID + 1);
	assert_int_equal(q.mtu_through, 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_good_peer_is_asked_twice, setup),
		cmocka_unit_test_setup(silence_ends, setup),
		cmocka_unit_test_setup(a_few_losses_do_no_harm, setup),
		cmocka_unit_test_setup(the_longest_packet_that_gets_through_is_found,
				       setup),
		cmocka_unit_test_setup(a_peer_that_ends_is_told_from_a_narrow_path,
				       setup),
		cmocka_unit_test_setup(one_that_does_not_know_the_question_is_left_alone,
				       setup),
		cmocka_unit_test_setup(clocks_are_compared, setup),
		cmocka_unit_test_setup(an_answer_to_no_question_is_ignored, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
