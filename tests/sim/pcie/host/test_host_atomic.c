/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_host_atomic.c - atomics of NICs, made under a lock of the NIC or by AtomicOps.
 * Litmus T1 to T5.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "host_kit.h"

enum {
	SEEDS = 200,
};

/* Nothing moves unless it is forced. */
#define FROZEN ",driver=replay,replay=/dev/null" KIT_STILL

static uint64_t word __attribute__((aligned(64)));
static uint64_t other __attribute__((aligned(64)));

static enum rn_mem_result swap(struct kit_nic *n, uint64_t compare, uint64_t value,
			       uint64_t *found)
{
	struct rn_mem_attr attr = { .qpn = KIT_QP };
	struct rn_mem_atomic_req req = {
		.op = RN_MEM_CMP_SWAP,
		.dst = kit_iova(&word),
		.operand = value,
		.compare = compare,
	};

	return n->api->mem->atomic(n->nic, &req, found, attr, 1);
}

static void finish(struct kit_nic *n)
{
	n->api->drain(n->nic, 0);
	(void)kit_collect(n);
}

static void values_are_as_the_operation_says(void **state)
{
	static const char *const knobs[] = { "strict,rc.p2p=deny", "typical" KIT_STILL,
					     "typical,atomic=pcie" KIT_STILL,
					     "adversarial" KIT_STILL,
					     "typical,mr.relaxed=force" KIT_STILL };
	uint64_t found = 0;
	struct kit_nic n;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		kit_host_knobs(knobs[i]);
		kit_attach(&n);
		word = 5;
		(void)kit_add(&n, KIT_QP, &word, 3, &found, 1);
		finish(&n);
		assert_int_equal(found, 5);
		assert_int_equal(word, 8);
		(void)swap(&n, 7, 1, &found);
		finish(&n);
		assert_int_equal(found, 8);
		assert_int_equal(word, 8);
		(void)swap(&n, 8, 1, &found);
		finish(&n);
		assert_int_equal(found, 8);
		assert_int_equal(word, 1);
		kit_detach(&n);
	}
}

/* Both add 1: is one of them lost with some seed? */
static bool is_one_lost(const char *knobs, bool other_nic)
{
	struct kit_nic a, b;
	bool lost = false;

	kit_host_knobs(knobs);
	kit_attach(&a);
	kit_attach(&b);
	for (uint64_t seed = 1; seed <= SEEDS && !lost; seed++) {
		struct kit_nic *second = other_nic ? &b : &a;
		uint64_t found[2] = { 9, 9 };

		rn_pcie_seed(seed);
		__atomic_store_n(&word, 0, __ATOMIC_RELEASE);
		(void)kit_add(&a, KIT_QP, &word, 1, &found[0], 1);
		(void)kit_add(second, KIT_QP + 1, &word, 1, &found[1], 2);
		while (kit_load(&word) == 0)
			rn_pcie_step(1);
		finish(&a);
		finish(&b);
		lost = kit_load(&word) == 1;
		assert_true(kit_load(&word) <= 2);
		assert_true(lost ? found[0] == 0 && found[1] == 0
				 : found[0] + found[1] == 1);
	}
	kit_detach(&a);
	kit_detach(&b);
	return lost;
}

static void atomic_among_those_of_one_nic(void **state)
{
	(void)state;
	assert_false(is_one_lost("typical" KIT_STILL, false));
	assert_true(is_one_lost("typical" KIT_STILL, true));
	assert_false(is_one_lost("typical,atomic=pcie" KIT_STILL, false));
	assert_false(is_one_lost("typical,atomic=pcie" KIT_STILL, true));
	assert_false(is_one_lost("adversarial,driver=random" KIT_STILL, false));
}

static void a_waiting_atomic_can_be_drained(void **state)
{
	uint64_t found[3] = { 9, 9, 9 };
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical" FROZEN);
	kit_attach(&n);
	word = 0;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(kit_add(&n, KIT_QP + i, &word, 1, &found[i], i),
				 RN_MEM_PENDING);
	/* The last in the line: those before it must be done first. */
	n.api->drain(n.nic, KIT_QP + 2);
	assert_int_equal(kit_collect(&n), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(n.result[i].tag, i);
		assert_int_equal(n.result[i].result, RN_MEM_DONE);
		assert_int_equal(found[i], i);
	}
	finish(&n);
	assert_int_equal(word, 3);
	kit_detach(&n);
}

static void other_words_do_not_wait(void **state)
{
	uint64_t found[3];
	struct kit_nic n;
	struct rn_pcie_counters before, after;

	(void)state;
	kit_host_knobs("typical" FROZEN);
	kit_attach(&n);
	rn_pcie_counters(&before);
	(void)kit_add(&n, KIT_QP, &word, 1, &found[0], 1);
	(void)kit_add(&n, KIT_QP, &other, 1, &found[1], 2);
	(void)kit_add(&n, KIT_QP, &word, 1, &found[2], 3);
	rn_pcie_counters(&after);
	assert_int_equal(after.tlps, before.tlps + 2);
	kit_detach(&n);
}

/* P3: an AtomicOp pushes, with RO it does not; the read of a NIC pushes always. */
static bool does_push(const char *knobs, uint32_t flags)
{
	struct rn_mem_attr attr = { .qpn = KIT_QP, .flags = flags };
	struct rn_mem_atomic_req req = { .op = RN_MEM_FETCH_ADD,
					 .dst = kit_iova(&word),
					 .operand = 1 };
	struct rn_host *h = rn_host_get();
	struct kit_nic n;
	uint64_t found;
	bool pushed;

	kit_host_knobs(knobs);
	kit_attach(&n);
	other = 0;
	kit_write64(&n, KIT_QP, &other, 1, 0);
	assert_int_equal(n.api->mem->atomic(n.nic, &req, &found, attr, 1),
			 RN_MEM_PENDING);
	rn_host_lock(h);
	rn_host_force(h, rn_fabric_youngest(rn_host_fabric(h)));
	rn_host_unlock(h);
	pushed = kit_load(&other) == 1;
	kit_detach(&n);
	return pushed;
}

static void what_atomics_push(void **state)
{
	(void)state;
	assert_true(does_push("typical,atomic=pcie" FROZEN, 0));
	assert_false(does_push("typical,atomic=pcie" FROZEN, RN_MEM_RELAXED));
	assert_true(does_push("typical" FROZEN, 0));
	assert_true(does_push("typical" FROZEN, RN_MEM_RELAXED));
}

static void a_word_that_is_gone_is_a_fault(void **state)
{
	static const char *const knobs[] = { "typical" FROZEN,
					     "typical,atomic=pcie" FROZEN };
	volatile uint64_t *nowhere =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t found[2];
	struct kit_nic n;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		kit_host_knobs(knobs[i]);
		kit_attach(&n);
		for (unsigned k = 0; k < 2; k++)
			assert_int_equal(kit_add(&n, KIT_QP, nowhere, 1, &found[k], k),
					 RN_MEM_PENDING);
		n.api->drain(n.nic, KIT_QP);
		assert_int_equal(kit_collect(&n), 2);
		assert_int_equal(n.result[0].result, RN_MEM_FAULT);
		assert_int_equal(n.result[1].result, RN_MEM_FAULT);
		kit_detach(&n);
	}
	munmap((void *)nowhere, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_as_the_operation_says),
		cmocka_unit_test(atomic_among_those_of_one_nic),
		cmocka_unit_test(a_waiting_atomic_can_be_drained),
		cmocka_unit_test(other_words_do_not_wait),
		cmocka_unit_test(what_atomics_push),
		cmocka_unit_test(a_word_that_is_gone_is_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
