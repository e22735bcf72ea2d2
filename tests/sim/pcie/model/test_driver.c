/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_driver.c - choices: random, adversarial, replayed. */
#include "fabric_kit.h"
#include "sim/pcie/model/driver.h"

enum {
	CHOICES_MAX = 4096,
};

static struct world w;
static struct rn_driver d;

static void begin(const char *knobs, uint64_t seed)
{
	struct rn_pcie_knobs k;

	world_init(&w, knobs);
	k = *rn_fabric_knobs(w.f);
	k.seed = seed;
	rn_driver_init(&d, &k);
}

/* One choice, and its move; false if nothing moves for now. */
static bool step(void)
{
	unsigned index = rn_driver_pick(&d, w.f);

	if (index == RN_TLP_NONE)
		return false;
	world_move(&w, index);
	return true;
}

static void send_some(void)
{
	for (unsigned i = 1; i <= 12; i++) {
		struct rn_tlp t = a_write(i % 2 ? GPU0 : CPU, i);

		world_send(&w, i % 3 ? with(RN_TLP_RO, t) : a_read(CPU, i));
	}
}

/* ---- Random ---- */

static unsigned run_to_the_end(void)
{
	unsigned calls = 0;

	for (; rn_fabric_count(w.f) > 0; calls++) {
		assert_true(calls < 100000);
		step();
	}
	return calls;
}

static void the_same_seed_chooses_the_same(void **state)
{
	static char log[sizeof(w.log)];

	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		unsigned calls;

		begin("typical,gpu=none", seed);
		send_some();
		calls = run_to_the_end();
		memcpy(log, w.log, sizeof(log));
		begin("typical,gpu=none", seed);
		send_some();
		assert_int_equal(run_to_the_end(), calls);
		assert_string_equal(w.log, log);
	}
}

static void both_orders_of_what_is_free_are_seen(void **state)
{
	unsigned first[2] = { 0 };

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		begin("typical", seed);
		world_send(&w, a_write(CPU, 0));
		world_send(&w, with(RN_TLP_RO, a_write(CPU, 1)));
		run_to_the_end();
		first[w.log[0] - '0']++;
	}
	assert_true(first[0] > 20 && first[1] > 20);
}

static void a_late_one_may_overtake_a_whole_queue(void **state)
{
	unsigned overtaken = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		begin("typical", seed);
		for (unsigned i = 1; i <= 8; i++)
			world_send(&w, a_write(CPU, i));
		world_send(&w, with(RN_TLP_RO, a_write(CPU, 9)));
		run_to_the_end();
		overtaken += w.log[0] == '9';
	}
	assert_true(overtaken > 5);
}

/* A stall: one route stands still while a dozen choices go to another. */
static void a_queue_may_stall_while_others_run(void **state)
{
	unsigned stalls = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		begin("typical", seed);
		world_send(&w, a_write(CPU, 9));
		for (unsigned i = 0; i < 6; i++)
			world_send(&w, from(NIC1, a_write(CPU, i)));
		run_to_the_end();
		stalls += strcmp(w.log, "0 1 2 3 4 5 9") == 0;
	}
	assert_true(stalls > 5 && stalls < 195);
}

static void an_empty_fabric_has_no_moves(void **state)
{
	static const char *const modes[] = { "typical", "adversarial" };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(modes); i++) {
		begin(modes[i], 1);
		assert_int_equal(rn_driver_pick(&d, w.f), RN_TLP_NONE);
	}
}

/* ---- Adversarial ---- */

static void run_while_it_moves(void)
{
	for (unsigned i = 0; step(); i++)
		assert_true(i < 10000);
}

static void data_alone_does_not_move(void **state)
{
	(void)state;
	begin("adversarial", 1);
	for (unsigned i = 0; i < 5; i++)
		world_send(&w, with(RN_TLP_DATA, a_write(i % 2 ? GPU0 : CPU, i)));
	world_send(&w, from(CPU, a_write(GPU0, 6)));
	assert_false(step());
	assert_int_equal(w.moved, 0);
}

static void a_cqe_pushes_the_data_of_its_route_only(void **state)
{
	(void)state;
	begin("adversarial", 1);
	world_send(&w, with(RN_TLP_DATA, a_write(CPU, 1)));
	world_send(&w, with(RN_TLP_DATA, a_write(GPU0, 2)));
	world_send(&w, with(RN_TLP_CQE, a_write(CPU, 3)));
	run_while_it_moves();
	world_send(&w, with(RN_TLP_DATA, a_write(CPU, 4)));
	run_while_it_moves();
	assert_log(&w, "1 3");
	assert_int_equal(rn_fabric_count(w.f), 2);
}

/* Both completions wait until the NIC is done sending; what is first is there last. */
static void data_before_completions_is_placed_from_its_end(void **state)
{
	(void)state;
	begin("adversarial", 1);
	d.is_sending = true;
	for (unsigned i = 1; i <= 5; i += 2) {
		world_send(&w, with(RN_TLP_DATA, a_write(CPU, i)));
		world_send(&w, with(RN_TLP_CQE, a_write(CPU, i + 1)));
		assert_false(step());
	}
	d.is_sending = false;
	run_while_it_moves();
	assert_log(&w, "5 3 1 2 4 6");
}

static void data_that_reached_a_gpu_stays_inside(void **state)
{
	unsigned data;

	(void)state;
	begin("adversarial,ports=same", 1);
	data = world_send(&w, with(RN_TLP_DATA, a_write(GPU0, 1)));
	world_send(&w, with(RN_TLP_BELL, from(CPU, a_write(GPU1, 2))));
	world_move(&w, data);
	world_move(&w, data);
	world_move(&w, data);
	assert_int_equal(rn_fabric_tlp(w.f, data)->state, RN_TLP_INSIDE);
	run_while_it_moves();
	assert_log(&w, "2");
	world_send(&w, with(RN_TLP_BELL, from(CPU, a_write(GPU0, 3))));
	run_while_it_moves();
	assert_log(&w, "1 3");
}

static void the_youngest_that_is_wanted_goes_first(void **state)
{
	(void)state;
	begin("adversarial", 1);
	world_send(&w, a_read(CPU, 1));
	world_send(&w, from(NIC1, a_read(CPU, 2)));
	world_send(&w, a_read(CPU, 3));
	run_while_it_moves();
	assert_log(&w, "3 3c 2 2c 1 1c");
}

/* ---- Replay ---- */

static void a_replay_makes_the_same_moves(void **state)
{
	static uint16_t choices[CHOICES_MAX];
	static char log[sizeof(w.log)];
	unsigned n = 0;

	(void)state;
	begin("typical,gpu=none", 42);
	send_some();
	for (; rn_fabric_count(w.f) > 0; n++) {
		assert_true(n < CHOICES_MAX);
		choices[n] = (uint16_t)rn_driver_pick(&d, w.f);
		if (choices[n] != RN_TLP_NONE)
			world_move(&w, choices[n]);
	}
	memcpy(log, w.log, sizeof(log));
	begin("typical,gpu=none", 1);
	rn_driver_replay(&d, choices, n);
	send_some();
	assert_int_equal(run_to_the_end(), n);
	assert_string_equal(w.log, log);
	world_send(&w, a_write(CPU, 1));
	assert_int_equal(rn_driver_pick(&d, w.f), RN_TLP_NONE);
}

static void a_choice_that_is_not_possible_waits(void **state)
{
	uint16_t choices[2];
	unsigned a, b;

	(void)state;
	begin("typical", 1);
	a = world_send(&w, a_write(CPU, 1));
	b = world_send(&w, a_write(CPU, 2));
	choices[0] = (uint16_t)b;
	choices[1] = WORLD_TLPS + 5;
	rn_driver_replay(&d, choices, 2);
	assert_false(step());
	world_force(&w, a);
	assert_true(step());
	assert_false(step());
	assert_int_equal(d.choice_next, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_seed_chooses_the_same),
		cmocka_unit_test(both_orders_of_what_is_free_are_seen),
		cmocka_unit_test(a_late_one_may_overtake_a_whole_queue),
		cmocka_unit_test(a_queue_may_stall_while_others_run),
		cmocka_unit_test(an_empty_fabric_has_no_moves),
		cmocka_unit_test(data_alone_does_not_move),
		cmocka_unit_test(a_cqe_pushes_the_data_of_its_route_only),
		cmocka_unit_test(data_before_completions_is_placed_from_its_end),
		cmocka_unit_test(data_that_reached_a_gpu_stays_inside),
		cmocka_unit_test(the_youngest_that_is_wanted_goes_first),
		cmocka_unit_test(a_replay_makes_the_same_moves),
		cmocka_unit_test(a_choice_that_is_not_possible_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
