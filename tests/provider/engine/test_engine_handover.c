/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_handover.c - no packet is lost when the sockets are handed over between the
 * program and the background thread.
 *
 * After a random number of polls, and sometimes a req_notify, the server's program stops
 * polling until the client has got its reply. Only the background thread can send this
 * reply, so after a lost hand-over it never comes. (If the program polled again by
 * itself, it would hide the mistake.) Leases take a few microseconds, and retransmission
 * is off.
 *
 * This is tested with sockets, and with a local wire, where the peer must be told that
 * nobody polls any more.
 *
 * In a control test, one hand-over in a hundred is dropped, which the test must notice.
 */
#include "tests/provider/kit/engine_kit.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/io/shm/ring.h"

enum {
	RUN_MS = 1000,
	/* minimum number of rounds of a run, however busy the machine is */
	ROUNDS = 200,
	LOST_MS = 300000, /* time in ms after which a reply counts as lost */
	/* the same for the control test, in which a reply may also be late */
	MISSED_MS = 500,
};

struct stress {
	struct kit_end server, client;
	/* number of the round in which the server's program does not poll */
	_Atomic uint32_t away;
	_Atomic uint32_t served; /* number of the latest round that has ended */
	_Atomic bool stop;
	uint32_t lost;
};

/* --------------------------------------------------------------------- the deliberate
 * mistake of the control test
 */
static _Atomic bool is_sabotaged;
static _Atomic bool is_refusing; /* every other call of the kernel fails */
static _Atomic unsigned refused;

bool __real_rnp_background_listen(struct rnp_engine *e, bool on);
bool __wrap_rnp_background_listen(struct rnp_engine *e, bool on);

/* The linker option --wrap replaces the engine's function by this one. */
bool __wrap_rnp_background_listen(struct rnp_engine *e, bool on)
{
	static _Atomic unsigned calls;

	if (on && is_sabotaged && ++calls % 100 == 0)
		return true;
	if (on && is_refusing && ++calls % 2 == 0) {
		refused++;
		return false;
	}
	return __real_rnp_background_listen(e, on);
}

bool __real_rn_local_announce(struct rn_local *l);
bool __wrap_rn_local_announce(struct rn_local *l);

bool __wrap_rn_local_announce(struct rn_local *l)
{
	static _Atomic unsigned calls;

	if (is_sabotaged && ++calls % 100 == 0)
		return true;
	return __real_rn_local_announce(l);
}

/* The background thread would wake up to release unused memory, and would then find the
 * lost packet. So this never happens here.
 */
rn_ns __wrap_rn_local_trim_due(const struct rn_local *l);
rn_ns __wrap_rn_local_trim_due(const struct rn_local *l)
{
	(void)l;
	return RN_NEVER;
}

/* -------------------------------------------------------------------------- the wire */
static int memory(size_t len)
{
	int fd = memfd_create("wire", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	return fd;
}

static int formatted_rings(void)
{
	int fd = memory(RN_WIRE_BYTES);
	uint8_t *mem =
		mmap(NULL, RN_WIRE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(mem != MAP_FAILED);
	rn_ring_format(mem, RN_WIRE_CAPACITY);
	rn_ring_format(mem + RN_WIRE_RING_BYTES, RN_WIRE_CAPACITY);
	munmap(mem, RN_WIRE_BYTES);
	return fd;
}

static int never_dropped(void *ctx, const struct rn_rocind_ends *ends)
{
	(void)ctx;
	(void)ends;
	fail_msg("the wire is there, and nobody breaks its rules");
	return 0;
}

static int never_asked(void *ctx, const struct rn_rocind_ends *ends, bool lost)
{
	(void)lost;
	return never_dropped(ctx, ends);
}

/* Does the work of rocind and of provider/engine/rocind_events.c for two processes. */
static void lay_wire(struct kit_end *end[2])
{
	int rings = formatted_rings(), page[2], event[2];

	for (unsigned i = 0; i < 2; i++) {
		page[i] = memory(RN_DOORBELL_BYTES);
		event[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		assert_true(event[i] >= 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct rnp_engine *e = end[i]->e;
		struct rn_local_cfg cfg = { .udp = e->wire.udp,
					    .ifindex = e->netdev.ifindex,
					    .slot = 1,
					    .gid = e->gid,
					    .stats = e->stats.page->counter,
					    .ask = never_asked,
					    .drop = never_dropped };
		struct rn_rocind_ends ends = { end[i]->gid, end[!i]->gid, 1 };
		struct rn_rocind_wire wire = { .role = i,
					       .rings = dup(rings),
					       .peer_page = dup(page[!i]),
					       .peer_event = dup(event[!i]),
					       .page = dup(page[i]),
					       .event = dup(event[i]) };

		rnp_engine_lock(e);
		e->wire.local = rn_local_new(&cfg);
		assert_non_null(e->wire.local);
		e->wire.net = rn_local_net(e->wire.local);
		assert_int_equal(rn_local_up(e->wire.local, &ends, &wire), 0);
		rnp_background_add(e, rn_local_event_fd(e->wire.local), RNP_TAG_LOCAL,
				   true);
		rnp_engine_unlock(e);
	}
	close(rings);
	for (unsigned i = 0; i < 2; i++) {
		close(page[i]);
		close(event[i]);
	}
}

static uint64_t sent_by_wire(const struct kit_end *k)
{
	return __atomic_load_n(&k->e->stats.page->counter[RN_STAT_LOCAL_TX_PACKETS],
			       __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------ the server */
/* Ends the waiting for an event: no completion of the program is outstanding. */
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
/* Waits for the reply, by polling or by the background thread of the client. */
static bool await_reply(struct stress *s, bool polls)
{
	rn_ns limit = is_sabotaged ? RN_MSEC(MISSED_MS) : RN_MSEC(LOST_MS);
	rn_ns start = rnp_engine_now();
	struct rn_cqe cqe;

	while (polls ? !kit_poll(&s->client, &cqe) : !kit_has_entry(&s->client)) {
		if (rnp_engine_now() - start > limit)
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
	while (!kit_poll(&s->client, &cqe)) /* polls, so that the client makes progress */
		rnp_engine_poll(s->server.e);
}

static bool goes_on(const struct stress *s, rn_ns start, uint32_t round)
{
	return s->lost == 0 && (rnp_engine_now() - start < RN_MSEC(RUN_MS) ||
				round < ROUNDS || is_sabotaged);
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
		/* The message comes before, at or after the end of the server's lease. */
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
	k->e->policy.times = (struct rnp_lease_times){ .lease = RN_USEC(8),
						       .long_lease = RN_USEC(40),
						       .steady = RN_USEC(64),
						       .streak = 1,
						       .streak_max = 16 };
	k->e->set.linger_ns = linger;
	kit_attach_alone(k);
	kit_make_qp(k);
}

static uint32_t stress(bool by_wire, rn_ns linger, uint32_t *lost)
{
	static struct stress s;
	struct kit_end *ends[2] = { &s.server, &s.client };
	pthread_t server;
	uint32_t rounds;

	memset(&s, 0, sizeof(s));
	kit_environment(4);
	open_end(&s.server, 0, linger);
	open_end(&s.client, 1, linger);
	kit_connect(&s.server, &s.client.gid, s.client.qpn, 0);
	kit_connect(&s.client, &s.server.gid, s.server.qpn, 0);
	if (by_wire)
		lay_wire(ends);
	assert_int_equal(pthread_create(&server, NULL, serve, &s), 0);
	rounds = run_client(&s);
	pthread_join(server, NULL);
	*lost = s.lost;
	if (by_wire) {
		assert_true(sent_by_wire(&s.client) >= rounds - 1);
		assert_true(sent_by_wire(&s.server) >= rounds - 1 - s.lost);
	}
	kit_close(&s.client);
	kit_close(&s.server);
	print_message("%u rounds, %u lost\n", rounds, *lost);
	return rounds;
}

static void every_request_is_served_while_the_program_stays_away(void **state)
{
	uint32_t lost, rounds = stress(false, 0, &lost);

	(void)state;
	assert_int_equal(lost, 0);
	assert_true(rounds > 100);
}

static void the_same_holds_with_lingering_programs(void **state)
{
	uint32_t lost, rounds = stress(false, RN_USEC(20), &lost);

	(void)state;
	assert_int_equal(lost, 0);
	assert_true(rounds > 100);
}

static void a_hand_over_left_out_now_and_then_is_found_out(void **state)
{
	uint32_t lost;

	(void)state;
	is_sabotaged = true;
	stress(false, 0, &lost);
	is_sabotaged = false;
	assert_int_equal(lost, 1);
}

static void set_that_takes_no_socket_back_delays_and_loses_nothing(void **state)
{
	(void)state;
	is_refusing = true;
	for (unsigned by_wire = 0; by_wire < 2; by_wire++) {
		uint32_t lost, rounds;

		refused = 0;
		rounds = stress(by_wire, 0, &lost);
		assert_int_equal(lost, 0);
		assert_true(rounds > 100);
		assert_true(refused > 50);
	}
	is_refusing = false;
}

static void it_holds_for_a_local_wire(void **state)
{
	uint32_t lost, rounds = stress(true, 0, &lost);

	(void)state;
	assert_int_equal(lost, 0);
	assert_true(rounds > 100);
}

static void and_with_lingering_programs(void **state)
{
	uint32_t lost, rounds = stress(true, RN_USEC(20), &lost);

	(void)state;
	assert_int_equal(lost, 0);
	assert_true(rounds > 100);
}

static void peer_that_is_not_told_now_and_then_is_found_out(void **state)
{
	uint32_t lost;

	(void)state;
	is_sabotaged = true;
	stress(true, 0, &lost);
	is_sabotaged = false;
	assert_int_equal(lost, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_is_served_while_the_program_stays_away),
		cmocka_unit_test(the_same_holds_with_lingering_programs),
		cmocka_unit_test(a_hand_over_left_out_now_and_then_is_found_out),
		cmocka_unit_test(set_that_takes_no_socket_back_delays_and_loses_nothing),
		cmocka_unit_test(it_holds_for_a_local_wire),
		cmocka_unit_test(and_with_lingering_programs),
		cmocka_unit_test(peer_that_is_not_told_now_and_then_is_found_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
