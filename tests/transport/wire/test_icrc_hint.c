/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_icrc_hint.c - which IPv4 identifications are guessed, by what is known of
 * a sender.
 */
#include "icrc_packet.h"

/* Segments of a GSO send are signed with their position, whether GRO joined them or not;
 * single packets with 0, also where GRO joined several of them.
 */
static void position_and_zero_pass_without_solving(void **state)
{
	struct pkt pkt = random_packet(true, 64);
	struct rn_icrc_hint hint = { 0 };

	(void)state;
	for (uint16_t round = 0; round < 3; round++) {
		for (uint16_t i = 0; i < 64; i++) {
			reseal(&pkt, i);
			assert_int_equal(check(&hint, &pkt, i, true), RN_ICRC_OK);
			assert_int_equal(check(NULL, &pkt, i, true), RN_ICRC_OK);
		}
		for (uint16_t i = 0; i < 64; i++) {
			reseal(&pkt, 0);
			assert_int_equal(check(&hint, &pkt, i, true), RN_ICRC_OK);
			assert_int_equal(check(NULL, &pkt, i, true), RN_ICRC_OK);
		}
		for (uint16_t i = 0; i < 64; i++) {
			reseal(&pkt, i);
			assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_OK);
		}
	}
}

static void a_counting_sender_is_solved_for_once(void **state)
{
	struct pkt pkt = random_packet(true, 64);
	struct rn_icrc_hint hint = { 0 };
	uint16_t id = 0xfff0; /* wraps soon */

	(void)state;
	reseal(&pkt, id);
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD);
	assert_int_equal(check(&hint, &pkt, 0, false), RN_ICRC_OK_SOLVED);
	for (unsigned step = 1; step <= RN_ICRC_ID_AHEAD; step++) {
		id = (uint16_t)(id + step);
		reseal(&pkt, id);
		assert_int_equal(check(&hint, &pkt, (uint16_t)(step % 3), true),
				 RN_ICRC_OK);
		assert_int_equal(hint.last_id, id);
	}
	reseal(&pkt, (uint16_t)(id + RN_ICRC_ID_AHEAD + 1));
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD);
	assert_int_equal(check(&hint, &pkt, 0, false), RN_ICRC_OK_SOLVED);
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD); /* the same again */
}

/* As a connected socket numbers them: super-packets by a counter, which begins anywhere,
 * and the packets of one from there on.
 */
static void a_sender_that_counts_super_packets_is_solved_for_twice(void **state)
{
	struct pkt pkt = random_packet(true, 64);
	struct rn_icrc_hint hint = { 0 };
	uint16_t first = 0xfff8; /* wraps soon */
	unsigned solved = 0;

	(void)state;
	for (unsigned super = 0; super < 100; super++, first++) {
		/* Lost ones leave a gap. */
		first = (uint16_t)(first + (super % 10 == 9 ? 5 : 0));
		for (uint16_t i = 0; i < 1 + super % 16; i++) {
			reseal(&pkt, (uint16_t)(first + i));
			if (check(&hint, &pkt, i, true) == RN_ICRC_OK)
				continue;
			solved++;
			assert_int_equal(check(&hint, &pkt, i, false), RN_ICRC_OK_SOLVED);
		}
	}
	assert_in_range(solved, 1, 2);
	reseal(&pkt, (uint16_t)(first + 64));
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD);
}

/* Whoever refuses what can only be solved for loses one packet to such a sender. */
static void two_numbers_in_sequence_are_believed(void **state)
{
	struct pkt pkt = random_packet(true, 64);
	struct rn_icrc_hint hint = { 0 };

	(void)state;
	reseal(&pkt, 0xffff);
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD);
	reseal(&pkt, 0x8000);
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD);
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD); /* no sequence */
	pkt.data[20] ^= 1;
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD);
	pkt.data[20] ^= 1;
	reseal(&pkt, 0x8001);
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_OK);
	for (uint16_t i = 1; i < 5; i++) {
		reseal(&pkt, (uint16_t)(0x8001 + i));
		assert_int_equal(check(&hint, &pkt, i, true), RN_ICRC_OK);
	}
	reseal(&pkt, 0x9001);
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD);
}

static void a_refused_packet_leaves_the_hint_alone(void **state)
{
	struct pkt pkt = random_packet(true, 64);
	struct rn_icrc_hint hint = { 0 };

	(void)state;
	reseal(&pkt, 500);
	assert_int_equal(check(&hint, &pkt, 0, false), RN_ICRC_OK_SOLVED);
	pkt.data[20] ^= 1;
	assert_int_equal(check(&hint, &pkt, 0, false), RN_ICRC_BAD);
	assert_int_equal(hint.last_id, 500);
	pkt.data[20] ^= 1;
	reseal(&pkt, 9000);
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_BAD);
	assert_int_equal(hint.last_id, 500);
}

/* A hint changes what counts as guessed, never what passes: try wild ones. */
static void no_hint_makes_a_good_packet_bad_or_a_bad_one_good(void **state)
{
	struct pkt pkt = random_packet(true, 64);

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		struct rn_icrc_hint hint = { .last_id = (uint16_t)next_random(),
					     .first_id = (uint16_t)next_random(),
					     .habit = (uint8_t)(next_random() % 4) };
		struct rn_icrc_hint same = hint;
		uint16_t gro_idx = (uint16_t)(next_random() % 64);

		reseal(&pkt, (uint16_t)next_random());
		assert_int_not_equal(check(&hint, &pkt, gro_idx, false), RN_ICRC_BAD);
		pkt.data[pkt.len] ^= 1; /* the ICRC itself */
		assert_int_equal(check(&same, &pkt, gro_idx, false), RN_ICRC_BAD);
		pkt.data[pkt.len] ^= 1;
	}
}

static void ipv6_has_nothing_to_guess(void **state)
{
	struct pkt pkt = random_packet(false, 64);
	struct rn_icrc_hint hint = { .last_id = 77, .habit = 2 };

	(void)state;
	assert_int_equal(check(&hint, &pkt, 9, true), RN_ICRC_OK);
	reseal(&pkt, 0x1234);
	assert_int_equal(check(&hint, &pkt, 0, true), RN_ICRC_OK);
	pkt.data[30] ^= 4;
	assert_int_equal(check(&hint, &pkt, 0, false), RN_ICRC_BAD);
	assert_int_equal(hint.last_id, 77);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, set_up)
	const struct CMUnitTest tests[] = {
		TEST(position_and_zero_pass_without_solving),
		TEST(a_counting_sender_is_solved_for_once),
		TEST(a_sender_that_counts_super_packets_is_solved_for_twice),
		TEST(two_numbers_in_sequence_are_believed),
		TEST(a_refused_packet_leaves_the_hint_alone),
		TEST(no_hint_makes_a_good_packet_bad_or_a_bad_one_good),
		TEST(ipv6_has_nothing_to_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
