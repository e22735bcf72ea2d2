/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_parts.c - settings, queue pair numbers and the statistics page. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/engine/engine_internal.h"
#include "provider/settings/settings.h"

/* --------------------------------------------------------------------- settings */
static const char *const names[] = { "ROCIN_NETDEVS", "ROCIN_GSO",	 "ROCIN_ICRC",
				     "ROCIN_CREDITS", "ROCIN_IO",	 "ROCIN_PCAP",
				     "ROCIN_FAULT",   "ROCIN_LINGER_US", "ROCIN_WINDOW",
				     "ROCIN_CC",      "ROCIN_RCVBUF",	 "ROCIN_LOCAL",
				     "ROCIN_PIN",     "ROCIN_CPU" };

static int clear(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
	return 0;
}

static void nothing_set_means_the_defaults(void **state)
{
	struct rnp_settings s;

	(void)state;
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_null(s.netdevs);
	assert_null(s.pcap);
	assert_true(s.gso);
	assert_false(s.icrc_exact);
	assert_false(s.credits);
	assert_int_equal(s.local, RNP_LOCAL_AUTO);
	assert_int_equal(s.io, RNP_IO_EPOLL);
	assert_false(s.has_fault);
	assert_int_equal(s.cc, RN_CC_OFF);
	assert_int_equal(s.linger_ns, 50000);
	assert_int_equal(s.rcvbuf, 0);
	assert_false(s.pin_limited);
	assert_int_equal(s.window_start, 192 * 1024);
	assert_int_equal(s.window_min, 64 * 1024);
	assert_int_equal(s.window_max, 1024 * 1024);
}

static void every_variable_is_obeyed(void **state)
{
	struct rnp_settings s;

	(void)state;
	setenv("ROCIN_NETDEVS", "eth0", 1);
	setenv("ROCIN_GSO", "off", 1);
	setenv("ROCIN_ICRC", "exact", 1);
	setenv("ROCIN_CREDITS", "on", 1);
	setenv("ROCIN_LOCAL", "off", 1);
	setenv("ROCIN_IO", "uring", 1);
	setenv("ROCIN_CPU", "scalar", 1);
	setenv("ROCIN_PCAP", "x.pcap", 1);
	setenv("ROCIN_FAULT", "drop=1%", 1);
	setenv("ROCIN_LINGER_US", "0", 1);
	setenv("ROCIN_WINDOW", "128K:16384:2M", 1);
	setenv("ROCIN_CC", "observe:25G", 1);
	setenv("ROCIN_RCVBUF", "208K", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_string_equal(s.netdevs, "eth0");
	assert_string_equal(s.pcap, "x.pcap");
	assert_false(s.gso);
	assert_true(s.icrc_exact);
	assert_true(s.credits);
	assert_int_equal(s.local, RNP_LOCAL_OFF);
	assert_int_equal(s.io, RNP_IO_URING);
	assert_int_equal(s.cpu, RN_CPU_SCALAR);
	assert_true(s.has_fault);
	assert_int_equal(s.fault.rule[0].chance, 10000);
	assert_int_equal(s.linger_ns, 0);
	assert_int_equal(s.cc, RN_CC_OBSERVE);
	assert_int_equal(s.cc_line, 25000000);
	assert_int_equal(s.rcvbuf, 212992);
	assert_int_equal(s.window_start, 128 * 1024);
	assert_int_equal(s.window_min, 16384);
	assert_int_equal(s.window_max, 2 << 20);
}

static void local_wires_do_without_icrcs_unless_recorded(void **state)
{
	struct rnp_settings s;

	(void)state;
	setenv("ROCIN_LOCAL", "no-icrc", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_int_equal(s.local, RNP_LOCAL_NO_ICRC);
	setenv("ROCIN_RECORD", "x.rec", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_int_equal(s.local, RNP_LOCAL_AUTO);
	unsetenv("ROCIN_RECORD");
	setenv("ROCIN_LOCAL", "auto", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_int_equal(s.local, RNP_LOCAL_AUTO);
}

static void window_of_one_size_moves_the_others_along(void **state)
{
	struct rnp_settings s;

	(void)state;
	setenv("ROCIN_WINDOW", "8K", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_int_equal(s.window_min, 8192);
	setenv("ROCIN_WINDOW", "4M", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_int_equal(s.window_max, 4 << 20);
}

static void pinning_is_limited_by_the_process_or_by_a_size(void **state)
{
	struct rnp_settings s;

	(void)state;
	setenv("ROCIN_PIN", "limit", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_true(s.pin_limited);
	assert_false(s.pin_has_size);
	setenv("ROCIN_PIN", "limit:64K", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_true(s.pin_limited && s.pin_has_size);
	assert_int_equal(s.pin_size, 65536);
	setenv("ROCIN_PIN", "limit:0", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_true(s.pin_has_size);
	assert_int_equal(s.pin_size, 0);
	setenv("ROCIN_PIN", "limit:1048576M", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_true(s.pin_size == UINT64_C(1) << 40);
	setenv("ROCIN_PIN", "cost:250", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_false(s.pin_limited);
	assert_int_equal(s.pin_page_ns, 250);
	setenv("ROCIN_PIN", "cost:1000000,limit:1K", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_true(s.pin_has_size && s.pin_size == 1024);
	assert_int_equal(s.pin_page_ns, 1000000);
	setenv("ROCIN_PIN", "off", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_false(s.pin_limited);
}

static void wrong_value_is_refused_with_the_name_of_the_variable(void **state)
{
	static const char *const wrong[][2] = {
		{ "ROCIN_GSO", "yes" },
		{ "ROCIN_ICRC", "EXACT" },
		{ "ROCIN_CREDITS", "yes" },
		{ "ROCIN_LOCAL", "on" },
		{ "ROCIN_LOCAL", "no_icrc" },
		{ "ROCIN_IO", "io_uring" },
		{ "ROCIN_CPU", "AVX2" },
		{ "ROCIN_CPU", "sse" },
		{ "ROCIN_FAULT", "drop=1" },
		{ "ROCIN_LINGER_US", "-1" },
		{ "ROCIN_LINGER_US", "1001" },
		{ "ROCIN_LINGER_US", "50us" },
		{ "ROCIN_CC", "ON" },
		{ "ROCIN_CC", "on:" },
		{ "ROCIN_CC", "off:1G" },
		{ "ROCIN_CC", "on:10" },
		{ "ROCIN_CC", "on:999K" },
		{ "ROCIN_CC", "on:4001G" },
		{ "ROCIN_CC", "on:10GB" },
		{ "ROCIN_RCVBUF", "63K" },
		{ "ROCIN_RCVBUF", "1025M" },
		{ "ROCIN_RCVBUF", "208k" },
		{ "ROCIN_PIN", "on" },
		{ "ROCIN_PIN", "limited" },
		{ "ROCIN_PIN", "limit:" },
		{ "ROCIN_PIN", "limit:-1" },
		{ "ROCIN_PIN", "limit:1G" },
		{ "ROCIN_PIN", "limit:1048577M" },
		{ "ROCIN_PIN", "off:1" },
		{ "ROCIN_PIN", "off,limit" },
		{ "ROCIN_PIN", "limit,off" },
		{ "ROCIN_PIN", "limit," },
		{ "ROCIN_PIN", ",limit" },
		{ "ROCIN_PIN", "limit:1K,limit:2K" },
		{ "ROCIN_PIN", "limit cost:1" },
		{ "ROCIN_PIN", "cost" },
		{ "ROCIN_PIN", "cost:" },
		{ "ROCIN_PIN", "cost:0" },
		{ "ROCIN_PIN", "cost:1000001" },
		{ "ROCIN_PIN", "cost:1,cost:2" },
		{ "ROCIN_WINDOW", "0" },
		{ "ROCIN_WINDOW", "1K:2K:3K:4K" },
		{ "ROCIN_WINDOW", "64k" },
		{ "ROCIN_WINDOW", "64K:" },
		{ "ROCIN_WINDOW", "99999999999999999999" },
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		struct rnp_settings s;
		char err[300] = "";

		clear(state);
		setenv(wrong[i][0], wrong[i][1], 1);
		assert_int_equal(rnp_settings_read(&s, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, wrong[i][0]));
	}
}

static void budget_fits_every_receive_buffer(void **state)
{
	struct rnp_settings s;

	(void)state;
	rnp_settings_read(&s, NULL, 0);
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		for (uint32_t rcvbuf = 2048; rcvbuf < 64u << 20; rcvbuf += rcvbuf / 3) {
			struct rnp_budget b = rnp_settings_budget(&s, rcvbuf, mtu);

			assert_true(b.window_min <= b.window_start);
			assert_true(b.window_start <= b.window_max);
			assert_true(b.window_min >= mtu);
			assert_true(b.read_chunk >= mtu && b.read_chunk % mtu == 0);
			assert_true(b.read_chunk <= 256 * 1024);
			assert_true(b.read_window >= mtu);
			if (rcvbuf >= 4 * mtu) {
				assert_true(b.window_max <= rcvbuf / 16 * 11);
				assert_true(rcvbuf < 65536 || b.window_max > rcvbuf / 2 ||
					    b.window_max == s.window_max);
				assert_true(b.read_window <= rcvbuf / 2);
				assert_true(b.read_chunk <= b.read_window / 2 ||
					    b.read_chunk == mtu);
			}
		}
	}
}

static void single_packets_take_twice_their_size_of_a_receive_buffer(void **state)
{
	enum {
		STOCK = 2 * 212992
	};
	struct rnp_settings s;

	(void)state;
	rnp_settings_read(&s, NULL, 0);
	/* Four super-packets of 15 packets each. */
	assert_true(rnp_settings_budget(&s, STOCK, 4096).window_max >= 4 * 15 * 4096);
	setenv("ROCIN_GSO", "off", 1);
	rnp_settings_read(&s, NULL, 0);
	assert_int_equal(rnp_settings_budget(&s, STOCK, 4096).window_max, STOCK / 2);
}

static void smallest_receive_buffer_is_64k(void **state)
{
	struct rnp_settings s;

	(void)state;
	setenv("ROCIN_RCVBUF", "64K", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), 0);
	assert_int_equal(s.rcvbuf, 64 << 10);
	setenv("ROCIN_RCVBUF", "65535", 1);
	assert_int_equal(rnp_settings_read(&s, NULL, 0), -EINVAL);
}

/* -------------------------------------------------------------------------- QPNs */
#define SECRET UINT64_C(0x5ec2e7)

static struct rnp_qpns qpns;

static void numbers_carry_the_slot_and_tell_their_counter(void **state)
{
	/* the counter is never 0 */
	static const uint32_t counter[] = { 65534, 65535, 1, 2 };
	uint32_t qpn;

	(void)state;
	rnp_qpns_init(&qpns, 7, counter[0], SECRET);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(counter); i++) {
		assert_int_equal(rnp_qpns_take(&qpns, 0, &qpn), 0);
		assert_int_equal(qpn & 0xff, 7);
		assert_true(qpn >= 256);
		assert_int_equal(rnp_qpns_counter(&qpns, qpn), counter[i]);
	}
}

/* All differences between a QPN and the next one must be equally likely. */
static void numbers_do_not_tell_the_next_one(void **state)
{
	uint32_t qpn, before, equal_steps = 0, step = 0;

	(void)state;
	rnp_qpns_init(&qpns, 1, 1, SECRET);
	assert_int_equal(rnp_qpns_take(&qpns, 0, &before), 0);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(rnp_qpns_take(&qpns, 0, &qpn), 0);
		equal_steps += ((qpn - before) & 0xffffff) == step;
		step = (qpn - before) & 0xffffff;
		before = qpn;
	}
	assert_true(equal_steps < 10);
}

static void processes_with_other_counters_have_other_numbers(void **state)
{
	static bool seen[65536];
	uint32_t qpn;

	(void)state;
	for (unsigned i = 0; i < 15; i++) {
		rnp_qpns_init(&qpns, 4, 1 + 4096 * i, SECRET);
		for (unsigned k = 0; k < 4096; k++) {
			assert_int_equal(rnp_qpns_take(&qpns, 0, &qpn), 0);
			assert_false(seen[qpn >> 8]);
			seen[qpn >> 8] = true;
		}
	}
}

static void number_of_all_members_of_a_multicast_is_never_given_out(void **state)
{
	uint32_t qpn, count = 0;

	(void)state;
	rnp_qpns_init(&qpns, 255, 65535, SECRET);
	for (; rnp_qpns_take(&qpns, 0, &qpn) == 0; count++)
		assert_int_not_equal(qpn, 0xffffff);
	assert_int_equal(count, 65534);
}

static void numbers_are_unique_until_none_is_left(void **state)
{
	static bool seen[65536];
	uint32_t qpn, count = 0;

	(void)state;
	rnp_qpns_init(&qpns, 3, 1000, SECRET);
	while (rnp_qpns_take(&qpns, 0, &qpn) == 0) {
		assert_int_equal(qpn & 0xff, 3);
		assert_false(seen[qpn >> 8]);
		seen[qpn >> 8] = true;
		/* One counter is missing at the place of 0, which no QP has. */
		assert_int_equal(rnp_qpns_counter(&qpns, qpn), (999 + count) % 65535 + 1);
		count++;
	}
	assert_int_equal(count, 65535);
}

static void number_rests_before_it_is_given_out_again(void **state)
{
	uint32_t first, qpn;

	(void)state;
	rnp_qpns_init(&qpns, 3, 1, SECRET);
	assert_int_equal(rnp_qpns_take(&qpns, 0, &first), 0);
	for (unsigned i = 0; i < 65534; i++)
		assert_int_equal(rnp_qpns_take(&qpns, 0, &qpn), 0);
	rnp_qpns_give(&qpns, 1000, first);
	assert_int_equal(rnp_qpns_take(&qpns, 1000 + RNP_QPN_REST - 1, &qpn), -ENOMEM);
	assert_int_equal(rnp_qpns_take(&qpns, 1000 + RNP_QPN_REST, &qpn), 0);
	assert_int_equal(qpn, first);
}

/* --------------------------------------------------------------------- statistics */
/* If too many numbers are given back, the oldest can be given out again earlier than
 * usual. This is better than never.
 */
static void numbers_given_back_at_once_are_all_given_out_again(void **state)
{
	static uint32_t taken[3 * RNP_QPN_RESTING];
	const uint32_t many = RN_ARRAY_SIZE(taken);
	uint32_t qpn, count = 0;

	(void)state;
	rnp_qpns_init(&qpns, 3, 1, SECRET);
	for (uint32_t i = 0; i < many; i++)
		assert_int_equal(rnp_qpns_take(&qpns, 0, &taken[i]), 0);
	for (uint32_t i = 0; i < many; i++)
		rnp_qpns_give(&qpns, 0, taken[i]);
	assert_int_equal(qpns.live, 0);
	while (rnp_qpns_take(&qpns, RNP_QPN_REST, &qpn) == 0)
		count++;
	assert_int_equal(count, 65535);
}

static void page_can_be_read_by_others_and_not_written(void **state)
{
	static struct rnp_stats s;
	struct rn_stats_page copy;

	(void)state;
	assert_int_equal(rnp_stats_open(&s, "rocin3"), 0);
	assert_true(s.fd > 2);
	assert_true(s.share_fd > 2);
	s.page->counter[RN_STAT_RX_PACKETS] = 42;
	assert_int_equal(pread(s.share_fd, &copy, sizeof(copy), 0), sizeof(copy));
	assert_int_equal(copy.magic, RN_STATS_PAGE_MAGIC);
	assert_int_equal(copy.version, RN_STATS_PAGE_VERSION);
	assert_int_equal(copy.counter_count, RN_STAT_COUNT);
	assert_int_equal(copy.pid, getpid());
	assert_string_equal(copy.ibdev, "rocin3");
	/* A longer name is truncated. */
	assert_int_equal(
		strncmp(copy.comm, program_invocation_short_name, sizeof(copy.comm) - 1),
		0);
	assert_int_equal(copy.counter[RN_STAT_RX_PACKETS], 42);
	assert_int_equal(pwrite(s.share_fd, &copy, sizeof(copy), 0), -1);
	/* even this process cannot truncate it */
	assert_int_equal(ftruncate(s.fd, 0), -1);
	rnp_stats_close(&s);
}

static void records_stay_where_they_are_while_the_page_grows(void **state)
{
	static struct rnp_stats s;
	static struct rn_stats_qp *rec[5000];
	struct rn_stats_qp copy;

	(void)state;
	assert_int_equal(rnp_stats_open(&s, "rocin0"), 0);
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(rec); i++) {
		rec[i] = rnp_stats_take(&s);
		assert_non_null(rec[i]);
		assert_int_equal(rec[i]->qpn, 0);
		rec[i]->qpn = i + 1;
	}
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(rec); i++)
		assert_int_equal(rec[i]->qpn, i + 1);
	assert_true(s.page->qp_capacity >= RN_ARRAY_SIZE(rec));
	assert_int_equal(pread(s.share_fd, &copy, sizeof(copy),
			       RN_STATS_QP_OFFSET + 4321 * (off_t)sizeof(copy)),
			 sizeof(copy));
	assert_int_equal(copy.qpn, 4322);
	rnp_stats_close(&s);
}

static void record_given_back_is_used_again(void **state)
{
	static struct rnp_stats s;
	struct rn_stats_qp *a, *b;

	(void)state;
	assert_int_equal(rnp_stats_open(&s, "rocin0"), 0);
	a = rnp_stats_take(&s);
	b = rnp_stats_take(&s);
	assert_ptr_not_equal(a, b);
	a->qpn = 5;
	rnp_stats_give(&s, a);
	assert_int_equal(a->qpn, 0);
	rnp_stats_give(&s, NULL);
	assert_ptr_equal(rnp_stats_take(&s), a);
	rnp_stats_close(&s);
}

static void objects_have_records_of_their_own(void **state)
{
	static struct rnp_stats s;
	const struct rn_stats_object mr = { .kind = RN_STATS_MR, .number = 7, .key = 9 };
	struct rn_stats_object *a, *b, copy;

	(void)state;
	assert_int_equal(rnp_stats_open(&s, "rocin0"), 0);
	a = rnp_stats_record(&s, &mr);
	b = rnp_stats_record(&s, &mr);
	assert_ptr_not_equal(a, b);
	assert_int_equal(s.page->qp_capacity, 0);
	assert_int_equal(s.page->object_capacity, 64);
	assert_int_equal(pread(s.share_fd, &copy, sizeof(copy),
			       RN_STATS_OBJECT_OFFSET + (off_t)sizeof(copy)),
			 sizeof(copy));
	assert_memory_equal(&copy, &mr, sizeof(copy));
	rnp_stats_forget(&s, a);
	assert_int_equal(a->kind, RN_STATS_FREE);
	assert_ptr_equal(rnp_stats_record(&s, &mr), a);
	assert_int_equal(s.page->unrecorded, 0);
	rnp_stats_close(&s);
}

/* Another process of the same user can open the page and write to it. */
static void what_others_write_into_the_page_is_not_believed(void **state)
{
	static const uint32_t lies[] = { UINT32_MAX, 1u << 31, 1, 0 };
	static struct rnp_stats s;
	const struct rn_stats_object o = { .kind = RN_STATS_MW };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(lies); i++) {
		struct rn_stats_qp *last = NULL;

		assert_int_equal(rnp_stats_open(&s, "rocin0"), 0);
		assert_non_null(rnp_stats_take(&s));
		for (unsigned k = 0; k < 1000; k++) {
			s.page->qp_capacity = lies[i];
			s.page->object_capacity = lies[i];
			last = rnp_stats_take(&s);
			assert_non_null(last);
			last->rx_packets = 1; /* there must be memory at this address */
			assert_non_null(rnp_stats_record(&s, &o));
		}
		rnp_stats_give(&s, last);
		rnp_stats_close(&s);
	}
}

static void objects_beyond_the_last_record_are_counted(void **state)
{
	static struct rnp_stats s;
	static struct rn_stats_object *rec[RN_STATS_RECORDS_MAX];
	const struct rn_stats_object o = { .kind = RN_STATS_MW };

	(void)state;
	assert_int_equal(rnp_stats_open(&s, "rocin0"), 0);
	for (uint32_t i = 0; i < RN_STATS_RECORDS_MAX; i++) {
		rec[i] = rnp_stats_record(&s, &o);
		assert_ptr_equal(rec[i], &rec[0][i]);
	}
	assert_null(rnp_stats_record(&s, &o));
	assert_null(rnp_stats_record(&s, &o));
	assert_int_equal(s.page->unrecorded, 2);
	rnp_stats_forget(&s, NULL);
	assert_int_equal(s.page->unrecorded, 1);
	for (uint32_t i = 60000; i < 60070; i++)
		rnp_stats_forget(&s, rec[i]);
	for (uint32_t i = 60000; i < 60070; i++)
		assert_ptr_equal(rnp_stats_record(&s, &o), rec[i]);
	assert_null(rnp_stats_record(&s, &o));
	rnp_stats_close(&s);
}

/* Without care, the kernel would send SIGXFSZ. */
static void a_limit_on_files_leaves_objects_without_records(void **state)
{
	static struct rnp_stats s;
	const struct rn_stats_object o = { .kind = RN_STATS_PD };
	struct rlimit was, low;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	low = was;
	low.rlim_cur = RN_STATS_OBJECT_OFFSET;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(rnp_stats_open(&s, "rocin0"), 0);
	assert_non_null(rnp_stats_take(&s));
	assert_null(rnp_stats_record(&s, &o));
	assert_int_equal(s.page->unrecorded, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	rnp_stats_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_set_means_the_defaults, clear),
		cmocka_unit_test_setup(every_variable_is_obeyed, clear),
		cmocka_unit_test_setup(local_wires_do_without_icrcs_unless_recorded,
				       clear),
		cmocka_unit_test_setup(window_of_one_size_moves_the_others_along, clear),
		cmocka_unit_test_setup(pinning_is_limited_by_the_process_or_by_a_size,
				       clear),
		cmocka_unit_test_setup(
			wrong_value_is_refused_with_the_name_of_the_variable, clear),
		cmocka_unit_test_setup(budget_fits_every_receive_buffer, clear),
		cmocka_unit_test_setup(
			single_packets_take_twice_their_size_of_a_receive_buffer, clear),
		cmocka_unit_test_setup(smallest_receive_buffer_is_64k, clear),
		cmocka_unit_test(numbers_carry_the_slot_and_tell_their_counter),
		cmocka_unit_test(numbers_do_not_tell_the_next_one),
		cmocka_unit_test(processes_with_other_counters_have_other_numbers),
		cmocka_unit_test(number_of_all_members_of_a_multicast_is_never_given_out),
		cmocka_unit_test(numbers_are_unique_until_none_is_left),
		cmocka_unit_test(number_rests_before_it_is_given_out_again),
		cmocka_unit_test(numbers_given_back_at_once_are_all_given_out_again),
		cmocka_unit_test(page_can_be_read_by_others_and_not_written),
		cmocka_unit_test(records_stay_where_they_are_while_the_page_grows),
		cmocka_unit_test(record_given_back_is_used_again),
		cmocka_unit_test(objects_have_records_of_their_own),
		cmocka_unit_test(what_others_write_into_the_page_is_not_believed),
		cmocka_unit_test(objects_beyond_the_last_record_are_counted),
		cmocka_unit_test(a_limit_on_files_leaves_objects_without_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
