/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_board.c - ids that are shown: who sees which, and that nobody sees half of one.
 */
#include "transport/io/rocind/cm_board.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rocin/random.h"

enum {
	ROCIND = 4711,
	NUMBER = 5,
	ROUNDS = 20000,
};
#define CHANNEL ((uint64_t)ROCIND << 32 | 3)

struct both {
	struct rn_cm_board board;
	const struct rn_cm_board_memory *mem;
};

static int setup(void **state)
{
	struct both *b = calloc(1, sizeof(*b));

	assert_int_equal(rn_cm_board_open(&b->board, ROCIND, 1), 0);
	b->mem = rn_cm_board_map(b->board.fd);
	assert_non_null(b->mem);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct both *b = *state;

	rn_cm_board_close(&b->board);
	free(b);
	return 0;
}

static struct rn_cm_answers all_of(uint64_t channel, uint8_t byte)
{
	struct rn_cm_answers a;

	memset(&a, byte, sizeof(a));
	a.channel = channel;
	return a;
}

static void an_id_is_seen_by_its_channel_alone(void **state)
{
	struct both *b = *state;
	struct rn_cm_answers a = all_of(CHANNEL, 7), out;

	assert_false(rn_cm_board_read(b->mem, CHANNEL, NUMBER, &out));
	rn_cm_board_show(&b->board, NUMBER, &a);
	assert_true(rn_cm_board_read(b->mem, CHANNEL, NUMBER, &out));
	assert_memory_equal(&out, &a, sizeof(a));

	assert_false(rn_cm_board_read(b->mem, CHANNEL + 1, NUMBER, &out));
	assert_false(rn_cm_board_read(b->mem, CHANNEL, NUMBER + 1, &out));
	rn_cm_board_show(&b->board, NUMBER, NULL);
	assert_false(rn_cm_board_read(b->mem, CHANNEL, NUMBER, &out));
}

static void a_board_is_of_one_rocind(void **state)
{
	struct both *b = *state;
	const uint64_t other = CHANNEL + ((uint64_t)1 << 32);
	struct rn_cm_answers a = all_of(other, 7), out;

	rn_cm_board_show(&b->board, NUMBER, &a);
	assert_false(rn_cm_board_read(b->mem, other, NUMBER, &out));
	assert_false(rn_cm_board_read(NULL, other, NUMBER, &out));
}

static void numbers_that_are_too_high_are_not_shown(void **state)
{
	struct both *b = *state;
	struct rn_cm_answers a = all_of(CHANNEL, 7), out;
	const uint32_t high[] = { RN_CM_BOARD_IDS, UINT32_MAX };

	for (unsigned i = 0; i < 2; i++) {
		rn_cm_board_show(&b->board, high[i], &a);
		assert_false(rn_cm_board_read(b->mem, CHANNEL, high[i], &out));
	}
	rn_cm_board_show(&b->board, RN_CM_BOARD_IDS - 1, &a);
	assert_true(rn_cm_board_read(b->mem, CHANNEL, RN_CM_BOARD_IDS - 1, &out));
}

/* What outlives rocind: it is there when rocind and its mapping have gone. */
static void a_life_outlives_its_rocind(void **state)
{
	struct both *b = *state;
	const struct rn_cm_life life = { CHANNEL, 0x1122334455667788, 3, 1 };
	struct rn_cm_life out;

	for (enum rn_cm_kind kind = 0; kind < RN_CM_KINDS; kind++) {
		assert_int_equal(rn_cm_board_lives(b->mem, kind), 0);
		assert_false(rn_cm_board_read_life(b->mem, kind, CHANNEL, NUMBER, &out));
		rn_cm_board_show_life(&b->board, kind, NUMBER, &life);
		assert_true(rn_cm_board_lives(b->mem, kind) > NUMBER);
		assert_false(
			rn_cm_board_read_life(b->mem, kind, CHANNEL + 1, NUMBER, &out));
		assert_false(
			rn_cm_board_read_life(b->mem, kind, CHANNEL, NUMBER + 1, &out));
	}
	rn_cm_board_show_life(&b->board, RN_CM_KIND_GROUP, NUMBER, NULL);
	assert_false(
		rn_cm_board_read_life(b->mem, RN_CM_KIND_GROUP, CHANNEL, NUMBER, &out));
	rn_cm_board_close(&b->board);
	assert_true(rn_cm_board_read_life(b->mem, RN_CM_KIND_ID, CHANNEL, NUMBER, &out));
	assert_memory_equal(&out, &life, sizeof(life));
	/* Nobody is there to show anything. */
	rn_cm_board_show_life(&b->board, RN_CM_KIND_ID, NUMBER, NULL);
	assert_true(rn_cm_board_read_life(b->mem, RN_CM_KIND_ID, CHANNEL, NUMBER, &out));
}

static void lives_of_high_numbers_have_memory_when_they_are_shown(void **state)
{
	struct both *b = *state;
	const uint32_t last = RN_CM_BOARD_LIVES - 1;
	const struct rn_cm_life life = { .channel = CHANNEL, .uid = 7 };
	struct rn_cm_life out;

	rn_cm_board_show_life(&b->board, RN_CM_KIND_ID, RN_CM_BOARD_LIVES, &life);
	assert_int_equal(rn_cm_board_lives(b->mem, RN_CM_KIND_ID), 0);
	rn_cm_board_show_life(&b->board, RN_CM_KIND_ID, NUMBER, &life);
	rn_cm_board_show_life(&b->board, RN_CM_KIND_ID, last, &life);
	assert_int_equal(rn_cm_board_lives(b->mem, RN_CM_KIND_ID), RN_CM_BOARD_LIVES);
	assert_true(rn_cm_board_read_life(b->mem, RN_CM_KIND_ID, CHANNEL, last, &out));
	assert_false(
		rn_cm_board_read_life(b->mem, RN_CM_KIND_ID, CHANNEL, UINT32_MAX, &out));
	assert_true(rn_cm_board_read_life(b->mem, RN_CM_KIND_ID, CHANNEL, NUMBER, &out));
	assert_false(
		rn_cm_board_read_life(b->mem, RN_CM_KIND_GROUP, CHANNEL, NUMBER, &out));
}

static void a_board_is_known_again(void **state)
{
	struct both *b = *state;
	const struct rn_cm_board_memory *mem;
	struct rn_cm_board next;

	assert_true(rn_cm_board_is_in(b->mem, b->board.fd));
	assert_int_equal(rn_cm_board_open(&next, ROCIND, 2), 0);
	assert_false(rn_cm_board_is_in(b->mem, next.fd));
	mem = rn_cm_board_map(next.fd);
	assert_non_null(mem);
	assert_true(rn_cm_board_is_in(mem, next.fd));
	rn_cm_board_close(&next);
}

static void what_is_no_board_is_not_mapped(void **state)
{
	int fd = memfd_create("no board", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_null(rn_cm_board_map(fd));
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_null(rn_cm_board_map(fd));
	close(fd);
}

/* Memory like a board's, with what it begins with, and @len bytes of it. */
static int like_a_board(const struct rn_cm_board *board, size_t len, int seals)
{
	int fd = memfd_create("like a board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint8_t head[64];

	assert_true(fd >= 0);
	assert_int_equal(pread(board->fd, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(pwrite(fd, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static size_t board_len(const struct rn_cm_board *board)
{
	return (size_t)lseek(board->fd, 0, SEEK_END);
}

/* Otherwise a program would get SIGBUS where it reads. */
static void what_ends_early_or_may_be_cut_is_not_mapped(void **state)
{
	struct both *b = *state;
	const size_t len = board_len(&b->board);
	const struct {
		size_t len;
		int seals;
		bool is_mapped;
	} rows[] = {
		{ len, F_SEAL_SHRINK | F_SEAL_GROW, true },
		{ len, 0, false },
		{ len, F_SEAL_GROW, false },
		{ len - 1, F_SEAL_SHRINK, false },
		{ 4096, F_SEAL_SHRINK, false },
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		int fd = like_a_board(&b->board, rows[i].len, rows[i].seals);

		assert_int_equal(rn_cm_board_map(fd) != NULL, rows[i].is_mapped);
		close(fd);
	}
}

/* Whatever is written there: what reads it ends, and reads nothing else. */
static void rubbish_is_read_without_harm(void **state)
{
	struct both *b = *state;
	const size_t len = board_len(&b->board);
	int fd = like_a_board(&b->board, len, F_SEAL_SHRINK);
	uint64_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const struct rn_cm_board_memory *board = rn_cm_board_map(fd);
	struct rn_random random = { .state = 1 };
	struct rn_cm_answers answers;
	struct rn_cm_life life;

	assert_ptr_not_equal(mem, MAP_FAILED);
	assert_non_null(board);
	for (unsigned round = 0; round < 4; round++) {
		/* what it begins with is well: the first line but one */
		for (size_t at = round ? 4 : 2; at < len / sizeof(*mem); at++)
			mem[at] = rn_random_next(&random);
		for (uint32_t i = 0; i < 1 << 18; i++) {
			const uint32_t number =
				i < 1 << 17 ? i : (uint32_t)rn_random_next(&random);

			(void)rn_cm_board_read(board, CHANNEL, number, &answers);
			for (unsigned kind = 0; kind < RN_CM_KINDS; kind++)
				(void)rn_cm_board_read_life(board, kind, CHANNEL, number,
							    &life);
		}
		for (unsigned kind = 0; kind < RN_CM_KINDS; kind++)
			assert_in_range(rn_cm_board_lives(board, kind), 0,
					RN_CM_BOARD_LIVES);
	}
	munmap(mem, len);
	close(fd);
}

static void expect_refused(int rc)
{
	assert_int_equal(rc, -1);
	assert_true(errno == EPERM || errno == EACCES);
}

/* By its descriptor, by the same file opened anew, by its mapping, and by the file that
 * shows its memory.
 */
static void nobody_else_can_write(void **state)
{
	struct both *b = *state;
	const off_t at = (off_t)(uintptr_t)b->mem;
	char path[64], before[4096], after[4096];
	void *mem = (void *)(uintptr_t)b->mem;
	int fd;

	memcpy(before, b->mem, sizeof(before));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->board.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (unsigned i = 0; i < 2 && fd >= 0; i++) {
		int by = i ? fd : b->board.fd;

		assert_ptr_equal(
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, by, 0),
			MAP_FAILED);
		assert_int_equal(errno, EPERM);
		expect_refused(ftruncate(by, 0));
		expect_refused(ftruncate(by, 1 << 30));
		expect_refused((int)pwrite(by, "x", 1, 0));
		expect_refused(fallocate(by, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					 0, 4096));
		expect_refused(fcntl(by, F_ADD_SEALS, F_SEAL_WRITE));
	}
	close(fd);
	expect_refused(mprotect(mem, 4096, PROT_READ | PROT_WRITE));
	expect_refused(madvise(mem, 4096, MADV_REMOVE));
	fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		assert_int_equal(pwrite(fd, "x", 1, at), -1);
	close(fd);
	memcpy(after, b->mem, sizeof(after));
	assert_memory_equal(before, after, sizeof(after));
}

/* ---- While it is written ---- */

/* The sequence number of an entry, with which each begins; a head of one line is before
 * them, and each has whole lines.
 */
static _Atomic uint32_t *seq_of(struct rn_cm_board *board, uint32_t number)
{
	const size_t line = 64;
	const size_t entry =
		(sizeof(uint64_t) + sizeof(struct rn_cm_answers) + line - 1) / line *
		line;

	return (void *)((uint8_t *)board->mem + line + number * entry);
}

/* rocind may be stopped in the middle: then one asks, as where there is no answer. */
static void what_is_half_written_is_no_answer(void **state)
{
	struct both *b = *state;
	struct rn_cm_answers a = all_of(CHANNEL, 7), out;
	_Atomic uint32_t *seq = seq_of(&b->board, NUMBER);

	for (uint32_t i = 0; i < 6; i += 2) {
		assert_int_equal(atomic_load(seq), i);
		rn_cm_board_show(&b->board, NUMBER, &a);
	}
	atomic_fetch_add(seq, 1);
	assert_false(rn_cm_board_read(b->mem, CHANNEL, NUMBER, &out));
	atomic_fetch_add(seq, 1);
	assert_true(rn_cm_board_read(b->mem, CHANNEL, NUMBER, &out));
}

struct reader {
	const struct rn_cm_board_memory *mem;
	atomic_bool stop;
	unsigned seen, torn;
};

static void *read_on(void *arg)
{
	struct reader *r = arg;
	struct rn_cm_answers out, whole;

	while (!atomic_load(&r->stop)) {
		if (!rn_cm_board_read(r->mem, CHANNEL, NUMBER, &out))
			continue;
		whole = all_of(CHANNEL, out.route[0]);
		r->seen++;
		r->torn += memcmp(&whole, &out, sizeof(out)) != 0;
	}
	return NULL;
}

static void nobody_sees_half_of_it(void **state)
{
	struct both *b = *state;
	struct reader r = { .mem = b->mem };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct rn_cm_answers a = all_of(CHANNEL, (uint8_t)i);

		rn_cm_board_show(&b->board, NUMBER, &a);
	}
	atomic_store(&r.stop, true);
	pthread_join(thread, NULL);
	print_message("read %u times\n", r.seen);
	assert_int_equal(r.torn, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_id_is_seen_by_its_channel_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_board_is_of_one_rocind, setup,
						teardown),
		cmocka_unit_test_setup_teardown(numbers_that_are_too_high_are_not_shown,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_life_outlives_its_rocind, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			lives_of_high_numbers_have_memory_when_they_are_shown, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_board_is_known_again, setup, teardown),
		cmocka_unit_test(what_is_no_board_is_not_mapped),
		cmocka_unit_test_setup_teardown(
			what_ends_early_or_may_be_cut_is_not_mapped, setup, teardown),
		cmocka_unit_test_setup_teardown(rubbish_is_read_without_harm, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nobody_else_can_write, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_half_written_is_no_answer, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nobody_sees_half_of_it, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
