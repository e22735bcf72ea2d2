/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize_pieces.c - a run that is judged waits for nothing that its verdicts do
 * not depend on: reads of NICs are performed at once, and bytes that become visible in
 * order are one TLP, as is what replaces them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "sanitize_kit.h"
#include "sim/pcie/host/host_internal.h"

enum {
	QP = 0x100,
	PAGE = 4096,
	GRANULE = 64,
	APART = 64, /* granules of a message that are TLPs of their own, if unordered */
};

static uint8_t memory[4 * PAGE] __attribute__((aligned(4096)));
static struct kit_nic nic;

static uint64_t count_tlps(void)
{
	return rn_host_get()->counters.tlps;
}

/* Writes a page of message @msg. Returns the number of TLPs. */
static uint64_t write_page(uint32_t msg, unsigned page, uint32_t flags)
{
	static const uint8_t bytes[PAGE] = { 1 };
	const struct rn_mem_attr attr = { .qpn = QP, .msg = msg, .flags = flags };
	uint64_t before = count_tlps();

	assert_int_equal(nic.api->mem->write(nic.nic, kit_iova(memory) + page * PAGE,
					     bytes, sizeof(bytes), attr),
			 RN_MEM_DONE);
	return count_tlps() - before;
}

static void test_reads_are_performed_at_once(void **state)
{
	const struct rn_mem_attr attr = { .qpn = QP, .msg = 1 };
	uint8_t found[PAGE];
	uint64_t before = count_tlps();

	(void)state;
	memory[PAGE - 1] = 7;
	assert_int_equal(nic.api->mem->read(nic.nic, found, kit_iova(memory),
					    sizeof(found), attr, 1),
			 RN_MEM_DONE);
	assert_int_equal(found[PAGE - 1], 7);
	assert_int_equal(count_tlps() - before, 1);
}

static void test_a_read_pushes_what_was_written_before(void **state)
{
	const struct rn_mem_attr attr = { .qpn = QP, .msg = 3 };
	uint8_t found[1];

	(void)state;
	memory[0] = 0;
	write_page(2, 0, 0);
	assert_int_equal(nic.api->mem->read(nic.nic, found, kit_iova(memory),
					    sizeof(found), attr, 1),
			 RN_MEM_DONE);
	assert_int_equal(found[0], 1);
}

static void test_ordered_bytes_are_not_cut(void **state)
{
	(void)state;
	assert_int_equal(write_page(4, 0, 0), 1);
	assert_int_equal(write_page(4, 1, 0), 1);
}

/* Relaxed: the first granules have no order. Of a long message the tail is joined. */
static void test_unordered_bytes_are_cut_at_first(void **state)
{
	(void)state;
	assert_int_equal(write_page(5, 0, RN_MEM_RELAXED), PAGE / GRANULE);
	assert_int_equal(PAGE / GRANULE, APART);
	assert_int_equal(write_page(5, 1, RN_MEM_RELAXED), 2);
	assert_int_equal(write_page(5, 2, RN_MEM_RELAXED), 1);
	assert_int_equal(write_page(6, 3, RN_MEM_RELAXED), PAGE / GRANULE);
}

/* Where the machine gives the bytes of a message no order, its last byte says nothing of
 * the others, whatever the region says.
 */
static void test_bytes_without_order_are_cut(void **state)
{
	(void)state;
	kit_host_knobs("typical,place=msg" SAN_STILL);
	assert_int_equal(write_page(7, 0, 0), PAGE / GRANULE);
	kit_host_knobs("typical" SAN_STILL);
	assert_int_equal(write_page(8, 0, 0), 1);
}

/* One TLP on this machine, and granules without order on others. */
static void test_bytes_are_cut_for_machines_without_order(void **state)
{
	const struct rn_tlp *by[RN_SAN_CLASS_COUNT];
	struct rn_host *h = rn_host_get();
	unsigned pending;

	(void)state;
	assert_int_equal(write_page(9, 0, 0), 1);
	rn_host_lock(h);
	rn_san_class_seen(kit_iova(memory), 1);
	pending = rn_san_class_pending(kit_iova(memory) + GRANULE, 1, by);
	rn_host_unlock(h);
	assert_int_equal(pending, 1U << RN_SAN_CLASS_RELAXED);
}

static int set_up(void **state)
{
	(void)state;
	kit_attach(&nic);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rn_pcie_drain();
	kit_detach(&nic);
	return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* ------------------------------------------------------------ one buffer again */
/* Has a device written to any page of [at, at + len)? Read past the protection. */
static bool is_stored(const uint8_t *at, size_t len)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	uint8_t byte = 0;

	assert_true(fd >= 0);
	for (size_t i = 0; i < len && !byte; i += PAGE)
		assert_int_equal(pread(fd, &byte, 1, (off_t)kit_iova(at + i)), 1);
	close(fd);
	return byte != 0;
}

/* Each message replaces the one before, so the room for what is pending does not fill,
 * and nothing is forced that the program has not waited for.
 */
static void test_messages_into_one_buffer_replace_each_other(void **state)
{
	enum {
		KEY = 0x500,
		LEN = 1024 * 1024,
		MESSAGES = 60,
	};
	static const uint8_t bytes[PAGE] = { 1 };
	struct rn_mem_attr attr = { .qpn = QP, .msg = 10, .flags = RN_MEM_RELAXED };
	uint8_t *buf = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(buf, MAP_FAILED);
	assert_int_equal(nic.api->region_add(nic.nic, KEY, kit_iova(buf), LEN, 0xf), 0);
	for (; attr.msg < 10 + MESSAGES; attr.msg++)
		for (size_t at = 0; at < LEN; at += PAGE)
			assert_int_equal(nic.api->mem->write(nic.nic, kit_iova(buf + at),
							     bytes, PAGE, attr),
					 RN_MEM_DONE);
	assert_false(is_stored(buf, LEN));
	nic.api->region_remove(nic.nic, KEY);
	munmap(buf, LEN);
}

/* ------------------------------------------------------------- registrations */
static unsigned lookups; /* of stacks, for which the C library reads all mappings */

/* Takes the place of the function of the C library. */
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	int (*next)(pthread_t, pthread_attr_t *);

	*(void **)&next = dlsym(RTLD_NEXT, "pthread_getattr_np");
	lookups++;
	return next(thread, attr);
}

static unsigned lookups_for(void *at)
{
	unsigned before = lookups;

	assert_int_equal(nic.api->region_add(nic.nic, 0x501, kit_iova(at), 64, 0xf), 0);
	nic.api->region_remove(nic.nic, 0x501);
	return lookups - before;
}

static void test_a_stack_is_looked_up_for_what_is_near_it(void **state)
{
	uint64_t local[8] = { 0 };

	(void)state;
	assert_int_equal(lookups_for(memory), 0);
	assert_int_equal(lookups_for(local), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reads_are_performed_at_once),
		TEST(test_a_read_pushes_what_was_written_before),
		TEST(test_a_stack_is_looked_up_for_what_is_near_it),
		TEST(test_messages_into_one_buffer_replace_each_other),
		TEST(test_ordered_bytes_are_not_cut),
		TEST(test_unordered_bytes_are_cut_at_first),
		TEST(test_bytes_without_order_are_cut),
		TEST(test_bytes_are_cut_for_machines_without_order),
	};

	san_begin("typical" SAN_STILL, "on");
	return san_end(cmocka_run_group_tests(tests, NULL, NULL));
}
