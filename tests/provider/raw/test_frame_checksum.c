/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_frame_checksum.c - filling in and checking the checksums of Ethernet frames. */
#include "provider/raw/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frames.h"

enum {
	IP_AT = 14,
	IP_SUM_AT = IP_AT + 10,
	UDP_SUM_AT = IP_AT + 20 + 6,
};

/* A UDP datagram of two bytes; its checksum fields are 0. */
static const uint8_t two_bytes[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00,
	0x02, 0x08, 0x00, 0x45, 0x00, 0x00, 0x1e, 0x1c, 0x46, 0x40, 0x00,
	0x40, 0x11, 0x00, 0x00, 0xac, 0x10, 0x0a, 0x63, 0xac, 0x10, 0x0a,
	0x0c, 0x04, 0xd2, 0x16, 0x2e, 0x00, 0x0a, 0x00, 0x00, 0xab, 0xcd,
};

/* Returns @f with its length fields set to the lengths that it really has. @ip: offset of
 * the IP header.
 */
static struct frame with_lengths(struct frame f, size_t ip)
{
	size_t v6 = f.byte[ip] >> 4 == 6;
	size_t l4 = v6 ? ip + 40 : ip + (size_t)(f.byte[ip] & 0xf) * 4;
	size_t n = v6 ? f.len - l4 : f.len - ip;

	f.byte[ip + (v6 ? 4 : 2)] = (uint8_t)(n >> 8);
	f.byte[ip + (v6 ? 5 : 3)] = (uint8_t)n;
	return f;
}

/* The expected sums, calculated by hand: 0x4500 + 0x001e + 0x1c46 + 0x4000 + 0x4011 +
 * 0xac10 + 0x0a63 + 0xac10 + 0x0a0c = 0x24e04, folded 0x4e06. UDP: 0xac10 + 0x0a63 +
 * 0xac10 + 0x0a0c + 0x11 + 0x0a + 0x04d2 + 0x162e + 0x0a + 0xabcd = 0x23381, folded
 * 0x3383.
 */
static void the_sums_are_those_of_the_standard(void **state)
{
	uint8_t f[sizeof(two_bytes)];

	(void)state;
	memcpy(f, two_bytes, sizeof(f));
	assert_false(rnp_checksum_ok(f, sizeof(f)));
	rnp_checksum_fill(f, sizeof(f));
	assert_memory_equal(f + IP_SUM_AT, "\xb1\xf9", 2);
	assert_memory_equal(f + UDP_SUM_AT, "\xcc\x7c", 2);
	assert_true(rnp_checksum_ok(f, sizeof(f)));
}

static void each_byte_is_covered(void **state)
{
	struct frame f = with_lengths(frame_udp4(), IP_AT);

	(void)state;
	rnp_checksum_fill(f.byte, f.len);
	assert_true(rnp_checksum_ok(f.byte, f.len));
	for (size_t i = IP_AT; i < f.len; i++) {
		f.byte[i] ^= 0x04;
		assert_false(rnp_checksum_ok(f.byte, f.len));
		f.byte[i] ^= 0x04;
	}
	for (size_t i = 0; i < 12; i++)
		f.byte[i] ^= 0x04;
	assert_true(rnp_checksum_ok(f.byte, f.len));
}

static void filling_does_not_mind_what_stood_there(void **state)
{
	struct frame f = with_lengths(frame_udp4(), IP_AT), g = f;

	(void)state;
	g.byte[IP_SUM_AT] = g.byte[UDP_SUM_AT] = 0x5a;
	rnp_checksum_fill(f.byte, f.len);
	rnp_checksum_fill(g.byte, g.len);
	assert_memory_equal(f.byte, g.byte, f.len);
}

static void tags_options_tcp_odd_lengths_and_padding(void **state)
{
	struct frame f = frame_eth(0x88a8);

	(void)state;
	frame_vlan(&f, 5, 0x8100);
	frame_vlan(&f, 6, 0x0800);
	frame_ip4(&f, 6, 0x4000, 8);
	frame_ports(&f);
	frame_add(&f, "odd", 3);
	f = with_lengths(f, IP_AT + 8);
	frame_add(&f, "padding", 7);
	rnp_checksum_fill(f.byte, f.len);
	assert_true(rnp_checksum_ok(f.byte, f.len));
	f.byte[f.len - 1] ^= 1; /* a byte of the padding, which no checksum covers */
	assert_true(rnp_checksum_ok(f.byte, f.len));
	f.byte[f.len - 8] ^= 1;
	assert_false(rnp_checksum_ok(f.byte, f.len));
}

/* The TCP checksum over IPv6 is filled in, though completions report only the result for
 * IPv4.
 */
static void ipv6_is_filled(void **state)
{
	struct frame f = with_lengths(frame_tcp6(), IP_AT), g;
	uint32_t sum = 6 + (uint32_t)(f.len - IP_AT - 40);

	(void)state;
	rnp_checksum_fill(f.byte, f.len);
	assert_false(rnp_checksum_ok(f.byte, f.len));
	for (size_t i = IP_AT + 8; i + 1 < f.len; i += 2)
		sum += (uint32_t)f.byte[i] << 8 | f.byte[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	assert_int_equal(sum, 0xffff);
	g = f;
	g.byte[IP_AT + 6] = 58;
	f.byte[IP_AT + 6] = 58;
	rnp_checksum_fill(f.byte, f.len);
	assert_memory_equal(f.byte, g.byte, f.len);
}

static void udp_without_a_checksum_is_right_and_is_never_made(void **state)
{
	struct frame f = with_lengths(frame_udp4(), IP_AT);
	unsigned sum;

	(void)state;
	rnp_checksum_fill(f.byte, f.len);
	sum = (unsigned)f.byte[UDP_SUM_AT] << 8 | f.byte[UDP_SUM_AT + 1];
	/* Chosen so that the calculated sum is 0; then UDP sends 0xffff instead. */
	f.byte[f.len - 2] = (uint8_t)(sum >> 8);
	f.byte[f.len - 1] = (uint8_t)sum;
	rnp_checksum_fill(f.byte, f.len);
	assert_memory_equal(f.byte + UDP_SUM_AT, "\xff\xff", 2);
	assert_true(rnp_checksum_ok(f.byte, f.len));
	memset(f.byte + UDP_SUM_AT, 0, 2);
	assert_true(rnp_checksum_ok(f.byte, f.len));
}

static void fragments_have_only_the_sum_of_the_header(void **state)
{
	struct frame f = frame_eth(0x0800);
	uint8_t l4[8];

	(void)state;
	frame_ip4(&f, 17, 0x2000, 5);
	frame_ports(&f);
	f = with_lengths(f, IP_AT);
	memcpy(l4, f.byte + IP_AT + 20, sizeof(l4));
	rnp_checksum_fill(f.byte, f.len);
	assert_memory_equal(f.byte + IP_AT + 20, l4, sizeof(l4));
	assert_true(f.byte[IP_SUM_AT] || f.byte[IP_SUM_AT + 1]);
	assert_false(rnp_checksum_ok(f.byte, f.len));
}

/* The bytes are in an allocation of exactly their length, so that a sanitizer reports
 * each access behind the end.
 */
static void any_length_and_any_content_is_taken(void **state)
{
	static const uint8_t type[][2] = { { 8, 0 }, { 0x86, 0xdd }, { 0x81, 0 } };
	uint32_t x = 7;

	(void)state;
	for (size_t len = 1; len <= 65535; len += len < 200 ? 1 : 1777) {
		for (unsigned round = 0; round < 12; round++) {
			uint8_t *bytes = malloc(len);

			assert_non_null(bytes);
			for (size_t i = 0; i < len; i++) {
				x = x * 1664525 + 1013904223;
				bytes[i] = (uint8_t)(x >> 24);
			}
			if (len >= 15) {
				memcpy(bytes + 12, type[round % 3], 2);
				bytes[14] = round % 3 == 1 ? 0x60 : 0x45;
			}
			if (len >= 24 && round % 2) {
				bytes[16] = bytes[18] = (uint8_t)(len >> 8);
				bytes[20] = 17;
				bytes[23] = 6;
			}
			rnp_checksum_fill(bytes, len);
			(void)rnp_checksum_ok(bytes, len);
			free(bytes);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sums_are_those_of_the_standard),
		cmocka_unit_test(each_byte_is_covered),
		cmocka_unit_test(filling_does_not_mind_what_stood_there),
		cmocka_unit_test(tags_options_tcp_odd_lengths_and_padding),
		cmocka_unit_test(ipv6_is_filled),
		cmocka_unit_test(udp_without_a_checksum_is_right_and_is_never_made),
		cmocka_unit_test(fragments_have_only_the_sum_of_the_header),
		cmocka_unit_test(any_length_and_any_content_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
