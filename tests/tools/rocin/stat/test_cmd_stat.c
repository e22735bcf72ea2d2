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

#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "tests/tools/rocin/kit/spoken.h"
#include "transport/io/rocind/rocind_client.h"

/* ---- Two devices of one program ---- */

static struct rn_stats_page page[2];
static struct rn_stats_object object[7]; /* of the first */
static struct rn_stats_qp pair;
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
		if (i == 0) {
			assert_int_equal(pwrite(client.stats_fd, object, sizeof(object),
						RN_STATS_OBJECT_OFFSET),
					 sizeof(object));
			assert_int_equal(pwrite(client.stats_fd, &pair, sizeof(pair),
						RN_STATS_QP_OFFSET),
					 sizeof(pair));
		}
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

/* One object of each kind, and one of a kind that is none. */
static int with_objects(void **state)
{
	fresh(state);
	page[0].object_capacity = RN_ARRAY_SIZE(object);
	page[0].qp_capacity = 1;
	page[0].unrecorded = 3;
	object[0] = (struct rn_stats_object){
		.kind = RN_STATS_PD, .number = 1, .users = 4, .ctxn = 1
	};
	object[1] = (struct rn_stats_object){
		.kind = RN_STATS_CQ, .number = 2, .users = 2, .cqe = 128, .ctxn = 1
	};
	object[2] = (struct rn_stats_object){ .kind = RN_STATS_MR,
					      .number = 3,
					      .pdn = 1,
					      .key = 0x301,
					      .ctxn = 1,
					      .access = 7,
					      .iova = 0x7f0000001000,
					      .length = 4096 };
	object[3] = (struct rn_stats_object){ .kind = RN_STATS_SRQ,
					      .number = 4,
					      .pdn = 1,
					      .cqn = 2,
					      .type = 1,
					      .ctxn = 1 };
	object[4] = (struct rn_stats_object){
		.kind = RN_STATS_MW, .number = 5, .pdn = 1, .type = 2, .ctxn = 1
	};
	object[5] = (struct rn_stats_object){ .kind = RN_STATS_KIND_COUNT };
	object[6] = (struct rn_stats_object){ .kind = UINT32_MAX, .number = 9 };
	pair = (struct rn_stats_qp){
		.qpn = 0x103, .type = RN_QPT_RC, .state = 200, .dest_qpn = 0x203, .pdn = 1
	};
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

static const char *const resource_lines[] = {
	"dev rocin0 pdn 1 users 4 ctxn 1 pid 77 comm ib_write_bw\n",
	"dev rocin0 cqn 2 cqe 128 users 2 adaptive-moderation off ctxn 1 pid 77 comm "
	"ib_write_bw\n",
	"dev rocin0 mrn 3 rkey 0x301 lkey 0x301 iova 0x7f0000001000 mrlen 4096 pdn 1 pid "
	"77 comm ib_write_bw\n",
	"dev rocin0 srqn 4 type XRC users 0 pdn 1 cqn 2 pid 77 comm ib_write_bw\n",
	"dev rocin0 mwn 5 type 2 pdn 1 pid 77 comm ib_write_bw\n",
	"link rocin0/1 lqpn 259 rqpn 515 type RC state ? pdn 1 pid 77 comm ib_write_bw\n",
};

static void objects_are_listed_as_rdma_does(void **state)
{
	static const char *const option[] = { "-rpd",  "-rcq", "-rmr",
					      "-rsrq", "-rmw", "-rqp" };

	(void)state;
	assert_int_equal(STAT("--resources"), 0);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(resource_lines); i++)
		assert_int_equal(lines_with(resource_lines[i]), 1);
	assert_int_equal(lines_with("\n"), RN_ARRAY_SIZE(resource_lines));
	for (unsigned i = 0; i < RN_ARRAY_SIZE(resource_lines); i++) {
		assert_int_equal(STAT(option[i]), 0);
		assert_int_equal(lines_with("\n"), 1);
		assert_int_equal(lines_with(resource_lines[i]), 1);
	}
}

static void objects_are_counted_in_the_report(void **state)
{
	(void)state;
	assert_int_equal(STAT("--all"), 0);
	assert_int_equal(
		lines_with("  pd 1  cq 1  mr 1  srq 1  mw 1  qp 1  unrecorded 3\n"), 1);
	assert_int_equal(lines_with("  pd 0  cq 0  mr 0  srq 0  mw 0  qp 0\n"), 1);
	assert_int_equal(STAT("--counters"), 0);
	assert_int_equal(lines_with("  pd 1"), 0);
}

static void objects_are_in_the_json(void **state)
{
	(void)state;
	assert_int_equal(STAT("--json"), 0);
	assert_int_equal(lines_with("\"unrecorded\": 3"), 1);
	assert_int_equal(lines_with("\"mrs\""), 0);
	assert_int_equal(STAT("--json", "--resources=mr"), 0);
	assert_int_equal(lines_with("\"mrs\""), 2);
	assert_int_equal(lines_with("\"cqs\""), 0);
	assert_int_equal(lines_with("\"iova\": \"0x7f0000001000\""), 1);
	assert_int_equal(lines_with("\"rkey\": \"0x301\""), 1);
	assert_int_equal(lines_with("\"mrlen\": 4096"), 1);
	assert_int_equal(STAT("--json", "--resources"), 0);
	assert_int_equal(lines_with("\"cqe\": 128"), 1);
	assert_int_equal(lines_with("\"type\": \"XRC\""), 1);
	assert_int_equal(lines_with("\"mwn\": 5"), 1);
	assert_int_equal(lines_with("\"users\": 4"), 1);
	/* Regions and windows have no users, those that have are a PD, a CQ and an SRQ.
	 */
	assert_int_equal(lines_with("\"users\":"), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(counters_that_are_0_are_shown_on_request, fresh),
		cmocka_unit_test_setup(each_device_has_its_own_rates, fresh),
		cmocka_unit_test_setup(a_counter_that_went_back_has_no_rate, fresh),
		cmocka_unit_test_setup(objects_are_listed_as_rdma_does, with_objects),
		cmocka_unit_test_setup(objects_are_counted_in_the_report, with_objects),
		cmocka_unit_test_setup(objects_are_in_the_json, with_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
