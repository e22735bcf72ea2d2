/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_packet.c - packets as any device may send them: the ICRC covers what is there. */
#include "talk.h"

enum {
	IP_BYTES = 200,
	V6 = 40,
};

static const struct step packet = { .op = RN_RC_SEND_ONLY, .psn = 100, .len = 8 };

/* The ICRC as the packet stands, and the verdict. */
static enum rn_packet_icrc sealed(uint8_t *ip, size_t len, size_t ip_len)
{
	struct rn_packet p;

	talk_seal(ip, ip + ip_len + 8, (uint32_t)(len - ip_len - 8 - RN_ICRC_LEN));
	assert_true(rn_packet_parse(&p, ip, len));
	assert_int_equal(p.form, RN_PACKET_WHOLE);
	assert_int_equal(p.payload_len, packet.len);
	return p.icrc;
}

static enum rn_packet_icrc verdict(const uint8_t *ip, size_t len)
{
	struct rn_packet p;

	assert_true(rn_packet_parse(&p, ip, len));
	return p.icrc;
}

static void what_may_change_does_not_matter_and_the_rest_does(void **state)
{
	static const uint8_t free_bytes[] = { 1, 8, 10, 11, 26, 27, 32 };
	uint8_t ip[IP_BYTES];
	size_t len = talk_make(&packet, ip);

	(void)state;
	for (size_t i = 0; i < len; i++) {
		bool is_free = memchr(free_bytes, (int)i, sizeof(free_bytes)) != NULL;
		struct rn_packet p;

		ip[i] ^= 0x10;
		if (rn_packet_parse(&p, ip, len) && p.have == p.said &&
		    p.said >= RN_BTH_LEN + RN_ICRC_LEN && !p.has_options)
			assert_int_equal(p.icrc, is_free ? RN_PACKET_ICRC_RIGHT
							 : RN_PACKET_ICRC_WRONG);
		else
			assert_false(is_free);
		ip[i] ^= 0x10;
	}
	assert_int_equal(verdict(ip, len), RN_PACKET_ICRC_RIGHT);
}

static void identification_and_flags_are_the_senders(void **state)
{
	static const uint16_t flags[] = { 0, 0x4000, 0x8000, 0xc000, 0x2000 };
	uint8_t ip[IP_BYTES];
	size_t len = talk_make(&packet, ip);

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		rn_put_be16(ip + 6, flags[i]);
		rn_put_be16(ip + 4, (uint16_t)(i * 12345));
		assert_int_equal(sealed(ip, len, 20), RN_PACKET_ICRC_RIGHT);
		rn_put_be16(ip + 6, flags[i] ^ 0x4000);
		assert_int_equal(verdict(ip, len), RN_PACKET_ICRC_WRONG);
	}
}

/* All lengths of the header, the ICRC with the options, without them, of neither. */
static void options_are_covered_or_not(void **state)
{
	uint8_t ip[IP_BYTES], plain[IP_BYTES];
	size_t len = talk_make(&packet, plain);

	(void)state;
	for (size_t ip_len = 24; ip_len <= 60; ip_len += 4) {
		size_t all = len + ip_len - 20;

		memcpy(ip, plain, 20);
		ip[0] = (uint8_t)(0x40 | ip_len / 4);
		memset(ip + 20, 1, ip_len - 20);
		memcpy(ip + ip_len, plain + 20, len - 20);
		assert_int_equal(verdict(ip, all), RN_PACKET_ICRC_OPEN);
		assert_int_equal(sealed(ip, all, ip_len), RN_PACKET_ICRC_RIGHT);
		plain[0] = ip[0];
		assert_int_equal(rn_get_be16(plain + 2), len);
		talk_seal(plain, plain + 28, (uint32_t)(len - 28 - RN_ICRC_LEN));
		memcpy(ip + ip_len, plain + 20, len - 20);
		assert_int_equal(verdict(ip, all), RN_PACKET_ICRC_RIGHT);
	}
	ip[0] = 0x44; /* shorter than it may be */
	assert_false(rn_packet_parse(&(struct rn_packet){ 0 }, ip, len));
}

static size_t make_v6(uint8_t *ip, uint8_t next, const uint8_t *between,
		      size_t between_len)
{
	uint8_t v4[IP_BYTES];
	size_t len = talk_make(&packet, v4) - 20;

	memset(ip, 0, V6);
	ip[0] = 0x6a;
	rn_put_be16(ip + 4, (uint16_t)(between_len + len));
	ip[6] = next;
	ip[23] = 1;
	ip[39] = 2;
	if (between_len)
		memcpy(ip + V6, between, between_len);
	memcpy(ip + V6 + between_len, v4 + 20, len);
	return V6 + between_len + len;
}

static void ipv6_has_no_such_fields(void **state)
{
	uint8_t ip[IP_BYTES];
	size_t len = make_v6(ip, 17, NULL, 0);

	(void)state;
	assert_int_equal(verdict(ip, len), RN_PACKET_ICRC_WRONG);
	assert_int_equal(sealed(ip, len, V6), RN_PACKET_ICRC_RIGHT);
	ip[1] = ip[2] = ip[3] = ip[7] = 0x55;
	assert_int_equal(verdict(ip, len), RN_PACKET_ICRC_RIGHT);
	/* Addresses of IPv4, where they should not be: the ICRC is as right. */
	ip[18] = ip[19] = ip[34] = ip[35] = 0xff;
	assert_int_equal(sealed(ip, len, V6), RN_PACKET_ICRC_RIGHT);
}

static void what_is_skipped_has_a_reason(void **state)
{
	static const struct {
		uint8_t next, between[16];
		size_t len;
		enum rn_packet_skip why;
	} row[] = {
		{ 0, { 17 }, 8, RN_PACKET_SKIP_EXTENSION },
		{ 43, { 17, 1 }, 16, RN_PACKET_SKIP_EXTENSION },
		{ 44, { 17 }, 8, RN_PACKET_SKIP_EXTENSION },
		{ 44, { 17, 0, 0, 8 }, 8, RN_PACKET_SKIP_FRAGMENT },
		{ 44, { 6, 0, 0, 8 }, 8, RN_PACKET_SKIP_OTHER },
		{ 51, { 17, 2 }, 16, RN_PACKET_SKIP_EXTENSION },
		{ 60, { 0, 0, 0, 0, 0, 0, 0, 0, 17 }, 16, RN_PACKET_SKIP_EXTENSION },
		{ 0, { 58 }, 8, RN_PACKET_SKIP_OTHER },
		{ 0, { 17, 255 }, 8, RN_PACKET_SKIP_OTHER },
		{ 27, { 0 }, 0, RN_PACKET_SKIP_ROCE_V1 },
		{ 6, { 0 }, 0, RN_PACKET_SKIP_OTHER },
	};
	struct rn_packet p;
	uint8_t ip[IP_BYTES];
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		len = make_v6(ip, row[i].next, row[i].between, row[i].len);
		assert_false(rn_packet_parse(&p, ip, len));
		assert_int_equal(rn_packet_skipped(ip, len), row[i].why);
		for (size_t cut = 0; cut < len; cut++) /* nothing behind it is read */
			(void)rn_packet_skipped(ip, cut);
	}
	len = talk_make(&packet, ip);
	rn_put_be16(ip + 6, 3);
	assert_false(rn_packet_parse(&p, ip, len));
	assert_int_equal(rn_packet_skipped(ip, len), RN_PACKET_SKIP_FRAGMENT);
	ip[9] = 6;
	assert_int_equal(rn_packet_skipped(ip, len), RN_PACKET_SKIP_OTHER);
	assert_int_equal(rn_packet_skipped(ip, 0), RN_PACKET_SKIP_OTHER);
}

/* With it a host asks whether anybody has the port; ICMP says if nobody does. */
static void an_empty_datagram_is_no_packet(void **state)
{
	uint8_t ip[IP_BYTES];
	struct rn_packet p;

	(void)state;
	(void)talk_make(&packet, ip);
	rn_put_be16(ip + 2, 28);
	rn_put_be16(ip + 6, 0); /* as by sendto() */
	rn_put_be16(ip + 24, 8);
	assert_false(rn_packet_parse(&p, ip, 28));
	assert_int_equal(rn_packet_skipped(ip, 28), RN_PACKET_SKIP_EMPTY);
	/* Behind it may be what Ethernet needs to be long enough. */
	assert_false(rn_packet_parse(&p, ip, 46));
	(void)make_v6(ip, 17, NULL, 0);
	rn_put_be16(ip + V6 + 4, 8);
	assert_false(rn_packet_parse(&p, ip, V6 + 8));
	assert_int_equal(rn_packet_skipped(ip, V6 + 8), RN_PACKET_SKIP_EMPTY);
	/* A length that no UDP header has is nobody's question. */
	rn_put_be16(ip + V6 + 4, 7);
	assert_true(rn_packet_parse(&p, ip, V6 + 8));
	assert_int_equal(p.form, RN_PACKET_NO_BTH);
	/* Nor is one byte. */
	rn_put_be16(ip + V6 + 4, 9);
	assert_true(rn_packet_parse(&p, ip, V6 + 9));
	assert_int_equal(p.form, RN_PACKET_NO_BTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_change_does_not_matter_and_the_rest_does),
		cmocka_unit_test(identification_and_flags_are_the_senders),
		cmocka_unit_test(options_are_covered_or_not),
		cmocka_unit_test(ipv6_has_no_such_fields),
		cmocka_unit_test(what_is_skipped_has_a_reason),
		cmocka_unit_test(an_empty_datagram_is_no_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
