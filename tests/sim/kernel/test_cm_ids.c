/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_ids.c - what ids are told when the connection manager's daemon has gone: all
 * that is left of it is its board.
 */
#include "sim/kernel/cm_ids.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	DEVICE_REMOVAL = 11,
	ROCIND = 4711,
};

/* Each test has a board and channels of its own: numbers are never used again. */
static struct rn_cm_board board;
static uint32_t boards;
static uint64_t channel;

static void new_board(void)
{
	boards++;
	channel = (uint64_t)(ROCIND + boards) << 32 | 1;
	assert_int_equal(rn_cm_board_open(&board, ROCIND + boards, boards), 0);
	rnk_cm_ids_take_board(board.fd);
}

static int setup(void **state)
{
	(void)state;
	new_board();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rn_cm_board_close(&board);
	return 0;
}

static void show(enum rn_cm_kind kind, uint32_t number, uint64_t uid, uint32_t events,
		 bool has_device)
{
	const struct rn_cm_life life = { .channel = channel,
					 .uid = uid,
					 .events_reported = events,
					 .has_device = has_device };

	rn_cm_board_show_life(&board, kind, number, &life);
}

static void hide(enum rn_cm_kind kind, uint32_t number)
{
	rn_cm_board_show_life(&board, kind, number, NULL);
}

static void assert_removed(uint32_t number, uint64_t uid)
{
	struct rdma_ucm_event_resp resp;

	assert_int_equal(rnk_cm_ids_get_event(channel, &resp, sizeof(resp)), 0);
	assert_int_equal(resp.event, DEVICE_REMOVAL);
	assert_int_equal(resp.id, number);
	assert_int_equal(resp.uid, uid);
	assert_int_equal(resp.status, 0);
}

static void assert_no_more(void)
{
	struct rdma_ucm_event_resp resp;

	assert_int_equal(rnk_cm_ids_get_event(channel, &resp, sizeof(resp)), -ENODEV);
}

/* Return: events reported, or -errno. */
static int end_of(enum rn_cm_kind kind, uint32_t number)
{
	struct rdma_ucm_destroy_id_resp resp;
	int rc = rnk_cm_ids_end(kind, channel, number, NULL, &resp, sizeof(resp));

	return rc ? rc : (int)resp.events_reported;
}

static void ids_that_were_bound_to_a_device_hear_of_its_end_once(void **state)
{
	(void)state;
	show(RN_CM_KIND_ID, 1, 0x11, 0, true);
	show(RN_CM_KIND_ID, 2, 0x22, 0, false);
	show(RN_CM_KIND_ID, 3, 0x33, 1, true);
	show(RN_CM_KIND_ID, 4, 0, 0, true); /* never accepted: known by no uid */
	rn_cm_board_close(&board);
	assert_removed(1, 0x11);
	assert_removed(3, 0x33);
	assert_no_more();
	assert_int_equal(end_of(RN_CM_KIND_ID, 1), 1);
	assert_int_equal(end_of(RN_CM_KIND_ID, 2), 0);
	assert_int_equal(end_of(RN_CM_KIND_ID, 3), 2);
	assert_int_equal(end_of(RN_CM_KIND_ID, 3), -ENODEV);
	assert_int_equal(end_of(RN_CM_KIND_ID, 4), 0);
	assert_int_equal(end_of(RN_CM_KIND_ID, 5), -ENODEV);
}

static void who_is_destroyed_first_hears_nothing(void **state)
{
	(void)state;
	show(RN_CM_KIND_ID, 1, 0x11, 3, true);
	assert_int_equal(end_of(RN_CM_KIND_ID, 1), 3);
	assert_no_more();
}

static void groups_can_be_left(void **state)
{
	(void)state;
	/* One of the same number as an id. */
	show(RN_CM_KIND_ID, 1, 0x11, 2, false);
	show(RN_CM_KIND_GROUP, 1, 0x11, 1, false);
	show(RN_CM_KIND_GROUP, 2, 0x11, 0, false);
	assert_int_equal(end_of(RN_CM_KIND_GROUP, 1), 1);
	assert_int_equal(end_of(RN_CM_KIND_GROUP, 2), 0);
	assert_int_equal(end_of(RN_CM_KIND_GROUP, 2), -ENODEV);
	assert_int_equal(end_of(RN_CM_KIND_ID, 1), 2);
}

static void an_id_is_one_of_its_channel(void **state)
{
	struct rn_cm_life life;

	(void)state;
	show(RN_CM_KIND_ID, 1, 0x11, 0, true);
	assert_true(rnk_cm_ids_read_life(RN_CM_KIND_ID, channel, 1, &life));
	channel++;
	assert_false(rnk_cm_ids_read_life(RN_CM_KIND_ID, channel, 1, &life));
	assert_no_more();
	assert_int_equal(end_of(RN_CM_KIND_ID, 1), -ENODEV);
	channel--;
	assert_removed(1, 0x11);
}

/* It has done what it was asked for, and ended before it said so. */
static void an_id_that_rocind_destroyed_last_is_destroyed(void **state)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rn_cm_life life;

	(void)state;
	show(RN_CM_KIND_ID, 1, 0x11, 2, true);
	assert_true(rnk_cm_ids_read_life(RN_CM_KIND_ID, channel, 1, &life));
	hide(RN_CM_KIND_ID, 1);
	assert_no_more();
	assert_int_equal(end_of(RN_CM_KIND_ID, 1), -ENODEV);
	assert_int_equal(
		rnk_cm_ids_end(RN_CM_KIND_ID, channel, 1, &life, &resp, sizeof(resp)), 0);
	assert_int_equal(resp.events_reported, 2);
}

static void answers_need_their_room(void **state)
{
	struct rdma_ucm_destroy_id_resp end;
	struct rdma_ucm_event_resp resp;
	const size_t least = offsetof(struct rdma_ucm_event_resp, reserved);

	(void)state;
	show(RN_CM_KIND_ID, 1, 0x11, 0, true);
	assert_int_equal(rnk_cm_ids_get_event(channel, &resp, least - 1), -ENOSPC);
	assert_int_equal(
		rnk_cm_ids_end(RN_CM_KIND_ID, channel, 1, NULL, &end, sizeof(end) - 1),
		-ENOSPC);
	memset(&resp, 0x5a, sizeof(resp));
	assert_int_equal(rnk_cm_ids_get_event(channel, &resp, least), 0);
	assert_int_equal(resp.reserved, 0x5a5a5a5a);
	assert_int_equal(end_of(RN_CM_KIND_ID, 1), 1);
}

/* Channels of an earlier rocind may be open yet. */
static void boards_of_earlier_daemons_stay(void **state)
{
	const uint64_t first = channel;

	(void)state;
	show(RN_CM_KIND_ID, 1, 0x11, 0, true);
	rn_cm_board_close(&board);
	new_board();
	show(RN_CM_KIND_ID, 1, 0x22, 0, true);
	assert_removed(1, 0x22);
	assert_no_more();
	channel = first;
	assert_removed(1, 0x11);
	assert_no_more();
}

/* A rocind that was replaced while it ran has left its channels to one with a board of
 * its own, where an id may be gone that the first board shows for ever.
 */
static void of_two_boards_for_a_channel_the_last_one_counts(void **state)
{
	struct rn_cm_board first = board;
	struct rn_cm_life life;

	(void)state;
	show(RN_CM_KIND_ID, 1, 0x11, 0, true);
	show(RN_CM_KIND_ID, 2, 0x22, 1, true);
	assert_int_equal(rn_cm_board_open(&board, ROCIND + boards, boards + 1000), 0);
	rnk_cm_ids_take_board(board.fd);
	show(RN_CM_KIND_ID, 2, 0x22, 5, true);
	rnk_cm_ids_take_board(first.fd); /* which is known already */
	assert_false(rnk_cm_ids_read_life(RN_CM_KIND_ID, channel, 1, &life));
	assert_removed(2, 0x22);
	assert_no_more();
	assert_int_equal(end_of(RN_CM_KIND_ID, 2), 6);
	assert_int_equal(end_of(RN_CM_KIND_ID, 1), -ENODEV);
	rn_cm_board_close(&first);
}

static void a_child_process_has_its_own(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	show(RN_CM_KIND_ID, 1, 0x11, 0, true);
	pid = fork();
	if (pid == 0)
		_exit(end_of(RN_CM_KIND_ID, 1) != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_removed(1, 0x11);
	assert_int_equal(end_of(RN_CM_KIND_ID, 1), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_that_were_bound_to_a_device_hear_of_its_end_once),
		TEST(who_is_destroyed_first_hears_nothing),
		TEST(groups_can_be_left),
		TEST(an_id_is_one_of_its_channel),
		TEST(an_id_that_rocind_destroyed_last_is_destroyed),
		TEST(answers_need_their_room),
		TEST(boards_of_earlier_daemons_stay),
		TEST(of_two_boards_for_a_channel_the_last_one_counts),
		TEST(a_child_process_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
