/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_net_local_no_icrc.c - packets without ICRC, where both ends accept them. */
#include "local_kit.h"

#include "rocin/icrc.h"

static const uint8_t none[RN_ICRC_LEN];

/* One packet to the first peer, built on the wire as the stage does; out of its ring. */
static struct rn_ring_packet built_packet(struct world *w)
{
	uint8_t *at = w->net->ops->reserve(w->net->ctx, &w->flow, 1);
	struct rn_ring_packet pkt;

	assert_non_null(at);
	memcpy(at, super_to(w, 1, 1, 3).data, LEN);
	if (w->net->no_icrc)
		memset(at + LEN - RN_ICRC_LEN, 0, RN_ICRC_LEN);
	else
		rn_icrc_seal(&w->flow, 0, at, LEN - RN_ICRC_LEN);
	w->net->ops->commit(w->net->ctx, &w->flow, LEN);
	w->net->ops->publish(w->net->ctx);
	assert_int_equal(rn_ring_receive(&w->peer[0].recv, &pkt, 1, w->room, ROOM), 1);
	assert_int_equal(pkt.len, LEN);
	return pkt;
}

/* One packet of 4 KiB without ICRC from the first peer, whatever was agreed. */
static struct rn_rx packet_without_icrc_from_peer(struct world *w)
{
	const struct rn_ring_meta meta = { .sport = 7, .flags = RN_RING_NO_ICRC | 0x40 };
	struct rn_super s = super_to(w, SLOT, 1, 5);
	struct peer *p = &w->peer[0];

	memset(w->data + LEN - RN_ICRC_LEN, 0, RN_ICRC_LEN);
	assert_int_equal(rn_ring_send(&p->send, &meta, s.data, s.len), 0);
	assert_true(rn_ring_publish(&p->send));
	assert_int_equal(next_number(w), 5);
	return w->rx[0];
}

static enum rn_icrc_verdict verdict(const struct rn_rx *rx)
{
	return rn_icrc_check_with(NULL, rx->flow, rx->data, rx->len, rx->gro_idx, true,
				  &rx->part);
}

static bool is_blank(const struct rn_rx *rx)
{
	return memcmp(rx->data + rx->len - RN_ICRC_LEN, none, RN_ICRC_LEN) == 0;
}

static void packets_have_icrcs_unless_agreed(void **state)
{
	struct world *w = *state;
	struct rn_ring_packet pkt;

	lay(w, 0);
	pkt = built_packet(w);
	assert_int_equal(pkt.meta.flags, 0);
	assert_int_equal(
		rn_icrc_check_with(NULL, &w->flow, pkt.data, pkt.len, 0, true, &pkt.part),
		RN_ICRC_OK);
	assert_int_equal(w->stats[RN_STAT_LOCAL_TX_NO_ICRC], 0);
}

static void packets_lack_icrc_once_agreed(void **state)
{
	struct world *w = *state;
	struct rn_ring_packet pkt;
	struct rn_rx rx;

	w->no_icrc = true;
	lay(w, 0);
	pkt = built_packet(w);
	assert_int_equal(pkt.meta.flags, RN_RING_NO_ICRC);
	assert_memory_equal(pkt.data + LEN - RN_ICRC_LEN, none, RN_ICRC_LEN);
	assert_int_equal(pkt.part.len, 0);
	assert_int_equal(w->stats[RN_STAT_LOCAL_TX_NO_ICRC], 1);
	rx = packet_without_icrc_from_peer(w);
	assert_int_equal(rx.icrc, RN_RX_ICRC_NONE);
	assert_true(is_blank(&rx));
	/* What is not built in place has one, and is judged by it. */
	assert_int_equal(send_to(w, 1, 1, 4), 0);
	assert_int_equal(rn_ring_receive(&w->peer[0].recv, &pkt, 1, w->room, ROOM), 1);
	assert_int_equal(pkt.meta.flags, 0);
	peer_sends(w, &w->peer[0], 6);
	assert_int_equal(next_number(w), 6);
	assert_int_equal(w->rx[0].icrc, RN_RX_ICRC_EXACT);
}

static void packet_without_icrc_from_who_has_not_agreed_has_a_wrong_icrc(void **state)
{
	struct world *w = *state;
	struct rn_rx rx;

	lay(w, 0);
	for (unsigned seals = 0; seals < 2; seals++) {
		rn_local_seal(w->local, seals);
		rx = packet_without_icrc_from_peer(w);
		assert_int_equal(rx.icrc, RN_RX_ICRC_EXACT);
		assert_int_equal(verdict(&rx), RN_ICRC_BAD);
	}
}

static void who_looks_at_packets_sees_icrcs(void **state)
{
	struct world *w = *state;
	struct rn_rx rx;

	w->no_icrc = true;
	lay(w, 0);
	rn_local_seal(w->local, true);
	rx = packet_without_icrc_from_peer(w);
	assert_false(is_blank(&rx));
	assert_int_equal(rx.icrc, RN_RX_ICRC_EXACT);
	assert_int_equal(verdict(&rx), RN_ICRC_OK);
	rn_local_seal(w->local, false);
	rx = packet_without_icrc_from_peer(w);
	assert_int_equal(rx.icrc, RN_RX_ICRC_NONE);
	assert_true(is_blank(&rx));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(packets_have_icrcs_unless_agreed),
		test(packets_lack_icrc_once_agreed),
		test(packet_without_icrc_from_who_has_not_agreed_has_a_wrong_icrc),
		test(who_looks_at_packets_sees_icrcs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
