/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_replace.c - a rocind that is to go on in place of one that runs: who is refused,
 * and that the one that runs goes on whatever the other does.
 */
#include "tests/tools/rocind/kit/server_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/io/host/runtime_dir.h"

int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

static bool time_is_short; /* nothing comes in time */
static pid_t tester;	   /* the process of the tests */

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return __real_poll(fds, count, time_is_short ? 0 : timeout);
}

/* A rocind that ends, in the process of the tests, would end them as if all were well. */
void __wrap__exit(int status)
{
	if (getpid() == tester)
		abort();
	__real__exit(status);
}

static int setup(void **state)
{
	int rc = server_setup(state);

	tester = getpid();
	time_is_short = false;
	server.hand_over = rnd_replace_hand_over;
	server_listens();
	return rc;
}

/* ---- Who is refused ---- */

static struct rn_ctl_replace replace_request(uint32_t records)
{
	return (struct rn_ctl_replace){ .hdr = rn_ctl_hdr(RN_CTL_REPLACE),
					.records = records,
					.version = "1.2.3" };
}

/* Asks with an end of a pair. Returns the other end. */
static int ask(const struct guest *guest, uint32_t records)
{
	const struct rn_ctl_replace rq = replace_request(records);
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	request(guest, &rq, pair[1]);
	close(pair[1]);
	return pair[0];
}

static void records_of_another_version_are_refused(void **state)
{
	static const uint32_t versions[] = { 0, RND_RECORDS_VERSION - 1,
					     RND_RECORDS_VERSION + 1, UINT32_MAX };
	struct guest guest = come_and_greet();

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(versions); i++) {
		int end = ask(&guest, versions[i]);
		union rn_ctl_msg msg = hear(&guest, RN_CTL_REFUSED);

		assert_int_equal(msg.refused.err, EPROTO);
		assert_non_null(strstr(msg.refused.text, "rocind 1.2.3 understands"));
		assert_int_equal(server.heir_sock, -1);
		close(end);
	}
	go(&guest);
}

static void what_is_no_end_of_a_pair_is_refused(void **state)
{
	const struct rn_ctl_replace rq = replace_request(RND_RECORDS_VERSION);
	struct guest guest = come_and_greet();
	unsigned before;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	before = open_descriptors();
	request(&guest, &rq, -1);
	assert_int_equal(hear(&guest, RN_CTL_REFUSED).refused.err, EINVAL);
	request(&guest, &rq, ends[0]);
	assert_int_equal(hear(&guest, RN_CTL_REFUSED).refused.err, EINVAL);
	assert_int_equal(server.heir_sock, -1);
	assert_int_equal(open_descriptors(), before);
	close(ends[0]);
	close(ends[1]);
	go(&guest);
}

static void one_in_the_foreground_is_not_replaced(void **state)
{
	struct guest guest = come_and_greet();
	int end;

	(void)state;
	server.hand_over = NULL;
	end = ask(&guest, RND_RECORDS_VERSION);
	assert_int_equal(hear(&guest, RN_CTL_REFUSED).refused.err, EBUSY);
	assert_int_equal(server.heir_sock, -1);
	close(end);
	go(&guest);
}

/* ---- What the other one does ---- */

/* A process that has asked to go on, and does @deed with its end of the pair. */
static pid_t start_heir(void (*deed)(int sock))
{
	struct guest guest = come_and_greet();
	int sock = ask(&guest, RND_RECORDS_VERSION);
	pid_t pid;

	hear(&guest, RN_CTL_REPLACING);
	assert_true(server.heir_sock >= 0);
	pid = fork();
	if (pid == 0) {
		close(server.heir_sock);
		deed(sock);
		_exit(0);
	}
	server.heir_pid = pid; /* the test's own, which was the one that asked */
	close(sock);
	go(&guest);
	return pid;
}

/* Receives the transaction. */
static void take(int sock, struct rnd_estate *estate)
{
	struct rnd_pending pending = { NULL, NULL };

	rnd_estate_init(estate);
	do
		if (rnd_estate_receive(estate, &pending, sock) != RND_INTAKE_MORE)
			_exit(1);
	while (pending.first || estate->count == 0);
}

static void die_at_once(int sock)
{
	close(sock);
}

static void die_with_all_records(int sock)
{
	struct rnd_estate estate;

	take(sock, &estate);
}

static void say_no(int sock)
{
	struct rnd_estate estate;

	take(sock, &estate);
	(void)send(sock, "no room", 7, MSG_NOSIGNAL);
	pause();
}

static void say_nothing(int sock)
{
	struct rnd_estate estate;

	take(sock, &estate);
	pause();
}

/* Reports that it can go on, and dies when it is let go. */
static void die_when_it_is_to_go_on(int sock)
{
	struct rnd_estate estate;
	char byte;

	take(sock, &estate);
	(void)send(sock, "\n", 1, MSG_NOSIGNAL);
	(void)recv(sock, &byte, 1, 0);
}

static void goes_on_beside(void (*deed)(int sock), bool has_keeper)
{
	struct guest guest = come_and_greet();
	struct rn_ctl_attach rq = attach_request(0, 1);
	struct rn_ctl_hdr detach = rn_ctl_hdr(RN_CTL_DETACH);
	unsigned before;
	int status;
	pid_t heir;

	if (has_keeper)
		rnd_server_start_keeper(&server);
	attach(&guest, &rq, -1);
	before = open_descriptors();
	heir = start_heir(deed);
	rnd_replace_hand_over(&server);
	assert_int_equal(waitpid(heir, &status, 0), heir);
	serve(); /* the end of its connection */
	assert_int_equal(server.heir_sock, -1);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(server.keep != NULL, has_keeper);
	assert_int_equal(server.keeper.sock >= 0, has_keeper);
	request(&guest, &detach, -1);
	hear(&guest, RN_CTL_DETACHED);
	go(&guest);
	server.keep = NULL;
	(void)rnd_keeper_end(&server.keeper, -1);
}

static void rocind_goes_on_if_the_other_one_does_not(void **state)
{
	static void (*const deeds[])(int) = { die_at_once, die_with_all_records, say_no,
					      die_when_it_is_to_go_on };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(deeds); i++) {
		goes_on_beside(deeds[i], false);
		goes_on_beside(deeds[i], true);
	}
}

static void rocind_does_not_wait_for_ever(void **state)
{
	(void)state;
	time_is_short = true;
	goes_on_beside(say_nothing, false);
}

/* ---- One that goes on ---- */

static struct rnd_server heir;

/* The process of the one that runs: it hands over, and ends without a word. */
static pid_t start_predecessor(int heir_end, bool has_keeper)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	close(heir_end);
	if (has_keeper)
		rnd_server_start_keeper(&server);
	rnd_replace_hand_over(&server);
	_exit(99); /* It should have ended. */
}

static void takes_over(bool has_keeper)
{
	struct guest guest = come_and_greet();
	struct rn_ctl_attach rq = attach_request(0, 2);
	struct rn_ctl_hdr detach = rn_ctl_hdr(RN_CTL_DETACH);
	struct rnd_estate estate;
	struct epoll_event event;
	int pair[2], status;
	pid_t pid;
	char byte;

	attach(&guest, &rq, -1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	server.heir_sock = pair[1];
	server.heir_pid = getpid();
	pid = start_predecessor(pair[0], has_keeper);
	close(pair[1]);
	server.heir_sock = -1;
	take(pair[0], &estate);
	assert_int_equal(rnd_server_init(&heir, 0), 0);
	assert_int_equal(rnd_server_restore(&heir, NULL, &estate), 0);
	assert_int_equal(send(pair[0], "\n", 1, MSG_NOSIGNAL), 1);
	assert_int_equal(recv(pair[0], &byte, 1, 0), 1);
	assert_int_equal(send(pair[0], "", 1, MSG_NOSIGNAL), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* Neither the predecessor nor its keeper is there any more. */
	assert_int_equal(recv(pair[0], &byte, 1, 0), 0);
	rnd_server_resume(&heir);
	assert_int_equal(heir.clients->attachment.slot, 1);
	assert_int_equal(rn_ctl_send(guest.sock, &detach, NULL, 0), 0);
	while (epoll_wait(heir.epoll_fd, &event, 1, 0) > 0) {
		struct rnd_source *source = event.data.ptr;

		source->on_ready(source->ctx);
	}
	hear(&guest, RN_CTL_DETACHED);
	close(pair[0]);
	rnd_server_close(&heir);
	go(&guest);
}

static void the_other_one_goes_on(void **state)
{
	(void)state;
	takes_over(false);
}

/* The keeper is the one that tells it. */
static void the_other_one_goes_on_after_the_keeper(void **state)
{
	(void)state;
	takes_over(true);
}

/* ---- What the one that runs hands over ---- */

static char dir[] = "/dev/shm/rocin-replace-XXXXXX";

static void answer(int sock, struct rn_ctl_packet *pkt, void (*deed)(int sock))
{
	union rn_ctl_msg msg = { .status = { .hdr = rn_ctl_hdr(RN_CTL_STATUS_REPLY) } };

	if (pkt->msg.hdr.type == RN_CTL_HELLO)
		msg.welcome =
			(struct rn_ctl_welcome){ .hdr = rn_ctl_hdr(RN_CTL_WELCOME) };
	else if (pkt->msg.hdr.type == RN_CTL_REPLACE)
		msg.hdr = rn_ctl_hdr(RN_CTL_REPLACING);
	msg.hdr.seq = pkt->msg.hdr.seq;
	(void)rn_ctl_send(sock, &msg, NULL, 0);
	if (pkt->msg.hdr.type == RN_CTL_REPLACE) {
		deed(pkt->fd[0]);
		_exit(0);
	}
}

static struct sockaddr_un fake_address(void)
{
	struct sockaddr_un addr;
	char name[64];
	int dir_fd;

	rn_runtime_name(name, sizeof(name), "rocind", ".sock");
	assert_int_equal(rn_ctl_address(&addr, dir, name, &dir_fd), 0);
	return addr;
}

/* A rocind in @dir that hands over by @deed. */
static pid_t start_fake(void (*deed)(int sock))
{
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), sock;
	const struct sockaddr_un addr = fake_address();
	struct rn_ctl_packet pkt;
	pid_t pid;

	unlink(addr.sun_path);
	assert_int_equal(bind(listener, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 1), 0);
	pid = fork();
	if (pid == 0) {
		sock = accept(listener, NULL, NULL);
		while (__real_poll(&(struct pollfd){ .fd = sock, .events = POLLIN }, 1,
				   -1) == 1 &&
		       rn_ctl_receive(sock, &pkt) == 0)
			answer(sock, &pkt, deed);
		_exit(1);
	}
	close(listener);
	return pid;
}

static void hand_over_rubbish(int sock)
{
	static const char rubbish[4000] = "rubbish";

	(void)send(sock, rubbish, sizeof(rubbish), 0);
	(void)recv(sock, &(char){ 0 }, 1, 0);
}

static void hand_over_nothing(int sock)
{
	close(sock);
}

/* A record of the right kind and number that has no more than a few bytes */
static void hand_over_a_stump(int sock)
{
	struct rnd_keeper k;

	if (rnd_keeper_join(&k, sock, -1))
		_exit(1);
	rnd_keeper_put(&k, RND_RECORD_SERVER, 0, "stump", 5);
	rnd_keeper_commit(&k);
	(void)recv(sock, &(char){ 0 }, 1, 0);
}

/* All is right but a client, which is damaged. */
static void hand_over_less(int sock)
{
	struct rnd_keeper k;

	if (rnd_keeper_join(&k, sock, -1))
		_exit(1);
	rnd_keeper_put(&k, RND_RECORD_CLIENT, 77, "client", 6);
	if (!rnd_server_copy_to(&server, &k))
		_exit(1);
	(void)recv(sock, &(char){ 0 }, 1, 0);
}

static void refuses(void (*deed)(int sock), const char *words)
{
	pid_t pid = start_fake(deed);
	char why[512] = "";
	int status, predecessor;

	assert_int_not_equal(rnd_replace_running(&heir, &predecessor, why, sizeof(why)),
			     0);
	if (!strstr(why, words))
		fail_msg("\"%s\" does not say: %s", why, words);
	rnd_server_close(&heir);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void what_is_not_understood_is_refused(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("ROCIN_RUNTIME_DIR", dir, 1);
	refuses(hand_over_rubbish, "is not understood");
	refuses(hand_over_nothing, "has not handed over");
	refuses(hand_over_a_stump, "is not restored");
	refuses(hand_over_less, "is not understood");
	assert_int_equal(unlink(fake_address().sun_path), 0);
	assert_int_equal(rmdir(dir), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, server_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_of_another_version_are_refused),
		TEST(what_is_no_end_of_a_pair_is_refused),
		TEST(one_in_the_foreground_is_not_replaced),
		TEST(rocind_goes_on_if_the_other_one_does_not),
		TEST(rocind_does_not_wait_for_ever),
		TEST(the_other_one_goes_on),
		TEST(the_other_one_goes_on_after_the_keeper),
		TEST(what_is_not_understood_is_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("replace", tests, NULL, NULL);
}
