/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_world_memory.c - accesses to memory that a world does not let pass. */
#include "world_kit.h"

enum {
	LEN = 64, /* of a slot */
};

static uint32_t take(struct rn_world *w, const struct rn_w_end *e, enum rn_w_use use)
{
	return rn_w_slot_take(&w->device[e->dev], use, e->qpn, LEN, KIT_PATTERN);
}

static void bounds(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 1);
	rn_iova at = rn_w_slot_address(&w->device[1], take(w, e, RN_W_RECV));

	kit_write(w, e, at - 1, 0, 2);
	kit_assert_says(w, "of which");
	kit_write(w, e, at + LEN - 1, 0, 2);
	kit_assert_says(w, "of which");
	kit_write(w, e, at + LEN - 2, 0, 2);
	kit_assert_says(w, "");
	kit_write(w, e, at, 0, 2);
	kit_assert_says(w, "");
	kit_write(w, e, RN_W_BASE + sizeof(w->device[1].memory), 0, 2);
	kit_assert_says(w, "where nothing is");
}

static void a_write_stays_within_its_buffer(void **state)
{
	(void)state;
	kit_in_plain_world(bounds);
}

static void owners(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 1);
	struct rn_w_device *d = &w->device[1];
	uint32_t slot = take(w, e, RN_W_RECV);
	uint32_t qpn = e->qpn;

	e->qpn++;
	kit_write(w, e, rn_w_slot_address(d, slot), 0, 8);
	kit_assert_says(w, "which it is not open for");
	d->slot[slot].qpn = 0; /* for all of them, as that of an SRQ */
	kit_write(w, e, rn_w_slot_address(d, slot), 0, 8);
	kit_assert_says(w, "");
	e->qpn = qpn;
	slot = take(w, e, RN_W_SOURCE);
	kit_write(w, e, rn_w_slot_address(d, slot), 0, 8);
	kit_assert_says(w, "which it is not open for");
}

static void a_buffer_is_open_for_its_queue_pair_and_use(void **state)
{
	(void)state;
	kit_in_plain_world(owners);
}

static void once(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 1);
	rn_iova at = rn_w_slot_address(&w->device[1], take(w, e, RN_W_TARGET));

	kit_write(w, e, at, 0, LEN / 2);
	kit_write(w, e, at + LEN / 2, LEN / 2, LEN / 2);
	kit_assert_says(w, "");
	kit_write(w, e, at, 0, 1);
	kit_assert_says(w, "more than once");
	w->plan.pair[0].type = RN_QPT_UC;
	kit_write(w, e, at, 0, 1);
	kit_assert_says(w, "");
	w->plan.pair[0].type = RN_QPT_RC;
}

static void what_is_reliable_is_written_once(void **state)
{
	(void)state;
	kit_in_plain_world(once);
}

static void bytes(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 1);
	rn_iova at = rn_w_slot_address(&w->device[1], take(w, e, RN_W_TARGET));

	kit_write(w, e, at + 3, 4, 9);
	kit_assert_says(w, "they are not those of the source");
	kit_write(w, e, at + 3, 3, 9);
	kit_assert_says(w, "");
}

static void a_write_brings_the_bytes_of_its_source(void **state)
{
	(void)state;
	kit_in_plain_world(bytes);
}

static enum rn_mem_result read_slot(struct rn_world *w, const struct rn_w_end *e,
				    uint32_t slot)
{
	struct rn_w_device *d = &w->device[e->dev];
	const struct rn_mem_attr attr = { .qpn = e->qpn };
	uint8_t to[LEN];

	return rn_w_mem_now.read(d, to, rn_w_slot_address(d, slot), LEN, attr, 0);
}

static void ended(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 1);
	struct rn_w_slot *slot = w->device[1].slot;
	uint32_t far = take(w, e, RN_W_FETCHED), own = take(w, e, RN_W_SOURCE);

	assert_int_equal(read_slot(w, e, far), RN_MEM_DONE);
	assert_int_equal(read_slot(w, e, own), RN_MEM_DONE);
	kit_assert_says(w, "");
	rn_w_slot_close(&w->device[1], far);
	assert_int_equal(read_slot(w, e, far), RN_MEM_DONE); /* a READ that comes twice */
	kit_assert_says(w, "");
	slot[far].use = RN_W_ENDED;
	assert_int_equal(read_slot(w, e, far), RN_MEM_FAULT);
	kit_assert_says(w, "which it is not open for");
	slot[own].use = RN_W_ENDED;
	assert_int_equal(read_slot(w, e, own), RN_MEM_FAULT);
	kit_assert_says(w, "which it is not open for");
}

static void memory_whose_key_has_ended_is_not_read(void **state)
{
	(void)state;
	kit_in_plain_world(ended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_stays_within_its_buffer),
		cmocka_unit_test(a_buffer_is_open_for_its_queue_pair_and_use),
		cmocka_unit_test(what_is_reliable_is_written_once),
		cmocka_unit_test(a_write_brings_the_bytes_of_its_source),
		cmocka_unit_test(memory_whose_key_has_ended_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
