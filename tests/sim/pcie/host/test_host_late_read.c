/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_host_late_read.c - reads that a hook postpones: until the program polls in vain,
 * the newest queue pair first; until it is about to sleep; or for a time.
 */
#include <sched.h>
#include <string.h>

#include "host_kit.h"
#include "sim/pcie/host/host_internal.h"

enum {
	QP = 0x100,
	OTHER_QP = 0x200,
	RING = 0x10000,
	POLLS = 64, /* in vain, that say that the program waits */
};

static uint64_t word = 5;
static bool postpones;
/* QPNs of the reads that have begun, and how many there were. */
static uint32_t begun[4];
static _Atomic unsigned begun_count;

static bool postpone_reads(struct rn_host *h, const struct rn_tlp *tlp)
{
	(void)h;
	return postpones && tlp->kind == RN_TLP_READ;
}

static void note_issued(struct rn_host *h, const struct rn_tlp *tlp)
{
	(void)h;
	if (tlp->kind == RN_TLP_READ && begun_count < 4)
		begun[begun_count++] = tlp->stream;
}

/* Two reads of QP and then one of OTHER_QP wait. */
static void begin_reads(struct kit_nic *n, uint64_t found[3])
{
	static const struct rn_host_hooks hooks = { .postpones = postpone_reads,
						    .issued = note_issued };
	static bool is_added;

	kit_host_knobs("typical,hold=inf,hold.polls=inf");
	if (!is_added)
		rn_host_add_hooks(rn_host_get(), &hooks);
	is_added = true;
	postpones = true;
	begun_count = 0;
	memset(found, 0, 3 * sizeof(*found));
	kit_attach(n);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(kit_read(n, i < 2 ? QP : OTHER_QP, &found[i], &word,
					  sizeof(word), i),
				 RN_MEM_PENDING);
}

static void end_reads(struct kit_nic *n, const uint64_t found[3])
{
	n->api->drain(n->nic, 0);
	assert_int_equal(begun_count, 3);
	assert_int_equal(kit_collect(n), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(n->result[i].result, RN_MEM_DONE);
		assert_int_equal(found[i], 5);
	}
	postpones = false;
	kit_detach(n);
}

/* Polls in vain. Returns how many reads have begun then. */
static unsigned poll_in_vain(struct kit_nic *n, unsigned times)
{
	while (times--)
		n->api->polled_empty(n->nic, RING);
	return begun_count;
}

/* Returns false if time has ended the wait, because the machine was so busy. */
static bool is_ended_by_polls(void)
{
	uint64_t found[3];
	struct kit_nic n;
	bool is_in_time;

	begin_reads(&n, found);
	is_in_time = poll_in_vain(&n, POLLS - 1) == 0;
	is_in_time = poll_in_vain(&n, 1) == 1 && is_in_time;
	is_in_time = poll_in_vain(&n, POLLS - 1) == 1 && is_in_time;
	is_in_time = poll_in_vain(&n, 1) == 3 && is_in_time;
	if (is_in_time) {
		assert_int_equal(begun[0], OTHER_QP);
		assert_int_equal(begun[1], QP);
		assert_int_equal(begun[2], QP);
	}
	end_reads(&n, found);
	return is_in_time;
}

static void polls_in_vain_end_the_wait_of_the_newest_qp(void **state)
{
	(void)state;
	while (!is_ended_by_polls())
		;
}

/* The device polls in vain too, on no ring, whether the program waits or not. */
static void polls_of_the_device_do_not_count(void **state)
{
	uint64_t found[3];
	struct kit_nic n;

	(void)state;
	begin_reads(&n, found);
	for (unsigned i = 0; i < POLLS - 1; i++)
		n.api->polled_empty(n.nic, 0);
	assert_int_equal(rn_host_get()->late_reads.polls, 0);
	end_reads(&n, found);
}

static void who_arms_a_cq_waits_for_all(void **state)
{
	uint64_t found[3];
	struct kit_nic n;

	(void)state;
	begin_reads(&n, found);
	n.api->settle_ring(n.nic, RING, 64);
	assert_int_equal(begun_count, 3);
	end_reads(&n, found);
}

static void time_ends_the_wait(void **state)
{
	uint64_t found[3];
	struct kit_nic n;

	(void)state;
	begin_reads(&n, found);
	while (begun_count < 3)
		sched_yield();
	end_reads(&n, found);
}

static void the_end_of_a_qp_ends_the_wait(void **state)
{
	uint64_t found[3];
	struct kit_nic n;

	(void)state;
	begin_reads(&n, found);
	end_reads(&n, found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polls_in_vain_end_the_wait_of_the_newest_qp),
		cmocka_unit_test(polls_of_the_device_do_not_count),
		cmocka_unit_test(who_arms_a_cq_waits_for_all),
		cmocka_unit_test(time_ends_the_wait),
		cmocka_unit_test(the_end_of_a_qp_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
