/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_steer.c - the steering program against the rule in words, for every slot. */
#include "tools/rocind/net/group.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* The few classic BPF instructions that occur, as the kernel runs them on a UDP payload.
 * A load beyond the packet ends the program with 0.
 */
static uint32_t run(const struct sock_filter *prog, const uint8_t *payload, uint32_t len)
{
	uint32_t a = 0;

	for (unsigned pc = 0; pc < RND_STEER_PROGRAM_LEN; pc++) {
		const struct sock_filter *in = &prog[pc];

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_LEN:
			a = len;
			break;
		case BPF_LD | BPF_W | BPF_ABS:
			if (in->k + 4 > len)
				return 0;
			a = (uint32_t)payload[in->k] << 24 |
			    (uint32_t)payload[in->k + 1] << 16 |
			    (uint32_t)payload[in->k + 2] << 8 | payload[in->k + 3];
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= in->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == in->k ? in->jt : in->jf;
			break;
		case BPF_RET | BPF_A:
			return a;
		case BPF_RET | BPF_K:
			return in->k;
		default:
			fail_msg("instruction %u is unknown", pc);
		}
	}
	fail_msg("the program runs off its end");
	return ~0u;
}

static uint32_t steer(unsigned slot_count, uint32_t qpn, uint32_t len)
{
	struct sock_filter prog[RND_STEER_PROGRAM_LEN];
	uint8_t payload[64];

	/* The byte above the QPN is F, B and reserved bits of the BTH: not zero. */
	memset(payload, 0xff, sizeof(payload));
	payload[5] = (uint8_t)(qpn >> 16);
	payload[6] = (uint8_t)(qpn >> 8);
	payload[7] = (uint8_t)qpn;
	rnd_steer_program(prog, slot_count);
	return run(prog, payload, len);
}

static void every_slot_that_exists_gets_its_packets(void **state)
{
	static const uint32_t counters[] = { 1,	    2,	    0x80,   0xff,
					     0x100, 0x7fff, 0xfffe, 0xffff };

	(void)state;
	for (unsigned slot_count = 1; slot_count <= 256; slot_count++)
		for (unsigned slot = 0; slot < 256; slot++)
			for (size_t i = 0; i < RN_ARRAY_SIZE(counters); i++) {
				uint32_t qpn = counters[i] << 8 | slot;
				uint32_t want =
					slot < slot_count && qpn != 0xffffff ? slot : 0;

				assert_int_equal(steer(slot_count, qpn, 16), want);
			}
}

static void special_and_reserved_qpns_go_to_slot_0(void **state)
{
	(void)state;
	for (uint32_t qpn = 0; qpn < 256; qpn++)
		assert_int_equal(steer(256, qpn, 16), 0);
	assert_int_equal(steer(256, 0xffffff, 16), 0);
	assert_int_equal(steer(256, 0xfffffe, 16), 0xfe);
}

static void packets_shorter_than_a_bth_go_to_slot_0(void **state)
{
	(void)state;
	for (uint32_t len = 0; len < 12; len++)
		assert_int_equal(steer(256, 0x107, len), 0);
	assert_int_equal(steer(256, 0x107, 12), 7);
}

static void each_stray_packet_has_a_reason(void **state)
{
	static const struct {
		uint32_t qpn;
		enum rn_rocind_drop reason;
	} cases[] = {
		{ 0, RN_ROCIND_DROP_QP0 },
		{ 1, RN_ROCIND_DROP_QP1 },
		{ 2, RN_ROCIND_DROP_RESERVED },
		{ 255, RN_ROCIND_DROP_RESERVED },
		{ 256, RN_ROCIND_DROP_UNKNOWN_SLOT },
		{ 0xfffffe, RN_ROCIND_DROP_UNKNOWN_SLOT },
		{ 0xffffff, RN_ROCIND_DROP_MULTICAST },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		uint8_t bth[12] = { 0,
				    0,
				    0,
				    0,
				    0xff,
				    (uint8_t)(cases[i].qpn >> 16),
				    (uint8_t)(cases[i].qpn >> 8),
				    (uint8_t)cases[i].qpn };

		assert_int_equal(rnd_steer_reason(bth, 12), cases[i].reason);
		assert_int_equal(rnd_steer_reason(bth, 5000), cases[i].reason);
	}
}

static void a_short_packet_is_not_read_beyond_its_end(void **state)
{
	(void)state;
	for (size_t len = 0; len < 12; len++) {
		/* A heap copy of this length: a sanitizer sees a read one past it. */
		uint8_t *copy = malloc(len ? len : 1);

		assert_int_equal(rnd_steer_reason(copy, len), RN_ROCIND_DROP_SHORT);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slot_that_exists_gets_its_packets),
		cmocka_unit_test(special_and_reserved_qpns_go_to_slot_0),
		cmocka_unit_test(packets_shorter_than_a_bth_go_to_slot_0),
		cmocka_unit_test(each_stray_packet_has_a_reason),
		cmocka_unit_test(a_short_packet_is_not_read_beyond_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
