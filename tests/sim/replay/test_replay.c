/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_replay.c - worlds of loss, disorder and failing hosts, recorded and replayed.
 *
 * A child makes the recording, because what is linked here records every device of the
 * program: the parent, which replays, has no ROCIN_RECORD.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/replay/player.h"
#include "sim/replay/record_text.h"
#include "sim/world/world.h"

enum {
	SEEDS = 12,
	RECORDS_MAX = 1 << 20,
};

static char path[] = "/tmp/test_replay.XXXXXX";
static uint8_t *data; /* private: may be changed */
static size_t len;
static uint64_t record_at[RECORDS_MAX]; /* offset of each record */
static unsigned records;

static int run_worlds(const char *limit)
{
	struct rn_world_result r;
	struct rn_plan plan;
	struct rn_world *w;

	setenv("ROCIN_RECORD", path, 1);
	setenv("ROCIN_RECORD_LIMIT", limit, 1);
	w = rn_world_new();
	for (uint64_t seed = 1; w && seed <= SEEDS; seed++) {
		rn_plan_make(&plan, seed, 0);
		rn_world_run(w, &plan, NULL, NULL, &r);
		if (r.failed)
			return 1;
	}
	rn_world_free(w);
	return w ? 0 : 1;
}

static void map_file(void)
{
	FILE *f = fopen(path, "rbe");
	struct stat st;

	assert_non_null(f);
	assert_return_code(fstat(fileno(f), &st), 0);
	len = (size_t)st.st_size;
	data = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(f), 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	fclose(f);
}

static void record(const char *limit)
{
	int status;
	pid_t child;

	if (data)
		munmap(data, len);
	child = fork();
	if (child == 0)
		exit(run_worlds(limit));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	map_file();
}

static void find_records(void)
{
	struct rn_rec_header h;
	ssize_t n = rn_rec_get_header(data, len, &h);
	unsigned kind;
	uint8_t dev;

	assert_true(n > 0);
	records = 0;
	for (uint64_t at = (uint64_t)n;
	     (n = rn_rec_peek(data + at, len - at, &kind, &dev)) > 0; at += (uint64_t)n) {
		assert_in_range(records, 0, RECORDS_MAX - 1);
		record_at[records++] = at;
	}
	assert_int_equal(n, 0);
}

static struct rn_replay_result replay_first(size_t bytes)
{
	const struct rn_replay_cfg cfg = { 0 };
	struct rn_replay_result r;

	rn_replay(data, bytes, &cfg, &r);
	return r;
}

static int begin(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	record("4000000000");
	find_records();
	return 0;
}

static int end(void **state)
{
	(void)state;
	return unlink(path);
}

/* ------------------------------------------------------------------- tests */
static void test_worlds_are_the_same_again(void **state)
{
	struct rn_replay_result r = replay_first(len);

	(void)state;
	assert_string_equal(r.why, "");
	assert_int_equal(r.end, RN_REPLAY_SAME);
	assert_false(r.cut_off);
	assert_true(r.packets_in > 1000 && r.packets_out > 1000);
	assert_true(r.completions > 300 && r.accesses > 1000);
}

/* The n-th record of a kind, from 0; false: there are not so many. */
static bool find(unsigned kind, unsigned number, unsigned *index)
{
	for (unsigned i = 0; i < records; i++) {
		unsigned is;
		uint8_t dev;

		rn_rec_peek(data + record_at[i], len - record_at[i], &is, &dev);
		if (is == kind && number-- == 0) {
			*index = i;
			return true;
		}
	}
	return false;
}

static const struct rn_replay_field *field(const struct rn_replay_result *r,
					   const char *name)
{
	for (unsigned i = 0; i < r->fields; i++)
		if (!strcmp(r->field[i].name, name))
			return &r->field[i];
	fail_msg("%s is not among the fields that differ", name);
	return NULL;
}

/* Flip one bit of a packet that left, of at least @bytes. */
static void flip_in_packet(unsigned number, unsigned offset, unsigned *index)
{
	struct rn_rec_room room;
	struct rn_rec rec;

	do {
		assert_true(find(RN_REC_PACKET, number++, index));
		assert_true(rn_rec_get(data + record_at[*index], len - record_at[*index],
				       &rec, &room) > 0);
	} while (rec.u.packet.len <= offset);
	data[rec.u.packet.data - data + (ptrdiff_t)offset] ^= 1;
}

static void test_a_changed_packet_is_shown_field_by_field(void **state)
{
	const struct rn_replay_field *psn;
	struct rn_replay_result r;
	unsigned index;

	(void)state;
	flip_in_packet(20, 11, &index); /* last byte of the PSN */
	r = replay_first(len);
	assert_int_equal(r.end, RN_REPLAY_DIFFERENT);
	assert_true(r.at < record_at[index]);
	psn = field(&r, "psn");
	assert_string_not_equal(psn->recorded, psn->replayed);
	assert_true(r.recorded[0] && r.replayed[0]);
	flip_in_packet(20, 11, &index);
	assert_int_equal(replay_first(len).end, RN_REPLAY_SAME);
}

static void test_a_program_that_was_killed_replays_up_to_there(void **state)
{
	unsigned cut_off = 0;

	(void)state;
	for (unsigned i = 1; i < records; i += records / 61) {
		struct rn_replay_result r = replay_first(record_at[i]);

		assert_string_equal(r.why, "");
		assert_int_equal(r.end, RN_REPLAY_SAME);
		cut_off += r.cut_off;
	}
	assert_true(cut_off > 3);
}

static void test_a_call_that_is_missing_is_noticed(void **state)
{
	struct rn_replay_result r;
	unsigned index;
	size_t n;

	(void)state;
	assert_true(find(RN_CALL_POST_SEND, 3, &index));
	n = record_at[index + 2] - record_at[index]; /* and its result */
	memmove(data + record_at[index], data + record_at[index] + n,
		len - record_at[index] - n);
	r = replay_first(len - n);
	assert_int_equal(r.end, RN_REPLAY_DIFFERENT);
	munmap(data, len);
	map_file();
}

static void trace(void *arg, uint64_t call, const struct rn_rec *rec)
{
	uint64_t *lines = arg;
	char text[120];

	assert_in_range(call, 0, 50);
	rn_rec_text(rec, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text) && text[0]);
	(*lines)++;
}

static void test_until_and_trace_show_the_first_calls(void **state)
{
	uint64_t lines = 0;
	const struct rn_replay_cfg cfg = { .until = 50, .trace = trace, .arg = &lines };
	struct rn_replay_result r;

	(void)state;
	rn_replay(data, len, &cfg, &r);
	assert_int_equal(r.end, RN_REPLAY_SAME);
	assert_int_equal(r.calls, 50);
	assert_in_range(lines, 50, 500);
}

static void test_a_recording_ends_at_its_limit(void **state)
{
	struct rn_replay_result r;

	(void)state;
	record("300000");
	r = replay_first(len);
	assert_string_equal(r.why, "");
	assert_int_equal(r.end, RN_REPLAY_SAME);
	assert_true(r.limited);
	assert_in_range(len, 300000, 310000);
}

static void test_memory_has_a_limit(void **state)
{
	const struct rn_replay_cfg cfg = { .max_memory = 10000 };
	struct rn_replay_result r;

	(void)state;
	rn_replay(data, len, &cfg, &r);
	assert_int_equal(r.end, RN_REPLAY_NO_MEMORY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worlds_are_the_same_again),
		cmocka_unit_test(test_a_changed_packet_is_shown_field_by_field),
		cmocka_unit_test(test_a_program_that_was_killed_replays_up_to_there),
		cmocka_unit_test(test_a_call_that_is_missing_is_noticed),
		cmocka_unit_test(test_until_and_trace_show_the_first_calls),
		cmocka_unit_test(test_a_recording_ends_at_its_limit),
		cmocka_unit_test(test_memory_has_a_limit),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
