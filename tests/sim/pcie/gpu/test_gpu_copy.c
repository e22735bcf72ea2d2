/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_gpu_copy.c - the copy engine: what it moves, what it sees of late writes, and what
 * it refuses.
 */
#include <sys/mman.h>

#include "gpu_kit.h"

enum {
	LEN = 3 * 16384 + 777, /* several pieces of the engine, and a part of one */
};

static uint8_t pattern_at(size_t i, unsigned salt)
{
	return (uint8_t)(i * 131 + i / 251 + salt);
}

static void fill(uint8_t *at, size_t len, unsigned salt)
{
	for (size_t i = 0; i < len; i++)
		at[i] = pattern_at(i, salt);
}

static void expect(const uint8_t *at, size_t len, unsigned salt)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(at[i], pattern_at(i, salt));
}

/* Host to GPU 0, to another place of GPU 0, to GPU 1, and back to the host. */
static void test_every_way(void **state)
{
	struct rn_gpu_buffer a = gpu_kit_alloc(0, LEN + 8), b = gpu_kit_alloc(0, LEN + 8);
	struct rn_gpu_buffer c = gpu_kit_alloc(1, LEN + 8);
	uint8_t *host = malloc(LEN), *back = calloc(1, LEN);

	(void)state;
	fill(host, LEN, 3);
	assert_int_equal(rn_gpu_copy(a.gpu, (char *)a.bar + 5, host, LEN), 0);
	assert_int_equal(rn_gpu_copy(a.gpu, b.dev, (char *)a.dev + 5, LEN), 0);
	assert_int_equal(rn_gpu_copy(a.gpu, (char *)c.bar + 1, b.bar, LEN), 0);
	assert_int_equal(rn_gpu_copy(c.gpu, back, (char *)c.dev + 1, LEN), 0);
	expect(back, LEN, 3);
	memset(back, 0, LEN);
	assert_int_equal(rn_gpu_copy(a.gpu, back, (char *)c.dev + 1, LEN), 0);
	expect(back, LEN, 3);
	assert_int_equal(rn_gpu_copy(a.gpu, NULL, NULL, 0), 0);
	free(host);
	free(back);
	assert_int_equal(rn_gpu_free(a.bar), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	assert_int_equal(rn_gpu_free(c.bar), 0);
}

static void test_fill(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(2, 40000);
	uint32_t words[5] = { 0 };
	uint8_t back[40000];

	(void)state;
	assert_int_equal(rn_gpu_fill(b.gpu, b.bar, 0xa1b2c3d4, 1, 40000), 0);
	assert_int_equal(rn_gpu_fill(b.gpu, (char *)b.bar + 2, 0xa1b2c3d4, 2, 3), 0);
	assert_int_equal(rn_gpu_copy(b.gpu, back, b.dev, sizeof(back)), 0);
	assert_memory_equal(back, "\xd4\xd4\xd4\xc3\xd4\xc3\xd4\xc3\xd4\xd4", 10);
	assert_int_equal(back[39999], 0xd4);
	assert_int_equal(rn_gpu_fill(b.gpu, words + 1, 7, 4, 3), 0);
	assert_memory_equal(words, ((uint32_t[]){ 0, 7, 7, 7, 0 }), sizeof(words));
	assert_int_equal(rn_gpu_fill(b.gpu, (char *)b.bar + 1, 0, 2, 1), -EINVAL);
	assert_int_equal(rn_gpu_fill(b.gpu, b.bar, 0, 8, 1), -EINVAL);
	assert_int_equal(rn_gpu_fill(b.gpu, b.bar, 0, 4, SIZE_MAX / 2), -EINVAL);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* Nothing faults: neither a range that ends too late, nor freed memory, nor a page of the
 * host that is not there.
 */
static void test_bad_memory(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096), far = gpu_kit_alloc(1, 4096);
	uint8_t *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t byte = 1;

	(void)state;
	assert_int_equal(munmap(hole + 4096, 4096), 0);
	assert_int_equal(rn_gpu_copy(b.gpu, b.bar, hole + 4000, 97), -EFAULT);
	assert_int_equal(rn_gpu_copy(b.gpu, hole + 4000, b.bar, 97), -EFAULT);
	assert_int_equal(rn_gpu_copy(b.gpu, hole + 4000, b.bar, 96), 0);
	assert_int_equal(rn_gpu_copy(b.gpu, (char *)b.bar + 4095, "ab", 2), -EFAULT);
	assert_int_equal(rn_gpu_fill(b.gpu, b.bar, 0, 1, 4097), -EFAULT);
	assert_int_equal(rn_gpu_free(far.bar), 0);
	assert_int_equal(rn_gpu_copy(b.gpu, b.bar, far.bar, 1), -EFAULT);
	assert_int_equal(rn_gpu_copy(b.gpu, far.dev, &byte, 1), -EFAULT);
	assert_non_null(strstr(rn_gpu_last_error(), "GPU 0 cannot copy 1 bytes"));
	assert_int_equal(rn_gpu_copy(NULL, b.bar, &byte, 1), -ENODEV);
	assert_null(rn_gpu_current());
	assert_int_equal(rn_gpu_free(b.bar), 0);
	munmap(hole, 4096);
}

/* A copy sees what a kernel sees: a late write of a NIC only once the CPU's doorbell has
 * pushed it, where both take one route.
 */
static void test_late_write(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	bool is_pushed = *(bool *)*state;
	uint64_t seen = 77;

	gpu_kit_receive(0, b.bar, 1);
	assert_int_equal(rn_gpu_copy(b.gpu, &seen, b.bar, 8), 0);
	assert_int_equal(seen, 0);
	assert_int_equal(rn_gpu_doorbell(b.gpu), 0);
	assert_int_equal(rn_gpu_copy(b.gpu, &seen, b.bar, 8), 0);
	assert_int_equal(seen, is_pushed);
	gpu_kit_land_all();
	assert_int_equal(rn_gpu_copy(b.gpu, &seen, b.bar, 8), 0);
	assert_int_equal(seen, 1);
	assert_int_equal(rn_gpu_doorbell(NULL), -ENODEV);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

int main(void)
{
	static bool one_way = true, two_ways = false;
	const struct CMUnitTest moves[] = {
		cmocka_unit_test(test_every_way),
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_bad_memory),
	};
	const struct CMUnitTest pushed[] = {
		cmocka_unit_test_prestate(test_late_write, &one_way),
	};
	const struct CMUnitTest split[] = {
		cmocka_unit_test_prestate(test_late_write, &two_ways),
	};
	int failed = 0;

	failed += gpu_kit_run("strict", moves, 3);
	failed += gpu_kit_run("typical,rc.p2p=split" GPU_KIT_HELD, moves, 3);
	failed += gpu_kit_run("adversarial,seed=4", moves, 3);
	failed += gpu_kit_run("typical,gpu.ordering=none" GPU_KIT_HELD, pushed, 1);
	failed += gpu_kit_run("typical,rc.p2p=split" GPU_KIT_HELD, split, 1);
	return failed;
}
