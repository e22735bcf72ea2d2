/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_gpu_random.c - GPU shapes under the random driver, many times: what the model
 * forbids is never seen. (What it allows: test_gpu_order.c.)
 */
#include <pthread.h>
#include <stdatomic.h>

#include "gpu_kit.h"

enum {
	RUNS = 200,
	WORDS = 16,
};

struct shared {
	_Atomic uint64_t round; /* host memory; the CPU tells the kernel */
	_Atomic uint64_t answered;
	const uint64_t *data;
	uint64_t stale;
};

/* Waits for each round and looks at the words from the last to the first. */
static void look_each_round(void *arg)
{
	struct shared *s = arg;

	for (uint64_t round = 1; round <= RUNS; round++) {
		if (rn_gpu_wait_host(&s->round, round, 8, 20000) < 0)
			return;
		for (unsigned i = WORDS; i-- > 0;)
			s->stale += rn_gpu_load(&s->data[8 * i], 8) != round;
		rn_gpu_store(&s->answered, round, 8);
	}
}

static void send_round(struct rn_gpu_buffer b, uint64_t round)
{
	for (unsigned i = 0; i < WORDS; i++)
		gpu_kit_nic_write(0, (uint64_t *)b.bar + 8 * i, round, RN_TLP_DATA);
}

/* The kernel's answer is a posted write: time brings it. */
static void await_answer(struct shared *s, uint64_t round)
{
	while (atomic_load(&s->answered) != round)
		rn_pcie_step(1);
}

static uint64_t stale_words(bool with_flush)
{
	static uint64_t cqe;
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	struct shared s = { .data = b.dev };

	assert_true(rn_gpu_launch(b.gpu, look_each_round, &s) > 0);
	for (uint64_t round = 1; round <= RUNS; round++) {
		send_round(b, round);
		gpu_kit_nic_write(0, &cqe, round, RN_TLP_CQE);
		if (with_flush)
			rn_gpu_flush(b.gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_ALL_DEVICES);
		atomic_store(&s.round, round);
		await_answer(&s, round);
	}
	assert_int_equal(rn_gpu_synchronize(b.gpu), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	return s.stale;
}

static void test_told_by_a_flag(void **state)
{
	(void)state;
	assert_int_equal(stale_words(false), 0);
}

static void test_told_after_a_flush(void **state)
{
	(void)state;
	assert_int_equal(stale_words(true), 0);
}

/* G9: data and then a flag, both by the NIC: whoever loads the flag through the BAR has
 * all that was sent before.
 */
static void test_flag_behind_data(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	volatile uint64_t *words = b.bar;

	(void)state;
	for (uint64_t round = 1; round <= RUNS; round++) {
		send_round(b, round);
		gpu_kit_nic_write(0, (uint64_t *)b.bar + 8 * WORDS, round, RN_TLP_DATA);
		while (words[8 * WORDS] != round)
			rn_pcie_step(1);
		for (unsigned i = 0; i < WORDS; i++)
			assert_int_equal(words[8 * i], round);
	}
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void produce_rounds(void *arg)
{
	struct shared *s = arg;

	for (uint64_t round = 1; round <= RUNS; round++) {
		rn_gpu_store(&s->answered, round, 8);
		rn_gpu_store((uint64_t *)(uintptr_t)s->data, round, 8);
	}
}

/* D2a: what the CPU loads from the GPU is not newer than what the GPU had sent before. */
static void test_upstream_writes_are_pushed(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	struct shared s = { .data = b.dev };
	uint64_t seen;

	(void)state;
	assert_true(rn_gpu_launch(b.gpu, produce_rounds, &s) > 0);
	do {
		seen = __atomic_load_n((uint64_t *)b.bar, __ATOMIC_ACQUIRE);
		assert_true(atomic_load(&s.answered) >= seen);
	} while (seen != RUNS);
	assert_int_equal(rn_gpu_synchronize(b.gpu), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_told_by_a_flag),
	cmocka_unit_test(test_told_after_a_flush),
	cmocka_unit_test(test_flag_behind_data),
	cmocka_unit_test(test_upstream_writes_are_pushed),
};

int main(void)
{
	static const char *const never[] = {
		"ibta,place=pcie,seed=1",
		"typical,seed=2",
		"typical,granule=8,seed=3",
	};
	int failed = 0;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(never); i++)
		failed += gpu_kit_run(never[i], tests, RN_ARRAY_SIZE(tests));
	/* A flag alone does not do there. */
	failed += gpu_kit_run("typical,gpu.ordering=none,seed=4", &tests[1],
			      RN_ARRAY_SIZE(tests) - 1);
	return failed;
}
