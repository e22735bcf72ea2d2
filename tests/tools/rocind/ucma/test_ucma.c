/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_ucma.c - programs on two hosts connect, accept, refuse and die. */
#include "ucma_kit.h"

static void a_connection_is_made_and_ended(void **state)
{
	struct net *net = *state;
	struct rdma_ucm_disconnect bye = { 0 };
	struct pair p = { 0 };

	establish(net, &p);
	bye.id = p.client_id;
	assert_int_equal(ORDER(net, p.client, DISCONNECT, bye), 0);
	event(net, p.server, RND_EV_DISCONNECTED);
	no_event(net, p.client);
	bye.id = p.child_id;
	assert_int_equal(ORDER(net, p.server, DISCONNECT, bye), 0);
	event(net, p.client, RND_EV_DISCONNECTED);
	net->now = rn_cm_deadline(net->host[0].cm);
	assert_true(net->now != RN_NEVER);
	net->now += RN_MSEC(10000);
	rnd_ucma_expire(net->host[0].ucma, net->now);
	rnd_ucma_expire(net->host[1].ucma, net->now);
	event(net, p.client, RND_EV_TIMEWAIT_EXIT);
	event(net, p.server, RND_EV_TIMEWAIT_EXIT);
	/* ADDR, ROUTE, CONNECT_RESPONSE, DISCONNECTED, TIMEWAIT_EXIT */
	assert_int_equal(destroy_id(net, p.client, p.client_id), 5);
	assert_int_equal(destroy_id(net, p.server, p.child_id), 3);
	assert_int_equal(destroy_id(net, p.server, p.server_id), 1);
	end(net, &p);
}

static void what_was_asked_for_reaches_the_other_end(void **state)
{
	struct net *net = *state;
	struct rdma_ucm_event_resp ev;
	struct pair p = { 0 };

	start_server(net, &p, RDMA_PS_TCP);
	start_client(net, &p, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, &p, "hello"), 0);
	ev = event(net, p.server, RND_EV_CONNECT_REQUEST);
	p.child_id = ev.id;
	assert_int_equal(ev.param.conn.qp_num, 0x1234);
	assert_int_equal(ev.param.conn.responder_resources, 5);
	assert_int_equal(ev.param.conn.initiator_depth, 3);
	assert_int_equal(ev.param.conn.retry_count, 6);
	assert_int_equal(ev.param.conn.rnr_retry_count, 4);
	/* The whole field: its length is not on the wire. */
	assert_int_equal(ev.param.conn.private_data_len, 56);
	assert_memory_equal(ev.param.conn.private_data, "hello", 6);
	assert_int_equal(accept_it(net, &p), 0);
	ev = event(net, p.client, RND_EV_CONNECT_RESPONSE);
	assert_int_equal(ev.param.conn.qp_num, 0x5678);
	assert_int_equal(ev.param.conn.private_data_len, 196);
	assert_memory_equal(ev.param.conn.private_data, "yes", 4);
	end(net, &p);
}

static void qps_learn_of_each_other(void **state)
{
	struct net *net = *state;
	struct ib_uverbs_qp_attr a, b;
	struct pair p = { 0 };

	establish(net, &p);
	a = qp_attr(net, p.client, p.client_id, IBV_QPS_INIT);
	assert_int_equal(a.qp_access_flags, IBV_ACCESS_REMOTE_WRITE |
						    IBV_ACCESS_REMOTE_READ |
						    IBV_ACCESS_REMOTE_ATOMIC);
	a = qp_attr(net, p.client, p.client_id, IBV_QPS_RTR);
	b = qp_attr(net, p.server, p.child_id, IBV_QPS_RTS);
	assert_int_equal(a.dest_qp_num, 0x5678);
	assert_int_equal(a.rq_psn, b.sq_psn);
	assert_int_equal(a.path_mtu, IBV_MTU_1024);
	assert_memory_equal(a.ah_attr.grh.dgid, &net->host[1].nd.gid[0], 16);
	a = qp_attr(net, p.client, p.client_id, IBV_QPS_RTS);
	b = qp_attr(net, p.server, p.child_id, IBV_QPS_RTR);
	assert_int_equal(b.dest_qp_num, 0x1234);
	assert_int_equal(b.rq_psn, a.sq_psn);
	assert_int_equal(a.rnr_retry, 2); /* what the peer said for us */
	end(net, &p);
}

static void nobody_listens(void **state)
{
	struct net *net = *state;
	struct pair p = { 0 };

	start_client(net, &p, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, &p, ""), 0);
	assert_int_equal(event(net, p.client, RND_EV_REJECTED).status,
			 RN_CM_REJ_INVALID_SERVICE_ID);
	end(net, &p);
}

static void a_server_says_no(void **state)
{
	struct net *net = *state;
	struct rdma_ucm_reject no = { .private_data_len = 5, .private_data = "sorry" };
	struct rdma_ucm_event_resp ev;
	struct pair p = { 0 };

	start_server(net, &p, RDMA_PS_TCP);
	start_client(net, &p, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, &p, ""), 0);
	no.id = event(net, p.server, RND_EV_CONNECT_REQUEST).id;
	no.reason = 7;
	assert_int_equal(ORDER(net, p.server, REJECT, no), -EINVAL);
	no.reason = 0;
	assert_int_equal(ORDER(net, p.server, REJECT, no), 0);
	ev = event(net, p.client, RND_EV_REJECTED);
	assert_int_equal(ev.status, RN_CM_REJ_CONSUMER);
	assert_memory_equal(ev.param.conn.private_data, "sorry", 6);
	end(net, &p);
}

static void a_server_dies_with_a_request_in_its_queue(void **state)
{
	struct net *net = *state;
	struct pair p = { 0 };

	start_server(net, &p, RDMA_PS_TCP);
	start_client(net, &p, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, &p, ""), 0);
	rnd_ucma_close(p.server, net->now);
	p.server = NULL;
	deliver(net);
	assert_int_equal(event(net, p.client, RND_EV_REJECTED).status,
			 RN_CM_REJ_CONSUMER);
	/* The port is free at once. */
	start_server(net, &p, RDMA_PS_TCP);
	end(net, &p);
}

/* A device may have gone between the packet and the program that listens for all. */
static void a_request_to_an_address_of_no_device_is_refused_and_leaves_no_id(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_counts left;
	struct pair p = { 0 };

	net->host[1].nd.gid[0].raw[15] = 77;
	start_server(net, &p, RDMA_PS_TCP);
	start_client(net, &p, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, &p, ""), 0);
	event(net, p.client, RND_EV_REJECTED);
	no_event(net, p.server);
	rnd_ucma_count(net->host[1].ucma, &left);
	assert_int_equal(left.ids, 1); /* the listener */
	end(net, &p);
}

static uint32_t create_ib_id(struct net *net, struct rnd_ucma_channel *ch,
			     uint8_t qp_type)
{
	struct rdma_ucm_create_id cmd = { .uid = 1,
					  .ps = RDMA_PS_IB,
					  .qp_type = qp_type };
	struct rdma_ucm_create_id_resp resp;

	assert_int_equal(COMMAND(net, ch, CREATE_ID, cmd, resp), 0);
	return resp.id;
}

/* In the port space of InfiniBand both have the same service IDs. */
static void a_datagram_listener_takes_no_connections(void **state)
{
	struct net *net = *state;
	struct pair p = { .client = open_channel(net, 0),
			  .server = open_channel(net, 1) };

	p.server_id = create_ib_id(net, p.server, IBV_QPT_UD);
	assert_int_equal(bind_ip(net, p.server, p.server_id, ip(10, 2, TCP_PORT)), 0);
	assert_int_equal(listen_on(net, p.server, p.server_id, 0), 0);
	p.client_id = create_ib_id(net, p.client, IBV_QPT_RC);
	assert_int_equal(resolve_ip(net, p.client, p.client_id, ip(10, 2, TCP_PORT)), 0);
	event(net, p.client, RND_EV_ADDR_RESOLVED);
	assert_int_equal(resolve_route(net, p.client, p.client_id), 0);
	event(net, p.client, RND_EV_ROUTE_RESOLVED);
	assert_int_equal(connect_to(net, &p, ""), 0);
	event(net, p.client, RND_EV_REJECTED);
	no_event(net, p.server);
	end(net, &p);
}

static void a_dead_end_disconnects(void **state)
{
	struct net *net = *state;
	struct pair p = { 0 };

	establish(net, &p);
	rnd_ucma_close(p.server, net->now);
	p.server = NULL;
	deliver(net);
	event(net, p.client, RND_EV_DISCONNECTED);
	end(net, &p);
}

static void a_datagram_service_is_looked_up(void **state)
{
	struct net *net = *state;
	struct rdma_ucm_event_resp ev;
	struct pair p = { 0 };

	start_server(net, &p, RDMA_PS_UDP);
	start_client(net, &p, RDMA_PS_UDP);
	assert_int_equal(connect_to(net, &p, "who"), 0);
	ev = event(net, p.server, RND_EV_CONNECT_REQUEST);
	assert_int_equal(ev.param.ud.private_data_len, 180);
	assert_memory_equal(ev.param.ud.private_data, "who", 4);
	p.child_id = ev.id;
	assert_int_equal(accept_it(net, &p), 0);
	ev = event(net, p.client, RND_EV_ESTABLISHED);
	assert_int_equal(ev.param.ud.qp_num, 0x5678);
	assert_int_equal(ev.param.ud.qkey, RND_UDP_QKEY);
	assert_memory_equal(ev.param.ud.ah_attr.grh.dgid, &net->host[1].nd.gid[0], 16);
	assert_memory_equal(ev.param.ud.private_data, "yes", 4);
	end(net, &p);
}

static void ids_hear_that_their_interface_has_another_address(void **state)
{
	struct net *net = *state;
	struct pair p = { 0 };
	uint32_t idle;

	establish(net, &p);
	idle = create_id(net, p.client, CLIENT_UID, RDMA_PS_TCP);
	rnd_ucma_addresses_changed(net->host[0].ucma, net->host[0].nd.ifindex + 1);
	no_event(net, p.client);
	rnd_ucma_addresses_changed(net->host[0].ucma, net->host[0].nd.ifindex);
	assert_int_equal(event(net, p.client, RND_EV_ADDR_CHANGE).id, p.client_id);
	no_event(net, p.client);
	destroy_id(net, p.client, idle);
	/* The listener is of all devices, so of none; its child is bound. */
	rnd_ucma_addresses_changed(net->host[1].ucma, net->host[1].nd.ifindex);
	assert_int_equal(event(net, p.server, RND_EV_ADDR_CHANGE).id, p.child_id);
	no_event(net, p.server);
	end(net, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, ucma_kit_setup, ucma_kit_teardown)
		TEST(a_connection_is_made_and_ended),
		TEST(what_was_asked_for_reaches_the_other_end),
		TEST(qps_learn_of_each_other),
		TEST(nobody_listens),
		TEST(a_server_says_no),
		TEST(a_server_dies_with_a_request_in_its_queue),
		TEST(a_request_to_an_address_of_no_device_is_refused_and_leaves_no_id),
		TEST(a_datagram_listener_takes_no_connections),
		TEST(a_dead_end_disconnects),
		TEST(ids_hear_that_their_interface_has_another_address),
		TEST(a_datagram_service_is_looked_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
