/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_host_fetch.c - doorbells, and what a NIC reads for itself: WQEs and translations.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "host_kit.h"
#include "rocin/mr.h"

enum {
	MOVES = 256,
	LINE = 64,
};

static struct rn_pcie_move move[MOVES];
static uint32_t moves;

static void begin_trace(void)
{
	assert_int_equal(rn_pcie_trace_start(MOVES), 0);
}

static void end_trace(void)
{
	rn_pcie_drain();
	moves = rn_pcie_trace_read(move, MOVES);
	assert_int_equal(rn_pcie_trace_start(0), 0);
}

/* Returns the number of TLPs for @purpose, completions aside; *@at: when the first of
 * them was issued. A TLP leaves its queues one after the other, and the last is where it
 * ends.
 */
static unsigned count_purpose(enum rn_pcie_purpose purpose, uint64_t *at)
{
	uint64_t seen[MOVES];
	unsigned n = 0;

	for (uint32_t i = 0; i < moves; i++) {
		unsigned k = 0;

		if (move[i].purpose != purpose || move[i].kind == RN_TLP_COMPLETION)
			continue;
		while (k < n && seen[k] != move[i].seq)
			k++;
		if (k == n)
			seen[n++] = move[i].seq;
	}
	if (n > 0 && at)
		*at = seen[0];
	return n;
}

/* ---- Doorbells ---- */

static uint8_t queue[4][512] __attribute__((aligned(2048)));
static uint64_t wqe_len;
static const uint8_t *elsewhere; /* where WQEs are; NULL: in @queue */

static struct rn_host_range wqe_of(const void *arg, uint32_t number)
{
	assert_ptr_equal(arg, queue);
	return (struct rn_host_range){
		(uintptr_t)(elsewhere ? elsewhere : queue[number % 4]), wqe_len
	};
}

static struct rn_pcie_counters ring(struct kit_nic *n, uint32_t count, uint64_t len)
{
	const struct rn_host_bell bell = {
		.qpn = KIT_QP, .first = 1, .count = count, .wqe = wqe_of, .arg = queue
	};
	struct rn_pcie_counters before, after;

	wqe_len = len;
	rn_pcie_counters(&before);
	begin_trace();
	n->api->ring(n->nic, &bell);
	rn_pcie_counters(&after);
	end_trace();
	after.doorbells -= before.doorbells;
	after.wqe_reads -= before.wqe_reads;
	after.tlps -= before.tlps;
	return after;
}

static void a_wqe_is_read_behind_its_doorbell(void **state)
{
	struct rn_pcie_counters c;
	uint64_t bell = 0, wqe = 0;
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,nic.wqe=fetched" KIT_STILL);
	kit_attach(&n);
	c = ring(&n, 1, LINE);
	assert_int_equal(c.doorbells, 1);
	assert_int_equal(c.wqe_reads, 1);
	assert_int_equal(c.tlps, 2);
	assert_int_equal(c.on_way, 0);
	assert_int_equal(count_purpose(RN_PCIE_DOORBELL, &bell), 1);
	assert_int_equal(count_purpose(RN_PCIE_WQE, &wqe), 1);
	assert_true(bell < wqe);
	for (uint32_t i = 0; i < moves; i++) {
		if (move[i].purpose == RN_PCIE_DOORBELL) {
			assert_int_equal(move[i].requester, RN_AGENT_CPU);
			assert_int_equal(move[i].target, RN_AGENT_NIC);
			assert_int_equal(move[i].len, 4);
		}
		if (move[i].purpose == RN_PCIE_WQE) {
			assert_int_equal(move[i].addr, (uintptr_t)queue[1]);
			assert_int_equal(move[i].stream, KIT_QP);
			assert_int_equal(move[i].msg, 1);
		}
	}
	kit_detach(&n);
}

static void a_long_wqe_is_read_line_by_line(void **state)
{
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,nic.wqe=fetched" KIT_STILL);
	kit_attach(&n);
	assert_int_equal(ring(&n, 1, LINE + 1).wqe_reads, 2);
	assert_int_equal(count_purpose(RN_PCIE_WQE, NULL), 2);
	/* Three requests of two lines have one doorbell. */
	assert_int_equal(ring(&n, 3, 2 * LINE).wqe_reads, 6);
	assert_int_equal(count_purpose(RN_PCIE_DOORBELL, NULL), 1);
	assert_int_equal(ring(&n, 0, LINE).tlps, 0);
	kit_detach(&n);
}

static void blueflame_carries_the_only_wqe_if_it_is_short(void **state)
{
	struct rn_pcie_counters c;
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,nic.wqe=blueflame" KIT_STILL);
	kit_attach(&n);
	c = ring(&n, 1, 2 * LINE + 8);
	assert_int_equal(c.doorbells, 1);
	assert_int_equal(c.wqe_reads, 0);
	assert_int_equal(c.tlps, 3); /* one for each line of the write-combining buffer */
	assert_int_equal(ring(&n, 1, 256).wqe_reads, 0);
	assert_int_equal(ring(&n, 1, 257).wqe_reads, 5);
	assert_int_equal(ring(&n, 2, LINE).wqe_reads, 2);
	kit_detach(&n);
}

static void blueflame_carries_no_receive(void **state)
{
	const struct rn_host_bell bell = { .qpn = KIT_QP,
					   .is_recv = true,
					   .first = 1,
					   .count = 1,
					   .wqe = wqe_of,
					   .arg = queue };
	struct rn_pcie_counters before, after;
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,nic.wqe=blueflame" KIT_STILL);
	kit_attach(&n);
	wqe_len = LINE;
	rn_pcie_counters(&before);
	n.api->ring(n.nic, &bell);
	rn_pcie_counters(&after);
	assert_int_equal(after.doorbells - before.doorbells, 1);
	assert_int_equal(after.wqe_reads - before.wqe_reads, 1);
	kit_detach(&n);
}

/* The CPU reads what it copies, so what is not there is not copied. */
static void blueflame_carries_nothing_that_is_not_there(void **state)
{
	uint8_t *gone = kit_map_pages(1);
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,nic.wqe=blueflame" KIT_STILL);
	kit_attach(&n);
	elsewhere = gone;
	assert_int_equal(ring(&n, 1, LINE).doorbells, 1);
	munmap(gone, KIT_PAGE);
	assert_int_equal(ring(&n, 1, LINE).doorbells, 0);
	elsewhere = NULL;
	kit_detach(&n);
}

static void a_wqe_that_is_given_needs_no_tlp(void **state)
{
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical" KIT_STILL);
	kit_attach(&n);
	assert_int_equal(ring(&n, 2, LINE).tlps, 0);
	kit_detach(&n);
}

/* ---- Send queues of the program ---- */

struct ended {
	unsigned count;
	int result;
};

static void count_end(void *arg, int result)
{
	struct ended *e = arg;

	e->count++;
	e->result = result;
}

static struct rn_pcie_end end_at(struct ended *e)
{
	return (struct rn_pcie_end){ count_end, e };
}

static void a_program_rings_and_the_nic_fetches(void **state)
{
	struct ended bell = { 0 }, fetch = { 0 };
	uint64_t got[2][8] = { { 0 } };
	struct kit_nic n;
	int nic;

	(void)state;
	kit_host_knobs(KIT_STUCK);
	kit_attach(&n);
	nic = rn_pcie_nic("kit");
	assert_int_equal(nic, 0);
	begin_trace();
	assert_int_equal(rn_pcie_ring(nic, got, LINE, end_at(&bell)), 0);
	kit_cell[0][7] = 5;
	kit_cell[1][0] = 6;
	assert_int_equal(
		rn_pcie_fetch(nic, KIT_QP, kit_cell, got, sizeof(got), end_at(&fetch)),
		0);
	rn_pcie_drain();
	assert_int_equal(bell.count, 1);
	assert_int_equal(bell.result, 0);
	assert_int_equal(fetch.count, 1);
	assert_int_equal(fetch.result, 0);
	assert_int_equal(got[0][7], 5);
	assert_int_equal(got[1][0], 6);
	end_trace();
	assert_int_equal(count_purpose(RN_PCIE_DOORBELL, NULL), 1);
	assert_int_equal(count_purpose(RN_PCIE_WQE, NULL), 2); /* two granules */
	kit_detach(&n);
	kit_clear();
}

/* What the NIC wrote before arrives before its fetch reads; GPU 0 has the cell. */
static void a_fetch_pushes_writes_to_the_same_memory(void **state)
{
	struct rn_host_region region;
	struct ended fetch = { 0 };
	struct kit_nic n;
	uint64_t got = 0;

	(void)state;
	kit_host_knobs("typical" KIT_STILL);
	kit_attach(&n);
	kit_region_link(&region, kit_cell[2], sizeof(kit_cell[2]));
	kit_write64(&n, KIT_QP, kit_cell[2], 9, 0);
	begin_trace();
	assert_int_equal(
		rn_pcie_fetch(0, KIT_QP, kit_cell[2], &got, sizeof(got), end_at(&fetch)),
		0);
	end_trace();
	assert_int_equal(got, 9);
	for (uint32_t i = 0; i < moves; i++)
		if (move[i].purpose == RN_PCIE_WQE && move[i].kind != RN_TLP_COMPLETION)
			assert_int_equal(move[i].target, RN_AGENT_GPU);
	kit_region_unlink(&region);
	kit_detach(&n);
	kit_clear();
}

static void a_fetch_of_what_is_not_there_fails(void **state)
{
	uint8_t *gone = kit_map_pages(1);
	struct ended fetch = { 0 };
	struct kit_nic n;
	uint64_t got;

	(void)state;
	kit_host_knobs("typical" KIT_STILL);
	kit_attach(&n);
	munmap(gone, KIT_PAGE);
	assert_int_equal(
		rn_pcie_fetch(0, KIT_QP, gone, &got, sizeof(got), end_at(&fetch)), 0);
	rn_pcie_drain();
	assert_int_equal(fetch.count, 1);
	assert_int_equal(fetch.result, -EFAULT);
	assert_int_equal(rn_pcie_nic("none"), -ENOENT);
	assert_int_equal(rn_pcie_ring(1, &got, 8, end_at(&fetch)), -EINVAL);
	assert_int_equal(rn_pcie_ring(0, &got, LINE + 1, end_at(&fetch)), -EINVAL);
	assert_int_equal(rn_pcie_fetch(-1, KIT_QP, &got, &got, 8, end_at(&fetch)),
			 -EINVAL);
	assert_int_equal(fetch.count, 1);
	kit_detach(&n);
}

/* ---- Translations ---- */

enum {
	PAGES = 9,
};

struct hits {
	uint64_t hits, misses;
};

/* Writes one word to each of @count pages from @first on. */
static struct hits touch(struct kit_nic *n, uint8_t *mem, unsigned first, unsigned count)
{
	struct rn_pcie_counters before, after;
	const uint64_t one = 1;

	rn_pcie_counters(&before);
	for (unsigned i = first; i < first + count; i++)
		kit_write(n, KIT_QP, mem + (size_t)i * KIT_PAGE, &one, sizeof(one), 0);
	rn_pcie_counters(&after);
	rn_pcie_drain();
	return (struct hits){ after.mtt_hits - before.mtt_hits,
			      after.mtt_misses - before.mtt_misses };
}

static void assert_hits(struct hits got, uint64_t hits, uint64_t misses)
{
	assert_int_equal(got.hits, hits);
	assert_int_equal(got.misses, misses);
}

static void a_translation_is_read_once(void **state)
{
	uint8_t *mem = kit_map_pages(PAGES);
	uint64_t data = 0, mtt = 0;
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,mtt.cache=4" KIT_STILL);
	kit_attach(&n);
	begin_trace();
	assert_hits(touch(&n, mem, 0, 1), 0, 1);
	end_trace();
	assert_int_equal(count_purpose(RN_PCIE_TRANSLATION, &mtt), 1);
	assert_int_equal(count_purpose(RN_PCIE_DATA, &data), 1);
	assert_true(mtt < data);
	assert_hits(touch(&n, mem, 0, 1), 1, 0);
	assert_hits(touch(&n, mem, 1, 3), 0, 3);
	assert_hits(touch(&n, mem, 0, 4), 4, 0);
	kit_detach(&n);
	munmap(mem, (size_t)PAGES * KIT_PAGE);
}

/* Reads of page tables' places for one access to @page. @in_order: they come before the
 * translation, and this before the data.
 */
static unsigned table_reads(struct kit_nic *n, uint8_t *page, bool *in_order)
{
	uint64_t data = 0, mtt = 0, table = 0;
	unsigned count;

	begin_trace();
	touch(n, page, 0, 1);
	end_trace();
	count = count_purpose(RN_PCIE_TABLE, &table);
	assert_int_equal(count_purpose(RN_PCIE_TRANSLATION, &mtt), 1);
	assert_int_equal(count_purpose(RN_PCIE_DATA, &data), 1);
	*in_order = table < mtt && mtt < data;
	return count;
}

/* 512 pages have one page table. */
static void in_a_tree_the_place_of_a_page_table_is_read_before(void **state)
{
	const size_t span = (size_t)512 * KIT_PAGE;
	uint8_t *mem = kit_map_pages(3 * 512);
	uint8_t *at = mem + span - (uintptr_t)mem % span; /* the first page of a table */
	struct kit_nic n;
	bool in_order;

	(void)state;
	kit_host_knobs("typical,mtt.cache=8,mtt.table=tree" KIT_STILL);
	kit_attach(&n);
	assert_int_equal(table_reads(&n, at, &in_order), 1);
	assert_true(in_order);
	assert_int_equal(table_reads(&n, at + KIT_PAGE, &in_order), 0);
	assert_int_equal(table_reads(&n, at + span, &in_order), 1);
	assert_int_equal(table_reads(&n, at + 2 * KIT_PAGE, &in_order), 0);
	assert_int_equal(n.api->region_add(n.nic, 7, (uintptr_t)at, KIT_PAGE,
					   RN_ACCESS_LOCAL_WRITE),
			 0);
	n.api->region_remove(n.nic, 7);
	assert_int_equal(table_reads(&n, at, &in_order), 1);
	kit_detach(&n);
	kit_host_knobs("typical,mtt.cache=8" KIT_STILL);
	kit_attach(&n);
	assert_int_equal(table_reads(&n, at, &in_order), 0);
	kit_detach(&n);
	munmap(mem, (size_t)3 * 512 * KIT_PAGE);
}

static void a_page_evicts_the_one_that_has_its_place(void **state)
{
	uint8_t *mem = kit_map_pages(PAGES);
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,mtt.cache=4" KIT_STILL);
	kit_attach(&n);
	assert_hits(touch(&n, mem, 0, 4), 0, 4);
	assert_hits(touch(&n, mem, 4, 1), 0, 1); /* in the place of page 0 */
	assert_hits(touch(&n, mem, 1, 3), 3, 0);
	assert_hits(touch(&n, mem, 0, 1), 0, 1);
	assert_hits(touch(&n, mem, 4, 1), 0, 1);
	/* Another size is another cache. */
	kit_host_knobs("typical,mtt.cache=8" KIT_STILL);
	assert_hits(touch(&n, mem, 0, 8), 0, 8);
	assert_hits(touch(&n, mem, 0, 8), 8, 0);
	kit_host_knobs("typical" KIT_STILL);
	assert_hits(touch(&n, mem, 0, 8), 0, 0);
	kit_detach(&n);
	munmap(mem, (size_t)PAGES * KIT_PAGE);
}

static void each_kind_of_access_is_translated(void **state)
{
	struct rn_mem_attr attr = { .qpn = KIT_QP, .msg = 1 };
	uint8_t *mem = kit_map_pages(PAGES), two[2 * KIT_PAGE] = { 0 };
	struct rn_mem_atomic_req add = { .op = RN_MEM_FETCH_ADD,
					 .dst = (uintptr_t)mem,
					 .operand = 1 };
	struct rn_pcie_counters c, before;
	struct ended fetch = { 0 };
	struct kit_nic n;
	uint64_t got;

	(void)state;
	kit_host_knobs("typical,mtt.cache=8,nic.wqe=fetched" KIT_STILL);
	kit_attach(&n);
	rn_pcie_counters(&before);
	n.api->mem->atomic(n.nic, &add, &got, attr, 1);
	rn_pcie_counters(&c);
	assert_int_equal(c.mtt_misses - before.mtt_misses, 1);
	/* A read of the end of page 1 and the beginning of page 2. */
	kit_read(&n, KIT_QP, &got, mem + 2 * KIT_PAGE - 4, 8, 2);
	rn_pcie_counters(&c);
	assert_int_equal(c.mtt_misses - before.mtt_misses, 3);
	/* A write of two pages, the first of which is known. */
	kit_write(&n, KIT_QP, mem + 2 * KIT_PAGE, two, sizeof(two), 0);
	rn_pcie_counters(&c);
	assert_int_equal(c.mtt_misses - before.mtt_misses, 4);
	assert_int_equal(c.mtt_hits - before.mtt_hits, 1);
	n.api->drain(n.nic, 0);
	kit_collect(&n);
	/* The send queue is memory too. */
	rn_pcie_counters(&before);
	ring(&n, 2, LINE);
	rn_pcie_counters(&c);
	assert_int_equal(c.mtt_misses + c.mtt_hits - before.mtt_misses - before.mtt_hits,
			 2);
	/* A fetch for a program, of the end of page 4 and the beginning of page 5. */
	rn_pcie_counters(&before);
	assert_int_equal(rn_pcie_fetch(rn_pcie_nic("kit"), KIT_QP, mem + 5 * KIT_PAGE - 4,
				       &got, sizeof(got), end_at(&fetch)),
			 0);
	rn_pcie_drain();
	rn_pcie_counters(&c);
	assert_int_equal(c.mtt_misses + c.mtt_hits - before.mtt_misses - before.mtt_hits,
			 2);
	assert_int_equal(fetch.count, 1);
	kit_detach(&n);
	munmap(mem, (size_t)PAGES * KIT_PAGE);
}

static void a_region_that_ends_takes_its_translations_along(void **state)
{
	uint8_t *mem = kit_map_pages(PAGES);
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,mtt.cache=8" KIT_STILL);
	kit_attach(&n);
	assert_int_equal(n.api->region_add(n.nic, 7, (uintptr_t)mem, KIT_PAGE,
					   RN_ACCESS_LOCAL_WRITE),
			 0);
	assert_hits(touch(&n, mem, 0, 1), 0, 1);
	n.api->region_remove(n.nic, 7);
	assert_hits(touch(&n, mem, 0, 1), 0, 1);
	kit_detach(&n);
	munmap(mem, (size_t)PAGES * KIT_PAGE);
}

static void memory_on_the_nic_has_no_translation(void **state)
{
	uint8_t *mem = kit_map_pages(PAGES);
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical,mtt.cache=8" KIT_STILL);
	kit_attach(&n);
	assert_int_equal(n.api->dm_add(n.nic, (uintptr_t)mem, KIT_PAGE), 0);
	assert_hits(touch(&n, mem, 0, 1), 0, 0);
	n.api->dm_remove(n.nic, (uintptr_t)mem);
	kit_detach(&n);
	munmap(mem, (size_t)PAGES * KIT_PAGE);
}

static void a_miss_costs_its_time(void **state)
{
	uint8_t *mem = kit_map_pages(PAGES);
	struct kit_nic n;
	rn_ns begin;

	(void)state;
	kit_host_knobs("typical,mtt.cache=8,mtt.miss=1ms" KIT_STILL);
	kit_attach(&n);
	begin = rn_host_now();
	touch(&n, mem, 0, 3);
	assert_true(rn_host_now() - begin >= 3 * 1000 * 1000);
	kit_detach(&n);
	munmap(mem, (size_t)PAGES * KIT_PAGE);
}

/* ---- Counters of a device ---- */

static void a_device_has_its_own_counters(void **state)
{
	uint64_t counter[RN_HOST_COUNTERS] = { 0 };
	struct rn_host_nic_cfg cfg = { .name = "counted", .counter = counter };
	struct kit_nic n, other;

	(void)state;
	kit_host_knobs("typical,nic.wqe=fetched,mtt.cache=8" KIT_STILL);
	kit_attach(&other);
	n.api = kit_api();
	n.nic = n.api->attach(&cfg);
	assert_non_null(n.nic);
	ring(&other, 1, LINE);
	ring(&n, 2, LINE);
	ring(&n, 1, LINE);
	assert_int_equal(counter[RN_HOST_DOORBELLS], 2);
	assert_int_equal(counter[RN_HOST_WQE_READS], 3);
	assert_int_equal(counter[RN_HOST_MTT_MISSES], 1);
	assert_int_equal(counter[RN_HOST_MTT_HITS], 2);
	kit_detach(&n);
	kit_detach(&other);
}

/* ---- Queues ---- */

/* Returns the queue that the first TLP for @purpose left first. */
static unsigned queue_for(enum rn_pcie_purpose purpose)
{
	for (uint32_t i = 0; i < moves; i++)
		if (move[i].purpose == purpose && move[i].kind != RN_TLP_COMPLETION)
			return move[i].queue;
	fail();
	return 0;
}

static void a_wqe_takes_the_queue_of_its_data(void **state)
{
	struct kit_nic n;
	unsigned wqe;

	(void)state;
	kit_host_knobs("typical,nic.wqe=fetched,nic.queues=perqp" KIT_STILL);
	kit_attach(&n);
	ring(&n, 1, LINE);
	wqe = queue_for(RN_PCIE_WQE);
	begin_trace();
	kit_write64(&n, KIT_QP, kit_cell[0], 1, 0);
	end_trace();
	assert_int_equal(queue_for(RN_PCIE_DATA), wqe);
	begin_trace();
	kit_write64(&n, KIT_QP + 1, kit_cell[0], 2, 0);
	end_trace();
	assert_int_not_equal(queue_for(RN_PCIE_DATA), wqe);
	kit_detach(&n);
	kit_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wqe_is_read_behind_its_doorbell),
		cmocka_unit_test(a_long_wqe_is_read_line_by_line),
		cmocka_unit_test(blueflame_carries_the_only_wqe_if_it_is_short),
		cmocka_unit_test(blueflame_carries_no_receive),
		cmocka_unit_test(blueflame_carries_nothing_that_is_not_there),
		cmocka_unit_test(a_wqe_that_is_given_needs_no_tlp),
		cmocka_unit_test(a_program_rings_and_the_nic_fetches),
		cmocka_unit_test(a_fetch_pushes_writes_to_the_same_memory),
		cmocka_unit_test(a_fetch_of_what_is_not_there_fails),
		cmocka_unit_test(a_translation_is_read_once),
		cmocka_unit_test(in_a_tree_the_place_of_a_page_table_is_read_before),
		cmocka_unit_test(a_page_evicts_the_one_that_has_its_place),
		cmocka_unit_test(each_kind_of_access_is_translated),
		cmocka_unit_test(a_region_that_ends_takes_its_translations_along),
		cmocka_unit_test(memory_on_the_nic_has_no_translation),
		cmocka_unit_test(a_miss_costs_its_time),
		cmocka_unit_test(a_device_has_its_own_counters),
		cmocka_unit_test(a_wqe_takes_the_queue_of_its_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
