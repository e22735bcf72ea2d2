/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_gpu.c - device memory: allocation, names, descriptors, what happens after free. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "gpu_kit.h"

#define PAGE 4096ULL

static uint64_t attr(struct rn_gpu *gpu, enum rn_gpu_attr which)
{
	uint64_t value = 0;

	assert_int_equal(rn_gpu_get_attr(gpu, which, &value), 0);
	return value;
}

static bool has_no_host;

struct rn_host *__real_rn_host_get(void);
struct rn_host *__wrap_rn_host_get(void);
struct rn_host *__wrap_rn_host_get(void)
{
	return has_no_host ? NULL : __real_rn_host_get();
}

/* And once there is memory, the next test opens it. */
static void test_open_without_memory(void **state)
{
	(void)state;
	has_no_host = true;
	errno = 0;
	assert_null(rn_gpu_open(0));
	assert_int_equal(errno, ENOMEM);
	assert_string_equal(rn_gpu_last_error(), "GPU 0: no memory for its views");
	has_no_host = false;
}

static void test_open_by_number(void **state)
{
	(void)state;
	assert_int_equal(rn_gpu_count(), 4);
	for (int i = 0; i < rn_gpu_count(); i++) {
		struct rn_gpu *gpu = rn_gpu_open(i);

		assert_non_null(gpu);
		assert_ptr_equal(rn_gpu_open(i), gpu);
		assert_int_equal(rn_gpu_number(gpu), i);
	}
	errno = 0;
	assert_null(rn_gpu_open(4));
	assert_int_equal(errno, ENODEV);
	assert_null(rn_gpu_open(-1));
	assert_string_equal(rn_gpu_last_error(), "there is no GPU -1 in this process");
}

static void test_two_names_of_the_same_bytes(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 10000);
	struct rn_gpu_where where;
	uint8_t *bar = b.bar, *dev = b.dev;

	(void)state;
	assert_int_equal(b.len, 10000);
	assert_ptr_not_equal(b.bar, b.dev);
	for (unsigned i = 0; i < b.len; i++)
		assert_int_equal(bar[i], 0);
	bar[9999] = 7;
	assert_int_equal(dev[9999], 7);

	assert_int_equal(rn_gpu_find(bar + 9999, &where), 0);
	assert_true(where.by_bar && !where.is_declared);
	assert_int_equal(where.offset, 9999);
	assert_memory_equal(&where.buffer, &b, sizeof(b));
	assert_int_equal(rn_gpu_find(dev, &where), 0);
	assert_false(where.by_bar);
	assert_int_equal(rn_gpu_find(&where, NULL), -ENOENT);
	assert_int_equal(rn_gpu_free(b.dev), 0);
	assert_int_equal(rn_gpu_find(bar, &where), -EFAULT);
}

static void test_allocations_do_not_touch(void **state)
{
	struct rn_gpu_buffer b[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		b[i] = gpu_kit_alloc(2, PAGE);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < i; k++)
			assert_true(llabs((char *)b[i].bar - (char *)b[k].bar) >=
				    (long long)(2 * PAGE));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rn_gpu_free(b[i].bar), 0);
}

static void test_alloc_refuses(void **state)
{
	struct rn_gpu *gpu = rn_gpu_open(0);
	struct rn_gpu_buffer b;

	(void)state;
	assert_int_equal(rn_gpu_alloc(gpu, 0, 0, &b), -EINVAL);
	assert_int_equal(rn_gpu_alloc(gpu, 1, 8, &b), -EINVAL);
	assert_int_equal(rn_gpu_alloc(gpu, SIZE_MAX, 0, &b), -ENOMEM);
	assert_int_equal(rn_gpu_alloc(gpu, attr(gpu, RN_GPU_ATTR_MEMORY_SIZE) + 1, 0, &b),
			 -ENOMEM);
	assert_int_equal(rn_gpu_free(&b), -EINVAL);
	b = gpu_kit_alloc(0, 2 * PAGE);
	assert_int_equal(rn_gpu_free((char *)b.bar + PAGE), -EINVAL);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	assert_int_equal(rn_gpu_free(b.bar), -EINVAL);
	assert_non_null(strstr(rn_gpu_last_error(), "freed before"));
}

/* bar=64K: what does not fit is refused with a sentence, and fits again after a free. */
static void test_aperture(void **state)
{
	struct rn_gpu *gpu = rn_gpu_open(0);
	struct rn_gpu_buffer big, more, hidden;

	(void)state;
	assert_int_equal(attr(gpu, RN_GPU_ATTR_BAR_SIZE), 65536);
	assert_int_equal(rn_gpu_alloc(gpu, 65537, 0, &big), -ENOMEM);
	assert_int_equal(rn_gpu_alloc(gpu, 65536 - PAGE, 0, &big), 0);
	assert_int_equal(attr(gpu, RN_GPU_ATTR_BAR_FREE), PAGE);
	assert_int_equal(rn_gpu_alloc(gpu, PAGE + 1, 0, &more), -ENOMEM);
	assert_string_equal(rn_gpu_last_error(), "GPU 0: 8192 bytes do not fit into the "
						 "BAR: 61440 of 65536 are taken");
	assert_int_equal(rn_gpu_alloc(gpu, 1 << 20, RN_GPU_DEVICE_ONLY, &hidden), 0);
	assert_null(hidden.bar);
	assert_int_equal(attr(gpu, RN_GPU_ATTR_MEMORY_FREE),
			 attr(gpu, RN_GPU_ATTR_MEMORY_SIZE) - (65536 - PAGE) - (1 << 20));
	assert_int_equal(rn_gpu_export_dmabuf(hidden.dev, PAGE), -ENOMEM);
	assert_int_equal(rn_gpu_region_add(NULL, 1, (uintptr_t)hidden.dev, PAGE, 0),
			 -ENOMEM);
	assert_int_equal(rn_gpu_free(big.bar), 0);
	assert_int_equal(rn_gpu_alloc(gpu, PAGE + 1, 0, &more), 0);
	assert_int_equal(rn_gpu_free(more.bar), 0);
	assert_int_equal(rn_gpu_free(hidden.dev), 0);
	assert_int_equal(attr(gpu, RN_GPU_ATTR_BAR_FREE), 65536);
	assert_int_equal(attr(gpu, RN_GPU_ATTR_MEMORY_FREE),
			 attr(gpu, RN_GPU_ATTR_MEMORY_SIZE));
}

/* A small GPU fills up, and memory freed long ago is given out again, zeroed. */
static void test_reuse_when_full(void **state)
{
	struct rn_gpu *gpu = rn_gpu_open(0);
	size_t half = attr(gpu, RN_GPU_ATTR_MEMORY_SIZE) / 2;
	struct rn_gpu_buffer b;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(rn_gpu_alloc(gpu, half, 0, &b), 0);
		assert_int_equal(*(char *)b.bar, 0);
		memset(b.bar, 0xff, half);
		assert_int_equal(rn_gpu_free(b.bar), 0);
	}
}

/* There is room in the BAR, but none between what is allocated: that takes nothing. */
static void test_no_room_takes_no_aperture(void **state)
{
	struct rn_gpu *gpu = rn_gpu_open(0);
	uint64_t room = attr(gpu, RN_GPU_ATTR_BAR_FREE) / PAGE;
	struct rn_gpu_buffer b, more;

	(void)state;
	assert_int_equal(rn_gpu_alloc(gpu, 100 * PAGE, 0, &b), 0);
	room -= 100;
	/* A page that faults lies between the two. */
	assert_int_equal(rn_gpu_alloc(gpu, room * PAGE, 0, &more), -ENOMEM);
	assert_non_null(strstr(rn_gpu_last_error(), "bytes do not fit: "));
	assert_int_equal(attr(gpu, RN_GPU_ATTR_BAR_FREE), room * PAGE);
	assert_int_equal(rn_gpu_alloc(gpu, (room - 1) * PAGE, 0, &more), 0);
	assert_int_equal(rn_gpu_free(more.bar), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* ROCIN_GPU_MEMORY, and how many pages that is. */
static const struct size_row {
	const char *text;
	uint64_t pages;
} sizes[] = {
	{ "65536", 16 },
	{ "64K", 16 },
	{ "3M", 3 << 8 },
	{ "2G", 2 << 18 },
	/* Not understood, too small, too large: what is usual. */
	{ "64k", 4 << 18 },
	{ "64KB", 4 << 18 },
	{ "-64K", 4 << 18 },
	{ "65535", 4 << 18 },
	{ "17179869185G", 4 << 18 },
	{ "99999999999999999999", 4 << 18 },
};
static const struct size_row *size_row;

static void test_memory_size(void **state)
{
	(void)state;
	assert_int_equal(attr(rn_gpu_open(0), RN_GPU_ATTR_MEMORY_SIZE),
			 (size_row->pages - 1) * PAGE);
}

static void test_dmabuf(void **state)
{
	struct rn_gpu_buffer a = gpu_kit_alloc(3, 3 * PAGE), b = gpu_kit_alloc(3, PAGE);
	int whole = rn_gpu_export_dmabuf(a.bar, 3 * PAGE);
	int part = rn_gpu_export_dmabuf((char *)a.dev + PAGE, 2 * PAGE);
	int copy = dup(part);
	rn_iova at = 0;

	(void)state;
	assert_true(whole > 2 && part > 2 && copy > 2);
	assert_int_equal(fcntl(whole, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(rn_gpu_dmabuf_find(whole, 0, 3 * PAGE, &at), 0);
	assert_int_equal(at, (uintptr_t)a.bar);
	assert_int_equal(rn_gpu_dmabuf_find(copy, 100, PAGE, &at), 0);
	assert_int_equal(at, (uintptr_t)a.bar + PAGE + 100);
	assert_int_equal(rn_gpu_dmabuf_find(part, 0, 2 * PAGE + 1, &at), -EINVAL);
	assert_int_equal(rn_gpu_dmabuf_find(whole, UINT64_MAX, 1, &at), -EINVAL);
	assert_int_equal(rn_gpu_dmabuf_find(STDIN_FILENO, 0, 1, &at), -ENOENT);
	assert_int_equal(rn_gpu_dmabuf_find(-1, 0, 1, &at), -ENOENT);

	assert_int_equal(rn_gpu_export_dmabuf((char *)a.bar + 1, PAGE), -EINVAL);
	assert_int_equal(rn_gpu_export_dmabuf(a.bar, 4 * PAGE), -EINVAL);
	assert_int_equal(rn_gpu_export_dmabuf(&at, PAGE), -EINVAL);
	assert_int_equal(rn_gpu_free(a.bar), 0);
	assert_int_equal(rn_gpu_dmabuf_find(whole, 0, PAGE, &at), -EINVAL);
	close(whole);
	close(part);
	close(copy);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void test_registration(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, PAGE);
	uintptr_t bar = (uintptr_t)b.bar;
	uint64_t host;

	(void)state;
	assert_int_equal(rn_gpu_region_add(NULL, 1, bar, PAGE, 0), 1);
	assert_int_equal(rn_gpu_region_add(NULL, 2, bar + 8, PAGE, 0), -EFAULT);
	assert_int_equal(rn_gpu_region_add(NULL, 3, (uintptr_t)b.dev, PAGE, 0), -EINVAL);
	assert_int_equal(rn_gpu_region_add(NULL, 4, (uintptr_t)&host, 8, 0), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	assert_int_equal(rn_gpu_region_add(NULL, 5, bar, PAGE, 0), -EFAULT);
	rn_gpu_region_remove(NULL, 1);
}

/* ------------------------------------------------------------ after a free */
/* What a child wrote to stderr before it ended with @status. */
static char said[2000];

static int run_child(void (*body)(void))
{
	struct rlimit no_core = { 0, 0 };
	int pipe_fd[2], status;
	ssize_t got, len = 0;
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGSEGV, SIG_DFL);
		dup2(pipe_fd[1], STDERR_FILENO);
		body();
		_exit(0);
	}
	close(pipe_fd[1]);
	while ((got = read(pipe_fd[0], said + len, sizeof(said) - 1 - (size_t)len)) > 0)
		len += got;
	said[len] = '\0';
	close(pipe_fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static struct rn_gpu_buffer freed_buffer(void)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 5000);

	if (rn_gpu_free(b.bar) != 0)
		_exit(99);
	return b;
}

static void touch_after_free(void)
{
	volatile char *bar = freed_buffer().bar;

	bar[4] = 1;
}

static void load_in_kernel(void *arg)
{
	if (rn_gpu_load(arg, 8) != UINT64_MAX || errno != EFAULT)
		_exit(98);
}

static void touch_in_kernel(void *arg)
{
	*(volatile char *)arg = 1;
	_exit(97); /* not reached */
}

static void kernels_touch_after_free(void)
{
	struct rn_gpu_buffer b = freed_buffer();

	rn_gpu_launch(b.gpu, load_in_kernel, b.dev);
	if (rn_gpu_synchronize(b.gpu) != -EFAULT)
		_exit(96);
	rn_gpu_launch(b.gpu, touch_in_kernel, b.dev);
	if (rn_gpu_synchronize(b.gpu) != -EFAULT)
		_exit(95);
	b = gpu_kit_alloc(0, 8);
	rn_gpu_launch(b.gpu, touch_in_kernel, (char *)b.dev + 4096);
	if (rn_gpu_synchronize(b.gpu) != -EFAULT)
		_exit(94);
}

static void device_touches_after_free(void)
{
	struct rn_gpu_buffer b = freed_buffer();
	uint64_t word = 1;

	rn_host_lock(rn_host_get());
	if (rn_host_store(rn_host_get(), (uintptr_t)b.bar, &word, 8) != RN_MEM_FAULT ||
	    rn_host_load(rn_host_get(), &word, (uintptr_t)b.bar, 8) != RN_MEM_FAULT)
		_exit(93);
	rn_host_unlock(rn_host_get());
}

static void test_cpu_uses_freed_memory(void **state)
{
	int status = run_child(touch_after_free);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_non_null(strstr(said, "use after free: byte 4 of allocation "));
	assert_non_null(strstr(said, "(5000 bytes, GPU 0) was touched by the CPU"));
	assert_non_null(strstr(said, "; it was freed here:\n    #0 0x"));
	assert_non_null(strstr(said, program_invocation_short_name));
}

static void test_kernel_uses_freed_memory(void **state)
{
	int status = run_child(kernels_touch_after_free);
	const char *first;

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	first = strstr(said, "use after free");
	assert_non_null(first);
	assert_null(strstr(first + 1, "use after free")); /* once per allocation */
	assert_non_null(strstr(said, "byte 4096 behind the start of allocation"));
}

static void test_device_uses_freed_memory(void **state)
{
	int status = run_child(device_touches_after_free);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_non_null(strstr(said, "use after free"));
	assert_non_null(strstr(said, "was touched by a device; it was freed here:"));
}

/* What is on its way when memory is freed lands before, and never after. */
static void test_free_with_writes_on_their_way(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, PAGE), again;
	struct rn_gpu_counters before, after;

	(void)state;
	rn_gpu_get_counters(&before);
	gpu_kit_nic_write(0, b.bar, ~0ULL, RN_TLP_DATA);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	assert_int_equal(rn_pcie_pending(b.bar, 8), 0);
	again = gpu_kit_alloc(0, PAGE);
	gpu_kit_land_all();
	assert_int_equal(rn_gpu_bar_load(again.bar, 8), 0);
	assert_int_equal(rn_gpu_free(again.bar), 0);
	rn_gpu_get_counters(&after);
	assert_int_equal(after.freed_accesses, before.freed_accesses);
}

/* ------------------------------------------------------------------ others */
static void test_child_of_fork_has_no_gpus(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, PAGE), other;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		int err = rn_gpu_alloc(b.gpu, 1, 0, &other);
		int64_t kernel = rn_gpu_launch(b.gpu, load_in_kernel, NULL);

		_exit(err == -ENODEV && kernel == -ENODEV && !rn_gpu_open(0) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void wait_in_kernel(void *arg)
{
	*(int *)arg = rn_gpu_synchronize(rn_gpu_current());
}

/* As from an rn_gpu_open() whose answer was not looked at. */
static void test_null_is_no_gpu(void **state)
{
	struct rn_gpu_buffer b;
	uint64_t value;
	uint32_t word = 0;

	(void)state;
	assert_int_equal(rn_gpu_alloc(NULL, 1, 0, &b), -ENODEV);
	assert_string_equal(rn_gpu_last_error(), "NULL is no GPU");
	assert_int_equal(rn_gpu_launch(NULL, wait_in_kernel, &word), -ENODEV);
	assert_int_equal(rn_gpu_launch(rn_gpu_open(0), NULL, NULL), -EINVAL);
	assert_int_equal(rn_gpu_wait_kernel(NULL, 1), -ENODEV);
	assert_int_equal(rn_gpu_synchronize(NULL), -ENODEV);
	assert_int_equal(rn_gpu_flush(NULL, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER), -ENODEV);
	assert_int_equal(rn_gpu_wait_value32(NULL, &word, 0, 0, 0), -ENODEV);
	assert_int_equal(rn_gpu_get_attr(NULL, RN_GPU_ATTR_BAR_SIZE, &value), -ENODEV);
	assert_int_equal(rn_gpu_number(NULL), -1);
}

static bool mappings_can_run_out(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return false; /* they end a process that can map no more */
#else
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	long max = 0;
	bool is_read = f && fscanf(f, "%ld", &max) == 1;

	if (f)
		fclose(f);
	return is_read && max < 200000;
#endif
}

/* Each allocation takes mappings, and costs the same however many there are. */
static void test_mappings_run_out(void **state)
{
	struct rn_gpu *gpu = rn_gpu_open(0);
	struct rn_gpu_buffer b, last = { 0 };
	int count = 0, err;

	(void)state;
	if (!mappings_can_run_out())
		skip();
	while (!(err = rn_gpu_alloc(gpu, 1, 0, &b)) && ++count < 100000)
		last = b;
	assert_int_equal(err, -ENOMEM);
	assert_in_range(count, 1000, 100000);
	assert_non_null(strstr(rn_gpu_last_error(), "too many mappings"));
	*(volatile char *)last.bar = 1;
	assert_int_equal(rn_gpu_free(last.bar), 0);
	assert_int_equal(rn_gpu_alloc(gpu, 1, 0, &b), 0);
	assert_int_equal(*(volatile char *)b.bar, 0);
}

/* By the sign of the difference, so a counter that wraps is still waited for. */
static void test_stream_waits_are_cyclic(void **state)
{
	static const struct {
		uint32_t found, value;
		unsigned how;
		bool is_met;
	} rows[] = {
		{ 5, 5, RN_GPU_WAIT_GEQ, true },
		{ 6, 5, RN_GPU_WAIT_GEQ, true },
		{ 4, 5, RN_GPU_WAIT_GEQ, false },
		{ 0, UINT32_MAX, RN_GPU_WAIT_GEQ, true },
		{ UINT32_MAX, 0, RN_GPU_WAIT_GEQ, false },
		{ 0x7fffffff, 0, RN_GPU_WAIT_GEQ, true },
		{ 0x80000000, 0, RN_GPU_WAIT_GEQ, false },
		{ 3, 0xfffffff0, RN_GPU_WAIT_GEQ, true },
		{ 0xfffffff0, 3, RN_GPU_WAIT_GEQ, false },
		{ 5, 5, RN_GPU_WAIT_EQ, true },
		{ 6, 5, RN_GPU_WAIT_EQ, false },
		{ 0, UINT32_MAX, RN_GPU_WAIT_EQ, false },
		{ 6, 2, RN_GPU_WAIT_AND, true },
		{ 4, 2, RN_GPU_WAIT_AND, false },
		{ 0x80000000, 0x80000001, RN_GPU_WAIT_AND, true },
	};
	struct rn_gpu *gpu = rn_gpu_open(0);

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		uint32_t word = rows[i].found;
		int rc = rn_gpu_wait_value32(gpu, &word, rows[i].value, rows[i].how, 0);

		if (rc != (rows[i].is_met ? 0 : -ETIMEDOUT))
			fail_msg("row %u: %d", i, rc);
	}
}

/* MMIO is one naturally aligned access; what is none does nothing. */
static void test_mmio_is_aligned(void **state)
{
	static const struct {
		unsigned at, size;
	} wrong[] = { { 1, 8 }, { 4, 8 },  { 2, 4 }, { 1, 2 },
		      { 0, 3 }, { 0, 16 }, { 0, 0 } };
	struct rn_gpu_buffer b = gpu_kit_alloc(0, PAGE);

	(void)state;
	rn_gpu_bar_store(b.bar, 0x1122334455667788, 8);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		char *at = (char *)b.bar + wrong[i].at;

		errno = 0;
		assert_true(rn_gpu_bar_load(at, wrong[i].size) == UINT64_MAX);
		assert_int_equal(errno, EFAULT);
		errno = 0;
		rn_gpu_bar_store(at, 0, wrong[i].size);
		assert_int_equal(errno, EFAULT);
	}
	assert_int_equal(rn_gpu_bar_load(b.bar, 8), 0x1122334455667788);
	assert_int_equal(rn_gpu_bar_load((char *)b.bar + 4, 4), 0x11223344);
	assert_int_equal(rn_gpu_bar_load((char *)b.bar + 6, 2), 0x1122);
	assert_int_equal(rn_gpu_bar_load((char *)b.bar + 7, 1), 0x11);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* What failed is told at the end of the kernel that did it, not of the next. */
static void test_faults_are_of_one_kernel(void **state)
{
	struct rn_gpu *gpu = rn_gpu_open(0);
	uint64_t word = 5;

	(void)state;
	assert_int_equal(rn_gpu_become(gpu), 0);
	assert_true(rn_gpu_load((char *)&word + 1, 8) == UINT64_MAX);
	assert_int_equal(rn_gpu_become(NULL), -EFAULT);
	assert_int_equal(rn_gpu_become(gpu), 0);
	assert_int_equal(rn_gpu_load(&word, 8), 5);
	assert_int_equal(rn_gpu_become(NULL), 0);
	/* From one to another without an end between them. */
	assert_int_equal(rn_gpu_become(gpu), 0);
	assert_true(rn_gpu_load((char *)&word + 1, 8) == UINT64_MAX);
	assert_int_equal(rn_gpu_become(rn_gpu_open(1)), 0);
	assert_int_equal(rn_gpu_become(NULL), 0);
}

static void test_misuse_is_told(void **state)
{
	struct rn_gpu *gpu = rn_gpu_open(0);
	uint64_t value, word = 0;
	int answer = 0;

	(void)state;
	errno = 0;
	assert_true(rn_gpu_load(&word, 8) == UINT64_MAX && errno == EPERM);
	assert_int_equal(rn_gpu_wait_host(&word, 0, 8, 0), -EPERM);
	assert_int_equal(rn_gpu_get_attr(gpu, (enum rn_gpu_attr)99, &value), -EINVAL);
	assert_int_equal(rn_gpu_flush(gpu, RN_GPU_FLUSH_THIS, (enum rn_gpu_flush_scope)1),
			 -EINVAL);
	assert_int_equal(rn_gpu_wait_kernel(gpu, 123456), -ENOENT);
	assert_int_equal(
		rn_gpu_wait_value32(gpu, (uint32_t *)((char *)&word + 1), 0, 0, 0),
		-EINVAL);
	errno = 0;
	assert_true(rn_gpu_bar_load(&word, 8) == UINT64_MAX && errno == EFAULT);
	assert_true(rn_gpu_launch(gpu, wait_in_kernel, &answer) > 0);
	assert_int_equal(rn_gpu_synchronize(gpu), 0);
	assert_int_equal(answer, -EDEADLK);

	assert_int_equal(rn_gpu_become(gpu), 0);
	assert_true(rn_gpu_load((char *)&word + 1, 8) == UINT64_MAX);
	assert_int_equal(rn_gpu_wait_host(&word, 1, 8, 0), -ETIMEDOUT);
	assert_int_equal(rn_gpu_wait_host(&word, 1, 3, 0), -EINVAL);
	assert_int_equal(rn_gpu_become(NULL), -EFAULT);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_open_without_memory),
	cmocka_unit_test(test_open_by_number),
	cmocka_unit_test(test_two_names_of_the_same_bytes),
	cmocka_unit_test(test_allocations_do_not_touch),
	cmocka_unit_test(test_alloc_refuses),
	cmocka_unit_test(test_dmabuf),
	cmocka_unit_test(test_registration),
	cmocka_unit_test(test_free_with_writes_on_their_way),
	cmocka_unit_test(test_child_of_fork_has_no_gpus),
	cmocka_unit_test(test_stream_waits_are_cyclic),
	cmocka_unit_test(test_mmio_is_aligned),
	cmocka_unit_test(test_faults_are_of_one_kernel),
	cmocka_unit_test(test_misuse_is_told),
	cmocka_unit_test(test_null_is_no_gpu),
};

/* Their process opens no GPU: a child of one that has could not. */
static const struct CMUnitTest after_free_tests[] = {
	cmocka_unit_test(test_cpu_uses_freed_memory),
	cmocka_unit_test(test_kernel_uses_freed_memory),
	cmocka_unit_test(test_device_uses_freed_memory),
};

static const struct CMUnitTest aperture_tests[] = {
	cmocka_unit_test(test_aperture),
};

static const struct CMUnitTest mapping_tests[] = {
	cmocka_unit_test(test_mappings_run_out),
};

static const struct CMUnitTest small_tests[] = {
	cmocka_unit_test(test_no_room_takes_no_aperture),
	cmocka_unit_test(test_reuse_when_full),
};

static const struct CMUnitTest size_tests[] = {
	cmocka_unit_test(test_memory_size),
};

int main(void)
{
	static const char *const knobs[] = {
		"strict",
		"typical" GPU_KIT_HELD,
		"typical,gpu.ordering=none" GPU_KIT_HELD,
		"typical,rc.p2p=split" GPU_KIT_HELD,
		"typical,gpu.link=c2c" GPU_KIT_HELD,
		"adversarial" GPU_KIT_HELD,
	};
	int failed = 0;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		failed += gpu_kit_run(knobs[i], tests, RN_ARRAY_SIZE(tests));
		failed += gpu_kit_run(knobs[i], after_free_tests,
				      RN_ARRAY_SIZE(after_free_tests));
	}
	failed += gpu_kit_run("typical,bar=65536", aperture_tests, 1);
	failed += gpu_kit_run("typical", mapping_tests, 1);
	setenv("ROCIN_GPU_MEMORY", "1M", 1);
	failed += gpu_kit_run("typical", small_tests, RN_ARRAY_SIZE(small_tests));
	for (unsigned i = 0; i < RN_ARRAY_SIZE(sizes); i++) {
		size_row = &sizes[i];
		setenv("ROCIN_GPU_MEMORY", sizes[i].text, 1);
		failed += gpu_kit_run("typical", size_tests, 1);
	}
	return failed;
}
