/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize_gpu.c - kernels that load from device memory before what a completion
 * covers is visible to them.
 */
#include <errno.h>
#include <sys/mman.h>

#include "rocin/storage.h"
#include "sanitize_kit.h"
#include "sim/pcie/gpu/gpu_internal.h"
#include "sim/pcie/page/page.h"
#include "transport/io/memory/mem_guard.h"

enum {
	QP = 0x100,
	KEY = 0x500,
	LEN = 8192,
};

static struct kit_nic nic;
static struct rn_gpu_buffer b;
static volatile uint64_t *dev; /* as this thread names the memory, playing a kernel */
static uint64_t *bar;

static int set_up(void **state)
{
	(void)state;
	kit_attach(&nic);
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), LEN, 0, &b), 0);
	dev = b.dev;
	bar = b.bar;
	assert_int_equal(rn_gpu_become(b.gpu), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rn_gpu_become(NULL);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	kit_detach(&nic);
	return 0;
}

/* A message of one word at @at, whose completion is taken. */
static void receive(unsigned at, uint64_t value)
{
	static uint32_t msg;

	rn_guard_install(); /* cmocka has put handlers before it */
	san_data(&nic, QP, ++msg, &bar[at], value, 0);
	san_received(&nic, QP, msg);
}

static void test_plain_load(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	receive(3, 5);
	assert_int_equal(dev[3], 0);
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("stale read");
	san_assert_said("by a kernel of gpu0");
	san_assert_said("byte 24 of 8192 in memory of gpu0");
	san_assert_said("of the read:");
	rn_pcie_drain();
	assert_int_equal(dev[3], 5);
	assert_int_equal(san_occurrences(), before + 1);
}

static void test_load_by_call(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	receive(3, 5);
	assert_int_equal(rn_gpu_load(&dev[3], 8), 0);
	assert_int_equal(san_occurrences(), before + 1);
}

/* Of host memory, which only a call reads for a kernel. */
static void test_call_that_reads_host_memory(void **state)
{
	static uint64_t host[512] __attribute__((aligned(4096)));
	unsigned long long before = san_occurrences();

	(void)state;
	assert_int_equal(
		nic.api->region_add(nic.nic, KEY, kit_iova(host), sizeof(host), 0xf), 0);
	san_data(&nic, QP, 0x810, &host[1], 5, 0);
	(void)rn_gpu_load(&host[1], 8);
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("by a kernel of gpu0");
	san_assert_said("of the read:");
	nic.api->region_remove(nic.nic, KEY);
}

static void test_what_is_no_finding(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	/* Other bytes of the page, another page, a store. */
	receive(3, 5);
	assert_int_equal(dev[4], 0);
	receive(3, 6);
	assert_int_equal(dev[600], 0);
	dev[5] = 7;
	assert_int_equal(dev[5], 7);
	rn_pcie_drain();
	assert_int_equal(dev[3], 6);
	/* Who waits looks at what is old. */
	receive(3, 8);
	assert_int_equal(rn_gpu_wait_device(&dev[3], 1000, 8, 1), -ETIMEDOUT);
	assert_int_equal(san_occurrences(), before);
}

static void test_without_completion(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	san_data(&nic, QP, 0x800, &bar[1], 5, 0);
	assert_int_equal(dev[1], 0);
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("unordered read");
	san_assert_said("none that covers it has been taken by this process");
}

/* The bytes have landed, since a device has used them, but nothing tells the program. */
static void test_landed(void **state)
{
	unsigned long long before = san_occurrences();
	struct rn_host *h = rn_host_get();

	(void)state;
	receive(3, 5);
	rn_host_lock(h);
	rn_san_withheld_land(kit_iova(&bar[3]), 8);
	rn_host_unlock(h);
	assert_int_equal(dev[3], 5);
	assert_int_equal(san_occurrences(), before + 1);
	assert_int_equal(dev[3], 5); /* said once */
	assert_int_equal(san_occurrences(), before + 1);
}

/* A READ of our own pushes what was written before; if a request without a fence was
 * posted behind it, only its own completion says so.
 */
static void test_read_that_was_overtaken(void **state)
{
	enum {
		OWN = 0x300
	};
	static uint64_t local[2];
	unsigned long long before;

	(void)state;
	san_post(&nic, OWN, 3, RN_WR_RDMA_READ, &local[0], 8, kit_iova(&bar[3]), false);
	san_post(&nic, OWN, 4, RN_WR_RDMA_WRITE, &local[1], 8, 0x1000, false);
	receive(3, 5);
	san_read(&nic, QP, 77, &bar[3]);
	before = san_occurrences();
	assert_int_equal(dev[3], 5);
	assert_int_equal(san_occurrences(), before + 1);
	rn_pcie_drain();
	san_completed(&nic, OWN, 4);
	san_post(&nic, OWN, 5, RN_WR_RDMA_READ, &local[0], 8, kit_iova(&bar[3]), false);
	san_post(&nic, OWN, 6, RN_WR_RDMA_WRITE, &local[1], 8, 0x1000, false);
	receive(3, 6);
	san_read(&nic, QP, 78, &bar[3]);
	san_completed(&nic, OWN, 5);
	before = san_occurrences();
	assert_int_equal(dev[3], 6);
	assert_int_equal(san_occurrences(), before);
	san_completed(&nic, OWN, 6);
}

/* A flag lands that was written behind our READ of what was received before. Returns
 * the number of mistakes when a kernel then loads that. @is_overtaken: a request was
 * posted that does not wait for the READ.
 */
static unsigned long long count_behind_flag(uint32_t qpn, bool is_overtaken)
{
	struct rn_host *h = rn_host_get();
	unsigned long long before = san_occurrences();
	static uint64_t local[2];
	const struct rn_tlp *late;
	struct rn_tlp flag;
	uint64_t page;

	san_post(&nic, qpn, 3, RN_WR_RDMA_READ, &local[0], 8, kit_iova(&bar[3]), false);
	if (is_overtaken)
		san_post(&nic, qpn, 4, RN_WR_RDMA_WRITE, &local[1], 8, 0x1000, false);
	receive(3, 5);
	san_read(&nic, QP, 77, &bar[3]);
	san_data(&nic, QP + 1, 1, &bar[600], 1, 0);
	rn_host_lock(h);
	late = rn_san_withheld_at(kit_iova(&bar[600]), 8, &page);
	assert_non_null(late);
	flag = *late;
	rn_san_class_land(&flag);
	assert_false(rn_san_is_withheld(flag.addr, flag.len));
	rn_san_class_seen(flag.addr, flag.len);
	rn_host_unlock(h);
	assert_int_equal(dev[3], 5);
	san_completed(&nic, qpn, is_overtaken ? 4 : 3);
	return san_occurrences() - before;
}

/* A flag that was written behind a READ of our own, and has landed on this machine alone,
 * tells whoever sees it that the READ has pushed what was before it; but not if on
 * another machine the READ may come after the flag.
 */
static void test_landed_flag_behind_a_read(void **state)
{
	(void)state;
	assert_int_equal(count_behind_flag(0x301, false), 0);
}

static void test_landed_flag_behind_an_overtaken_read(void **state)
{
	(void)state;
	assert_int_equal(count_behind_flag(0x302, true), 1);
}

static bool is_flag(const struct rn_tlp *tlp, const void *arg)
{
	(void)arg;
	return tlp->kind == RN_TLP_WRITE && rn_tlp_touches(tlp, kit_iova(&bar[600]), 8);
}

/* Called while an instruction of the kernel runs, whose page is open. */
static void perform_flag(void)
{
	struct rn_host *h = rn_host_get();

	rn_san_candidate_executed();
	rn_host_lock(h);
	rn_host_force_if(h, is_flag, NULL);
	rn_host_unlock(h);
}

/* The CPU takes the completion of data and tells a kernel so, behind which the data is.
 * The instruction of the kernel during which the flag arrives may have found it.
 */
static void test_flag_of_the_cpu_arrives_while_a_kernel_looks(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	kit_host_knobs("typical" SAN_STILL);
	receive(3, 5);
	rn_gpu_become(NULL);
	rn_gpu_bar_store(&bar[600], 1, 8);
	assert_int_equal(rn_gpu_become(b.gpu), 0);
	rn_page_step_init(perform_flag);
	assert_int_equal(dev[600], 0);
	rn_page_step_init(rn_san_candidate_executed);
	assert_int_equal(dev[3], 5);
	assert_int_equal(san_occurrences(), before);
	kit_host_knobs("typical,gpu.ordering=none" SAN_STILL);
}

static uint64_t look(void)
{
	return dev[3];
}

/* Who looks again and again waits: the bytes come, and it is no mistake. */
static void test_loop(void **state)
{
	unsigned long long before = san_occurrences();
	unsigned looks = 1;

	(void)state;
	receive(3, 5);
	while (look() != 5)
		looks++;
	assert_int_equal(looks, 2);
	assert_int_equal(san_occurrences(), before);
	/* Two messages that are looked at once each are two mistakes. */
	for (unsigned i = 6; i < 8; i++) {
		receive(3, i);
		assert_int_not_equal(dev[3], i);
	}
	assert_int_equal(san_occurrences(), before + 2);
}

static void test_remedies_are_silent(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	receive(3, 5);
	rn_gpu_flush(b.gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER);
	assert_int_equal(dev[3], 5);
	receive(4, 6);
	assert_int_equal(rn_gpu_bar_load(&bar[0], 8), 0);
	assert_int_equal(dev[4], 6);
	receive(5, 7);
	san_read(&nic, QP, 0, &bar[100]); /* a loopback READ */
	assert_int_equal(dev[5], 7);
	receive(6, 8);
	assert_int_equal(((volatile uint64_t *)bar)[6], 8); /* the CPU's load pushes */
	assert_int_equal(dev[6], 8);
	assert_int_equal(san_occurrences(), before);
}

/* The machine in force shows writes to the owner in order and skips a flush to it; the
 * others perform it, those below two root ports without success.
 */
static void test_skipped_flush_counts_elsewhere(void **state)
{
	const unsigned flushed =
		1U << RN_SAN_CLASS_SWITCH_NONE | 1U << RN_SAN_CLASS_RELAXED;
	const struct rn_tlp *by[RN_SAN_CLASS_COUNT];
	struct rn_pcie_knobs before = rn_pcie_live_knobs(), knobs = before;
	struct rn_host *h = rn_host_get();
	unsigned pending;

	(void)state;
	knobs.gpu_ordering = RN_GPU_ORDER_OWNER;
	assert_int_equal(rn_pcie_set_knobs(&knobs), 0);
	receive(3, 5);
	rn_host_lock(h);
	pending = rn_san_class_pending(kit_iova(&bar[3]), 8, by);
	rn_host_unlock(h);
	assert_int_equal(pending & flushed, flushed);
	rn_gpu_flush(b.gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER);
	rn_host_lock(h);
	pending = rn_san_class_pending(kit_iova(&bar[3]), 8, by);
	rn_host_unlock(h);
	assert_int_equal(pending & flushed, 0);
	assert_int_equal(pending & 1U << RN_SAN_CLASS_PORTS, 1U << RN_SAN_CLASS_PORTS);
	assert_int_equal(rn_pcie_set_knobs(&before), 0);
}

/* Other knobs, and another seed, begin when what is withheld has been stored. */
static void test_new_knobs_store_what_is_late(void **state)
{
	const struct rn_pcie_knobs knobs = rn_pcie_live_knobs();

	(void)state;
	receive(3, 5);
	assert_int_equal(rn_pcie_set_knobs(&knobs), 0);
	assert_int_equal(dev[3], 5);
	receive(3, 6);
	rn_pcie_seed(7);
	assert_int_equal(dev[3], 6);
	assert_int_equal(rn_pcie_set_knobs(&knobs), 0);
}

/* Two messages in one page: it is closed until both are there. */
static void test_two_in_a_page(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	receive(3, 5);
	receive(100, 6);
	assert_int_equal(dev[100], 0);
	assert_int_equal(san_occurrences(), before + 1);
	receive(200, 7);
	assert_int_equal(dev[3], 0);
	assert_int_equal(san_occurrences(), before + 2);
}

static void test_across_pages(void **state)
{
	unsigned long long before = san_occurrences();
	struct rn_mem_attr attr = { .qpn = QP, .msg = 0x1000 };
	static uint8_t data[256];

	(void)state;
	memset(data, 9, sizeof(data));
	assert_int_equal(nic.api->mem->write(nic.nic, kit_iova(bar) + 4096 - 100, data,
					     sizeof(data), attr),
			 RN_MEM_DONE);
	san_received(&nic, QP, 0x1000);
	assert_int_equal(((volatile uint8_t *)dev)[4095], 0);
	assert_int_equal(((volatile uint8_t *)dev)[4096 + 155], 0);
	assert_int_equal(san_occurrences(), before + 2);
}

#if defined(__x86_64__)
/* Also behind loads and stores of the page that are none. */
static void test_every_load(void **state)
{
	unsigned long long before = san_occurrences();
	uint64_t copy[600] = { 0 };

	(void)state;
	receive(3, 5);
	receive(550, 6);
	assert_int_equal(dev[4], 0);
	dev[9] = 4;
	assert_int_equal(san_occurrences(), before);
	assert_int_equal(dev[3], 0);
	assert_int_equal(dev[3], 0);
	assert_int_equal(dev[550], 0);
	assert_int_equal(san_occurrences(), before + 3);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(copy); i++)
		copy[i] = dev[i];
	assert_int_equal(san_occurrences(), before + 5);
	assert_int_equal(copy[9], 4);
	/* From one closed page to another. */
	dev[551] = dev[9];
	assert_int_equal(dev[551], 4);
	for (unsigned i = 0; i < 5000; i++)
		assert_int_equal(dev[4], 0);
	assert_int_equal(dev[550], 0);
	assert_int_equal(san_occurrences(), before + 6);
	rn_pcie_drain();
	assert_int_equal(dev[3], 5);
	assert_int_equal(dev[550], 6);
	assert_int_equal(san_occurrences(), before + 6);
}
#endif

/* A transfer that has ended covers what the drive has written. */
static void test_read_of_storage(void **state)
{
	unsigned long long before = san_occurrences();
	int fd = memfd_create("storage", MFD_CLOEXEC);
	struct rn_storage_file *file = NULL;
	static uint8_t bytes[LEN];

	(void)state;
	memset(bytes, 9, sizeof(bytes));
	assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(rn_storage_set_policy("direct,p2p"), 0);
	assert_int_equal(rn_storage_handle_register(&file, fd), 0);
	close(fd);
	assert_int_equal(rn_storage_buffer_register(b.bar, LEN), 0);
	rn_guard_install(); /* cmocka has put handlers before it */
	assert_int_equal(rn_storage_read(file, b.bar, LEN, 0, 0), LEN);
	assert_int_equal(dev[3], 0);
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("completion  of the transfer, taken ");
	san_assert_said("byte 24 of 8192 in memory of gpu0");
	rn_storage_settle();
	assert_int_equal(dev[3], 0x0909090909090909);
	assert_int_equal(san_occurrences(), before + 1);
	assert_int_equal(rn_storage_buffer_deregister(b.bar), 0);
	rn_storage_handle_deregister(file);
	assert_int_equal(rn_storage_driver_close(), 0);
}

/* Freed while closed, and the place is used again. */
static void test_freed(void **state)
{
	(void)state;
	receive(3, 5);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), LEN, 0, &b), 0);
	dev = b.dev;
	bar = b.bar;
	assert_int_equal(dev[3], 0);
	dev[3] = 1;
	assert_int_equal(dev[3], 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_plain_load),
		T(test_load_by_call),
		T(test_call_that_reads_host_memory),
		T(test_without_completion),
		T(test_landed),
		T(test_read_that_was_overtaken),
		T(test_landed_flag_behind_an_overtaken_read),
		T(test_landed_flag_behind_a_read),
		T(test_flag_of_the_cpu_arrives_while_a_kernel_looks),
		T(test_loop),
		T(test_what_is_no_finding),
		T(test_remedies_are_silent),
		T(test_skipped_flush_counts_elsewhere),
		T(test_new_knobs_store_what_is_late),
		T(test_two_in_a_page),
		T(test_across_pages),
		T(test_read_of_storage),
		T(test_freed),
#if defined(__x86_64__)
		T(test_every_load),
#endif
	};

	san_begin("typical,gpu.ordering=none" SAN_STILL, "on");
	return san_end(cmocka_run_group_tests(tests, NULL, NULL));
}
