/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_host.c - writes and reads of a NIC through the hierarchy. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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
#define RING (&kit_cell[32][0])

/* ----------------------------------------------------------- the environment */
/* In a child, since the environment is read once. Exit code: 0 as wanted. */
static void in_fresh_process(const char *pcie, int (*fn)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (pcie)
			setenv("ROCIN_PCIE", pcie, 1);
		else
			unsetenv("ROCIN_PCIE");
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int is_off(void)
{
	unsigned threads = kit_threads();
	char err[256];
	const struct rn_host_api *api =
		rn_host_api(RN_HOST_API_VERSION, err, sizeof(err));

	return !api || api->knobs() != NULL || kit_threads() != threads;
}

static int is_typical(void)
{
	char err[256];
	const struct rn_host_api *api =
		rn_host_api(RN_HOST_API_VERSION, err, sizeof(err));

	return !api || !api->knobs() || api->knobs()->place != RN_PLACE_PCIE ||
	       api->knobs()->seed != 7;
}

static int is_denying(void)
{
	char err[256];
	const struct rn_host_api *api =
		rn_host_api(RN_HOST_API_VERSION, err, sizeof(err));

	return !api || !api->knobs();
}

static int is_refused(void)
{
	char err[256] = "";

	return rn_host_api(RN_HOST_API_VERSION, err, sizeof(err)) != NULL ||
	       !strstr(err, "typicle");
}

/* Must be the first test: nothing may have read the environment yet. */
static void environment_is_read_once(void **state)
{
	(void)state;
	in_fresh_process(NULL, is_off);
	in_fresh_process("", is_off);
	in_fresh_process("strict,granule=8", is_off);
	in_fresh_process("typical,seed=7", is_typical);
	in_fresh_process("strict,rc.p2p=deny", is_denying);
	in_fresh_process("typicle", is_refused);
}

static void other_versions_are_refused(void **state)
{
	char err[256] = "", ours[32];

	(void)state;
	snprintf(ours, sizeof(ours), "version %d", RN_HOST_API_VERSION);
	assert_null(rn_host_api(RN_HOST_API_VERSION + 1, err, sizeof(err)));
	assert_non_null(strstr(err, ours));
	assert_null(rn_host_api(RN_HOST_API_VERSION - 1, err, sizeof(err)));
}

static void more_nics_than_agents_are_refused(void **state)
{
	struct kit_nic n[RN_NIC_MAX];
	struct rn_host_nic_cfg cfg = { .name = "one too many" };

	(void)state;
	for (unsigned i = 0; i < RN_NIC_MAX; i++)
		kit_attach(&n[i]);
	assert_null(kit_api()->attach(&cfg));
	assert_int_equal(errno, ENOSPC);
	kit_detach(&n[3]);
	kit_attach(&n[3]);
	for (unsigned i = 0; i < RN_NIC_MAX; i++)
		kit_detach(&n[i]);
}

/* -------------------------------------------------------------------- order */
/* x, then y: was y ever seen without x? Litmus M1. */
static bool is_reordered(const char *knobs, uint32_t x_flags, uint32_t y_flags)
{
	struct kit_nic n;
	bool seen = false;

	kit_host_knobs(knobs);
	kit_attach(&n);
	for (uint64_t seed = 1; seed <= SEEDS && !seen; seed++) {
		kit_clear();
		rn_pcie_seed(seed);
		kit_write64(&n, KIT_QP, X, 1, x_flags);
		kit_write64(&n, KIT_QP, Y, 1, y_flags);
		for (unsigned i = 0; i < 400 && !kit_load(Y); i++)
			rn_pcie_step(1);
		if (kit_load(Y) && !kit_load(X))
			seen = true;
	}
	rn_pcie_drain();
	assert_int_equal(kit_load(X), 1);
	assert_int_equal(kit_load(Y), 1);
	kit_detach(&n);
	return seen;
}

static void two_writes(void **state)
{
	(void)state;
	assert_false(is_reordered("typical" KIT_STILL, 0, 0));
	assert_true(is_reordered("typical,place=any" KIT_STILL, 0, 0));
	/* They belong to one message. */
	assert_true(is_reordered("ibta" KIT_STILL, 0, 0));
	assert_false(is_reordered("strict", 0, 0));
}

static void packets_of_writes(void **state)
{
	const uint32_t packet = RN_MEM_WRITE;

	(void)state;
	assert_true(is_reordered("typical,nic.ooo=1" KIT_STILL, packet, packet));
	assert_false(is_reordered("typical,nic.ooo=0" KIT_STILL, packet, packet));
	/* A SEND's, and those of a WRITE with immediate. */
	assert_false(is_reordered("typical,nic.ooo=1" KIT_STILL, packet, 0));
	assert_false(is_reordered("typical,nic.ooo=1" KIT_STILL, 0, packet));
	assert_false(is_reordered("typical,nic.ooo=1" KIT_STILL, packet, RN_MEM_CQE));
}

static void relaxed_writes(void **state)
{
	(void)state;
	assert_true(is_reordered("typical" KIT_STILL, 0, RN_MEM_RELAXED));
	/* RO is judged on the one that overtakes. */
	assert_false(is_reordered("typical" KIT_STILL, RN_MEM_RELAXED, 0));
	assert_true(is_reordered("typical,mr.relaxed=force" KIT_STILL, 0, 0));
	assert_false(
		is_reordered("typical,mr.relaxed=ignore" KIT_STILL, 0, RN_MEM_RELAXED));
	assert_false(is_reordered("typical,mr.relaxed=force" KIT_STILL, 0, RN_MEM_CQE));
}

static void a_cqe_pushes_host_data_not_device_data(void **state)
{
	static const char *const knobs[] = { "ibta,driver=adversarial" KIT_STILL,
					     "typical,driver=adversarial" KIT_STILL,
					     KIT_STUCK };
	struct rn_host_region gpu;
	struct kit_nic n;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		uint64_t got = 0;

		kit_clear();
		kit_host_knobs(knobs[i]);
		kit_attach(&n);
		kit_region_link(&gpu, &kit_cell[8], sizeof(kit_cell[8]));
		kit_write64(&n, KIT_QP, X, 1, RN_MEM_RELAXED);
		kit_write64(&n, KIT_QP, &kit_cell[8][0], 1, 0);
		kit_write64(&n, KIT_QP, RING, 1, RN_MEM_CQE);
		n.api->settle_ring(n.nic, kit_iova(RING), 64);
		assert_int_equal(kit_load(RING), 1);
		assert_int_equal(kit_load(X), 1);
		assert_int_equal(kit_load(&kit_cell[8][0]), 0);
		assert_int_equal(rn_pcie_pending(&kit_cell[8], 64), 8);

		/* A read by the NIC pushes what went the same way. */
		if (kit_read(&n, KIT_QP, &got, &kit_cell[8], 8, 5) == RN_MEM_PENDING) {
			n.api->drain(n.nic, KIT_QP);
			assert_int_equal(kit_collect(&n), 1);
			assert_int_equal(n.result[0].tag, 5);
		}
		assert_int_equal(got, 1);
		kit_region_unlink(&gpu);
		kit_detach(&n);
	}
}

static void settling_a_ring_leaves_the_others(void **state)
{
	struct kit_nic n;

	(void)state;
	kit_host_knobs(KIT_STUCK);
	kit_attach(&n);
	rn_pcie_seed(1);
	/* Another stream, else the table orders the two. */
	kit_write64(&n, KIT_QP + 2, X, 1, 0);
	kit_write64(&n, KIT_QP + 2, Y, 1, 0);
	n.api->settle_ring(n.nic, kit_iova(RING), 64);
	assert_int_equal(rn_pcie_pending(kit_cell, sizeof(kit_cell)), 16);
	kit_detach(&n);
	assert_int_equal(rn_pcie_pending(kit_cell, sizeof(kit_cell)), 0);
}

/* Each of another stream, since those of one keep their order. */
static void settling_a_ring_leaves_entries_of_the_others(void **state)
{
	uint64_t *const before = &kit_cell[31][7], *const behind = &kit_cell[33][0];
	struct kit_nic n;

	(void)state;
	kit_host_knobs(
		"typical,nic.queues=perqp,driver=replay,replay=/dev/null" KIT_STILL);
	kit_attach(&n);
	kit_write64(&n, KIT_QP, before, 1, RN_MEM_CQE);
	kit_write64(&n, KIT_QP + 1, behind, 1, RN_MEM_CQE);
	kit_write64(&n, KIT_QP + 2, RING, 1, RN_MEM_CQE);
	n.api->settle_ring(n.nic, kit_iova(RING), 64);
	assert_int_equal(kit_load(RING), 1);
	assert_int_equal(kit_load(before), 0);
	assert_int_equal(kit_load(behind), 0);
	kit_detach(&n);
}

static void acknowledged_data_is_placed(void **state)
{
	struct kit_nic n;

	(void)state;
	kit_host_knobs(KIT_STUCK);
	kit_attach(&n);
	kit_write64(&n, KIT_QP, X, 1, 0);
	n.api->settle_acked(n.nic, KIT_QP);
	assert_int_equal(kit_load(X), 0);
	kit_host_knobs(KIT_STUCK ",ack=placed");
	kit_write64(&n, KIT_QP, X, 2, 0);
	kit_write64(&n, KIT_QP + 1, Y, 2, 0);
	n.api->settle_acked(n.nic, KIT_QP);
	assert_int_equal(kit_load(X), 2);
	assert_int_equal(kit_load(Y), 0);
	kit_detach(&n);
}

/* Every byte arrives, whatever the cuts. */
static void long_writes_arrive_whole(void **state)
{
	static const char *const knobs[] = { "typical" KIT_STILL,
					     "ibta,granule=8" KIT_STILL,
					     "adversarial,granule=256" KIT_STILL,
					     "strict" };
	uint8_t *to = kit_map_pages(4), from[2 * KIT_PAGE], back[2 * KIT_PAGE];
	struct kit_nic n;

	(void)state;
	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	for (unsigned k = 0; k < RN_ARRAY_SIZE(knobs); k++) {
		kit_host_knobs(knobs[k]);
		kit_attach(&n);
		for (uint32_t at = 0; at < 80; at += 13) {
			uint32_t len = (uint32_t)sizeof(from) - at * 3;
			enum rn_mem_result got;

			memset(to, 0, (size_t)4 * KIT_PAGE);
			kit_write(&n, KIT_QP, to + at, from, len, 0);
			n.api->drain(n.nic, KIT_QP);
			assert_memory_equal(to + at, from, len);
			assert_int_equal(to[at + len], 0);

			memset(back, 0, sizeof(back));
			got = kit_read(&n, KIT_QP, back, to + at, len, at);
			n.api->drain(n.nic, 0);
			assert_int_equal(kit_collect(&n), got == RN_MEM_PENDING);
			assert_memory_equal(back, from, len);
		}
		kit_detach(&n);
	}
	munmap(to, (size_t)4 * KIT_PAGE);
}

/* ----------------------------------------------------------------- liveness */
static void held_no_longer_than_the_bound(void **state)
{
	struct rn_pcie_counters before, after;
	struct kit_nic n;
	rn_ns end;

	(void)state;
	kit_host_knobs("adversarial,hold=1ms,hold.polls=inf");
	kit_attach(&n);
	rn_pcie_counters(&before);
	kit_write64(&n, KIT_QP, X, 1, 0);
	for (end = rn_host_now() + RN_MSEC(300000); !kit_load(X) && rn_host_now() < end;)
		sched_yield();
	assert_int_equal(kit_load(X), 1);
	rn_pcie_counters(&after);
	assert_int_equal(after.released, before.released + 1);
	kit_detach(&n);
}

static void held_no_longer_than_so_many_polls(void **state)
{
	struct kit_nic n;

	(void)state;
	kit_host_knobs("adversarial,hold=inf,hold.polls=100");
	kit_attach(&n);
	for (unsigned i = 0; i < 16; i++)
		kit_write64(&n, KIT_QP, &kit_cell[i][0], 1, 0);
	for (unsigned i = 0; i < 49; i++)
		n.api->polled_empty(n.nic, kit_iova(RING));
	assert_int_equal(rn_pcie_pending(kit_cell, sizeof(kit_cell)), 16 * 8);
	/* From half of the bound on the ends come first, the middle last. */
	n.api->polled_empty(n.nic, kit_iova(RING));
	assert_int_equal(kit_load(&kit_cell[15][0]), 1);
	assert_int_equal(kit_load(X), 0);
	n.api->polled_empty(n.nic, kit_iova(RING));
	assert_int_equal(kit_load(X), 1);
	assert_int_equal(rn_pcie_pending(kit_cell, sizeof(kit_cell)), 14 * 8);
	for (unsigned i = 0; i < 49; i++)
		n.api->polled_empty(n.nic, kit_iova(RING));
	assert_int_equal(rn_pcie_pending(kit_cell, sizeof(kit_cell)), 0);
	kit_detach(&n);
}

/* From half of the bound on a 64th of it lies between one that is let go and the next. */
static void what_is_held_leaks_now_and_then(void **state)
{
	enum {
		BOUND = 640,
		COUNT = 8,
	};
	struct kit_nic n;

	(void)state;
	kit_host_knobs("adversarial,hold=inf,hold.polls=640");
	kit_attach(&n);
	for (unsigned i = 0; i < COUNT; i++)
		kit_write64(&n, KIT_QP, &kit_cell[i][0], 1, 0);
	for (unsigned i = 0; i < BOUND / 2; i++) {
		assert_int_equal(rn_pcie_pending(kit_cell, sizeof(kit_cell)), COUNT * 8);
		n.api->polled_empty(n.nic, kit_iova(RING));
	}
	for (unsigned left = COUNT - 1; left > 0; left--)
		for (unsigned i = 0; i < BOUND / 64; i++) {
			assert_int_equal(rn_pcie_pending(kit_cell, sizeof(kit_cell)),
					 left * 8);
			n.api->polled_empty(n.nic, kit_iova(RING));
		}
	kit_detach(&n);
}

/* Two rings that are polled in turn: each polled so often, not both together. */
static void polls_are_counted_per_ring(void **state)
{
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,driver=replay,replay=/dev/null,hold=inf,hold.polls=100");
	kit_attach(&n);
	n.api->polled_empty(n.nic, kit_iova(RING));
	kit_write64(&n, KIT_QP, X, 1, 0);
	for (unsigned i = 0; i < 99; i++) {
		n.api->polled_empty(n.nic, 0x7f0000001000);
		n.api->polled_empty(n.nic, 0x7f0000002000);
	}
	assert_int_equal(kit_load(X), 0);
	n.api->polled_empty(n.nic, 0x7f0000002000);
	assert_int_equal(kit_load(X), 1);
	kit_detach(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_is_read_once),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test_setup(more_nics_than_agents_are_refused, kit_forget),
		cmocka_unit_test_setup(two_writes, kit_forget),
		cmocka_unit_test_setup(packets_of_writes, kit_forget),
		cmocka_unit_test_setup(relaxed_writes, kit_forget),
		cmocka_unit_test_setup(a_cqe_pushes_host_data_not_device_data,
				       kit_forget),
		cmocka_unit_test_setup(settling_a_ring_leaves_the_others, kit_forget),
		cmocka_unit_test_setup(settling_a_ring_leaves_entries_of_the_others,
				       kit_forget),
		cmocka_unit_test_setup(acknowledged_data_is_placed, kit_forget),
		cmocka_unit_test_setup(long_writes_arrive_whole, kit_forget),
		cmocka_unit_test_setup(held_no_longer_than_the_bound, kit_forget),
		cmocka_unit_test_setup(held_no_longer_than_so_many_polls, kit_forget),
		cmocka_unit_test_setup(what_is_held_leaks_now_and_then, kit_forget),
		cmocka_unit_test_setup(polls_are_counted_per_ring, kit_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
