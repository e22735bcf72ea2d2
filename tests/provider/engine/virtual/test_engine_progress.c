/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_progress.c - properties of an engine that hold whichever thread makes
 * progress: the cost of polls, which thread watches the sockets, and packets that a full
 * wire has not accepted. In virtual time.
 */
#include "tests/provider/kit/virtual_kit.h"

enum {
	TIMEOUT = 20, /* code for 4 s, so that nothing is retransmitted during a test */
	AT = 64,      /* offset in the buffer at which a byte arrives */
	MANY = 100000,
};

static struct kit_end ends[2];

static int setup(void **state)
{
	(void)state;
	virtual_pair(ends, TIMEOUT);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	virtual_close_pair(ends);
	return 0;
}

static void write_byte(struct kit_end *from, const struct kit_end *to, uint8_t value)
{
	from->buf[0] = value;
	kit_post_send(from, RN_WR_RDMA_WRITE, 1, (uintptr_t)to->buf + AT);
}

/* ------------------------------------------------------------------------- polling */
/* Polls until the program has the sockets, which the background thread has at first.
 * Returns the number of polls.
 */
static unsigned polls_for_the_sockets(struct kit_end *k)
{
	struct rn_cqe cqe;
	unsigned polls = 0;

	virtual_run(RN_MSEC(100));
	assert_true(virtual_end(k)->listens);
	while (virtual_end(k)->listens) {
		assert_true(polls < MANY);
		virtual_poll(k, &cqe);
		polls++;
	}
	return polls;
}

/* The program has taken a lease and then only read memory, so that its peer had to wait
 * for the end of the lease. Its polls then count less for some time.
 */
static void program_that_only_looks_at_memory_is_not_believed_again_so_soon(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	unsigned before = polls_for_the_sockets(b);

	(void)state;
	virtual_machine.spins = true;
	kit_post_send(a, RN_WR_RDMA_READ, 64, (uintptr_t)b->buf);
	virtual_await(a, RN_WC_SUCCESS);
	virtual_machine.spins = false;
	assert_int_equal(polls_for_the_sockets(b), 4 * before);
}

static void program_that_stopped_polling_is_taken_over(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (uint8_t round = 1; round <= 20; round++) {
		polls_for_the_sockets(b);
		b->buf[0] = round;
		kit_post_send(a, RN_WR_RDMA_READ, 1, (uintptr_t)b->buf);
		virtual_await(a, RN_WC_SUCCESS);
		assert_int_equal(a->buf[0], round);
	}
}

/* The first post is sent at once, because no request is outstanding. The others wait for
 * the next poll.
 */
static void posts_of_a_polling_program_leave_in_company(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	struct rn_cqe cqe;
	unsigned before;

	(void)state;
	polls_for_the_sockets(a);
	before = virtual_end(a)->packets;
	for (uint8_t i = 1; i <= 3; i++)
		write_byte(a, b, i);
	assert_int_equal(virtual_end(a)->packets, before + 1);
	virtual_poll(a, &cqe);
	assert_int_equal(virtual_end(a)->packets, before + 3);
	for (unsigned i = 0; i < 3; i++)
		virtual_await(a, RN_WC_SUCCESS);
}

/* Setting the timer is a system call, which takes long in a virtual machine. */
static void program_that_polls_sets_the_timer_seldom(void **state)
{
	struct kit_end *a = &ends[0];
	struct rn_cqe cqe;
	unsigned before;

	(void)state;
	polls_for_the_sockets(a);
	before = virtual_end(a)->timers;
	for (unsigned i = 0; i < 10000; i++)
		virtual_poll(a, &cqe);
	assert_false(virtual_end(a)->listens);
	assert_in_range(virtual_end(a)->timers - before, 1, 50);
}

/* While a CQ is armed, its program is not expected to poll. After the event, its polls
 * count as before.
 */
static void events_that_have_come_make_polls_count_no_less(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	unsigned polls = polls_for_the_sockets(a);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		virtual_run(RN_MSEC(100));
		if (!kit_arm(a)) {
			write_byte(a, b, 1);
			virtual_run(RN_MSEC(1));
			assert_false(a->is_armed);
		}
		virtual_await(a, RN_WC_SUCCESS);
		assert_int_equal(polls_for_the_sockets(a), polls);
	}
}

/* The lease ends while a packet is in the socket, and another packet comes soon after it.
 */
static void who_takes_the_sockets_over_looks_again(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	unsigned wakes;

	(void)state;
	polls_for_the_sockets(b);
	wakes = virtual_end(b)->wakes;
	write_byte(a, b, 1);
	virtual_machine.wire = virtual_end(b)->timer + virtual_machine.wake +
			       RN_USEC(10) - virtual_now();
	write_byte(a, b, 2);
	virtual_run(RN_MSEC(10));
	assert_int_equal(b->buf[AT], 2);
	assert_int_equal(virtual_end(b)->wakes, wakes + 1);
	virtual_await(a, RN_WC_SUCCESS);
	virtual_await(a, RN_WC_SUCCESS);
}

static void sockets_are_watched_after_lingering_in_vain(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	assert_false(rnp_engine_linger(a->e, kit_has_entry, a));
	assert_true(virtual_end(a)->listens);
	write_byte(b, a, 1);
	virtual_run(virtual_machine.wire + virtual_machine.wake);
	assert_int_equal(a->buf[AT], 1);
	virtual_await(b, RN_WC_SUCCESS);
}

/* The completion is found without sleeping, and its event has come, too. */
static void lingering_finds_what_arrives_at_once(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	unsigned wakes;

	(void)state;
	polls_for_the_sockets(a);
	wakes = virtual_end(a)->wakes;
	kit_post_recv(a);
	kit_post_send(b, RN_WR_SEND, 16, 0);
	assert_true(kit_arm(a));
	assert_int_equal(virtual_end(a)->wakes, wakes);
	assert_false(a->is_armed);
	virtual_await(a, RN_WC_SUCCESS);
	virtual_await(b, RN_WC_SUCCESS);
}

/* The program rarely polls for its stream. Posts wait for the next poll, but at most
 * until a super-packet is full.
 */
static void stream_leaves_when_it_fills_a_super_packet(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	struct rn_cqe cqe;
	unsigned before;

	(void)state;
	polls_for_the_sockets(a);
	for (unsigned i = 0; i < 10; i++)
		write_byte(a, b, 1);
	for (unsigned i = 0; i < 10; i++)
		virtual_await(a, RN_WC_SUCCESS);
	before = virtual_end(a)->packets;
	for (unsigned i = 0; i < 10; i++)
		write_byte(a, b, 1);
	assert_int_equal(virtual_end(a)->packets, before);
	virtual_poll(a, &cqe);
	assert_int_equal(virtual_end(a)->packets, before + 10);
	before = virtual_end(a)->packets;
	for (unsigned i = 0; i < 100; i++)
		write_byte(a, b, 1);
	assert_in_range(virtual_end(a)->packets - before, RN_SUPER_SEGMENTS, 100);
	for (unsigned i = 0; i < 110; i++)
		virtual_await(a, RN_WC_SUCCESS);
}

static rn_ns time_to_acknowledge(uint8_t value)
{
	rn_ns start;

	virtual_run(RN_MSEC(100)); /* the program has not polled for a long time */
	start = virtual_now();
	write_byte(&ends[0], &ends[1], value);
	virtual_await(&ends[0], RN_WC_SUCCESS);
	return virtual_now() - start;
}

/* End 1, which reads memory, answers @times messages, each after @pause. */
static void answer(unsigned times, rn_ns pause)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	for (unsigned i = 0; i < times; i++) {
		uint8_t value = (uint8_t)(100 + i);

		write_byte(a, b, value);
		virtual_await_byte(b, AT, value);
		virtual_run(pause);
		write_byte(b, a, value);
		virtual_await(b, RN_WC_SUCCESS);
		virtual_await(a, RN_WC_SUCCESS);
	}
}

/* Otherwise the peer would wait for this time with each message, without any gain. */
static void acknowledgement_does_not_wait_for_who_answers_late(void **state)
{
	rn_ns at_once = time_to_acknowledge(1);

	(void)state;
	answer(32, 0);
	answer(32, RN_MSEC(3));
	assert_in_range(time_to_acknowledge(2), 0, at_once + RN_USEC(10));
}

/* ---------------------------------------------------------------------- a full wire */
static void what_a_full_wire_did_not_take_leaves_without_a_call(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	virtual_end(a)->is_full = true;
	write_byte(a, b, 1);
	virtual_run(RN_MSEC(2));
	assert_int_equal(virtual_waiting(b), 0);
	virtual_end(a)->is_full = false;
	virtual_run(RN_MSEC(1));
	assert_int_equal(b->buf[AT], 1);
	virtual_await(a, RN_WC_SUCCESS);
}

/* The wire was full when the acknowledgement was due, and the QP is destroyed now. The
 * acknowledgement must be sent when the device is closed.
 */
static void closing_a_device_sends_what_a_full_wire_did_not_take(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	write_byte(a, b, 1);
	virtual_compute(virtual_machine.wire);
	virtual_end(b)->is_full = true;
	rnp_engine_lock(b->e);
	rnp_engine_receive_all(b->e);
	rnp_engine_unlock(b->e);
	assert_int_equal(b->buf[AT], 1);
	kit_destroy_qp(b);
	assert_int_equal(virtual_waiting(a), 0);
	virtual_end(b)->is_full = false;
	kit_close(b);
	assert_int_equal(virtual_waiting(a), 1);
	kit_open(b, 1);
	virtual_await(a, RN_WC_SUCCESS);
}

/* --------------------------------------------------------------------------- timers */
/* A wire that loses all packets, and on which either no packets or invalid packets come.
 */
static bool is_flooded;
static unsigned lost; /* number of lost packets */

static int lose(void *ctx, const struct rn_super *super)
{
	(void)ctx;
	lost += super->count;
	return 0;
}

static int receive_rubbish(void *ctx, struct rn_rx *rx)
{
	static const struct rn_flow flow;
	static uint8_t byte;

	(void)ctx;
	if (is_flooded)
		rx[0] = (struct rn_rx){ .flow = &flow, .data = &byte, .len = 1 };
	return is_flooded;
}

/* Returns the number of polls, after the ACK timeout, until a lost packet is sent again;
 * MANY: it is not sent again.
 */
static unsigned polls_until_sent_again(bool flooded)
{
	static const struct rn_net_ops ops = { .transmit = lose,
					       .receive = receive_rubbish };
	struct rn_net net = { .ops = &ops, .gso = true }, *wire;
	struct kit_end *a = &ends[0];
	unsigned polls = 0;

	is_flooded = flooded;
	lost = 0;
	wire = a->e->wire.net;
	a->e->wire.net = &net;
	write_byte(a, &ends[1], 1);
	assert_int_equal(lost, 1);
	virtual_compute(RN_MSEC(20000)); /* longer than any ACK timeout in the test */
	while (lost == 1 && polls < MANY) {
		rnp_engine_poll(a->e);
		polls++;
	}
	a->e->wire.net = wire;
	return polls;
}

/* The event for which a timer waits may be a packet in a socket, so sockets are read
 * first. If no packet is there, the timer is due.
 */
static void timer_is_served_by_the_first_poll_that_finds_nothing(void **state)
{
	(void)state;
	assert_int_equal(polls_until_sent_again(false), 1);
}

static void timer_is_served_though_packets_come_without_end(void **state)
{
	(void)state;
	assert_in_range(polls_until_sent_again(true), 2, 1000);
}

/* --------------------------------------------------------------------------- memory */
/* number of accesses that end with the next call; number of calls that let accesses end
 */
static unsigned accesses, drains;

static void end_all(struct rn_host_nic *nic, uint32_t qpn)
{
	(void)nic;
	assert_int_equal(qpn, 17);
	drains++;
}

static unsigned
collect_one(struct rn_host_nic *nic,
	    void (*done)(void *arg, uint64_t tag, enum rn_mem_result result), void *arg)
{
	(void)nic;
	(void)done;
	(void)arg;
	if (accesses == 0)
		return 0;
	accesses--;
	return 1;
}

/* Accesses are processed until none ends any more, because an access that has ended may
 * let another one begin. The result tells the caller that packets may have to be sent.
 */
static void accesses_that_have_ended_are_taken(void **state)
{
	static const struct rn_host_api api = { .drain = end_all,
						.collect = collect_one };
	struct rnp_engine *e = ends[0].e;
	static char nic;
	struct rnp_pcie before = e->pcie;
	bool ended;

	(void)state;
	e->pcie = (struct rnp_pcie){ .api = &api, .nic = (struct rn_host_nic *)&nic };
	if (!rnp_pcie_is_on(&e->pcie)) { /* the PCIe layer was not built */
		e->pcie = before;
		skip();
	}
	accesses = 1;
	/* processes the accesses that have ended, and lets no others end */
	rnp_engine_poll(e);
	assert_int_equal(accesses, 0);
	for (unsigned n = 0; n < 3; n++) {
		accesses = n;
		drains = 0;
		rnp_engine_lock(e);
		ended = rnp_engine_settle(e, 17);
		rnp_engine_unlock(e);
		assert_int_equal(ended, n > 0);
		assert_int_equal(accesses, 0);
		assert_int_equal(drains, n + 1);
	}
	e->pcie = before;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(program_that_only_looks_at_memory_is_not_believed_again_so_soon),
		TEST(program_that_stopped_polling_is_taken_over),
		TEST(posts_of_a_polling_program_leave_in_company),
		TEST(program_that_polls_sets_the_timer_seldom),
		TEST(events_that_have_come_make_polls_count_no_less),
		TEST(who_takes_the_sockets_over_looks_again),
		TEST(sockets_are_watched_after_lingering_in_vain),
		TEST(lingering_finds_what_arrives_at_once),
		TEST(stream_leaves_when_it_fills_a_super_packet),
		TEST(acknowledgement_does_not_wait_for_who_answers_late),
		TEST(what_a_full_wire_did_not_take_leaves_without_a_call),
		TEST(closing_a_device_sends_what_a_full_wire_did_not_take),
		TEST(timer_is_served_by_the_first_poll_that_finds_nothing),
		TEST(timer_is_served_though_packets_come_without_end),
		TEST(accesses_that_have_ended_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
