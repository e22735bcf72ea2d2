/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_ucma_ids.c - ids, their addresses, ports, channels and groups. */
#include "ucma_kit.h"

#include <endian.h>

/* ---- Addresses and ports ---- */

static void ports_are_taken_once(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *a = open_channel(net, 0), *b = open_channel(net, 0);
	uint32_t id[4];

	for (unsigned i = 0; i < 3; i++)
		id[i] = create_id(net, i ? b : a, 1, RDMA_PS_TCP);
	id[3] = create_id(net, b, 1, RDMA_PS_UDP);
	assert_int_equal(bind_ip(net, a, id[0], ip(10, 1, TCP_PORT)), 0);
	assert_int_equal(bind_ip(net, b, id[1], ip(10, 1, TCP_PORT)), -EADDRINUSE);
	assert_int_equal(bind_ip(net, b, id[1], ip(0, 0, TCP_PORT)), -EADDRNOTAVAIL);
	assert_int_equal(bind_ip(net, b, id[1], ip(10, 1, TCP_PORT + 1)), 0);
	assert_int_equal(bind_ip(net, b, id[1], ip(10, 1, TCP_PORT + 2)), -EINVAL);
	assert_int_equal(bind_ip(net, b, id[2], ip(10, 1, 1023)), -EACCES);
	assert_int_equal(bind_ip(net, b, id[3], ip(10, 1, TCP_PORT)), 0);
	destroy_id(net, a, id[0]);
	assert_int_equal(bind_ip(net, b, id[2], ip(10, 1, TCP_PORT)), 0);
	rnd_ucma_close(a, net->now);
	rnd_ucma_close(b, net->now);
}

static void an_id_that_was_not_bound_has_no_address(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t holder = create_id(net, ch, 1, RDMA_PS_TCP);
	uint32_t id = create_id(net, ch, 1, RDMA_PS_TCP);
	const struct rdma_ucm_query query = { .id = id };
	const struct sockaddr_in6 none = { 0 };
	struct rdma_ucm_query_route_resp resp;

	assert_int_equal(bind_ip(net, ch, holder, ip(10, 1, TCP_PORT)), 0);
	assert_int_equal(bind_ip(net, ch, id, ip(10, 1, TCP_PORT)), -EADDRINUSE);
	assert_int_equal(COMMAND(net, ch, QUERY_ROUTE, query, resp), 0);
	assert_memory_equal(&resp.src_addr, &none, sizeof(none));
	rnd_ucma_close(ch, net->now);
}

static void a_port_that_may_be_shared_listens_once(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	int one = 1;
	uint32_t id[2];

	for (unsigned i = 0; i < 2; i++) {
		id[i] = create_id(net, ch, 1, RDMA_PS_TCP);
		assert_int_equal(set_option(net, ch, id[i], RDMA_OPTION_ID,
					    RDMA_OPTION_ID_REUSEADDR, &one, sizeof(one)),
				 0);
		assert_int_equal(bind_ip(net, ch, id[i], ip(10, 1, TCP_PORT)), 0);
	}
	/* The other one is still bound there. */
	assert_int_equal(listen_on(net, ch, id[0], 1), -EADDRINUSE);
	destroy_id(net, ch, id[1]);
	assert_int_equal(listen_on(net, ch, id[0], 1), 0);
	rnd_ucma_close(ch, net->now);
}

static void addresses_are_ours_or_refused(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t id = create_id(net, ch, CLIENT_UID, RDMA_PS_TCP);
	struct rdma_ucm_query query = { .id = id };
	struct rdma_ucm_query_route_resp resp;
	struct sockaddr_in6 odd = { .sin6_family = AF_UNIX };

	assert_int_equal(bind_ip(net, ch, id, ip(10, 77, 0)), -EADDRNOTAVAIL);
	assert_int_equal(bind_ip(net, ch, id, ip(127, 7, 0)), -ENODEV);
	assert_int_equal(bind_ip(net, ch, id, odd), -EINVAL);
	assert_int_equal(resolve_ip(net, ch, id, ip(9, 1, 1)), -ENETUNREACH);
	assert_int_equal(COMMAND(net, ch, QUERY_ROUTE, query, resp), 0);
	assert_int_equal(resp.node_guid, 0); /* of no device yet */
	assert_int_equal(resolve_ip(net, ch, id, ip(10, 2, 1)), 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	assert_int_equal(COMMAND(net, ch, QUERY_ROUTE, query, resp), 0);
	assert_int_equal(be64toh(resp.node_guid), net->host[0].nd.node_guid);
	assert_int_equal(resp.port_num, 1);
	assert_memory_equal(resp.ib_route[0].dgid, &net->host[1].nd.gid[0], 16);
	assert_true(net->host[0].held > 0);
	rnd_ucma_close(ch, net->now);
}

/* As on a kernel, which knows no device at 127.0.0.1 or ::1. */
static void loopback_stands_for_all_addresses(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t server = create_id(net, ch, SERVER_UID, RDMA_PS_TCP);
	uint32_t client = create_id(net, ch, CLIENT_UID, RDMA_PS_TCP);
	struct rdma_ucm_query query = { .id = server };
	struct rdma_ucm_query_route_resp resp;
	struct pair p = { .client = ch, .server = ch };

	assert_int_equal(bind_ip(net, ch, server, ip(127, 1, TCP_PORT)), 0);
	assert_int_equal(COMMAND(net, ch, QUERY_ROUTE, query, resp), 0);
	assert_int_equal(resp.node_guid, 0);
	assert_int_equal(listen_on(net, ch, server, 1), 0);
	assert_int_equal(resolve_ip(net, ch, client, ip(127, 1, TCP_PORT)), 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	assert_int_equal(resolve_route(net, ch, client), 0);
	event(net, ch, RND_EV_ROUTE_RESOLVED);
	query.id = p.client_id = client;
	assert_int_equal(COMMAND(net, ch, QUERY_ROUTE, query, resp), 0);
	assert_memory_equal(resp.ib_route[0].dgid, &net->host[0].nd.gid[0], 16);
	assert_int_equal(connect_to(net, &p, "hello"), 0);
	event(net, ch, RND_EV_CONNECT_REQUEST);
	rnd_ucma_close(ch, net->now);
}

static void the_loopback_address_may_be_a_device_s(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0), *other;
	struct rn_netdev lo = net->host[0].nd;
	uint32_t id = create_id(net, ch, CLIENT_UID, RDMA_PS_TCP);
	struct rdma_ucm_query query = { .id = id };
	struct rdma_ucm_query_route_resp resp;

	lo.gid[0] = (struct rn_gid){ .raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	other = rnd_ucma_open(net->host[0].ucma, &lo, 1, NULL);
	assert_non_null(other);
	assert_int_equal(resolve_ip(net, ch, id, ip(127, 1, 1)), 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	assert_int_equal(COMMAND(net, ch, QUERY_ROUTE, query, resp), 0);
	assert_memory_equal(resp.ib_route[0].dgid, &lo.gid[0], 16);
	id = create_id(net, other, CLIENT_UID, RDMA_PS_TCP);
	query.id = id;
	assert_int_equal(bind_ip(net, other, id, ip(127, 1, TCP_PORT)), 0);
	assert_int_equal(COMMAND(net, other, QUERY_ROUTE, query, resp), 0);
	assert_int_equal(be64toh(resp.node_guid), lo.node_guid);
	rnd_ucma_close(other, net->now);
	rnd_ucma_close(ch, net->now);
}

/* ---- Ids and channels ---- */

static void ids_belong_to_their_channel(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *a = open_channel(net, 0), *b = open_channel(net, 0);
	uint32_t id = create_id(net, a, CLIENT_UID, RDMA_PS_TCP);

	assert_int_equal(resolve_route(net, b, id), -EINVAL);
	assert_int_equal(resolve_route(net, a, id + 1), -ENOENT);
	assert_int_equal(resolve_route(net, a, UINT32_MAX), -ENOENT);
	assert_int_equal(resolve_route(net, a, id), -EINVAL); /* its state */
	rnd_ucma_close(a, net->now);
	rnd_ucma_close(b, net->now);
}

static void a_request_is_no_id_before_it_is_seen(void **state)
{
	struct net *net = *state;
	struct rdma_ucm_destroy_id cmd = { .id = 1 };
	struct rdma_ucm_destroy_id_resp resp;
	struct pair p = { 0 };

	start_server(net, &p, RDMA_PS_TCP);
	start_client(net, &p, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, &p, ""), 0);
	assert_int_equal(COMMAND(net, p.server, DESTROY_ID, cmd, resp), -ENOENT);
	assert_int_equal(event(net, p.server, RND_EV_CONNECT_REQUEST).id, 1);
	assert_int_equal(COMMAND(net, p.server, DESTROY_ID, cmd, resp), 0);
	end(net, &p);
}

static void a_listener_moves_with_its_requests(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *other = open_channel(net, 1);
	struct pair p = { 0 };
	struct rdma_ucm_migrate_id cmd = { 0 };
	const struct rn_cmdev_call head = { .cmd = RDMA_USER_CM_CMD_MIGRATE_ID,
					    .in_len = sizeof(cmd),
					    .out_len = 4 };
	struct rnd_call call = {
		.ch = other, .now = net->now, .head = &head, .in = &cmd
	};

	start_server(net, &p, RDMA_PS_TCP);
	start_client(net, &p, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, &p, ""), 0);
	call.from = p.server;
	assert_int_equal(rnd_ucma_command(&call), 0);
	rnd_ucma_close(p.server, net->now);
	p.server = other;
	p.child_id = event(net, other, RND_EV_CONNECT_REQUEST).id;
	assert_int_equal(accept_it(net, &p), 0);
	event(net, p.client, RND_EV_CONNECT_RESPONSE);
	end(net, &p);
}

static void an_id_moves_with_its_events(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *a = open_channel(net, 0), *b = open_channel(net, 0);
	uint32_t id = create_id(net, a, CLIENT_UID, RDMA_PS_TCP);
	struct rdma_ucm_migrate_id cmd = { .id = id };
	struct rdma_ucm_migrate_resp resp;
	const struct rn_cmdev_call head = { .cmd = RDMA_USER_CM_CMD_MIGRATE_ID,
					    .in_len = sizeof(cmd),
					    .out_len = sizeof(resp) };
	struct rnd_call call = { .ch = b, .now = net->now, .head = &head, .in = &cmd };

	assert_int_equal(resolve_ip(net, a, id, ip(10, 2, 1)), 0);
	assert_int_equal(rnd_ucma_command(&call), -ENOENT);
	call.from = a;
	assert_int_equal(rnd_ucma_command(&call), 0);
	memcpy(&resp, call.answer, sizeof(resp));
	assert_int_equal(resp.events_reported, 0);
	no_event(net, a);
	event(net, b, RND_EV_ADDR_RESOLVED);
	assert_int_equal(destroy_id(net, b, id), 1);
	rnd_ucma_close(a, net->now);
	rnd_ucma_close(b, net->now);
}

static void a_full_backlog_makes_clients_wait(void **state)
{
	struct net *net = *state;
	struct pair p = { 0 }, q = { .qpn = 0x4321 };

	p.server = open_channel(net, 1);
	p.server_id = create_id(net, p.server, SERVER_UID, RDMA_PS_TCP);
	assert_int_equal(bind_ip(net, p.server, p.server_id, ip(10, 2, TCP_PORT)), 0);
	assert_int_equal(listen_on(net, p.server, p.server_id, 1), 0);
	start_client(net, &p, RDMA_PS_TCP);
	start_client(net, &q, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, &p, ""), 0);
	assert_int_equal(connect_to(net, &q, ""), 0);
	event(net, p.server, RND_EV_CONNECT_REQUEST);
	no_event(net, p.server);
	/* It asks again. */
	net->now = rn_cm_deadline(net->host[0].cm);
	rnd_ucma_expire(net->host[0].ucma, net->now);
	deliver(net);
	event(net, p.server, RND_EV_CONNECT_REQUEST);
	end(net, &q);
	end(net, &p);
}

static void a_group_is_joined(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t id = create_id(net, ch, CLIENT_UID, RDMA_PS_UDP);
	struct rdma_ucm_join_ip_mcast cmd = { .id = id, .uid = 0x77 };
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_destroy_id leave = { 0 };
	struct rdma_ucm_destroy_id_resp left;
	struct rdma_ucm_event_resp ev;

	cmd.addr = ip(239, 5, 0);
	assert_int_equal(COMMAND(net, ch, JOIN_IP_MCAST, cmd, resp), -EINVAL);
	assert_int_equal(bind_ip(net, ch, id, ip(10, 1, 0)), 0);
	cmd.addr = ip(10, 5, 0);
	assert_int_equal(COMMAND(net, ch, JOIN_IP_MCAST, cmd, resp), -EINVAL);
	cmd.addr = ip(239, 5, 0);
	assert_int_equal(COMMAND(net, ch, JOIN_IP_MCAST, cmd, resp), 0);
	ev = event(net, ch, RND_EV_MULTICAST_JOIN);
	assert_int_equal(ev.uid, 0x77);
	assert_int_equal(ev.param.ud.qp_num, 0xffffff);
	assert_int_equal(ev.param.ud.ah_attr.grh.dgid[12], 239);
	leave.id = resp.id;
	assert_int_equal(COMMAND(net, ch, LEAVE_MCAST, leave, left), 0);
	assert_int_equal(left.events_reported, 1);
	assert_int_equal(COMMAND(net, ch, LEAVE_MCAST, leave, left), -ENOENT);
	rnd_ucma_close(ch, net->now);
}

/* What is shown of it, too, and before anything else happens to it. */
static void a_group_moves_with_its_id(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *a = open_channel(net, 0), *b = open_channel(net, 0);
	uint32_t id = create_id(net, a, CLIENT_UID, RDMA_PS_UDP);
	struct rdma_ucm_join_ip_mcast join = { .id = id, .addr = ip(239, 5, 0) };
	struct rdma_ucm_migrate_id cmd = { .id = id };
	struct rdma_ucm_create_id_resp group;
	const struct rn_cmdev_call head = { .cmd = RDMA_USER_CM_CMD_MIGRATE_ID,
					    .in_len = sizeof(cmd),
					    .out_len = sizeof(uint32_t) };
	struct rnd_call call = {
		.ch = b, .now = net->now, .head = &head, .in = &cmd, .from = a
	};

	assert_int_equal(bind_ip(net, a, id, ip(10, 1, 0)), 0);
	assert_int_equal(COMMAND(net, a, JOIN_IP_MCAST, join, group), 0);
	assert_int_equal(rnd_ucma_command(&call), 0);
	assert_ptr_equal(net->host[0].lives[RN_CM_KIND_GROUP][group.id].user, b->user);
	event(net, b, RND_EV_MULTICAST_JOIN);
	assert_int_equal(
		net->host[0].lives[RN_CM_KIND_GROUP][group.id].life.events_reported, 1);
	rnd_ucma_close(a, net->now);
	rnd_ucma_close(b, net->now);
}

/* Whoever waits for it to be acknowledged must have got it. */
static void an_event_counts_when_the_answer_is_sent(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t id = create_id(net, ch, CLIENT_UID, RDMA_PS_TCP);
	const struct rn_cm_life *life = &net->host[0].lives[RN_CM_KIND_ID][id].life;
	const struct rdma_ucm_get_event cmd = { 0 };
	const struct rn_cmdev_call head = { .cmd = RDMA_USER_CM_CMD_GET_EVENT,
					    .in_len = sizeof(cmd),
					    .out_len = RN_CMDEV_OUT_MAX };
	struct rnd_call call = { .ch = ch, .now = net->now, .head = &head, .in = &cmd };

	assert_int_equal(life->uid, CLIENT_UID);
	assert_int_equal(life->has_device, 0);
	assert_int_equal(resolve_ip(net, ch, id, ip(10, 2, 1)), 0);
	assert_int_equal(life->has_device, 1); /* before the event is taken */
	assert_int_equal(rnd_ucma_command(&call), 0);
	assert_int_equal(life->events_reported, 0);
	rnd_ucma_answered(net->host[0].ucma);
	assert_int_equal(life->events_reported, 1);
	rnd_ucma_close(ch, net->now);
}

/* One that has been sent ahead means the id that it was sent for, and no later one. */
static void a_disconnect_finds_the_id_that_it_means(void **state)
{
	struct net *net = *state;
	struct pair p = { 0 };
	struct rdma_ucm_disconnect cmd = { 0 };
	struct rnd_ucma_channel *other;
	struct rn_cmdev_call head = { .cmd = RDMA_USER_CM_CMD_DISCONNECT,
				      .in_len = sizeof(cmd),
				      .one_way = 1 };
	struct rnd_call call = { .now = net->now, .head = &head, .in = &cmd };

	establish(net, &p);
	other = open_channel(net, 0);
	cmd.id = p.client_id;
	head.serial = net->host[0].shown[p.client_id].answers.serial + 1;
	call.ch = p.client;
	assert_int_equal(rnd_ucma_command(&call), -ENOENT);
	deliver(net);
	no_event(net, p.server);
	head.serial--;
	call.ch = other;
	assert_int_equal(rnd_ucma_command(&call), 0);
	deliver(net);
	event(net, p.server, RND_EV_DISCONNECTED);
	rnd_ucma_close(other, net->now);
	end(net, &p);
}

/* ---- What `rdma resource show cm_id' has of them ---- */

struct described {
	struct rn_ctl_cm_id id[4];
	unsigned count;
};

static void note_id(void *ctx, const struct rn_ctl_cm_id *id)
{
	struct described *d = ctx;

	assert_true(d->count < RN_ARRAY_SIZE(d->id));
	d->id[d->count++] = *id;
}

static struct described describe(const struct rnd_ucma_channel *ch)
{
	struct described d = { .count = 0 };

	rnd_ucma_describe(ch, note_id, &d);
	return d;
}

/* Returns what is described of an id, which has to be there. */
static const struct rn_ctl_cm_id *shown_of(const struct described *d, uint32_t number)
{
	for (unsigned i = 0; i < d->count; i++)
		if (d->id[i].number == number)
			return &d->id[i];
	fail_msg("id %u is not described", number);
	return NULL;
}

static void both_ends_of_a_connection_show_their_queue_pairs(void **state)
{
	struct net *net = *state;
	struct described client, server;
	struct pair p = { 0 };

	establish(net, &p);
	client = describe(p.client);
	server = describe(p.server);
	assert_int_equal(client.count, 1);
	assert_int_equal(shown_of(&client, p.client_id)->qpn, 0x1234);
	assert_string_equal(client.id[0].ibdev, net->host[0].nd.ibdev);
	assert_int_equal(server.count, 2);
	assert_int_equal(shown_of(&server, p.child_id)->qpn, 0x5678);
	assert_int_equal(shown_of(&server, p.server_id)->qpn, 0);
	end(net, &p);
}

/* Whoever listens at all addresses is of no device, and shown with each. */
static void a_listener_of_all_addresses_is_shown(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t id = create_id(net, ch, SERVER_UID, RDMA_PS_TCP);
	struct described d = describe(ch);

	assert_int_equal(d.count, 0);
	assert_int_equal(bind_ip(net, ch, id, ip(0, 0, TCP_PORT)), 0);
	assert_int_equal(describe(ch).count, 0);
	assert_int_equal(listen_on(net, ch, id, 1), 0);
	d = describe(ch);
	assert_int_equal(d.count, 1);
	assert_int_equal(shown_of(&d, id)->state, 8); /* RDMA_CM_LISTEN */
	assert_string_equal(d.id[0].ibdev, "");
	rnd_ucma_close(ch, net->now);
}

static void rubbish_is_refused(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	struct rdma_ucm_create_id cmd = { .ps = 99 };
	struct rdma_ucm_create_id_resp resp;
	uint8_t junk[512];

	memset(junk, 0xa5, sizeof(junk));
	assert_int_equal(COMMAND(net, ch, CREATE_ID, cmd, resp), -EINVAL);
	assert_int_equal(
		command(net, ch, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), &resp, 3),
		-ENOSPC);
	assert_int_equal(command(net, ch, RDMA_USER_CM_CMD_GET_OPTION, junk, 8, NULL, 0),
			 -ENOSYS);
	assert_int_equal(command(net, ch, 1000, junk, 8, NULL, 0), -EINVAL);
	for (uint32_t n = 0; n < 25; n++)
		for (size_t len = 0; len <= sizeof(junk); len += 8)
			assert_true(command(net, ch, n, junk, len, junk, 512) < 0);
	rnd_ucma_close(ch, net->now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, ucma_kit_setup, ucma_kit_teardown)
		TEST(ports_are_taken_once),
		TEST(an_id_that_was_not_bound_has_no_address),
		TEST(a_port_that_may_be_shared_listens_once),
		TEST(addresses_are_ours_or_refused),
		TEST(loopback_stands_for_all_addresses),
		TEST(the_loopback_address_may_be_a_device_s),
		TEST(ids_belong_to_their_channel),
		TEST(a_request_is_no_id_before_it_is_seen),
		TEST(a_listener_moves_with_its_requests),
		TEST(an_id_moves_with_its_events),
		TEST(a_full_backlog_makes_clients_wait),
		TEST(a_group_is_joined),
		TEST(a_group_moves_with_its_id),
		TEST(an_event_counts_when_the_answer_is_sent),
		TEST(a_disconnect_finds_the_id_that_it_means),
		TEST(both_ends_of_a_connection_show_their_queue_pairs),
		TEST(a_listener_of_all_addresses_is_shown),
		TEST(rubbish_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
