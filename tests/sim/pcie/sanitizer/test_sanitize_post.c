/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize_post.c - buffers between post and completion, and missing fences. */
#include <sys/mman.h>

#include "sanitize_kit.h"
#include "tests/kit/apart.h"
#include "transport/io/memory/mem_guard.h"

enum {
	QP = 0x100,
	BIG = 256 * 1024,
	REMOTE = 0x700000,
};

static uint8_t *buf; /* BIG bytes */
static struct kit_nic nic;

static int set_up(void **state)
{
	(void)state;
	kit_attach(&nic);
	memset(buf, 1, BIG);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rn_pcie_drain();
	kit_detach(&nic);
	return 0;
}

/* ------------------------------------------------------------------- source */
/* One request of [at, at + len) during which byte @change changes (< 0: none). */
static unsigned long long changed(size_t at, size_t len, long change)
{
	static uint32_t msg;
	unsigned long long before = san_occurrences();

	san_post(&nic, QP, msg, RN_WR_RDMA_WRITE, buf + at, len, REMOTE, false);
	if (change >= 0)
		buf[change]++;
	san_completed(&nic, QP, msg);
	msg++;
	return san_occurrences() - before;
}

static void test_any_byte_of_a_small_buffer(void **state)
{
	(void)state;
	for (long i = 98; i < 142; i++)
		assert_int_equal(changed(100, 40, i), i >= 100 && i < 140);
	for (size_t len = 1; len < 20; len++) {
		assert_int_equal(changed(0, len, (long)len - 1), 1);
		assert_int_equal(changed(0, len, (long)len), 0);
		assert_int_equal(changed(0, len, -1), 0);
	}
	assert_int_equal(changed(0, 0, 0), 0);
}

/* 64 KiB are compared whole, of more the ends. */
static void test_long_buffers(void **state)
{
	enum {
		HALF = 32 * 1024
	};

	(void)state;
	for (long i = 0; i < 2 * HALF; i += 4095)
		assert_int_equal(changed(0, 2 * HALF, i), 1);
	assert_int_equal(changed(0, BIG, -1), 0);
	assert_int_equal(changed(0, BIG, 0), 1);
	assert_int_equal(changed(0, BIG, HALF - 1), 1);
	assert_int_equal(changed(0, BIG, BIG - HALF), 1);
	assert_int_equal(changed(0, BIG, BIG - 1), 1);
}

static void test_several_ranges(void **state)
{
	struct rn_host_range range[3] = { { kit_iova(buf), 8 },
					  { kit_iova(buf + 100), 8 },
					  { kit_iova(buf + 200), 8 } };
	struct rn_host_wr wr = {
		.qpn = 0x300, .opcode = RN_WR_SEND, .local = range, .local_count = 3
	};
	unsigned long long before = san_occurrences();

	(void)state;
	nic.api->posted(nic.nic, &wr);
	buf[50]++;
	san_completed(&nic, 0x300, 0);
	assert_int_equal(san_occurrences(), before);
	wr.msg = 1;
	nic.api->posted(nic.nic, &wr);
	buf[207]++;
	san_completed(&nic, 0x300, 1);
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("source changed");
	san_assert_said("SEND, wr_id 0, request 1; 8 bytes at 0x");
}

static void test_of_an_atomic_write(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	san_post(&nic, 0x300, 0, RN_WR_ATOMIC_WRITE, buf, 8, REMOTE, false);
	san_completed(&nic, 0x300, 0);
	assert_int_equal(san_occurrences(), before);
	san_post(&nic, 0x300, 1, RN_WR_ATOMIC_WRITE, buf, 8, REMOTE, false);
	buf[7]++;
	san_completed(&nic, 0x300, 1);
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("ATOMIC WRITE, wr_id 0x2001, request 1; 8 bytes at 0x");
}

/* Where READs put their result changes of itself. */
static void test_not_of_reads(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	san_post(&nic, 0x300, 0, RN_WR_RDMA_READ, buf, 64, REMOTE, false);
	san_post(&nic, 0x300, 1, RN_WR_ATOMIC_FETCH_AND_ADD, buf + 64, 8, REMOTE + 64,
		 false);
	memset(buf, 9, 100);
	san_completed(&nic, 0x300, 1);
	assert_int_equal(san_occurrences(), before);
}

static void test_completions_of_a_later_request(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		san_post(&nic, 0x300, i, RN_WR_RDMA_WRITE, buf + 64 * i, 64, REMOTE,
			 false);
	san_completed(&nic, 0x300, 1);
	memset(buf, 9, 128);
	assert_int_equal(san_occurrences(), before);
	buf[128]++;
	san_completed(&nic, 0x300, 2);
	assert_int_equal(san_occurrences(), before + 1);
}

static void test_written_by_a_device(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	san_post(&nic, 0x300, 0, RN_WR_RDMA_WRITE, buf, 64, REMOTE, false);
	san_data(&nic, 0x300, 1, buf + 8, 7, 0);
	rn_pcie_drain();
	san_completed(&nic, 0x300, 0);
	assert_int_equal(san_occurrences(), before);
	/* What it wrote before, or elsewhere, is no excuse. */
	san_post(&nic, 0x300, 1, RN_WR_RDMA_WRITE, buf, 64, REMOTE, false);
	san_data(&nic, 0x300, 2, buf + 4096, 7, 0);
	rn_pcie_drain();
	buf[8]++;
	san_completed(&nic, 0x300, 1);
	assert_int_equal(san_occurrences(), before + 1);
}

/* Wherever a device writes, but into the source. */
static void test_written_elsewhere(void **state)
{
	enum {
		MUCH = 8 * 1024 * 1024,
		PART = 64 * 1024,
	};
	const struct rn_mem_attr attr = { .qpn = 0x300, .msg = 1 };
	unsigned long long before = san_occurrences();
	uint8_t *much = aligned_alloc(4096, MUCH);

	(void)state;
	assert_non_null(much);
	memset(much, 1, MUCH);
	san_post(&nic, 0x300, 0, RN_WR_RDMA_WRITE, buf + 100, 64, REMOTE, false);
	buf[100]++;
	for (size_t at = 0; at < MUCH; at += PART) {
		assert_int_equal(nic.api->mem->write(nic.nic, kit_iova(much + at),
						     much + at, PART, attr),
				 RN_MEM_DONE);
		rn_pcie_drain();
	}
	san_data(&nic, 0x300, 1, buf + 92, 7, 0);
	san_data(&nic, 0x300, 1, buf + 164, 7, 0);
	rn_pcie_drain();
	san_completed(&nic, 0x300, 0);
	assert_int_equal(san_occurrences(), before + 1);
	free(much);
}

static void test_memory_that_goes(void **state)
{
	uint8_t *page = map_apart(4096, PROT_READ | PROT_WRITE);
	unsigned long long before = san_occurrences();

	(void)state;
	assert_non_null(page);
	rn_guard_install(); /* cmocka has put handlers before it */
	san_post(&nic, 0x300, 0, RN_WR_RDMA_WRITE, page, 64, REMOTE, false);
	munmap(page, 4096);
	san_completed(&nic, 0x300, 0);
	san_post(&nic, 0x300, 1, RN_WR_RDMA_WRITE, page, 64, REMOTE, false);
	san_completed(&nic, 0x300, 1);
	assert_int_equal(san_occurrences(), before);
}

/* More than are remembered: the oldest are forgotten, no others. */
static void test_many_requests(void **state)
{
	unsigned long long before = san_occurrences();
	uint32_t msg = UINT32_MAX - 2000; /* wraps */

	(void)state;
	for (unsigned i = 0; i < 6000; i++)
		san_post(&nic, 0x300, msg + i, RN_WR_RDMA_WRITE, buf, 8, REMOTE, false);
	buf[0]++;
	san_completed(&nic, 0x300, msg + 5999);
	assert_int_equal(san_occurrences(), before + 4096);
	for (unsigned i = 6000; i < 6100; i++) {
		san_post(&nic, 0x300, msg + i, RN_WR_RDMA_WRITE, buf, 8, REMOTE, false);
		san_completed(&nic, 0x300, msg + i);
	}
	assert_int_equal(san_occurrences(), before + 4096);
}

/* -------------------------------------------------------------------- fence */
enum {
	FAR = 4096, /* nothing in common */
};

static const struct {
	const char *what;
	enum rn_wr_opcode first;
	enum rn_wr_opcode second;
	size_t local, remote; /* of the second; of the first both are 0, 64 bytes long */
	bool fence, is_finding;
} fences[] = {
	{ "R7", RN_WR_RDMA_READ, RN_WR_SEND, 0, FAR, false, true },
	{ "R7, last byte", RN_WR_RDMA_READ, RN_WR_RDMA_WRITE, 63, FAR, false, true },
	{ "next to it", RN_WR_RDMA_READ, RN_WR_RDMA_WRITE, 64, FAR, false, false },
	{ "R8", RN_WR_RDMA_READ, RN_WR_SEND_WITH_IMM, 0, FAR, true, false },
	{ "Q2", RN_WR_RDMA_READ, RN_WR_RDMA_WRITE_WITH_IMM, FAR, 63, false, true },
	{ "Q3", RN_WR_RDMA_READ, RN_WR_RDMA_WRITE, FAR, 0, true, false },
	{ "Q2, next", RN_WR_RDMA_READ, RN_WR_RDMA_WRITE, FAR, 64, false, false },
	{ "SEND elsewhere", RN_WR_RDMA_READ, RN_WR_SEND, FAR, 0, false, false },
	{ "READ, READ", RN_WR_RDMA_READ, RN_WR_RDMA_READ, 0, 0, false, false },
	{ "WRITE, READ", RN_WR_RDMA_WRITE, RN_WR_RDMA_READ, 0, 0, false, false },
	{ "WRITE, WRITE", RN_WR_RDMA_WRITE, RN_WR_RDMA_WRITE, 0, 0, false, false },
	{ "atomic, WRITE", RN_WR_ATOMIC_CMP_AND_SWP, RN_WR_RDMA_WRITE, FAR, 7, false,
	  true },
	{ "atomic's result", RN_WR_ATOMIC_FETCH_AND_ADD, RN_WR_SEND, 7, FAR, false,
	  true },
	{ "READ, ATOMIC WRITE", RN_WR_RDMA_READ, RN_WR_ATOMIC_WRITE, FAR, 0, false,
	  true },
	{ "of what was READ", RN_WR_RDMA_READ, RN_WR_ATOMIC_WRITE, 0, FAR, false, true },
	{ "atomic, ATOMIC WRITE", RN_WR_ATOMIC_CMP_AND_SWP, RN_WR_ATOMIC_WRITE, FAR, 0,
	  false, false },
	{ "READ, FLUSH", RN_WR_RDMA_READ, RN_WR_FLUSH, 0, 0, false, false },
};

static void test_fences(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(fences); i++) {
		unsigned long long before = san_occurrences();
		uint32_t qpn = 0x1000 + i;
		bool is_atomic = fences[i].first == RN_WR_ATOMIC_CMP_AND_SWP ||
				 fences[i].first == RN_WR_ATOMIC_FETCH_AND_ADD;

		san_post(&nic, qpn, 0, fences[i].first, buf, is_atomic ? 8 : 64, REMOTE,
			 false);
		san_post(&nic, qpn, 1, fences[i].second, buf + fences[i].local, 8,
			 REMOTE + fences[i].remote, fences[i].fence);
		if (san_occurrences() - before != fences[i].is_finding)
			fail_msg("%s: %llu", fences[i].what, san_occurrences() - before);
		/* Of a pair that has completed nothing is left. */
		san_completed(&nic, qpn, 1);
		before = san_occurrences();
		san_post(&nic, qpn, 2, fences[i].second, buf + fences[i].local, 8,
			 REMOTE + fences[i].remote, false);
		assert_int_equal(san_occurrences(), before);
	}
}

/* A fence in between, and requests in between. */
static void test_fence_between(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	san_post(&nic, QP, 0, RN_WR_RDMA_READ, buf, 64, REMOTE, false);
	san_post(&nic, QP, 1, RN_WR_RDMA_WRITE, buf + FAR, 8, REMOTE + FAR, true);
	san_post(&nic, QP, 2, RN_WR_RDMA_WRITE, buf, 8, REMOTE + FAR, false);
	assert_int_equal(san_occurrences(), before);
	san_post(&nic, QP, 3, RN_WR_RDMA_READ, buf, 64, REMOTE, true);
	san_post(&nic, QP, 4, RN_WR_RDMA_WRITE, buf + FAR, 8, REMOTE + FAR, false);
	san_post(&nic, QP, 5, RN_WR_RDMA_WRITE, buf, 8, REMOTE + FAR, false);
	assert_int_equal(san_occurrences(), before + 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_any_byte_of_a_small_buffer),
		T(test_long_buffers),
		T(test_several_ranges),
		T(test_of_an_atomic_write),
		T(test_not_of_reads),
		T(test_completions_of_a_later_request),
		T(test_written_by_a_device),
		T(test_written_elsewhere),
		T(test_memory_that_goes),
		T(test_many_requests),
		T(test_fences),
		T(test_fence_between),
	};

	san_begin("adversarial" SAN_STILL, "on");
	buf = aligned_alloc(4096, BIG);
	if (!buf)
		return 1;
	return san_end(cmocka_run_group_tests(tests, NULL, NULL));
}
