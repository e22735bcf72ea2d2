/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_host_pieces.c - the TLPs that an access of a NIC becomes: where it is cut, and
 * what each of them says.
 */
#include <string.h>

#include "host_kit.h"
#include "sim/pcie/host/host_internal.h"
#include "transport/io/memory/mem_guard.h"

enum {
	PIECES = 16,
};

#define X (&kit_cell[0][0])
#define Y (&kit_cell[1][0])

/* Nothing moves at all. */
#define FROZEN ",driver=replay,replay=/dev/null" KIT_STILL

static struct rn_tlp piece[PIECES];
static struct kit_nic n;

static int set_up(void **state)
{
	(void)state;
	kit_clear();
	kit_host_knobs("typical,granule=64" FROZEN);
	kit_attach(&n);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	n.api->drain(n.nic, 0);
	kit_collect(&n);
	kit_detach(&n);
	return 0;
}

/* What is on its way, in the order of issue, into piece[]; how many. */
static unsigned look(void)
{
	struct rn_host *h = rn_host_get();
	const struct rn_fabric *f = rn_host_fabric(h);
	unsigned count = 0;

	rn_host_lock(h);
	for (unsigned i = rn_fabric_oldest(f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(f, i)) {
		assert_true(count < PIECES);
		piece[count++] = *rn_fabric_tlp(f, i);
	}
	rn_host_unlock(h);
	return count;
}

static void assert_piece(unsigned i, unsigned target, const volatile void *addr,
			 uint32_t len)
{
	assert_int_equal(piece[i].target, target);
	assert_int_equal(piece[i].addr, kit_iova(addr));
	assert_int_equal(piece[i].len, len);
}

/* ---------------------------------------------------------------------- cuts */
/* The memory of a GPU ends inside a granule, and memory of the host is behind it. */
static void an_access_is_cut_where_a_memory_ends(void **state)
{
	uint64_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, back[8];
	struct rn_host_region gpu;

	(void)state;
	kit_region_link(&gpu, X, 32);
	kit_write(&n, KIT_QP, X, bytes, sizeof(bytes), 0);
	assert_int_equal(look(), 2);
	assert_piece(0, RN_AGENT_GPU, X, 32);
	assert_piece(1, RN_AGENT_CPU, X + 4, 32);
	n.api->drain(n.nic, KIT_QP);
	assert_memory_equal(X, bytes, sizeof(bytes));

	assert_int_equal(kit_read(&n, KIT_QP, back, X, sizeof(back), 1), RN_MEM_PENDING);
	assert_int_equal(look(), 2);
	assert_piece(0, RN_AGENT_GPU, X, 32);
	assert_piece(1, RN_AGENT_CPU, X + 4, 32);
	n.api->drain(n.nic, KIT_QP);
	assert_memory_equal(back, bytes, sizeof(bytes));
	kit_region_unlink(&gpu);
}

static void a_write_is_cut_where_granules_end(void **state)
{
	uint64_t bytes[24] = { 0 };

	(void)state;
	kit_write(&n, KIT_QP, X + 2, bytes, 128, 0);
	assert_int_equal(look(), 3);
	assert_piece(0, RN_AGENT_CPU, X + 2, 48);
	assert_piece(1, RN_AGENT_CPU, Y, 64);
	assert_piece(2, RN_AGENT_CPU, Y + 8, 16);
}

/* Only a granule that is written whole is one piece with mode=adversarial. */
static void a_part_of_a_granule_may_be_torn(void **state)
{
	uint64_t bytes[8] = { 0 };

	(void)state;
	kit_write(&n, KIT_QP, X, bytes, 16, 0);
	assert_int_equal(look(), 1);
	n.api->drain(n.nic, 0);

	kit_host_knobs("adversarial,granule=64" FROZEN);
	kit_write(&n, KIT_QP, X, bytes, 64, 0);
	assert_int_equal(look(), 1);
	n.api->drain(n.nic, 0);
	kit_write(&n, KIT_QP, X, bytes, 16, 0);
	assert_int_equal(look(), 2);
	assert_piece(0, RN_AGENT_CPU, X, 8);
	assert_piece(1, RN_AGENT_CPU, X + 1, 8);
	n.api->drain(n.nic, 0);
	kit_write(&n, KIT_QP, (char *)X + 6, bytes, 5, 0);
	assert_int_equal(look(), 2);
	assert_piece(0, RN_AGENT_CPU, (char *)X + 6, 2);
	assert_piece(1, RN_AGENT_CPU, X + 1, 3);
}

/* --------------------------------------------------------------- what it says */
/* FLUSH and ATOMIC WRITE push what is before them, in whatever memory they are. */
static void what_pushes_is_never_relaxed(void **state)
{
	static const char *const knobs[] = { "typical" FROZEN,
					     "typical,mr.relaxed=force" FROZEN };
	uint64_t word = 1;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		struct rn_mem_attr attr = { .qpn = KIT_QP,
					    .flags = RN_MEM_RELAXED | RN_MEM_PUSH };

		kit_host_knobs(knobs[i]);
		kit_write64(&n, KIT_QP, X, 1, RN_MEM_RELAXED);
		kit_write64(&n, KIT_QP, X, 1, RN_MEM_RELAXED | RN_MEM_PUSH);
		assert_int_equal(n.api->mem->read(n.nic, &word, kit_iova(X), 8, attr, 1),
				 RN_MEM_PENDING);
		assert_int_equal(look(), 3);
		assert_int_equal(piece[0].flags, RN_TLP_RO | RN_TLP_DATA);
		assert_int_equal(piece[1].flags, 0);
		assert_int_equal(piece[2].flags, RN_TLP_FLUSH);
		n.api->drain(n.nic, 0);
		kit_collect(&n);
	}
}

/* 0 says that a TLP belongs to no packet of a WRITE. */
static void numbers_of_packets_wrap_to_1(void **state)
{
	(void)state;
	n.nic->last_packet = UINT32_MAX - 1;
	kit_write64(&n, KIT_QP, X, 1, RN_MEM_WRITE);
	kit_write64(&n, KIT_QP, Y, 1, RN_MEM_WRITE);
	kit_write64(&n, KIT_QP, X, 2, 0);
	kit_write64(&n, KIT_QP, Y, 2, RN_MEM_WRITE);
	assert_int_equal(look(), 4);
	assert_int_equal(piece[0].packet, UINT32_MAX);
	assert_int_equal(piece[1].packet, 1);
	assert_int_equal(piece[2].packet, 0);
	assert_int_equal(piece[3].packet, 2);
}

/* ------------------------------------------------------------------- guards */
/* A fault of the program's own access may be what moves TLPs: what devices do meanwhile
 * leaves the guard of this thread as it was.
 */
static void a_device_leaves_the_guard_of_the_thread(void **state)
{
	struct rn_host_atomic add = {
		.req = { .op = RN_MEM_FETCH_ADD, .dst = kit_iova(X), .operand = 1 }
	};
	struct rn_host *h = rn_host_get();
	struct rn_guard *const before = rn_guard_thread.current;
	struct rn_guard *after[3];
	struct rn_guard mine;
	uint64_t word = 1;

	(void)state;
	rn_host_lock(h);
	rn_guard_thread.current = &mine;
	assert_int_equal(rn_host_store(h, kit_iova(X), &word, 8), RN_MEM_DONE);
	after[0] = rn_guard_thread.current;
	rn_guard_thread.current = &mine;
	assert_int_equal(rn_host_load(h, &word, kit_iova(X), 8), RN_MEM_DONE);
	after[1] = rn_guard_thread.current;
	rn_guard_thread.current = &mine;
	assert_int_equal(rn_host_modify(h, &add), RN_MEM_DONE);
	after[2] = rn_guard_thread.current;
	rn_guard_thread.current = before;
	rn_host_unlock(h);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(after); i++)
		assert_ptr_equal(after[i], &mine);
	assert_int_equal(*X, 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_access_is_cut_where_a_memory_ends),
		T(a_write_is_cut_where_granules_end),
		T(a_part_of_a_granule_may_be_torn),
		T(what_pushes_is_never_relaxed),
		T(numbers_of_packets_wrap_to_1),
		T(a_device_leaves_the_guard_of_the_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
