/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_page.c - closed pages with a watcher of the test's own: what it is asked and told,
 * and what the program and the kernel may do meanwhile.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/pcie/page/page.h"
#include "transport/io/memory/mem_guard.h"

enum {
	PAGES = 4,
	RETRIES = 10000,
};

static struct rn_host *host;
static char *memory; /* PAGES of them */
static int ends[2];

/* How the watcher behaves, and what it has seen since set_up(). */
static struct {
	bool is_off, steps, declines;
	unsigned faults, pinned, unpinned;
	uintptr_t addr, lo, hi; /* of the last call */
	size_t len;
} watch;

static uintptr_t page(unsigned number)
{
	return (uintptr_t)memory + (uintptr_t)number * RN_PAGE_SIZE;
}

static bool is_in_memory(uintptr_t addr)
{
	return addr >= page(0) && addr < page(PAGES);
}

/* ----------------------------------------------------------------- watcher */
static bool is_on(void)
{
	return !watch.is_off;
}

static void close_page(void *arg, uintptr_t at)
{
	assert(arg == &watch);
	(void)rn_page_protect(at, at + RN_PAGE_SIZE, RN_PAGE_CLOSED);
}

static bool meet_fault(uintptr_t addr)
{
	uintptr_t at = rn_page_down(addr);

	if (!is_in_memory(addr))
		return false;
	watch.faults++;
	rn_host_lock(host);
	if (watch.steps)
		(void)rn_page_step(at, close_page, &watch);
	(void)rn_page_protect(at, at + RN_PAGE_SIZE, RN_PAGE_OPEN);
	rn_host_unlock(host);
	return true;
}

static void *owner(uintptr_t addr, size_t len)
{
	(void)len;
	return is_in_memory(addr) ? memory : NULL;
}

static bool pinned(void *of, uintptr_t addr, size_t len)
{
	assert(of == memory);
	if (watch.declines)
		return false;
	watch.pinned++;
	watch.addr = addr;
	watch.len = len;
	return rn_page_protect(rn_page_down(addr), rn_page_up(addr + len), RN_PAGE_OPEN);
}

static void unpinned(void *of, uintptr_t lo, uintptr_t hi)
{
	assert(of == memory);
	watch.unpinned++;
	watch.lo = lo;
	watch.hi = hi;
	(void)rn_page_protect(lo, hi, RN_PAGE_CLOSED);
}

static void in_child(void)
{
	(void)rn_page_protect(page(0), page(PAGES), RN_PAGE_OPEN);
}

static const struct rn_page_watcher watcher = { .is_on = is_on,
						.fault = meet_fault,
						.owner = owner,
						.pinned = pinned,
						.unpinned = unpinned,
						.in_child = in_child };

/* ------------------------------------------------------------------- tests */
static void protect_all(enum rn_page_rights rights)
{
	rn_host_lock(host);
	assert_true(rn_page_protect(page(0), page(PAGES), rights));
	rn_host_unlock(host);
}

static int set_up(void **state)
{
	(void)state;
	memset(&watch, 0, sizeof(watch));
	protect_all(RN_PAGE_OPEN);
	memset(memory, 7, (size_t)PAGES * RN_PAGE_SIZE);
	return rn_guard_install(); /* in front of cmocka's */
}

static char load(unsigned number)
{
	return *(volatile char *)page(number); // NOLINT(performance-no-int-to-ptr)
}

static void store(unsigned number, char value)
{
	*(volatile char *)page(number) = value; // NOLINT(performance-no-int-to-ptr)
}

/* No handler helps it. */
static bool can_kernel_read(unsigned number)
{
	char byte;
	bool yes = syscall(SYS_write, ends[1], page(number), 1) == 1;

	if (yes)
		assert_int_equal(read(ends[0], &byte, 1), 1);
	return yes;
}

static void test_loads_and_stores(void **state)
{
	(void)state;
	protect_all(RN_PAGE_CLOSED);
	assert_int_equal(load(1), 7);
	assert_int_equal(load(1), 7);
	assert_int_equal(watch.faults, 1);
	store(2, 8);
	assert_int_equal(load(2), 8);
	assert_int_equal(watch.faults, 2);

	protect_all(RN_PAGE_READ_ONLY);
	assert_int_equal(load(3), 7);
	assert_int_equal(watch.faults, 2);
	store(3, 9);
	assert_int_equal(watch.faults, 3);
	assert_int_equal(load(3), 9);
}

static void test_one_instruction(void **state)
{
	(void)state;
#if defined(__x86_64__)
	watch.steps = true;
	protect_all(RN_PAGE_CLOSED);
	for (unsigned i = 1; i <= 5; i++) {
		assert_int_equal(load(1), 7);
		assert_int_equal(watch.faults, i);
		assert_false(can_kernel_read(1));
	}
#endif
}

/* What is pinned stays open until it is unpinned, and no page beside it. */
static void test_pin(void **state)
{
	int pin;

	(void)state;
	protect_all(RN_PAGE_CLOSED);
	pin = rn_page_pin(page(1) + 5, 10);
	assert_true(pin >= 0);
	assert_int_equal(watch.pinned, 1);
	assert_int_equal(watch.addr, page(1) + 5);
	assert_int_equal(watch.len, 10);
	protect_all(RN_PAGE_CLOSED);
	for (unsigned i = 0; i < PAGES; i++)
		assert_int_equal(can_kernel_read(i), i == 1);
	assert_true(rn_page_is_pinned(page(1)));
	assert_false(rn_page_is_pinned(page(2)));

	rn_page_unpin(pin);
	assert_int_equal(watch.unpinned, 1);
	assert_int_equal(watch.lo, page(1));
	assert_int_equal(watch.hi, page(2));
	assert_false(can_kernel_read(1));
	assert_int_equal(watch.faults, 0);
}

static void test_what_is_not_pinned(void **state)
{
	char other[8];

	(void)state;
	assert_int_equal(rn_page_pin((uintptr_t)other, sizeof(other)), -1);
	assert_int_equal(rn_page_pin(page(0), 0), -1);
	watch.declines = true;
	assert_int_equal(rn_page_pin(page(0), 8), -1);
	assert_false(rn_page_is_pinned(page(0)));
	watch.declines = false;
	watch.is_off = true;
	assert_false(rn_page_is_watched());
	assert_int_equal(rn_page_pin(page(0), 8), -1);
	watch.is_off = false;
	assert_true(rn_page_is_watched());
	assert_int_equal(watch.pinned, 0);
}

static void test_calls_of_the_c_library(void **state)
{
	char back[2 * RN_PAGE_SIZE];

	(void)state;
	protect_all(RN_PAGE_CLOSED);
	assert_int_equal(write(ends[1], memory + RN_PAGE_SIZE, sizeof(back)),
			 sizeof(back));
	assert_int_equal(watch.pinned, 1);
	assert_int_equal(watch.unpinned, 1);
	assert_int_equal(read(ends[0], back, sizeof(back)), sizeof(back));
	assert_int_equal(watch.pinned, 1);
	assert_int_equal(back[sizeof(back) - 1], 7);
	assert_false(can_kernel_read(1));
	rn_page_calls_link();
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool is_set;
} flag = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

static void *set_flag(void *arg)
{
	pthread_mutex_lock(&flag.lock);
	flag.is_set = true;
	pthread_cond_signal(&flag.cond);
	pthread_mutex_unlock(&flag.lock);
	return arg;
}

/* By the wrapper, which has to find the implementation that the signal belongs to. */
static void test_condition_is_woken(void **state)
{
	struct timespec until;
	pthread_t thread;
	int rc = 0;

	(void)state;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&flag.lock);
	assert_int_equal(pthread_create(&thread, NULL, set_flag, NULL), 0);
	while (!flag.is_set && rc == 0)
		rc = pthread_cond_timedwait(&flag.cond, &flag.lock, &until);
	pthread_mutex_unlock(&flag.lock);
	assert_int_equal(rc, 0);
	pthread_join(thread, NULL);
}

static void test_child_of_fork(void **state)
{
	int status = -1;
	pid_t pid;

	(void)state;
	protect_all(RN_PAGE_CLOSED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(can_kernel_read(1) && load(1) == 7 && watch.faults == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(can_kernel_read(1));
}

/* Ten thousand times in a row, unless it was closed once in between. */
static void test_stuck(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		assert_false(rn_page_is_stuck(1, true));
		for (unsigned i = 0; i < RETRIES; i++)
			assert_false(rn_page_is_stuck(1, false));
		assert_true(rn_page_is_stuck(1, false));
		assert_false(rn_page_is_stuck(2, false));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_loads_and_stores, set_up),
		cmocka_unit_test_setup(test_one_instruction, set_up),
		cmocka_unit_test_setup(test_pin, set_up),
		cmocka_unit_test_setup(test_what_is_not_pinned, set_up),
		cmocka_unit_test_setup(test_calls_of_the_c_library, set_up),
		cmocka_unit_test_setup(test_condition_is_woken, set_up),
		cmocka_unit_test_setup(test_child_of_fork, set_up),
		cmocka_unit_test_setup(test_stuck, set_up),
	};

	host = rn_host_get();
	memory = mmap(NULL, (size_t)PAGES * RN_PAGE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	assert(host && memory != MAP_FAILED && pipe(ends) == 0);
	rn_host_lock(host);
	rn_page_step_init(NULL);
	rn_page_watch(host, &watcher);
	rn_host_unlock(host);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
