/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_policy.c - properties of the hand-over between programs and background
 * threads that must hold for all programs and machines. Runs random programs on random
 * machines in virtual time, as a seed decides.
 *
 * - No packet waits for longer than a lease and a wake-up.
 * - A lease ends when the program stops polling.
 * - An engine without packets and without polls wakes up no more.
 * - Every work request completes exactly once, and nothing is sent again.
 */
#include "tests/provider/kit/virtual_kit.h"

#include <stdlib.h>

#include "rocin/random.h"
#include "rocin/transport.h"

enum {
	SEEDS = 300,
	ACTIONS = 200,
	TIMEOUT = 20,  /* code for 4 s, so that nothing is retransmitted */
	OPEN_MAX = 16, /* maximum number of requests of an end without a completion */
	/* maximum number of polls in a row of a program that polls all the time */
	POLLS_MAX = 64,
};

/* A random program, which is used for one seed. */
struct program {
	struct kit_end *k, *peer;
	unsigned open; /* number of requests without a completion */
	/* in how many of 16 actions the program polls all the time; the other actions are
	 * chosen by the members below
	 */
	unsigned polls_hard;
	unsigned posts, computes, sleeps, arms;
	rn_ns pause; /* maximum time for which the program computes or sleeps */
};

static struct kit_end ends[2];
static struct program programs[2];
static struct rn_random dice;

static unsigned random_below(unsigned n)
{
	return rn_random_below(&dice, n);
}

/* ------------------------------------------------------------------- the programs */
static void take_completion(struct program *p)
{
	struct rn_cqe cqe;

	if (!virtual_poll(p->k, &cqe))
		return;
	assert_int_equal((uint8_t)cqe.ctl, RN_WC_SUCCESS);
	assert_true(p->open > 0);
	p->open--;
}

static void post(struct program *p)
{
	static const uint32_t len[] = { 1, 64, 1024, 4096, 20000 };
	enum rn_wr_opcode opcode = random_below(3) ? RN_WR_RDMA_WRITE : RN_WR_RDMA_READ;

	if (p->open == OPEN_MAX)
		return;
	kit_post_send(p->k, opcode, len[random_below(RN_ARRAY_SIZE(len))],
		      (uintptr_t)p->peer->buf);
	p->open++;
}

/* Waits for an event, which may come or not. */
static void arm(struct program *p)
{
	rn_ns pause = 1 + random_below((unsigned)p->pause);

	if (!kit_arm(p->k))
		virtual_run(pause);
}

static void act(struct program *p)
{
	unsigned all = p->posts + p->computes + p->sleeps + p->arms;
	unsigned what = random_below(all);

	if (random_below(16) < p->polls_hard) {
		for (unsigned i = random_below(POLLS_MAX); i > 0; i--)
			take_completion(p);
	} else if (what < p->posts) {
		post(p);
	} else if (what < p->posts + p->arms) {
		arm(p);
	} else {
		virtual_machine.spins = what < p->posts + p->arms + p->computes;
		virtual_run(random_below((unsigned)p->pause));
		virtual_machine.spins = true;
	}
}

static void make_program(struct program *p, unsigned n)
{
	*p = (struct program){
		.k = &ends[n],
		.peer = &ends[!n],
		.polls_hard = random_below(16),
		.posts = 1 + random_below(4),
		.computes = random_below(3),
		.sleeps = random_below(3),
		.arms = random_below(2),
		.pause = RN_USEC(1) << random_below(15), /* 1 us to 16 ms */
	};
}

static void make_machine(void)
{
	virtual_machine.wire = RN_USEC(1) << random_below(8);
	virtual_machine.wake = RN_USEC(1) << random_below(12);
	virtual_machine.yield = RN_USEC(1) << random_below(12);
}

/* --------------------------------------------------------------------- checks */
static void finish(struct program *p)
{
	rn_ns start = virtual_now();

	while (p->open > 0) {
		take_completion(p);
		assert_true(virtual_now() - start < VIRTUAL_WAIT);
	}
}

static void check_rest(void)
{
	unsigned wakes[2];

	virtual_run(RN_MSEC(100));
	for (unsigned i = 0; i < 2; i++) {
		wakes[i] = virtual_end(&ends[i])->wakes;
		assert_int_equal(ends[i].e->policy.turn, RNP_ARMED);
		assert_true(virtual_end(&ends[i])->listens);
		assert_int_equal(virtual_waiting(&ends[i]), 0);
		assert_false(rn_dev_acks_due(rnp_engine_dev(ends[i].e)));
	}
	virtual_run(RN_MSEC(3000));
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(virtual_end(&ends[i])->wakes, wakes[i]);
}

/* Checks the longest time that a packet has waited. The background thread polls again for
 * at most 2 ms before the timer is processed, and once more after that. A yield may be in
 * progress each time.
 */
static void check_waits(void)
{
	const struct rnp_lease_times *t = &ends[0].e->policy.times;
	rn_ns most = t->long_lease + t->lease + RN_MSEC(4) + 4 * virtual_machine.wake +
		     4 * virtual_machine.yield;

	for (unsigned i = 0; i < 2; i++)
		if (virtual_end(&ends[i])->longest_wait > most)
			fail_msg("a packet waited for %lld ns, %lld at most",
				 (long long)virtual_end(&ends[i])->longest_wait,
				 (long long)most);
}

static uint64_t sent_again(const struct kit_end *k)
{
	return k->e->stats.page->counter[RN_STAT_RETRANSMITTED];
}

static void run_seed(uint64_t number)
{
	dice.state = number;
	virtual_pair(ends, TIMEOUT);
	make_machine();
	for (unsigned i = 0; i < 2; i++)
		make_program(&programs[i], i);
	for (unsigned i = 0; i < ACTIONS; i++)
		act(&programs[random_below(2)]);
	for (unsigned i = 0; i < 2; i++)
		finish(&programs[i]);
	check_rest();
	check_waits();
	assert_int_equal(sent_again(&ends[0]) + sent_again(&ends[1]), 0);
	virtual_close_pair(ends);
}

static void random_programs_on_random_machines(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= SEEDS; i++)
		run_seed(i);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs_on_random_machines),
	};

	if (argc > 1) { /* runs only this seed */
		run_seed(strtoull(argv[1], NULL, 0));
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
