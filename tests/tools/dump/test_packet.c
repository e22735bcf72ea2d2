/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_packet.c - packets as any device may send them: the ICRC covers what is there. */
#include <libdeflate.h>
#include <stdlib.h>

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

/* ---- RoCE v1 and InfiniBand ---- */

/* The example of the specification (IBTA Vol 1, 7.8.1) as it is on the wire: a WRITE of
 * 14 bytes without GRH, on virtual lane 7, whose ICRC is 0x9625b75a.
 */
static const uint8_t example[] = {
	0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87,
	0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c,
	0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e,
	0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69,
	0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a,
};

static void the_example_of_the_specification_is_right(void **state)
{
	uint8_t ib[sizeof(example)];
	char text[RN_PACKET_TEXT_MAX], address[RN_PACKET_ADDRESS_MAX];
	struct rn_packet p;

	(void)state;
	assert_true(rn_packet_parse_ib(&p, example, sizeof(example)));
	assert_int_equal(p.format, RN_PACKET_IB);
	assert_int_equal(p.form, RN_PACKET_WHOLE);
	assert_int_equal(p.icrc, RN_PACKET_ICRC_RIGHT);
	assert_int_equal(p.bth.opcode, RN_RC_WRITE_ONLY);
	assert_int_equal(p.bth.dest_qpn, 0x87b1b3);
	assert_int_equal(p.payload_len, 14);
	assert_int_equal(p.reth.dma_len, 14);
	rn_packet_words(&p, text, sizeof(text));
	assert_non_null(strstr(text, "[InfiniBand, vl 7 sl 1]"));
	assert_string_equal(rn_packet_address(&p.flow.dst, address), "lid 14172");
	assert_string_equal(rn_packet_address(&p.flow.src, address), "lid 6098");

	/* What switches change: the lane, and what the BTH reserves. Nothing else. */
	for (size_t at = 0; at < sizeof(example); at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bool may = at == 12 || (at == 0 && bit >= 4);

			memcpy(ib, example, sizeof(ib));
			ib[at] ^= (uint8_t)(1u << bit);
			if (rn_packet_parse_ib(&p, ib, sizeof(ib)))
				assert_int_equal(p.icrc == RN_PACKET_ICRC_RIGHT, may);
		}
}

/* A GRH as RoCE v1 has it, and InfiniBand between subnets; the ICRC computed over the
 * whole head in one piece, with ones where the annex has them.
 */
static size_t make_grh(uint8_t *lrh, bool has_lrh)
{
	uint8_t v4[IP_BYTES], *grh = lrh + 8, *bth = grh + V6;
	size_t len = talk_make(&packet, v4) - 28; /* from the BTH to the ICRC */
	uint8_t all[IP_BYTES];
	uint32_t crc;

	memset(lrh, 0, 8 + V6);
	lrh[1] = 3;
	lrh[3] = 9;
	rn_put_be16(lrh + 4, (uint16_t)((8 + V6 + len) / 4));
	lrh[7] = 8;
	grh[0] = 0x65;
	grh[1] = 0xb0;
	grh[3] = 7;
	rn_put_be16(grh + 4, (uint16_t)len);
	grh[6] = 27;
	grh[7] = 63;
	grh[8] = grh[24] = 0xfe;
	grh[9] = grh[25] = 0x80;
	grh[23] = 1;
	grh[39] = 2;
	memcpy(bth, v4 + 28, len);
	memcpy(all, lrh, 8 + V6 + len);
	if (has_lrh)
		all[0] |= 0xf0;
	else
		memset(all, 0xff, 8);
	all[8] |= 0x0f;
	all[9] = all[10] = all[11] = all[15] = 0xff;
	all[8 + V6 + 4] = 0xff;
	crc = libdeflate_crc32(0, all, 8 + V6 + len - RN_ICRC_LEN);
	rn_put_le32(bth + len - RN_ICRC_LEN, crc);
	return 8 + V6 + len;
}

static void roce_v1_has_an_icrc_of_its_own(void **state)
{
	uint8_t lrh[IP_BYTES];
	size_t len = make_grh(lrh, false);
	char text[RN_PACKET_TEXT_MAX];
	struct rn_packet p;

	(void)state;
	assert_true(rn_packet_parse(&p, lrh + 8, len - 8));
	assert_int_equal(p.format, RN_PACKET_ROCE_V1);
	assert_int_equal(p.icrc, RN_PACKET_ICRC_RIGHT);
	assert_int_equal(p.form, RN_PACKET_WHOLE);
	assert_int_equal(p.flow.tclass, 0); /* no mark of congestion */
	assert_true(rn_packet_text(lrh + 8, len - 8, text, sizeof(text)));
	assert_non_null(strstr(text, "fe80::1 > fe80::2  "));
	assert_non_null(strstr(text, " [RoCE v1]"));
	/* The same bytes behind an LRH have another ICRC. */
	assert_true(rn_packet_parse_ib(&p, lrh, len));
	assert_int_equal(p.icrc, RN_PACKET_ICRC_WRONG);
	len = make_grh(lrh, true);
	assert_true(rn_packet_parse_ib(&p, lrh, len));
	assert_int_equal(p.icrc, RN_PACKET_ICRC_RIGHT);
	assert_int_equal(p.flow.src.raw[15], 1);
	lrh[8 + 1] ^= 0xff; /* class and flow label, and the lane */
	lrh[8 + 7]--;
	lrh[0] ^= 0x40;
	assert_true(rn_packet_parse_ib(&p, lrh, len));
	assert_int_equal(p.icrc, RN_PACKET_ICRC_RIGHT);
}

/* Any length that a header says, and any end of the capture: nothing behind it is read,
 * and what is cut off is not judged.
 */
static void lengths_may_lie(void **state)
{
	uint8_t lrh[IP_BYTES];
	size_t len = make_grh(lrh, true);
	struct rn_packet p;

	(void)state;
	for (unsigned words = 0; words < 0x800; words++)
		for (size_t cut = 0; cut <= len; cut += words % 7 ? len : 1) {
			uint8_t *copy = malloc(cut ? cut : 1);

			assert_non_null(copy);
			rn_put_be16(lrh + 4, (uint16_t)words);
			rn_put_be16(lrh + 8 + 4, (uint16_t)(words * 31));
			memcpy(copy, lrh, cut);
			if (rn_packet_parse_ib(&p, copy, cut)) {
				assert_true(p.have <= cut && p.have <= p.said);
				assert_true(p.have == p.said ||
					    p.icrc == RN_PACKET_ICRC_CUT);
			}
			if (cut >= 8 && rn_packet_parse(&p, copy + 8, cut - 8))
				assert_true(p.have <= cut && p.have <= p.said);
			free(copy);
		}
	/* Raw packets, a header of another version, no GRH where one is announced. */
	lrh[1] = 0;
	assert_false(rn_packet_parse_ib(&p, lrh, len));
	lrh[1] = 1;
	assert_false(rn_packet_parse_ib(&p, lrh, len));
	lrh[1] = 3;
	lrh[0] |= 1;
	assert_false(rn_packet_parse_ib(&p, lrh, len));
	lrh[0] &= 0xf0;
	lrh[8 + 6] = 17;
	assert_false(rn_packet_parse_ib(&p, lrh, len));
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
		cmocka_unit_test(the_example_of_the_specification_is_right),
		cmocka_unit_test(roce_v1_has_an_icrc_of_its_own),
		cmocka_unit_test(lengths_may_lie),
		cmocka_unit_test(what_may_change_does_not_matter_and_the_rest_does),
		cmocka_unit_test(identification_and_flags_are_the_senders),
		cmocka_unit_test(options_are_covered_or_not),
		cmocka_unit_test(ipv6_has_no_such_fields),
		cmocka_unit_test(what_is_skipped_has_a_reason),
		cmocka_unit_test(an_empty_datagram_is_no_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
