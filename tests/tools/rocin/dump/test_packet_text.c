/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_packet_text.c - one line for each packet, of Linux rxe and of nobody's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/rocin/kit/capture.h"
#include "tools/dump/packet.h"

static const char *const captures[] = {
	"rxe-rc-send-small", "rxe-rc-write-imm",
	"rxe-rc-atomic",     "rxe-rc-rem-access-write",
	"rxe-rc-rnr-fail",   "rxe-rc-read-req-lost",
	"rxe-ud-send",	     "rxe-ipv6-rc",
};

enum {
	TEXT_LEN = 256,
	IPV4_UDP_LEN = 28,
	UDP_DPORT = 22,
	UDP_LENGTH = 24,
	/* Headers of IPv4, UDP, BTH and DETH, that of the MAD, and its byte 50. */
	REQ_MTU = 20 + 8 + 12 + 8 + 24 + 50,
};

/* The first packet of rxe-rc-atomic: 20 + 8 + 40 + 4 bytes. */
static uint8_t packet[256];
static size_t packet_len;

static int load_packet(void **state)
{
	pcap_t *pcap = open_capture("rxe-rc-atomic");
	const uint8_t *p = next_packet(pcap, &packet_len);

	(void)state;
	if (!p || packet_len > sizeof(packet))
		return -1;
	memcpy(packet, p, packet_len);
	pcap_close(pcap);
	return 0;
}

static void every_packet_of_rxe_is_read_with_a_right_icrc(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(captures); i++) {
		pcap_t *pcap = open_capture(captures[i]);
		const uint8_t *p;
		size_t len = 0;

		assert_non_null(pcap);
		for (unsigned n = 0; (p = next_packet(pcap, &len)); n++) {
			char text[TEXT_LEN];

			assert_true(rn_packet_text(p, len, text, sizeof(text)));
			if (strchr(text, '[') || strstr(text, "malformed"))
				fail_msg("%s packet %u: %s", captures[i], n, text);
		}
		pcap_close(pcap);
	}
}

static void fields_are_those_that_the_sender_posted(void **state)
{
	/* Beside rxe-rc-atomic's capture its program noted: B's buffer at 0x555a9cd71000,
	 * R_Key 0xae8, QPN 0x19, first PSN 0x111100; compare 100, swap
	 * 0x1122334455667788; B held 100.
	 */
	static const char *const lines[] = {
		"10.77.0.1 > 10.77.0.2  RC_CMP_SWAP            qp 0x000019 psn 1118464 "
		"va 0x555a9cd71040 rkey 0xae8 swap/add 1234605616436508552 compare 100 "
		"ackreq",
		"10.77.0.2 > 10.77.0.1  RC_ATOMIC_ACK          qp 0x000019 psn 1118464 "
		"ACK msn 1 original 100",
	};
	pcap_t *pcap = open_capture("rxe-rc-atomic");

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(lines); i++) {
		char text[TEXT_LEN];
		const uint8_t *p;
		size_t len = 0;

		p = next_packet(pcap, &len);
		assert_non_null(p);
		assert_true(rn_packet_text(p, len, text, sizeof(text)));
		assert_string_equal(text, lines[i]);
	}
	pcap_close(pcap);
}

static void any_flipped_bit_behind_the_udp_header_is_a_wrong_icrc(void **state)
{
	(void)state;
	for (size_t bit = IPV4_UDP_LEN * 8; bit < packet_len * 8; bit++) {
		char text[TEXT_LEN];

		/* FECN, BECN and reserved bits, which the ICRC does not cover */
		if (bit / 8 == IPV4_UDP_LEN + 4)
			continue;
		packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_true(rn_packet_text(packet, packet_len, text, sizeof(text)));
		if (!strstr(text, " [wrong ICRC]"))
			fail_msg("bit %zu: %s", bit, text);
		packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void a_packet_cut_off_anywhere_says_so(void **state)
{
	(void)state;
	for (size_t len = 0; len < packet_len; len++) {
		char text[TEXT_LEN] = "untouched";
		/* A copy of the exact length: a sanitizer sees a read behind it. */
		uint8_t *copy = malloc(len ? len : 1);

		memcpy(copy, packet, len);
		if (rn_packet_text(copy, len, text, sizeof(text))) {
			assert_true(len >= IPV4_UDP_LEN);
			assert_non_null(strstr(text, " [cut off by the capture]"));
		} else {
			assert_true(len < IPV4_UDP_LEN);
			assert_string_equal(text, "untouched");
		}
		free(copy);
	}
}

static void udp_lengths_from_nothing_on_are_survived(void **state)
{
	(void)state;
	for (unsigned said = 0; said < packet_len - 20; said++) {
		char text[TEXT_LEN];

		packet[UDP_LENGTH] = 0;
		packet[UDP_LENGTH + 1] = (uint8_t)said;
		/* Without payload it only asks whether anybody has the port. */
		if (said == 8) {
			assert_false(
				rn_packet_text(packet, packet_len, text, sizeof(text)));
			continue;
		}
		assert_true(rn_packet_text(packet, packet_len, text, sizeof(text)));
		if (said < 8 + 12)
			assert_non_null(strstr(text, "malformed BTH"));
		else if (said < packet_len - 20 - 4)
			assert_non_null(strstr(text, "shorter than its headers"));
	}
}

static void opcodes_without_a_name_are_shown_as_numbers(void **state)
{
	char text[TEXT_LEN];

	(void)state;
	packet[IPV4_UDP_LEN] = 0xff;
	assert_true(rn_packet_text(packet, packet_len, text, sizeof(text)));
	assert_non_null(strstr(text, "opcode 0xff"));
}

/* Codes 1 to 5 are 256 to 4096 bytes (IBTA Vol 1, 12.7.7). */
static void a_path_mtu_of_a_reserved_code_is_none(void **state)
{
	pcap_t *pcap = open_capture("rxe-cm-rping");
	const uint8_t *p;
	char text[2 * TEXT_LEN] = "";
	uint8_t copy[512];
	size_t len = 0;

	(void)state;
	while (!strstr(text, " CM REQ ") && (p = next_packet(pcap, &len)))
		if (len <= sizeof(copy)) {
			memcpy(copy, p, len);
			rn_packet_text(copy, len, text, sizeof(text));
		}
	assert_non_null(strstr(text, " CM REQ "));
	for (unsigned code = 0; code < 16; code++) {
		char want[32];

		copy[REQ_MTU] = (uint8_t)(code << 4 | (copy[REQ_MTU] & 15));
		snprintf(want, sizeof(want), " mtu %u ",
			 code >= 1 && code <= 5 ? 128u << code : 0);
		assert_true(rn_packet_text(copy, len, text, sizeof(text)));
		if (!strstr(text, want))
			fail_msg("code %u: %s", code, text);
	}
	pcap_close(pcap);
}

static void other_ports_and_protocols_are_not_roce(void **state)
{
	char text[TEXT_LEN] = "untouched";

	(void)state;
	packet[UDP_DPORT] ^= 1;
	assert_false(rn_packet_text(packet, packet_len, text, sizeof(text)));
	packet[UDP_DPORT] ^= 1;
	packet[9] = 6; /* TCP */
	assert_false(rn_packet_text(packet, packet_len, text, sizeof(text)));
	packet[9] = 17;
	packet[0] = 0x46; /* IP options, which RoCE does not have */
	assert_false(rn_packet_text(packet, packet_len, text, sizeof(text)));
	assert_string_equal(text, "untouched");
}

static void a_small_buffer_gets_the_start_of_the_line(void **state)
{
	char whole[TEXT_LEN];

	(void)state;
	assert_true(rn_packet_text(packet, packet_len, whole, sizeof(whole)));
	for (size_t size = 1; size <= strlen(whole) + 1; size++) {
		char *text = malloc(size);

		assert_true(rn_packet_text(packet, packet_len, text, size));
		assert_int_equal(strlen(text), size - 1);
		assert_memory_equal(text, whole, size - 1);
		free(text);
	}
}

static void bytes_of_any_value_are_survived(void **state)
{
	uint32_t x = 1;

	(void)state;
	for (unsigned n = 0; n < 20000; n++) {
		char text[TEXT_LEN];

		/* Xorshift; the outer headers stay so that most get further in. */
		for (size_t i = IPV4_UDP_LEN; i < packet_len; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			packet[i] = (uint8_t)x;
		}
		assert_true(rn_packet_text(packet, packet_len, text, sizeof(text)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_packet_of_rxe_is_read_with_a_right_icrc),
		cmocka_unit_test(fields_are_those_that_the_sender_posted),
		cmocka_unit_test_setup(
			any_flipped_bit_behind_the_udp_header_is_a_wrong_icrc,
			load_packet),
		cmocka_unit_test_setup(a_packet_cut_off_anywhere_says_so, load_packet),
		cmocka_unit_test_setup(udp_lengths_from_nothing_on_are_survived,
				       load_packet),
		cmocka_unit_test_setup(opcodes_without_a_name_are_shown_as_numbers,
				       load_packet),
		cmocka_unit_test(a_path_mtu_of_a_reserved_code_is_none),
		cmocka_unit_test_setup(other_ports_and_protocols_are_not_roce,
				       load_packet),
		cmocka_unit_test_setup(a_small_buffer_gets_the_start_of_the_line,
				       load_packet),
		cmocka_unit_test_setup(bytes_of_any_value_are_survived, load_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
