/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_hunt_picture.c - the timeline of a run, from a record that is made up, and its
 * picture.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/common/files.h"
#include "tools/rocin/hunt/timeline.h"

#define DATA "rocin1 qp 1 request 1 gpu0 page 0"
#define FLAG "rocin1 qp 1 request 2 host page 0"
#define NEXT "rocin1 qp 1 request 3 gpu0 page 0"

static char folder[] = "/tmp/hunt-picture-XXXXXX";
static char record_path[64], picture_path[64];
static struct rn_hunt_timeline timeline;
static char *picture;

/* Reads a record of a run in which @late was late, and draws it. */
static void draw_record(const char *record, const char *late)
{
	struct rn_hunt_set set = { 0 };
	FILE *to = fopen(record_path, "w");

	assert_non_null(to);
	fputs(record, to);
	assert_int_equal(fclose(to), 0);
	rn_hunt_add(&set, late);
	rn_hunt_timeline_clear(&timeline);
	rn_hunt_timeline_read(&timeline, record_path, &set);
	rn_hunt_clear(&set);
	assert_int_equal(rn_hunt_picture(&timeline, picture_path, "It <ends>"), 0);
	free(picture);
	assert_true(rn_file_read(picture_path, 1 << 20, &picture) > 0);
	assert_non_null(strstr(picture, "had not arrived at the end")); /* the legend */
}

static unsigned count_of(const char *text)
{
	unsigned count = 0;

	for (const char *at = picture; (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void is_row(size_t i, enum rn_hunt_row_kind kind, const char *write,
		   const char *text)
{
	const struct rn_hunt_row *row = &timeline.row[i];

	assert_true(i < timeline.count);
	assert_int_equal(row->kind, kind);
	assert_int_equal(row->write != NULL, write != NULL);
	assert_int_equal(row->text != NULL, text != NULL);
	if (write)
		assert_string_equal(row->write, write);
	if (text)
		assert_string_equal(row->text, text);
}

static void an_early_read_is_marked(void **state)
{
	(void)state;
	draw_record("event before\n"
		    "landed " FLAG "\n"
		    "late " NEXT "\n"
		    "late " DATA "\n"
		    "landed " FLAG "\n"
		    "read " NEXT " by cpu\n"
		    "read " DATA " by gpu0\n"
		    "event a completion\n"
		    "event the end\n"
		    "event the end\n"
		    "ended " DATA " by the end\n"
		    "landed " FLAG "\n"
		    "event after\n",
		    DATA);
	assert_int_equal(timeline.count, 5);
	is_row(0, RN_HUNT_ISSUED, DATA, NULL);
	is_row(1, RN_HUNT_LANDED, FLAG, NULL);
	is_row(2, RN_HUNT_READ, DATA, "gpu0");
	is_row(3, RN_HUNT_EVENT, NULL, "a completion");
	is_row(4, RN_HUNT_PERFORMED, DATA, "the end");
	assert_true(timeline.row[2].is_early);

	assert_int_equal(count_of("<title>It &lt;ends&gt;</title>"), 1);
	/* Lanes: rocin1, the GPU that reads, the program, and host memory. */
	assert_int_equal(count_of("class='lane'"), 4);
	assert_int_equal(count_of("<text class='head' x='55' y='50' "
				  "text-anchor='middle'>rocin1</text>"),
			 1);
	assert_int_equal(count_of(">host memory</text>"), 1);
	/* The arrow of the late write goes from row 0 to row 4. */
	assert_int_equal(count_of("<line class='late' x1='55' y1='76' x2='153' "
				  "y2='172'/>"),
			 1);
	assert_int_equal(count_of("<polygon class='late'"), 1);
	assert_int_equal(count_of("<polygon class='landed'"), 1);
	assert_int_equal(count_of("class='never'"), 0);
	assert_int_equal(count_of("<rect class='mark'"), 1);
	assert_int_equal(count_of("<text class='early'"), 1);
	assert_int_equal(count_of(">reads too early, before " DATA "</text>"), 1);
}

static void a_loop_is_not_early(void **state)
{
	(void)state;
	draw_record("late " DATA "\n"
		    "read " DATA " by gpu0\n"
		    "read " DATA " by cpu\n"
		    "ended " DATA " by a load, seen by a loop, of gpu0\n",
		    DATA);
	assert_int_equal(timeline.count, 4);
	assert_false(timeline.row[1].is_early);
	assert_true(timeline.row[2].is_early);
	assert_int_equal(count_of(">looks in a loop, before " DATA "</text>"), 1);
	assert_int_equal(count_of("<rect class='mark'"), 1);
}

static void a_write_that_never_arrives_is_drawn_to_the_end(void **state)
{
	(void)state;
	draw_record("late " DATA "\nread " DATA " by cpu\n", DATA);
	assert_int_equal(count_of("<line class='never'"), 2);
	assert_int_equal(count_of("<line class='late'"), 0);
}

/* The arrow ends where the last part arrives; a later write of that name has its own. */
static void parts_and_repetitions(void **state)
{
	(void)state;
	draw_record("late " DATA "\n"
		    "ended " DATA " by a read of rocin1\n"
		    "read " DATA " by gpu0\n"
		    "ended " DATA " by the end\n"
		    "late " DATA "\n"
		    "ended " DATA " by the end\n",
		    DATA);
	assert_int_equal(timeline.count, 6);
	assert_int_equal(count_of("<line class='late' x1='55' y1='76' "), 1);
	assert_int_equal(count_of("y1='76' x2='153' y2='148'/>") +
				 count_of("y1='76' x2='263' y2='148'/>"),
			 1);
	assert_int_equal(count_of("<polygon class='late'"), 2);
}

static void of_many_rows_the_important_ones_are_drawn(void **state)
{
	static char record[1 << 15];
	size_t used;

	(void)state;
	used = (size_t)snprintf(record, sizeof(record), "late " DATA "\n");
	for (unsigned i = 0; i < 300; i++)
		used += (size_t)snprintf(record + used, sizeof(record) - used,
					 "landed " FLAG "\nevent number %u\n", i);
	snprintf(record + used, sizeof(record) - used,
		 "read " DATA " by gpu0\nended " DATA " by the end\n");
	draw_record(record, DATA);
	assert_int_equal(timeline.count, 603);
	assert_int_equal(count_of("<polygon class='landed'"), 0);
	assert_int_equal(count_of("<rect class='mark'"), 1);
	assert_int_equal(count_of(">600 more events are not drawn</text>"), 1);
}

static void a_record_that_is_garbage(void **state)
{
	(void)state;
	draw_record("late " DATA "\nread " DATA "\nread\nended " DATA "\nevent\n\n"
		    "ended by the end\nlate\nread " DATA " by \n",
		    DATA);
	assert_int_equal(timeline.count, 2);
	is_row(1, RN_HUNT_READ, DATA, "");
	rn_hunt_timeline_clear(&timeline);
	rn_hunt_timeline_read(&timeline, "/nowhere", &(struct rn_hunt_set){ 0 });
	assert_int_equal(timeline.count, 0);
	assert_true(rn_hunt_picture(&timeline, "/nowhere/x", "") < 0);
}

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(record_path, sizeof(record_path), "%s/record", folder);
	snprintf(picture_path, sizeof(picture_path), "%s/picture", folder);
	return 0;
}

static int end(void **state)
{
	(void)state;
	rn_hunt_timeline_clear(&timeline);
	free(picture);
	unlink(record_path);
	unlink(picture_path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_early_read_is_marked),
		cmocka_unit_test(a_loop_is_not_early),
		cmocka_unit_test(a_write_that_never_arrives_is_drawn_to_the_end),
		cmocka_unit_test(parts_and_repetitions),
		cmocka_unit_test(of_many_rows_the_important_ones_are_drawn),
		cmocka_unit_test(a_record_that_is_garbage),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
