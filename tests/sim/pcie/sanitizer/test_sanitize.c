/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize.c - which reads of bytes on their way are findings.
 *
 * Two NICs and memory of a GPU that each of them reaches by another way: a read of one
 * does not push what the other has written.
 */
#include "sanitize_kit.h"

enum {
	QP = 0x100,
	OTHER_QP = 0x200,
};

static uint64_t memory[512] __attribute__((aligned(4096)));
static uint64_t *const word = &memory[8];
static struct rn_host_region region;
static struct kit_nic writer, reader;

static int set_up(void **state)
{
	(void)state;
	kit_attach(&writer);
	kit_attach(&reader);
	kit_region_link(&region, memory, sizeof(memory));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rn_pcie_drain();
	kit_region_unlink(&region);
	kit_detach(&reader);
	kit_detach(&writer);
	return 0;
}

/* Reads the word by the other NIC: how many times was that a finding? */
static unsigned long long read_elsewhere(void)
{
	unsigned long long before = san_occurrences();

	san_read(&reader, QP, 77, word);
	return san_occurrences() - before;
}

static void test_is_on(void **state)
{
	(void)state;
	assert_true(rn_sanitize_is_on());
	assert_non_null(writer.api->posted);
	assert_non_null(writer.api->polled);
}

static void test_stale_read_in_words(void **state)
{
	unsigned long long before = san_findings();

	(void)state;
	san_data(&writer, QP, 1, word, 5, 0);
	san_received(&writer, QP, 1);
	assert_int_equal(read_elsewhere(), 1);
	assert_int_equal(san_findings(), before + 1);
	san_assert_said("stale read");
	san_assert_said("8 bytes at 0x");
	san_assert_said("by nic1 for the peer of QP 0x100");
	san_assert_said("written by  nic0, message 1 of the peer of QP 0x100");
	san_assert_said("completion  receive of an immediate, wr_id 0x1001, number 1 of");
	san_assert_said("waits in    ");
	san_assert_said("B2a");
	san_assert_said("loopback QP");
}

static void test_without_completion(void **state)
{
	(void)state;
	san_data(&writer, QP, 1, word, 5, 0);
	assert_int_equal(read_elsewhere(), 0);
	/* It is there, but nobody has taken it. */
	san_cqe(&writer, QP, 1, RN_WC_RECV, RN_WC_SUCCESS);
	assert_int_equal(read_elsewhere(), 0);
}

static void test_which_completions_cover(void **state)
{
	(void)state;
	san_data(&writer, QP, 5, word, 5, 0);
	san_received(&writer, QP, 4);
	assert_int_equal(read_elsewhere(), 0);
	san_received(&writer, OTHER_QP, 9);
	assert_int_equal(read_elsewhere(), 0);
	san_received(&reader, QP, 9); /* the same number at another NIC */
	assert_int_equal(read_elsewhere(), 0);
	san_completed(&writer, QP, 9); /* of a request of ours */
	assert_int_equal(read_elsewhere(), 0);
	san_take(&writer, san_cqe(&writer, QP, 6, RN_WC_RECV, RN_WC_WR_FLUSH_ERR), QP,
		 true);
	assert_int_equal(read_elsewhere(), 0);
	san_received(&writer, QP, 6);
	assert_int_equal(read_elsewhere(), 1);
}

static void test_results_of_our_requests(void **state)
{
	(void)state;
	san_data(&writer, QP, 3, word, 5, RN_MEM_RESPONSE);
	san_received(&writer, QP, 3);
	assert_int_equal(read_elsewhere(), 0);
	san_completed(&writer, QP, 3);
	assert_int_equal(read_elsewhere(), 1);
}

static void test_numbers_wrap(void **state)
{
	(void)state;
	san_data(&writer, QP, 0xfffffe, word, 5, 0);
	san_received(&writer, QP, 1);
	assert_int_equal(read_elsewhere(), 1);
	rn_pcie_drain();
	san_data(&writer, QP, 2, word, 5, 0);
	assert_int_equal(read_elsewhere(), 0);
	rn_pcie_drain();
	san_data(&writer, QP, 0x7ffffffe, word, 5, RN_MEM_RESPONSE);
	san_completed(&writer, QP, 0x80000000);
	assert_int_equal(read_elsewhere(), 1);
}

static void test_the_reader_pushes(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	san_data(&writer, QP, 1, word, 5, 0);
	san_received(&writer, QP, 1);
	san_read(&writer, OTHER_QP, 1, word);
	assert_int_equal(san_occurrences(), before);
	assert_int_equal(*word, 5);
	assert_int_equal(read_elsewhere(), 0);
}

static void test_other_bytes(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	san_data(&writer, QP, 1, word, 5, 0);
	san_received(&writer, QP, 1);
	san_read(&reader, QP, 1, word + 1);
	san_read(&reader, QP, 1, word - 1);
	assert_int_equal(san_occurrences(), before);
}

static void test_arrived(void **state)
{
	(void)state;
	san_data(&writer, QP, 1, word, 5, 0);
	san_received(&writer, QP, 1);
	rn_pcie_drain();
	assert_int_equal(read_elsewhere(), 0);
}

/* Later completions cover it too, but the first would have sufficed. */
static void test_first_completion_is_named(void **state)
{
	unsigned long long before = san_findings();

	(void)state;
	san_data(&writer, 0x300, 41, word, 5, 0);
	san_received(&writer, 0x300, 41);
	san_received(&writer, 0x300, 42);
	san_read(&reader, 0x300, 77, word);
	assert_int_equal(san_findings(), before + 1);
	san_assert_said("receive of an immediate, wr_id 0x1029, number 41 of QP 0x300");
}

/* After RESET numbers begin again: what covered the old ones says nothing. */
static void test_reset(void **state)
{
	(void)state;
	san_received(&writer, QP, 100);
	writer.api->drain(writer.nic, QP);
	san_data(&writer, QP, 1, word, 5, 0);
	assert_int_equal(read_elsewhere(), 0);
	san_received(&writer, QP, 1);
	assert_int_equal(read_elsewhere(), 1);
}

/* Delivered again after the completion, because an acknowledgement was lost: whether that
 * happens hangs on the network, and the verdict on a program must not.
 */
static void test_late_duplicate(void **state)
{
	(void)state;
	san_received(&writer, QP, 8);
	san_data(&writer, QP, 8, word, 5, 0);
	assert_int_equal(read_elsewhere(), 0);
	san_received(&writer, QP, 9);
	assert_int_equal(read_elsewhere(), 0);
}

static void test_slot_of_something_else(void **state)
{
	static struct rn_cqe unknown;
	struct rn_cqe *slot;

	(void)state;
	san_data(&writer, QP, 1, word, 5, 0);
	san_take(&writer, &unknown, QP, true);
	slot = san_cqe(&writer, OTHER_QP, 7, RN_WC_RECV, RN_WC_SUCCESS);
	san_take(&writer, slot, QP, true);
	assert_int_equal(read_elsewhere(), 0);
}

static void test_said_once(void **state)
{
	unsigned long long findings, occurrences;

	(void)state;
	san_data(&writer, QP, 1, word, 5, 0);
	san_received(&writer, QP, 1);
	read_elsewhere();
	findings = san_findings();
	occurrences = san_occurrences();
	assert_int_equal(read_elsewhere(), 1);
	assert_int_equal(read_elsewhere(), 1);
	assert_int_equal(san_findings(), findings);
	assert_int_equal(san_occurrences(), occurrences + 2);
}

/* A gather for a request of ours names it. */
static void test_gather(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	san_data(&writer, QP, 1, word, 5, 0);
	/* Posted before the program could know anything. */
	san_post(&reader, OTHER_QP, 3, RN_WR_SEND, word, 8, 0, false);
	san_received(&writer, QP, 1);
	san_read(&reader, OTHER_QP, 3, word);
	assert_int_equal(san_occurrences(), before);
	san_post(&reader, OTHER_QP, 4, RN_WR_SEND, word, 8, 0, false);
	san_read(&reader, OTHER_QP, 4, word);
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("by nic1 for a SEND, wr_id 0x2004, QP 0x200");
	san_assert_said("where that was posted:");
}

/* Many completion slots, each used twice. */
static void test_many_slots(void **state)
{
	static struct rn_cqe ring[5000];
	struct rn_mem_attr attr = { .qpn = QP, .flags = RN_MEM_CQE };

	(void)state;
	for (uint32_t i = 0; i < 2 * RN_ARRAY_SIZE(ring); i++) {
		struct rn_cqe *slot = &ring[i % RN_ARRAY_SIZE(ring)];
		struct rn_cqe cqe = {
			.qpn = QP, .ctl = rn_cqe_ctl(1, 0, RN_WC_RECV, RN_WC_SUCCESS)
		};

		attr.msg = i;
		writer.api->mem->write(writer.nic, kit_iova(slot), &cqe, sizeof(cqe),
				       attr);
	}
	rn_pcie_drain();
	san_data(&writer, QP, 9000, word, 5, 0);
	san_take(&writer, &ring[8999 - 5000], QP, true);
	assert_int_equal(read_elsewhere(), 0);
	san_take(&writer, &ring[9000 - 5000], QP, true);
	assert_int_equal(read_elsewhere(), 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_is_on),
		T(test_stale_read_in_words),
		T(test_without_completion),
		T(test_which_completions_cover),
		T(test_results_of_our_requests),
		T(test_numbers_wrap),
		T(test_the_reader_pushes),
		T(test_other_bytes),
		T(test_arrived),
		T(test_first_completion_is_named),
		T(test_reset),
		T(test_late_duplicate),
		T(test_slot_of_something_else),
		T(test_said_once),
		T(test_gather),
		T(test_many_slots),
	};

	san_begin("adversarial" SAN_STILL, "on");
	return san_end(cmocka_run_group_tests(tests, NULL, NULL));
}
