/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_rocind.c - engines of two processes, with a real rocind. */
#include "tests/provider/kit/peer_kit.h"

#include <stdlib.h>

#include "transport/io/shm/local_internal.h"

enum {
	MESSAGES = 100,
};

/* -------------------------------------------------------------- messages both ways */
static void echo(int sock)
{
	meet(&end, 1, sock);
	kit_post_recv(&end);
	barrier(sock);
	for (unsigned i = 0; i < MESSAGES; i++) {
		kit_await(&end, RN_WC_SUCCESS);
		kit_post_recv(&end);
		/* sends back the message that has come */
		kit_post_send(&end, RN_WR_SEND, 3000, 0);
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
			/* so that the echo must restore the bytes */
			memset(end.buf, 0, 3000);
		cqe = kit_await(&end, RN_WC_SUCCESS);
	}
	finish(pid, sock);
}

/* --------------------------------------------------------------------- local wires */
static uint64_t count_of(enum rn_stat what)
{
	return __atomic_load_n(&end.e->stats.page->counter[what], __ATOMIC_RELAXED);
}

/* Sends one message, and receives the same message from the other end, which runs echo().
 */
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
	unsetenv("ROCIN_LOCAL"); /* it suffices that one end refuses local wires */
	meet(&end, 0, sock);
	barrier(sock);
	for (unsigned i = 0; i < MESSAGES; i++)
		exchange(i);
	assert_int_equal(wires(), 0);
	assert_int_equal(count_of(RN_STAT_LOCAL_TX_PACKETS), 0);
	finish(pid, sock);
}

/* Overwrites all memory that the two processes share, repeatedly. */
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
	barrier(sock); /* this process does not call the device until the end */
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

static int setup(void **state)
{
	(void)state;
	return peer_setup(6);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, peer_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(messages_go_both_ways_between_processes),
		test(packets_change_over_to_a_local_wire_without_a_loss),
		test(setting_keeps_all_packets_on_udp),
		test(peer_that_scribbles_in_the_memory_costs_the_wire_alone),
		test(background_thread_serves_a_wire_whose_program_looks_away),
		test(sleepers_wake_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
