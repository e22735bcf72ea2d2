/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_net_local_trim.c - rings that are not used give back their memory. */
#include "local_kit.h"

enum {
	PAGE = 4096,
	PAGES = RN_WIRE_CAPACITY / PAGE,
};

/* Pages of the data of the ring that the device sends by, or (@from_peer) its peer. */
static unsigned resident(const struct peer *p, bool from_peer)
{
	unsigned char in[PAGES];
	unsigned n = 0;

	assert_int_equal(mincore(from_peer ? p->send.data : (void *)p->recv.data,
				 RN_WIRE_CAPACITY, in),
			 0);
	for (unsigned i = 0; i < PAGES; i++)
		n += in[i] & 1;
	return n;
}

static void idle(struct world *w)
{
	assert_true(rn_local_trim_due(w->local) <= kit_now + RN_LOCAL_IDLE);
	kit_now += RN_LOCAL_IDLE;
	rn_local_trim(w->local);
}

static void ring_without_use_gives_back_its_memory(void **state)
{
	struct world *w = *state;
	struct peer *p;
	uint32_t sent;

	assert_true(rn_local_trim_due(w->local) == RN_NEVER);
	p = lay(w, 0);
	sent = use_all(w, p);
	assert_int_equal(resident(p, false), PAGES);
	idle(w);
	assert_int_equal(resident(p, false), PAGES); /* it was in use until just now */
	idle(w);
	assert_int_equal(resident(p, false), 0);
	assert_true(rn_local_trim_due(w->local) == RN_NEVER); /* nothing wakes for it */

	for (unsigned i = 0; i < 3; i++, sent++) {
		assert_int_equal(send_to(w, 1, 1, sent), 0);
		assert_in_ring(w, p, sent);
	}
	assert_int_equal(p->recv.size, RN_RING_SIZE_MIN);
	assert_in_range(resident(p, false), 1, RN_RING_SIZE_MIN / PAGE + 1);
	assert_false(rn_local_trim_due(w->local) == RN_NEVER);
	idle(w);
	idle(w);
	assert_int_equal(resident(p, false), 0);
	use_all(w, p); /* and it can grow once more */
	assert_int_equal(w->dropped, 0);
}

static void packets_that_nobody_has_read_stay(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0), *other = lay(w, 1);

	assert_int_equal(send_to(w, 1, 1, 1), 0);
	assert_int_equal(send_to(w, 2, 1, 2), 0);
	assert_in_ring(w, other, 2);
	assert_true(ring_is_dry(w, other));
	for (unsigned i = 0; i < 4; i++)
		idle(w);
	assert_true(resident(p, false) > 0);
	assert_int_equal(resident(other, false), 0);
	assert_in_ring(w, p, 1);
	assert_true(ring_is_dry(w, p));
	idle(w);
	assert_int_equal(resident(p, false), 0);
}

/* The other direction is the peer's: its packets are read whatever this end does. */
static void ring_of_the_peer_is_left_alone(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	peer_sends(w, p, 1);
	idle(w);
	assert_int_equal(resident(p, false), 0); /* that of the device was never used */
	assert_true(resident(p, true) > 0);
	assert_int_equal(next_number(w), 1);
}

static void packets_are_built_in_a_ring_that_was_away(void **state)
{
	struct world *w = *state;
	struct peer *p = lay(w, 0);

	use_all(w, p);
	for (uint32_t i = 0; i < 40; i++) {
		uint8_t *at;

		idle(w);
		idle(w);
		at = w->net->ops->reserve(w->net->ctx, &w->flow, 1);
		assert_non_null(at);
		memcpy(at, super_to(w, 1, 1, i).data, LEN);
		w->net->ops->commit(w->net->ctx, &w->flow, LEN);
		w->net->ops->publish(w->net->ctx);
		assert_in_ring(w, p, i);
		assert_true(ring_is_dry(w, p));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(ring_without_use_gives_back_its_memory),
		test(packets_that_nobody_has_read_stay),
		test(ring_of_the_peer_is_left_alone),
		test(packets_are_built_in_a_ring_that_was_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
