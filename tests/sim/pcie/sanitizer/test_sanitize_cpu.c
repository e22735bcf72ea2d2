/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize_cpu.c - the CPU's plain loads from device memory by a way that pushes
 * nothing: each that meets bytes on their way is seen, however many others come
 * before it.
 */
#include <pthread.h>

#include "sanitize_kit.h"
#include "sim/pcie/gpu/gpu_internal.h"
#include "transport/io/memory/mem_guard.h"

enum {
	QP = 0x100,
	PAGE = 4096,
	PAGES = 16,
	MANY = 5000, /* loads; more than are watched one by one in a while */
};

static struct kit_nic nic;
static struct rn_gpu_buffer b, other;
static volatile uint8_t *bytes;

static int set_up(void **state)
{
	(void)state;
	kit_attach(&nic);
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), PAGES * PAGE, 0, &b), 0);
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), PAGE, 0, &other), 0);
	bytes = b.bar;
	rn_guard_install(); /* cmocka has put handlers before it */
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rn_pcie_drain();
	assert_int_equal(rn_gpu_free(b.bar), 0);
	assert_int_equal(rn_gpu_free(other.bar), 0);
	kit_detach(&nic);
	return 0;
}

static uint32_t send_word(unsigned at)
{
	static uint32_t msg;

	san_data(&nic, QP, ++msg, (char *)b.bar + at, UINT64_MAX, 0);
	return msg;
}

static void receive(unsigned at)
{
	san_received(&nic, QP, send_word(at));
}

static void load(unsigned from, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(bytes[from + i], 0);
}

/* Right bytes of the same page, then one that is not there. */
static void test_behind_many_of_the_page(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	receive(PAGE - 8);
	load(0, PAGE - 8);
	assert_int_equal(san_occurrences(), before);
	load(PAGE - 3, 1);
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("stale read");
	san_assert_said("in memory of gpu0, by the cpu");
}

static void test_behind_many_of_other_pages(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	receive(5 * PAGE + 16);
	receive(9 * PAGE);
	load(0, MANY);
	load(12 * PAGE, MANY);
	assert_int_equal(san_occurrences(), before);
	load(5 * PAGE + 16, 1);
	assert_int_equal(san_occurrences(), before + 1);
	load(9 * PAGE, 1);
	load(5 * PAGE + 16, 1);
	assert_int_equal(san_occurrences(), before + 3);
}

/* Nothing that would have been a finding was on its way while it loaded. */
static void test_completion_behind_many(void **state)
{
	unsigned long long before = san_occurrences();
	uint32_t msg = send_word(PAGE + 8);

	(void)state;
	load(PAGE + 16, MANY);
	san_received(&nic, QP, msg);
	load(PAGE + 8, 1);
	assert_int_equal(san_occurrences(), before + 1);
}

static void test_stores_before(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	receive(3 * PAGE);
	for (unsigned i = 0; i < MANY; i++)
		bytes[4 * PAGE + i] = 0;
	assert_int_equal(san_occurrences(), before);
	load(3 * PAGE, 1);
	assert_int_equal(san_occurrences(), before + 1);
}

static void test_memory_that_comes_and_goes(void **state)
{
	unsigned long long before = san_occurrences();
	struct rn_gpu_buffer late;

	(void)state;
	receive(2 * PAGE);
	load(0, PAGE);
	assert_int_equal(rn_gpu_alloc(b.gpu, PAGE, 0, &late), 0);
	*(volatile uint64_t *)late.bar = 1;
	assert_int_equal(*(volatile uint64_t *)late.dev, 1);
	load(2 * PAGE, 1);
	assert_int_equal(rn_gpu_free(late.bar), 0);
	load(2 * PAGE + 7, 1);
	assert_int_equal(san_occurrences(), before + 2);
}

/* A load finds a byte that is pending; then its write is performed, before or behind the
 * load, and the step ends.
 */
static void meet_write(unsigned at, bool is_behind)
{
	struct rn_host *h = rn_host_get();
	rn_iova addr = kit_iova((char *)b.bar + at);

	receive(at);
	rn_host_lock(h);
	rn_san_judge_load(RN_AGENT_CPU, addr, addr);
	if (is_behind)
		rn_san_candidate_executed();
	rn_san_class_seen(addr, 1);
	rn_san_candidate_ran(rn_page_down(addr));
	rn_host_unlock(h);
}

/* The thread may wait for the lock after its load, before the step ends: what lands
 * meanwhile it has not seen. What lands before it may have.
 */
static void test_write_beside_the_load(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	meet_write(7 * PAGE, false);
	assert_int_equal(san_occurrences(), before);
	meet_write(8 * PAGE, true);
	assert_int_equal(san_occurrences(), before + 1);
}

static void *load_right_ones(void *stop)
{
	const volatile uint8_t *at = other.bar;

	while (!atomic_load((_Atomic bool *)stop))
		for (unsigned i = 0; i < PAGE; i++)
			if (at[i])
				return NULL;
	return stop;
}

/* What another thread loads from other pages does not open these. */
static void test_beside_another_thread(void **state)
{
	unsigned long long before = san_occurrences();
	_Atomic bool stop = false;
	pthread_t thread;
	void *result;

	(void)state;
	receive(PAGE);
	assert_int_equal(pthread_create(&thread, NULL, load_right_ones, &stop), 0);
	for (unsigned i = 0; i < 8; i++)
		load(PAGE + i, 1);
	atomic_store(&stop, true);
	pthread_join(thread, &result);
	assert_ptr_equal(result, &stop);
	assert_int_equal(san_occurrences(), before + 8);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_behind_many_of_the_page),    T(test_behind_many_of_other_pages),
		T(test_completion_behind_many),	    T(test_stores_before),
		T(test_memory_that_comes_and_goes), T(test_write_beside_the_load),
		T(test_beside_another_thread),
	};

#if !defined(__x86_64__)
	return 77; /* no single steps */
#endif
	san_begin("typical,rc.p2p=split" SAN_STILL, "on");
	return san_end(cmocka_run_group_tests(tests, NULL, NULL));
}
