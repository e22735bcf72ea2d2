/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_handover.c - no packet is lost between the program and the background
 * thread.
 *
 * After a random number of polls, and now and then a req_notify, the server's program
 * stays away until the client has been served: only the background thread can do that, so
 * a hand-over that was lost shows as a reply that never comes. (A program that comes back
 * by itself would hide it.) Leases are a few microseconds, retransmission is off.
 *
 * A control drops one hand-over in a hundred and must be found out.
 */
#include "engine_kit.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum {
	RUN_MS = 2000,
	ROUNDS = 200,	    /* that a run has at least, however busy the machine is ... */
	RUN_MAX_MS = 15000, /* ... within this time */
	LOST_MS =
		1000, /* a reply takes microseconds, or milliseconds on a busy machine */
};

struct stress {
	struct kit_end server, client;
	_Atomic uint32_t away;	 /* round in which the server's program stays away */
	_Atomic uint32_t served; /* round that is over */
	_Atomic bool stop;
	uint32_t lost;
};

/* --------------------------------------------------------------------- the mutation */
static _Atomic bool is_sabotaged;

void __real_rnp_background_listen(struct rnp_engine *e, bool on);
void __wrap_rnp_background_listen(struct rnp_engine *e, bool on);

/* The linker puts this in front of the real one. */
void __wrap_rnp_background_listen(struct rnp_engine *e, bool on)
{
	static _Atomic unsigned calls;

	if (on && is_sabotaged && ++calls % 100 == 0)
		return;
	__real_rnp_background_listen(e, on);
}

/* ------------------------------------------------------------------------ the server */
/* The program changes its mind: no completion of its own is on the way. */
static void disarm(struct kit_end *k)
{
	rnp_engine_lock(k->e);
	rn_cq_init(&k->cq, k->cq.ring, k->cq.capacity, k);
	k->is_armed = false;
	rnp_engine_cq_unarmed(k->e);
	rnp_engine_unlock(k->e);
}

static void *serve(void *arg)
{
	struct stress *s = arg;
	unsigned seed = 12345;
	struct rn_cqe cqe;

	for (uint32_t round = 1; !s->stop; round++) {
		for (int polls = rand_r(&seed) % 12; polls > 0; polls--)
			kit_poll(&s->server, &cqe);
		if (rand_r(&seed) % 8 == 0)
			kit_arm(&s->server);
		s->away = round;
		while (s->served < round && !s->stop)
			sched_yield();
		if (s->server.is_armed)
			disarm(&s->server);
	}
	return NULL;
}

/* ------------------------------------------------------------------------ the client */
/* Polls, or leaves it to its own background thread. */
static bool await_reply(struct stress *s, bool polls)
{
	rn_ns start = rnp_engine_now();
	struct rn_cqe cqe;

	while (polls ? !kit_poll(&s->client, &cqe) : !kit_has_entry(&s->client)) {
		if (rnp_engine_now() - start > RN_MSEC(LOST_MS))
			return false;
		sched_yield();
	}
	if (!polls)
		assert_true(kit_poll(&s->client, &cqe));
	return true;
}

static void ask(struct stress *s, bool polls)
{
	struct rn_cqe cqe;

	kit_post_send(&s->client, RN_WR_RDMA_READ, 64, (uintptr_t)s->server.buf);
	if (await_reply(s, polls))
		return;
	s->lost++;
	while (!kit_poll(&s->client, &cqe)) /* help it along */
		rnp_engine_poll(s->server.e);
}

static bool goes_on(const struct stress *s, rn_ns start, uint32_t round)
{
	rn_ns ran = rnp_engine_now() - start;

	return s->lost == 0 && ran < RN_MSEC(RUN_MAX_MS) &&
	       (ran < RN_MSEC(RUN_MS) || round < ROUNDS || is_sabotaged);
}

static uint32_t run_client(struct stress *s)
{
	rn_ns start = rnp_engine_now();
	uint32_t round = 1;
	unsigned seed = 54321;

	for (; goes_on(s, start, round); round++) {
		rn_ns delay = RN_USEC(rand_r(&seed) % 100);

		while (s->away < round)
			sched_yield();
		/* Before, at and after the end of the server's lease. */
		for (rn_ns from = rnp_engine_now(); rnp_engine_now() - from < delay;)
			sched_yield();
		ask(s, rand_r(&seed) % 4 != 0);
		s->served = round;
	}
	s->stop = true;
	return round;
}

/* ---------------------------------------------------------------------------- tests */
static void open_end(struct kit_end *k, unsigned n, rn_ns linger)
{
	kit_open(k, n);
	k->e->progress.times = (struct rnp_lease_times){ .lease = RN_USEC(8),
							 .long_lease = RN_USEC(40),
							 .steady = RN_USEC(64),
							 .streak = 1,
							 .streak_max = 1 };
	k->e->set.linger_ns = linger;
	kit_attach_alone(k);
	kit_make_qp(k);
}

static uint32_t stress(rn_ns linger, uint32_t *lost)
{
	static struct stress s;
	pthread_t server;
	uint32_t rounds;

	memset(&s, 0, sizeof(s));
	kit_environment(4);
	open_end(&s.server, 0, linger);
	open_end(&s.client, 1, linger);
	kit_connect(&s.server, &s.client.gid, s.client.qpn, 0);
	kit_connect(&s.client, &s.server.gid, s.server.qpn, 0);
	assert_int_equal(pthread_create(&server, NULL, serve, &s), 0);
	rounds = run_client(&s);
	pthread_join(server, NULL);
	*lost = s.lost;
	kit_close(&s.client);
	kit_close(&s.server);
	print_message("%u rounds, %u lost\n", rounds, *lost);
	return rounds;
}

static void every_request_is_served_while_the_program_stays_away(void **state)
{
	uint32_t lost, rounds = stress(0, &lost);

	(void)state;
	assert_int_equal(lost, 0);
	assert_true(rounds > 100);
}

static void the_same_holds_with_lingering_programs(void **state)
{
	uint32_t lost, rounds = stress(RN_USEC(20), &lost);

	(void)state;
	assert_int_equal(lost, 0);
	assert_true(rounds > 100);
}

static void a_hand_over_left_out_now_and_then_is_found_out(void **state)
{
	uint32_t lost;

	(void)state;
	is_sabotaged = true;
	stress(0, &lost);
	is_sabotaged = false;
	assert_int_equal(lost, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_is_served_while_the_program_stays_away),
		cmocka_unit_test(the_same_holds_with_lingering_programs),
		cmocka_unit_test(a_hand_over_left_out_now_and_then_is_found_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
