/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_opcode.c - the opcode table against a second list, written as the IBTA text is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/opcode.h"
#include "rocin/wire.h"

/* RC, by low five bits. Length counts BTH 12, RETH 16, AtomicETH 28, AETH 4,
 * AtomicAckETH 8, ImmDt 4, IETH 4, FETH 4. "t" takes a receive WQE, "c" completes one,
 * "p" may carry payload, "r" is a response, "<" starts and ">" ends a message; "a" is
 * answered by itself, "w" is about a word.
 */
static const struct {
	uint8_t opcode;
	const char *name;
	uint8_t len;
	const char *marks;
	enum rn_op_kind kind;
} list[] = {
	{ 0x00, "SEND_FIRST", 12, "p<t", RN_OP_KIND_SEND },
	{ 0x01, "SEND_MIDDLE", 12, "p", RN_OP_KIND_SEND },
	{ 0x02, "SEND_LAST", 12, "p>c", RN_OP_KIND_SEND },
	{ 0x03, "SEND_LAST_IMM", 16, "p>c", RN_OP_KIND_SEND },
	{ 0x04, "SEND_ONLY", 12, "p<>tc", RN_OP_KIND_SEND },
	{ 0x05, "SEND_ONLY_IMM", 16, "p<>tc", RN_OP_KIND_SEND },
	{ 0x06, "WRITE_FIRST", 28, "p<", RN_OP_KIND_WRITE },
	{ 0x07, "WRITE_MIDDLE", 12, "p", RN_OP_KIND_WRITE },
	{ 0x08, "WRITE_LAST", 12, "p>", RN_OP_KIND_WRITE },
	{ 0x09, "WRITE_LAST_IMM", 16, "p>tc", RN_OP_KIND_WRITE },
	{ 0x0a, "WRITE_ONLY", 28, "p<>", RN_OP_KIND_WRITE },
	{ 0x0b, "WRITE_ONLY_IMM", 32, "p<>tc", RN_OP_KIND_WRITE },
	{ 0x0c, "READ_REQUEST", 28, "<>a", RN_OP_KIND_READ },
	{ 0x0d, "READ_RESPONSE_FIRST", 16, "rp<", RN_OP_KIND_READ_RESPONSE },
	{ 0x0e, "READ_RESPONSE_MIDDLE", 12, "rp", RN_OP_KIND_READ_RESPONSE },
	{ 0x0f, "READ_RESPONSE_LAST", 16, "rp>", RN_OP_KIND_READ_RESPONSE },
	{ 0x10, "READ_RESPONSE_ONLY", 16, "rp<>", RN_OP_KIND_READ_RESPONSE },
	{ 0x11, "ACK", 16, "r", RN_OP_KIND_ACK },
	{ 0x12, "ATOMIC_ACK", 24, "r", RN_OP_KIND_ATOMIC_ACK },
	{ 0x13, "CMP_SWAP", 40, "<>aw", RN_OP_KIND_ATOMIC },
	{ 0x14, "FETCH_ADD", 40, "<>aw", RN_OP_KIND_ATOMIC },
	{ 0x16, "SEND_LAST_INV", 16, "p>c", RN_OP_KIND_SEND },
	{ 0x17, "SEND_ONLY_INV", 16, "p<>tc", RN_OP_KIND_SEND },
	{ 0x1c, "FLUSH", 32, "<>a", RN_OP_KIND_FLUSH },
	{ 0x1d, "ATOMIC_WRITE", 28, "p<>aw", RN_OP_KIND_ATOMIC_WRITE },
};

static uint32_t flags_of_marks(const char *marks)
{
	return (strchr(marks, 'r') ? RN_OP_RESPONSE : RN_OP_REQUEST) |
	       (strchr(marks, 'p') ? RN_OP_PAYLOAD : 0u) |
	       (strchr(marks, '<') ? RN_OP_FIRST : 0u) |
	       (strchr(marks, '>') ? RN_OP_LAST : 0u) |
	       (strchr(marks, 't') ? RN_OP_RECV_WQE_TAKEN : 0u) |
	       (strchr(marks, 'c') ? RN_OP_COMPLETES_RECV : 0u) |
	       (strchr(marks, 'a') ? RN_OP_ANSWERED : 0u) |
	       (strchr(marks, 'w') ? RN_OP_WORD : 0u);
}

#define MARK_FLAGS                                                                     \
	(RN_OP_REQUEST | RN_OP_RESPONSE | RN_OP_NOTIFY | RN_OP_PAYLOAD | RN_OP_FIRST | \
	 RN_OP_LAST | RN_OP_RECV_WQE_TAKEN | RN_OP_COMPLETES_RECV | RN_OP_ANSWERED |   \
	 RN_OP_WORD)

static void check_row(size_t i, enum rn_opcode_class class, const char *class_name,
		      uint8_t more_len)
{
	const struct rn_opcode_info *info = &rn_opcode_info[class | list[i].opcode];
	char name[40];

	snprintf(name, sizeof(name), "%s_%s", class_name, list[i].name);
	assert_string_equal(info->name, name);
	assert_int_equal(info->hdr_len, list[i].len + more_len);
	assert_int_equal(info->kind, list[i].kind);
	assert_int_equal(info->flags & MARK_FLAGS, flags_of_marks(list[i].marks));
}

static void rc_rows_are_those_of_the_specification(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(list); i++)
		check_row(i, RN_CLASS_RC, "RC", 0);
}

static void uc_has_the_sends_and_writes_of_rc(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(list) && list[i].opcode <= 0x0b; i++)
		check_row(i, RN_CLASS_UC, "UC", 0);
}

static void every_xrc_request_carries_an_xrceth_and_no_response_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(list); i++) {
		bool request = !strchr(list[i].marks, 'r');
		uint32_t flags = rn_opcode_info[RN_CLASS_XRC | list[i].opcode].flags;

		check_row(i, RN_CLASS_XRC, "XRC", request ? 4 : 0);
		assert_int_equal((flags & RN_OP_XRCETH) != 0, request);
	}
}

static void ud_rows_carry_a_deth(void **state)
{
	const struct rn_opcode_info *send = &rn_opcode_info[0x64];
	const struct rn_opcode_info *imm = &rn_opcode_info[0x65];

	(void)state;
	assert_string_equal(send->name, "UD_SEND_ONLY");
	assert_int_equal(send->hdr_len, 20);
	assert_int_equal(send->flags & MARK_FLAGS, flags_of_marks("p<>tc"));
	assert_string_equal(imm->name, "UD_SEND_ONLY_IMM");
	assert_int_equal(imm->hdr_len, 24);
	assert_int_equal(imm->flags & MARK_FLAGS, flags_of_marks("p<>tc"));
	assert_true(send->flags & imm->flags & RN_OP_DETH);
}

static void cnp_is_0x81_and_has_16_reserved_bytes(void **state)
{
	const struct rn_opcode_info *cnp = &rn_opcode_info[0x81];

	(void)state;
	assert_string_equal(cnp->name, "CNP");
	assert_int_equal(cnp->hdr_len, 28);
	assert_int_equal(cnp->flags, RN_OP_NOTIFY);
	assert_int_equal(cnp->kind, RN_OP_KIND_CNP);
	assert_false(rn_opcode_is_known(0x80));
}

static void every_opcode_not_listed_is_unknown(void **state)
{
	unsigned known = 0;

	(void)state;
	for (unsigned op = 0; op < 256; op++) {
		const struct rn_opcode_info *info = &rn_opcode_info[op];

		known += rn_opcode_is_known((uint8_t)op);
		if (rn_opcode_is_known((uint8_t)op))
			continue;
		assert_null(info->name);
		assert_int_equal(info->hdr_len, 0);
		assert_int_equal(info->kind, RN_OP_KIND_NONE);
	}
	/* RC and XRC 25 each, UC 12, UD 2, CNP 1. */
	assert_int_equal(known, 65);
	/* Reserved RC opcodes: the responder answers these with a NAK. */
	assert_false(rn_opcode_is_known(0x15));
	assert_false(rn_opcode_is_known(0x18));
	/* READ and atomics do not exist on UC. */
	assert_false(rn_opcode_is_known(0x2c));
	assert_false(rn_opcode_is_known(0x33));
}

/* The headers of a row make up its length, whichever flags name them. */
static void header_flags_add_up_to_the_length(void **state)
{
	static const struct {
		uint32_t flag;
		uint8_t len;
	} headers[] = {
		{ RN_OP_NOTIFY, 16 }, { RN_OP_DETH, 8 },
		{ RN_OP_XRCETH, 4 },  { RN_OP_FETH, 4 },
		{ RN_OP_RETH, 16 },   { RN_OP_ATOMIC_ETH, 28 },
		{ RN_OP_AETH, 4 },    { RN_OP_ATOMIC_ACK_ETH, 8 },
		{ RN_OP_IMM, 4 },     { RN_OP_IETH, 4 },
	};

	(void)state;
	for (unsigned op = 0; op < 256; op++) {
		unsigned len = 12;

		for (size_t i = 0; i < RN_ARRAY_SIZE(headers); i++)
			if (rn_opcode_info[op].flags & headers[i].flag)
				len += headers[i].len;
		if (rn_opcode_is_known((uint8_t)op))
			assert_int_equal(rn_opcode_info[op].hdr_len, len);
		assert_true(rn_opcode_info[op].hdr_len <= RN_HDR_LEN_MAX);
	}
}

static void rows_of_atomics_say_which_they_are(void **state)
{
	(void)state;
	for (unsigned class = RN_CLASS_RC; class <= RN_CLASS_XRC; class += RN_CLASS_XRC) {
		const struct rn_opcode_info *swap =
			&rn_opcode_info[class | RN_RC_CMP_SWAP];
		const struct rn_opcode_info *add =
			&rn_opcode_info[class | RN_RC_FETCH_ADD];

		assert_int_equal(rn_op_atomic(swap->flags), RN_MEM_CMP_SWAP);
		assert_int_equal(rn_op_atomic(add->flags), RN_MEM_FETCH_ADD);
	}
	for (unsigned op = 0; op < 256; op++)
		assert_int_equal(rn_opcode_info[op].kind == RN_OP_KIND_ATOMIC,
				 (rn_opcode_info[op].flags & RN_OP_ATOMIC_ETH) != 0);
}

static void class_and_operation_make_up_an_opcode(void **state)
{
	(void)state;
	assert_int_equal(RN_CLASS_XRC | RN_RC_WRITE_ONLY, RN_XRC_WRITE_ONLY);
	assert_int_equal(RN_CLASS_UC | RN_RC_SEND_LAST_IMM, RN_UC_SEND_LAST_IMM);
	assert_int_equal(RN_CLASS_UD | RN_RC_SEND_ONLY, RN_UD_SEND_ONLY);
	for (unsigned op = 0; op < 256; op++)
		assert_int_equal((unsigned)rn_opcode_class((uint8_t)op) |
					 rn_opcode_operation((uint8_t)op),
				 op);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_rows_are_those_of_the_specification),
		cmocka_unit_test(uc_has_the_sends_and_writes_of_rc),
		cmocka_unit_test(
			every_xrc_request_carries_an_xrceth_and_no_response_does),
		cmocka_unit_test(ud_rows_carry_a_deth),
		cmocka_unit_test(cnp_is_0x81_and_has_16_reserved_bytes),
		cmocka_unit_test(every_opcode_not_listed_is_unknown),
		cmocka_unit_test(header_flags_add_up_to_the_length),
		cmocka_unit_test(rows_of_atomics_say_which_they_are),
		cmocka_unit_test(class_and_operation_make_up_an_opcode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
