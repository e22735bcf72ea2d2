/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_amplify_packets.c - how much a device, and the port's QP1, send to an address that
 * may be forged: at most three bytes for each that came from there.
 *
 * A packet of each opcode, short and long, marked or not, goes to QPs of each type, to
 * QPNs that nobody has and to a QPN that has a connection with somebody else. The table
 * of the greatest ratios is printed.
 */
#include "rocin/gsi.h"
#include "tests/kit/device/raw.h"

enum {
	LIMIT = 3,
	OPCODES = 256,
	LONG = 1024,
};

static const enum rn_qp_type types[] = { RN_QPT_RC, RN_QPT_UC, RN_QPT_UD };

/* The address of somebody who has not asked for anything. */
static struct rn_flow forged_flow(const struct raw *r, unsigned ecn)
{
	struct rn_flow flow = raw_flow(r);

	flow.src.raw[15] ^= 0x40;
	flow.tclass = (uint8_t)ecn;
	return flow;
}

static uint64_t bytes_to(const struct pair *p, const struct rn_gid *addr, unsigned first)
{
	uint64_t bytes = 0;

	for (unsigned i = first; i < p->record_count; i++)
		if (p->record[i]->from == 0 &&
		    memcmp(&p->record[i]->flow.dst, addr, sizeof(*addr)) == 0)
			bytes += p->record[i]->len;
	return bytes;
}

/* Sends a packet and lets an hour pass. Return: bytes that the address got for 100. */
static unsigned per_cent(struct raw *r, const struct raw_packet *k, unsigned ecn)
{
	const struct rn_flow flow = forged_flow(r, ecn);
	unsigned first = r->p->record_count;
	uint8_t buf[RN_MTU_MAX * 2];
	uint32_t len = raw_encode(r, k, buf);
	uint64_t out;

	rn_icrc_seal(&flow, 0, buf, len - RN_ICRC_LEN);
	pair_inject(r->p, 0, &flow, buf, len);
	pair_run_until_quiet(r->p);
	out = bytes_to(r->p, &flow.src, first);
	assert_in_range(out, 0, LIMIT * (uint64_t)len);
	return (unsigned)(out * 100 / len);
}

static unsigned worst_of(struct raw *r, uint32_t qpn, uint32_t len, unsigned ecn)
{
	unsigned worst = 0;

	for (unsigned op = 0; op < OPCODES; op++) {
		struct rn_reth reth = { .va = (uintptr_t)r->mr->data,
					.rkey = r->mr->mr.lkey,
					.dma_len = RAW_MR_LEN };
		unsigned ratio =
			per_cent(r,
				 RAW(.op = (uint8_t)op, .psn = RAW_PSN_RX,
				     .dest_qpn = qpn, .ack_req = true, .len = len,
				     .deth = { .qkey = 0x1ee7 }, .reth = reth),
				 ecn);

		worst = ratio > worst ? ratio : worst;
	}
	return worst;
}

static void no_opcode_brings_more_than_three_bytes_for_one(void **state)
{
	static const uint32_t qpn[] = { 0, 1, 2, 0x5555, RN_QPN_MASK };

	(void)state;
	for (unsigned t = 0; t < RN_ARRAY_SIZE(types); t++)
		for (unsigned n = 0; n < RN_ARRAY_SIZE(qpn); n++) {
			struct raw r = raw_new(NULL, types[t], RN_QPS_RTS, NULL);
			unsigned small = worst_of(&r, qpn[n], 0, RN_ECN_NOT_ECT);
			unsigned marked = worst_of(&r, qpn[n], 0, RN_ECN_CE);
			unsigned large = worst_of(&r, qpn[n], LONG, RN_ECN_CE);

			print_message("QP type %u, QPN %#x: %u %% of a short packet, "
				      "%u %% if it is marked, %u %% of a long one\n",
				      types[t], qpn[n], small, marked, large);
			/* A CNP is the only thing that anybody gets. */
			assert_int_equal(small, 0);
			raw_free(&r);
		}
}

/* A datagram that is marked is the one thing that a QP answers to anybody. */
static void a_marked_datagram_gets_one_small_answer(void **state)
{
	const struct pair_cfg cfg = { .mtu_max = 1024, .cc = RN_CC_ON };
	struct raw r = raw_new(&cfg, RN_QPT_UD, RN_QPS_RTS, NULL);
	struct rn_flow flow = forged_flow(&r, RN_ECN_CE);
	unsigned ratio;

	(void)state;
	assert_int_equal(pair_post_recv_mr(r.q, 1, r.mr, 0, 512), 0);
	ratio = per_cent(&r,
			 RAW(.op = RN_UD_SEND_ONLY, .psn = 1, .deth = { .qkey = 0x1ee7 }),
			 RN_ECN_CE);
	print_message("CNP for a datagram: %u %%\n", ratio);
	assert_in_range(ratio, 1, 100 * LIMIT);
	assert_true(bytes_to(r.p, &flow.src, 0) > 0);
	raw_free(&r);
}

/* QP1 answers a request of any class by one packet of the same length, or not at all. */
static void a_mad_gets_one_of_its_length_at_most(void **state)
{
	struct rn_gsi gsi = { .resp_timeout = 20 };
	struct raw r = raw_new(NULL, RN_QPT_UD, RN_QPS_RTS, NULL);
	struct rn_flow flow = forged_flow(&r, RN_ECN_NOT_ECT);
	unsigned replies = 0;

	(void)state;
	for (unsigned class = 0; class < 256; class ++)
		for (unsigned method = 0; method < 256; method++) {
			uint8_t mad[RN_MAD_LEN] = { 1, (uint8_t) class, 2,
						    (uint8_t)method };
			uint8_t pkt[RN_MTU_MAX * 2];
			struct rn_gsi_mad got;
			uint32_t len = raw_encode(
				&r,
				RAW(.op = RN_UD_SEND_ONLY, .dest_qpn = 1, .payload = mad,
				    .deth = { .qkey = RN_GSI_QKEY, .src_qpn = 1 },
				    .len = sizeof(mad)),
				pkt);

			rn_icrc_seal(&flow, 0, pkt, len - RN_ICRC_LEN);
			assert_int_equal(len, sizeof(got.reply));
			replies += rn_gsi_receive(&gsi, &flow, pkt, len, &got) ==
				   RN_GSI_REPLY;
		}
	assert_true(replies > 0);
	raw_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_opcode_brings_more_than_three_bytes_for_one),
		cmocka_unit_test(a_marked_datagram_gets_one_small_answer),
		cmocka_unit_test(a_mad_gets_one_of_its_length_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
