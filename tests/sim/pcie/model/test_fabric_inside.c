/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fabric_inside.c - writes that wait inside a GPU, and what makes them visible. */
#include "fabric_kit.h"

static struct world w;

static unsigned send_inside(struct rn_tlp tlp)
{
	unsigned t = world_send(&w, tlp);

	while (rn_fabric_tlp(w.f, t)->state != RN_TLP_INSIDE)
		world_move(&w, t);
	return t;
}

static void writes_wait_inside_in_any_order(void **state)
{
	unsigned a, b, c;
	struct rn_tlp same = a_write(GPU0, 3);

	(void)state;
	world_init(&w, "gpu=none");
	a = send_inside(a_write(GPU0, 1));
	b = send_inside(a_write(GPU0, 2));
	same.addr = 64 + 63; /* last byte of 1 and most of 2 */
	c = send_inside(same);
	assert_log(&w, "");
	assert_true(rn_fabric_movable(w.f, b));
	assert_int_equal(rn_fabric_blocker(w.f, c), a);
	world_move(&w, b);
	assert_int_equal(rn_fabric_blocker(w.f, c), a);
	world_force(&w, c);
	assert_log(&w, "2 1 3");
}

static void nothing_waits_inside_of_other_memory_or_an_ordered_gpu(void **state)
{
	(void)state;
	world_init(&w, "gpu=none");
	world_send(&w, a_write(CPU, 1));
	world_send(&w, a_write(NIC1, 2));
	for (unsigned i = 0; i < 4; i++)
		world_move(&w, rn_fabric_oldest(w.f));
	assert_log(&w, "1 2");
	world_init(&w, "gpu=owner");
	world_send(&w, a_write(GPU0, 3));
	for (unsigned i = 0; i < 2; i++)
		world_move(&w, rn_fabric_oldest(w.f));
	assert_log(&w, "3");
}

static void these_empty_the_inside(const struct rn_tlp *tlp, const char *log)
{
	unsigned t;

	world_init(&w, "gpu=none");
	send_inside(a_write(GPU0, 1));
	send_inside(a_write(GPU1, 9));
	send_inside(a_write(GPU0, 2));
	t = world_send(&w, *tlp);
	while (rn_fabric_tlp(w.f, t) && rn_fabric_tlp(w.f, t)->kind != RN_TLP_COMPLETION)
		world_move(&w, t);
	assert_log(&w, log);
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_COUNT + GPU0), RN_TLP_NONE);
	assert_int_not_equal(rn_fabric_first(w.f, RN_QUEUE_COUNT + GPU1), RN_TLP_NONE);
}

static void bar_reads_and_bells_empty_the_inside_of_their_gpu(void **state)
{
	struct rn_tlp atomic = a_read(GPU0, 3);
	const struct rn_tlp read = a_read(GPU0, 3), peer = from(GPU1, read),
			    load = from(CPU, read),
			    bell = with(RN_TLP_BELL, from(CPU, a_write(GPU0, 3)));

	(void)state;
	atomic.kind = RN_TLP_ATOMIC;
	these_empty_the_inside(&read, "1 2 3");
	these_empty_the_inside(&peer, "1 2 3");
	these_empty_the_inside(&load, "1 2 3");
	these_empty_the_inside(&atomic, "1 2 3");
	these_empty_the_inside(&bell, "1 2 3");
}

static void other_arrivals_leave_the_inside_alone(void **state)
{
	unsigned t;

	(void)state;
	world_init(&w, "gpu=none");
	send_inside(a_write(GPU0, 1));
	t = world_send(&w, from(GPU0, a_read(CPU, 2)));
	world_force(&w, t);
	assert_log(&w, "2 2c");
	send_inside(from(CPU, a_write(GPU0, 3)));
	assert_log(&w, "");
	rn_fabric_empty_inside(w.f, &world_ops, &w, GPU0);
	assert_log(&w, "1 3");
}

static void force_goes_on_until_the_gpu_sees_the_write(void **state)
{
	struct rn_tlp again = a_write(GPU0, 3);
	unsigned t;

	(void)state;
	world_init(&w, "gpu=none");
	send_inside(a_write(GPU0, 1));
	send_inside(a_write(GPU0, 2));
	again.addr = 64;
	t = world_send(&w, again);
	world_force(&w, t);
	assert_log(&w, "1 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_wait_inside_in_any_order),
		cmocka_unit_test(nothing_waits_inside_of_other_memory_or_an_ordered_gpu),
		cmocka_unit_test(bar_reads_and_bells_empty_the_inside_of_their_gpu),
		cmocka_unit_test(other_arrivals_leave_the_inside_alone),
		cmocka_unit_test(force_goes_on_until_the_gpu_sees_the_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
