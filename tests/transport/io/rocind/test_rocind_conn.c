/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_rocind_conn.c - messages that no rocind should send: the client takes none for
 * what it is not, keeps no descriptor of them, and waits no longer than it says.
 *
 * The other end of the connection is the test's, and so is the clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/io/host/own_fd.h"
#include "transport/io/rocind/rocind_conn.h"

enum {
	POLLS_MAX = 100, /* by then whoever waits has forgotten when to end */
};

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

static struct timespec now = { .tv_sec = 1000 };
static unsigned polls;

/* Nothing comes, and the time is over. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	(void)fds;
	(void)count;
	if (++polls == POLLS_MAX)
		fail_msg("rocind is waited for without end");
	now.tv_sec += timeout_ms / 1000;
	now.tv_nsec = 0;
	return 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	*ts = now;
	return 0;
}

struct rig {
	struct rn_rocind *r;
	int daemon;
	int pipe[2]; /* [1] is what travels beside messages */
};

static int setup(void **state)
{
	const int room = 1 << 20; /* for all events that a test sends at once */
	struct rig *rig = calloc(1, sizeof(*rig));
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
	    pipe2(rig->pipe, O_CLOEXEC | O_NONBLOCK))
		return -1;
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	rig->r = calloc(1, sizeof(*rig->r));
	rig->r->sock = pair[0];
	rig->daemon = pair[1];
	polls = 0;
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	rn_rocind_close(rig->r);
	close(rig->daemon);
	close(rig->pipe[0]);
	if (rig->pipe[1] >= 0)
		close(rig->pipe[1]);
	free(rig);
	return 0;
}

/* With @fd_count copies of the descriptor. */
static void say(struct rig *rig, const void *msg, unsigned fd_count)
{
	int fds[RN_CTL_FD_MAX];

	for (unsigned i = 0; i < fd_count; i++)
		fds[i] = rig->pipe[1];
	assert_int_equal(rn_ctl_send(rig->daemon, msg, fds, fd_count), 0);
}

/* The client has kept no copy of the descriptor. */
static void expect_closed(struct rig *rig)
{
	char byte;

	close(rig->pipe[1]);
	rig->pipe[1] = -1;
	assert_int_equal(read(rig->pipe[0], &byte, 1), 0);
}

static void expect_gone(struct rig *rig)
{
	struct rn_rocind_event event;

	assert_int_equal(rn_rocind_event(rig->r, &event), 0);
	assert_int_equal(event.kind, RN_ROCIND_GONE);
}

static int request(struct rig *rig)
{
	const struct rn_ctl_hdr detach = rn_ctl_hdr(RN_CTL_DETACH);
	const struct rn_complaint nowhere = { 0 };
	struct rn_ctl_packet pkt;

	return rn_rocind_request(rig->r, &detach, -1, &pkt, RN_CTL_DETACHED, &nowhere);
}

static void a_message_shorter_than_it_says_is_none(void **state)
{
	struct rig *rig = *state;
	const struct rn_ctl_port port = { .hdr = rn_ctl_hdr(RN_CTL_PORT), .up = 1 };

	assert_int_equal(send(rig->daemon, &port, sizeof(port.hdr), 0), sizeof(port.hdr));
	expect_gone(rig);
}

/* What fits into the buffer looks like a message that is well. */
static void a_message_longer_than_any_is_none(void **state)
{
	struct rig *rig = *state;
	struct {
		union rn_ctl_msg msg;
		char more[16];
	} big = { .msg.hdr = rn_ctl_hdr(RN_CTL_PORT) };
	struct rn_ctl_packet pkt;

	big.msg.hdr.len = sizeof(big.msg);
	assert_int_equal(send(rig->daemon, &big, sizeof(big), 0), sizeof(big));
	assert_int_equal(rn_ctl_receive(rig->r->sock, &pkt), -EBADMSG);
	assert_int_equal(send(rig->daemon, &big, sizeof(big.msg), 0), sizeof(big.msg));
	assert_int_equal(rn_ctl_receive(rig->r->sock, &pkt), 0);
}

static void descriptors_of_a_bad_message_are_closed(void **state)
{
	struct rig *rig = *state;
	struct rn_ctl_port port = { .hdr = rn_ctl_hdr(RN_CTL_PORT) };

	port.hdr.magic ^= 1;
	say(rig, &port, RN_CTL_FD_MAX);
	expect_gone(rig);
	expect_closed(rig);
}

static void descriptors_that_belong_to_no_event_are_closed(void **state)
{
	struct rig *rig = *state;
	const struct rn_ctl_port port = { .hdr = rn_ctl_hdr(RN_CTL_PORT), .up = 1 };

	say(rig, &port, 1);
	expect_gone(rig);
	expect_closed(rig);
}

static void an_address_without_its_socket_or_with_two_is_none(void **state)
{
	const struct rn_ctl_gid_change added = { .hdr = rn_ctl_hdr(RN_CTL_GID_CHANGE),
						 .added = 1 };

	for (unsigned fds = 0; fds <= 2; fds += 2) {
		struct rig *rig;

		teardown(state);
		assert_int_equal(setup(state), 0);
		rig = *state;
		say(rig, &added, fds);
		expect_gone(rig);
		expect_closed(rig);
	}
}

static void an_address_behind_the_table_is_none(void **state)
{
	struct rig *rig = *state;
	struct rn_ctl_gid_change change = { .hdr = rn_ctl_hdr(RN_CTL_GID_CHANGE),
					    .gid_idx = RN_GID_MAX - 1 };
	struct rn_rocind_event event;

	say(rig, &change, 0);
	assert_int_equal(rn_rocind_event(rig->r, &event), 0);
	assert_int_equal(event.kind, RN_ROCIND_GID_REMOVED);
	assert_int_equal(event.gid_idx, RN_GID_MAX - 1);
	change.gid_idx = RN_GID_MAX;
	say(rig, &change, 0);
	expect_gone(rig);
}

/* While a request waits for its answer nobody takes events. */
static void more_events_than_are_kept_end_the_connection(void **state)
{
	struct rig *rig = *state;
	const struct rn_ctl_hdr answer = rn_ctl_hdr(RN_CTL_DETACHED);
	struct rn_ctl_gid_change change = { .hdr = rn_ctl_hdr(RN_CTL_GID_CHANGE) };
	struct rn_rocind_event event;

	for (uint32_t i = 0; i <= RN_ROCIND_EVENT_MAX; i++) {
		change.gid_idx = i % RN_GID_MAX;
		change.added = i == RN_ROCIND_EVENT_MAX;
		say(rig, &change, change.added);
	}
	say(rig, &answer, 0);
	assert_int_equal(request(rig), -ECONNRESET);
	/* Those that came before are as they were. */
	for (uint32_t i = 0; i < RN_ROCIND_EVENT_MAX; i++) {
		assert_int_equal(rn_rocind_event(rig->r, &event), 0);
		assert_int_equal(event.kind, RN_ROCIND_GID_REMOVED);
		assert_int_equal(event.gid_idx, i % RN_GID_MAX);
	}
	expect_gone(rig);
	expect_closed(rig);
}

static void events_that_nobody_took_are_closed_with_the_connection(void **state)
{
	struct rig *rig = *state;
	const struct rn_ctl_hdr answer = rn_ctl_hdr(RN_CTL_DETACHED);
	const struct rn_ctl_gid_change added = { .hdr = rn_ctl_hdr(RN_CTL_GID_CHANGE),
						 .added = 1 };

	say(rig, &added, 1);
	say(rig, &answer, 0);
	assert_int_equal(request(rig), 0);
	rn_rocind_close(rig->r);
	rig->r = NULL;
	expect_closed(rig);
}

static void a_rocind_that_says_nothing_is_not_waited_for_for_ever(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(request(rig), -ETIMEDOUT);
	assert_in_range(polls, 1, 2);
	expect_gone(rig);
}

/* Return: the limit as it was. */
static struct rlimit no_more_descriptors(struct rig *rig)
{
	struct rlimit was, limit;
	int next = dup(rig->daemon);

	assert_true(next > 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	limit = was;
	limit.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return was;
}

static void a_wire_without_room_for_its_descriptors_is_declined(void **state)
{
	struct rig *rig = *state;
	const struct rn_ctl_hdr answer = rn_ctl_hdr(RN_CTL_DETACHED);
	struct rn_ctl_wire wire = { .hdr = rn_ctl_hdr(RN_CTL_WIRE), .ends.peer_slot = 9 };
	struct rn_rocind_event event;
	struct rn_ctl_packet pkt;
	struct rlimit was;
	int rc;

	say(rig, &wire, RN_CTL_WIRE_FDS);
	say(rig, &answer, 0);
	was = no_more_descriptors(rig);
	rc = request(rig);
	setrlimit(RLIMIT_NOFILE, &was);
	assert_int_equal(rc, 0);
	assert_int_equal(rn_rocind_event(rig->r, &event), 0);
	assert_int_equal(event.kind, RN_ROCIND_WIRE_DOWN);
	assert_int_equal(event.err, EMFILE);
	assert_int_equal(event.ends.peer_slot, 9);

	assert_int_equal(rn_ctl_receive(rig->daemon, &pkt), 0);
	assert_int_equal(pkt.msg.hdr.type, RN_CTL_DETACH);
	assert_int_equal(rn_ctl_receive(rig->daemon, &pkt), 0);
	assert_int_equal(pkt.msg.hdr.type, RN_CTL_WIRE_DROP);
	assert_int_equal(pkt.msg.wire_ask.ends.peer_slot, 9);
	expect_closed(rig);
}

/* A program may have closed its standard streams, and writes to what opens next. */
static void descriptors_never_stand_for_standard_streams(void **state)
{
	int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), low, fd;
	struct stat before, after;

	(void)state;
	close(STDIN_FILENO);
	low = memfd_create("low", MFD_CLOEXEC);
	assert_int_equal(low, STDIN_FILENO);
	assert_int_equal(fstat(low, &before), 0);
	fd = rn_fd_raise(low);
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(fd, &after), 0);
	assert_true(before.st_ino == after.st_ino);
	assert_int_equal(fcntl(low, F_GETFD), -1);
	assert_int_equal(rn_fd_raise(fd), fd); /* it is high enough */
	close(fd);
	if (saved >= 0)
		dup2(saved, STDIN_FILENO);
	close(saved);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_message_shorter_than_it_says_is_none),
		TEST(a_message_longer_than_any_is_none),
		TEST(descriptors_of_a_bad_message_are_closed),
		TEST(descriptors_that_belong_to_no_event_are_closed),
		TEST(an_address_without_its_socket_or_with_two_is_none),
		TEST(an_address_behind_the_table_is_none),
		TEST(more_events_than_are_kept_end_the_connection),
		TEST(events_that_nobody_took_are_closed_with_the_connection),
		TEST(a_rocind_that_says_nothing_is_not_waited_for_for_ever),
		TEST(a_wire_without_room_for_its_descriptors_is_declined),
		cmocka_unit_test(descriptors_never_stand_for_standard_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
