/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_ucma_misuse.c - every command and option of the ABI, used wrongly: which errno the
 * kernel gives (drivers/infiniband/core/ucma.c and cma.c of Linux 6.1).
 */
#include "ucma_kit.h"

enum {
	CMD_COUNT = RDMA_USER_CM_CMD_JOIN_MCAST + 1,
	NO_SUCH_ID = 77,
};

/* ---- Every command, with an id that is not there or has no device ---- */

#define CASE(cmd, type, member, none, idle) \
	[RDMA_USER_CM_CMD_##                \
		cmd] = { #cmd, sizeof(type), offsetof(type, member), none, idle }

static const struct {
	const char *name;
	size_t len, id_at;
	int none; /* what it gives for no such id */
	int idle; /* ... for one that is new */
} commands[CMD_COUNT] = {
	CASE(CREATE_ID, struct rdma_ucm_create_id, uid, 0, 0),
	CASE(DESTROY_ID, struct rdma_ucm_destroy_id, id, -ENOENT, 0),
	/* The address is looked at first, and has no family. */
	CASE(BIND_IP, struct rdma_ucm_bind_ip, id, -EINVAL, -EINVAL),
	CASE(RESOLVE_IP, struct rdma_ucm_resolve_ip, id, -EINVAL, -EINVAL),
	CASE(RESOLVE_ROUTE, struct rdma_ucm_resolve_route, id, -ENOENT, -EINVAL),
	CASE(QUERY_ROUTE, struct rdma_ucm_query, id, -ENOENT, 0),
	/* No parameters */
	CASE(CONNECT, struct rdma_ucm_connect, id, -EINVAL, -EINVAL),
	CASE(LISTEN, struct rdma_ucm_listen, id, -ENOENT, 0),
	CASE(ACCEPT, struct rdma_ucm_accept, id, -ENOENT, -EINVAL),
	CASE(REJECT, struct rdma_ucm_reject, id, -ENOENT, -EINVAL),
	CASE(DISCONNECT, struct rdma_ucm_disconnect, id, -ENOENT, -EINVAL),
	CASE(INIT_QP_ATTR, struct rdma_ucm_init_qp_attr, id, -ENOENT, -EINVAL),
	CASE(GET_EVENT, struct rdma_ucm_get_event, response, -EAGAIN, -EAGAIN),
	CASE(GET_OPTION, struct rdma_ucm_get_event, response, -ENOSYS, -ENOSYS),
	/* TOS is a byte, and there is none. */
	CASE(SET_OPTION, struct rdma_ucm_set_option, id, -ENOENT, -EINVAL),
	CASE(NOTIFY, struct rdma_ucm_notify, id, -ENOENT, -EINVAL),
	CASE(JOIN_IP_MCAST, struct rdma_ucm_join_ip_mcast, id, -EINVAL, -EINVAL),
	CASE(LEAVE_MCAST, struct rdma_ucm_destroy_id, id, -ENOENT, -ENOENT),
	CASE(MIGRATE_ID, struct rdma_ucm_migrate_id, id, -ENOENT, -ENOENT),
	CASE(QUERY, struct rdma_ucm_query, id, -ENOENT, 0),
	CASE(BIND, struct rdma_ucm_bind, id, -EINVAL, -EINVAL),
	CASE(RESOLVE_ADDR, struct rdma_ucm_resolve_addr, id, -EINVAL, -EINVAL),
	CASE(JOIN_MCAST, struct rdma_ucm_join_mcast, id, -EINVAL, -EINVAL),
};

static int give(struct net *net, struct rnd_ucma_channel *ch, uint32_t cmd, uint32_t id)
{
	uint8_t in[512] = { 0 }, out[512];

	/* CREATE_ID and the two without an id have something else there. */
	if (cmd == RDMA_USER_CM_CMD_CREATE_ID)
		((struct rdma_ucm_create_id *)in)->ps = RDMA_PS_TCP;
	else
		memcpy(in + commands[cmd].id_at, &id, sizeof(id));
	return command(net, ch, cmd, in, commands[cmd].len, out, sizeof(out));
}

static void each_command_of_no_use_gives_the_kernels_errno(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);

	for (uint32_t cmd = 0; cmd < CMD_COUNT; cmd++) {
		uint32_t id = create_id(net, ch, 1, RDMA_PS_TCP);
		int none, idle;

		assert_non_null(commands[cmd].name);
		none = give(net, ch, cmd, NO_SUCH_ID);
		idle = give(net, ch, cmd, id);
		if (none != commands[cmd].none || idle != commands[cmd].idle)
			fail_msg("%s: %d and %d, not %d and %d", commands[cmd].name, none,
				 idle, commands[cmd].none, commands[cmd].idle);
	}
	/* RESOLVE_IB_SERVICE asks an SA, which RoCE does not have. */
	assert_int_equal(command(net, ch, CMD_COUNT, &net, 0, NULL, 0), -ENOSYS);
	assert_int_equal(command(net, ch, RN_CMDEV_WRITE_CM_EVENT + 1, &net, 0, NULL, 0),
			 -EINVAL);
	rnd_ucma_close(ch, net->now);
}

static void the_programs_own_events_come_back_with_their_argument(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0), *other = open_channel(net, 0);
	struct rn_cmdev_write_cm_event in = { .id = create_id(net, ch, 7, RDMA_PS_TCP),
					      .event = RN_CMDEV_EVENT_INTERNAL,
					      .status = 5,
					      .arg = "resolve" };
	struct rdma_ucm_event_resp resp;

	assert_int_equal(
		command(net, ch, RN_CMDEV_WRITE_CM_EVENT, &in, sizeof(in), NULL, 0), 0);
	resp = event(net, ch, RN_CMDEV_EVENT_INTERNAL);
	assert_int_equal(resp.uid, 7);
	assert_int_equal(resp.id, in.id);
	assert_int_equal(resp.status, 5);
	assert_memory_equal(&resp.param, in.arg, sizeof(in.arg));
	no_event(net, ch);
	/* Events of connections are not the program's to make, nor those of others' ids.
	 */
	assert_int_equal(
		command(net, other, RN_CMDEV_WRITE_CM_EVENT, &in, sizeof(in), NULL, 0),
		-EINVAL);
	in.event = RND_EV_ESTABLISHED;
	assert_int_equal(
		command(net, ch, RN_CMDEV_WRITE_CM_EVENT, &in, sizeof(in), NULL, 0),
		-EINVAL);
	in.event = RN_CMDEV_EVENT_USER;
	in.id = NO_SUCH_ID;
	assert_int_equal(
		command(net, ch, RN_CMDEV_WRITE_CM_EVENT, &in, sizeof(in), NULL, 0),
		-ENOENT);
	rnd_ucma_close(other, net->now);
	rnd_ucma_close(ch, net->now);
}

/* ---- Every option ---- */

static void each_option_works_or_is_refused(void **state)
{
	static const struct ib_path_rec_data path = { .flags = IB_PATH_GMP |
							       IB_PATH_PRIMARY |
							       IB_PATH_BIDIRECTIONAL },
					     other = { .flags = IB_PATH_GMP };
	static const uint8_t byte = 18;
	static const int one = 1;
	static const struct {
		uint32_t level, name;
		const void *value;
		size_t len;
		int idle, bound, listening;
	} options[] = {
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1, 0, 0, 0 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &one, 4, -EINVAL, -EINVAL,
		  -EINVAL },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, 4, 0, 0, -EINVAL },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, 1, -EINVAL, -EINVAL,
		  -EINVAL },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, 4, 0, 0, -EINVAL },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, 2, -EINVAL, -EINVAL,
		  -EINVAL },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1, 0, 0, 0 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &one, 4, -EINVAL, -EINVAL,
		  -EINVAL },
		{ RDMA_OPTION_ID, 4, &one, 4, -ENOSYS, -ENOSYS, -ENOSYS },
		/* Only between address and route; of one path at least with all flags */
		{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, sizeof(path), -EINVAL,
		  -EINVAL, -EINVAL },
		{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &other, sizeof(other), -EINVAL,
		  -EINVAL, -EINVAL },
		{ RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, 5, -EINVAL, -EINVAL,
		  -EINVAL },
		{ RDMA_OPTION_IB, 0, &one, 4, -ENOSYS, -ENOSYS, -ENOSYS },
		{ 2, 0, &one, 4, -ENOSYS, -ENOSYS, -ENOSYS },
	};
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);

	for (size_t i = 0; i < RN_ARRAY_SIZE(options); i++) {
		uint32_t id = create_id(net, ch, 1, RDMA_PS_TCP);
#define SET(expected)                                                               \
	assert_int_equal(set_option(net, ch, id, options[i].level, options[i].name, \
				    options[i].value, options[i].len),              \
			 expected)
		SET(options[i].idle);
		assert_int_equal(bind_ip(net, ch, id, ip(10, 1, 0)), 0);
		SET(options[i].bound);
		assert_int_equal(listen_on(net, ch, id, 0), 0);
		SET(options[i].listening);
#undef SET
		destroy_id(net, ch, id);
	}
	rnd_ucma_close(ch, net->now);
}

static void a_path_of_the_programs_own_is_a_route(void **state)
{
	static const struct ib_path_rec_data path[2] = {
		{ .flags = IB_PATH_OUTBOUND },
		{ .flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL },
	};
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t id = create_id(net, ch, 1, RDMA_PS_TCP);

	assert_int_equal(resolve_ip(net, ch, id, ip(10, 2, TCP_PORT)), 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	assert_int_equal(set_option(net, ch, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
				    path, sizeof(path[0])),
			 -EINVAL);
	assert_int_equal(set_option(net, ch, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
				    path, sizeof(path)),
			 0);
	event(net, ch, RND_EV_ROUTE_RESOLVED);
	assert_int_equal(resolve_route(net, ch, id), -EINVAL);
	rnd_ucma_close(ch, net->now);
}

static void ack_timeouts_are_for_reliable_connections(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t datagrams = create_id(net, ch, 1, RDMA_PS_UDP);
	uint32_t reliable = create_id(net, ch, 1, RDMA_PS_TCP);
	uint8_t code = 14;

#define SET(id) \
	set_option(net, ch, id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &code, 1)
	assert_int_equal(SET(datagrams), -EINVAL);
	/* A QP has five bits for it. */
	code = 31;
	assert_int_equal(SET(reliable), 0);
	code = 32;
	assert_int_equal(SET(reliable), -EINVAL);
#undef SET
	rnd_ucma_close(ch, net->now);
}

/* ---- Commands in the wrong order ---- */

static void lengths_of_addresses_must_be_those_of_their_family(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	struct sockaddr_in6 own = ip(10, 1, 0);
	struct rdma_ucm_bind cmd = { .id = create_id(net, ch, 1, RDMA_PS_TCP) };
	struct rdma_ucm_resolve_addr to = { .id = cmd.id };

	memcpy(&cmd.addr, &own, sizeof(own));
	memcpy(&to.dst_addr, &own, sizeof(own));
	cmd.addr_size = sizeof(struct sockaddr_in6);
	assert_int_equal(ORDER(net, ch, BIND, cmd), -EINVAL);
	cmd.addr_size = sizeof(struct sockaddr_in);
	cmd.reserved = 1;
	assert_int_equal(ORDER(net, ch, BIND, cmd), -EINVAL);
	cmd.reserved = 0;
	assert_int_equal(ORDER(net, ch, BIND, cmd), 0);
	to.dst_size = sizeof(struct sockaddr_in) + 1;
	assert_int_equal(ORDER(net, ch, RESOLVE_ADDR, to), -EINVAL);
	to.dst_size = sizeof(struct sockaddr_in);
	to.src_size = 1;
	assert_int_equal(ORDER(net, ch, RESOLVE_ADDR, to), -EINVAL);
	to.src_size = 0;
	assert_int_equal(ORDER(net, ch, RESOLVE_ADDR, to), 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	rnd_ucma_close(ch, net->now);
}

static void steps_are_taken_in_their_order(void **state)
{
	struct net *net = *state;
	struct pair p = { .client = open_channel(net, 0) };
	struct sockaddr_in6 dst = ip(10, 2, TCP_PORT);
	struct rdma_ucm_disconnect bye;

	p.client_id = create_id(net, p.client, CLIENT_UID, RDMA_PS_TCP);
	bye.id = p.client_id;
	assert_int_equal(connect_to(net, &p, ""), -EINVAL);
	assert_int_equal(resolve_ip(net, p.client, p.client_id, dst), 0);
	event(net, p.client, RND_EV_ADDR_RESOLVED);
	assert_int_equal(resolve_ip(net, p.client, p.client_id, dst), -EINVAL);
	assert_int_equal(bind_ip(net, p.client, p.client_id, ip(10, 1, 0)), -EINVAL);
	assert_int_equal(listen_on(net, p.client, p.client_id, 1), -EINVAL);
	assert_int_equal(connect_to(net, &p, ""), -EINVAL);
	assert_int_equal(resolve_route(net, p.client, p.client_id), 0);
	event(net, p.client, RND_EV_ROUTE_RESOLVED);
	assert_int_equal(resolve_route(net, p.client, p.client_id), -EINVAL);
	assert_int_equal(ORDER(net, p.client, DISCONNECT, bye), -EINVAL);
	start_server(net, &p, RDMA_PS_TCP);
	assert_int_equal(listen_on(net, p.server, p.server_id, 1), -EINVAL);
	assert_int_equal(connect_to(net, &p, ""), 0);
	assert_int_equal(connect_to(net, &p, ""), -EINVAL);
	end(net, &p);
}

/* Whoever has a connection may disconnect it as often as it likes. */
static void disconnecting_again_is_no_error(void **state)
{
	struct net *net = *state;
	struct rdma_ucm_disconnect bye;
	struct rdma_ucm_notify note;
	struct pair p = { 0 };

	establish(net, &p);
	note = (struct rdma_ucm_notify){ .id = p.child_id, .event = IBV_EVENT_COMM_EST };
	assert_int_equal(ORDER(net, p.server, NOTIFY, note), -EISCONN);
	note.event = IBV_EVENT_QP_FATAL;
	assert_int_equal(ORDER(net, p.server, NOTIFY, note), -EINVAL);
	bye.id = p.client_id;
	assert_int_equal(ORDER(net, p.client, DISCONNECT, bye), 0);
	assert_int_equal(ORDER(net, p.client, DISCONNECT, bye), 0);
	event(net, p.server, RND_EV_DISCONNECTED);
	bye.id = p.child_id;
	assert_int_equal(ORDER(net, p.server, DISCONNECT, bye), 0);
	assert_int_equal(ORDER(net, p.server, DISCONNECT, bye), 0);
	event(net, p.client, RND_EV_DISCONNECTED);
	end(net, &p);
}

/* An accept that fails refuses the connection, so that the peer need not wait. */
static void accepting_twice_refuses(void **state)
{
	struct net *net = *state;
	struct pair p = { 0 };

	start_server(net, &p, RDMA_PS_TCP);
	start_client(net, &p, RDMA_PS_TCP);
	assert_int_equal(accept_it(net, &p), -EINVAL); /* the listener */
	assert_int_equal(connect_to(net, &p, ""), 0);
	p.child_id = event(net, p.server, RND_EV_CONNECT_REQUEST).id;
	assert_int_equal(accept_it(net, &p), 0);
	event(net, p.client, RND_EV_CONNECT_RESPONSE);
	assert_int_equal(accept_it(net, &p), -EINVAL);
	assert_int_equal(event(net, p.client, RND_EV_REJECTED).status,
			 RN_CM_REJ_CONSUMER);
	end(net, &p);
}

/* Of eight times the wire says seven, and of more than it can say the most. */
static void a_retry_count_that_does_not_fit_is_the_most_that_does(void **state)
{
	static const uint8_t given[] = { 0, 6, 7, 8, 255 };
	static const uint8_t wanted[] = { 0, 6, 7, 7, 7 };
	struct net *net = *state;

	for (size_t i = 0; i < RN_ARRAY_SIZE(given); i++) {
		struct rdma_ucm_connect cmd = { .conn_param = { .qp_num = 0x1234,
								.retry_count = given[i],
								.rnr_retry_count =
									given[i],
								.valid = 1 } };
		struct rdma_ucm_event_resp ev;
		struct pair p = { 0 };

		start_server(net, &p, RDMA_PS_TCP);
		start_client(net, &p, RDMA_PS_TCP);
		cmd.id = p.client_id;
		assert_int_equal(ORDER(net, p.client, CONNECT, cmd), 0);
		ev = event(net, p.server, RND_EV_CONNECT_REQUEST);
		assert_int_equal(ev.param.conn.retry_count, wanted[i]);
		assert_int_equal(ev.param.conn.rnr_retry_count, wanted[i]);
		end(net, &p);
	}
}

/* Programs of older ABIs end where ECE begins; whoever says less says too little. */
static void a_connect_shorter_than_its_fields_is_refused(void **state)
{
	const size_t whole = offsetof(struct rdma_ucm_connect, ece);
	struct net *net = *state;
	struct rdma_ucm_connect cmd = { .conn_param = { .qp_num = 0x1234, .valid = 1 } };
	struct rdma_ucm_accept answer = { .conn_param = { .qp_num = 0x5678,
							  .valid = 1 } };
	struct pair p = { 0 };

	start_server(net, &p, RDMA_PS_TCP);
	start_client(net, &p, RDMA_PS_TCP);
	cmd.id = p.client_id;
	assert_int_equal(command(net, p.client, RDMA_USER_CM_CMD_CONNECT, &cmd, whole - 1,
				 NULL, 0),
			 -EINVAL);
	assert_int_equal(
		command(net, p.client, RDMA_USER_CM_CMD_CONNECT, &cmd, whole, NULL, 0),
		0);
	answer.id = event(net, p.server, RND_EV_CONNECT_REQUEST).id;
	assert_int_equal(command(net, p.server, RDMA_USER_CM_CMD_ACCEPT, &answer,
				 offsetof(struct rdma_ucm_accept, ece) - 1, NULL, 0),
			 -EINVAL);
	assert_int_equal(command(net, p.server, RDMA_USER_CM_CMD_ACCEPT, &answer,
				 offsetof(struct rdma_ucm_accept, ece), NULL, 0),
			 0);
	event(net, p.client, RND_EV_CONNECT_RESPONSE);
	end(net, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, ucma_kit_setup, ucma_kit_teardown)
		TEST(each_command_of_no_use_gives_the_kernels_errno),
		TEST(the_programs_own_events_come_back_with_their_argument),
		TEST(each_option_works_or_is_refused),
		TEST(a_path_of_the_programs_own_is_a_route),
		TEST(ack_timeouts_are_for_reliable_connections),
		TEST(lengths_of_addresses_must_be_those_of_their_family),
		TEST(steps_are_taken_in_their_order),
		TEST(disconnecting_again_is_no_error),
		TEST(accepting_twice_refuses),
		TEST(a_retry_count_that_does_not_fit_is_the_most_that_does),
		TEST(a_connect_shorter_than_its_fields_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
