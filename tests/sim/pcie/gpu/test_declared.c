/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_declared.c - ordinary memory that is registered and declared a GPU's. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "gpu_kit.h"
#include "rocin/mr.h"
#include "sim/pcie/gpu/gpu_internal.h"
#include "tests/kit/system/descriptors.h"

#define PAGE 4096UL

static const struct rn_host_nic *const nic = NULL;

static char *map_pages(size_t pages, int flags)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags,
			-1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	for (size_t i = 0; i < pages * PAGE; i++)
		at[i] = (char)i;
	return at;
}

static int add(uint32_t key, const char *addr, size_t len)
{
	return rn_gpu_region_add(nic, key, (uintptr_t)addr, len, 0);
}

static uint64_t trapped(void)
{
	struct rn_gpu_counters c;

	rn_gpu_get_counters(&c);
	return c.loads_trapped;
}

static uint64_t bar_free(void)
{
	uint64_t value = 0;

	assert_int_equal(rn_gpu_get_attr(rn_gpu_open(1), RN_GPU_ATTR_BAR_FREE, &value),
			 0);
	return value;
}

static void test_becomes_device_memory(void **state)
{
	char *at = map_pages(4, MAP_PRIVATE);
	struct rn_gpu_where where;
	uint64_t before = trapped(), room = bar_free();

	(void)state;
	assert_int_equal(rn_gpu_find(at, &where), -ENOENT);
	assert_int_equal(add(1, at, 4 * PAGE), 1);
	for (size_t i = 0; i < 4 * PAGE; i++)
		assert_int_equal(at[i], (char)i);
	assert_int_equal(rn_gpu_find(at + 5000, &where), 0);
	assert_int_equal(rn_gpu_number(where.gpu), 1);
	assert_true(where.is_declared);
	assert_int_equal(where.offset, 5000);
	assert_int_equal(room - bar_free(), 4 * PAGE);

	/* The completion is seen before the data, as with a GPU; the load pushes. */
	gpu_kit_receive(0, at + PAGE, 0x1234);
	assert_true(where.gpu->trap.on_way > 0);
	assert_int_equal(*(volatile uint64_t *)(at + PAGE), 0x1234);
	assert_int_equal(trapped() - before, 1);
	assert_int_equal(rn_gpu_bar_load(at + PAGE, 8), 0x1234);

	rn_gpu_region_remove(nic, 1);
	assert_int_equal(rn_gpu_find(at, &where), -ENOENT);
	assert_int_equal(*(uint64_t *)(at + PAGE), 0x1234);
	assert_int_equal(room, bar_free());
	munmap(at, 4 * PAGE);
}

/* Memory that is closed at fork() is open in the child, for its loads and for the kernel:
 * nothing is on its way to it there.
 */
static void test_child_of_fork(void **state)
{
	char *at = map_pages(2, MAP_PRIVATE);
	volatile uint64_t *word = (volatile uint64_t *)(void *)(at + PAGE);
	uint64_t first;
	int ends[2], status = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(add(1, at, 2 * PAGE), 1);
	first = *word;
	gpu_kit_receive(0, at + PAGE, 0x1234);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(syscall(SYS_write, ends[1], at, 8) == 8 && *word == first ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(*word, 0x1234);
	rn_gpu_region_remove(nic, 1);
	close(ends[0]);
	close(ends[1]);
	munmap(at, 2 * PAGE);
}

/* A program may register as much as it likes: the mapping alone holds the memory. */
static void test_no_descriptor_is_left(void **state)
{
	char *at = map_pages(2, MAP_PRIVATE);
	unsigned before;

	(void)state;
	assert_int_equal(add(1, at, PAGE), 1);
	before = count_descriptors();
	assert_int_equal(add(2, at + PAGE, PAGE), 1);
	gpu_kit_receive(0, at + PAGE, 5);
	assert_int_equal(*(volatile uint64_t *)(at + PAGE), 5);
	assert_int_equal(count_descriptors(), before);
	rn_gpu_region_remove(nic, 2);
	rn_gpu_region_remove(nic, 1);
	assert_int_equal(count_descriptors(), before);
	munmap(at, 2 * PAGE);
}

/* A file far down in the file system, of which a page is mapped at @at. */
static void map_deep_file(char *at)
{
	enum {
		DEPTH = 4,
		NAME = 200
	};
	char path[32 + DEPTH * (NAME + 1)] = "/tmp/rocin-deep-XXXXXX", *end[DEPTH];
	int fd;

	assert_non_null(mkdtemp(path));
	for (unsigned i = 0; i < DEPTH; i++) {
		end[i] = path + strlen(path);
		end[i][0] = '/';
		memset(end[i] + 1, 'd', NAME);
		end[i][1 + NAME] = '\0';
		assert_true(i == DEPTH - 1 || mkdir(path, 0700) == 0);
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_ptr_equal(mmap(at, PAGE, PROT_NONE, MAP_PRIVATE | MAP_FIXED, fd, 0), at);
	close(fd);
	assert_int_equal(unlink(path), 0);
	for (unsigned i = DEPTH; i-- > 0;) {
		*end[i] = '\0';
		assert_int_equal(rmdir(path), 0);
	}
}

/* A line of /proc/self/maps is longer than usual then. */
static void test_behind_a_file_with_a_long_name(void **state)
{
	char *at = map_pages(2, MAP_PRIVATE);
	uint64_t before = trapped();

	(void)state;
	map_deep_file(at);
	at += PAGE;
	assert_int_equal(add(1, at, PAGE), 1);
	gpu_kit_receive(0, at, 5);
	assert_int_equal(*(volatile uint64_t *)at, 5);
	assert_int_equal(trapped() - before, 1);
	rn_gpu_region_remove(nic, 1);
	munmap(at - PAGE, 2 * PAGE);
}

static void test_parts_of_pages_are_not_watched(void **state)
{
	char *at = map_pages(3, MAP_PRIVATE);
	uint64_t before = trapped();

	(void)state;
	assert_int_equal(add(1, at + 100, 2 * PAGE), 1);
	gpu_kit_receive(0, at + 104, 1);
	gpu_kit_receive(0, at + PAGE, 2);
	gpu_kit_receive(0, at + 2 * PAGE, 3);
	assert_int_equal(at[0], 0);
	assert_int_equal(at[2 * PAGE + 100], 100);
	assert_int_equal(trapped() - before, 0);
	assert_int_equal(*(volatile uint64_t *)(at + PAGE), 2);
	assert_int_equal(trapped() - before, 1);
	assert_int_equal(*(volatile uint64_t *)(at + 104), 1);
	assert_int_equal(*(volatile uint64_t *)(at + 2 * PAGE), 3);
	rn_gpu_region_remove(nic, 1);
	munmap(at, 3 * PAGE);
}

static void test_shared_memory_is_not_replaced(void **state)
{
	char *at = map_pages(1, MAP_SHARED);
	uint64_t before = trapped();

	(void)state;
	assert_int_equal(add(1, at, PAGE), 1);
	gpu_kit_receive(0, at, 1);
	assert_int_not_equal(*(volatile uint64_t *)at, 1);
	assert_int_equal(rn_gpu_bar_load(at, 8), 1);
	assert_int_equal(trapped() - before, 0);
	rn_gpu_region_remove(nic, 1);
	munmap(at, PAGE);
}

static void test_overlapping_registrations(void **state)
{
	char *at = map_pages(8, MAP_PRIVATE);
	uint64_t room = bar_free();

	(void)state;
	assert_int_equal(add(1, at + 2 * PAGE, 2 * PAGE), 1);
	assert_int_equal(add(2, at, 8 * PAGE), 1);
	assert_int_equal(add(3, at + 3 * PAGE + 8, 100), 1);
	assert_int_equal(room - bar_free(), 8 * PAGE);
	gpu_kit_receive(0, at + 5 * PAGE, 1);
	rn_gpu_region_remove(nic, 2);
	assert_int_equal(room - bar_free(), 2 * PAGE);
	assert_int_equal(*(uint64_t *)(at + 5 * PAGE), 1);
	gpu_kit_receive(0, at + 3 * PAGE, 2);
	assert_int_equal(*(volatile uint64_t *)(at + 3 * PAGE), 2);
	rn_gpu_region_remove(nic, 1);
	rn_gpu_region_remove(nic, 3);
	rn_gpu_region_remove(nic, 3);
	assert_int_equal(room, bar_free());
	munmap(at, 8 * PAGE);
}

/* Registered again, the same pages are watched again; mapped anew, the new ones are. */
static void test_registered_again(void **state)
{
	char *at = map_pages(2, MAP_PRIVATE), *again;

	(void)state;
	for (unsigned round = 0; round < 4; round++) {
		uint64_t before = trapped();

		assert_int_equal(add(1, at, 2 * PAGE), 1);
		gpu_kit_receive(0, at, round + 1);
		assert_int_equal(*(volatile uint64_t *)at, round + 1);
		assert_int_equal(trapped() - before, 1);
		rn_gpu_region_remove(nic, 1);
		if (round != 1)
			continue;
		munmap(at, 2 * PAGE);
		again = mmap(at, 2 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		assert_ptr_equal(again, at);
	}
	munmap(at, 2 * PAGE);
}

/* Memory of a GPU to which data is on its way: the pages that come to it are closed too.
 */
static void test_watched_from_the_first_moment(void **state)
{
	char *at = map_pages(1, MAP_PRIVATE), *late = map_pages(1, MAP_PRIVATE);

	(void)state;
	assert_int_equal(add(1, at, PAGE), 1);
	gpu_kit_receive(0, at, 1);
	assert_int_equal(add(2, late, PAGE), 1);
	gpu_kit_receive(0, late, 2);
	assert_int_equal(*(volatile uint64_t *)late, 2);
	assert_int_equal(*(volatile uint64_t *)at, 1);
	rn_gpu_region_remove(nic, 1);
	rn_gpu_region_remove(nic, 2);
	munmap(at, PAGE);
	munmap(late, PAGE);
}

/* The rest of its first page fits, the pages behind it do not: nothing of it stays. */
static void test_half_of_it_beyond_the_bar(void **state)
{
	size_t pages = bar_free() / PAGE;
	char *at = mmap(NULL, (pages + 2) * PAGE, PROT_READ | PROT_WRITE,
			MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0);
	uint64_t room = bar_free();

	(void)state;
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(add(1, at + 64, (pages + 1) * PAGE - 64), -ENOMEM);
	assert_int_equal(room, bar_free());
	assert_int_equal(rn_gpu_find(at + 64, NULL), -ENOENT);
	assert_int_equal(add(1, at, pages * PAGE), 1);
	rn_gpu_region_remove(nic, 1);
	munmap(at, (pages + 2) * PAGE);
}

/* Such a registration may be of everything, and its pages may come and go. */
static void test_on_demand_stays_host_memory(void **state)
{
	(void)state;
	assert_int_equal(rn_gpu_region_add(nic, 1, 0, UINT64_MAX, RN_ACCESS_ON_DEMAND),
			 0);
	rn_gpu_region_remove(nic, 1);
}

static void test_beyond_the_bar(void **state)
{
	size_t pages = bar_free() / PAGE;
	char *at = mmap(NULL, (pages + 2) * PAGE, PROT_READ | PROT_WRITE,
			MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0);
	char *small = map_pages(1, MAP_PRIVATE);
	uint64_t room = bar_free();

	(void)state;
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(add(1, small, PAGE), 1);
	assert_int_equal(add(2, at, pages * PAGE), -ENOMEM);
	assert_non_null(strstr(rn_gpu_last_error(), "do not fit into the BAR"));
	assert_int_equal(room - bar_free(), PAGE);
	rn_gpu_region_remove(nic, 1);
	assert_int_equal(add(2, at, pages * PAGE), 1);
	rn_gpu_region_remove(nic, 2);
	assert_int_equal(room, bar_free());
	munmap(at, (pages + 2) * PAGE);
	munmap(small, PAGE);
}

#ifndef __SANITIZE_THREAD__
static _Atomic bool stop;

static void *count_up(void *arg)
{
	_Atomic uint64_t *word = arg;
	uint64_t n = 0;

	while (!atomic_load(&stop))
		atomic_store(word, ++n);
	return (void *)(uintptr_t)n;
}

/* A thread stores all the time: no store is lost when the pages are replaced. */
static void test_replaced_under_stores(void **state)
{
	char *at = map_pages(2, MAP_PRIVATE);
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(at + PAGE);
	pthread_t thread;
	void *last;
	uint64_t seen;

	(void)state;
	atomic_store(word, 0);
	assert_int_equal(pthread_create(&thread, NULL, count_up, word), 0);
	while (atomic_load(word) < 1000)
		;
	assert_int_equal(add(1, at, 2 * PAGE), 1);
	seen = atomic_load(word);
	while (atomic_load(word) < seen + 1000)
		;
	atomic_store(&stop, true);
	pthread_join(thread, &last);
	assert_int_equal(atomic_load(word), (uintptr_t)last);
	rn_gpu_region_remove(nic, 1);
	munmap(at, 2 * PAGE);
}

#endif

static void test_not_understood(void **state)
{
	char *at = map_pages(1, MAP_PRIVATE);

	(void)state;
	assert_int_equal(add(1, at, PAGE), -EINVAL);
	assert_non_null(strstr(rn_gpu_last_error(), "\"sise>=1\""));
	munmap(at, PAGE);
}

static void test_off_declares_nothing(void **state)
{
	char *at = map_pages(1, MAP_PRIVATE);

	(void)state;
	assert_int_equal(add(1, at, PAGE), 0);
	assert_int_equal(rn_gpu_find(at, NULL), -ENOENT);
	munmap(at, PAGE);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_becomes_device_memory),
	cmocka_unit_test(test_child_of_fork),
	cmocka_unit_test(test_no_descriptor_is_left),
	cmocka_unit_test(test_behind_a_file_with_a_long_name),
	cmocka_unit_test(test_parts_of_pages_are_not_watched),
	cmocka_unit_test(test_shared_memory_is_not_replaced),
	cmocka_unit_test(test_overlapping_registrations),
	cmocka_unit_test(test_registered_again),
	cmocka_unit_test(test_on_demand_stays_host_memory),
	cmocka_unit_test(test_beyond_the_bar),
	cmocka_unit_test(test_watched_from_the_first_moment),
	cmocka_unit_test(test_half_of_it_beyond_the_bar),
#ifndef __SANITIZE_THREAD__ /* it cannot know that the store waits in a handler */
	cmocka_unit_test(test_replaced_under_stores),
#endif
};

static const struct CMUnitTest bad_tests[] = {
	cmocka_unit_test(test_not_understood),
};

static const struct CMUnitTest off_tests[] = {
	cmocka_unit_test(test_off_declares_nothing),
};

int main(void)
{
	int failed = 0;

	setenv("ROCIN_PCIE_DEVICE", "program=another;gpu=2|all;gpu=1", 1);
	failed += gpu_kit_run("typical,bar=1048576" GPU_KIT_HELD, tests,
			      RN_ARRAY_SIZE(tests));
	failed += gpu_kit_run("typical,gpu.ordering=none,bar=1048576" GPU_KIT_HELD, tests,
			      RN_ARRAY_SIZE(tests));
	failed += gpu_kit_run("strict", off_tests, 1);
	setenv("ROCIN_PCIE_DEVICE", "sise>=1", 1);
	failed += gpu_kit_run("typical", bad_tests, 1);
	return failed;
}
