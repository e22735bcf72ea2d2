/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_wire.c - headers: bytes first, then what they mean. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/wire.h"

static const uint8_t bth_bytes[RN_BTH_LEN] = {
	0x04, 0xd0, 0x80, 0x01, /* RC SEND Only; SE, M, pad 1; P_Key */
	0xc0, 0x12, 0x34, 0x56, /* F, B; destination QP */
	0x80, 0xab, 0xcd, 0xef, /* A; PSN */
};
static const struct rn_bth bth_parsed = {
	.opcode = 0x04,
	.solicited = true,
	.migreq = true,
	.ack_req = true,
	.fecn = true,
	.becn = true,
	.pad_cnt = 1,
	.pkey = 0x8001,
	.dest_qpn = 0x123456,
	.psn = { 0xabcdef },
};

static void check_bth(const struct rn_bth *got, const struct rn_bth *want)
{
	assert_int_equal(got->opcode, want->opcode);
	assert_int_equal(got->solicited, want->solicited);
	assert_int_equal(got->migreq, want->migreq);
	assert_int_equal(got->ack_req, want->ack_req);
	assert_int_equal(got->fecn, want->fecn);
	assert_int_equal(got->becn, want->becn);
	assert_int_equal(got->pad_cnt, want->pad_cnt);
	assert_int_equal(got->pkey, want->pkey);
	assert_int_equal(got->dest_qpn, want->dest_qpn);
	assert_int_equal(got->psn.v, want->psn.v);
}

static void bth_parse_reads_every_field(void **state)
{
	struct rn_bth bth;

	(void)state;
	assert_int_equal(rn_bth_parse(&bth, bth_bytes, bth_bytes + RN_BTH_LEN), 0);
	check_bth(&bth, &bth_parsed);
}

static void bth_emit_writes_every_field(void **state)
{
	uint8_t out[RN_BTH_LEN];

	(void)state;
	assert_ptr_equal(rn_bth_emit(out, &bth_parsed), out + RN_BTH_LEN);
	assert_memory_equal(out, bth_bytes, RN_BTH_LEN);
}

/* Each flag is a bit of its own: set one, and exactly its bit appears. */
static void bth_emit_puts_each_flag_into_its_own_bit(void **state)
{
	static const struct {
		struct rn_bth bth;
		unsigned byte;
		uint8_t value;
	} rows[] = {
		{ { .solicited = true }, 1, 0x80 }, { { .migreq = true }, 1, 0x40 },
		{ { .pad_cnt = 3 }, 1, 0x30 },	    { { .fecn = true }, 4, 0x80 },
		{ { .becn = true }, 4, 0x40 },	    { { .ack_req = true }, 8, 0x80 },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		uint8_t out[RN_BTH_LEN], want[RN_BTH_LEN] = { 0 };
		struct rn_bth back;

		want[rows[i].byte] = rows[i].value;
		rn_bth_emit(out, &rows[i].bth);
		assert_memory_equal(out, want, RN_BTH_LEN);
		assert_int_equal(rn_bth_parse(&back, out, out + RN_BTH_LEN), 0);
		check_bth(&back, &rows[i].bth);
	}
}

static void bth_parse_ignores_reserved_bits(void **state)
{
	uint8_t bytes[RN_BTH_LEN];
	struct rn_bth bth;

	(void)state;
	memcpy(bytes, bth_bytes, RN_BTH_LEN);
	bytes[4] |= 0x3f; /* resv6a */
	bytes[8] |= 0x7f; /* resv7b */
	assert_int_equal(rn_bth_parse(&bth, bytes, bytes + RN_BTH_LEN), 0);
	check_bth(&bth, &bth_parsed);
}

static void bth_parse_refuses_every_transport_version_but_0(void **state)
{
	(void)state;
	for (uint8_t tver = 1; tver <= 15; tver++) {
		struct rn_bth bth = { .dest_qpn = 77 };
		uint8_t bytes[RN_BTH_LEN];

		memcpy(bytes, bth_bytes, RN_BTH_LEN);
		bytes[1] |= tver;
		assert_int_equal(rn_bth_parse(&bth, bytes, bytes + RN_BTH_LEN), -EPROTO);
		assert_int_equal(bth.dest_qpn, 77);
	}
}

static void reth_holds_va_rkey_and_length(void **state)
{
	static const uint8_t bytes[RN_RETH_LEN] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* VA */
		0xa1, 0xa2, 0xa3, 0xa4, 0x80, 0x00, 0x00, 0x00, /* R_Key; DMALen */
	};
	uint8_t out[RN_RETH_LEN];
	struct rn_reth reth;

	(void)state;
	assert_int_equal(rn_reth_parse(&reth, bytes, bytes + sizeof(bytes)), 0);
	assert_int_equal(reth.va, 0x0102030405060708);
	assert_int_equal(reth.rkey, 0xa1a2a3a4);
	assert_int_equal(reth.dma_len, 0x80000000);
	assert_ptr_equal(rn_reth_emit(out, &reth), out + sizeof(out));
	assert_memory_equal(out, bytes, sizeof(bytes));
}

static void atomic_eth_holds_va_rkey_swap_and_compare(void **state)
{
	static const uint8_t bytes[RN_ATOMIC_ETH_LEN] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* VA */
		0xa1, 0xa2, 0xa3, 0xa4,				/* R_Key */
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* swap or add */
		0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, /* compare */
	};
	uint8_t out[RN_ATOMIC_ETH_LEN];
	struct rn_atomic_eth eth;

	(void)state;
	assert_int_equal(rn_atomic_eth_parse(&eth, bytes, bytes + sizeof(bytes)), 0);
	assert_int_equal(eth.va, 0x0102030405060708);
	assert_int_equal(eth.rkey, 0xa1a2a3a4);
	assert_int_equal(eth.swap_add, 0x1112131415161718);
	assert_int_equal(eth.compare, 0x2122232425262728);
	assert_ptr_equal(rn_atomic_eth_emit(out, &eth), out + sizeof(out));
	assert_memory_equal(out, bytes, sizeof(bytes));
}

static void aeth_holds_syndrome_and_msn(void **state)
{
	static const uint8_t bytes[RN_AETH_LEN] = { 0x2c, 0xff, 0xee, 0x07 };
	uint8_t out[RN_AETH_LEN];
	struct rn_aeth aeth;

	(void)state;
	assert_int_equal(rn_aeth_parse(&aeth, bytes, bytes + sizeof(bytes)), 0);
	assert_int_equal(aeth.syndrome, 0x2c);
	assert_int_equal(aeth.msn, 0xffee07);
	assert_ptr_equal(rn_aeth_emit(out, &aeth), out + sizeof(out));
	assert_memory_equal(out, bytes, sizeof(bytes));
}

static void deth_holds_qkey_and_source_qp_and_ignores_reserved_bits(void **state)
{
	static const uint8_t bytes[RN_DETH_LEN] = { 0x80, 0x01, 0x00, 0x02,
						    0x5a, 0xfe, 0xdc, 0xba };
	static const uint8_t want[RN_DETH_LEN] = { 0x80, 0x01, 0x00, 0x02,
						   0x00, 0xfe, 0xdc, 0xba };
	uint8_t out[RN_DETH_LEN];
	struct rn_deth deth;

	(void)state;
	assert_int_equal(rn_deth_parse(&deth, bytes, bytes + sizeof(bytes)), 0);
	assert_int_equal(deth.qkey, 0x80010002);
	assert_int_equal(deth.src_qpn, 0xfedcba);
	assert_ptr_equal(rn_deth_emit(out, &deth), out + sizeof(out));
	assert_memory_equal(out, want, sizeof(want));
}

static void feth_holds_placement_and_selectivity(void **state)
{
	static const uint8_t bytes[RN_FETH_LEN] = { 0xff, 0xff, 0xff, 0xd3 };
	static const uint8_t want[RN_FETH_LEN] = { 0x00, 0x00, 0x00, 0x13 };
	uint8_t out[RN_FETH_LEN];
	struct rn_feth feth;

	(void)state;
	assert_int_equal(rn_feth_parse(&feth, bytes, bytes + sizeof(bytes)), 0);
	assert_int_equal(feth.placement, RN_FLUSH_GLOBAL | RN_FLUSH_PERSISTENT);
	assert_int_equal(feth.selectivity, RN_FLUSH_MR);
	assert_ptr_equal(rn_feth_emit(out, &feth), out + sizeof(out));
	assert_memory_equal(out, want, sizeof(want));
}

static void headers_of_one_number_keep_it(void **state)
{
	static const uint8_t bytes[8] = {
		0xde, 0xad, 0xbe, 0xef, 0x01, 0x02, 0x03, 0x04
	};
	static const uint8_t srqn_bytes[RN_XRCETH_LEN] = { 0x00, 0xad, 0xbe, 0xef };
	uint8_t out[8];
	uint32_t v;
	uint64_t orig;

	(void)state;
	assert_int_equal(rn_imm_parse(&v, bytes, bytes + RN_IMM_LEN), 0);
	assert_int_equal(v, 0xdeadbeef);
	assert_ptr_equal(rn_imm_emit(out, v), out + RN_IMM_LEN);
	assert_memory_equal(out, bytes, RN_IMM_LEN);

	assert_int_equal(rn_ieth_parse(&v, bytes + 4, bytes + 8), 0);
	assert_int_equal(v, 0x01020304);
	assert_ptr_equal(rn_ieth_emit(out, v), out + RN_IETH_LEN);
	assert_memory_equal(out, bytes + 4, RN_IETH_LEN);

	assert_int_equal(rn_xrceth_parse(&v, bytes, bytes + RN_XRCETH_LEN), 0);
	assert_int_equal(v, 0xadbeef);
	assert_ptr_equal(rn_xrceth_emit(out, v), out + RN_XRCETH_LEN);
	assert_memory_equal(out, srqn_bytes, RN_XRCETH_LEN);

	assert_int_equal(rn_atomic_ack_eth_parse(&orig, bytes, bytes + 8), 0);
	assert_int_equal(orig, 0xdeadbeef01020304);
	assert_ptr_equal(rn_atomic_ack_eth_emit(out, orig), out + 8);
	assert_memory_equal(out, bytes, 8);
}

/* Any parse function, its result in a block of bytes. */
#define PARSER(name, type)                                                       \
	static int parse_##name(void *out, const uint8_t *p, const uint8_t *end) \
	{                                                                        \
		return rn_##name##_parse((type *)out, p, end);                   \
	}
PARSER(bth, struct rn_bth)
PARSER(reth, struct rn_reth)
PARSER(atomic_eth, struct rn_atomic_eth)
PARSER(aeth, struct rn_aeth)
PARSER(atomic_ack_eth, uint64_t)
PARSER(imm, uint32_t)
PARSER(ieth, uint32_t)
PARSER(deth, struct rn_deth)
PARSER(xrceth, uint32_t)
PARSER(feth, struct rn_feth)

static void no_parser_accepts_a_short_header_or_reads_past_its_end(void **state)
{
	static const struct {
		int (*parse)(void *out, const uint8_t *p, const uint8_t *end);
		size_t len;
	} parsers[] = {
		{ parse_bth, RN_BTH_LEN },
		{ parse_reth, RN_RETH_LEN },
		{ parse_atomic_eth, RN_ATOMIC_ETH_LEN },
		{ parse_aeth, RN_AETH_LEN },
		{ parse_atomic_ack_eth, RN_ATOMIC_ACK_ETH_LEN },
		{ parse_imm, RN_IMM_LEN },
		{ parse_ieth, RN_IETH_LEN },
		{ parse_deth, RN_DETH_LEN },
		{ parse_xrceth, RN_XRCETH_LEN },
		{ parse_feth, RN_FETH_LEN },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(parsers); i++) {
		for (size_t len = 0; len <= parsers[i].len; len++) {
			uint64_t out[8], untouched[8];
			/* Of the exact length: ASan sees a read one past it. */
			uint8_t *copy = calloc(1, len ? len : 1);
			int want = len < parsers[i].len ? -EMSGSIZE : 0;

			assert_non_null(copy);
			memset(out, 0x5a, sizeof(out));
			memset(untouched, 0x5a, sizeof(untouched));
			assert_int_equal(parsers[i].parse(out, copy, copy + len), want);
			if (want)
				assert_memory_equal(out, untouched, sizeof(out));
			free(copy);
		}
	}
}

static void pad_fills_up_to_a_multiple_of_4(void **state)
{
	(void)state;
	assert_int_equal(rn_pad_cnt(0), 0);
	assert_int_equal(rn_pad_cnt(1), 3);
	assert_int_equal(rn_pad_cnt(2), 2);
	assert_int_equal(rn_pad_cnt(3), 1);
	assert_int_equal(rn_pad_cnt(4), 0);
	assert_int_equal(rn_pad_cnt(0x80000000u), 0);
}

static void icrc_bytes_are_little_endian(void **state)
{
	static const uint8_t bytes[4] = { 0x94, 0x2c, 0x4a, 0xb0 };
	uint8_t out[4];

	(void)state;
	assert_int_equal(rn_get_le32(bytes), 0xb04a2c94);
	assert_ptr_equal(rn_put_le32(out, 0xb04a2c94), out + 4);
	assert_memory_equal(out, bytes, 4);
}

static void syndrome_ranges_have_the_types_of_the_specification(void **state)
{
	(void)state;
	for (unsigned s = 0; s <= 0xff; s++) {
		enum rn_aeth_type want = s < 0x20   ? RN_AETH_ACK
					 : s < 0x40 ? RN_AETH_RNR
					 : s < 0x60 ? RN_AETH_RESERVED
					 : s < 0x80 ? RN_AETH_NAK
						    : RN_AETH_RESERVED;

		assert_int_equal(rn_aeth_type((uint8_t)s), want);
		assert_int_equal(rn_aeth_value((uint8_t)s), s & 0x1f);
		if (s < 0x80)
			assert_int_equal(rn_aeth_syndrome(want, s & 0x1f), s);
	}
	assert_int_equal(rn_aeth_syndrome(RN_AETH_NAK, RN_NAK_REMOTE_ACCESS), 0x62);
}

static void credit_codes_are_those_of_the_specification(void **state)
{
	static const uint32_t want[31] = {
		0,    1,    2,	  3,	4,    6,     8,	    12,	   16,	  24,	32,
		48,   64,   96,	  128,	192,  256,   384,   512,   768,	  1024, 1536,
		2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
	};

	(void)state;
	for (uint8_t code = 0; code < 31; code++)
		assert_int_equal(rn_aeth_credits(code), want[code]);
	assert_int_equal(rn_aeth_credits(RN_AETH_NO_CREDIT), RN_CREDITS_UNLIMITED);
}

static void credits_are_rounded_down_to_a_code(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < 33000; n++) {
		uint8_t code = rn_aeth_credit_code(n);

		assert_in_range(code, 0, RN_AETH_NO_CREDIT - 1);
		assert_true(rn_aeth_credits(code) <= n);
		assert_true(code == 30 || rn_aeth_credits(code + 1) > n);
	}
	assert_int_equal(rn_aeth_credit_code(5), 4);
	assert_int_equal(rn_aeth_credit_code(UINT32_MAX), 30);
}

static void rnr_timer_codes_are_those_of_the_specification(void **state)
{
	/* Hundredths of a millisecond, as printed. */
	static const int64_t want[32] = {
		65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
		48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	(void)state;
	for (uint8_t code = 0; code < 32; code++)
		assert_int_equal(rn_rnr_timer_ns(code), want[code] * 10000);
	assert_int_equal(rn_rnr_timer_ns(12), 640000); /* rdma-core: 0.64 ms */
}

static void ack_timeout_doubles_per_code_and_0_is_never(void **state)
{
	(void)state;
	assert_int_equal(rn_ack_timeout_ns(0), RN_NEVER);
	assert_int_equal(rn_ack_timeout_ns(1), 8192);
	assert_int_equal(rn_ack_timeout_ns(14), 67108864);
	assert_int_equal(rn_ack_timeout_ns(31), 8796093022208);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bth_parse_reads_every_field),
		cmocka_unit_test(bth_emit_writes_every_field),
		cmocka_unit_test(bth_emit_puts_each_flag_into_its_own_bit),
		cmocka_unit_test(bth_parse_ignores_reserved_bits),
		cmocka_unit_test(bth_parse_refuses_every_transport_version_but_0),
		cmocka_unit_test(reth_holds_va_rkey_and_length),
		cmocka_unit_test(atomic_eth_holds_va_rkey_swap_and_compare),
		cmocka_unit_test(aeth_holds_syndrome_and_msn),
		cmocka_unit_test(deth_holds_qkey_and_source_qp_and_ignores_reserved_bits),
		cmocka_unit_test(feth_holds_placement_and_selectivity),
		cmocka_unit_test(headers_of_one_number_keep_it),
		cmocka_unit_test(no_parser_accepts_a_short_header_or_reads_past_its_end),
		cmocka_unit_test(pad_fills_up_to_a_multiple_of_4),
		cmocka_unit_test(icrc_bytes_are_little_endian),
		cmocka_unit_test(syndrome_ranges_have_the_types_of_the_specification),
		cmocka_unit_test(credit_codes_are_those_of_the_specification),
		cmocka_unit_test(credits_are_rounded_down_to_a_code),
		cmocka_unit_test(rnr_timer_codes_are_those_of_the_specification),
		cmocka_unit_test(ack_timeout_doubles_per_code_and_0_is_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
