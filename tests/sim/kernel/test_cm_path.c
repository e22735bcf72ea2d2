/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_path.c - the paths of a thread's commands; the test is rocind. */
#include "sim/kernel/rdma_cm.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/cmdev.h"
#include "sim/kernel/cm_ids.h"

enum {
	MORE_THAN_PATHS = 6, /* channels */
};

struct channel {
	int fd, rocinds; /* the program's end, and the other */
	uint64_t number;
};

/* No number is used again. */
static struct channel open_channel(void)
{
	static uint64_t last;
	struct channel c = { .number = ++last };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	c.fd = pair[0];
	c.rocinds = pair[1];
	return c;
}

static void close_channel(const struct channel *c)
{
	close(c->fd);
	close(c->rocinds);
}

static struct rnk_cm_path *path_to(const struct channel *c)
{
	struct rnk_cm_path *path = NULL;

	assert_int_equal(rnk_cm_path_get(c->fd, c->number, &path), 0);
	assert_non_null(path);
	return path;
}

/* The end of a path that has been handed over; -1: none has. */
static int take_end(const struct channel *c)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr hdr;
	} control;
	char byte;
	struct iovec iov = { &byte, sizeof(byte) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.buf) };
	int end;

	if (recvmsg(c->rocinds, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -1;
	assert_int_equal(control.hdr.cmsg_type, SCM_RIGHTS);
	memcpy(&end, CMSG_DATA(&control.hdr), sizeof(end));
	return end;
}

static bool leads_to(const struct rnk_cm_path *path, int end)
{
	char byte = 'a', got = 0;

	assert_int_equal(send(path->fd, &byte, 1, MSG_DONTWAIT), 1);
	return recv(end, &got, 1, MSG_DONTWAIT) == 1 && got == byte;
}

/* Another socket in the place of the path's. Return: the other end of that. */
static int put_in_its_place(int fd)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(dup2(pair[0], fd), fd);
	close(pair[0]);
	return pair[1];
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void a_thread_has_one_path_to_a_channel(void **state)
{
	struct channel a = open_channel(), b = open_channel();
	struct rnk_cm_path *path = path_to(&a), *other = path_to(&b);
	int end = take_end(&a), other_end = take_end(&b);

	(void)state;
	assert_true(end >= 0 && other_end >= 0);
	assert_true(leads_to(path, end));
	assert_true(leads_to(other, other_end));
	for (unsigned i = 1; i < 4; i++) {
		assert_ptr_equal(path_to(&a), path);
		assert_ptr_equal(path_to(&b), other);
	}
	assert_int_equal(take_end(&a), -1);
	assert_int_equal(take_end(&b), -1);
	rnk_cm_path_close(path);
	rnk_cm_path_close(other);
	close(end);
	close(other_end);
	close_channel(&a);
	close_channel(&b);
}

static void a_path_that_rocind_has_closed_is_made_anew(void **state)
{
	struct channel c = open_channel();
	struct rnk_cm_path *path = path_to(&c);
	int end = take_end(&c), fd = path->fd;

	(void)state;
	close(end);
	rnk_cm_path_close(path);
	assert_false(is_open(fd));
	path = path_to(&c);
	end = take_end(&c);
	assert_true(end >= 0);
	assert_true(leads_to(path, end));
	rnk_cm_path_close(path);
	close(end);
	close_channel(&c);
}

static void the_path_used_longest_ago_makes_room(void **state)
{
	struct channel c[MORE_THAN_PATHS];
	int end[MORE_THAN_PATHS];
	char byte;

	(void)state;
	for (unsigned i = 0; i < MORE_THAN_PATHS; i++) {
		c[i] = open_channel();
		path_to(&c[i]);
		end[i] = take_end(&c[i]);
		assert_true(end[i] >= 0);
	}
	assert_int_equal(recv(end[0], &byte, 1, MSG_DONTWAIT), 0);
	for (unsigned i = MORE_THAN_PATHS - 4; i < MORE_THAN_PATHS; i++) {
		struct rnk_cm_path *path = path_to(&c[i]);

		assert_int_equal(take_end(&c[i]), -1);
		assert_true(leads_to(path, end[i]));
	}
	for (unsigned i = 0; i < MORE_THAN_PATHS; i++) {
		close(end[i]);
		close_channel(&c[i]);
	}
}

/* Two processes that share a path would take each other's answers. */
static bool child_has_a_path_of_its_own(const struct channel *c, int parents_end)
{
	struct rnk_cm_path *path = NULL;
	int end;
	char byte;

	if (rnk_cm_path_get(c->fd, c->number, &path))
		return false;
	end = take_end(c);
	return end >= 0 && leads_to(path, end) &&
	       recv(parents_end, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void a_child_of_fork_does_not_use_the_paths_of_its_parent(void **state)
{
	struct channel c = open_channel();
	struct rnk_cm_path *path = path_to(&c);
	int end = take_end(&c), status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(!child_has_a_path_of_its_own(&c, end));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ptr_equal(path_to(&c), path);
	assert_true(leads_to(path, end));
	assert_int_equal(take_end(&c), -1);
	rnk_cm_path_close(path);
	close(end);
	close_channel(&c);
}

/* The program closes whatever it finds, and opens what is its own. */
static void a_descriptor_that_is_the_programs_by_now_is_not_used(void **state)
{
	struct channel c = open_channel();
	struct rnk_cm_path *path = path_to(&c);
	int end = take_end(&c), fd = path->fd;
	int programs = put_in_its_place(fd), new_end;
	char byte;

	(void)state;
	path = path_to(&c);
	new_end = take_end(&c);
	assert_true(new_end >= 0);
	assert_int_not_equal(path->fd, fd);
	assert_true(leads_to(path, new_end));
	assert_int_equal(recv(programs, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN); /* open, and nothing came */
	rnk_cm_path_close(path);
	close(fd);
	close(programs);
	close(end);
	close(new_end);
	close_channel(&c);
}

static void a_descriptor_that_is_the_programs_by_now_is_not_closed(void **state)
{
	struct channel c = open_channel();
	struct rnk_cm_path *path = path_to(&c);
	int end = take_end(&c), fd = path->fd;
	int programs = put_in_its_place(fd);

	(void)state;
	rnk_cm_path_close(path);
	assert_true(is_open(fd));
	close(fd);
	close(programs);
	close(end);
	close_channel(&c);
}

static void a_channel_whose_other_end_has_gone_is_told(void **state)
{
	struct channel c = open_channel();
	struct rnk_cm_path *path;

	(void)state;
	close(c.rocinds);
	assert_int_equal(rnk_cm_path_get(c.fd, c.number, &path), -ESHUTDOWN);
	close(c.fd);
}

/* ---- Commands that rocind has not answered ---- */

struct ending {
	const struct channel *c;
	struct rdma_ucm_destroy_id_resp resp;
	int error;
};

static void *destroy_id_1(void *arg)
{
	struct ending *e = arg;
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_destroy_id cmd;
	} order = { { RDMA_USER_CM_CMD_DESTROY_ID, sizeof(order.cmd), sizeof(e->resp) },
		    { .response = (uintptr_t)&e->resp, .id = 1 } };
	ssize_t rc = rnk_cm_write(e->c->fd, e->c->number, &order, sizeof(order));

	e->error = rc == (ssize_t)sizeof(order) ? 0 : errno;
	return NULL;
}

static int listen_on(const struct channel *c, uint32_t id)
{
	const struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_listen cmd;
	} order = { { RDMA_USER_CM_CMD_LISTEN, sizeof(order.cmd), 0 }, { .id = id } };

	return rnk_cm_write(c->fd, c->number, &order, sizeof(order)) < 0 ? errno : 0;
}

/* It has destroyed the first id of three, and dies before it says so. */
static void an_id_is_destroyed_though_rocind_dies_over_it(void **state)
{
	struct channel c = open_channel();
	struct rn_cm_life life = {
		.channel = c.number, .uid = 1, .events_reported = 2, .has_device = 1
	};
	struct ending e = { .c = &c };
	struct rn_cm_board board;
	pthread_t program;
	char command[1024];
	int end;

	(void)state;
	assert_int_equal(rn_cm_board_open(&board, (uint32_t)(c.number >> 32), 1), 0);
	rnk_cm_ids_take_board(board.fd);
	rn_cm_board_show_life(&board, RN_CM_KIND_ID, 1, &life);
	rn_cm_board_show_life(&board, RN_CM_KIND_ID, 2, &life);
	life.has_device = 0;
	rn_cm_board_show_life(&board, RN_CM_KIND_ID, 3, &life);
	assert_int_equal(pthread_create(&program, NULL, destroy_id_1, &e), 0);
	while ((end = take_end(&c)) < 0)
		usleep(100);
	assert_true(recv(end, command, sizeof(command), 0) > 0);
	rn_cm_board_show_life(&board, RN_CM_KIND_ID, 1, NULL);
	close(c.rocinds);
	close(end);
	pthread_join(program, NULL);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.resp.events_reported, 2);
	assert_int_equal(listen_on(&c, 2), EIO);
	assert_int_equal(listen_on(&c, 3), ENODEV);
	close(c.fd);
	rn_cm_board_close(&board);
}

static void *listen_on_1(void *arg)
{
	struct ending *e = arg;

	e->error = listen_on(e->c, 1);
	return NULL;
}

/* Returns the errno of a command whose socket rocind closes without an answer.
 * @is_closed: another thread of the program closes the channel before.
 */
static int error_without_answer(bool is_closed)
{
	struct channel c = open_channel();
	struct ending e = { .c = &c };
	pthread_t program;
	char command[1024];
	int end;

	assert_int_equal(pthread_create(&program, NULL, listen_on_1, &e), 0);
	while ((end = take_end(&c)) < 0)
		usleep(100);
	assert_true(recv(end, command, sizeof(command), 0) > 0);
	if (is_closed)
		close(c.fd);
	close(end);
	pthread_join(program, NULL);
	close(c.rocinds);
	if (!is_closed)
		close(c.fd);
	return e.error;
}

/* rping closes its channel while its other thread waits for an event. */
static void a_channel_that_is_closed_meanwhile_is_no_lack_of_memory(void **state)
{
	(void)state;
	assert_int_equal(error_without_answer(true), EBADF);
	assert_int_equal(error_without_answer(false), ENOMEM);
}

/* rocind was replaced by one with another board, which the program gets with the first
 * answer.
 */
static void the_board_of_a_successor_comes_with_an_answer(void **state)
{
	struct channel c = open_channel();
	struct rn_cm_life life = { .channel = c.number, .uid = 1 };
	const struct iovec iov = { &(struct rn_cmdev_answer){ .seq = 1 },
				   sizeof(struct rn_cmdev_answer) };
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr hdr;
	} control = { .hdr = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	const struct msghdr answer = { .msg_iov = (struct iovec *)&iov,
				       .msg_iovlen = 1,
				       .msg_control = &control,
				       .msg_controllen = sizeof(control.buf) };
	struct rn_cm_board board;
	int end, free_fd;

	(void)state;
	path_to(&c);
	end = take_end(&c);
	assert_int_equal(rn_cm_board_open(&board, (uint32_t)(c.number >> 32), 2), 0);
	free_fd = dup(end);
	close(free_fd);
	rn_cm_board_show_life(&board, RN_CM_KIND_ID, 1, &life);
	memcpy(CMSG_DATA(&control.hdr), &board.fd, sizeof(board.fd));
	assert_int_equal(sendmsg(end, &answer, 0), sizeof(struct rn_cmdev_answer));
	assert_int_equal(listen_on(&c, 1), 0);
	assert_true(rnk_cm_ids_read_life(RN_CM_KIND_ID, c.number, 1, &life));
	rn_cm_board_close(&board);
	assert_false(is_open(free_fd)); /* It keeps no descriptor. */
	close(end);
	close_channel(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_has_one_path_to_a_channel),
		cmocka_unit_test(a_path_that_rocind_has_closed_is_made_anew),
		cmocka_unit_test(a_child_of_fork_does_not_use_the_paths_of_its_parent),
		cmocka_unit_test(a_descriptor_that_is_the_programs_by_now_is_not_used),
		cmocka_unit_test(a_descriptor_that_is_the_programs_by_now_is_not_closed),
		cmocka_unit_test(a_channel_whose_other_end_has_gone_is_told),
		cmocka_unit_test(an_id_is_destroyed_though_rocind_dies_over_it),
		cmocka_unit_test(a_channel_that_is_closed_meanwhile_is_no_lack_of_memory),
		cmocka_unit_test(the_board_of_a_successor_comes_with_an_answer),
		cmocka_unit_test(the_path_used_longest_ago_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
