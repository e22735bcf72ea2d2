/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fabric.c - TLPs through queues: places, rules, the inside of a GPU, forcing. */
#include <errno.h>
#include <stdlib.h>

#include "fabric_kit.h"

enum {
	NIC1_SPREAD = 8, /* by which a QP of NIC1 has another list than one of NIC0 */
};

static struct world w;

/* ---- One TLP ---- */

static void a_write_is_performed_when_it_leaves_its_last_queue(void **state)
{
	unsigned t;

	(void)state;
	world_init(&w, "typical");
	t = world_send(&w, a_write(CPU, 1));
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_UP + NIC0), t);
	assert_int_equal(rn_fabric_count(w.f), 1);
	world_move(&w, t);
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_UP + NIC0), RN_TLP_NONE);
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_HOST + NIC0), t);
	assert_log(&w, "");
	world_move(&w, t);
	assert_log(&w, "1");
	assert_null(rn_fabric_tlp(w.f, t));
	assert_int_equal(rn_fabric_count(w.f), 0);
	assert_int_equal(rn_fabric_room(w.f), WORLD_TLPS);
}

/* QPNs may be random, so two QPs may have one list: that must not order them. */
static void qps_of_one_list_have_queues_of_their_own(void **state)
{
	struct rn_tlp write = a_write(CPU, 1);
	unsigned first, second, third, other;

	(void)state;
	world_init(&w, "place=pcie,nic.queues=perqp");
	first = world_send(&w, write);
	write.stream += RN_STREAM_QUEUES;
	second = world_send(&w, write);
	third = world_send(&w, write);
	write.requester = NIC1;
	write.stream -= NIC1_SPREAD;
	other = world_send(&w, write);
	assert_int_equal(rn_fabric_prev(w.f, second), first);
	assert_int_equal(rn_fabric_prev(w.f, other), third);
	assert_true(rn_fabric_movable(w.f, second));
	assert_int_equal(rn_fabric_blocker(w.f, third), second);
	assert_true(rn_fabric_movable(w.f, other));
}

/* The entries of completions likewise. What the QPs share behind their queues orders
 * their TLPs as before.
 */
static void entries_of_one_list_are_those_of_their_qps(void **state)
{
	struct rn_tlp entry = with(RN_TLP_CQE, a_write(CPU, 1));
	unsigned first, second;

	(void)state;
	world_init(&w, "place=any,nic.queues=perqp");
	first = world_send(&w, entry);
	entry.stream += RN_STREAM_QUEUES;
	second = world_send(&w, entry);
	assert_int_equal(rn_fabric_prev(w.f, second), first);
	assert_true(rn_fabric_movable(w.f, second));
	for (unsigned hop = 0; hop < 2; hop++) {
		world_move(&w, first);
		world_move(&w, second);
	}
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_UP + NIC0), first);
	assert_int_equal(rn_fabric_blocker(w.f, second), first);
}

static void a_read_takes_bytes_there_and_completes_here(void **state)
{
	const struct rn_tlp *tlp;
	unsigned t;

	(void)state;
	world_init(&w, "typical");
	t = world_send(&w, with(RN_TLP_FLUSH, a_read(GPU0, 1)));
	world_move(&w, t);
	world_move(&w, t);
	assert_log(&w, "1");
	tlp = rn_fabric_tlp(w.f, t);
	assert_int_equal(tlp->kind, RN_TLP_COMPLETION);
	assert_int_equal(tlp->requester, GPU0);
	assert_int_equal(tlp->target, NIC0);
	assert_int_equal(tlp->flags, RN_TLP_FLUSH);
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_UP + GPU0), t);
	world_move(&w, t);
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_DOWN + NIC0), t);
	world_move(&w, t);
	assert_log(&w, "1c");
	assert_int_equal(rn_fabric_count(w.f), 0);
}

static void place_now_does_all_at_once(void **state)
{
	struct rn_tlp t = a_read(GPU0, 2);

	(void)state;
	world_init(&w, "strict");
	assert_int_equal(rn_fabric_issue(w.f, &world_ops, &w, &t), RN_TLP_NONE);
	assert_log(&w, "2 2c");
	t = a_write(CPU, 3);
	assert_int_equal(rn_fabric_issue(w.f, &world_ops, &w, &t), RN_TLP_NONE);
	assert_log(&w, "3");
	assert_int_equal(rn_fabric_count(w.f), 0);
}

static void memory_of_ones_own_is_near(void **state)
{
	struct rn_tlp t = from(GPU0, a_read(GPU0, 2));

	(void)state;
	world_init(&w, "adversarial");
	assert_int_equal(rn_fabric_issue(w.f, &world_ops, &w, &t), RN_TLP_NONE);
	assert_log(&w, "2 2c");
}

static void what_is_not_routed_is_refused(void **state)
{
	struct rn_tlp t = a_write(GPU0, 1);

	(void)state;
	world_init(&w, "rc.p2p=deny");
	assert_int_equal(rn_fabric_issue(w.f, &world_ops, &w, &t), -EHOSTUNREACH);
	assert_int_equal(rn_fabric_count(w.f), 0);
	t.flags = RN_TLP_NEAR;
	assert_true(rn_fabric_issue(w.f, &world_ops, &w, &t) >= 0);
	world_init(&w, "strict,rc.p2p=deny");
	t.flags = 0;
	assert_int_equal(rn_fabric_issue(w.f, &world_ops, &w, &t), -EHOSTUNREACH);
	assert_log(&w, "");
}

static void near_peers_do_not_take_the_other_root_port(void **state)
{
	unsigned t;

	(void)state;
	world_init(&w, "rc.p2p=split");
	t = world_send(&w, with(RN_TLP_NEAR, from(NVME0, a_read(GPU0, 1))));
	world_move(&w, t);
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_DOWN + GPU0), t);
	world_move(&w, t);
	world_move(&w, t);
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_DOWN + NVME0), t);
}

static void a_full_fabric_says_so_and_takes_more_after_one_is_done(void **state)
{
	struct rn_tlp t = a_write(CPU, 1);
	struct rn_pcie_knobs k;

	(void)state;
	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	world_init_knobs(&w, &k, 3);
	for (unsigned i = 0; i < 3; i++)
		world_send(&w, a_write(CPU, i));
	assert_int_equal(rn_fabric_room(w.f), 0);
	assert_int_equal(rn_fabric_issue(w.f, &world_ops, &w, &t), -ENOBUFS);
	world_force(&w, rn_fabric_oldest(w.f));
	assert_int_equal(rn_fabric_room(w.f), 1);
	world_send(&w, t);
	assert_log(&w, "0");
}

/* ---- Queues ---- */

static void only_the_head_of_plain_writes_may_move(void **state)
{
	unsigned a, b;
	uint16_t moves[4];

	(void)state;
	world_init(&w, "typical");
	a = world_send(&w, a_write(CPU, 1));
	b = world_send(&w, a_write(CPU, 2));
	assert_true(rn_fabric_movable(w.f, a));
	assert_false(rn_fabric_movable(w.f, b));
	assert_int_equal(rn_fabric_blocker(w.f, b), a);
	assert_int_equal(rn_fabric_moves(w.f, moves, 4), 1);
	assert_int_equal(moves[0], a);
	world_move(&w, a);
	assert_true(rn_fabric_movable(w.f, b));
	world_move(&w, b);
	assert_int_equal(rn_fabric_blocker(w.f, b), a);
}

static void what_may_pass_leaves_from_the_middle(void **state)
{
	unsigned a, b, c;
	uint16_t moves[2];

	(void)state;
	world_init(&w, "typical");
	a = world_send(&w, a_write(CPU, 1));
	b = world_send(&w, with(RN_TLP_RO, a_write(CPU, 2)));
	c = world_send(&w, a_write(CPU, 3));
	assert_int_equal(rn_fabric_moves(w.f, moves, 1), 2);
	world_move(&w, b);
	assert_int_equal(rn_fabric_next(w.f, a), c);
	assert_int_equal(rn_fabric_prev(w.f, c), a);
	assert_int_equal(rn_fabric_last(w.f, RN_QUEUE_UP + NIC0), c);
	world_move(&w, b);
	assert_log(&w, "2");
	world_force(&w, c);
	assert_log(&w, "1 3");
}

static void different_routes_have_no_order(void **state)
{
	unsigned data, cqe;

	(void)state;
	world_init(&w, "typical");
	data = world_send(&w, with(RN_TLP_DATA, a_write(GPU0, 1)));
	cqe = world_send(&w, with(RN_TLP_CQE, a_write(CPU, 2)));
	world_force(&w, cqe);
	assert_log(&w, "2");
	assert_int_equal(rn_fabric_first(w.f, RN_QUEUE_DOWN + GPU0), data);
}

/* The chain of the CPU flag that a GPU reads: memory-model P4. */
static void a_completion_pushes_what_is_before_it(void **state)
{
	unsigned cqe, flag;

	(void)state;
	world_init(&w, "typical");
	world_send(&w, a_write(GPU0, 1));
	cqe = world_send(&w, with(RN_TLP_CQE, a_write(CPU, 2)));
	world_force(&w, cqe);
	flag = world_send(&w, from(GPU0, a_read(CPU, 3)));
	world_force(&w, flag);
	assert_log(&w, "2 3 1 3c");
}

static void queues_are_visited_upward_and_only_if_busy(void **state)
{
	unsigned q, t;

	(void)state;
	world_init(&w, "gpu=none");
	assert_int_equal(rn_fabric_busy_queue(w.f, 0), RN_LIST_COUNT);
	t = world_send(&w, a_write(GPU1, 1));
	for (unsigned i = 0; i < 2; i++)
		world_move(&w, t);
	world_send(&w, a_write(CPU, 2));
	world_send(&w, from(CPU, a_write(GPU0, 3)));
	q = rn_fabric_busy_queue(w.f, 0);
	assert_int_equal(q, RN_QUEUE_UP + NIC0);
	q = rn_fabric_busy_queue(w.f, q + 1);
	assert_int_equal(q, RN_QUEUE_DOWN + GPU0);
	q = rn_fabric_busy_queue(w.f, q + 1);
	assert_int_equal(q, RN_QUEUE_COUNT + GPU1);
	assert_int_equal(rn_fabric_busy_queue(w.f, q + 1), RN_LIST_COUNT);
}

static void count_queue(void *arg, unsigned queue)
{
	assert_true(queue == RN_QUEUE_UP + NIC0 || queue == RN_QUEUE_UP + NIC1);
	++*(unsigned *)arg;
}

static void each_queue_visits_those_that_are_busy(void **state)
{
	unsigned n = 0;

	(void)state;
	world_init(&w, "typical");
	rn_fabric_each_queue(w.f, count_queue, &n);
	assert_int_equal(n, 0);
	world_send(&w, a_write(CPU, 1));
	world_send(&w, a_write(CPU, 2));
	world_send(&w, from(NIC1, a_write(CPU, 3)));
	rn_fabric_each_queue(w.f, count_queue, &n);
	assert_int_equal(n, 2);
}

static void the_wanted_are_counted_until_they_are_performed(void **state)
{
	unsigned bell, read, data, lock;

	(void)state;
	world_init(&w, "gpu=none");
	data = world_send(&w, with(RN_TLP_DATA, a_write(GPU0, 1)));
	assert_int_equal(rn_fabric_wanted(w.f), 0);
	read = world_send(&w, a_read(GPU0, 2));
	bell = world_send(&w, with(RN_TLP_BELL, from(CPU, a_write(GPU1, 3))));
	assert_int_equal(rn_fabric_wanted(w.f), 2);
	world_force(&w, bell);
	assert_int_equal(rn_fabric_wanted(w.f), 1);
	world_force(&w, read);
	assert_int_equal(rn_fabric_wanted(w.f), 0);
	assert_null(rn_fabric_tlp(w.f, data));

	/* Inside a GPU too: an atomic may wait for the lock. */
	lock = world_send(&w, with(RN_TLP_LOCK, a_write(GPU0, 1)));
	while (rn_fabric_tlp(w.f, lock)->state == RN_TLP_QUEUED)
		world_move(&w, lock);
	assert_int_equal(rn_fabric_wanted(w.f), 1);
	world_force(&w, lock);
	assert_int_equal(rn_fabric_wanted(w.f), 0);
}

/* ---- Forcing ---- */

static void force_moves_only_what_must_not_be_passed(void **state)
{
	unsigned t;

	(void)state;
	world_init(&w, "place=any");
	world_send(&w, with(RN_TLP_DATA, a_write(CPU, 1)));
	world_send(&w, with(RN_TLP_DATA, a_write(CPU, 2)));
	t = world_send(&w, with(RN_TLP_DATA, a_write(CPU, 3)));
	world_send(&w, a_read(CPU, 4));
	world_force(&w, t);
	assert_log(&w, "3");
	assert_int_equal(rn_fabric_count(w.f), 3);
}

/* Each is blocked by the one before: the chain is as long as the queue. */
static void a_long_queue_needs_no_stack(void **state)
{
	unsigned last = 0;

	(void)state;
	world_init(&w, "typical");
	for (unsigned i = 0; i < WORLD_TLPS; i++)
		last = world_send(&w, a_write(CPU, i));
	world_force(&w, last);
	assert_int_equal(w.performed, WORLD_TLPS);
	assert_int_equal(w.moved, 2 * WORLD_TLPS);
	assert_memory_equal(w.log, "0 1 2 3 4 ", 10);
	assert_int_equal(rn_fabric_count(w.f), 0);
}

/* A blocker that is not the head: a flag that passes the data before it, but is itself
 * not to be passed.
 */
static void blockers_of_blockers_go_first(void **state)
{
	struct rn_tlp again = a_write(CPU, 3);
	unsigned t;

	(void)state;
	world_init(&w, "place=any");
	world_send(&w, with(RN_TLP_DATA, a_write(CPU, 1)));
	world_send(&w, with(RN_TLP_DATA, a_write(CPU, 2)));
	again.addr = 2 * 64;
	t = world_send(&w, with(RN_TLP_DATA, again));
	world_force(&w, t);
	assert_log(&w, "2 3");
	world_send(&w, with(RN_TLP_LOCK, a_write(CPU, 4)));
	t = world_send(&w, with(RN_TLP_DATA, a_write(CPU, 5)));
	world_force(&w, t);
	assert_log(&w, "1 4 5");
}

/* place=any: what is sent behind a completion entry is free of it and of its data, as
 * long as the NIC has not written the entry. The entry is behind all that was sent before
 * it went, and entries of a stream keep their order.
 */
static void data_of_two_messages_is_free_across_their_entries(void **state)
{
	unsigned entry, data;

	(void)state;
	world_init(&w, "place=any");
	world_send(&w, with(RN_TLP_DATA, a_write(CPU, 1)));
	entry = world_send(&w, with(RN_TLP_CQE, a_write(CPU, 2)));
	data = world_send(&w, with(RN_TLP_DATA, a_write(CPU, 3)));
	world_force(&w, data);
	assert_log(&w, "3");
	data = world_send(&w, with(RN_TLP_DATA, a_write(CPU, 4)));
	world_move(&w, entry);
	assert_false(rn_fabric_movable(w.f, entry));
	world_force(&w, entry);
	assert_log(&w, "1 4 2");

	entry = world_send(&w, with(RN_TLP_CQE, a_write(CPU, 5)));
	data = world_send(&w, with(RN_TLP_CQE, a_write(CPU, 6)));
	assert_false(rn_fabric_movable(w.f, data));
	world_force(&w, data);
	assert_log(&w, "5 6");
}

static void elsewhere_an_entry_is_written_at_once(void **state)
{
	static const char *const knobs[] = { "place=pcie", "place=msg" };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		unsigned data;

		world_init(&w, knobs[i]);
		world_send(&w, with(RN_TLP_CQE, a_write(CPU, 1)));
		data = world_send(&w, with(RN_TLP_DATA, a_write(CPU, 2)));
		assert_false(rn_fabric_movable(w.f, data));
		world_force(&w, data);
		assert_log(&w, "1 2");
	}
}

static bool is_odd(const struct rn_tlp *tlp, const void *arg)
{
	assert_ptr_equal(arg, &w);
	return tlp->tag % 2 == 1;
}

static void force_if_goes_by_age_across_queues(void **state)
{
	(void)state;
	world_init(&w, "typical");
	world_send(&w, from(NIC1, a_write(CPU, 1)));
	world_send(&w, a_write(CPU, 3));
	world_send(&w, from(NVME0, a_write(CPU, 2)));
	world_send(&w, from(NIC1, a_write(CPU, 4)));
	world_send(&w, from(NIC1, a_write(CPU, 5)));
	world_send(&w, a_write(CPU, 6));
	rn_fabric_force_if(w.f, &world_ops, &w, is_odd, &w);
	assert_log(&w, "1 3 4 5");
	world_force_all(&w);
	assert_log(&w, "2 6");
}

static void what_is_issued_meanwhile_is_not_forced(void **state)
{
	(void)state;
	world_init(&w, "typical");
	world_send(&w, a_write(CPU, 1));
	world_send(&w, a_write(CPU, 3));
	w.reply = a_write(CPU, 5);
	w.reply_to = 1;
	rn_fabric_force_if(w.f, &world_ops, &w, is_odd, &w);
	assert_log(&w, "1 3");
	assert_int_equal(rn_fabric_count(w.f), 1);
	assert_int_equal(rn_fabric_tlp(w.f, rn_fabric_oldest(w.f))->tag, 5);
}

/* The place of the TLP being forced is taken again at once. */
static void force_ends_though_its_place_is_taken_again(void **state)
{
	unsigned t;

	(void)state;
	world_init(&w, "typical");
	t = world_send(&w, a_write(CPU, 1));
	w.reply = a_write(CPU, 2);
	w.reply_to = 1;
	world_force(&w, t);
	assert_log(&w, "1");
	assert_int_equal(rn_fabric_tlp(w.f, t)->tag, 2);
}

/* ---- Age and snapshots ---- */

static void age_is_by_issue(void **state)
{
	unsigned a, b, c;

	(void)state;
	world_init(&w, "typical");
	a = world_send(&w, a_write(CPU, 1));
	b = world_send(&w, from(NIC1, a_write(CPU, 2)));
	c = world_send(&w, a_write(CPU, 3));
	assert_int_equal(rn_fabric_oldest(w.f), a);
	assert_int_equal(rn_fabric_younger(w.f, b), c);
	assert_int_equal(rn_fabric_youngest(w.f), c);
	assert_int_equal(rn_fabric_older(w.f, c), b);
	world_force(&w, b);
	assert_int_equal(rn_fabric_younger(w.f, a), c);
	assert_int_equal(rn_fabric_older(w.f, c), a);
	assert_int_equal(rn_fabric_younger(w.f, c), RN_TLP_NONE);
}

static void a_copy_of_the_block_is_a_snapshot(void **state)
{
	size_t size = rn_fabric_size(WORLD_TLPS);
	void *copy = malloc(size);
	struct rn_fabric *original;

	(void)state;
	assert_non_null(copy);
	world_init(&w, "adversarial");
	for (unsigned i = 0; i < 20; i++)
		world_send(&w, i % 3 ? a_write(GPU0 + i % 2, i) : a_read(CPU, i));
	original = w.f;
	memcpy(copy, original, size);
	world_force_all(&w);
	assert_int_equal(w.performed, 20);
	assert_int_equal(rn_fabric_count(w.f), 0);
	w.f = copy;
	w.used = 0;
	assert_int_equal(rn_fabric_count(w.f), 20);
	world_force_all(&w);
	assert_int_equal(w.performed, 40);
	assert_memory_equal(copy, original, size);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_is_performed_when_it_leaves_its_last_queue),
		cmocka_unit_test(qps_of_one_list_have_queues_of_their_own),
		cmocka_unit_test(entries_of_one_list_are_those_of_their_qps),
		cmocka_unit_test(a_read_takes_bytes_there_and_completes_here),
		cmocka_unit_test(place_now_does_all_at_once),
		cmocka_unit_test(memory_of_ones_own_is_near),
		cmocka_unit_test(what_is_not_routed_is_refused),
		cmocka_unit_test(near_peers_do_not_take_the_other_root_port),
		cmocka_unit_test(a_full_fabric_says_so_and_takes_more_after_one_is_done),
		cmocka_unit_test(only_the_head_of_plain_writes_may_move),
		cmocka_unit_test(what_may_pass_leaves_from_the_middle),
		cmocka_unit_test(different_routes_have_no_order),
		cmocka_unit_test(a_completion_pushes_what_is_before_it),
		cmocka_unit_test(queues_are_visited_upward_and_only_if_busy),
		cmocka_unit_test(each_queue_visits_those_that_are_busy),
		cmocka_unit_test(the_wanted_are_counted_until_they_are_performed),
		cmocka_unit_test(force_moves_only_what_must_not_be_passed),
		cmocka_unit_test(a_long_queue_needs_no_stack),
		cmocka_unit_test(blockers_of_blockers_go_first),
		cmocka_unit_test(data_of_two_messages_is_free_across_their_entries),
		cmocka_unit_test(elsewhere_an_entry_is_written_at_once),
		cmocka_unit_test(force_if_goes_by_age_across_queues),
		cmocka_unit_test(what_is_issued_meanwhile_is_not_forced),
		cmocka_unit_test(force_ends_though_its_place_is_taken_again),
		cmocka_unit_test(age_is_by_issue),
		cmocka_unit_test(a_copy_of_the_block_is_a_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
