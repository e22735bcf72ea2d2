/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_stats_gather.c - the devices in use, as rocind tells of them, and what they look
 * like to Prometheus.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/stat/prometheus.h"

enum {
	CLIENTS_MAX = 4
};

/* Whom rocind knows. */
static struct rn_rocind_client client[CLIENTS_MAX];
static unsigned clients;

int __wrap_rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
			  char *err, size_t err_len);

int __wrap_rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
			  char *err, size_t err_len)
{
	int rc = 0;

	(void)r;
	(void)err;
	(void)err_len;
	for (unsigned i = 0; rc == 0 && i < clients; i++)
		rc = on_client(ctx, &client[i]);
	return rc;
}

static int fresh(void **state)
{
	(void)state;
	clients = 0;
	return 0;
}

/* A device without a page. */
static struct rn_rocind_client *add(int pid, unsigned slot, const char *ibdev)
{
	struct rn_rocind_client *c = &client[clients++];

	*c = (struct rn_rocind_client){
		.pid = pid, .slot = slot, .ifname = "eth0", .stats_fd = -1
	};
	snprintf(c->ibdev, sizeof(c->ibdev), "%s", ibdev);
	return c;
}

/* A device with one queue pair. */
static void add_with_page(const char *program, const struct rn_stats_qp *qp,
			  uint64_t counter)
{
	struct rn_stats_page page = { .magic = RN_STATS_PAGE_MAGIC,
				      .version = RN_STATS_PAGE_VERSION,
				      .counter_count = RN_STAT_COUNT,
				      .qp_capacity = 1 };
	int fd = memfd_create("stats", MFD_CLOEXEC);

	for (unsigned i = 0; i < RN_STAT_COUNT; i++)
		page.counter[i] = counter;
	snprintf(page.comm, sizeof(page.comm), "%s", program);
	assert_int_equal(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	assert_int_equal(pwrite(fd, qp, sizeof(*qp), RN_STATS_QP_OFFSET), sizeof(*qp));
	add(77, 3, "rocin0")->stats_fd = fd;
}

static struct rn_stats_list gather(void)
{
	struct rn_stats_list list;
	char err[64];

	assert_int_equal(rn_stats_gather(NULL, &list, err, sizeof(err)), 0);
	return list;
}

static void each_device_is_there_and_its_page_is_closed(void **state)
{
	const struct rn_stats_qp qp = { .qpn = 0x103 };
	struct rn_stats_list list;
	int fd;

	(void)state;
	add_with_page("first", &qp, 5);
	add(78, 4, "rocin1");
	/* Not a page: as short as a file can be. */
	add(79, 5, "rocin2")->stats_fd = memfd_create("empty", MFD_CLOEXEC);
	list = gather();
	assert_int_equal(list.count, 3);
	assert_string_equal(list.client[0].copy.page.comm, "first");
	assert_int_equal(list.client[0].copy.qp_count, 1);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(list.client[i].id.pid, 77 + i);
		assert_int_equal(list.client[i].id.stats_fd, -1);
		assert_int_equal(list.client[i].copy.qp_count, i == 0);
		fd = client[i].stats_fd;
		if (fd < 0)
			continue;
		assert_int_equal(fcntl(fd, F_GETFD), -1);
		assert_int_equal(errno, EBADF);
	}
	rn_stats_list_free(&list);
	assert_int_equal(list.count, 0);
}

/* Rates are the difference of the two, so each of the three must be the same. */
static void a_device_is_found_again_by_process_slot_and_name(void **state)
{
	struct rn_stats_list list, later;

	(void)state;
	add(77, 3, "rocin0");
	add(77, 4, "rocin1");
	list = gather();
	for (unsigned i = 0; i < 2; i++)
		assert_ptr_equal(rn_stats_find(&list, &list.client[i]), &list.client[i]);
	clients = 0;
	add(77, 5, "rocin0");
	add(78, 3, "rocin0");
	add(77, 3, "rocin1");
	add(77, 4, "rocin1");
	later = gather();
	for (unsigned i = 0; i < 3; i++)
		assert_null(rn_stats_find(&list, &later.client[i]));
	assert_ptr_equal(rn_stats_find(&list, &later.client[3]), &list.client[1]);
	rn_stats_list_free(&list);
	rn_stats_list_free(&later);
}

/* ---- Prometheus ---- */

/* For free(). */
static char *exposition(const struct rn_rocind_status *daemon)
{
	struct rn_stats_list list = gather();
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	rn_prometheus_print(to, &list, daemon);
	fclose(to);
	rn_stats_list_free(&list);
	return text;
}

static void expect_line(const char *text, const char *line)
{
	char whole[300];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (!strstr(text, whole))
		fail_msg("not there: %s", line);
}

#define LABELS "device=\"rocin0\",interface=\"eth0\",pid=\"77\",program="

/* A quote or a backslash ends a label or changes what follows; a newline
 * is no text, and a byte that is no ASCII need not be UTF-8.
 */
static void names_of_programs_are_quoted(void **state)
{
	const struct rn_stats_qp qp = { .qpn = 0x103, .tx_packets = 9 };
	char *text;

	(void)state;
	add_with_page("a\"b\\c\nd\xc3", &qp, 5);
	text = exposition(NULL);
	expect_line(text, "rocin_qp_sent_packets_total{" LABELS
			  "\"a\\\"b\\\\c?d?\",qpn=\"0x000103\"} 9");
	free(text);
}

/* Packets and bytes are written out, and rates are of bytes. */
static void names_have_base_units(void **state)
{
	const struct rn_stats_qp qp = { .qpn = 0x103, .cc_rate = 25000000 };
	char *text;

	(void)state;
	add_with_page("p", &qp, 5);
	text = exposition(NULL);
	expect_line(text, "# TYPE rocin_rcvd_packets_total counter");
	expect_line(text, "rocin_rcvd_packets_total{" LABELS "\"p\"} 5");
	expect_line(text, "rocin_duplicate_request_total{" LABELS "\"p\"} 5");
	assert_null(strstr(text, "_pkts{"));
	/* 25 Gbit/s */
	expect_line(text, "rocin_qp_rate_limit_bytes_per_second{" LABELS
			  "\"p\",qpn=\"0x000103\"} 3125000000");
	free(text);
}

static void without_rocind_there_is_one_series_that_says_so(void **state)
{
	struct rn_rocind_status status = { .clients = 3, .version = "1\"2" };
	char *text = exposition(NULL);

	(void)state;
	expect_line(text, "rocin_rocind_up 0");
	assert_null(strstr(text, "rocin_rocind_info"));
	free(text);
	text = exposition(&status);
	expect_line(text, "rocin_rocind_up 1");
	expect_line(text, "rocin_rocind_info{version=\"1\\\"2\",pid=\"0\"} 1");
	expect_line(text, "rocin_rocind_clients 2"); /* but for who asks */
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_device_is_there_and_its_page_is_closed,
				       fresh),
		cmocka_unit_test_setup(a_device_is_found_again_by_process_slot_and_name,
				       fresh),
		cmocka_unit_test_setup(names_of_programs_are_quoted, fresh),
		cmocka_unit_test_setup(names_have_base_units, fresh),
		cmocka_unit_test_setup(without_rocind_there_is_one_series_that_says_so,
				       fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
