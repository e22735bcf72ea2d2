/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_host_replay.c - a run is recorded and made again. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_kit.h"
#include "sim/pcie/host/host_internal.h"

enum {
	MOVES = 1 << 15,
	ROUNDS = 40,
	FILE_MAX = 1 << 20,
};

static char folder[] = "/tmp/rocin-replay-XXXXXX";
static uint64_t cell[64][8] __attribute__((aligned(4096)));
#define RING (&cell[48][0])

/* ------------------------------------------------------------------ the run */
static void spin(const uint64_t *word, uint64_t value)
{
	while (kit_load(word) != value)
		sched_yield();
}

static void wait_for(struct kit_nic *n, unsigned pending)
{
	for (unsigned ended = 0; ended < pending; ended += kit_collect(n))
		n->api->polled_empty(n->nic, kit_iova(RING));
}

/* A program of one thread; @salt: of other writes. */
static void run(struct kit_nic *n, unsigned salt)
{
	uint8_t bytes[600];
	uint64_t found[3];

	for (unsigned i = 1; i <= ROUNDS; i++) {
		uint64_t *to = &cell[i % 16][0];
		unsigned pending = 0;

		memset(bytes, (int)i, sizeof(bytes));
		kit_write(n, KIT_QP, &cell[16][0], bytes, sizeof(bytes) - salt, 0);
		kit_write64(n, KIT_QP + i % 3, to, i, i % 5 ? 0 : RN_MEM_RELAXED);
		pending += kit_add(n, KIT_QP, &cell[40][0], 1, &found[0], 1) ==
			   RN_MEM_PENDING;
		pending += kit_add(n, KIT_QP + 1, &cell[40][0], 1, &found[1], 2) ==
			   RN_MEM_PENDING;
		pending += kit_read(n, KIT_QP, &found[2], to, 8, 3) == RN_MEM_PENDING;
		kit_write64(n, KIT_QP, RING, i, RN_MEM_CQE);
		if (i % 4 == 0)
			n->api->settle_ring(n->nic, kit_iova(RING), 8);
		if (i % 4 == 1)
			spin(to, i); /* no call: time moves */
		if (i % 4 == 2)
			spin(RING, i);
		wait_for(n, pending);
		if (i % 16 == 0)
			n->api->drain(n->nic, KIT_QP);
		if (i % 20 == 0)
			rn_pcie_seed(i);
	}
	rn_pcie_drain();
}

struct moves {
	uint32_t count;
	struct rn_pcie_move move[MOVES];
};

static void trace(const char *knobs, unsigned salt, struct moves *m)
{
	struct rn_host_region gpu;
	struct kit_nic n;

	kit_host_knobs(knobs);
	memset(cell, 0, sizeof(cell));
	kit_region_link(&gpu, &cell[8][0], 4 * sizeof(cell[0]));
	kit_attach(&n);
	assert_int_equal(rn_pcie_trace_start(MOVES), 0);
	run(&n, salt);
	m->count = rn_pcie_trace_read(m->move, MOVES);
	rn_pcie_trace_start(0);
	kit_detach(&n);
	kit_region_unlink(&gpu);
	kit_host_knobs("typical"); /* the files end here */
}

/* ------------------------------------------------------------------- files */
static const char *path(const char *name)
{
	static char paths[4][64];
	static unsigned next;
	char *p = paths[next++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/%s", folder, name);
	return p;
}

static char *read_file(const char *name)
{
	char *text = calloc(1, FILE_MAX);
	FILE *file = fopen(path(name), "r");

	assert_true(text && file);
	assert_true(fread(text, 1, FILE_MAX, file) < FILE_MAX);
	fclose(file);
	return text;
}

static const char *write_file(const char *name, const char *text)
{
	FILE *file = fopen(path(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return path(name);
}

static void assert_same_file(const char *a, const char *b)
{
	char *one = read_file(a), *other = read_file(b);

	assert_string_equal(one, other);
	free(one);
	free(other);
}

/* ------------------------------------------------------------------- tests */
static struct moves first, second;

/* The first of them that differs; first.count: none. */
static uint32_t first_difference(void)
{
	uint32_t i = 0;

	for (; i < first.count && i < second.count; i++) {
		const struct rn_pcie_move *a = &first.move[i], *b = &second.move[i];

		if (a->seq != b->seq || a->queue != b->queue || a->passed != b->passed ||
		    a->kind != b->kind)
			break;
	}
	return i;
}

static void assert_same_moves(void)
{
	assert_int_equal(first_difference(), first.count);
	assert_int_equal(first.count, second.count);
}

static void check_again(const char *knobs)
{
	char text[256];

	snprintf(text, sizeof(text), "%s,record=%s", knobs, path("first"));
	trace(text, 0, &first);
	assert_true(first.count > ROUNDS);
	snprintf(text, sizeof(text), "%s,driver=replay,replay=%s,record=%s", knobs,
		 path("first"), path("second"));
	trace(text, 0, &second);
	assert_same_moves();
	assert_same_file("first", "second");
}

static void the_same_moves_again(void **state)
{
	static const char *const knobs[] = {
		"typical",
		"typical,seed=2,hold=100us",
		"typical,gpu=none,ports=split",
		"ibta,hold.polls=7",
		"adversarial",
		"adversarial,hold=200us,hold.polls=20",
		"adversarial,driver=random,seed=5",
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(knobs); i++)
		check_again(knobs[i]);
}

static void another_seed_makes_other_moves(void **state)
{
	(void)state;
	trace("typical,seed=1", 0, &first);
	trace("typical,seed=2", 0, &second);
	assert_true(first_difference() < first.count);
}

/* It says so, goes on at random and comes to its end. */
static void another_program_goes_on(void **state)
{
	char text[256];

	(void)state;
	snprintf(text, sizeof(text), "adversarial,record=%s", path("first"));
	trace(text, 0, &first);
	snprintf(text, sizeof(text), "adversarial,driver=replay,replay=%s",
		 path("first"));
	trace(text, 300, &second);
	assert_true(second.count > 0);
	assert_int_equal(kit_load(&cell[40][0]), 2 * ROUNDS);
}

/* A program that ended before its time, in the middle of a line. */
static void a_file_that_was_cut_off(void **state)
{
	char text[256], *whole;

	(void)state;
	snprintf(text, sizeof(text), "typical,record=%s", path("first"));
	trace(text, 0, &first);
	whole = read_file("first");
	whole[strlen(whole) / 2] = 0;
	write_file("cut", whole);
	free(whole);
	snprintf(text, sizeof(text), "typical,driver=replay,replay=%s", path("cut"));
	trace(text, 0, &second);
	assert_true(first_difference() > first.count / 3);
	assert_int_equal(kit_load(&cell[40][0]), 2 * ROUNDS);
}

static void refuse(const char *content, const char *knobs, int error, const char *why)
{
	struct rn_host_tape tape;
	struct rn_pcie_knobs k;
	char err[1500] = "";

	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	assert_int_equal(rn_pcie_parse(&k, knobs, err, sizeof(err)), 0);
	k.driver = RN_DRIVER_REPLAY;
	snprintf(k.replay, sizeof(k.replay), "%s",
		 content ? write_file("wrong", content) : path("none"));
	assert_int_equal(rn_host_tape_open(&k, &tape, err, sizeof(err)), error);
	if (!strstr(err, why))
		fail_msg("%s", err);
	assert_int_equal(rn_pcie_set_knobs(&k), error);
}

static void wrong_files_are_refused(void **state)
{
	const char *head = "rocin choices 1\nknobs typical\n";
	char text[256];

	(void)state;
	refuse(NULL, "typical", -ENOENT, "No such file");
	refuse("1 2 3\n", "typical", -EPROTO, "not a file of choices, version 1");
	refuse("rocin choices 2\n", "typical", -EPROTO, "not a file of choices");
	refuse("rocin choices 1\n", "typical", -EPROTO, "other knobs");
	refuse(head, "typical,place=any", -EPROTO, "other knobs: knobs typical");
	for (unsigned i = 0; i < 8; i++) {
		static const char *const lines[] = {
			"x 1\n",     "1\n",	   "1 2 q\n",	   "1 2 ft3\n",
			"1 end 3\n", "2 1\n1 1\n", "1 end\n1 2\n", "1 2 f \n",
		};

		snprintf(text, sizeof(text), "%s%s", head, lines[i]);
		refuse(text, "typical,seed=3", -EPROTO, "a line is no choice");
	}
}

static int open_tape(const char *name)
{
	struct rn_host_tape tape;
	struct rn_pcie_knobs k;
	char err[1500];
	int rc;

	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	k.driver = RN_DRIVER_REPLAY;
	snprintf(k.replay, sizeof(k.replay), "%s", name);
	rc = rn_host_tape_open(&k, &tape, err, sizeof(err));
	if (!rc)
		rn_host_tape_close(&tape);
	return rc;
}

static void what_is_no_regular_file_is_refused(void **state)
{
	struct rn_pcie_knobs k;

	(void)state;
	refuse("", "typical", -EPROTO, "not a file of choices");
	assert_int_equal(open_tape(folder), -EISDIR);
	assert_int_equal(open_tape("/dev/zero"), -EINVAL);
	assert_int_equal(open_tape("/dev/null"), 0);
	assert_int_equal(mkfifo(path("pipe"), 0600), 0);
	assert_int_equal(open_tape(path("pipe")), -EINVAL);
	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	snprintf(k.record, sizeof(k.record), "%s", path("pipe"));
	assert_int_equal(rn_pcie_set_knobs(&k), -ENXIO);
}

static void what_cannot_be_written_is_refused(void **state)
{
	struct rn_pcie_knobs k;

	(void)state;
	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	snprintf(k.record, sizeof(k.record), "%s/none/file", folder);
	assert_int_equal(rn_pcie_set_knobs(&k), -ENOENT);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "first", "second", "cut", "wrong", "pipe" };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(names); i++)
		unlink(path(names[i]));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_moves_again),
		cmocka_unit_test(another_seed_makes_other_moves),
		cmocka_unit_test(another_program_goes_on),
		cmocka_unit_test(a_file_that_was_cut_off),
		cmocka_unit_test(wrong_files_are_refused),
		cmocka_unit_test(what_is_no_regular_file_is_refused),
		cmocka_unit_test(what_cannot_be_written_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
