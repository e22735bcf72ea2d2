/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fault_rules.c - which packets rules hit, and what becomes of their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/gid.h"
#include "rocin/gsi.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "transport/io/fault/fault_rules.h"

static struct rn_fault_rules read_rules(const char *text)
{
	struct rn_fault_rules rules;
	char err[300] = "";

	if (rn_fault_rules_parse(text, "test", &rules, err, sizeof(err)))
		fail_msg("%s", err);
	return rules;
}

static uint64_t judge(struct rn_fault_rules *rules, enum rn_fault_dir dir, uint8_t opcode,
		      uint32_t psn)
{
	const struct rn_fault_packet p = { .dir = dir, .opcode = opcode, .psn = psn };

	return rn_fault_judge(rules, &p);
}

/* Which of the packets 1 to 60 a rule hits, as bits. */
static uint64_t hits_of(const char *text)
{
	struct rn_fault_rules rules = read_rules(text);
	uint64_t hits = 0;

	for (unsigned i = 1; i <= 60; i++)
		if (judge(&rules, RN_FAULT_TX, RN_RC_SEND_ONLY, i))
			hits |= 1ull << i;
	return hits;
}

static void packets_are_counted_from_one(void **state)
{
	(void)state;
	assert_int_equal(hits_of("drop nth=3"), 1 << 3);
	assert_int_equal(hits_of("drop nth=3..5"), 7 << 3);
	assert_int_equal(hits_of("drop every=20"), 1ull << 1 | 1ull << 21 | 1ull << 41);
	assert_int_equal(hits_of("drop nth=5 every=20"),
			 1ull << 5 | 1ull << 25 | 1ull << 45);
	assert_int_equal(hits_of("drop nth=5..30 every=20"), 1ull << 5 | 1ull << 25);
	assert_int_equal(hits_of("drop every=20 count=2"), 1ull << 1 | 1ull << 21);
	assert_int_equal(hits_of("drop psn=7 nth=1"), 1 << 7);
	assert_int_equal(hits_of("drop psn=7 nth=2"), 0);
}

static void direction_opcode_and_psn_must_all_fit(void **state)
{
	struct rn_fault_rules rules = read_rules("drop rx op=RC_ACK psn=0xfffffe..1");

	(void)state;
	assert_int_equal(judge(&rules, RN_FAULT_RX, RN_RC_ACK, 0xfffffe), 1);
	assert_int_equal(judge(&rules, RN_FAULT_RX, RN_RC_ACK, 1), 1);
	assert_int_equal(judge(&rules, RN_FAULT_RX, RN_RC_ACK, 2), 0);
	assert_int_equal(judge(&rules, RN_FAULT_RX, RN_RC_ACK, 0xfffffd), 0);
	assert_int_equal(judge(&rules, RN_FAULT_TX, RN_RC_ACK, 1), 0);
	assert_int_equal(judge(&rules, RN_FAULT_RX, RN_RC_SEND_ONLY, 1), 0);
	assert_int_equal(rules.rule[0].seen, 2);
	assert_int_equal(rules.rule[0].hits, 2);
}

static void queue_pair_is_known_by_number_or_place(void **state)
{
	struct rn_fault_rules rules = read_rules("drop qpn=0x103; drop qp=2");
	struct rn_fault_packet p = { .qpn = 0x103, .qp = 1 };

	(void)state;
	assert_true(rn_fault_rules_want_qp(&rules));
	assert_int_equal(rn_fault_judge(&rules, &p), 1);
	p = (struct rn_fault_packet){ .qpn = 0x203, .qp = 2 };
	assert_int_equal(rn_fault_judge(&rules, &p), 2);
	p = (struct rn_fault_packet){ 0 };
	assert_int_equal(rn_fault_judge(&rules, &p), 0);
}

static void rules_do_not_hide_packets_from_each_other(void **state)
{
	struct rn_fault_rules rules = read_rules("drop; duplicate every=2; kill nth=2");

	(void)state;
	assert_int_equal(judge(&rules, RN_FAULT_TX, 0, 0), 3);
	assert_int_equal(judge(&rules, RN_FAULT_TX, 0, 0), 5);
}

static void chance_hits_about_as_many_and_the_seed_decides_which(void **state)
{
	static const char *const texts[] = { "seed=4; drop chance=10%",
					     "seed=4; drop chance=10%",
					     "seed=5; drop chance=10%" };
	uint64_t sum[3] = { 0 }, hits[3] = { 0 };

	(void)state;
	for (unsigned t = 0; t < 3; t++) {
		struct rn_fault_rules rules = read_rules(texts[t]);

		for (uint64_t i = 0; i < 10000; i++)
			sum[t] = sum[t] * 31 + judge(&rules, RN_FAULT_TX, 0, 0);
		hits[t] = rules.rule[0].hits;
	}
	assert_in_range(hits[0], 900, 1100);
	assert_true(sum[0] == sum[1]);
	assert_true(sum[0] != sum[2]);
}

static void rule_that_stays_goes_on_and_another_begins(void **state)
{
	struct rn_fault_rules old = read_rules("drop nth=3; kill"), new;

	(void)state;
	judge(&old, RN_FAULT_TX, 0, 0);
	judge(&old, RN_FAULT_TX, 0, 0);
	new = read_rules("delay=1s; drop  nth=3; drop nth=3");
	rn_fault_rules_carry(&new, &old);
	assert_int_equal(new.rule[0].seen, 0);
	assert_int_equal(new.rule[1].seen, 2);
	assert_int_equal(new.rule[2].seen, 0); /* one of them only */
	assert_int_equal(judge(&new, RN_FAULT_TX, 0, 0), 3);
}

static void rules_for_others_are_left_out(void **state)
{
	struct rn_fault_rules rules =
		read_rules("drop dev=rocin0; kill pid=7; mark program=me; delay=1s");

	(void)state;
	rn_fault_rules_select(&rules, "rocin1", 7, "me");
	assert_int_equal(rules.count, 3);
	assert_int_equal(rules.rule[0].number, 1);
	rn_fault_rules_select(&rules, "rocin1", 8, "you");
	assert_int_equal(rules.count, 1);
	assert_int_equal(rules.rule[0].act, RN_FAULT_DELAY);
}

static void calls_fail_as_packets_are_hit(void **state)
{
	struct rn_fault_rules rules =
		read_rules("fail=ENOMEM call=reg_mr nth=2; fail=5 call=alloc_pd");
	uint32_t reg_mr = rules.rule[0].call, alloc_pd = rules.rule[1].call;

	(void)state;
	assert_false(rn_fault_rules_meet_packets(&rules));
	assert_int_equal(rn_fault_judge_call(&rules, reg_mr), 0);
	assert_int_equal(rn_fault_judge_call(&rules, alloc_pd), 5);
	assert_int_equal(rn_fault_judge_call(&rules, reg_mr), 12);
	assert_int_equal(rn_fault_judge_call(&rules, reg_mr), 0);
	assert_int_equal(judge(&rules, RN_FAULT_TX, 0, 0), 0);
}

/* ------------------------------------------------------------------------- bytes */
static const struct rn_flow flow = {
	.src = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 } },
	.dst = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 2 } },
	.sport = 49152,
};

/* RDMA WRITE ONLY with 4 bytes, and a READ RESPONSE ONLY with as many. */
static const uint8_t write_only[] = {
	0x0a, 0x40, 0xff, 0xff, 0x00, 0x00, 0x01, 0x02, 0x80, 0x00, 0x00, 0x07, /* BTH */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00,				/* va */
	0x00, 0x00, 0x0a, 0x0b, 0x00, 0x00, 0x00, 0x04, /* rkey, length */
	0xde, 0xad, 0xbe, 0xef, 0x11, 0x22, 0x33, 0x44, /* payload, ICRC */
};

static void edit(const char *text, uint8_t pkt[sizeof(write_only)],
		 enum rn_fault_icrc *icrc)
{
	struct rn_fault_rules rules = read_rules(text);

	memcpy(pkt, write_only, sizeof(write_only));
	*icrc = RN_FAULT_ICRC_KEPT;
	rn_fault_edit(&rules.rule[0], NULL, pkt, sizeof(write_only), icrc);
}

/* Bytes that are not as they were; the last of them. */
static unsigned differ(const uint8_t *pkt, unsigned *last)
{
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(write_only); i++) {
		if (pkt[i] == write_only[i])
			continue;
		*last = i;
		n++;
	}
	return n;
}

static void the_byte_that_is_named_is_corrupted(void **state)
{
	uint8_t pkt[sizeof(write_only)];
	enum rn_fault_icrc icrc;
	unsigned at = 0;

	(void)state;
	edit("corrupt at=28 xor=0xff", pkt, &icrc);
	assert_int_equal(differ(pkt, &at), 1);
	assert_int_equal(at, 28);
	assert_int_equal(pkt[28], 0x21);
	assert_int_equal(icrc, RN_FAULT_ICRC_WRONG);
	edit("corrupt at=-1 xor=1 icrc=good", pkt, &icrc);
	assert_int_equal(differ(pkt, &at), 1);
	assert_int_equal(at, sizeof(write_only) - 1);
	assert_int_equal(icrc, RN_FAULT_ICRC_STALE);
	edit("corrupt at=36", pkt, &icrc); /* behind the end */
	assert_int_equal(differ(pkt, &at), 0);
	edit("corrupt", pkt, &icrc);
	assert_int_equal(differ(pkt, &at), 1);
	assert_int_equal(__builtin_popcount(pkt[at] ^ write_only[at]), 1);
}

static void fields_are_rewritten_and_nothing_beside_them(void **state)
{
	uint8_t pkt[sizeof(write_only)];
	enum rn_fault_icrc icrc;
	unsigned at = 0;

	(void)state;
	edit("set bth.psn=0x123456 reth.rkey=0xa0b0c0d0", pkt, &icrc);
	assert_int_equal(differ(pkt, &at), 7);
	assert_memory_equal(pkt + 9, "\x12\x34\x56", 3);
	assert_memory_equal(pkt + 20, "\xa0\xb0\xc0\xd0", 4);
	assert_int_equal(icrc, RN_FAULT_ICRC_STALE);
	edit("set bth.pad=3 bth.a=0 icrc=bad", pkt, &icrc);
	assert_int_equal(pkt[1], 0x70);
	assert_int_equal(pkt[8], 0);
	assert_int_equal(differ(pkt, &at), 2);
	assert_int_equal(icrc, RN_FAULT_ICRC_WRONG);
	edit("set reth.va=0xffffffffffffffff", pkt, &icrc);
	assert_int_equal(differ(pkt, &at), 8);
}

static void field_behind_the_end_is_left_alone(void **state)
{
	struct rn_fault_rules rules = read_rules("set reth.len=5");
	uint8_t *pkt = malloc(20);
	enum rn_fault_icrc icrc = RN_FAULT_ICRC_KEPT;

	(void)state;
	memcpy(pkt, write_only, 20);
	rn_fault_edit(&rules.rule[0], NULL, pkt, 20, &icrc);
	assert_memory_equal(pkt, write_only, 20);
	free(pkt);
}

static void answer_is_an_acknowledgement_of_the_request(void **state)
{
	struct rn_icrc_hint hint = { 0 };
	uint8_t nak[RN_FAULT_NAK_LEN];
	struct rn_aeth aeth = { .syndrome = 0x62, .msn = 5 };
	struct rn_bth bth;

	(void)state;
	rn_fault_answer(nak, write_only, &flow, 0x777, &aeth);
	assert_int_equal(rn_bth_parse(&bth, nak, nak + sizeof(nak)), 0);
	assert_int_equal(bth.opcode, RN_RC_ACK);
	assert_int_equal(bth.dest_qpn, 0x777);
	assert_int_equal(bth.psn.v, 7);
	assert_int_equal(bth.pkey, 0xffff);
	assert_int_equal(rn_aeth_parse(&aeth, nak + RN_BTH_LEN, nak + sizeof(nak)), 0);
	assert_int_equal(aeth.syndrome, 0x62);
	assert_int_equal(aeth.msn, 5);
	rn_fault_answer_msn(nak, &flow, 0xabcdef);
	assert_int_equal(rn_aeth_parse(&aeth, nak + RN_BTH_LEN, nak + sizeof(nak)), 0);
	assert_int_equal(aeth.syndrome, 0x62);
	assert_int_equal(aeth.msn, 0xabcdef);
	assert_int_equal(rn_icrc_check(&hint, &flow, nak, sizeof(nak), 0, true),
			 RN_ICRC_OK);
}

static void short_packet_is_not_looked_at(void **state)
{
	struct rn_fault_packet p = { .psn = 99 };

	(void)state;
	assert_false(rn_fault_look(write_only, 15, &p));
	assert_int_equal(p.psn, 99);
	assert_true(rn_fault_look(write_only, 16, &p));
	assert_int_equal(p.psn, 7);
	assert_int_equal(p.opcode, RN_RC_WRITE_ONLY);
}

/* Only a whole MAD of the CM's class, to QP1, is a message of the connection manager. */
static void messages_of_the_connection_manager_are_seen(void **state)
{
	const struct rn_mad_hdr hdr = { .mgmt_class = RN_MAD_CLASS_CM,
					.attr_id = RN_CM_REP };
	struct rn_fault_rules rules = read_rules("drop mad=REP; drop mad=REQ; drop");
	struct rn_fault_packet p = { 0 };
	struct rn_gsi gsi = { 0 };
	struct rn_flow to = flow;
	uint8_t pkt[RN_GSI_PACKET_LEN] = { 0 };

	(void)state;
	rn_mad_hdr_emit(pkt + RN_GSI_MAD_AT, &hdr);
	rn_gsi_seal(&gsi, &to, 1, pkt);
	assert_true(rn_fault_look(pkt, sizeof(pkt), &p));
	assert_int_equal(p.mad, RN_CM_REP);
	assert_int_equal(rn_fault_judge(&rules, &p), 5);
	assert_true(rn_fault_look(pkt, sizeof(pkt) - 4, &p));
	assert_int_equal(p.mad, 0);
	assert_int_equal(rn_fault_judge(&rules, &p), 4);
	rn_gsi_seal(&gsi, &to, 2, pkt);
	assert_true(rn_fault_look(pkt, sizeof(pkt), &p));
	assert_int_equal(p.mad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_counted_from_one),
		cmocka_unit_test(direction_opcode_and_psn_must_all_fit),
		cmocka_unit_test(queue_pair_is_known_by_number_or_place),
		cmocka_unit_test(rules_do_not_hide_packets_from_each_other),
		cmocka_unit_test(chance_hits_about_as_many_and_the_seed_decides_which),
		cmocka_unit_test(rule_that_stays_goes_on_and_another_begins),
		cmocka_unit_test(rules_for_others_are_left_out),
		cmocka_unit_test(calls_fail_as_packets_are_hit),
		cmocka_unit_test(the_byte_that_is_named_is_corrupted),
		cmocka_unit_test(fields_are_rewritten_and_nothing_beside_them),
		cmocka_unit_test(field_behind_the_end_is_left_alone),
		cmocka_unit_test(answer_is_an_acknowledgement_of_the_request),
		cmocka_unit_test(short_packet_is_not_looked_at),
		cmocka_unit_test(messages_of_the_connection_manager_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
