/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_reopen.c - opening and closing a device thousands of times leaves nothing behind.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	TIMES = 5000,
	WARM = 200, /* after so many times the caches of all libraries are full */
	/* a QP also needs a connection to rocind, a thread and sockets */
	WITH_QP_EVERY = 25,
	MAPPINGS_MAX = 100,
	/* in bytes; a leak of 64 bytes each time would exceed it */
	LEAK_MAX = 256 * 1024,
};

static unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static unsigned count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned count = 0;
	int c;

	assert_non_null(maps);
	while ((c = fgetc(maps)) != EOF)
		count += c == '\n';
	(void)fclose(maps);
	return count;
}

static void use_and_close(bool with_qp)
{
	static uint8_t buf[4096];
	struct ibv_context *ctx = kit_open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, channel, 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_UD };
	struct ibv_qp *qp = with_qp ? ibv_create_qp(pd, &attr) : NULL;

	assert_non_null(pd);
	assert_non_null(channel);
	assert_non_null(cq);
	assert_non_null(mr);
	assert_int_equal(qp != NULL, with_qp);
	if (qp)
		assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

/* No other context is open, so that each close ends the whole device. */
static void nothing_is_left_of_thousands_of_contexts(void **state)
{
	unsigned descriptors = 0, threads = 0, mappings = 0;
	size_t bytes = 0;

	(void)state;
	for (unsigned i = 0; i < TIMES; i++) {
		if (i == WARM) {
			descriptors = count_entries("/proc/self/fd");
			threads = count_entries("/proc/self/task");
			mappings = count_mappings();
			bytes = mallinfo2().uordblks;
		}
		use_and_close(i % WITH_QP_EVERY == 0);
	}
	assert_int_equal(count_entries("/proc/self/fd"), descriptors);
	assert_int_equal(count_entries("/proc/self/task"), threads);
	/* Allowance for memory that the C library and sanitizers keep. */
	assert_in_range(count_mappings(), 0, mappings + MAPPINGS_MAX);
	assert_in_range(mallinfo2().uordblks, 0, bytes + LEAK_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_of_thousands_of_contexts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
