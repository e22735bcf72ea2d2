/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_repeats.c - which packets of a live device are only sent once more. */
#include "sim/scenario/scene.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rocin/opcode.h"
#include "rocin/wire.h"

static struct rn_scene_packet packet(uint8_t opcode, uint8_t psn, uint32_t len)
{
	return (struct rn_scene_packet){ .len = len, .bytes = { opcode, [11] = psn } };
}

static void a_request_that_was_taken_is_known_again(void **state)
{
	struct rn_scene_packet p = packet(RN_RC_READ_REQUEST, 7, 32), other = p;
	struct rn_repeats r = { 0 };

	(void)state;
	assert_false(rn_repeats_has(&r, &p));
	rn_repeats_note(&r, &p);
	assert_true(rn_repeats_has(&r, &p));
	other.bytes[8] = 0x80; /* asks for an acknowledgement now */
	assert_true(rn_repeats_has(&r, &other));
	other = packet(RN_RC_READ_REQUEST, 8, 32);
	assert_false(rn_repeats_has(&r, &other));
	other = packet(RN_RC_READ_REQUEST, 7, 36);
	assert_false(rn_repeats_has(&r, &other));
}

static struct rn_scene_packet read_of(uint8_t psn, uint32_t va, uint32_t dma_len)
{
	struct rn_scene_packet p =
		packet(RN_RC_READ_REQUEST, psn, RN_BTH_LEN + RN_RETH_LEN);
	const struct rn_reth reth = { .va = va, .rkey = 1, .dma_len = dma_len };

	rn_reth_emit(p.bytes + RN_BTH_LEN, &reth);
	return p;
}

static void the_rest_of_a_read_is_a_repeat(void **state)
{
	struct rn_scene_packet whole = read_of(7, 0x1000, 3000),
			       rest = read_of(8, 0x1400, 1976),
			       shorter = read_of(8, 0x1400, 1975),
			       other = read_of(8, 0x1000, 3000);
	struct rn_repeats r = { 0 };

	(void)state;
	rn_repeats_note(&r, &rest);
	assert_false(rn_repeats_has(&r, &whole));
	r.count = 0;
	rn_repeats_note(&r, &whole);
	assert_true(rn_repeats_has(&r, &whole));
	assert_true(rn_repeats_has(&r, &rest));
	assert_false(rn_repeats_has(&r, &shorter));
	assert_false(rn_repeats_has(&r, &other));
}

static void answers_are_never_repeats(void **state)
{
	static const uint8_t opcode[] = { RN_RC_READ_RESPONSE_FIRST, RN_RC_ACK,
					  RN_RC_ATOMIC_ACK };
	struct rn_repeats r = { 0 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(opcode); i++) {
		struct rn_scene_packet p = packet(opcode[i], 1, 20);

		rn_repeats_note(&r, &p);
		assert_false(rn_repeats_has(&r, &p));
	}
	assert_int_equal(r.count, 0);
}

static void the_oldest_is_forgotten(void **state)
{
	struct rn_repeats r = { 0 };
	struct rn_scene_packet first = packet(RN_RC_SEND_ONLY, 0, 20);

	(void)state;
	for (uint8_t psn = 0; psn <= RN_REPEATS_MAX; psn++) {
		struct rn_scene_packet p = packet(RN_RC_SEND_ONLY, psn, 20);

		rn_repeats_note(&r, &p);
		assert_true(rn_repeats_has(&r, &p));
	}
	assert_false(rn_repeats_has(&r, &first));
}

/* ---- Skipping ---- */

static struct rn_scene_packet queue[3];
static unsigned at, count;

static const struct rn_scene_packet *next(void *ctx)
{
	(void)ctx;
	return at < count ? &queue[at] : NULL;
}

static void drop(void *ctx)
{
	(void)ctx;
	at++;
}

static void only_in_real_time_are_they_skipped(void **state)
{
	struct rn_scene_ops ops = { .packet = next, .drop_packet = drop };
	struct rn_repeats r = { 0 };

	(void)state;
	queue[0] = queue[1] = packet(RN_RC_SEND_ONLY, 1, 20);
	queue[2] = packet(RN_RC_SEND_ONLY, 2, 20);
	at = 0;
	count = 3;
	rn_repeats_note(&r, &queue[0]);
	assert_ptr_equal(rn_repeats_skip(&r, &ops, NULL), &queue[0]);
	ops.slack = 1;
	assert_ptr_equal(rn_repeats_skip(&r, &ops, NULL), &queue[2]);
	count = 2;
	at = 0;
	assert_null(rn_repeats_skip(&r, &ops, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_that_was_taken_is_known_again),
		cmocka_unit_test(the_rest_of_a_read_is_a_repeat),
		cmocka_unit_test(answers_are_never_repeats),
		cmocka_unit_test(the_oldest_is_forgotten),
		cmocka_unit_test(only_in_real_time_are_they_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
