/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_stats_read.c - the stats page of another process may be anything. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/stats.h"
#include "transport/io/rocind/stats_pages.h"

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static size_t most; /* records that there was memory for */

void *__wrap_calloc(size_t count, size_t size)
{
	if (size == sizeof(struct rn_stats_qp) && count > most)
		most = count;
	return __real_calloc(count, size);
}

static int fd;
static struct rn_stats_page page;
static struct rn_stats_qp qp[4];

/* A page as an engine of this version writes it: records 0 and 2 are in use. */
static int make_page(void **state)
{
	(void)state;
	page = (struct rn_stats_page){
		.magic = RN_STATS_PAGE_MAGIC,
		.version = RN_STATS_PAGE_VERSION,
		.counter_count = RN_STAT_COUNT,
		.qp_capacity = RN_ARRAY_SIZE(qp),
		.pid = 77,
		.slot = 3,
		.ibdev = "rocin0",
		.comm = "ib_write_bw",
	};
	page.counter[RN_STAT_RX_ICRC] = 5;
	memset(qp, 0, sizeof(qp));
	qp[0] = (struct rn_stats_qp){ .qpn = 0x103, .type = 2, .tx_packets = 9 };
	qp[2] = (struct rn_stats_qp){ .qpn = 0x203, .type = 4, .rx_packets = 8 };
	fd = memfd_create("stats", MFD_CLOEXEC);
	return fd < 0;
}

static int close_page(void **state)
{
	(void)state;
	return close(fd);
}

static void write_page(void)
{
	assert_int_equal(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	assert_int_equal(pwrite(fd, qp, sizeof(qp), RN_STATS_QP_OFFSET), sizeof(qp));
}

static void the_queue_pairs_in_use_are_read(void **state)
{
	struct rn_stats_copy copy;

	(void)state;
	write_page();
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(copy.counter_count, RN_STAT_COUNT);
	assert_int_equal(copy.page.counter[RN_STAT_RX_ICRC], 5);
	assert_string_equal(copy.page.comm, "ib_write_bw");
	assert_int_equal(copy.qp_count, 2);
	assert_int_equal(copy.qp[0].qpn, 0x103);
	assert_int_equal(copy.qp[0].tx_packets, 9);
	assert_int_equal(copy.qp[1].qpn, 0x203);
	assert_int_equal(copy.qp[1].rx_packets, 8);
	rn_stats_free(&copy);
	assert_null(copy.qp);
}

static void what_is_no_page_of_this_version_is_refused(void **state)
{
	static const struct {
		uint32_t magic, version;
	} bad[] = {
		{ 0, RN_STATS_PAGE_VERSION },
		{ RN_STATS_PAGE_MAGIC, RN_STATS_PAGE_VERSION + 1 },
		{ RN_STATS_PAGE_MAGIC, 0 },
		{ 0x50434f52, RN_STATS_PAGE_VERSION }, /* the other byte order */
	};
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(bad); i++) {
		struct rn_stats_copy copy;

		page.magic = bad[i].magic;
		page.version = bad[i].version;
		write_page();
		assert_int_equal(rn_stats_read(fd, &copy), -EPROTO);
		assert_null(copy.qp);
		rn_stats_free(&copy);
	}
}

static void a_file_that_ends_within_the_header_is_refused(void **state)
{
	static const off_t lengths[] = { 0, 1, 8, 128, sizeof(page) - 1 };
	(void)state;
	write_page();
	for (size_t i = RN_ARRAY_SIZE(lengths); i-- > 0;) {
		struct rn_stats_copy copy;

		assert_int_equal(ftruncate(fd, lengths[i]), 0);
		assert_int_equal(rn_stats_read(fd, &copy), -EPROTO);
		rn_stats_free(&copy);
	}
}

static void records_count_only_as_far_as_the_file_reaches(void **state)
{
	static const struct {
		off_t len;
		uint32_t qp_count;
	} cut[] = {
		{ RN_STATS_QP_OFFSET + 3 * sizeof(qp[0]), 2 },
		{ RN_STATS_QP_OFFSET + 3 * sizeof(qp[0]) - 1, 1 },
		{ RN_STATS_QP_OFFSET + 1, 0 },
		{ RN_STATS_QP_OFFSET, 0 },
		{ sizeof(page), 0 },
	};
	(void)state;
	page.qp_capacity = UINT32_MAX;
	write_page();
	for (size_t i = 0; i < RN_ARRAY_SIZE(cut); i++) {
		struct rn_stats_copy copy;

		assert_int_equal(ftruncate(fd, cut[i].len), 0);
		assert_int_equal(rn_stats_read(fd, &copy), 0);
		assert_int_equal(copy.qp_count, cut[i].qp_count);
		rn_stats_free(&copy);
	}
}

/* Neither what the page says, nor how long its file is on paper. */
static void memory_is_taken_for_records_that_can_be_there(void **state)
{
	struct rn_stats_copy copy;

	(void)state;
	page.qp_capacity = UINT32_MAX;
	write_page();
	most = 0;
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(most, RN_ARRAY_SIZE(qp));
	rn_stats_free(&copy);
	assert_int_equal(ftruncate(fd, (off_t)1 << 32), 0);
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(most, 65536);
	assert_int_equal(copy.qp_count, 2);
	rn_stats_free(&copy);
}

static void objects_in_use_are_read(void **state)
{
	const struct rn_stats_object object[3] = {
		{ .kind = RN_STATS_CQ, .number = 1 },
		{ .kind = RN_STATS_FREE, .number = 2 },
		{ .kind = 0xffffffff, .number = 3 }, /* of a later version */
	};
	struct rn_stats_copy copy;

	(void)state;
	page.object_capacity = UINT32_MAX;
	write_page();
	assert_int_equal(pwrite(fd, object, sizeof(object), RN_STATS_OBJECT_OFFSET),
			 sizeof(object));
	most = 0;
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(most, RN_ARRAY_SIZE(qp));
	assert_int_equal(copy.object_count, 2);
	assert_int_equal(copy.object[0].number, 1);
	assert_int_equal(copy.object[1].number, 3);
	assert_int_equal(copy.qp_count, 2);
	rn_stats_free(&copy);
	assert_null(copy.object);
	page.object_capacity = 1;
	write_page();
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(copy.object_count, 1);
	rn_stats_free(&copy);
	/* as of a program that records none */
	assert_int_equal(ftruncate(fd, RN_STATS_OBJECT_OFFSET - 1), 0);
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(copy.object_count, 0);
	rn_stats_free(&copy);
}

static void records_beyond_the_capacity_are_not_looked_at(void **state)
{
	struct rn_stats_copy copy;

	(void)state;
	page.qp_capacity = 1;
	write_page();
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(copy.qp_count, 1);
	rn_stats_free(&copy);
}

static void counters_that_this_program_does_not_know_are_left_out(void **state)
{
	struct rn_stats_copy copy;

	(void)state;
	page.counter_count = UINT32_MAX;
	write_page();
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(copy.counter_count, RN_STAT_COUNT);
	rn_stats_free(&copy);
}

static void counters_that_an_older_program_lacks_are_left_out(void **state)
{
	struct rn_stats_copy copy;

	(void)state;
	page.counter_count = 3;
	write_page();
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(copy.counter_count, 3);
	rn_stats_free(&copy);
}

static void strings_without_an_end_get_one(void **state)
{
	struct rn_stats_copy copy;

	(void)state;
	memset(page.comm, 'x', sizeof(page.comm));
	memset(page.ibdev, 'y', sizeof(page.ibdev));
	write_page();
	assert_int_equal(rn_stats_read(fd, &copy), 0);
	assert_int_equal(strlen(copy.page.comm), sizeof(page.comm) - 1);
	assert_int_equal(strlen(copy.page.ibdev), sizeof(page.ibdev) - 1);
	rn_stats_free(&copy);
}

static void text_has_no_bytes_that_are_none(void **state)
{
	static const struct {
		const char *is, *becomes;
	} text[] = {
		{ "a\033[2Jb\n\x7f", "a?[2Jb??" },
		{ "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80",
		  "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xc3", "?" },		/* cut off */
		{ "\x80 \xff", "? ?" },		/* no first byte */
		{ "\xc0\xaf", "??" },		/* '/' in two bytes */
		{ "\xed\xa0\x80", "???" },	/* half of a pair */
		{ "\xf4\x90\x80\x80", "????" }, /* beyond the last character */
		{ "\xe2\x82x", "??x" },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(text); i++) {
		struct rn_stats_copy copy;

		strncpy(page.comm, text[i].is, sizeof(page.comm));
		write_page();
		assert_int_equal(rn_stats_read(fd, &copy), 0);
		assert_string_equal(copy.page.comm, text[i].becomes);
		rn_stats_free(&copy);
	}
}

static void bytes_of_any_value_are_survived(void **state)
{
	uint32_t x = 1;

	(void)state;
	for (unsigned n = 0; n < 500; n++) {
		struct rn_stats_copy copy;
		uint8_t *bytes = (uint8_t *)&page;

		/* Xorshift; magic and version stay. */
		for (size_t i = 8; i < sizeof(page); i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			bytes[i] = (uint8_t)x;
		}
		write_page();
		assert_int_equal(rn_stats_read(fd, &copy), 0);
		assert_true(copy.qp_count <= RN_ARRAY_SIZE(qp));
		rn_stats_free(&copy);
	}
}

static void a_descriptor_that_cannot_be_read_is_an_error(void **state)
{
	struct rn_stats_copy copy;
	int pipe_fd[2];

	(void)state;
	assert_int_equal(rn_stats_read(-1, &copy), -EBADF);
	assert_int_equal(pipe(pipe_fd), 0);
	assert_int_equal(rn_stats_read(pipe_fd[0], &copy), -ESPIPE);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

static void *grow_and_truncate(void *arg)
{
	for (unsigned n = 0; n < 3000; n++) {
		uint32_t capacity = n % 64;

		if (n % 16 == 15) {
			if (ftruncate(fd, RN_STATS_QP_OFFSET + n % 7 * 16))
				return arg;
			continue;
		}
		/* As the owner does: first the file, then the capacity. */
		if (ftruncate(fd,
			      RN_STATS_QP_OFFSET + (off_t)(capacity * sizeof(qp[0]))) ||
		    pwrite(fd, &capacity, sizeof(capacity),
			   offsetof(struct rn_stats_page, qp_capacity)) < 0)
			return arg;
	}
	return NULL;
}

static void a_page_that_grows_and_shrinks_meanwhile_is_survived(void **state)
{
	pthread_t writer;
	void *failed;

	(void)state;
	write_page();
	assert_int_equal(pthread_create(&writer, NULL, grow_and_truncate, &page), 0);
	for (unsigned n = 0; n < 3000; n++) {
		struct rn_stats_copy copy;

		assert_int_equal(rn_stats_read(fd, &copy), 0);
		assert_true(copy.qp_count <= 64);
		rn_stats_free(&copy);
	}
	assert_int_equal(pthread_join(writer, &failed), 0);
	assert_null(failed);
}

static void every_counter_has_a_name_of_its_own_and_a_meaning(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_STAT_COUNT; i++) {
		assert_true(strlen(rn_stat_name[i]) > 0);
		assert_true(strlen(rn_stat_help[i]) > 0);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(rn_stat_name[i], rn_stat_name[k]);
	}
}

/* ---- One record ---- */

static bool find(uint32_t qpn, uint32_t *next, uint32_t *left)
{
	struct rn_stats_qp rec = { 0 };
	bool found = rn_stats_find_qp(fd, qpn, next, left, &rec);

	assert_true(!found || rec.qpn == qpn);
	return found;
}

static void one_queue_pair_is_found_from_anywhere(void **state)
{
	(void)state;
	write_page();
	for (uint32_t from = 0; from < 6; from++) {
		uint32_t next = from, left = 100;

		assert_true(find(0x203, &next, &left));
		assert_int_equal(next, 3);
		assert_true(find(0x103, &next, &left));
		assert_int_equal(next, 1);
	}
}

static void the_search_for_one_that_is_not_there_ends(void **state)
{
	(void)state;
	write_page();
	for (uint32_t from = 0; from < 6; from++) {
		uint32_t next = from, left = 100;

		assert_false(find(0x303, &next, &left));
		assert_int_equal(left, 100 - RN_ARRAY_SIZE(qp));
	}
}

/* Many records, the last one and the first one in use. */
static void a_search_goes_on_where_the_last_one_has_ended(void **state)
{
	uint32_t next = 1, left = 200, steps = 1;

	(void)state;
	page.qp_capacity = 1000;
	write_page();
	qp[0].qpn = 0x99903;
	assert_int_equal(pwrite(fd, qp, sizeof(qp[0]),
				RN_STATS_QP_OFFSET + 999 * (off_t)sizeof(qp[0])),
			 sizeof(qp[0]));
	for (; !find(0x99903, &next, &left); left = 200, steps++) {
		assert_int_equal(left, 0);
		assert_int_equal(next, 1 + 200 * steps);
	}
	assert_int_equal(steps, 5);
	assert_int_equal(left, 200 - 199);
	assert_int_equal(next, 1000);
	left = 1;
	assert_true(find(0x103, &next, &left)); /* round the end */
	assert_int_equal(next, 1);
	assert_false(find(0x103, &next, &left));
	assert_int_equal(next, 1);
}

static void no_page_has_no_queue_pair(void **state)
{
	uint32_t next = 0, left = 1u << 30;

	(void)state;
	page.qp_capacity = UINT32_MAX; /* as if the file had them */
	write_page();
	assert_false(find(0x303, &next, &left));
	assert_int_equal((1u << 30) - left, RN_STATS_RECORDS_MAX);
	page.version++;
	write_page();
	assert_false(find(0x103, &next, &left));
	assert_int_equal(ftruncate(fd, 12), 0);
	assert_false(find(0x103, &next, &left));
	assert_int_equal((1u << 30) - left, RN_STATS_RECORDS_MAX);
}

#define PAGE_TEST(f) cmocka_unit_test_setup_teardown(f, make_page, close_page)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAGE_TEST(the_queue_pairs_in_use_are_read),
		PAGE_TEST(what_is_no_page_of_this_version_is_refused),
		PAGE_TEST(a_file_that_ends_within_the_header_is_refused),
		PAGE_TEST(records_count_only_as_far_as_the_file_reaches),
		PAGE_TEST(memory_is_taken_for_records_that_can_be_there),
		PAGE_TEST(objects_in_use_are_read),
		PAGE_TEST(records_beyond_the_capacity_are_not_looked_at),
		PAGE_TEST(counters_that_this_program_does_not_know_are_left_out),
		PAGE_TEST(counters_that_an_older_program_lacks_are_left_out),
		PAGE_TEST(strings_without_an_end_get_one),
		PAGE_TEST(text_has_no_bytes_that_are_none),
		PAGE_TEST(bytes_of_any_value_are_survived),
		PAGE_TEST(a_page_that_grows_and_shrinks_meanwhile_is_survived),
		PAGE_TEST(one_queue_pair_is_found_from_anywhere),
		PAGE_TEST(the_search_for_one_that_is_not_there_ends),
		PAGE_TEST(a_search_goes_on_where_the_last_one_has_ended),
		PAGE_TEST(no_page_has_no_queue_pair),
		cmocka_unit_test(a_descriptor_that_cannot_be_read_is_an_error),
		cmocka_unit_test(every_counter_has_a_name_of_its_own_and_a_meaning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
