/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cmd_stat.c - what `rocin stat` prints of the devices that rocind tells of. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "rocin/stats.h"
#include "spoken.h"
#include "transport/io/rocind/rocind_client.h"

/* ---- Two devices of one program ---- */

static struct rn_stats_page page[2];
static uint64_t growth[2]; /* of RN_STAT_RX_PACKETS between two looks */

static struct rn_rocind *const connection = (struct rn_rocind *)page;

struct rn_rocind *__wrap_rn_rocind_connect_running(char *err, size_t err_len);
void __wrap_rn_rocind_close(struct rn_rocind *r);
int __wrap_rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
			  char *err, size_t err_len);
int __wrap_clock_nanosleep(clockid_t id, int flags, const struct timespec *until,
			   struct timespec *left);

struct rn_rocind *__wrap_rn_rocind_connect_running(char *err, size_t err_len)
{
	(void)err;
	(void)err_len;
	return connection;
}

void __wrap_rn_rocind_close(struct rn_rocind *r)
{
	assert_ptr_equal(r, connection);
}

int __wrap_rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
			  char *err, size_t err_len)
{
	(void)r;
	(void)err;
	(void)err_len;
	for (unsigned i = 0; i < 2; i++) {
		struct rn_rocind_client client = {
			.pid = 77, .slot = 3 + i, .ibdev = "rocin0", .ifname = "eth0"
		};

		client.stats_fd = memfd_create("stats", MFD_CLOEXEC);
		assert_int_equal(pwrite(client.stats_fd, &page[i], sizeof(page[i]), 0),
				 sizeof(page[i]));
		assert_int_equal(on_client(ctx, &client), 0);
	}
	return 0;
}

/* The time until the next report, in which counters grow. */
int __wrap_clock_nanosleep(clockid_t id, int flags, const struct timespec *until,
			   struct timespec *left)
{
	(void)id;
	(void)flags;
	(void)until;
	(void)left;
	for (unsigned i = 0; i < 2; i++)
		page[i].counter[RN_STAT_RX_ICRC] += growth[i];
	return 0;
}

static int fresh(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++)
		page[i] = (struct rn_stats_page){ .magic = RN_STATS_PAGE_MAGIC,
						  .version = RN_STATS_PAGE_VERSION,
						  .counter_count = RN_STAT_COUNT,
						  .comm = "ib_write_bw" };
	page[0].counter[RN_STAT_RX_ICRC] = 5;
	page[1].counter[RN_STAT_RX_ICRC] = 1000;
	growth[0] = growth[1] = 0;
	return 0;
}

#define STAT(...) RUN(rn_cmd_stat, __VA_ARGS__)

static unsigned lines_with(const char *word)
{
	unsigned count = 0;

	for (const char *at = printed; (at = strstr(at, word)); at += strlen(word))
		count++;
	return count;
}

/* ---- Tests ---- */

static void counters_that_are_0_are_shown_on_request(void **state)
{
	char line[64];

	(void)state;
	snprintf(line, sizeof(line), "  %-28s %12u  ", rn_stat_name[RN_STAT_RX_ICRC], 5);
	assert_int_equal(STAT("--counters"), 0);
	assert_int_equal(lines_with("rocin0  eth0"), 2);
	assert_int_equal(lines_with(line), 1);
	for (unsigned i = 0; i < RN_STAT_COUNT; i++) {
		snprintf(line, sizeof(line), "  %-28s ", rn_stat_name[i]);
		assert_int_equal(lines_with(line), i == RN_STAT_RX_ICRC ? 2 : 0);
	}
	assert_int_equal(STAT("--counters", "--all"), 0);
	for (unsigned i = 0; i < RN_STAT_COUNT; i++) {
		snprintf(line, sizeof(line), "  %-28s ", rn_stat_name[i]);
		assert_int_equal(lines_with(line), 2);
	}
}

/* One process may have several, which look alike but for the slot. */
static void each_device_has_its_own_rates(void **state)
{
	(void)state;
	growth[0] = 3;
	growth[1] = 200;
	assert_int_equal(STAT("--counters", "--watch=0.5", "--count=3"), 0);
	/* A rate needs two samples: the first line of each counter has none. */
	assert_int_equal(lines_with(" 5              -  "), 1);
	assert_int_equal(lines_with(" 8            6/s  "), 1);
	assert_int_equal(lines_with(" 11            6/s  "), 1);
	assert_int_equal(lines_with(" 1200          400/s  "), 1);
	assert_int_equal(lines_with(" 1400          400/s  "), 1);
}

/* The process id was given to another program, whose counters began at 0. */
static void a_counter_that_went_back_has_no_rate(void **state)
{
	(void)state;
	growth[1] = (uint64_t)-400;
	assert_int_equal(STAT("--counters", "--watch", "--count=2"), 0);
	assert_int_equal(lines_with(" 600              -  "), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(counters_that_are_0_are_shown_on_request, fresh),
		cmocka_unit_test_setup(each_device_has_its_own_rates, fresh),
		cmocka_unit_test_setup(a_counter_that_went_back_has_no_rate, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
