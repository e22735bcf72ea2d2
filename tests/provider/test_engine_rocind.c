/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_rocind.c - engines of two processes with a real rocind between them. */
#include "engine_kit.h"

#include <errno.h>
#include <ftw.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local_internal.h"
#include "rocind_client.h"

enum {
	TIMEOUT = 14, /* 67 ms */
	MESSAGES = 100,
};

static char runtime_dir[64];
static struct kit_end end;

/* What two processes tell each other before they can talk. */
struct hello {
	struct rn_gid gid;
	uint32_t qpn;
	uint64_t addr; /* of the buffer */
};

static uint64_t peer_addr;

static void attach(struct kit_end *k)
{
	char err[300] = "";

	if (rnp_engine_attach(k->e, err, sizeof(err)))
		fail_msg("%s", err);
}

/* Open device @n with a queue pair, and connect it to the process at the other end. */
static void meet(struct kit_end *k, unsigned n, int sock)
{
	struct hello mine, peer;

	kit_open(k, n);
	attach(k);
	kit_make_qp(k);
	mine = (struct hello){ k->gid, k->qpn, (uintptr_t)k->buf };
	assert_int_equal(write(sock, &mine, sizeof(mine)), sizeof(mine));
	assert_int_equal(read(sock, &peer, sizeof(peer)), sizeof(peer));
	peer_addr = peer.addr;
	kit_connect(k, &peer.gid, peer.qpn, TIMEOUT);
}

/* Both processes can receive from here on. */
static void barrier(int sock)
{
	char c = 1;

	assert_int_equal(write(sock, &c, 1), 1);
	assert_int_equal(read(sock, &c, 1), 1);
}

/* A child that runs @body with the other end of *@sock. */
static pid_t start(void (*body)(int sock), int *sock)
{
	int pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failure ends this process */
		close(pair[0]);
		body(pair[1]);
		exit(0); /* handlers run; nothing was closed */
	}
	close(pair[1]);
	*sock = pair[0];
	return pid;
}

static void await_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Both ends are through: the other's process ends, and this device. */
static void finish(pid_t pid, int sock)
{
	barrier(sock);
	await_child(pid);
	kit_close(&end);
	close(sock);
}

/* -------------------------------------------------------------- messages both ways */
static void echo(int sock)
{
	meet(&end, 1, sock);
	kit_post_recv(&end);
	barrier(sock);
	for (unsigned i = 0; i < MESSAGES; i++) {
		kit_await(&end, RN_WC_SUCCESS);
		kit_post_recv(&end);
		kit_post_send(&end, RN_WR_SEND, 3000, 0); /* what has just come */
		kit_await(&end, RN_WC_SUCCESS);
	}
	barrier(sock);
	kit_close(&end);
}

static void messages_go_both_ways_between_processes(void **state)
{
	int sock;
	pid_t pid = start(echo, &sock);

	(void)state;
	meet(&end, 0, sock);
	barrier(sock);
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct rn_cqe cqe;

		memset(end.buf, (int)i + 1, 3000);
		kit_post_recv(&end);
		kit_post_send(&end, RN_WR_SEND, 3000, 0);
		cqe = kit_await(&end, RN_WC_SUCCESS);
		if ((uint8_t)(cqe.ctl >> 8) == RN_WC_SEND)
			memset(end.buf, 0, 3000); /* the echo must bring it back */
		cqe = kit_await(&end, RN_WC_SUCCESS);
	}
	finish(pid, sock);
}

/* --------------------------------------------------------------------- local wires */
static uint64_t count_of(enum rn_stat what)
{
	return __atomic_load_n(&end.e->stats.page->counter[what], __ATOMIC_RELAXED);
}

static unsigned wires(void)
{
	unsigned n;

	rnp_engine_lock(end.e);
	n = end.e->wire.local ? rn_local_wires(end.e->wire.local) : 0;
	rnp_engine_unlock(end.e);
	return n;
}

/* One message there and the same back; at the other end is echo(). */
static void exchange(unsigned n)
{
	memset(end.buf, (int)n, 3000);
	kit_post_recv(&end);
	kit_post_send(&end, RN_WR_SEND, 3000, 0);
	kit_await(&end, RN_WC_SUCCESS);
	kit_await(&end, RN_WC_SUCCESS);
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(end.buf[i], (uint8_t)n);
}

/* The first message has asked for one: until it is there at this end. */
static void await_wire(void)
{
	rn_ns begin = rnp_engine_now();

	while (wires() == 0) {
		rnp_engine_poll(end.e);
		rnp_engine_yield(end.e);
		kit_not_forever(begin);
	}
}

static void packets_change_over_to_a_local_wire_without_a_loss(void **state)
{
	int sock;
	pid_t pid = start(echo, &sock);

	(void)state;
	meet(&end, 0, sock);
	barrier(sock);
	exchange(0);
	await_wire();
	for (unsigned i = 1; i < MESSAGES; i++)
		exchange(i);
	assert_int_equal(wires(), 1);
	assert_true(count_of(RN_STAT_LOCAL_TX_PACKETS) > 0);
	assert_true(count_of(RN_STAT_LOCAL_RX_PACKETS) > 0);
	assert_int_equal(count_of(RN_STAT_OUT_OF_SEQUENCE), 0);
	assert_int_equal(count_of(RN_STAT_PACKET_SEQ_ERR), 0);
	assert_int_equal(count_of(RN_STAT_LOCAL_SPOILT), 0);
	finish(pid, sock);
}

static void setting_keeps_all_packets_on_udp(void **state)
{
	int sock;
	pid_t pid;

	(void)state;
	setenv("ROCIN_LOCAL", "off", 1);
	pid = start(echo, &sock);
	unsetenv("ROCIN_LOCAL"); /* one end that is not willing is enough */
	meet(&end, 0, sock);
	barrier(sock);
	for (unsigned i = 0; i < MESSAGES; i++)
		exchange(i);
	assert_int_equal(wires(), 0);
	assert_int_equal(count_of(RN_STAT_LOCAL_TX_PACKETS), 0);
	finish(pid, sock);
}

/* All memory that the two share is overwritten, again and again. */
static void scribble(void)
{
	struct rn_local *l = end.e->wire.local;

	rnp_engine_lock(end.e);
	for (unsigned i = 0; i < RN_ROCIND_WIRES_MAX; i++) {
		if (!l->wire[i])
			continue;
		memset(l->wire[i]->memory, 0xa5, RN_WIRE_BYTES);
		memset(l->wire[i]->peer_page, 0x5a, RN_DOORBELL_BYTES);
	}
	rnp_engine_unlock(end.e);
}

static void echo_and_scribble(int sock)
{
	meet(&end, 1, sock);
	kit_post_recv(&end);
	barrier(sock);
	for (unsigned i = 0; i < MESSAGES; i++) {
		kit_await(&end, RN_WC_SUCCESS);
		kit_post_recv(&end);
		kit_post_send(&end, RN_WR_SEND, 3000, 0);
		kit_await(&end, RN_WC_SUCCESS);
		if (i % 8 == 7)
			scribble();
	}
	barrier(sock);
	kit_close(&end);
}

static void peer_that_scribbles_in_the_memory_costs_the_wire_alone(void **state)
{
	int sock;
	pid_t pid = start(echo_and_scribble, &sock);

	(void)state;
	meet(&end, 0, sock);
	barrier(sock);
	exchange(0);
	await_wire();
	for (unsigned i = 1; i < MESSAGES; i++)
		exchange(i);
	assert_int_equal(wires(), 0);
	finish(pid, sock);
}

static void look_away(int sock)
{
	meet(&end, 1, sock);
	memset(end.buf, 0x77, KIT_BUF);
	barrier(sock);
	barrier(sock); /* never calls the device until all is done */
	kit_close(&end);
}

static void background_thread_serves_a_wire_whose_program_looks_away(void **state)
{
	int sock;
	pid_t pid = start(look_away, &sock);

	(void)state;
	meet(&end, 0, sock);
	barrier(sock);
	for (unsigned i = 0; i < MESSAGES; i++) {
		memset(end.buf, 0, 5000);
		kit_post_send(&end, RN_WR_RDMA_READ, 5000, peer_addr);
		kit_await(&end, RN_WC_SUCCESS);
		assert_int_equal(end.buf[4999], 0x77);
		if (i == 0)
			await_wire();
	}
	assert_true(count_of(RN_STAT_LOCAL_RX_PACKETS) > 0);
	assert_int_equal(count_of(RN_STAT_LOCAL_ACK_TIMEOUT), 0);
	finish(pid, sock);
}

static void await_by_event(void)
{
	while (!kit_has_entry(&end))
		if (!kit_arm(&end))
			kit_await_event(&end);
	kit_await(&end, RN_WC_SUCCESS);
}

static void echo_by_event(int sock)
{
	meet(&end, 1, sock);
	kit_post_recv(&end);
	barrier(sock);
	for (unsigned i = 0; i < MESSAGES; i++) {
		await_by_event();
		kit_post_recv(&end);
		kit_post_send(&end, RN_WR_SEND, 64, 0);
		await_by_event();
	}
	barrier(sock);
	kit_close(&end);
}

static void sleepers_wake_each_other(void **state)
{
	int sock;
	pid_t pid;

	(void)state;
	setenv("ROCIN_LINGER_US", "0", 1);
	pid = start(echo_by_event, &sock);
	meet(&end, 0, sock);
	unsetenv("ROCIN_LINGER_US");
	barrier(sock);
	for (unsigned i = 0; i < MESSAGES; i++) {
		kit_post_recv(&end);
		kit_post_send(&end, RN_WR_SEND, 64, 0);
		await_by_event();
		await_by_event();
		if (i == 0)
			await_wire();
	}
	assert_int_equal(wires(), 1);
	assert_int_equal(count_of(RN_STAT_LOCAL_ACK_TIMEOUT), 0);
	finish(pid, sock);
}

/* ------------------------------------------------------------------------- the end */
static void receive_and_exit(int sock)
{
	meet(&end, 1, sock);
	kit_post_recv(&end);
	barrier(sock);
	kit_await(&end, RN_WC_SUCCESS);
}

static void program_that_exits_after_its_last_receive_does_not_fail_its_peer(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		int sock;
		pid_t pid = start(receive_and_exit, &sock);

		meet(&end, 0, sock);
		barrier(sock);
		kit_post_send(&end, RN_WR_SEND, 64, 0);
		kit_await(&end, RN_WC_SUCCESS);
		await_child(pid);
		kit_close(&end);
		close(sock);
	}
}

/* In a child: the client starts a daemon by clones that share memory with their parent,
 * which ThreadSanitizer does not follow.
 */
static void start_rocind(void)
{
	char err[300] = "";
	pid_t pid = fork();

	if (pid == 0)
		_exit(rn_rocind_connect(NULL, err, sizeof(err)) ? 0 : 1);
	await_child(pid);
}

static void stop_rocind(void)
{
	char err[300] = "";
	struct rn_rocind *r = rn_rocind_connect_running(err, sizeof(err));

	if (!r)
		return;
	rn_rocind_shutdown(r, err, sizeof(err));
	rn_rocind_close(r);
}

static void end_of_rocind_is_the_end_of_the_device(void **state)
{
	rn_ns begin = rnp_engine_now();
	char err[300] = "";
	struct rn_cqe cqe;

	(void)state;
	kit_open(&end, 0);
	attach(&end);
	kit_make_qp(&end);
	kit_connect(&end, &end.gid, end.qpn, 0); /* to itself */
	kit_post_recv(&end);
	kit_arm(&end);
	stop_rocind();

	kit_await_event(&end);
	kit_await(&end, RN_WC_WR_FLUSH_ERR);
	while (!rnp_engine_dead(end.e) || !(end.async & 1u << IBV_EVENT_DEVICE_FATAL))
		kit_not_forever(begin);
	assert_int_equal(rnp_engine_attach(end.e, err, sizeof(err)), -EIO);
	assert_true(strlen(err) > 0);
	for (unsigned i = 0; i < 1000; i++) /* nothing comes any more */
		assert_false(kit_poll(&end, &cqe));
	kit_post_recv(&end);
	rnp_engine_lock(end.e);
	rnp_engine_kick(end.e);
	rnp_engine_unlock(end.e);
	kit_await(&end, RN_WC_WR_FLUSH_ERR);
	kit_close(&end);
}

static void device_opened_after_that_is_a_new_one(void **state)
{
	struct kit_end old;

	kit_open(&old, 0);
	attach(&old);
	stop_rocind();
	while (!rnp_engine_dead(old.e))
		;
	start_rocind();
	kit_open(&end, 0);
	assert_ptr_not_equal(end.e, old.e);
	attach(&end);
	kit_close(&end);
	kit_close(&old);
	messages_go_both_ways_between_processes(state);
}

/* -------------------------------------------------------------------------- set-up */
static int setup(void **state)
{
	(void)state;
	snprintf(runtime_dir, sizeof(runtime_dir), "/tmp/rocin-engine-XXXXXX");
	if (!mkdtemp(runtime_dir))
		return -1;
	setenv("ROCIN_RUNTIME_DIR", runtime_dir, 1);
	kit_environment(6);
	start_rocind();
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	stop_rocind();
	return nftw(runtime_dir, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(messages_go_both_ways_between_processes),
		test(packets_change_over_to_a_local_wire_without_a_loss),
		test(setting_keeps_all_packets_on_udp),
		test(peer_that_scribbles_in_the_memory_costs_the_wire_alone),
		test(background_thread_serves_a_wire_whose_program_looks_away),
		test(sleepers_wake_each_other),
		test(program_that_exits_after_its_last_receive_does_not_fail_its_peer),
		test(end_of_rocind_is_the_end_of_the_device),
		test(device_opened_after_that_is_a_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
