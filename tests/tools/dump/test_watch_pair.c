/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_watch_pair.c - which requests a response belongs to, and what is forgotten when
 * that turns out to be others than was thought.
 */
#include "talk.h"

enum {
	QP_X = 0x31, /* B's */
	QP_Y = 0x32,
	QP_P = 0x41, /* A's */
	QP_Q = 0x42,
};

static const struct rn_watch_verdict *send(struct talk *t, uint32_t qpn, uint32_t psn)
{
	return talk_step(t,
			 &(struct step){ .op = RN_RC_SEND_ONLY, .psn = psn, .qpn = qpn });
}

static const struct rn_watch_verdict *answer(struct talk *t, uint32_t qpn, uint32_t psn,
					     uint8_t syndrome, uint32_t msn)
{
	return talk_step(t, &(struct step){ .op = RN_RC_ACK,
					    .psn = psn,
					    .qpn = qpn,
					    .syndrome = syndrome,
					    .msn = msn });
}

static uint32_t asker(const struct talk *t)
{
	assert_int_not_equal(t->verdict.half, RN_WATCH_NONE);
	return rn_watch_half(t->w, t->verdict.half)->qpn;
}

/* Both wait for an answer, and nobody has answered either of them. */
static void of_two_that_sent_a_psn_the_one_that_sent_it_last_is_taken(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t early = i ? QP_X : QP_Y, late = i ? QP_Y : QP_X;
		struct talk t = talk_new(false);

		/* Which one is seen first does not count. */
		if (i)
			send(&t, late, 99);
		send(&t, early, 99);
		if (!i)
			send(&t, late, 99);
		for (uint32_t psn = 100; psn < 103; psn++)
			send(&t, early, psn);
		send(&t, late, 100);
		answer(&t, QP_P, 100, TALK_ACK, 1);
		assert_int_equal(asker(&t), late);
		assert_int_equal(t.verdict.findings, 0);
		talk_end(&t);
	}
}

/* Queue pair numbers are those of a host, and so are PSNs. */
static void only_the_host_that_is_answered_can_have_asked(void **state)
{
	static const struct {
		uint8_t a, b; /* who asks whom */
	} others[] = { { 3, 2 }, { 1, 3 } };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(others); i++) {
		struct talk t = talk_new(false);
		struct step s = { .op = RN_RC_SEND_ONLY,
				  .psn = 100,
				  .host_a = others[i].a,
				  .host_b = others[i].b };
		uint32_t half;

		half = talk_step(&t, &s)->half;
		answer(&t, TALK_QP_A, 100, TALK_ACK, 1);
		assert_int_equal(t.verdict.half, RN_WATCH_NONE);
		assert_false(rn_watch_half(t.w, half)->is_paired);
		/* And the one that is answered is known as soon as it is. */
		s.op = RN_RC_ACK;
		s.syndrome = TALK_ACK;
		assert_int_equal(talk_step(&t, &s)->half, half);
		assert_true(rn_watch_half(t.w, half)->is_paired);
		talk_end(&t);
	}
}

/* QP_X answered QP_P, which was made anew, as it gets answers to what nobody sent. The
 * MSN and the NAK were that connection's.
 */
static void a_new_peer_is_not_held_to_what_was_told_of_the_former(void **state)
{
	static const uint8_t last_words[] = { TALK_ACK, TALK_NAK_ACCESS };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(last_words); i++) {
		struct talk t = talk_new(false);

		send(&t, QP_X, 100);
		answer(&t, QP_P, 100, last_words[i], 1);
		assert_int_equal(asker(&t), QP_X);
		answer(&t, QP_P, 5000000, TALK_ACK, 7);
		assert_int_equal(t.verdict.half, RN_WATCH_NONE);
		send(&t, QP_X, 101);
		answer(&t, QP_Q, 101, TALK_ACK, 50);
		assert_int_equal(asker(&t), QP_X);
		assert_int_equal(rn_watch_half(t.w, t.verdict.half)->peer_qpn, QP_Q);
		assert_int_equal(t.verdict.findings, 0);
		/* From here on it is held to what was told of this one. */
		send(&t, QP_X, 102);
		answer(&t, QP_Q, 102, TALK_ACK, 50);
		assert_int_equal(t.verdict.findings, 1);
		assert_int_equal(t.verdict.finding[0].rule, RN_RULE_MSN);
		talk_end(&t);
	}
}

/* The first answer may have been to either of two, and so may its MSN. */
static void what_was_told_in_doubt_is_forgotten_when_that_ends(void **state)
{
	struct talk t = talk_new(false);

	(void)state;
	send(&t, QP_X, 100);
	send(&t, QP_Y, 100);
	answer(&t, QP_P, 100, TALK_ACK, 3);
	assert_int_equal(asker(&t), QP_Y);
	for (uint32_t psn = 101; psn < 105; psn++)
		send(&t, QP_Y, psn);
	/* QP_Y alone has sent this, and has completed two messages more by now. */
	answer(&t, QP_P, 102, TALK_ACK, 5);
	assert_int_equal(asker(&t), QP_Y);
	assert_int_equal(t.verdict.findings, 0);
	answer(&t, QP_P, 104, TALK_ACK, 5);
	assert_int_equal(asker(&t), QP_Y);
	assert_int_equal(t.verdict.findings, 0);
	talk_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			of_two_that_sent_a_psn_the_one_that_sent_it_last_is_taken),
		cmocka_unit_test(only_the_host_that_is_answered_can_have_asked),
		cmocka_unit_test(a_new_peer_is_not_held_to_what_was_told_of_the_former),
		cmocka_unit_test(what_was_told_in_doubt_is_forgotten_when_that_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
