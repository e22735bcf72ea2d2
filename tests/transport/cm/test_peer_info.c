/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_peer_info.c - what a host asks another about its Rocin, and what it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/mad.h"
#include "rocin/opcode.h"
#include "rocin/peer_info.h"

#define TID 0x123456789abcdef0u

static const struct rn_flow from_peer = {
	.src = { { [10] = 0xff, [11] = 0xff, 10, 77, 0, 1 } },
	.dst = { { [10] = 0xff, [11] = 0xff, 10, 77, 0, 2 } },
	.ifindex = 1,
	.sport = RN_ROCE_PORT,
};

static const struct rn_peer_info info = { .version = "1.2.3-rc4",
					  .path_mtu = 4096,
					  .icrc = RN_PEER_ICRC_EXACT,
					  .time_ms = 0x0102030405060708u };

static void an_answer_says_what_was_put_in(void **state)
{
	uint8_t ask[RN_MAD_LEN], mad[RN_MAD_LEN];
	struct rn_peer_info got;

	(void)state;
	memset(ask, 0xa5, sizeof(ask));
	memset(mad, 0xa5, sizeof(mad));
	rn_peer_ask_emit(ask, TID);
	assert_true(rn_peer_is_ask(ask));
	rn_peer_answer_emit(mad, ask, &info);
	assert_false(rn_peer_is_ask(mad)); /* nobody answers an answer */
	assert_int_equal(rn_peer_answer_parse(mad, TID, &got), RN_PEER_ANSWERS);
	assert_string_equal(got.version, info.version);
	assert_int_equal(got.path_mtu, info.path_mtu);
	assert_int_equal(got.icrc, info.icrc);
	assert_int_equal(got.time_ms, info.time_ms);
	/* Each byte is one of those that peer_info.h names, or 0. */
	for (unsigned i = RN_MAD_HDR_LEN + 56; i < RN_MAD_LEN; i++)
		assert_int_equal(mad[i], 0);
}

/* A byte of the mark, the class, the method, the attribute or the ID that is another. */
static void another_mad_is_no_question_and_no_answer(void **state)
{
	static const uint8_t at[] = { 0, 1, 2, 3, 16, 17, 24, 31 };
	uint8_t ask[RN_MAD_LEN], mad[RN_MAD_LEN];
	struct rn_peer_info got;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(at); i++) {
		rn_peer_ask_emit(ask, TID);
		rn_peer_answer_emit(mad, ask, &info);
		ask[at[i]] ^= 1;
		assert_false(rn_peer_is_ask(ask));
		mad[at[i]] ^= 1;
		assert_int_not_equal(rn_peer_answer_parse(mad, TID, &got),
				     RN_PEER_ANSWERS);
	}
	rn_peer_ask_emit(ask, TID);
	rn_peer_answer_emit(mad, ask, &info);
	assert_int_equal(rn_peer_answer_parse(mad, TID ^ 1, &got), RN_PEER_NO_ANSWER);
	assert_int_equal(rn_peer_answer_parse(ask, TID, &got), RN_PEER_NO_ANSWER);
}

/* It may stand on a terminal. */
static void what_a_peer_sends_is_made_printable(void **state)
{
	uint8_t ask[RN_MAD_LEN], mad[RN_MAD_LEN];
	struct rn_peer_info got;

	(void)state;
	rn_peer_ask_emit(ask, TID);
	rn_peer_answer_emit(mad, ask, &info);
	memset(mad + RN_MAD_HDR_LEN + 8, 0x1b, RN_PEER_VERSION_LEN);
	mad[RN_MAD_HDR_LEN + 42] = 200;
	assert_int_equal(rn_peer_answer_parse(mad, TID, &got), RN_PEER_ANSWERS);
	assert_string_equal(got.version, "???????????????????????????????");
	assert_int_equal(got.icrc, RN_PEER_ICRC_UNKNOWN);
}

/* Sends a MAD in a packet of @len bytes; the rest is 0x5a. */
static enum rn_gsi_verdict receive(const uint8_t *mad, uint32_t len, uint32_t qpn,
				   struct rn_gsi_mad *out)
{
	struct rn_gsi gsi = { .resp_timeout = 20 };
	struct rn_flow flow = from_peer;
	uint8_t *pkt = malloc(len);
	enum rn_gsi_verdict verdict;

	assert_non_null(pkt);
	memset(pkt, 0x5a, len);
	memcpy(pkt + RN_GSI_MAD_AT, mad, RN_MAD_LEN);
	rn_gsi_seal_long(&gsi, &flow, 0x1234, qpn, pkt, len);
	verdict = rn_gsi_receive(&gsi, &flow, pkt, len, out);
	free(pkt);
	return verdict;
}

static void a_question_is_as_long_as_the_packets_that_it_stands_for(void **state)
{
	uint8_t ask[RN_MAD_LEN];
	struct rn_gsi_mad out;

	(void)state;
	rn_peer_ask_emit(ask, TID);
	assert_int_equal(rn_peer_ask_len(4096), RN_PEER_ASK_MAX);
	assert_int_equal(rn_peer_ask_len(1024), 12 + 4 + 16 + 4 + 1024 + 4);
	assert_int_equal(receive(ask, RN_PEER_ASK_MIN, 1, &out), RN_GSI_PEER_INFO);
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2)
		assert_int_equal(receive(ask, rn_peer_ask_len(mtu), 1, &out),
				 RN_GSI_PEER_INFO);
	assert_int_equal(out.src_qpn, 0x1234);
	assert_int_equal(receive(ask, RN_PEER_ASK_MAX + 4, 1, &out), RN_GSI_DROP_PACKET);
	assert_int_equal(receive(ask, RN_PEER_ASK_MIN + 1, 1, &out), RN_GSI_DROP_PACKET);
	assert_int_equal(receive(ask, RN_PEER_ASK_MIN, 0x700, &out), RN_GSI_DROP_PACKET);
}

/* One that does not answer says that it does not know the class, as is the rule. */
static void who_asks_in_vain_is_refused_as_by_any_port(void **state)
{
	uint8_t ask[RN_MAD_LEN];
	struct rn_peer_info got;
	struct rn_gsi_mad out;

	(void)state;
	rn_peer_ask_emit(ask, TID);
	assert_int_equal(receive(ask, RN_PEER_ASK_MIN, 1, &out), RN_GSI_PEER_INFO);
	assert_int_equal(rn_peer_answer_parse(out.reply + RN_GSI_MAD_AT, TID, &got),
			 RN_PEER_REFUSES);
}

/* Packets of the CM stay as they are: no other class has longer packets. */
static void no_other_class_has_longer_packets(void **state)
{
	uint8_t ask[RN_MAD_LEN];
	struct rn_gsi_mad out;

	(void)state;
	for (unsigned class = 0; class < 256; class ++) {
		rn_peer_ask_emit(ask, TID);
		ask[1] = (uint8_t) class;
		if (class != RN_MAD_CLASS_PEER_INFO)
			assert_int_equal(receive(ask, RN_PEER_ASK_MIN + 4, 1, &out),
					 RN_GSI_DROP_PACKET);
	}
}

/* The asker finds its answer at a QP of its own, and hears of damage on the way. */
static void an_answer_is_found_at_any_qp(void **state)
{
	struct rn_gsi gsi = { 0 };
	struct rn_flow flow = from_peer;
	uint8_t pkt[RN_PEER_ASK_MAX] = { 0 }, ask[RN_MAD_LEN];
	bool is_damaged;
	uint32_t src_qpn;

	(void)state;
	rn_peer_ask_emit(ask, TID);
	rn_peer_answer_emit(pkt + RN_GSI_MAD_AT, ask, &info);
	rn_gsi_seal_long(&gsi, &flow, RN_QPN_GSI, 0x4711, pkt, sizeof(pkt));
	assert_ptr_equal(
		rn_gsi_find_mad(&flow, pkt, sizeof(pkt), 0x4711, &is_damaged, &src_qpn),
		pkt + RN_GSI_MAD_AT);
	assert_int_equal(src_qpn, RN_QPN_GSI);
	assert_false(is_damaged);
	assert_null(
		rn_gsi_find_mad(&flow, pkt, sizeof(pkt), 0x4712, &is_damaged, &src_qpn));
	assert_false(is_damaged);
	flow.src.raw[15]++; /* as by NAT */
	flow.src.raw[14]++;
	assert_null(
		rn_gsi_find_mad(&flow, pkt, sizeof(pkt), 0x4711, &is_damaged, &src_qpn));
	assert_true(is_damaged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_says_what_was_put_in),
		cmocka_unit_test(another_mad_is_no_question_and_no_answer),
		cmocka_unit_test(what_a_peer_sends_is_made_printable),
		cmocka_unit_test(a_question_is_as_long_as_the_packets_that_it_stands_for),
		cmocka_unit_test(who_asks_in_vain_is_refused_as_by_any_port),
		cmocka_unit_test(no_other_class_has_longer_packets),
		cmocka_unit_test(an_answer_is_found_at_any_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
