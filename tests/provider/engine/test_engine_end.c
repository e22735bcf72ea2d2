/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_end.c - what engines do when programs or rocind end. */
#include "tests/provider/kit/peer_kit.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_local; /* the packets are sent by a local wire */

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

static void end_of_rocind_is_the_end_of_the_device(void **state)
{
	rn_ns begin = rnp_engine_now();
	char err[300] = "";
	struct rn_cqe cqe;

	(void)state;
	kit_open(&end, 0);
	attach(&end);
	kit_make_qp(&end);
	kit_connect(&end, &end.gid, end.qpn, 0); /* the QP is connected to itself */
	kit_post_recv(&end);
	kit_arm(&end);
	stop_rocind();

	kit_await_event(&end);
	kit_await(&end, RN_WC_WR_FLUSH_ERR);
	while (!rnp_engine_dead(end.e) || !(end.async & 1u << IBV_EVENT_DEVICE_FATAL))
		kit_not_forever(begin);
	assert_int_equal(rnp_engine_attach(end.e, err, sizeof(err)), -EIO);
	assert_true(strlen(err) > 0);
	for (unsigned i = 0; i < 1000; i++) /* until no more packets come */
		assert_false(kit_poll(&end, &cqe));
	kit_post_recv(&end);
	rnp_engine_lock(end.e);
	rnp_engine_kick(end.e);
	rnp_engine_unlock(end.e);
	kit_await(&end, RN_WC_WR_FLUSH_ERR);
	kit_close(&end);
}

/* Sends two messages. The peer does not poll for the second one. */
static void send_and_stay(int sock)
{
	meet(&end, 1, sock);
	kit_post_recv(&end);
	barrier(sock);
	kit_await(&end, RN_WC_SUCCESS);
	if (is_local)
		await_wire();
	barrier(sock);
	kit_post_send(&end, RN_WR_SEND, 64, 0);
	rnp_engine_poll(end.e);
	barrier(sock);
	barrier(sock);
	kit_close(&end);
}

static void end_with_a_message_on_the_way(void)
{
	rn_ns begin = rnp_engine_now();
	int sock;
	pid_t pid = start(send_and_stay, &sock);

	meet(&end, 0, sock);
	barrier(sock);
	kit_post_send(&end, RN_WR_SEND, 64, 0);
	kit_await(&end, RN_WC_SUCCESS);
	if (is_local)
		await_wire();
	kit_post_recv(&end);
	kit_post_recv(&end);

	rnp_engine_lock(end.e); /* as if this process had got no processor in between */
	barrier(sock);
	barrier(sock);
	stop_rocind();
	while (end.e->rocind) {
		rnp_rocind_events(end.e);
		kit_not_forever(begin);
	}
	rnp_engine_unlock(end.e);
	kit_await(&end, RN_WC_SUCCESS);
	kit_await(&end, RN_WC_WR_FLUSH_ERR);
	finish(pid, sock);
}

static void what_came_before_the_end_of_rocind_is_received(void **state)
{
	(void)state;
	is_local = true;
	end_with_a_message_on_the_way();
}

static void so_is_what_came_by_udp(void **state)
{
	(void)state;
	setenv("ROCIN_LOCAL", "off", 1);
	is_local = false;
	end_with_a_message_on_the_way();
	unsetenv("ROCIN_LOCAL");
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
	program_that_exits_after_its_last_receive_does_not_fail_its_peer(state);
}

static int setup(void **state)
{
	(void)state;
	return peer_setup(0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, peer_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(program_that_exits_after_its_last_receive_does_not_fail_its_peer),
		test(end_of_rocind_is_the_end_of_the_device),
		test(what_came_before_the_end_of_rocind_is_received),
		test(so_is_what_came_by_udp),
		test(device_opened_after_that_is_a_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
