/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_host_read.c - reads of a NIC, which end late; memory that is gone; a fork;
 * the trace.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_kit.h"

enum {
	SEEDS = 300,
};

#define X (&kit_cell[0][0])
#define Y (&kit_cell[1][0])

/* ------------------------------------------------------- reads, late and gone */
static void gather_is_late(void **state)
{
	struct kit_nic n;
	uint64_t got = 0;

	(void)state;
	kit_host_knobs("typical" KIT_STILL);
	kit_attach(&n);
	for (uint64_t seed = 1; seed <= SEEDS && got != 2; seed++) {
		rn_pcie_seed(seed);
		*X = 1;
		if (kit_read(&n, KIT_QP, &got, X, 8, seed) == RN_MEM_PENDING) {
			__atomic_store_n(X, 2, __ATOMIC_RELEASE);
			n.api->drain(n.nic, KIT_QP);
			assert_int_equal(kit_collect(&n), 1);
		}
		assert_true(got == 1 || got == 2);
	}
	assert_int_equal(got, 2);
	kit_detach(&n);
}

static void told_once_per_batch(void **state)
{
	struct kit_nic n;
	uint64_t got[4];

	(void)state;
	kit_host_knobs("typical,driver=replay,replay=/dev/null" KIT_STILL);
	kit_attach(&n);
	for (unsigned round = 1; round <= 2; round++) {
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(kit_read(&n, KIT_QP, &got[i], X, 8, i),
					 RN_MEM_PENDING);
		assert_int_equal(n.wakes, round - 1);
		assert_int_equal(kit_collect(&n), 0);
		for (unsigned i = 0; i < 4; i++) {
			struct rn_host *h = rn_host_get();

			rn_host_lock(h);
			rn_host_force(h, rn_fabric_oldest(rn_host_fabric(h)));
			rn_host_unlock(h);
		}
		assert_int_equal(n.wakes, round);
		assert_int_equal(kit_collect(&n), 4);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(n.result[i].tag, i);
		assert_int_equal(kit_collect(&n), 0);
	}
	kit_detach(&n);
}

static void a_drained_read_writes_nothing_later(void **state)
{
	struct kit_nic n;
	uint64_t mine = 0, other = 0;

	(void)state;
	kit_host_knobs("typical,driver=replay,replay=/dev/null" KIT_STILL);
	kit_attach(&n);
	*X = 1;
	assert_int_equal(kit_read(&n, KIT_QP, &mine, X, 8, 1), RN_MEM_PENDING);
	assert_int_equal(kit_read(&n, KIT_QP + 1, &other, X, 8, 2), RN_MEM_PENDING);
	n.api->drain(n.nic, KIT_QP);
	assert_int_equal(kit_collect(&n), 1);
	assert_int_equal(n.result[0].tag, 1);
	assert_int_equal(mine, 1);
	mine = 99;
	rn_pcie_drain();
	assert_int_equal(mine, 99);
	assert_int_equal(kit_collect(&n), 1);
	assert_int_equal(n.result[0].tag, 2);
	kit_detach(&n);
}

static void memory_that_is_gone_is_a_fault(void **state)
{
	uint8_t *page = kit_map_pages(2), bytes[64] = { 1 };
	struct rn_mem_attr attr = { .qpn = KIT_QP };
	struct rn_pcie_counters before, after;
	struct kit_nic n;

	(void)state;
	kit_host_knobs(KIT_STUCK);
	kit_attach(&n);
	rn_pcie_counters(&before);
	kit_write(&n, KIT_QP, page, bytes, 64, 0);
	munmap(page, (size_t)2 * KIT_PAGE);
	/* Accepted, and lost. */
	n.api->drain(n.nic, KIT_QP);
	rn_pcie_counters(&after);
	assert_int_equal(after.faults, before.faults + 1);

	assert_int_equal(n.api->mem->write(n.nic, kit_iova(page), bytes, 64, attr),
			 RN_MEM_FAULT);
	if (kit_read(&n, KIT_QP, bytes, page, 64, 3) == RN_MEM_PENDING) {
		n.api->drain(n.nic, KIT_QP);
		assert_int_equal(kit_collect(&n), 1);
		assert_int_equal(n.result[0].result, RN_MEM_FAULT);
	}
	kit_detach(&n);
}

static void denied_device_memory_is_a_fault(void **state)
{
	struct rn_mem_attr attr = { .qpn = KIT_QP };
	struct rn_host_region gpu;
	struct kit_nic n;
	uint64_t word = 1;

	(void)state;
	kit_host_knobs("typical,rc.p2p=deny" KIT_STILL);
	kit_attach(&n);
	kit_region_link(&gpu, X, 64);
	assert_int_equal(n.api->mem->write(n.nic, kit_iova(X), &word, 8, attr),
			 RN_MEM_FAULT);
	assert_int_equal(kit_read(&n, KIT_QP, &word, X, 8, 1), RN_MEM_FAULT);
	assert_int_equal(kit_add(&n, KIT_QP, X, 1, &word, 2), RN_MEM_FAULT);
	kit_write64(&n, KIT_QP, Y, 1, 0);
	kit_region_unlink(&gpu);
	kit_detach(&n);
	assert_int_equal(*X, 0);
	assert_int_equal(*Y, 1);
}

/* --------------------------------------------------------------------- fork */
static void a_child_touches_nothing(void **state)
{
	struct rn_mem_attr attr = { .qpn = KIT_QP };
	struct kit_nic n;
	uint64_t word = 2;
	int status;
	pid_t pid;

	(void)state;
	kit_host_knobs(KIT_STUCK);
	kit_attach(&n);
	kit_write64(&n, KIT_QP, X, 1, 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		bool ok = n.api->mem->write(n.nic, kit_iova(Y), &word, 8, attr) ==
			  RN_MEM_FAULT;

		ok = ok && kit_read(&n, KIT_QP, &word, Y, 8, 1) == RN_MEM_FAULT;
		n.api->drain(n.nic, 0);
		n.api->polled_empty(n.nic, 0);
		rn_pcie_drain();
		ok = ok && n.api->collect(n.nic, NULL, NULL) == 0;
		n.api->detach(n.nic);
		_exit(ok && *X == 0 && *Y == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rn_pcie_pending(X, 8), 8);
	kit_detach(&n);
	assert_int_equal(*X, 1);
}

/* -------------------------------------------------------------------- trace */
static void moves_are_traced(void **state)
{
	struct rn_pcie_move move[8];
	struct rn_pcie_counters before, after;
	struct kit_nic n;
	char name[32];

	(void)state;
	kit_host_knobs("typical,driver=replay,replay=/dev/null" KIT_STILL);
	kit_attach(&n);
	rn_pcie_counters(&before);
	assert_int_equal(rn_pcie_trace_start(8), 0);
	kit_write64(&n, KIT_QP, X, 1, 0);
	kit_write64(&n, KIT_QP, Y, 1, RN_MEM_RELAXED);
	n.api->settle_ring(n.nic, 0, 0);
	assert_int_equal(rn_pcie_trace_read(move, 8), 0);
	rn_pcie_drain();
	assert_int_equal(rn_pcie_trace_read(move, 8), 4);
	assert_string_equal(rn_pcie_queue_name(move[0].queue, name, sizeof(name)),
			    "up:nic0");
	assert_int_equal(move[0].addr, kit_iova(X));
	assert_int_equal(move[0].passed, move[0].seq);
	assert_null(move[0].rule);
	rn_pcie_counters(&after);
	assert_int_equal(after.tlps, before.tlps + 2);
	assert_int_equal(after.moves, before.moves + 4);
	assert_int_equal(rn_pcie_trace_start(0), 0);
	assert_int_equal(rn_pcie_trace_read(move, 8), 0);
	kit_detach(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(gather_is_late, kit_forget),
		cmocka_unit_test_setup(told_once_per_batch, kit_forget),
		cmocka_unit_test_setup(a_drained_read_writes_nothing_later, kit_forget),
		cmocka_unit_test_setup(memory_that_is_gone_is_a_fault, kit_forget),
		cmocka_unit_test_setup(denied_device_memory_is_a_fault, kit_forget),
		cmocka_unit_test_setup(a_child_touches_nothing, kit_forget),
		cmocka_unit_test_setup(moves_are_traced, kit_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
