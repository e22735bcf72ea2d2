/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_keeper.c - records and transactions that a keeper receives, damaged messages, and
 * a successor that a keeper starts.
 */
#include "tools/rocind/keeper/keeper.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rig {
	struct rnd_keeper k;
	int sock; /* the keeper's end */
	struct rnd_estate estate;
	struct rnd_pending pending;
};

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(rnd_keeper_join(&rig->k, pair[0], -1), 0);
	rig->sock = pair[1];
	rnd_estate_init(&rig->estate);
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	rnd_keeper_forget(&rig->k);
	close(rig->sock);
	rnd_pending_free(&rig->pending);
	rnd_estate_free(&rig->estate);
	free(rig);
	return 0;
}

static enum rnd_intake receive(struct rig *rig)
{
	return rnd_estate_receive(&rig->estate, &rig->pending, rig->sock);
}

static void put_text(struct rig *rig, uint64_t number, const char *text)
{
	rnd_keeper_put(&rig->k, RND_RECORD_ID, number, text, strlen(text));
}

static void expect_text(const struct rig *rig, uint64_t number, const char *text)
{
	const struct rnd_record *r = rnd_estate_find(&rig->estate, RND_RECORD_ID, number);

	assert_non_null(r);
	assert_int_equal(r->len, strlen(text));
	assert_memory_equal(r->data, text, r->len);
}

static void a_record_is_replaced_and_dropped(void **state)
{
	struct rig *rig = *state;

	put_text(rig, 7, "first");
	put_text(rig, 8, "other");
	rnd_keeper_commit(&rig->k);
	assert_int_equal(receive(rig), RND_INTAKE_MORE);
	expect_text(rig, 7, "first");
	put_text(rig, 7, "second");
	rnd_keeper_drop(&rig->k, RND_RECORD_ID, 8);
	rnd_keeper_drop(&rig->k, RND_RECORD_CONN, 7); /* another kind: not there */
	rnd_keeper_commit(&rig->k);
	assert_int_equal(receive(rig), RND_INTAKE_MORE);
	expect_text(rig, 7, "second");
	assert_null(rnd_estate_find(&rig->estate, RND_RECORD_ID, 8));
	assert_int_equal(rig->estate.count, 1);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void descriptors_stay_with_an_update_and_go_with_a_drop(void **state)
{
	struct rig *rig = *state;
	const struct rnd_record *r;
	int ends[2], fd;

	assert_int_equal(pipe(ends), 0);
	rnd_keeper_put(&rig->k, RND_RECORD_PATH, 1, "a", 1);
	rnd_keeper_pass(&rig->k, ends[0]);
	rnd_keeper_pass(&rig->k, ends[1]);
	/* The record has descriptors of its own from now on. */
	close(ends[0]);
	close(ends[1]);
	rnd_keeper_commit(&rig->k);
	assert_int_equal(receive(rig), RND_INTAKE_MORE);
	r = rnd_estate_find(&rig->estate, RND_RECORD_PATH, 1);
	assert_int_equal(r->fd_count, 2);
	fd = r->fd[1];
	assert_int_equal(write(fd, "x", 1), 1);
	rnd_keeper_update(&rig->k, RND_RECORD_PATH, 1, "bc", 2);
	rnd_keeper_commit(&rig->k);
	assert_int_equal(receive(rig), RND_INTAKE_MORE);
	r = rnd_estate_find(&rig->estate, RND_RECORD_PATH, 1);
	assert_int_equal(r->len, 2);
	assert_int_equal(r->fd_count, 2);
	assert_int_equal(r->fd[1], fd);
	assert_true(is_open(fd));
	rnd_keeper_drop(&rig->k, RND_RECORD_PATH, 1);
	rnd_keeper_commit(&rig->k);
	assert_int_equal(receive(rig), RND_INTAKE_MORE);
	assert_false(is_open(fd));
}

/* Many records need several messages; they count when the last one has come. */
static void a_transaction_takes_effect_as_a_whole(void **state)
{
	struct rig *rig = *state;
	static uint8_t large[RND_RECORD_BYTES];

	put_text(rig, 1, "before");
	rnd_keeper_commit(&rig->k);
	assert_int_equal(receive(rig), RND_INTAKE_MORE);
	put_text(rig, 1, "after");
	for (uint64_t i = 2; i < 5; i++)
		rnd_keeper_put(&rig->k, RND_RECORD_ID, i, large, sizeof(large));
	assert_int_equal(receive(rig), RND_INTAKE_MORE);
	expect_text(rig, 1, "before");
	assert_int_equal(rig->estate.count, 1);
	rnd_keeper_commit(&rig->k);
	for (unsigned i = 0; i < 4 && rig->estate.count < 4; i++)
		assert_int_equal(receive(rig), RND_INTAKE_MORE);
	expect_text(rig, 1, "after");
	assert_int_equal(rig->estate.count, 4);
}

/* More of them than one message can carry. */
static void each_of_many_records_has_its_descriptors(void **state)
{
	struct rig *rig = *state;
	const unsigned count = 30, each = RND_RECORD_FDS;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (unsigned i = 1; i <= count; i++) {
		rnd_keeper_put(&rig->k, RND_RECORD_PATH, i, "a", 1);
		for (unsigned k = 0; k < each; k++)
			rnd_keeper_pass(&rig->k, fd);
	}
	rnd_keeper_commit(&rig->k);
	close(fd);
	for (unsigned i = 0; i < count && rig->estate.count < count; i++)
		assert_int_equal(receive(rig), RND_INTAKE_MORE);
	assert_int_equal(rig->estate.count, count);
	for (unsigned i = 1; i <= count; i++)
		assert_int_equal(
			rnd_estate_find(&rig->estate, RND_RECORD_PATH, i)->fd_count,
			each);
}

static void what_was_not_committed_is_forgotten_at_death(void **state)
{
	struct rig *rig = *state;
	static uint8_t large[RND_RECORD_BYTES];

	put_text(rig, 1, "before");
	rnd_keeper_commit(&rig->k);
	assert_int_equal(receive(rig), RND_INTAKE_MORE);
	rnd_keeper_drop(&rig->k, RND_RECORD_ID, 1);
	for (uint64_t i = 2; i < 5; i++)
		rnd_keeper_put(&rig->k, RND_RECORD_ID, i, large, sizeof(large));
	rnd_keeper_forget(&rig->k);
	while (receive(rig) != RND_INTAKE_DEATH)
		;
	expect_text(rig, 1, "before");
	assert_int_equal(rig->estate.count, 1);
}

static void records_come_in_the_order_of_kinds_and_numbers(void **state)
{
	struct rig *rig = *state;
	struct rnd_record **all;

	for (uint64_t i = 0; i < 2000; i++)
		rnd_keeper_put(&rig->k, i % 2 ? RND_RECORD_CLIENT : RND_RECORD_WIRE,
			       (i * 7919) % 2000, NULL, 0);
	rnd_keeper_commit(&rig->k);
	while (rig->estate.count < 2000)
		assert_int_equal(receive(rig), RND_INTAKE_MORE);
	all = rnd_estate_sort(&rig->estate);
	for (unsigned i = 1; i < 2000; i++)
		assert_true(all[i - 1]->kind < all[i]->kind ||
			    (all[i - 1]->kind == all[i]->kind &&
			     all[i - 1]->number < all[i]->number));
	assert_null(all[2000]);
	free((void *)all);
}

static void an_end_is_told_from_a_death(void **state)
{
	struct rig *rig = *state;

	put_text(rig, 1, "never committed");
	/* The other end is closed, as by a keeper that has ended. */
	shutdown(rig->sock, SHUT_WR);
	(void)rnd_keeper_end(&rig->k, -1);
	assert_int_equal(rig->k.sock, -1);
	assert_int_equal(receive(rig), RND_INTAKE_END);
	assert_int_equal(rig->estate.count, 0);
}

static void a_damaged_message_is_refused(void **state)
{
	/* magic, entries, is_last, is_end; op, kind, number, len, fd_count */
	static const struct {
		uint32_t head[4];
		uint32_t op, kind;
		uint64_t number;
		uint32_t len, fd_count;
	} rows[] = {
		{ { 0, 1, 1, 0 }, 0, RND_RECORD_ID, 1, 0, 0 },
		{ { 0x6b6e5270, 2, 1, 0 }, 0, RND_RECORD_ID, 1, 0, 0 },
		{ { 0x6b6e5270, 0, 1, 0 }, 0, RND_RECORD_ID, 1, 0, 0 },
		{ { 0x6b6e5270, 1, 1, 0 }, 3, RND_RECORD_ID, 1, 0, 0 },
		{ { 0x6b6e5270, 1, 1, 0 }, 0, RND_RECORD_KINDS, 1, 0, 0 },
		{ { 0x6b6e5270, 1, 1, 0 }, 0, RND_RECORD_ID, 1, 1, 0 },
		{ { 0x6b6e5270, 1, 1, 0 }, 0, RND_RECORD_ID, 1, UINT32_MAX, 0 },
		{ { 0x6b6e5270, 1, 1, 0 }, 0, RND_RECORD_ID, 1, 0, 1 },
		{ { 0x6b6e5270, 1, 1, 0 }, 0, RND_RECORD_ID, 1, 0, UINT32_MAX },
	};
	struct rig *rig = *state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(send(rig->k.sock, &rows[i], sizeof(rows[i]), 0),
				 sizeof(rows[i]));
		assert_int_equal(receive(rig), RND_INTAKE_FAULT);
		rnd_pending_free(&rig->pending);
		assert_int_equal(rig->estate.count, 0);
	}
	assert_int_equal(send(rig->k.sock, &rows[0], 3, 0), 3);
	assert_int_equal(receive(rig), RND_INTAKE_FAULT);
}

/* ---- The process ---- */

/* Writes what it has found of its predecessor, and dies. */
static void succeed(void *ctx, struct rnd_estate *estate, int sock)
{
	const struct rnd_record *r = rnd_estate_find(estate, RND_RECORD_SERVER, 0);
	uint8_t life = r && r->len == 1 ? r->data[0] : 0;
	struct rnd_keeper k;

	(void)ctx;
	if (!r || r->fd_count != 1 || rnd_keeper_join(&k, sock, getppid()))
		_exit(1);
	if (write(r->fd[0], &life, 1) != 1)
		_exit(1);
	life++;
	rnd_keeper_update(&k, RND_RECORD_SERVER, 0, &life, 1);
	rnd_keeper_commit(&k);
	if (life == 4)
		(void)rnd_keeper_end(&k, -1);
	/* Longer than what the keeper takes for a failure */
	poll(NULL, 0, 100);
	_exit(0);
}

static void each_successor_finds_what_its_predecessor_has_committed(void **state)
{
	struct rnd_keeper k;
	int ends[2];
	uint8_t life = 1;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(rnd_keeper_start(&k, NULL, 0, succeed, NULL), 0);
	rnd_keeper_put(&k, RND_RECORD_SERVER, 0, &life, 1);
	rnd_keeper_pass(&k, ends[1]);
	rnd_keeper_commit(&k);
	close(ends[1]);
	rnd_keeper_forget(&k); /* as a death */
	for (uint8_t want = 1; want < 4; want++) {
		assert_int_equal(read(ends[0], &life, 1), 1);
		assert_int_equal(life, want);
	}
	/* The last one has ended the keeper. */
	assert_int_equal(read(ends[0], &life, 1), 0);
	close(ends[0]);
}

/* One that hangs is killed, or it would start a successor while rocind lives. */
static void a_keeper_that_hangs_is_killed(void **state)
{
	static uint8_t large[RND_RECORD_BYTES];
	struct rnd_keeper k;
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(rnd_keeper_start(&k, NULL, 0, succeed, NULL), 0);
	rnd_keeper_put(&k, RND_RECORD_SERVER, 0, "\1", 1);
	rnd_keeper_pass(&k, ends[1]);
	rnd_keeper_commit(&k);
	close(ends[1]);
	assert_int_equal(syscall(SYS_pidfd_send_signal, k.pidfd, SIGSTOP, NULL, 0), 0);
	while (k.sock >= 0) {
		rnd_keeper_put(&k, RND_RECORD_ID, 1, large, sizeof(large));
		rnd_keeper_commit(&k);
	}
	/* Nobody has the descriptor any more, and no successor has written. */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

/* A keeper does not start successors for ever that end at once. */
static void fail_at_once(void *ctx, struct rnd_estate *estate, int sock)
{
	(void)ctx;
	(void)sock;
	(void)write(rnd_estate_find(estate, RND_RECORD_SERVER, 0)->fd[0], "", 1);
	_exit(1);
}

static void a_keeper_gives_up(void **state)
{
	struct rnd_keeper k;
	unsigned lives = 0;
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(rnd_keeper_start(&k, NULL, 0, fail_at_once, NULL), 0);
	rnd_keeper_put(&k, RND_RECORD_SERVER, 0, NULL, 0);
	rnd_keeper_pass(&k, ends[1]);
	rnd_keeper_commit(&k);
	close(ends[1]);
	rnd_keeper_forget(&k);
	while (read(ends[0], &byte, 1) == 1)
		lives++;
	/* More only on a machine where a failure may take long */
	assert_in_range(lives, 20, 10000);
	close(ends[0]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_record_is_replaced_and_dropped),
		TEST(descriptors_stay_with_an_update_and_go_with_a_drop),
		TEST(a_transaction_takes_effect_as_a_whole),
		TEST(each_of_many_records_has_its_descriptors),
		TEST(what_was_not_committed_is_forgotten_at_death),
		TEST(records_come_in_the_order_of_kinds_and_numbers),
		TEST(an_end_is_told_from_a_death),
		TEST(a_damaged_message_is_refused),
		cmocka_unit_test(each_successor_finds_what_its_predecessor_has_committed),
		cmocka_unit_test(a_keeper_that_hangs_is_killed),
		cmocka_unit_test(a_keeper_gives_up),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("keeper", tests, NULL, NULL);
}
