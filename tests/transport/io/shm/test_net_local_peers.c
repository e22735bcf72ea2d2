/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_net_local_peers.c - peers that sleep, stop, die or lie. */
#include "local_kit.h"
#include "rocin/icrc.h"
#include "tests/kit/system/descriptors.h"

#include "transport/io/shm/ring_layout.h"

static void peer_that_does_not_read_is_waited_for_only_so_long(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0), *other = lay(w, 1);

	while (send_to(w, 1, 1, 1) == 0)
		;
	kit_now += RN_LOCAL_PATIENCE - 1;
	assert_int_equal(send_to(w, 1, 1, 1), -EAGAIN);
	kit_now++;
	assert_int_equal(send_to(w, 1, 1, 4), 0);
	assert_in_socket(w, 4);
	assert_int_equal(send_to(w, 1, 1, 5), 0); /* no wait any more */
	assert_in_socket(w, 5);
	assert_int_equal(send_to(w, 2, 1, 9), 0);
	assert_in_ring(w, other, 9);
	while (!ring_is_dry(w, p))
		;
	assert_int_equal(send_to(w, 1, 1, 3), 0); /* it reads again */
	assert_in_ring(w, p, 3);
	assert_int_equal(w->dropped, 0);
}

/* Send as often as that if it goes. Return: of the last one. */
static int send_often(struct world *w, unsigned times)
{
	int rc = 0;

	for (unsigned i = 0; i < times && rc == 0; i++)
		rc = send_to(w, 1, 1, 1);
	return rc;
}

static void a_peer_that_reads_a_little_is_not_waited_for_anew(void **state)
{
	enum {
		MANY = 1000 /* more than the ring has space for */
	};
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	assert_int_equal(send_often(w, MANY), -EAGAIN);
	kit_now += RN_LOCAL_PATIENCE;
	assert_int_equal(send_to(w, 1, 1, 1), 0);
	assert_in_socket(w, 1);
	assert_in_ring(w, p, 1);
	assert_int_equal(send_often(w, 20), 0);
	/* Once it has read all it is one like others. */
	while (!ring_is_dry(w, p))
		;
	for (uint32_t i = 2; i < 4; i++) {
		assert_int_equal(send_to(w, 1, 1, i), 0);
		assert_in_ring(w, p, i);
	}
	assert_int_equal(send_often(w, MANY), -EAGAIN);
}

struct held {
	unsigned peers;
	struct rn_rocind_ends ends;
	uint64_t taken;
};

static void holds(void *ctx, const struct rn_rocind_ends *ends, uint64_t taken)
{
	struct held *h = ctx;

	h->peers++;
	h->ends = *ends;
	h->taken = taken;
}

static struct held look(struct world *w)
{
	struct held h = { 0 };

	rn_local_who_holds(w->local, holds, &h);
	return h;
}

static void who_has_something_unread_holds_it(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	struct held before, after;

	lay(w, 1);
	assert_int_equal(look(w).peers, 0);
	assert_int_equal(send_to(w, 1, 1, 1), 0);
	before = look(w);
	assert_int_equal(before.peers, 1);
	assert_memory_equal(&before.ends, &p->ends, sizeof(p->ends));
	assert_int_equal(look(w).taken, before.taken); /* stopped, say */
	assert_in_ring(w, p, 1);
	assert_int_equal(look(w).peers, 0); /* all is read */
	assert_int_equal(send_to(w, 1, 1, 2), 0);
	after = look(w);
	assert_int_equal(after.peers, 1);
	assert_true(after.taken > before.taken);
}

/* Whoever ends holds nothing, and nor does who breaks the rules. */
static void who_has_gone_holds_nothing(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0), *liar = lay(w, 1);

	assert_int_equal(send_to(w, 1, 1, 1), 0);
	assert_int_equal(send_to(w, 2, 1, 1), 0);
	assert_int_equal(look(w).peers, 2);
	rn_ring_recv_close(&p->recv);
	assert_int_equal(look(w).peers, 1);
	atomic_store(&liar->recv.shared->head, UINT64_C(1) << 40);
	assert_int_equal(look(w).peers, 0);
}

/* A QP that is destroyed has acknowledged what it has received, full ring or not. */
static void last_words_go_by_udp_if_the_ring_is_full(void **state)
{
	struct world *w = *state;

	lay(w, 0);
	while (send_to(w, 1, 1, 1) == 0)
		;
	assert_int_equal(send_to(w, 1, 1, 7), -EAGAIN);
	rn_local_hurry(w->local, true);
	assert_int_equal(send_to(w, 1, 1, 7), 0);
	assert_in_socket(w, 7);
	rn_local_hurry(w->local, false);
	assert_int_equal(send_to(w, 1, 1, 8), -EAGAIN);
}

/* The packet with this number has come by UDP, sealed for identification 0. */
static void assert_sealed_in_socket(struct world *w, uint32_t number)
{
	struct rn_super s = super_to(w, 1, 1, number);
	uint8_t sealed[LEN];

	assert_in_socket(w, number);
	memcpy(sealed, s.data, LEN);
	rn_icrc_seal(s.flow, 0, sealed, LEN - RN_ICRC_LEN);
	assert_memory_equal(w->room + LEN - RN_ICRC_LEN, sealed + LEN - RN_ICRC_LEN,
			    RN_ICRC_LEN);
}

/* Fill the ring until it has taken some of three packets, but not all. Return: the number
 * of the first of the three.
 */
static uint32_t fill_up_within_three(struct world *w, struct peer *p)
{
	const uint64_t *in_ring = &w->stats[RN_STAT_LOCAL_TX_PACKETS];
	uint32_t n = 0;

	while (*in_ring % 3 == 0) { /* the refused one has not got in at all */
		if (send_to(w, 1, 3, n) == 0)
			n += 3;
		else if (*in_ring % 3 == 0)
			ring_is_dry(w, p); /* space for one or more */
	}
	return n;
}

/* Of three packets those that are not in the ring leave by UDP, and no packet leaves
 * twice; the next ones begin with their first.
 */
static void only_the_rest_is_hurried_past_a_full_ring(void **state)
{
	struct world *w = *state;
	const uint64_t *in_ring = &w->stats[RN_STAT_LOCAL_TX_PACKETS];
	struct peer *p = lay(w, 0);
	uint32_t n = fill_up_within_three(w, p);

	assert_false(w->net->is_alone);
	rn_local_hurry(w->local, true);
	assert_int_equal(send_to(w, 1, 3, n), 0);
	/* A capture learns which ones are not as they were built. */
	assert_true(w->net->is_alone);
	assert_int_equal(n + w->net->alone_at, *in_ring);
	for (uint32_t i = (uint32_t)*in_ring; i < n + 3; i++)
		assert_sealed_in_socket(w, i);
	assert_true(socket_is_dry(w));
	rn_local_hurry(w->local, false);
	while (!ring_is_dry(w, p))
		;
	assert_int_equal(send_to(w, 1, 3, 1000), 0);
	assert_false(w->net->is_alone);
	for (uint32_t i = 0; i < 3; i++)
		assert_in_ring(w, p, 1000 + i);
	assert_true(ring_is_dry(w, p));
}

static const struct rn_net_ops *real_ops;
static uint32_t sent_by_udp[8];
static unsigned sent_count, refusals;

static int refuse_then_note(void *ctx, const struct rn_super *super)
{
	(void)ctx;
	if (refusals > 0) {
		refusals--;
		return -EAGAIN;
	}
	assert_int_equal(super->count, 1);
	sent_by_udp[sent_count++] = rn_get_be32(super->data + 8);
	return 0;
}

/* The socket is full as well. */
static void the_rest_goes_on_where_the_socket_was_full(void **state)
{
	const struct rn_net_ops ops = { .transmit = refuse_then_note };
	struct world *w = *state;
	const uint64_t *in_ring = &w->stats[RN_STAT_LOCAL_TX_PACKETS];
	struct peer *p = lay(w, 0);
	uint32_t n = fill_up_within_three(w, p), first;
	struct rn_net *udp = rn_udp_net(w->udp);

	first = (uint32_t)*in_ring;
	real_ops = udp->ops;
	udp->ops = &ops;
	sent_count = 0;
	refusals = 2;
	rn_local_hurry(w->local, true);
	assert_int_equal(send_to(w, 1, 3, n), -EAGAIN);
	assert_int_equal(n + w->net->sent, *in_ring);
	rn_local_hurry(w->local, false);
	while (!ring_is_dry(w, p)) /* what was begun by UDP goes on so */
		;
	assert_int_equal(send_to(w, 1, 3, n), -EAGAIN);
	assert_int_equal(send_to(w, 1, 3, n), 0);
	udp->ops = real_ops;
	assert_int_equal(sent_count, n + 3 - first);
	for (unsigned i = 0; i < sent_count; i++)
		assert_int_equal(sent_by_udp[i], first + i);
	assert_true(ring_is_dry(w, p));
	assert_int_equal(send_to(w, 1, 1, 1000), 0);
	assert_in_ring(w, p, 1000);
}

/* Addresses of what both ends write. */
static struct rn_ring_shared *ring_of(struct peer *p, bool from_peer)
{
	return from_peer ? p->send.shared : p->recv.shared;
}

static void peer_that_lies_about_its_tail_loses_the_wire(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	assert_int_equal(send_to(w, 1, 1, 1), 0);
	atomic_store(&ring_of(p, true)->tail, UINT64_C(1) << 40);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(w->net->ops->receive(w->net->ctx, w->rx), 0);
	assert_int_equal(w->dropped, 1);
	assert_int_equal(w->stats[RN_STAT_LOCAL_SPOILT], 1);
	assert_int_equal(rn_local_wires(w->local), 0);
	assert_int_equal(send_to(w, 1, 1, 2), 0); /* by UDP from now on, for ever */
	assert_in_socket(w, 2);
	assert_int_equal(w->asked, 0);
}

static void peer_that_lies_about_its_head_loses_the_wire(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	int rc = 0;

	assert_int_equal(send_to(w, 1, 1, 1), 0);
	atomic_store(&ring_of(p, false)->head, UINT64_C(12345));
	for (unsigned i = 0; i < 100 && rc == 0; i++)
		rc = send_to(w, 1, 1, i);
	assert_int_equal(rc, -EPIPE);
	assert_int_equal(w->dropped, 1);
	assert_int_equal(rn_local_wires(w->local), 0);
	assert_int_equal(send_to(w, 1, 1, 50), 0);
	assert_in_socket(w, 50);
}

static void what_a_dead_peer_has_sent_is_still_received(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	peer_sends(w, p, 1);
	peer_sends(w, p, 2);
	rn_local_down(w->local, &p->ends, 0);
	assert_int_equal(next_number(w), 1);
	assert_int_equal(send_to(w, 1, 1, 9), 0);
	assert_in_socket(w, 9);
	while (w->net->ops->receive(w->net->ctx, w->rx) > 0)
		;
	assert_int_equal(rn_local_wires(w->local), 0);
	lay(w, 0); /* the next owner of that slot */
	assert_int_equal(rn_local_wires(w->local), 1);
	assert_int_equal(send_to(w, 1, 1, 3), 0);
	assert_in_ring(w, &w->peer[0], 3);
}

/* It reads nothing any more, and its last acknowledgements are on the way to us. */
static void what_a_peer_sent_before_it_left_outlives_a_full_ring(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	int rc;

	peer_sends(w, p, 1);
	peer_sends(w, p, 2);
	rn_ring_send_close(&p->send);
	rn_ring_recv_close(&p->recv);
	do
		rc = send_to(w, 1, 1, 1);
	while (rc == 0);
	assert_int_equal(rc, -EPIPE);
	assert_int_equal(send_to(w, 1, 1, 9), 0); /* nobody is there, as far as we know */
	assert_in_socket(w, 9);
	assert_int_equal(next_number(w), 1);
	while (w->net->ops->receive(w->net->ctx, w->rx) > 0)
		;
	assert_int_equal(w->stats[RN_STAT_LOCAL_RX_PACKETS], 2);
	assert_int_equal(rn_local_wires(w->local), 0);
	assert_int_equal(w->dropped, 0);
}

/* Send until a wire is asked for. Return: how long that took. */
static rn_ns until_asked(struct world *w)
{
	unsigned before = w->asked;
	rn_ns start = kit_now;

	while (w->asked == before) {
		assert_true(kit_now - start < RN_MSEC(1000000));
		kit_now += RN_MSEC(10);
		assert_int_equal(send_to(w, 1, 1, 7), 0);
		assert_in_socket(w, 7);
	}
	return kit_now - start;
}

/* The flag is in memory that the peer writes; rocind has heard nothing. */
static void wire_that_is_lost_is_asked_for_ever_more_rarely(void **state)
{
	static const unsigned seconds[] = { 1, 2, 4, 8, 16, 32, 64, 64 };
	struct world *w = *state;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(seconds); i++) {
		struct peer *p = lay(w, 0);

		assert_int_equal(send_to(w, 1, 1, 1), 0);
		assert_in_ring(w, p, 1);
		if (i % 2) {
			peer_sends(w, p, i); /* or it would not be looked at yet */
			assert_int_equal(next_number(w), i);
			atomic_store(&ring_of(p, true)->send_closed, 1);
			assert_int_equal(w->net->ops->receive(w->net->ctx, w->rx), 0);
		} else {
			int rc = 0;

			atomic_store(&ring_of(p, false)->recv_closed, 1);
			while (rc == 0)
				rc = send_to(w, 1, 1, 1);
			assert_int_equal(rc, -EPIPE);
			assert_int_equal(w->net->ops->receive(w->net->ctx, w->rx), 0);
		}
		assert_int_equal(rn_local_wires(w->local), 0);
		assert_int_equal(until_asked(w), RN_MSEC(1000) * seconds[i]);
		assert_int_equal(w->asked_lost, i + 1);
		assert_int_equal(w->stats[RN_STAT_LOCAL_RENEWED], i + 1);
	}
	assert_int_equal(w->dropped, 0);
	/* No answer: rocind had just made one, says that of the other end. */
	assert_true(until_asked(w) > RN_MSEC(10000));
	assert_int_equal(w->asked_lost, RN_ARRAY_SIZE(seconds) + 1);
}

/* Then it was none of the peer's tricks. */
static void wire_of_a_peer_that_left_is_not_lost(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	assert_int_equal(send_to(w, 1, 1, 1), 0);
	assert_in_ring(w, p, 1);
	peer_sends(w, p, 2);
	assert_int_equal(next_number(w), 2);
	atomic_store(&ring_of(p, true)->send_closed, 1);
	assert_int_equal(w->net->ops->receive(w->net->ctx, w->rx), 0);
	rn_local_down(w->local, &p->ends, 0);
	assert_int_equal(until_asked(w), RN_MSEC(1000));
	assert_int_equal(w->asked_lost, 0);
	assert_int_equal(w->stats[RN_STAT_LOCAL_RENEWED], 0);
}

static void sleeper_is_woken(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);
	struct pollfd pfd = { .fd = rn_local_event_fd(w->local), .events = POLLIN };
	eventfd_t count;

	assert_int_equal(w->net->ops->receive(w->net->ctx, w->rx), 0);
	assert_true(rn_local_announce(w->local));
	assert_int_equal(poll(&pfd, 1, 0), 0);
	peer_sends(w, p, 1);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_int_equal(eventfd_read(pfd.fd, &count), 0);
	assert_false(rn_local_announce(w->local)); /* it waits to be read */
	peer_sends(w, p, 1);
	assert_int_equal(poll(&pfd, 1, 0), 0); /* nobody need wake us */
	assert_int_equal(next_number(w), 1);
	assert_int_equal(w->net->ops->receive(w->net->ctx, w->rx), 0);
	assert_true(rn_local_announce(w->local));
	rn_local_awake(w->local);
	peer_sends(w, p, 2); /* who is awake is left alone */
	assert_int_equal(poll(&pfd, 1, 0), 0);

	/* And we wake a peer that sleeps. */
	rn_doorbell_announce(p->page);
	assert_int_equal(send_to(w, 1, 1, 1), 0);
	assert_int_equal(eventfd_read(p->event, &count), 0);
}

static void descriptors_of_a_wire_are_closed_with_it(void **state)
{
	enum {
		TESTS_OWN = 1 /* of each peer */
	};
	struct world *w = *state;
	unsigned before;

	lay(w, 0); /* with which the doorbell comes */
	before = count_descriptors();
	for (unsigned i = 1; i < 6; i++) {
		lay(w, i);
		/* One to wake it by. */
		assert_int_equal(count_descriptors(), before + TESTS_OWN * i + 1);
		rn_local_down(w->local, &w->peer[i].ends, EPIPE);
		assert_int_equal(count_descriptors(), before + TESTS_OWN * i);
	}
}

static void many_wires_are_found_by_the_doorbell(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < PEERS; i++)
		lay(w, i);
	for (uint32_t n = 0; n < 300; n++) {
		peer_sends(w, &w->peer[n % PEERS], n);
		assert_int_equal(next_number(w), n);
	}
	/* A peer that clears the others' bits delays them, no more. */
	peer_sends(w, &w->peer[7], 1000);
	memset(w->page, 0, RN_DOORBELL_BYTES);
	assert_int_equal(next_number(w), 1000);
	for (unsigned i = 0; i < PEERS; i++)
		peer_sends(w, &w->peer[i], i);
	for (unsigned i = 0; i < PEERS; i++)
		next_number(w);
	assert_int_equal(w->net->ops->receive(w->net->ctx, w->rx), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(peer_that_does_not_read_is_waited_for_only_so_long),
		test(a_peer_that_reads_a_little_is_not_waited_for_anew),
		test(who_has_something_unread_holds_it),
		test(who_has_gone_holds_nothing),
		test(last_words_go_by_udp_if_the_ring_is_full),
		test(only_the_rest_is_hurried_past_a_full_ring),
		test(the_rest_goes_on_where_the_socket_was_full),
		test(peer_that_lies_about_its_tail_loses_the_wire),
		test(peer_that_lies_about_its_head_loses_the_wire),
		test(what_a_dead_peer_has_sent_is_still_received),
		test(what_a_peer_sent_before_it_left_outlives_a_full_ring),
		test(wire_that_is_lost_is_asked_for_ever_more_rarely),
		test(wire_of_a_peer_that_left_is_not_lost),
		test(sleeper_is_woken),
		test(descriptors_of_a_wire_are_closed_with_it),
		test(many_wires_are_found_by_the_doorbell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
