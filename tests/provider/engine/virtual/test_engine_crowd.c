/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_crowd.c - programs that poll on a processor which ten computing threads
 * use, too, in virtual time. A program that yields waits until each of the ten has used
 * up a time slice. A program that sleeps gets the processor when the running thread has
 * used up its own time slice.
 */
#include "tests/provider/kit/virtual_kit.h"

enum {
	TIMEOUT = 20, /* code for 4 s, so that nothing is retransmitted during a test */
	WINDOW = 64,
	WINDOWS = 50,
};

#define SLICE RN_MSEC(3)
#define DEAR_YIELD (10 * SLICE)

static struct kit_end ends[2];

static int setup(void **state)
{
	(void)state;
	virtual_pair(ends, TIMEOUT);
	virtual_machine.yield = DEAR_YIELD;
	virtual_machine.late = SLICE;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	virtual_close_pair(ends);
	return 0;
}

/* Posts a window of WRITEs and polls for their completions. Returns the time in ns. */
static rn_ns send_window(struct kit_end *from, const struct kit_end *to)
{
	rn_ns start = virtual_now();

	for (unsigned i = 0; i < WINDOW; i++)
		kit_post_send(from, RN_WR_RDMA_WRITE, 8, (uintptr_t)to->buf);
	for (unsigned i = 0; i < WINDOW; i++)
		virtual_await(from, RN_WC_SUCCESS);
	return virtual_now() - start;
}

static void poll_in_vain(struct kit_end *k)
{
	struct rn_cqe cqe;

	assert_false(virtual_poll(k, &cqe));
}

/* Polls until the program naps. Returns the time in ns. */
static rn_ns poll_until_a_nap(struct kit_end *k)
{
	unsigned naps = virtual_end(k)->naps;
	rn_ns start = virtual_now();

	while (virtual_end(k)->naps == naps) {
		poll_in_vain(k);
		assert_true(virtual_now() - start < VIRTUAL_WAIT);
	}
	return virtual_now() - start;
}

/* The first yield shows that the processor is shared by many threads. */
static void a_stream_waits_for_one_time_slice_a_window(void **state)
{
	rn_ns took = 0;

	(void)state;
	virtual_machine.wake = RN_USEC(200); /* longer than a program spins */
	for (unsigned i = 0; i < WINDOWS; i++)
		took += send_window(&ends[0], &ends[1]);
	assert_true(took < DEAR_YIELD + WINDOWS * (SLICE + RN_MSEC(1)));
	assert_true(virtual_end(&ends[0])->naps >= WINDOWS - 2);
}

/* The peer's background thread answers at once, so the answer comes while the program
 * spins.
 */
static void a_stream_waits_for_no_time_slice_if_its_peer_answers_at_once(void **state)
{
	rn_ns took = 0;

	(void)state;
	virtual_machine.wake = RN_USEC(20);
	for (unsigned i = 0; i < WINDOWS; i++)
		took += send_window(&ends[0], &ends[1]);
	assert_true(took < DEAR_YIELD + WINDOWS * RN_MSEC(1));
	assert_int_equal(virtual_end(&ends[0])->naps, 0);
}

static void a_nap_in_vain_is_short_and_leaves_the_sockets_on(void **state)
{
	struct kit_end *a = &ends[0];
	rn_ns nap;

	(void)state;
	virtual_machine.late = 0;
	poll_until_a_nap(a);
	assert_true(virtual_end(a)->listens);
	nap = poll_until_a_nap(a);
	assert_true(nap >= RNP_NAP && nap < RNP_NAP + RN_USEC(10));
}

static void a_nap_ends_when_a_packet_comes(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	rn_ns start;

	(void)state;
	virtual_machine.late = 0;
	poll_until_a_nap(b);
	kit_post_send(a, RN_WR_RDMA_WRITE, 8, (uintptr_t)b->buf);
	start = virtual_now();
	poll_until_a_nap(b);
	assert_true(virtual_now() - start < RN_USEC(300));
	virtual_await(a, RN_WC_SUCCESS);
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

/* A completion has come after the poll that found nothing. */
static void who_has_a_completion_does_not_nap(void **state)
{
	struct kit_end *a = &ends[0];
	unsigned naps;

	(void)state;
	poll_until_a_nap(a);
	poll_in_vain(a);
	naps = virtual_end(a)->naps;
	assert_int_equal(a->e->front.pause, RNP_PAUSE_NAP);
	rnp_engine_pause(a->e, always, a);
	assert_int_equal(virtual_end(a)->naps, naps);
	assert_int_equal(a->e->wait.nappers, 0);
}

/* Polls without pauses until a nap is due. */
static void poll_without_pause(struct kit_end *k)
{
	rn_ns start = virtual_now();

	do {
		assert_true(rnp_engine_poll(k->e));
		virtual_compute(VIRTUAL_POLL);
		assert_true(virtual_now() - start < VIRTUAL_WAIT);
	} while (k->e->front.pause != RNP_PAUSE_NAP);
}

/* A packet has come while the program had the sockets. */
static void who_finds_a_packet_does_not_nap(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	unsigned naps;

	(void)state;
	poll_until_a_nap(b);
	kit_post_send(b, RN_WR_RDMA_WRITE, 8, (uintptr_t)a->buf);
	poll_without_pause(b);
	assert_false(virtual_end(b)->listens);
	naps = virtual_end(b)->naps;
	kit_post_send(a, RN_WR_RDMA_WRITE, 8, (uintptr_t)b->buf);
	virtual_compute(virtual_machine.wire);
	rnp_engine_pause(b->e, kit_has_entry, b);
	assert_int_equal(virtual_end(b)->naps, naps);
	assert_int_equal(virtual_waiting(b), 0);
	virtual_await(a, RN_WC_SUCCESS);
	virtual_await(b, RN_WC_SUCCESS);
}

static void who_receives_calls_those_that_nap(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	uint32_t begun = rnp_wait_nap_begin(&b->e->wait);

	(void)state;
	kit_post_send(a, RN_WR_RDMA_WRITE, 8, (uintptr_t)b->buf);
	assert_true(rnp_engine_poll(b->e));
	assert_int_equal(b->e->wait.calls, begun);
	virtual_compute(virtual_machine.wire);
	assert_true(rnp_engine_poll(b->e));
	assert_int_equal(b->e->wait.calls, begun + 1);
	rnp_wait_nap_end(&b->e->wait);
	virtual_await(a, RN_WC_SUCCESS);
}

/* With the PCIe model, polls move TLPs, so a program must not nap. */
static void who_cannot_nap_yields(void **state)
{
	struct kit_end *a = &ends[0];
	struct rnp_pcie *pcie = &a->e->pcie;
	struct rn_host_nic *const some = (void *)pcie;
	rn_ns start;
	unsigned naps;

	(void)state;
	poll_until_a_nap(a);
	poll_in_vain(a);
	assert_int_equal(a->e->front.pause, RNP_PAUSE_NAP);
	naps = virtual_end(a)->naps;
	start = virtual_now();
	virtual_end(a)->is_stopped = true; /* otherwise it would find the packet */
	pcie->nic = some;
	rnp_engine_pause(a->e, kit_has_entry, a);
	pcie->nic = NULL;
	virtual_end(a)->is_stopped = false;
	assert_int_equal(virtual_end(a)->naps, naps);
	assert_int_equal(virtual_now() - start, DEAR_YIELD);
	assert_int_equal(a->e->wait.nappers, 0);
}

/* The thread that holds the lock may need the processor. */
static void who_does_not_get_the_lock_does_not_spin(void **state)
{
	static const uint8_t before[] = { RNP_PAUSE_NONE, RNP_PAUSE_YIELD, RNP_PAUSE_SPIN,
					  RNP_PAUSE_NAP };
	static const uint8_t after[] = { RNP_PAUSE_YIELD, RNP_PAUSE_YIELD, RNP_PAUSE_NAP,
					 RNP_PAUSE_NAP };
	struct rnp_engine *e = ends[0].e;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(before); i++) {
		e->front.pause = before[i];
		rnp_engine_lock(e);
		assert_false(rnp_engine_poll(e));
		rnp_engine_unlock(e);
		assert_int_equal(e->front.pause, after[i]);
	}
}

/* When the other threads have ended, a nap ends in time, and a yield then takes little
 * time.
 */
static void yields_come_back_when_the_crowd_has_gone(void **state)
{
	struct kit_end *a = &ends[0];
	rn_ns crowded;

	(void)state;
	poll_until_a_nap(a);
	virtual_machine.yield = RN_USEC(1);
	virtual_machine.late = 0;
	crowded = a->e->policy.crowd.until;
	while (virtual_now() <= crowded)
		poll_in_vain(a);
	poll_in_vain(a);
	assert_int_equal(a->e->front.pause, RNP_PAUSE_YIELD);
	assert_int_equal(a->e->policy.crowd.until, crowded);
}

/* Only one of sixteen yields is timed, but this suffices to notice threads that come
 * later.
 */
static void one_of_sixteen_dear_yields_is_noticed(void **state)
{
	struct kit_end *a = &ends[0];
	rn_ns start;

	(void)state;
	virtual_machine.yield = RN_USEC(1);
	for (unsigned i = 0; i < 1000; i++)
		poll_in_vain(a);
	assert_int_equal(virtual_end(a)->naps, 0);
	virtual_machine.yield = DEAR_YIELD;
	start = virtual_now();
	poll_until_a_nap(a);
	assert_true(virtual_now() - start < 16 * DEAR_YIELD + RN_MSEC(1));
}

/* After the time for which a processor counts as shared, one yield shows whether it still
 * is. The next yield must not take as long.
 */
static void a_crowd_that_stays_is_noticed_by_the_first_yield(void **state)
{
	struct kit_end *a = &ends[0];
	rn_ns crowded, start;

	(void)state;
	virtual_machine.late = 0;
	poll_until_a_nap(a);
	crowded = a->e->policy.crowd.until;
	while (virtual_now() <= crowded)
		poll_in_vain(a);
	start = virtual_now();
	poll_until_a_nap(a);
	assert_true(virtual_now() - start >= DEAR_YIELD);
	assert_true(virtual_now() - start < 2 * DEAR_YIELD);
}

/* A program that waits for events polls for a while before it sleeps, but not by yields
 * that take long.
 */
static void who_lingers_does_not_yield_in_a_crowd(void **state)
{
	struct kit_end *a = &ends[0];
	rn_ns start;

	(void)state;
	poll_until_a_nap(a);
	start = virtual_now();
	assert_false(kit_arm(a));
	assert_true(virtual_now() - start < SLICE);
	assert_true(virtual_end(a)->listens);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stream_waits_for_one_time_slice_a_window),
		TEST(a_stream_waits_for_no_time_slice_if_its_peer_answers_at_once),
		TEST(a_nap_in_vain_is_short_and_leaves_the_sockets_on),
		TEST(a_nap_ends_when_a_packet_comes),
		TEST(who_has_a_completion_does_not_nap),
		TEST(who_finds_a_packet_does_not_nap),
		TEST(who_receives_calls_those_that_nap),
		TEST(who_cannot_nap_yields),
		TEST(who_does_not_get_the_lock_does_not_spin),
		TEST(yields_come_back_when_the_crowd_has_gone),
		TEST(one_of_sixteen_dear_yields_is_noticed),
		TEST(a_crowd_that_stays_is_noticed_by_the_first_yield),
		TEST(who_lingers_does_not_yield_in_a_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
