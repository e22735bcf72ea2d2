/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_net_local.c - which packets go by a ring, and in what order they come. */
#include "local_kit.h"
#include "ring_flood.h"
#include "transport/io/shm/far_copy.h"

static void first_packets_go_by_udp_and_ask_for_a_wire(void **state)
{
	struct world *w = *state;

	assert_int_equal(send_to(w, 1, 1, 1), 0);
	assert_in_socket(w, 1);
	assert_int_equal(w->asked, 1);
	assert_int_equal(w->last.peer_slot, 1);
	assert_memory_equal(&w->last.local, &w->gid[0], sizeof(w->last.local));
	assert_memory_equal(&w->last.peer, &w->peer_gid, sizeof(w->last.peer));
	assert_int_equal(send_to(w, 1, 1, 2), 0); /* asking once is enough */
	assert_in_socket(w, 2);
	assert_int_equal(w->asked, 1);
}

static void packets_to_oneself_and_to_groups_need_no_wire(void **state)
{
	struct world *w = *state;

	w->flow.dst = w->gid[0];
	assert_int_equal(send_to(w, SLOT, 1, 1), 0);
	assert_int_equal(next_number(w), 1);
	w->flow.dst.raw[12] = 239;
	send_to(w, 0xff, 1, 2);
	w->flow.dst = w->peer_gid;
	assert_int_equal(send_to(w, 0, 1, 3), 0); /* rocind */
	assert_int_equal(w->asked, 0);
}

static void packets_go_by_the_ring_once_it_is_there(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	for (uint32_t i = 0; i < 100; i += 3) {
		assert_int_equal(send_to(w, 1, 3, i), 0);
		for (uint32_t k = 0; k < 3; k++)
			assert_in_ring(w, p, i + k);
	}
	assert_true(socket_is_dry(w));
	assert_int_equal(send_to(w, 2, 1, 5), 0); /* another process */
	assert_in_socket(w, 5);
	assert_true(ring_is_dry(w, p));
	assert_int_equal(w->stats[RN_STAT_LOCAL_TX_PACKETS], 102);
	assert_int_equal(w->stats[RN_STAT_LOCAL_TX_BYTES], 102 * LEN);
}

static void what_comes_by_the_ring_has_the_addresses_of_the_wire(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 1);

	peer_sends(w, p, 77);
	assert_int_equal(next_number(w), 77);
	assert_int_equal(w->rx[0].len, LEN);
	assert_int_equal(w->rx[0].gro_idx, 9);
	assert_memory_equal(&w->rx[0].flow->src, &w->peer_gid, sizeof(w->peer_gid));
	assert_memory_equal(&w->rx[0].flow->dst, &w->gid[0], sizeof(w->gid[0]));
	assert_int_equal(w->rx[0].flow->sport, 7);
	assert_int_equal(w->rx[0].flow->tclass, 1);
	assert_int_equal(w->rx[0].flow->hop_limit, 64);
	assert_int_equal(w->rx[0].flow->ifindex, 1);
	assert_int_equal(w->stats[RN_STAT_LOCAL_RX_PACKETS], 1);
	assert_int_equal(w->stats[RN_STAT_LOCAL_RX_BYTES], LEN);
}

static void nothing_is_overtaken_when_a_wire_comes_up(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	uint32_t n;

	for (n = 1; n <= 20; n++)
		peer_sends_by_udp(w, n);
	peer_sends(w, p, n);
	for (uint32_t i = 1; i <= 21; i++)
		assert_int_equal(next_number(w), i);
	/* Afterwards the ring goes first, and the socket is looked at now and then. */
	peer_sends_by_udp(w, 100);
	peer_sends(w, p, 101);
	assert_int_equal(next_number(w), 101);
	assert_int_equal(next_number(w), 100);
}

static void socket_has_its_turn_beside_a_busy_ring(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	unsigned calls = 0;

	peer_sends(w, p, 1);
	assert_int_equal(next_number(w), 1);
	peer_sends_by_udp(w, 2);
	do {
		peer_sends(w, p, 1);
		assert_true(++calls <= 100);
	} while (next_number(w) != 2);
}

static const struct rn_net_ops *udp_ops;
static unsigned looks; /* at the sockets */

static int count_look(void *ctx, struct rn_rx *rx)
{
	looks++;
	return udp_ops->receive(ctx, rx);
}

/* A packet, and a few looks before the next: a message, its answer. */
static void ping_pong_looks_seldom_at_sockets(void **state)
{
	enum {
		TRIPS = 1000,
		VAIN = 10
	};
	struct world *w = *state;
	struct rn_net *udp = rn_udp_net(w->udp);
	struct peer *p = lay(w, 0);
	struct rn_net_ops ops = *udp->ops;

	peer_sends(w, p, 1);
	assert_int_equal(next_number(w), 1);
	udp_ops = udp->ops;
	ops.receive = count_look;
	udp->ops = &ops;
	looks = 0;
	for (unsigned i = 0; i < TRIPS; i++) {
		peer_sends(w, p, i);
		assert_int_equal(next_number(w), i);
		for (unsigned j = 0; j < VAIN; j++)
			assert_int_equal(w->net->ops->receive(w->net->ctx, w->rx), 0);
	}
	udp->ops = udp_ops;
	assert_in_range(looks, TRIPS / 64, TRIPS / 16);
}

/* A packet behind more records than one call looks at is not forgotten, and the packets
 * of another peer need not wait for it.
 */
static void ring_full_of_other_records_holds_nobody_up(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0), *q = lay(w, 1);

	peer_sends(w, p, 1);
	assert_int_equal(next_number(w), 1);
	peer_sends(w, q, 2);
	assert_int_equal(next_number(w), 2);
	ring_flood(&p->send, 1000);
	peer_sends(w, p, 3);
	peer_sends(w, q, 4);
	assert_int_equal(next_number(w), 4);
	assert_int_equal(next_number(w), 3);
}

/* While rings are in use sockets are looked at rarely; the longer those are silent, the
 * more often.
 */
static void silent_rings_leave_the_calls_to_the_sockets(void **state)
{
	static const struct {
		unsigned vain, within; /* calls */
	} silence[] = { { 100, 8 }, { 5000, 1 } };
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	unsigned calls;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(silence); i++) {
		peer_sends(w, p, 1);
		assert_int_equal(next_number(w), 1);
		assert_true(rn_local_is_lively(w->local));
		for (unsigned k = 0; k < silence[i].vain; k++)
			assert_int_equal(w->net->ops->receive(w->net->ctx, w->rx), 0);
		assert_false(rn_local_is_lively(w->local));
		peer_sends_by_udp(w, 2);
		for (calls = 1; w->net->ops->receive(w->net->ctx, w->rx) == 0; calls++)
			assert_true(calls < silence[i].within);
		assert_int_equal(rn_get_be32(w->rx[0].data + 8), 2);
	}
}

static unsigned tries; /* of super-packets by UDP */
static bool udp_is_full;

static int count_try(void *ctx, const struct rn_super *super)
{
	(void)ctx;
	(void)super;
	tries++;
	return udp_is_full ? -EAGAIN : 0;
}

/* Some of it may have left, and would arrive twice. */
static void a_super_packet_begun_by_udp_goes_on_so(void **state)
{
	const struct rn_net_ops ops = { .transmit = count_try };
	struct world *w = *state;
	struct rn_net *udp = rn_udp_net(w->udp);
	struct peer *p;

	udp_ops = udp->ops;
	udp->ops = &ops;
	tries = 0;
	udp_is_full = true;
	assert_int_equal(send_to(w, 1, 3, 1), -EAGAIN);
	p = lay(w, 0);
	assert_int_equal(send_to(w, 1, 3, 1), -EAGAIN);
	udp_is_full = false;
	assert_int_equal(send_to(w, 1, 3, 1), 0);
	assert_int_equal(tries, 3);
	assert_true(ring_is_dry(w, p));
	assert_int_equal(send_to(w, 1, 1, 4), 0); /* the next one */
	assert_int_equal(tries, 3);
	assert_in_ring(w, p, 4);
	udp->ops = udp_ops;
}

static int count_and_find_nothing(void *ctx, struct rn_rx *rx)
{
	(void)ctx;
	(void)rx;
	looks++;
	return -EAGAIN;
}

static void sockets_are_asked_once_by_a_call(void **state)
{
	const struct rn_net_ops ops = { .receive = count_and_find_nothing };
	struct world *w = *state;
	struct rn_net *udp = rn_udp_net(w->udp);
	struct peer *p = lay(w, 0);

	peer_sends(w, p, 1);
	udp_ops = udp->ops;
	udp->ops = &ops;
	for (unsigned i = 0; i < 1000; i++) {
		looks = 0;
		rn_local_look_everywhere(w->local);
		w->net->ops->receive(w->net->ctx, w->rx);
		assert_in_range(looks, 0, 1);
	}
	udp->ops = udp_ops;
}

static void full_ring_holds_back_and_grows(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	uint32_t sent = 0, got = 0, fulls = 0;

	while (got < 600) {
		struct rn_super s = super_to(w, 1, 15, sent);
		int rc = w->net->ops->transmit(w->net->ctx, &s);

		while (rc == -EAGAIN) { /* the same again, once there is space */
			fulls++;
			assert_in_ring(w, p, got++);
			rc = w->net->ops->transmit(w->net->ctx, &s);
		}
		assert_int_equal(rc, 0);
		sent += 15;
	}
	assert_true(fulls > 0);
	assert_true(p->recv.size > RN_RING_SIZE_MIN);
	while (got < sent)
		assert_in_ring(w, p, got++);
	assert_true(ring_is_dry(w, p));
}

/* However a full ring cuts super-packets, whose last packet may be short. */
static void bytes_by_the_ring_are_those_of_its_packets(void **state)
{
	enum {
		COUNT = 7,
		SHORT = 100,
	};
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	struct rn_ring_packet pkt;
	uint64_t bytes = 0;
	unsigned cut = 0;

	for (uint32_t sent = 0; sent < 100 || cut == 0; sent++) {
		struct rn_super s = super_to(w, 1, COUNT, 0);

		s.len -= LEN - SHORT;
		while (w->net->ops->transmit(w->net->ctx, &s) == -EAGAIN) {
			assert_int_equal(w->net->sent,
					 w->stats[RN_STAT_LOCAL_TX_PACKETS] % COUNT);
			cut += w->net->sent != 0;
			bytes += rn_ring_receive(&p->recv, &pkt, 1, w->room, ROOM) == 1
					 ? pkt.len
					 : 0;
		}
	}
	while (rn_ring_receive(&p->recv, &pkt, 1, w->room, ROOM) == 1)
		bytes += pkt.len;
	assert_int_equal(w->stats[RN_STAT_LOCAL_TX_BYTES], bytes);
}

/* Return: it can be built on the wire. */
static bool build_in_place(struct world *w, unsigned slot, uint32_t number)
{
	uint8_t *at = w->net->ops->reserve(w->net->ctx, &w->flow, slot);

	if (!at)
		return false;
	memcpy(at, super_to(w, slot, 1, number).data, LEN);
	w->net->ops->commit(w->net->ctx, &w->flow, LEN);
	return true;
}

static void packets_are_built_in_the_ring(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0), *other = lay(w, 1);
	uint32_t sent = 0, got = 0;

	assert_false(build_in_place(w, 7, 0)); /* nobody's wire */
	assert_true(build_in_place(w, 1, sent++));
	w->net->ops->publish(w->net->ctx);
	assert_in_ring(w, p, got++);
	/* Another destination, or the other way, lets go what was built before. */
	assert_true(build_in_place(w, 1, sent++));
	assert_true(build_in_place(w, 2, 100));
	assert_in_ring(w, p, got++);
	assert_int_equal(send_to(w, 2, 1, 101), 0);
	assert_in_ring(w, other, 100);
	assert_in_ring(w, other, 101);
	/* The peer reads while more is being built. */
	for (; ring_is_dry(w, p); sent++)
		assert_true(build_in_place(w, 1, sent));
	w->net->ops->publish(w->net->ctx);
	for (got++; got < sent; got++)
		assert_in_ring(w, p, got);
	while (build_in_place(w, 1, sent))
		sent++;
	w->net->ops->publish(w->net->ctx);
	for (; got < sent; got++)
		assert_in_ring(w, p, got);
	assert_int_equal(w->stats[RN_STAT_LOCAL_TX_PACKETS], sent + 2);
	assert_int_equal(w->stats[RN_STAT_LOCAL_TX_BYTES], (sent + 2) * LEN);
}

static void what_is_built_in_a_wire_that_ends_ends_with_it(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	/* The first of a burst may be shown at once; the second is not. */
	assert_true(build_in_place(w, 1, 1));
	assert_true(build_in_place(w, 1, 2));
	rn_local_down(w->local, &p->ends, EPIPE);
	w->net->ops->publish(w->net->ctx);
	assert_false(build_in_place(w, 1, 3));
	assert_int_equal(send_to(w, 1, 1, 3), 0);
	assert_in_socket(w, 3);
}

/* Short packets, so that it is not their bytes that show them. */
static void build_burst(struct world *w, unsigned count)
{
	const uint32_t len = 200;

	for (unsigned i = 0; i < count; i++) {
		uint8_t *at = w->net->ops->reserve(w->net->ctx, &w->flow, 1);

		assert_non_null(at);
		memset(at, 0, len);
		w->net->ops->commit(w->net->ctx, &w->flow, len);
	}
}

static unsigned count_in_ring(struct world *w, struct peer *p)
{
	struct rn_ring_packet pkt[RN_RX_BATCH];

	return rn_ring_receive(&p->recv, pkt, RN_RX_BATCH, w->room, sizeof(w->room));
}

static void message_goes_ahead_where_bursts_are_short(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	for (unsigned i = 0; i < 3; i++) {
		build_burst(w, 1);
		assert_int_equal(count_in_ring(w, p), 1);
		build_burst(w, 1);
		assert_int_equal(count_in_ring(w, p), 0);
		w->net->ops->publish(w->net->ctx);
		assert_int_equal(count_in_ring(w, p), 1);
		/* Who sleeps is woken for a message that went ahead, too. */
		rn_doorbell_announce(p->page);
		build_burst(w, 1);
		w->net->ops->publish(w->net->ctx);
		assert_int_equal(eventfd_read(p->event, &(eventfd_t){ 0 }), 0);
		assert_int_equal(count_in_ring(w, p), 1);
	}
	build_burst(w, 1);
	assert_int_equal(count_in_ring(w, p), 1);
	build_burst(w, 9);
	assert_int_equal(count_in_ring(w, p), 0);
	w->net->ops->publish(w->net->ctx);
	assert_int_equal(count_in_ring(w, p), 9);
	build_burst(w, 10);
	assert_int_equal(count_in_ring(w, p), 0);
	w->net->ops->publish(w->net->ctx);
	assert_int_equal(count_in_ring(w, p), 10);
}

/* Packets that are built, in the middle of a burst, before the peer sees any. */
static unsigned built_unseen(struct world *w, struct peer *p)
{
	for (unsigned n = 1; n < 100; n++) {
		assert_true(build_in_place(w, 1, n));
		if (count_in_ring(w, p) > 0)
			return n;
	}
	return 0;
}

static void peer_sees_parts_of_a_burst_and_larger_ones_of_a_stream(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	unsigned few, many;

	use_all(w, p);
	build_burst(w, 10);
	w->net->ops->publish(w->net->ctx);
	while (count_in_ring(w, p) > 0)
		;
	few = built_unseen(w, p);
	assert_in_range(few, 2, 3);
	for (unsigned i = few; i < 40; i++)
		assert_true(build_in_place(w, 1, i));
	w->net->ops->publish(w->net->ctx);
	while (count_in_ring(w, p) > 0)
		;
	many = built_unseen(w, p);
	assert_in_range(many, 3 * few, 5 * few);
}

/* Build a packet where it is not in memory that other processes write, and change the
 * ring while it is not yet sent: the peer gets what was built.
 */
static void build_and_scribble(struct world *w, struct peer *p, uint32_t len)
{
	uint8_t *at = w->net->ops->reserve(w->net->ctx, &w->flow, 1);
	uint8_t *ring = (uint8_t *)(uintptr_t)p->recv.data, want[LEN];
	struct rn_ring_packet pkt;

	assert_non_null(at);
	for (uint32_t i = 0; i < len; i++)
		at[i] = want[i] = (uint8_t)(i * 31 + len);
	for (uint32_t i = 0; i < RN_RING_SIZE_MIN; i++)
		ring[i] ^= 0x55;
	assert_memory_equal(at, want, len);
	w->net->ops->commit(w->net->ctx, &w->flow, len);
	w->net->ops->publish(w->net->ctx);
	assert_int_equal(rn_ring_receive(&p->recv, &pkt, 1, w->room, sizeof(w->room)), 1);
	assert_int_equal(pkt.len, len);
	assert_memory_equal(pkt.data, want, len);
}

static void packets_are_built_where_no_other_process_writes(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	for (unsigned i = 0; i < 50; i++) {
		build_and_scribble(w, p, 100 + i);
		build_and_scribble(w, p, LEN);
		build_and_scribble(w, p, LEN - 4 * i);
		build_and_scribble(w, p, RN_FAR_COPY_MIN);
		build_and_scribble(w, p, RN_FAR_COPY_MIN - 1);
	}
	assert_int_equal(w->stats[RN_STAT_LOCAL_TX_PACKETS], 5 * 50);
}

static void refusal_is_remembered(void **state)
{
	struct world *w = *state;

	assert_int_equal(send_to(w, 1, 1, 1), 0);
	rn_local_down(w->local, &w->last, EOPNOTSUPP);
	for (uint32_t i = 2; i < 10; i++)
		assert_int_equal(send_to(w, 1, 1, i), 0);
	for (uint32_t i = 1; i < 10; i++)
		assert_in_socket(w, i);
	assert_int_equal(w->asked, 1);
}

static void last_descriptors_are_left_to_the_program(void **state)
{
	struct world *w = *state;
	struct rlimit before, now;
	int fd[64];

	lay(w, 0);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(fd); i++)
		assert_true((fd[i] = dup(w->event)) >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	now.rlim_cur = (rlim_t)fd[RN_ARRAY_SIZE(fd) - 1] + 16; /* enough to lay it */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(try_to_lay(w, 1), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(rn_local_wires(w->local), 1);
	assert_int_equal(w->dropped, 1);
	assert_memory_equal(&w->last, &w->peer[1].ends, sizeof(w->last));
	assert_int_equal(try_to_lay(w, 2), 0);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(fd); i++)
		close(fd[i]);
}

static void many_destinations_ask_a_few_at_a_time(void **state)
{
	struct world *w = *state;

	for (unsigned i = 1; i <= 200; i++) {
		assert_int_equal(send_to(w, i, 1, i), 0);
		assert_in_socket(w, i);
	}
	assert_in_range(w->asked, 1, 32);
	kit_now += RN_MSEC(1000);
	assert_int_equal(send_to(w, 201, 1, 0), 0); /* later others have their turn */
	assert_int_equal(w->last.peer_slot, 201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(first_packets_go_by_udp_and_ask_for_a_wire),
		test(packets_to_oneself_and_to_groups_need_no_wire),
		test(packets_go_by_the_ring_once_it_is_there),
		test(what_comes_by_the_ring_has_the_addresses_of_the_wire),
		test(nothing_is_overtaken_when_a_wire_comes_up),
		test(socket_has_its_turn_beside_a_busy_ring),
		test(ping_pong_looks_seldom_at_sockets),
		test(silent_rings_leave_the_calls_to_the_sockets),
		test(a_super_packet_begun_by_udp_goes_on_so),
		test(ring_full_of_other_records_holds_nobody_up),
		test(sockets_are_asked_once_by_a_call),
		test(full_ring_holds_back_and_grows),
		test(bytes_by_the_ring_are_those_of_its_packets),
		test(packets_are_built_in_the_ring),
		test(what_is_built_in_a_wire_that_ends_ends_with_it),
		test(message_goes_ahead_where_bursts_are_short),
		test(peer_sees_parts_of_a_burst_and_larger_ones_of_a_stream),
		test(packets_are_built_where_no_other_process_writes),
		test(refusal_is_remembered),
		test(last_descriptors_are_left_to_the_program),
		test(many_destinations_ask_a_few_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
