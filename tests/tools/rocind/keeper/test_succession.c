/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_succession.c - a rocind and its successor in one process: what a rocind has
 * committed is restored, requests that were executed just before its death are not
 * executed twice, and records that are not valid do no harm.
 */
#include "tests/tools/rocind/kit/server_kit.h"

#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/cmdev.h"
#include "tests/kit/system/hand_over.h"
#include "tools/rocind/cm/cm.h"
#include "tools/rocind/cm/cm_channel.h"
#include "tools/rocind/ucma/ucma.h"
#include "transport/io/capture/capture_ring.h"
#include "transport/io/rocind/cm_board.h"

int __wrap_rnd_keeper_start(struct rnd_keeper *k, const int *keep_fds,
			    unsigned keep_count, rnd_succeed_fn *fn, void *ctx);

static struct rnd_server heir;
static struct rnd_estate estate;
static struct rnd_pending pending;
static int keeper; /* the keeper's end */

/* The keeper is this process, too. */
int __wrap_rnd_keeper_start(struct rnd_keeper *k, const int *keep_fds,
			    unsigned keep_count, rnd_succeed_fn *fn, void *ctx)
{
	int pair[2];

	(void)keep_fds;
	(void)keep_count;
	(void)fn;
	(void)ctx;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	keeper = pair[1];
	return rnd_keeper_join(k, pair[0], -1);
}

static int setup(void **state)
{
	if (server_setup(state))
		return -1;
	server_listens();
	assert_int_equal(__wrap_rnd_keeper_start(&server.keeper, NULL, 0, NULL, NULL), 0);
	rnd_estate_init(&estate);
	server.keep = rnd_server_keep_changes;
	server.is_changed = true;
	return 0;
}

static int teardown(void **state)
{
	rnd_server_close(&heir);
	close(keeper);
	return server_teardown(state);
}

/* What the keeper has at the death of the rocind that runs. */
static void die(void)
{
	struct pollfd p = { .fd = keeper, .events = POLLIN };

	rnd_server_commit(&server);
	while (poll(&p, 1, 0) == 1)
		assert_int_equal(rnd_estate_receive(&estate, &pending, keeper),
				 RND_INTAKE_MORE);
}

static void serve_heir(void)
{
	struct epoll_event event;

	while (epoll_wait(heir.epoll_fd, &event, 1, 0) > 0) {
		struct rnd_source *source = event.data.ptr;

		source->on_ready(source->ctx);
	}
}

static void succeed(void)
{
	die();
	assert_int_equal(rnd_server_init(&heir, 0), 0);
	assert_int_equal(rnd_server_restore(&heir, &server, &estate), 0);
	rnd_server_resume(&heir);
	serve_heir();
}

static void ask_heir(const struct guest *guest, const void *msg)
{
	assert_int_equal(rn_ctl_send(guest->sock, msg, NULL, 0), 0);
	serve_heir();
}

static void a_device_keeps_its_slot_and_sockets(void **state)
{
	struct guest a = come_and_greet(), b = come_and_greet();
	struct rn_ctl_attach rq = attach_request(0, 2);
	struct rn_ctl_hdr detach = rn_ctl_hdr(RN_CTL_DETACH);
	struct rn_ctl_packet pkt;
	uint64_t id = b.client->id;

	(void)state;
	attach(&a, &rq, -1);
	attach(&b, &rq, memfd_create("stats", MFD_ALLOW_SEALING));
	succeed();
	assert_int_equal(heir.clients->attachment.slot, 1);
	assert_int_equal(heir.clients->next->attachment.slot, 2);
	assert_int_equal(heir.clients->next->id, id);
	assert_true(heir.clients->next->attachment.stats_fd >= 0);
	assert_int_equal(rnd_groups_count(&heir.groups), 2);
	/* The first slot is free again, and given to the next one. */
	ask_heir(&a, &detach);
	hear(&a, RN_CTL_DETACHED);
	ask_heir(&a, &rq);
	pkt = hear_all(&a, RN_CTL_ATTACHED);
	assert_int_equal(pkt.msg.attached.slot, 1);
	assert_int_equal(pkt.fd_count, 2);
	rn_ctl_close_fds(&pkt);
	close(a.sock);
	close(b.sock);
	serve_heir();
	assert_null(heir.clients);
}

static unsigned count_records(const struct rnd_estate *e, enum rnd_record_kind kind)
{
	struct rnd_record **all = rnd_estate_sort(e);
	unsigned n = 0;

	assert_non_null(all);
	for (struct rnd_record **at = all; *at; at++)
		n += (*at)->kind == kind;
	free((void *)all);
	return n;
}

/* Numbers go on, and the keeper is not told again what it has. */
static void a_successor_keeps_what_changes(void **state)
{
	struct guest a = come_and_greet();
	struct rn_ctl_attach rq = attach_request(0, 1);
	struct rnd_estate more;
	int pair[2];

	(void)state;
	attach(&a, &rq, -1);
	die();
	assert_int_equal(count_records(&estate, RND_RECORD_GROUP), 1);
	succeed();
	assert_int_equal(heir.last_client_id, server.last_client_id);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(rnd_keeper_join(&heir.keeper, pair[0], -1), 0);
	heir.is_changed = true;
	rnd_server_keep_changes(&heir);
	rnd_estate_init(&more);
	assert_int_equal(rnd_estate_receive(&more, &pending, pair[1]), RND_INTAKE_MORE);
	assert_int_equal(count_records(&more, RND_RECORD_SERVER), 1);
	assert_int_equal(count_records(&more, RND_RECORD_GROUP), 0);
	assert_int_equal(count_records(&more, RND_RECORD_SOCKET), 0);
	rnd_estate_free(&more);
	rnd_keeper_forget(&heir.keeper);
	close(pair[1]);
	close(a.sock);
	serve_heir();
}

/* One that is started in place of one that has ended gets all there is. */
static void a_second_keeper_knows_what_the_first_knew(void **state)
{
	struct guest a = come_and_greet();
	struct rn_ctl_attach rq = attach_request(0, 2);

	(void)state;
	close(keeper);
	rnd_keeper_forget(&server.keeper);
	rnd_server_start_keeper(&server);
	attach(&a, &rq, -1);
	die();
	assert_int_equal(count_records(&estate, RND_RECORD_CLIENT), 1);
	rnd_estate_free(&estate);
	rnd_estate_init(&estate);
	close(keeper);
	serve();
	die();
	assert_int_equal(count_records(&estate, RND_RECORD_SERVER), 1);
	assert_int_equal(count_records(&estate, RND_RECORD_GROUP), 2);
	assert_int_equal(count_records(&estate, RND_RECORD_CLIENT), 1);
	rnd_estate_free(&estate);
	go(&a);
}

/* The request is still in the socket, as rocind died before it removed it. */
static void a_request_that_was_executed_is_answered_again(void **state)
{
	struct guest a = come_and_greet();
	struct rn_ctl_attach rq = attach_request(0, 1);
	struct rn_ctl_attached first, again;

	(void)state;
	rq.hdr.seq = 5;
	request(&a, &rq, -1);
	first = hear(&a, RN_CTL_ATTACHED).attached;
	assert_int_equal(first.hdr.seq, 5);
	die();
	assert_int_equal(rn_ctl_send(a.sock, &rq, NULL, 0), 0);
	succeed();
	again = hear(&a, RN_CTL_ATTACHED).attached;
	assert_memory_equal(&again, &first, sizeof(again));
	assert_true(hears_nothing(&a));
	/* Only the first message after a death may be such a one. */
	ask_heir(&a, &rq);
	assert_int_equal(hear(&a, RN_CTL_REFUSED).refused.err, EALREADY);
	close(a.sock);
}

static void a_request_that_was_not_executed_is_executed(void **state)
{
	struct guest a = come_and_greet();
	struct rn_ctl_attach rq = attach_request(0, 1);

	(void)state;
	rq.hdr.seq = 6;
	die();
	assert_int_equal(rn_ctl_send(a.sock, &rq, NULL, 0), 0);
	succeed();
	assert_int_equal(hear(&a, RN_CTL_ATTACHED).attached.hdr.seq, 6);
	close(a.sock);
}

/* A client cannot ask for what only rocind says to itself. */
static void a_wire_is_remade_only_if_its_request_was_repeated(void **state)
{
	struct guest a = come_and_greet(), b = come_and_greet();
	struct rn_ctl_attach rq = attach_request(0, 1);
	struct rn_ctl_wire_ask ask = { .hdr = rn_ctl_hdr(RN_CTL_WIRE_ASK) };

	(void)state;
	rq.wires = 1;
	attach(&a, &rq, -1);
	attach(&b, &rq, -1);
	ask.ends = (struct rn_ctl_ends){ .local = rq.gid[0],
					 .peer = rq.gid[0],
					 .peer_slot = 2 };
	ask.hdr.seq = 9;
	request(&a, &ask, -1);
	hear(&a, RN_CTL_WIRE);
	hear(&b, RN_CTL_WIRE);
	ask.ends.lost = UINT32_MAX;
	request(&a, &ask, -1);
	assert_true(hears_nothing(&a));
	ask.ends.lost = 0;
	assert_int_equal(rn_ctl_send(a.sock, &ask, NULL, 0), 0);
	succeed();
	hear(&a, RN_CTL_WIRE_DOWN);
	hear(&a, RN_CTL_WIRE);
	hear(&b, RN_CTL_WIRE_DOWN);
	hear(&b, RN_CTL_WIRE);
	close(a.sock);
	serve_heir();
	hear(&b, RN_CTL_WIRE_DOWN);
	close(b.sock);
}

/* ---- rdma_cm ---- */

static int open_path(int channel)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(hand_over(channel, pair[0], 0), 1);
	close(pair[0]);
	serve();
	return pair[1];
}

static void create_id(int path, uint32_t seq)
{
	const struct {
		struct rn_cmdev_call call;
		struct rdma_ucm_create_id cmd;
	} m = { .call = { .cmd = RDMA_USER_CM_CMD_CREATE_ID,
			  .in_len = sizeof(m.cmd),
			  .out_len = sizeof(struct rdma_ucm_create_id_resp),
			  .seq = seq },
		.cmd = { .uid = 1, .ps = RDMA_PS_TCP } };

	assert_int_equal(send(path, &m, sizeof(m), 0), sizeof(m));
}

static uint32_t created(int path, uint32_t seq)
{
	struct {
		struct rn_cmdev_answer head;
		struct rdma_ucm_create_id_resp resp;
	} answer;

	assert_int_equal(recv(path, &answer, sizeof(answer), MSG_DONTWAIT),
			 sizeof(answer));
	assert_int_equal(answer.head.rc, 0);
	assert_int_equal(answer.head.seq, seq);
	return answer.resp.id;
}

static unsigned count_ids(void)
{
	struct rnd_ucma_counts counts;

	rnd_cm_count(heir.cm, &counts);
	return counts.ids;
}

/* Each id has its own, which the program reads on the board. */
static uint64_t serial_of(uint32_t id)
{
	struct rn_cm_answers answers;

	assert_true(rn_cm_board_read(heir.cm->board.mem, heir.cm->channels->number, id,
				     &answers));
	return answers.serial;
}

static void a_command_is_executed_once(void **state)
{
	char why[256];
	int channel, path;
	uint32_t id, next;

	(void)state;
	assert_int_equal(
		rnd_cm_open(server.cm, "lo:127.0.0.1", &channel, why, sizeof(why)), 0);
	path = open_path(channel);
	create_id(path, 1);
	serve();
	id = created(path, 1);
	die();
	create_id(path, 1);
	succeed();
	assert_int_equal(created(path, 1), id);
	assert_int_equal(count_ids(), 1);
	assert_int_not_equal(serial_of(id), 0);
	create_id(path, 2);
	serve_heir();
	next = created(path, 2);
	assert_int_not_equal(next, id);
	assert_int_not_equal(serial_of(next), serial_of(id));
	assert_int_equal(count_ids(), 2);
	close(path);
	close(channel);
	serve_heir();
	assert_int_equal(count_ids(), 0);
}

static unsigned count_paths(void)
{
	const struct rnd_cm_channel *ch = heir.cm->channels;
	unsigned n = 0;

	assert_non_null(ch);
	assert_null(ch->next);
	for (const struct rnd_cm_path *path = ch->paths; path; path = path->next)
		n++;
	return n;
}

/* The path that opened it is still in the channel, as rocind died before it removed it.
 */
static void a_path_is_opened_once(void **state)
{
	char why[256];
	int channel, pair[2];

	(void)state;
	assert_int_equal(
		rnd_cm_open(server.cm, "lo:127.0.0.1", &channel, why, sizeof(why)), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(hand_over(channel, pair[0], 0), 1);
	serve();
	die();
	assert_int_equal(hand_over(channel, pair[0], 0), 1);
	succeed();
	assert_int_equal(count_paths(), 1);
	close(pair[0]);
	close(pair[1]);
	close(channel);
	serve_heir();
}

/* Receives an answer. Return: the descriptor that came with it, or -1. */
static int answered_with(int path)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr hdr;
	} control;
	char answer[1024];
	struct iovec iov = { answer, sizeof(answer) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.buf) };
	int fd = -1;

	assert_true(recvmsg(path, &msg, MSG_DONTWAIT) > 0);
	if (CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(&control.hdr), sizeof(fd));
	return fd;
}

static void the_first_answer_of_a_successor_carries_its_board(void **state)
{
	char why[256];
	int channel, path, board;

	(void)state;
	assert_int_equal(
		rnd_cm_open(server.cm, "lo:127.0.0.1", &channel, why, sizeof(why)), 0);
	path = open_path(channel);
	create_id(path, 1);
	serve();
	assert_int_equal(answered_with(path), -1);
	succeed();
	create_id(path, 2);
	serve_heir();
	board = answered_with(path);
	assert_true(rn_cm_board_is_in(rn_cm_board_map(rnd_cm_board_fd(heir.cm)), board));
	create_id(path, 3);
	serve_heir();
	assert_int_equal(answered_with(path), -1);
	close(board);
	close(path);
	close(channel);
}

static void a_capture_of_qp1_goes_on(void **state)
{
	struct guest a = come_and_greet();
	struct rn_ctl_capture rq = { .hdr = rn_ctl_hdr(RN_CTL_CAPTURE),
				     .size = RN_CAPTURE_SIZE_MIN };
	struct rn_ctl_packet source;

	(void)state;
	request(&a, &rq, -1);
	hear(&a, RN_CTL_CAPTURING);
	source = hear_all(&a, RN_CTL_TAP_SOURCE);
	rn_ctl_close_fds(&source);
	succeed();
	assert_true(heir.clients->taps.has_ring);
	/* The next keeper has it, too. */
	assert_true(rnd_server_copy_to(&heir, &server.keeper));
	rnd_estate_init(&estate);
	assert_int_equal(rnd_estate_receive(&estate, &pending, keeper), RND_INTAKE_MORE);
	assert_int_equal(
		rnd_estate_find(&estate, RND_RECORD_TAP, heir.clients->id)->fd_count, 1);
	rnd_estate_free(&estate);
	close(a.sock);
	serve_heir();
	assert_null(heir.clients);
}

/* ---- Damage ---- */

static void records_that_are_not_valid_are_left_out(void **state)
{
	struct guest a = come_and_greet(), b = come_and_greet();
	struct rn_ctl_attach rq = attach_request(0, 1);
	struct rn_ctl_wire_ask ask = { .hdr = rn_ctl_hdr(RN_CTL_WIRE_ASK) };
	struct rnd_record **all;
	char why[256];
	int channel, path;

	rq.wires = 1;
	attach(&a, &rq, -1);
	attach(&b, &rq, -1);
	ask.ends = (struct rn_ctl_ends){ .local = rq.gid[0],
					 .peer = rq.gid[0],
					 .peer_slot = 2 };
	request(&a, &ask, -1);
	assert_int_equal(
		rnd_cm_open(server.cm, "lo:127.0.0.1", &channel, why, sizeof(why)), 0);
	path = open_path(channel);
	create_id(path, 1);
	serve();
	die();
	/* The kind that *@state says is cut short. */
	all = rnd_estate_sort(&estate);
	for (struct rnd_record **r = all; *r; r++)
		if ((*r)->kind == *(enum rnd_record_kind *)*state && (*r)->len)
			(*r)->len--;
	free((void *)all);
	assert_int_equal(rnd_server_init(&heir, 0), 0);
	assert_int_equal(rnd_server_restore(&heir, &server, &estate), 0);
	rnd_server_resume(&heir);
	serve_heir();
	close(a.sock);
	close(b.sock);
	close(path);
	close(channel);
}

static int setup_damage(void **state)
{
	static enum rnd_record_kind kind = RND_RECORD_SERVER;
	int rc = setup(state);

	kind++;
	*state = &kind;
	return rc;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest damage = cmocka_unit_test_setup_teardown(
		records_that_are_not_valid_are_left_out, setup_damage, teardown);
	static const struct CMUnitTest others[] = {
		TEST(a_device_keeps_its_slot_and_sockets),
		TEST(a_successor_keeps_what_changes),
		TEST(a_second_keeper_knows_what_the_first_knew),
		TEST(a_request_that_was_executed_is_answered_again),
		TEST(a_request_that_was_not_executed_is_executed),
		TEST(a_wire_is_remade_only_if_its_request_was_repeated),
		TEST(a_command_is_executed_once),
		TEST(a_path_is_opened_once),
		TEST(the_first_answer_of_a_successor_carries_its_board),
		TEST(a_capture_of_qp1_goes_on),
	};
	struct CMUnitTest tests[RN_ARRAY_SIZE(others) + RND_RECORD_KINDS - 1];

	memcpy(tests, others, sizeof(others));
	/* one for each kind behind the first */
	for (unsigned i = RN_ARRAY_SIZE(others); i < RN_ARRAY_SIZE(tests); i++)
		tests[i] = damage;
	return cmocka_run_group_tests_name("succession", tests, NULL, NULL);
}
