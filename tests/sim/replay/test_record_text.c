/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_record_text.c - what a record is for people. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/cqe.h"
#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/rx_tx.h"
#include "rocin/wire.h"
#include "sim/replay/record_text.h"

enum {
	LEN = RN_BTH_LEN + 8, /* of the packet, without its ICRC */
	PSN = 0x123,
};

static uint8_t packet[LEN + RN_ICRC_LEN];

static const struct rn_flow by_ipv4 = {
	.src = { { [10] = 0xff, [11] = 0xff, [12] = 192, [15] = 1 } },
	.dst = { { [10] = 0xff, [11] = 0xff, [12] = 192, [15] = 2 } },
	.hop_limit = 64,
};

/* A SEND of 8 bytes. */
static int make_packet(void **state)
{
	const struct rn_bth bth = { .opcode = RN_RC_SEND_ONLY,
				    .migreq = true,
				    .pkey = 0xffff,
				    .dest_qpn = 0x11,
				    .psn = rn_psn(PSN) };

	(void)state;
	memset(packet, 0x5a, sizeof(packet));
	rn_bth_emit(packet, &bth);
	return 0;
}

static const char *text_of(const struct rn_rec *rec)
{
	static char text[2048];

	memset(text, 'x', sizeof(text));
	rn_rec_text(rec, text, sizeof(text));
	return text;
}

static void assert_says(const struct rn_rec *rec, const char *text)
{
	assert_string_equal(text_of(rec), text);
}

static struct rn_rx pkts[8];

/* @count times the packet, as it came. */
static struct rn_rec *received(const struct rn_flow *flow, uint32_t count)
{
	static struct rn_rec rec;

	rec = (struct rn_rec){ .kind = RN_CALL_RECEIVE,
			       .u.call.receive = { pkts, count } };
	for (uint32_t i = 0; i < count; i++)
		pkts[i] = (struct rn_rx){ .flow = flow,
					  .data = packet,
					  .len = sizeof(packet) };
	return &rec;
}

static struct rn_rec sent(const struct rn_flow *flow, uint32_t len)
{
	static struct rn_tx tx;

	tx.flow = flow;
	return (struct rn_rec){ .kind = RN_REC_PACKET,
				.u.packet = { .tx = &tx, .data = packet, .len = len } };
}

#define ONE "RC_SEND_ONLY psn 291 len 8"

/* The identification of IPv4, which nobody recorded, is part of the ICRC. */
static void an_icrc_is_right_with_any_identification(void **state)
{
	static const uint16_t ids[] = { 0, 1, 0x1234, UINT16_MAX };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(ids); i++) {
		rn_icrc_seal(&by_ipv4, ids[i], packet, LEN);
		assert_says(received(&by_ipv4, 1), "receive " ONE);
	}
}

static void of_a_damaged_packet_that_is_said(void **state)
{
	static const struct rn_flow by_ipv6 = { .src = { { 0xfd, [15] = 1 } },
						.dst = { { 0xfd, [15] = 2 } } };
	static const struct rn_flow *const flows[] = { &by_ipv4, &by_ipv6 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(flows); i++) {
		rn_icrc_seal(flows[i], 0, packet, LEN);
		assert_says(received(flows[i], 1), "receive " ONE);
		packet[LEN - 1] ^= 1;
		assert_says(received(flows[i], 1), "receive " ONE " (wrong ICRC)");
	}
}

/* Where memory is the wire both ends may do without. */
static void what_has_no_icrc_has_no_wrong_one(void **state)
{
	struct rn_rec *rec = received(&by_ipv4, 1);

	(void)state;
	memset(packet + LEN, 0xa5, RN_ICRC_LEN);
	pkts[0].icrc = RN_RX_ICRC_NONE;
	assert_says(rec, "receive " ONE);
	pkts[0].icrc = RN_RX_ICRC_EXACT;
	assert_says(rec, "receive " ONE " (wrong ICRC)");
	pkts[0].icrc = RN_RX_ICRC_NONE;
	pkts[0].len = RN_ICRC_LEN - 1;
	assert_says(rec, "receive 3 bytes");
}

/* Its ICRC is made when it leaves. */
static void what_leaves_is_shown_without_an_icrc(void **state)
{
	struct rn_rec rec = sent(&by_ipv4, LEN);

	(void)state;
	assert_says(&rec, "packet " ONE);
	rec.u.packet.tx = NULL;
	assert_says(&rec, "packet none");
}

static void what_can_be_no_packet_is_counted_in_bytes(void **state)
{
	struct rn_flow mixed = by_ipv4;
	struct rn_rec rec = sent(&by_ipv4, RN_BTH_LEN - 1);

	(void)state;
	assert_says(&rec, "packet 11 bytes");
	rec = sent(&by_ipv4, RN_PACKET_MAX + 1);
	assert_non_null(strstr(text_of(&rec), " bytes"));
	mixed.dst.raw[10] = 0;
	rec = sent(&mixed, LEN);
	assert_says(&rec, "packet 20 bytes");
}

static void of_many_packets_the_first_four_are_shown(void **state)
{
	(void)state;
	rn_icrc_seal(&by_ipv4, 0, packet, LEN);
	assert_says(received(&by_ipv4, 2), "receive " ONE " | " ONE);
	assert_says(received(&by_ipv4, 4), "receive " ONE " | " ONE " | " ONE " | " ONE);
	assert_says(received(&by_ipv4, 6),
		    "receive " ONE " | " ONE " | " ONE " | " ONE " | and 2 more");
}

static void a_completion_is_told_from_data(void **state)
{
	const struct rn_cqe cqe = {
		.wr_id = 0x77, .qpn = 0x11, .byte_len = 64, .ctl = 2 << 8 | 5
	};
	struct rn_rec rec = { .kind = RN_REC_WRITE,
			      .u.access = { .addr = 0x1000,
					    .len = sizeof(cqe),
					    .attr = { .flags = RN_MEM_CQE },
					    .data = (const uint8_t *)&cqe,
					    .data_len = sizeof(cqe) } };

	(void)state;
	assert_says(&rec, "write dst=0x1000 cqe wr_id=0x77 qpn=0x11 status=5 opcode=2 "
			  "len=64");
	rec.u.access.attr.flags = 0;
	assert_null(strstr(text_of(&rec), "cqe"));
	assert_non_null(strstr(text_of(&rec), "...(64)"));
	rec.u.access.attr.flags = RN_MEM_CQE;
	rec.u.access.data_len = 8;
	assert_null(strstr(text_of(&rec), "wr_id"));
	assert_non_null(strstr(text_of(&rec), "=7700000000000000"));
}

static void a_result_has_its_sign(void **state)
{
	const struct rn_rec rec = { .kind = RN_REC_RESULT, .result = -EINVAL };

	(void)state;
	assert_says(&rec, "result -22");
}

/* A description is cut off at the end of its buffer, of whatever size that is. */
static void text_is_cut_off_where_it_ends(void **state)
{
	const char *whole;
	char text[64];

	(void)state;
	rn_icrc_seal(&by_ipv4, 0, packet, LEN);
	whole = text_of(received(&by_ipv4, 1));
	for (size_t size = 1; size < sizeof(text); size++) {
		size_t len = strlen(whole) < size ? strlen(whole) : size - 1;

		memset(text, 'x', sizeof(text));
		rn_rec_text(received(&by_ipv4, 1), text, size);
		assert_int_equal(strlen(text), len);
		assert_memory_equal(text, whole, len);
		assert_int_equal(text[size], 'x');
	}
}

#define T(name) cmocka_unit_test_setup(name, make_packet)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_icrc_is_right_with_any_identification),
		T(of_a_damaged_packet_that_is_said),
		T(what_has_no_icrc_has_no_wrong_one),
		T(what_leaves_is_shown_without_an_icrc),
		T(what_can_be_no_packet_is_counted_in_bytes),
		T(of_many_packets_the_first_four_are_shown),
		T(a_completion_is_told_from_data),
		T(a_result_has_its_sign),
		T(text_is_cut_off_where_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
