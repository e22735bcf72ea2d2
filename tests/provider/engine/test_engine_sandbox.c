/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_sandbox.c - devices that use io_uring in a program that forbids itself
 * io_uring by a sandbox, as browsers do after they have opened everything that they need.
 *
 * A sandbox cannot be left, so each test begins in the state in which the one before has
 * ended.
 */
#include "tests/provider/kit/engine_kit.h"

#include <stdlib.h>

#include "tests/kit/system/forbid_calls.h"
#include "tests/kit/system/io_kind.h"

struct io {
	bool sleeps, sends; /* io_uring is used for sleeping; for sending */
	uint32_t said;	    /* the I/O method that `rocin stat' reports */
};

static struct io io_of(struct kit_end *k)
{
	struct io io;

	rnp_engine_lock(k->e);
	io.sleeps = k->e->wait.uring;
	io.sends = rn_udp_by_uring(k->e->wire.udp);
	io.said = k->e->stats.page->io;
	rnp_engine_unlock(k->e);
	return io;
}

static void expect(struct kit_end *k, bool uring)
{
	struct io io = io_of(k);

	assert_int_equal(io.sleeps, uring);
	assert_int_equal(io.sends, uring);
	assert_int_equal(io.said, uring ? RN_STATS_IO_URING : RN_STATS_IO_REFUSED);
}

static void exchange(struct kit_end k[2], unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		kit_post_recv(&k[1]);
		kit_post_send(&k[0], RN_WR_SEND, 64, 0);
		kit_await_both(&k[1], &k[0]);
		kit_await(&k[0], RN_WC_SUCCESS);
	}
}

/* Sends READs that only the background thread of the other end can answer. */
static void read_from_a_sleeper(struct kit_end k[2], unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		kit_post_send(&k[0], RN_WR_RDMA_READ, 64, (uintptr_t)k[1].buf);
		kit_await(&k[0], RN_WC_SUCCESS);
	}
}

static void programs_go_on_in_a_sandbox(void **state)
{
	struct kit_end k[2];

	(void)state;
	kit_pair(k, 14);
	exchange(k, 50);
	read_from_a_sleeper(k, 10);
	expect(&k[0], true);
	expect(&k[1], true);

	assert_int_equal(forbid_uring(EPERM), 0);
	exchange(k, 50);
	read_from_a_sleeper(k, 10);
	expect(&k[1], false);
	assert_false(io_of(&k[0]).sends);
	for (unsigned i = 0; i < 2; i++)
		kit_close(&k[i]);
}

static void check_devices_opened_in_it(void)
{
	struct kit_end k[2];

	kit_pair(k, 14);
	expect(&k[0], false);
	expect(&k[1], false);
	exchange(k, 50);
	read_from_a_sleeper(k, 10);
	for (unsigned i = 0; i < 2; i++)
		kit_close(&k[i]);
}

static void devices_work_that_are_opened_in_it(void **state)
{
	(void)state;
	check_devices_opened_in_it();
}

static void a_sandbox_may_say_that_there_is_no_such_call(void **state)
{
	(void)state;
	assert_int_equal(forbid_uring(ENOSYS), 0);
	check_devices_opened_in_it();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_go_on_in_a_sandbox),
		cmocka_unit_test(devices_work_that_are_opened_in_it),
		cmocka_unit_test(a_sandbox_may_say_that_there_is_no_such_call),
	};
	int missing;

	setenv("ROCIN_IO", "uring", 1);
	missing = io_missing();
	if (missing)
		return missing;
	kit_environment(0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
