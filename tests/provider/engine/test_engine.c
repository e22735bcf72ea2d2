/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine.c - the engines of one process: which thread makes progress, sharing of
 * engines, fork.
 */
#include "tests/provider/kit/engine_kit.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocin/cpu.h"
#include "tests/kit/system/roce_socket.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	TIMEOUT = 17, /* code for 0.5 s, because a sanitizer on a busy machine is slow */
};

static struct kit_end ends[2];

static int setup(void **state)
{
	(void)state;
	kit_environment(0);
	kit_pair(ends, TIMEOUT);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kit_close_pair(ends);
	return 0;
}

static enum rnp_turn turn_of(struct kit_end *k)
{
	enum rnp_turn turn;

	rnp_engine_lock(k->e);
	turn = k->e->policy.turn;
	rnp_engine_unlock(k->e);
	return turn;
}

static void message_goes_both_ways_between_polling_programs(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		struct kit_end *from = &ends[i & 1], *to = &ends[~i & 1];

		kit_post_recv(to);
		memset(from->buf, (int)i, 100);
		kit_post_send(from, RN_WR_SEND, 100, 0);
		kit_await_both(to, from);
		assert_int_equal(to->buf[99], (uint8_t)i);
		kit_await_both(from, to);
	}
}

static void long_message_arrives_whole(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (uint32_t i = 0; i < KIT_BUF; i++)
		a->buf[i] = (uint8_t)(i * 31 >> 3);
	kit_post_send(a, RN_WR_RDMA_WRITE, KIT_BUF, (uintptr_t)b->buf);
	kit_await_both(a, b);
	assert_memory_equal(a->buf, b->buf, KIT_BUF);
}

static void program_that_does_not_poll_is_served_by_the_background_thread(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	memset(b->buf, 0x77, 5000);
	for (unsigned i = 0; i < 20; i++) {
		kit_post_send(a, RN_WR_RDMA_READ, 5000, (uintptr_t)b->buf);
		kit_await(a, RN_WC_SUCCESS);
		assert_int_equal(a->buf[4999], 0x77);
	}
}

/* The program never polls: what it has posted must be sent and acknowledged nevertheless.
 */
static void posted_work_completes_though_nobody_polls(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	rn_ns start = rnp_engine_now();

	(void)state;
	kit_post_recv(b);
	kit_post_send(a, RN_WR_SEND, 64, 0);
	while (!kit_has_entry(a) || !kit_has_entry(b)) {
		sched_yield();
		kit_not_forever(start);
	}
}

static void sleeping_program_is_woken_by_an_event(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		kit_post_recv(b);
		assert_false(kit_arm(b));
		kit_post_send(a, RN_WR_SEND, 64, 0);
		kit_await_event(b);
		kit_await(b, RN_WC_SUCCESS);
		kit_await(a, RN_WC_SUCCESS);
	}
}

static void *answer(void *arg)
{
	struct kit_end *b = arg;

	for (unsigned i = 0; i < 2000; i++) {
		/* either a message or the completion of the program's own answer */
		kit_await(b, RN_WC_SUCCESS);
		kit_await(b, RN_WC_SUCCESS);
		kit_post_recv(b);
		kit_post_send(b, RN_WR_SEND, 16, 0);
	}
	return NULL;
}

/* A completion must be found either by the lingering poll or by an event. */
static void program_that_arms_and_lingers_misses_nothing(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	pthread_t t;

	(void)state;
	kit_post_recv(b);
	kit_post_recv(b);
	kit_post_send(b, RN_WR_SEND, 16, 0); /* so that completions come in pairs */
	kit_post_recv(a);
	kit_post_recv(a);
	kit_await(a, RN_WC_SUCCESS);
	assert_int_equal(pthread_create(&t, NULL, answer, b), 0);
	for (unsigned i = 0; i < 2000; i++) {
		kit_post_send(a, RN_WR_SEND, 16, 0);
		/* the completion of the own SEND, and the answer */
		for (unsigned n = 0; n < 2; n++) {
			struct rn_cqe cqe;

			kit_arm(a);
			if (!kit_poll(a, &cqe)) {
				kit_await_event(a);
				kit_await(a, RN_WC_SUCCESS);
			}
		}
		kit_post_recv(a);
	}
	pthread_join(t, NULL);
}

static rn_ns cpu_time_of(pthread_t thread)
{
	struct timespec ts;
	clockid_t clock;

	assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
	clock_gettime(clock, &ts);
	return RN_MSEC(1000) * ts.tv_sec + ts.tv_nsec;
}

/* On a busy machine it takes some time until the engine sleeps, and a thread that gets no
 * processor cannot go to sleep.
 */
static void idle_engine_sleeps(void **state)
{
	rn_ns cpu, start = rnp_engine_now();
	struct rn_cqe cqe;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		kit_poll(&ends[0], &cqe);
	do {
		kit_not_forever(start);
		cpu = cpu_time_of(ends[0].e->thread);
		usleep(50000);
	} while (turn_of(&ends[0]) != RNP_ARMED || cpu_time_of(ends[0].e->thread) != cpu);
}

/* -------------------------------------------------------------- sharing and forking */
/* A program that polls all the time takes one small packet per poll. A program that has
 * not polled for some time takes all packets that have come.
 */
static void who_looks_seldom_takes_all_that_has_come(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];
	rn_ns now = rnp_engine_now();

	(void)state;
	rnp_engine_lock(b->e); /* so that the background thread cannot take the packets */
	rnp_engine_step(b->e, now, RNP_DRAIN_APP, RNP_ACKS_IF_DRY);
	for (unsigned i = 0; i < 4; i++)
		kit_post_send(a, RN_WR_RDMA_WRITE, 16, (uintptr_t)b->buf);
	assert_int_equal(
		rnp_engine_step(b->e, now + RN_USEC(5), RNP_DRAIN_APP, RNP_ACKS_IF_DRY),
		1);
	assert_int_equal(
		rnp_engine_step(b->e, now + RN_USEC(50), RNP_DRAIN_APP, RNP_ACKS_IF_DRY),
		3);
	rnp_engine_unlock(b->e);
	for (unsigned i = 0; i < 4; i++)
		kit_await(a, RN_WC_SUCCESS);
}

static unsigned asked;

static int only_empty_datagrams(void *ctx, struct rn_rx *rx)
{
	(void)ctx;
	(void)rx;
	return ++asked < 10000 ? -EAGAIN : 0;
}

/* A poll must return even if a sender never stops. */
static void one_step_asks_the_wire_so_often_at_most(void **state)
{
	const struct rn_net_ops ops = { .receive = only_empty_datagrams };
	struct rn_net flood = { .ops = &ops }, *wire;
	struct kit_end *a = &ends[0];

	(void)state;
	rnp_engine_lock(a->e);
	wire = a->e->wire.net;
	a->e->wire.net = &flood;
	for (unsigned max = 1; max <= RNP_DRAIN_BACKGROUND; max *= 2) {
		asked = 0;
		assert_int_equal(
			rnp_engine_step(a->e, rnp_engine_now(), max, RNP_ACKS_IF_DRY), 0);
		assert_int_equal(asked, max);
	}
	a->e->wire.net = wire;
	rnp_engine_unlock(a->e);
}

/* A stream brings the next packets at once. */
static void who_polls_keeps_the_processor_as_long_as_packets_come(void **state)
{
	struct kit_end *a = &ends[0], *b = &ends[1];

	(void)state;
	rnp_engine_lock(b->e);
	rnp_progress_poll(b->e);
	assert_int_equal(b->e->front.pause, RNP_PAUSE_YIELD);
	kit_post_send(a, RN_WR_RDMA_WRITE, 16, (uintptr_t)b->buf);
	rnp_progress_poll(b->e);
	assert_int_equal(b->e->front.pause, RNP_PAUSE_NONE);
	rnp_progress_poll(b->e);
	assert_int_equal(b->e->front.pause, RNP_PAUSE_YIELD);
	rnp_engine_unlock(b->e);
	kit_await(a, RN_WC_SUCCESS);
}

/* Returns the number of the sockets that the background thread has registered and that
 * are switched on (or off). All of them must be in the same state.
 */
static unsigned sockets_that_are(const struct rnp_engine *e, bool on)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RNP_WAIT_MAX; i++) {
		const struct rnp_wait_source *s = &e->wait.source[i];

		if (s->fd < 0 || s->gone || s->tag != RNP_TAG_SOCKET)
			continue;
		assert_int_equal(s->on, on);
		n++;
	}
	return n;
}

/* Otherwise a program whose background thread watches the sockets would not notice a
 * multicast packet.
 */
static void groups_are_listened_to_as_addresses_are(void **state)
{
	const struct rn_gid group = { .raw = { [10] = 0xff, 0xff, 239, 130, 17, 3 } };
	struct rnp_engine *e = ends[0].e;
	uint32_t ifindex = rnp_engine_netdev(e)->ifindex;
	int sock = rn_group_open(&group, ifindex);
	unsigned off, on;

	(void)state;
	assert_true(sock >= 0);
	rnp_engine_lock(e);
	assert_int_equal(rnp_engine_join(e, &group, sock), 0);
	rnp_background_listen(e, false);
	off = sockets_that_are(e, false);
	rnp_background_listen(e, true);
	on = sockets_that_are(e, true);
	rnp_background_listen(e, e->policy.turn == RNP_ARMED);
	sock = rnp_engine_leave(e, &group);
	rnp_engine_unlock(e);
	rn_group_close(sock, &group, ifindex);
	assert_int_equal(off, 2); /* a socket for the address, and one for all groups */
	assert_int_equal(on, 2);
}

static void environment_limits_the_receive_buffers(void **state)
{
	struct rn_attach a = { .slot = 1, .qpn_counter = 1, .sock_count = 1 };
	int bytes = 0;
	socklen_t len = sizeof(bytes);
	struct kit_end k;
	char err[300] = "";

	(void)state;
	kit_environment(0);
	setenv("ROCIN_RCVBUF", "64K", 1);
	kit_open(&k, 0);
	unsetenv("ROCIN_RCVBUF");
	a.sock[0] = roce_socket(&k.gid);
	assert_true(a.sock[0] > 2);
	rnp_engine_lock(k.e);
	if (rnp_engine_start(k.e, &a, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(getsockopt(rn_udp_fd(k.e->wire.udp, 0), SOL_SOCKET, SO_RCVBUF,
				    &bytes, &len),
			 0);
	rnp_engine_unlock(k.e);
	kit_close(&k);
	/* the kernel doubles the size (socket(7)) */
	assert_int_equal(bytes, 2 * (64 << 10));
}

static void device_opened_twice_is_one_engine(void **state)
{
	struct kit_end again;

	(void)state;
	kit_open(&again, 0);
	assert_ptr_equal(again.e, ends[0].e);
	kit_close(&again);
	message_goes_both_ways_between_polling_programs(state);
}

static void unknown_device_is_refused_with_a_sentence(void **state)
{
	char err[300] = "";

	(void)state;
	errno = 0;
	assert_null(rnp_engine_get("rocin7", NULL, NULL, err, sizeof(err)));
	assert_int_equal(errno, ENODEV);
	assert_non_null(strstr(err, "rocin7"));
}

static void nonsense_in_the_environment_is_refused(void **state)
{
	char err[300] = "";

	(void)state;
	setenv("ROCIN_GSO", "maybe", 1);
	setenv("ROCIN_NETDEVS", "lo:127.81.0.1,lo:127.81.0.2,lo:127.81.0.3", 1);
	assert_null(rnp_engine_get("rocin2", NULL, NULL, err, sizeof(err)));
	unsetenv("ROCIN_GSO");
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(err, "ROCIN_GSO"));
	kit_environment(0);
}

static void vector_instructions_are_those_of_the_environment(void **state)
{
	struct rnp_engine *e;

	(void)state;
	setenv("ROCIN_CPU", "scalar", 1);
	setenv("ROCIN_NETDEVS", "lo:127.81.0.1,lo:127.81.0.2,lo:127.81.0.3", 1);
	e = rnp_engine_get("rocin2", NULL, NULL, NULL, 0);
	unsetenv("ROCIN_CPU");
	assert_non_null(e);
	assert_int_equal(rn_cpu_level(), RN_CPU_SCALAR);
	rnp_engine_put(e, NULL);
	rn_cpu_limit(rn_cpu_best());
	kit_environment(0);
}

static int child_body(void)
{
	char err[300] = "";
	struct kit_end own;

	if (!rnp_engine_forked(ends[0].e))
		return 1;
	if (rnp_engine_attach(ends[0].e, err, sizeof(err)) != -EIO)
		return 2;
	if (!rnp_engine_poll(ends[0].e) ||
	    rnp_engine_linger(ends[0].e, kit_has_entry, &ends[0]))
		return 3;
	rnp_engine_put(ends[0].e, &ends[0]);
	kit_open(&own, 0); /* opens the device again */
	if (rnp_engine_forked(own.e) || own.e == ends[0].e)
		return 4;
	kit_close(&own);
	return 0;
}

static void fork_child_has_no_engine_and_the_parent_goes_on(void **state)
{
	int status;
	pid_t pid;

	/* Works even if another thread holds the locks. */
	rnp_process_lock(rnp_process());
	rnp_engine_lock(ends[0].e);
	pid = fork();
	if (pid == 0)
		_exit(child_body());
	rnp_engine_unlock(ends[0].e);
	rnp_process_unlock(rnp_process());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_false(rnp_engine_forked(ends[0].e));
	message_goes_both_ways_between_polling_programs(state);
}

/* Returns the set of signals that the thread with this name blocks. If there is no such
 * thread, returns all signals.
 */
static unsigned long long blocked_signals(const char *name)
{
	char path[300], line[256];
	unsigned long long blocked = ~0ull;
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;

	assert_non_null(tasks);
	while ((task = readdir(tasks)) != NULL) {
		bool is_it = false;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		while (fgets(line, sizeof(line), f)) {
			if (strncmp(line, "Name:", 5) == 0)
				is_it = strstr(line, name) != NULL;
			else if (is_it)
				sscanf(line, "SigBlk: %llx", &blocked);
		}
		fclose(f);
	}
	closedir(tasks);
	return blocked;
}

static void background_thread_takes_no_signals_but_its_own_faults(void **state)
{
	rn_ns start = rnp_engine_now();
	unsigned long long blocked;

	(void)state;
	do { /* a new thread at first blocks all signals */
		blocked = blocked_signals("rocin-bg");
		kit_not_forever(start);
	} while (blocked >> (SIGSEGV - 1) & 1);
	assert_false(blocked >> (SIGBUS - 1) & 1);
	assert_true(blocked >> (SIGINT - 1) & 1);
	assert_true(blocked >> (SIGCHLD - 1) & 1);
	assert_true(blocked >> (SIGUSR1 - 1) & 1);
	assert_true(blocked >> (SIGTERM - 1) & 1);
}

/* Whatever the mask was: the new thread inherits another one. */
static void opening_a_device_leaves_the_signal_mask_as_it_was(void **state)
{
	sigset_t mine, before, after;
	struct kit_end k;

	(void)state;
	kit_environment(0);
	sigemptyset(&mine);
	sigaddset(&mine, SIGUSR2);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &mine, &before), 0);
	kit_open(&k, 0);
	kit_attach_alone(&k);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
	kit_close(&k);
	for (int sig = 1; sig < SIGRTMIN; sig++)
		assert_int_equal(sigismember(&after, sig), sig == SIGUSR2);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(message_goes_both_ways_between_polling_programs),
		test(long_message_arrives_whole),
		test(program_that_does_not_poll_is_served_by_the_background_thread),
		test(posted_work_completes_though_nobody_polls),
		test(sleeping_program_is_woken_by_an_event),
		test(program_that_arms_and_lingers_misses_nothing),
		test(idle_engine_sleeps),
		test(who_looks_seldom_takes_all_that_has_come),
		test(one_step_asks_the_wire_so_often_at_most),
		test(who_polls_keeps_the_processor_as_long_as_packets_come),
		test(groups_are_listened_to_as_addresses_are),
		cmocka_unit_test(environment_limits_the_receive_buffers),
		test(device_opened_twice_is_one_engine),
		test(unknown_device_is_refused_with_a_sentence),
		test(nonsense_in_the_environment_is_refused),
		test(vector_instructions_are_those_of_the_environment),
		test(fork_child_has_no_engine_and_the_parent_goes_on),
		test(background_thread_takes_no_signals_but_its_own_faults),
		cmocka_unit_test(opening_a_device_leaves_the_signal_mask_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
