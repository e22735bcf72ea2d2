/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_icrc.c - the invariant CRC: known packets, a slow second implementation, and the
 * search for the IPv4 identification. test_icrc_hint.c: what makes that search short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "icrc_packet.h"
#include "icrc_vectors.h"
#include "rocin/wire.h"

enum {
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	UDP_LEN = 8,
	DF = 0x4000, /* flags and fragment offset of an IPv4 header */
};

static struct pkt read_packet(const char *hex)
{
	struct pkt pkt = { 0 };
	uint8_t bytes[200];
	size_t total = read_hex(bytes, hex), ip_len;

	if (bytes[0] >> 4 == 4) {
		ip_len = IPV4_LEN;
		pkt.ip_id = rn_get_be16(bytes + 4);
		pkt.flow.tclass = bytes[1];
		pkt.flow.hop_limit = bytes[8];
		set_ipv4(&pkt.flow.src, bytes + 12);
		set_ipv4(&pkt.flow.dst, bytes + 16);
	} else {
		ip_len = IPV6_LEN;
		pkt.flow.tclass = (uint8_t)(rn_get_be16(bytes) >> 4);
		pkt.flow.hop_limit = bytes[7];
		memcpy(pkt.flow.src.raw, bytes + 8, 16);
		memcpy(pkt.flow.dst.raw, bytes + 24, 16);
	}
	pkt.flow.sport = rn_get_be16(bytes + ip_len);
	pkt.len = total - ip_len - UDP_LEN - RN_ICRC_LEN;
	memcpy(pkt.data, bytes + ip_len + UDP_LEN, pkt.len + RN_ICRC_LEN);
	return pkt;
}

static void known_packets_have_their_known_icrc(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(vectors); i++) {
		struct pkt pkt = read_packet(vectors[i].hex);
		uint32_t got = rn_icrc(&pkt.flow, pkt.ip_id, pkt.data, pkt.len);

		if (got != vectors[i].icrc)
			fail_msg("%s: 0x%08x, want 0x%08x", vectors[i].what, got,
				 vectors[i].icrc);
		assert_int_equal(rn_get_le32(pkt.data + pkt.len), got);
	}
}

static void seal_stores_the_icrc_as_known_packets_have_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(vectors); i++) {
		struct pkt pkt = read_packet(vectors[i].hex), sealed = pkt;

		memset(sealed.data + sealed.len, 0x5a, RN_ICRC_LEN);
		rn_icrc_seal(&sealed.flow, sealed.ip_id, sealed.data, sealed.len);
		assert_memory_equal(sealed.data, pkt.data, sizeof(pkt.data));
	}
}

/* From and to another port, with all that the packet has; a wrong ICRC stays wrong. */
static void moving_to_another_flow_keeps_what_is_right_and_what_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(vectors); i++)
		for (unsigned flipped = 0; flipped < 2; flipped++) {
			struct pkt pkt = read_packet(vectors[i].hex);
			struct rn_flow to = pkt.flow;

			to.sport = 0xf123;
			pkt.data[pkt.len - 1] ^= (uint8_t)flipped;
			rn_icrc_move(&pkt.flow, &to, pkt.ip_id, pkt.data, pkt.len);
			assert_int_equal(
				rn_get_le32(pkt.data + pkt.len) ==
					rn_icrc(&to, pkt.ip_id, pkt.data, pkt.len),
				!flipped);
		}
}

static void known_packets_pass_and_only_unguessable_ids_are_solved(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(vectors); i++) {
		struct pkt pkt = read_packet(vectors[i].hex);
		bool guessed = pkt.ip_id == 0;
		size_t len = pkt.len + RN_ICRC_LEN;

		assert_int_equal(rn_icrc_check(NULL, &pkt.flow, pkt.data, len, 0, false),
				 guessed ? RN_ICRC_OK : RN_ICRC_OK_SOLVED);
		assert_int_equal(rn_icrc_check(NULL, &pkt.flow, pkt.data, len, 0, true),
				 guessed ? RN_ICRC_OK : RN_ICRC_BAD);
	}
}

/* CRC-32 bit by bit, over the pseudo packet written out. */
static uint32_t slow_crc(uint32_t reg, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len * 8; i++) {
		uint32_t bit = (reg ^ (uint32_t)p[i / 8] >> i % 8) & 1;

		reg = reg >> 1 ^ (bit ? 0xedb88320u : 0);
	}
	return reg;
}

static uint32_t slow_icrc(const struct pkt *pkt, uint16_t flags)
{
	uint8_t pseudo[8 + IPV6_LEN + UDP_LEN + PKT_MAX];
	uint8_t *p = pseudo;
	uint16_t udp_len = (uint16_t)(pkt->len + UDP_LEN + RN_ICRC_LEN);

	memset(p, 0xff, sizeof(pseudo));
	p += 8;
	if (rn_gid_is_ipv4(&pkt->flow.src)) {
		p[0] = 0x45;
		rn_put_be16(p + 2, (uint16_t)(udp_len + IPV4_LEN));
		rn_put_be16(p + 4, pkt->ip_id);
		rn_put_be16(p + 6, flags);
		p[9] = 17;
		memcpy(p + 12, pkt->flow.src.raw + 12, 4);
		memcpy(p + 16, pkt->flow.dst.raw + 12, 4);
		p += IPV4_LEN;
	} else {
		p[0] = 0x6f;
		rn_put_be16(p + 4, udp_len);
		p[6] = 17;
		memcpy(p + 8, pkt->flow.src.raw, 16);
		memcpy(p + 24, pkt->flow.dst.raw, 16);
		p += IPV6_LEN;
	}
	rn_put_be16(p, pkt->flow.sport);
	rn_put_be16(p + 2, 4791);
	rn_put_be16(p + 4, udp_len);
	p += UDP_LEN;
	memcpy(p, pkt->data, pkt->len);
	p[4] = 0xff;
	p += pkt->len;
	return ~slow_crc(0xffffffff, pseudo, (size_t)(p - pseudo));
}

static void random_packets_agree_with_the_slow_implementation(void **state)
{
	(void)state;
	for (size_t len = RN_BTH_LEN; len < 300; len++) {
		struct pkt v4 = random_packet(true, len), v6 = random_packet(false, len);

		assert_int_equal(rn_icrc(&v4.flow, v4.ip_id, v4.data, len),
				 slow_icrc(&v4, DF));
		assert_int_equal(rn_icrc(&v6.flow, v6.ip_id, v6.data, len),
				 slow_icrc(&v6, DF));
	}
}

static void fields_that_change_on_the_way_do_not_matter(void **state)
{
	(void)state;
	for (int ipv4 = 0; ipv4 <= 1; ipv4++) {
		struct pkt pkt = random_packet(ipv4, 64);
		uint32_t icrc = rn_get_le32(pkt.data + pkt.len);

		pkt.flow.tclass ^= 0xff;
		pkt.flow.hop_limit ^= 0xff;
		pkt.flow.ifindex ^= 0xff;
		assert_int_equal(rn_icrc(&pkt.flow, pkt.ip_id, pkt.data, 64), icrc);
		for (uint8_t bit = 1; bit; bit = (uint8_t)(bit << 1)) {
			pkt.data[4] ^= bit; /* F, B, resv6a */
			assert_int_equal(rn_icrc(&pkt.flow, pkt.ip_id, pkt.data, 64),
					 icrc);
		}
	}
}

static void all_other_fields_matter(void **state)
{
	struct pkt good, pkt;

	(void)state;
	good = random_packet(true, 64);
	pkt = good;
	pkt.flow.sport ^= 1;
	assert_int_equal(check(NULL, &pkt, pkt.ip_id, true), RN_ICRC_BAD);
	pkt = good;
	pkt.flow.src.raw[15] ^= 1;
	assert_int_equal(check(NULL, &pkt, pkt.ip_id, true), RN_ICRC_BAD);
	pkt = good;
	pkt.flow.dst.raw[12] ^= 1;
	assert_int_equal(check(NULL, &pkt, pkt.ip_id, true), RN_ICRC_BAD);
	pkt = good;
	pkt.data[8] ^= 1; /* resv7b */
	assert_int_equal(check(NULL, &pkt, pkt.ip_id, true), RN_ICRC_BAD);
	assert_int_equal(check(NULL, &good, good.ip_id, true), RN_ICRC_OK);
	assert_int_equal(check(NULL, &good, good.ip_id ^ 1, true), RN_ICRC_BAD);
}

static void every_identification_is_solved_for_at_any_length(void **state)
{
	static const size_t lens[] = { 12, 13, 16, 28, 255, 1024 + 12, 4096 + 28 };

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(lens); i++) {
		struct pkt pkt = random_packet(true, lens[i]);
		/* All of them at the shortest length, and every 61st at the others. */
		for (unsigned id = 0; id <= 0xffff; id += lens[i] == 12 ? 1 : 61) {
			reseal(&pkt, (uint16_t)id);
			assert_int_equal(check(NULL, &pkt, 0, false),
					 id == 0 ? RN_ICRC_OK : RN_ICRC_OK_SOLVED);
		}
	}
}

/* Only the identification is solved for, not the flags and fragment offset after it. */
static void a_packet_without_df_or_with_a_fragment_offset_is_bad(void **state)
{
	struct pkt pkt = random_packet(true, 64);

	(void)state;
	for (unsigned bit = 0; bit < 16; bit++) {
		uint16_t flags = (uint16_t)(DF ^ 1 << bit);

		rn_put_le32(pkt.data + pkt.len, slow_icrc(&pkt, flags));
		assert_int_equal(check(NULL, &pkt, 0, false), RN_ICRC_BAD);
	}
	rn_put_le32(pkt.data + pkt.len, slow_icrc(&pkt, DF));
	assert_int_equal(check(NULL, &pkt, 0, false), RN_ICRC_OK_SOLVED);
}

static void the_longest_datagram_is_solved_for(void **state)
{
	struct pkt pkt = random_packet(true, 64);
	size_t len = RN_ICRC_DATA_MAX + RN_ICRC_LEN;
	uint8_t *data = calloc(1, len + 1);

	(void)state;
	assert_non_null(data);
	rn_icrc_seal(&pkt.flow, 0xabcd, data, RN_ICRC_DATA_MAX);
	assert_int_equal(rn_icrc_check(NULL, &pkt.flow, data, len, 0, false),
			 RN_ICRC_OK_SOLVED);
	assert_int_equal(rn_icrc_check(NULL, &pkt.flow, data, len, 0xabcd, true),
			 RN_ICRC_OK);
	assert_int_equal(rn_icrc_check(NULL, &pkt.flow, data, len + 1, 0, false),
			 RN_ICRC_BAD);
	free(data);
}

static void every_single_flipped_bit_is_found(void **state)
{
	(void)state;
	for (int ipv4 = 0; ipv4 <= 1; ipv4++) {
		struct pkt pkt = random_packet(ipv4, 80);

		reseal(&pkt, 0);
		for (size_t bit = 0; bit < (pkt.len + RN_ICRC_LEN) * 8; bit++) {
			enum rn_icrc_verdict want =
				bit / 8 == 4 ? RN_ICRC_OK : RN_ICRC_BAD;

			pkt.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(check(NULL, &pkt, 0, false), want);
			pkt.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert_int_equal(check(NULL, &pkt, 0, false), RN_ICRC_OK);
	}
}

/* Solving leaves 16 bits of check: 3 in 200000 are expected to pass, so 12 is far off. */
static void damage_is_found_even_while_solving(void **state)
{
	struct pkt pkt = random_packet(true, 256);
	unsigned solved = 0;

	(void)state;
	reseal(&pkt, 0);
	for (unsigned i = 0; i < 200000; i++) {
		size_t at = 5 + next_random() % (pkt.len + RN_ICRC_LEN - 5 - 8);
		uint8_t saved[8];

		memcpy(saved, pkt.data + at, sizeof(saved));
		for (unsigned k = 0; k < sizeof(saved); k++)
			pkt.data[at + k] ^= (uint8_t)(next_random() | (k == 0));
		solved += check(NULL, &pkt, 0, false) != RN_ICRC_BAD;
		assert_int_equal(check(NULL, &pkt, 0, true), RN_ICRC_BAD);
		memcpy(pkt.data + at, saved, sizeof(saved));
	}
	assert_in_range(solved, 0, 12);
}

static void a_shorter_or_longer_packet_is_bad(void **state)
{
	struct pkt pkt = random_packet(true, 64);

	(void)state;
	reseal(&pkt, 0);
	for (size_t len = 0; len <= pkt.len + RN_ICRC_LEN + 8; len++) {
		/* Of the exact length: ASan sees a read one past it. */
		uint8_t *copy = calloc(1, len ? len : 1);
		enum rn_icrc_verdict want =
			len == pkt.len + RN_ICRC_LEN ? RN_ICRC_OK : RN_ICRC_BAD;

		assert_non_null(copy);
		memcpy(copy, pkt.data, len);
		assert_int_equal(rn_icrc_check(NULL, &pkt.flow, copy, len, 0, false),
				 want);
		free(copy);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, set_up)
	const struct CMUnitTest tests[] = {
		TEST(known_packets_have_their_known_icrc),
		TEST(seal_stores_the_icrc_as_known_packets_have_it),
		TEST(moving_to_another_flow_keeps_what_is_right_and_what_is_wrong),
		TEST(known_packets_pass_and_only_unguessable_ids_are_solved),
		TEST(random_packets_agree_with_the_slow_implementation),
		TEST(fields_that_change_on_the_way_do_not_matter),
		TEST(all_other_fields_matter),
		TEST(every_identification_is_solved_for_at_any_length),
		TEST(a_packet_without_df_or_with_a_fragment_offset_is_bad),
		TEST(the_longest_datagram_is_solved_for),
		TEST(every_single_flipped_bit_is_found),
		TEST(damage_is_found_even_while_solving),
		TEST(a_shorter_or_longer_packet_is_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
