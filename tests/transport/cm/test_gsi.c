/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_gsi.c - packets to QPN 1: what is let in, what is answered, what leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/gid.h"
#include "rocin/gsi.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"

enum {
	MAX_LEN = RN_GSI_PACKET_LEN + 64,
	MAD_AT = RN_BTH_LEN + RN_DETH_LEN,
};

static const struct rn_flow from_peer = {
	.src = { { [10] = 0xff, [11] = 0xff, 10, 77, 0, 1 } },
	.dst = { { [10] = 0xff, [11] = 0xff, 10, 77, 0, 2 } },
	.ifindex = 1,
	.sport = 0xd872,
};

/* What the peer sends: a MAD of the CM unless changed. */
struct packet {
	struct rn_bth bth;
	struct rn_deth deth;
	uint8_t mad[RN_MAD_LEN + 64];
	size_t mad_len;
	uint8_t bytes[MAX_LEN];
	size_t len;
};

static struct packet good(void)
{
	struct packet p = {
		.bth = { .opcode = 0x64, .pkey = 0xffff, .dest_qpn = 1, .ack_req = true },
		.deth = { .qkey = 0x80010000, .src_qpn = 1 },
		.mad = { 1, 7, 2, 3, [8] = 0xab, [17] = 0x14 },
		.mad_len = RN_MAD_LEN,
	};

	return p;
}

static enum rn_gsi_verdict send_to(struct rn_gsi *gsi, struct packet *p,
				   const struct rn_flow *flow, struct rn_gsi_mad *out)
{
	uint8_t *at = rn_bth_emit(p->bytes, &p->bth), *copy;
	enum rn_gsi_verdict verdict;

	at = rn_deth_emit(at, &p->deth);
	memcpy(at, p->mad, p->mad_len);
	p->len = MAD_AT + p->mad_len;
	rn_icrc_seal(flow, 0, p->bytes, p->len);
	p->len += RN_ICRC_LEN;
	copy = malloc(p->len);
	assert_non_null(copy);
	memcpy(copy, p->bytes, p->len);
	verdict = rn_gsi_receive(gsi, flow, copy, p->len, out);
	if (verdict == RN_GSI_CM)
		assert_memory_equal(out->mad, p->mad, RN_MAD_LEN);
	free(copy);
	return verdict;
}

static void check(struct packet *p, enum rn_gsi_verdict want)
{
	struct rn_gsi gsi = { .resp_timeout = 20 };
	struct rn_gsi_mad mad;

	assert_int_equal(send_to(&gsi, p, &from_peer, &mad), want);
}

static void a_message_of_the_cm_is_let_in(void **state)
{
	struct packet p = good();

	(void)state;
	check(&p, RN_GSI_CM);
	p.bth.pkey = 0x7fff; /* a limited member */
	check(&p, RN_GSI_CM);
}

/* Rule J14. */
static void j14_a_mad_of_another_length_is_dropped(void **state)
{
	static const uint16_t lens[] = { 0, 1, 24, 252, 255, 257, 260 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(lens); i++) {
		struct packet p = good();

		p.mad_len = (lens[i] + 3u) & ~3u;
		p.bth.pad_cnt = rn_pad_cnt(lens[i]);
		check(&p, RN_GSI_DROP_PACKET);
	}
}

static void what_is_no_mad_packet_is_dropped(void **state)
{
	struct rn_flow group = from_peer;
	struct rn_gsi gsi = { .resp_timeout = 20 };
	struct rn_gsi_mad mad;
	struct packet p = good();

	(void)state;
	p.bth.opcode = RN_UD_SEND_ONLY_IMM;
	check(&p, RN_GSI_DROP_PACKET);
	p = good();
	p.bth.opcode = RN_RC_SEND_ONLY;
	check(&p, RN_GSI_DROP_PACKET);
	p = good();
	p.bth.dest_qpn = 0;
	check(&p, RN_GSI_DROP_PACKET);
	p = good();
	p.bth.pkey = 0x8001;
	check(&p, RN_GSI_DROP_PACKET);
	p = good();
	p.deth.qkey = 0x80010001;
	check(&p, RN_GSI_DROP_PACKET);
	p = good();
	group.dst.raw[12] = 224;
	assert_int_equal(send_to(&gsi, &p, &group, &mad), RN_GSI_DROP_PACKET);
}

static void a_damaged_packet_is_dropped(void **state)
{
	struct rn_flow v6 = from_peer;
	struct rn_gsi gsi = { .resp_timeout = 20 };
	struct rn_gsi_mad mad;
	struct packet p = good();

	(void)state;
	/* Over IPv6: over IPv4 another identification may explain it. */
	memset(v6.src.raw, 0xfd, 12);
	memset(v6.dst.raw, 0xfd, 12);
	assert_int_equal(send_to(&gsi, &p, &v6, &mad), RN_GSI_CM);
	p.bytes[100] ^= 1;
	assert_int_equal(rn_gsi_receive(&gsi, &v6, p.bytes, p.len, &mad),
			 RN_GSI_DROP_ICRC);
}

static void every_short_length_is_dropped(void **state)
{
	struct rn_gsi gsi = { .resp_timeout = 20 };
	struct rn_gsi_mad mad;
	struct packet p = good();

	(void)state;
	check(&p, RN_GSI_CM);
	for (size_t len = 0; len < RN_GSI_PACKET_LEN; len++) {
		uint8_t *copy = malloc(len + !len);

		assert_non_null(copy);
		memcpy(copy, p.bytes, len);
		assert_int_equal(rn_gsi_receive(&gsi, &from_peer, copy, len, &mad),
				 RN_GSI_DROP_PACKET);
		free(copy);
	}
}

static void mads_that_ask_nothing_are_dropped(void **state)
{
	static const struct {
		uint8_t version, class, method;
	} rows[] = {
		{ 2, 7, 3 },			/* base version */
		{ 1, 0x01, 1 },			/* subnet management is for QP0 */
		{ 1, 0x81, 1 }, { 1, 4, 0x81 }, /* an answer to what we did not ask */
		{ 1, 3, 3 },	{ 1, 7, 0x81 },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct packet p = good();

		p.mad[0] = rows[i].version;
		p.mad[1] = rows[i].class;
		p.mad[3] = rows[i].method;
		check(&p, RN_GSI_DROP_MAD);
	}
}

/* What has no answer is told so: "method and attribute not supported". */
static void questions_of_other_classes_are_answered(void **state)
{
	static const struct {
		uint8_t class, version, method, attr;
		uint16_t status;
	} rows[] = {
		{ 4, 1, 1, 0x12, 0x0c }, /* performance: Get(PortCounters) */
		{ 4, 1, 2, 0x12, 0x0c }, { 3, 2, 1, 0x35, 0x0c },
		{ 7, 2, 1, 0x10, 0x0c }, /* CM: Get(REQ) */
		{ 7, 1, 1, 0x01, 0x04 }, /* CM of another version */
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct rn_gsi gsi = { .resp_timeout = 20 };
		struct packet p = good();
		struct rn_mad_hdr hdr;
		struct rn_gsi_mad mad;

		p.deth.src_qpn = 0x77;
		p.mad[1] = rows[i].class;
		p.mad[2] = rows[i].version;
		p.mad[3] = rows[i].method;
		p.mad[17] = rows[i].attr;
		p.mad[200] = 0x5a;
		assert_int_equal(send_to(&gsi, &p, &from_peer, &mad), RN_GSI_REPLY);
		assert_int_equal(mad.src_qpn, 0x77);
		rn_mad_hdr_parse(&hdr, mad.reply + MAD_AT);
		assert_int_equal(hdr.method, 0x81);
		assert_int_equal(hdr.status, rows[i].status);
		assert_int_equal(hdr.mgmt_class, rows[i].class);
		assert_int_equal(hdr.attr_id, rows[i].attr);
		assert_true(hdr.tid == UINT64_C(0xab) << 56);
		assert_int_equal(mad.reply[MAD_AT + 200], 0x5a);
	}
}

static void the_cm_says_which_versions_it_has(void **state)
{
	struct rn_gsi gsi = { .resp_timeout = 20 };
	struct packet p = good();
	struct rn_mad_hdr hdr;
	struct rn_gsi_mad mad;

	(void)state;
	p.mad[3] = 1;
	p.mad[17] = 1; /* ClassPortInfo */
	assert_int_equal(send_to(&gsi, &p, &from_peer, &mad), RN_GSI_REPLY);
	rn_mad_hdr_parse(&hdr, mad.reply + MAD_AT);
	assert_int_equal(hdr.method, 0x81);
	assert_int_equal(hdr.status, 0);
	assert_int_equal(mad.reply[MAD_AT + 24], 1);  /* base version */
	assert_int_equal(mad.reply[MAD_AT + 25], 2);  /* class version */
	assert_int_equal(mad.reply[MAD_AT + 31], 20); /* response time */
}

static void what_leaves_is_a_ud_send_to_qpn_1(void **state)
{
	static const uint8_t head[MAD_AT] = {
		0x64, 0x40, 0xff, 0xff, 0, 0, 0, 1, /* BTH: M, P_Key, QPN 1 */
		0x00, 0xff, 0xff, 0xff,		    /* PSN */
		0x80, 0x01, 0x00, 0x00, 0, 0, 0, 1, /* DETH: Q_Key, from QPN 1 */
	};
	struct rn_gsi gsi = { .psn = { 0xffffff } }, peer = { .resp_timeout = 20 };
	struct rn_flow flow = from_peer;
	uint8_t pkt[RN_GSI_PACKET_LEN];
	const struct packet p = good();
	struct rn_gsi_mad mad;

	(void)state;
	flow.sport = 0;
	memcpy(pkt + MAD_AT, p.mad, RN_MAD_LEN);
	rn_gsi_seal(&gsi, &flow, 1, pkt);
	assert_memory_equal(pkt, head, sizeof(head));
	assert_memory_equal(pkt + MAD_AT, p.mad, RN_MAD_LEN);
	assert_int_equal(gsi.psn.v, 0);
	assert_true(flow.sport >= 0xc000); /* chosen */
	assert_int_equal(rn_gsi_receive(&peer, &flow, pkt, sizeof(pkt), &mad), RN_GSI_CM);
	/* Again, as when it is resent: with the next PSN, and the same MAD. */
	flow.sport = RN_ROCE_PORT;
	rn_gsi_seal(&gsi, &flow, 1, pkt);
	assert_int_equal(flow.sport, RN_ROCE_PORT); /* as given */
	assert_int_equal(rn_get_be24(pkt + 9), 0);
	assert_memory_equal(pkt + MAD_AT, p.mad, RN_MAD_LEN);
	assert_int_equal(rn_gsi_receive(&peer, &flow, pkt, sizeof(pkt), &mad), RN_GSI_CM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_of_the_cm_is_let_in),
		cmocka_unit_test(j14_a_mad_of_another_length_is_dropped),
		cmocka_unit_test(what_is_no_mad_packet_is_dropped),
		cmocka_unit_test(a_damaged_packet_is_dropped),
		cmocka_unit_test(every_short_length_is_dropped),
		cmocka_unit_test(mads_that_ask_nothing_are_dropped),
		cmocka_unit_test(questions_of_other_classes_are_answered),
		cmocka_unit_test(the_cm_says_which_versions_it_has),
		cmocka_unit_test(what_leaves_is_a_ud_send_to_qpn_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
