/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_server.c - when rocind ends and what it leaves, from its first moment to its last.
 *
 * Time is the test's: it goes on to the next step of the test, or to the end of rocind's
 * wait, whenever rocind has nothing to do.
 */
#include "tests/tools/rocind/kit/server_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/rocind/cm/cm.h"
#include "transport/io/rocind/rocind_conn.h"

enum {
	BEGIN_S = 1000, /* when rocind starts */
	IDLE_MS = 1000,
	WAITS_MAX = 1000, /* whoever waits more often is busy with nothing */
	PASSED_FD = 3,	  /* sd_listen_fds(3) */
};

int __real_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

struct step {
	int at_ms;
	void (*act)(void);
	/* It happens after rocind has looked for the last time before it wakes up. */
	bool is_unseen;
};

static const struct step *next_step;
static unsigned steps_left, waits;
static int now_ms;
static char dir[64];
static struct rlimit descriptors; /* as the test found them */
static bool forbids_wait;	  /* a sandbox does */
static unsigned pauses;		  /* of rocind */
static int accept_errno;	  /* why nobody can be accepted, or 0 */

/* Time goes on while rocind pauses. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	assert_true(count == 0 && timeout_ms > 0);
	(void)fds;
	pauses++;
	now_ms += timeout_ms;
	if (steps_left && next_step->at_ms <= now_ms) {
		next_step->act();
		next_step++;
		steps_left--;
	}
	return 0;
}

int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	if (!accept_errno)
		return __real_accept4(fd, sa, len, flags);
	errno = accept_errno;
	return -1;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	*ts = (struct timespec){ .tv_sec = BEGIN_S + now_ms / 1000,
				 .tv_nsec = now_ms % 1000 * 1000000L };
	return 0;
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
	int end = now_ms + timeout_ms, n;

	if (++waits == WAITS_MAX)
		fail_msg("rocind is kept busy");
	if (forbids_wait) {
		errno = EPERM;
		return -1;
	}
	while ((n = __real_epoll_wait(fd, events, max, 0)) == 0 && timeout_ms) {
		const struct step *step = next_step;

		if (!steps_left || (timeout_ms > 0 && step->at_ms > end)) {
			if (timeout_ms < 0)
				fail_msg("rocind does not end");
			now_ms = end;
			return 0;
		}
		now_ms = step->at_ms;
		next_step++;
		steps_left--;
		step->act();
		if (step->is_unseen)
			return 0;
	}
	return n;
}

/* ---- A rocind with a directory of its own ---- */

static int open_server(void)
{
	char why[512] = "";
	int rc = rnd_server_open(&server, IDLE_MS, why, sizeof(why));

	if (rc)
		print_message("%s\n", why);
	return rc;
}

static void reopen(uint32_t idle_ms)
{
	char why[512] = "";

	rnd_server_close(&server);
	now_ms = 0;
	if (rnd_server_open(&server, idle_ms, why, sizeof(why)))
		fail_msg("%s", why);
}

static int setup(void **state)
{
	(void)state;
	now_ms = 0;
	forbids_wait = false;
	accept_errno = 0;
	strcpy(dir, "/tmp/rocin-server-XXXXXX");
	if (!mkdtemp(dir) || getrlimit(RLIMIT_NOFILE, &descriptors))
		return -1;
	setenv("ROCIN_RUNTIME_DIR", dir, 1);
	return open_server();
}

static void path_of(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", dir, name);
}

static int teardown(void **state)
{
	char path[256], lock[80];

	(void)state;
	setrlimit(RLIMIT_NOFILE, &descriptors);
	path_of(server.sock_name, path);
	unlink(path);
	snprintf(lock, sizeof(lock), "%.*s.lock", (int)strlen(server.sock_name) - 5,
		 server.sock_name);
	path_of(lock, path);
	rnd_server_close(&server);
	unlink(path);
	path_of("guid-salt", path);
	unlink(path);
	return rmdir(dir);
}

/* Return: after how many milliseconds it has ended. */
static int run(const struct step *steps, unsigned count)
{
	next_step = steps;
	steps_left = count;
	waits = 0;
	rnd_server_run(&server);
	assert_int_equal(steps_left, 0);
	return now_ms;
}

#define RUN(...)                                  \
	run((const struct step[]){ __VA_ARGS__ }, \
	    sizeof((const struct step[]){ __VA_ARGS__ }) / sizeof(struct step))

/* ---- Programs ---- */

static int client[2];

static int connect_to_server(void)
{
	struct sockaddr_un addr;
	int dir_fd;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(rn_ctl_address(&addr, dir, server.sock_name, &dir_fd), 0);
	assert_int_equal(dir_fd, -1);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void connect_one(void)
{
	client[0] = connect_to_server();
}

static void send_type(int fd, enum rn_ctl_type type)
{
	const struct rn_ctl_hdr hdr = rn_ctl_hdr(type);

	assert_int_equal(rn_ctl_send(fd, &hdr, NULL, 0), 0);
}

static void greet(unsigned i)
{
	const struct rn_ctl_hello hello = { .hdr = rn_ctl_hdr(RN_CTL_HELLO) };

	client[i] = connect_to_server();
	assert_int_equal(rn_ctl_send(client[i], &hello, NULL, 0), 0);
}

static void greet_one(void)
{
	greet(0);
}

static void close_one(void)
{
	close(client[0]);
}

/* ---- When it ends ---- */

static void without_clients_it_ends_after_its_idle_time(void **state)
{
	char path[256];

	(void)state;
	path_of(server.sock_name, path);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(run(NULL, 0), IDLE_MS);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(errno, ENOENT);
}

/* It would look without a pause otherwise, for ever. */
static void a_sandbox_in_which_it_cannot_wait_ends_it(void **state)
{
	(void)state;
	forbids_wait = true;
	assert_int_equal(run(NULL, 0), 0);
}

static void a_sandbox_in_which_it_cannot_accept_ends_it(void **state)
{
	static const int errors[] = { EPERM, EACCES, ENOSYS };
	char byte;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(errors); i++) {
		accept_errno = errors[i];
		assert_int_equal(RUN({ .at_ms = 10, .act = connect_one }), 10);
		/* Whoever waits at its door sees that. */
		reopen(IDLE_MS);
		assert_true(recv(client[0], &byte, sizeof(byte), 0) <= 0);
		assert_int_not_equal(errno, EAGAIN);
		close(client[0]);
	}
	accept_errno = 0;
}

static void stop_it(void)
{
	server.stopping = true;
}

/* rocind is told of the connection again at once; how often it looks is what it costs. */
static void a_shortage_is_waited_for(void **state)
{
	static const int errors[] = { ENOMEM, ENOBUFS, EMFILE, ENFILE };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(errors); i++) {
		accept_errno = errors[i];
		pauses = 0;
		RUN({ .at_ms = 10, .act = connect_one },
		    { .at_ms = 510, .act = stop_it });
		assert_in_range(pauses, 10, 100);
		assert_in_range(waits, 1, pauses + 10);
		close(client[0]);
		accept_errno = 0;
		reopen(IDLE_MS);
	}
}

static void the_idle_time_begins_anew_with_a_client_that_connects(void **state)
{
	(void)state;
	assert_int_equal(RUN({ .at_ms = 900, .act = connect_one }), 900 + IDLE_MS);
	close(client[0]);
}

static void the_idle_time_begins_when_the_last_client_has_gone(void **state)
{
	(void)state;
	assert_int_equal(RUN({ .at_ms = 100, .act = greet_one },
			     { .at_ms = 5000, .act = close_one }),
			 5000 + IDLE_MS);
}

/* rocind has seen that nothing came, and is about to go. */
static void a_client_that_connects_at_the_last_moment_is_taken_in(void **state)
{
	(void)state;
	assert_int_equal(RUN({ .at_ms = IDLE_MS, .act = greet_one, .is_unseen = true },
			     { .at_ms = 3000, .act = close_one }),
			 3000 + IDLE_MS);
}

enum {
	SHORT_MS = 50,
	GREETING_MS = 200,
};

/* However short the idle time: otherwise it might start another one, again and again. */
static void a_client_that_has_connected_has_time_to_greet(void **state)
{
	(void)state;
	reopen(SHORT_MS);
	assert_int_equal(RUN({ .at_ms = 40, .act = connect_one }), 40 + GREETING_MS);
	close(client[0]);
	reopen(SHORT_MS);
	assert_int_equal(RUN({ .at_ms = 40, .act = connect_one },
			     { .at_ms = 140, .act = close_one }),
			 140 + SHORT_MS);
}

static void who_has_started_it_is_waited_for_until_a_client_comes(void **state)
{
	int timeout_ms = rn_rocind_timeout_ms();

	(void)state;
	assert_true(timeout_ms > IDLE_MS);
	server.awaits_starter = true;
	assert_int_equal(run(NULL, 0), timeout_ms);
	reopen(IDLE_MS);
	server.awaits_starter = true;
	assert_int_equal(RUN({ .at_ms = IDLE_MS + 500, .act = greet_one },
			     { .at_ms = IDLE_MS + 600, .act = close_one }),
			 IDLE_MS + 600 + IDLE_MS);
}

static int channel;

static void open_channel(void)
{
	char why[256] = "";

	if (rnd_cm_open(server.cm, "lo:127.0.0.1", &channel, why, sizeof(why)))
		fail_msg("%s", why);
}

static void close_channel(void)
{
	close(channel);
}

static void the_idle_time_begins_when_the_last_channel_has_gone(void **state)
{
	(void)state;
	assert_int_equal(RUN({ .at_ms = 100, .act = open_channel },
			     { .at_ms = 5000, .act = close_channel }),
			 5000 + IDLE_MS);
}

/* ---- Addresses that nobody uses ---- */

/* The second of two clients has an address, until it goes. */
static void attach_one(void)
{
	const struct rn_ctl_attach rq = attach_request(0, 1);

	greet(0);
	greet(1);
	assert_int_equal(rn_ctl_send(client[1], &rq, NULL, 0), 0);
}

static void leave_address(void)
{
	close(client[1]);
}

static void expect_address(void)
{
	assert_int_equal(rnd_groups_count(&server.groups), 1);
}

static void expect_no_address(void)
{
	assert_int_equal(rnd_groups_count(&server.groups), 0);
}

static void stop_by_signal(void)
{
	raise(SIGTERM);
}

/* Whether or not others are still there, whose wait has no end. */
static void an_address_that_nobody_uses_is_given_back_beside_other_clients(void **state)
{
	(void)state;
	assert_int_equal(RUN({ .at_ms = 100, .act = attach_one },
			     { .at_ms = 5000, .act = leave_address },
			     { .at_ms = 5000 + IDLE_MS - 1, .act = expect_address },
			     { .at_ms = 5000 + IDLE_MS + 1, .act = expect_no_address },
			     { .at_ms = 7000, .act = close_one }),
			 7000 + IDLE_MS);
}

/* One that ends never has no idle time, but addresses have theirs. */
static void an_address_is_kept_for_ten_seconds_by_a_rocind_that_stays(void **state)
{
	const uint32_t idle_ms[] = { 0, 60000 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		reopen(idle_ms[i]);
		assert_int_equal(RUN({ .at_ms = 100, .act = attach_one },
				     { .at_ms = 200, .act = leave_address },
				     { .at_ms = 10199, .act = expect_address },
				     { .at_ms = 10201, .act = expect_no_address },
				     { .at_ms = 10300, .act = stop_by_signal }),
				 10300);
		close_one();
	}
}

/* ---- Who is told ---- */

static void greet_two(void)
{
	greet(0);
	greet(1);
}

static void stop(void)
{
	send_type(client[1], RN_CTL_SHUTDOWN);
}

static void expect(int fd, enum rn_ctl_type type)
{
	struct rn_ctl_packet pkt;

	assert_int_equal(rn_ctl_receive(fd, &pkt), 0);
	assert_int_equal(pkt.msg.hdr.type, type);
}

static void who_asks_for_the_end_gets_its_answer(void **state)
{
	(void)state;
	assert_int_equal(
		RUN({ .at_ms = 100, .act = greet_two }, { .at_ms = 200, .act = stop }),
		200);
	for (unsigned i = 0; i < 2; i++)
		expect(client[i], RN_CTL_WELCOME);
	expect(client[0], RN_CTL_GOING_DOWN);
	expect(client[1], RN_CTL_STOPPING);
	close(client[0]);
	close(client[1]);
}

/* Nothing of the first one is in the way of the second any more. */
static void who_was_told_of_the_end_can_start_another(void **state)
{
	static struct rnd_server second;
	char why[512] = "";

	(void)state;
	RUN({ .at_ms = 100, .act = greet_two }, { .at_ms = 200, .act = stop });
	expect(client[1], RN_CTL_WELCOME);
	expect(client[1], RN_CTL_STOPPING);
	if (rnd_server_open(&second, IDLE_MS, why, sizeof(why)))
		fail_msg("%s", why);
	rnd_server_close(&second);
	close(client[0]);
	close(client[1]);
}

/* ---- One rocind for a directory ---- */

static void a_second_rocind_is_turned_away_by_the_first(void **state)
{
	static struct rnd_server second;
	char why[512] = "", whose[64];

	(void)state;
	snprintf(whose, sizeof(whose), "process %d, holds", (int)getpid());
	assert_int_equal(rnd_server_open(&second, IDLE_MS, why, sizeof(why)), -EALREADY);
	assert_non_null(strstr(why, whose));
	/* Whose socket is still there. */
	assert_int_equal(RUN({ .at_ms = 100, .act = greet_one },
			     { .at_ms = 200, .act = close_one }),
			 200 + IDLE_MS);
}

static int listen_in_dir(void)
{
	struct sockaddr_un addr;
	int dir_fd;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(rn_ctl_address(&addr, dir, server.sock_name, &dir_fd), 0);
	unlink(addr.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* Who passed it goes on listening, and starts the next one. */
static void a_socket_that_was_passed_is_there_after_the_end(void **state)
{
	char path[256], pid[16];
	int listener;

	(void)state;
	rnd_server_close(&server);
	listener = listen_in_dir();
	assert_int_equal(dup2(listener, PASSED_FD), PASSED_FD);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	assert_int_equal(open_server(), 0);
	assert_int_equal(server.listener.fd, PASSED_FD);
	assert_int_equal(RUN({ .at_ms = 100, .act = greet_one },
			     { .at_ms = 200, .act = close_one }),
			 200 + IDLE_MS);
	path_of(server.sock_name, path);
	assert_int_equal(access(path, F_OK), 0);
	close(listener);
}

/* ---- Without descriptors ---- */

/* @spare of them beside the connection that rocind accepts. */
static void connect_with_spare(unsigned spare)
{
	struct rlimit limit = descriptors;
	int next;

	connect_one();
	next = dup(STDERR_FILENO);
	assert_int_equal(close(next), 0);
	limit.rlim_cur = (rlim_t)next + 1 + spare;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void connect_with_enough(void)
{
	connect_with_spare(32);
}

static void connect_with_few(void)
{
	connect_with_spare(31);
}

/* A client and its device take some, which come with messages that cannot wait. */
static void addresses_without_users_make_room_for_descriptors_of_clients(void **state)
{
	(void)state;
	reopen(0);
	RUN({ .at_ms = 100, .act = attach_one }, { .at_ms = 110, .act = leave_address },
	    { .at_ms = 120, .act = close_one },
	    { .at_ms = 200, .act = connect_with_enough },
	    { .at_ms = 300, .act = expect_address }, { .at_ms = 310, .act = close_one },
	    { .at_ms = 320, .act = connect_with_few },
	    { .at_ms = 400, .act = expect_no_address },
	    { .at_ms = 500, .act = stop_by_signal });
	close_one();
}

static void connect_two_and_take_all_descriptors(void)
{
	struct rlimit limit = descriptors;

	client[0] = connect_to_server();
	client[1] = connect_to_server();
	limit.rlim_cur = (rlim_t)dup(STDERR_FILENO);
	assert_int_equal(close((int)limit.rlim_cur), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void expect_both_turned_away(void)
{
	char byte;

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(recv(client[i], &byte, 1, 0), 0);
		close(client[i]);
	}
	greet_one();
}

static void without_descriptors_each_client_is_turned_away(void **state)
{
	(void)state;
	assert_int_equal(
		RUN({ .at_ms = 100, .act = connect_two_and_take_all_descriptors },
		    { .at_ms = 200, .act = expect_both_turned_away },
		    { .at_ms = 300, .act = close_one }),
		300 + IDLE_MS);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(without_clients_it_ends_after_its_idle_time),
		TEST(a_sandbox_in_which_it_cannot_wait_ends_it),
		TEST(a_sandbox_in_which_it_cannot_accept_ends_it),
		TEST(a_shortage_is_waited_for),
		TEST(the_idle_time_begins_anew_with_a_client_that_connects),
		TEST(the_idle_time_begins_when_the_last_client_has_gone),
		TEST(a_client_that_connects_at_the_last_moment_is_taken_in),
		TEST(a_client_that_has_connected_has_time_to_greet),
		TEST(who_has_started_it_is_waited_for_until_a_client_comes),
		TEST(the_idle_time_begins_when_the_last_channel_has_gone),
		TEST(an_address_that_nobody_uses_is_given_back_beside_other_clients),
		TEST(an_address_is_kept_for_ten_seconds_by_a_rocind_that_stays),
		TEST(who_asks_for_the_end_gets_its_answer),
		TEST(who_was_told_of_the_end_can_start_another),
		TEST(a_second_rocind_is_turned_away_by_the_first),
		TEST(a_socket_that_was_passed_is_there_after_the_end),
		TEST(addresses_without_users_make_room_for_descriptors_of_clients),
		TEST(without_descriptors_each_client_is_turned_away),
	};

	/* Nothing else gets the number of the descriptor that is passed. */
	if (fcntl(PASSED_FD, F_GETFD) < 0)
		dup2(STDERR_FILENO, PASSED_FD);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
