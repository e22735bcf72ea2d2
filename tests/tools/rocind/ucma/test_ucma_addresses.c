/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_ucma_addresses.c - ids of both families, addresses that mean something on one
 * interface only, and ports that several ids want.
 */
#include "ucma_kit.h"

#include "tools/rocind/ucma/ports.h"

enum {
	IFINDEX = 7, /* of the kit's devices */
};

/* ---- Devices with IPv6 addresses ---- */

static struct rn_gid global6(uint8_t last)
{
	return (struct rn_gid){ .raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = last } };
}

static struct rn_gid link_local(uint8_t last)
{
	return (struct rn_gid){ .raw = { 0xfe, 0x80, [15] = last } };
}

static struct sockaddr_in6 ip6(struct rn_gid gid, uint32_t scope, uint16_t port)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_scope_id = scope };

	memcpy(&sa.sin6_addr, gid.raw, sizeof(gid.raw));
	return sa;
}

/* Each host gets 2001:db8::N and fe80::N beside 10.0.0.N; routes lead from the first. */
static void add_ipv6(struct net *net)
{
	for (uint8_t i = 0; i < 2; i++) {
		struct rn_netdev *nd = &net->host[i].nd;

		nd->gid[nd->gid_count++] = link_local(i + 1);
		nd->gid[nd->gid_count++] = global6(i + 1);
		net->host[i].route_src = &nd->gid[2];
	}
}

static struct rdma_ucm_query_addr_resp ends_of(struct net *net,
					       struct rnd_ucma_channel *ch, uint32_t id)
{
	struct rdma_ucm_query query = { .id = id, .option = RDMA_USER_CM_QUERY_ADDR };
	struct rdma_ucm_query_addr_resp resp = { 0 };

	assert_int_equal(COMMAND(net, ch, QUERY, query, resp), 0);
	return resp;
}

static void expect_end6(const void *sa, struct rn_gid gid, uint32_t scope)
{
	struct sockaddr_in6 sin6;

	memcpy(&sin6, sa, sizeof(sin6));
	assert_int_equal(sin6.sin6_family, AF_INET6);
	assert_memory_equal(&sin6.sin6_addr, gid.raw, sizeof(gid.raw));
	assert_int_equal(sin6.sin6_scope_id, scope);
}

static int resolve_from(struct net *net, struct rnd_ucma_channel *ch, uint32_t id,
			struct sockaddr_in6 src, struct sockaddr_in6 dst)
{
	struct rdma_ucm_resolve_ip cmd = { .id = id, .src_addr = src, .dst_addr = dst };

	return ORDER(net, ch, RESOLVE_IP, cmd);
}

static int only_own_family(struct net *net, struct rnd_ucma_channel *ch, uint32_t id)
{
	static const int one = 1;

	return set_option(net, ch, id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one,
			  sizeof(one));
}

/* ---- Link-local addresses ---- */

static void a_link_local_address_needs_its_interface(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch;
	uint32_t id;

	add_ipv6(net);
	ch = open_channel(net, 0);
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	assert_int_equal(bind_ip(net, ch, id, ip6(link_local(1), 0, 0)), -EINVAL);
	assert_int_equal(resolve_ip(net, ch, id, ip6(link_local(2), 0, TCP_PORT)),
			 -EINVAL);
	assert_int_equal(bind_ip(net, ch, id, ip6(link_local(1), IFINDEX + 1, 0)),
			 -EADDRNOTAVAIL);
	assert_int_equal(bind_ip(net, ch, id, ip6(link_local(1), IFINDEX, 0)), 0);
	rnd_ucma_close(ch, net->now);
}

/* Both interfaces of a machine may have the same one. */
static void a_link_local_address_is_that_of_the_interface_it_names(void **state)
{
	struct net *net = *state;
	struct rn_netdev devs[2];
	struct rnd_ucma_channel *ch;
	uint32_t id;

	add_ipv6(net);
	devs[0] = devs[1] = net->host[0].nd;
	strcpy(devs[1].ibdev, "rocin1");
	devs[1].ifindex = IFINDEX + 1;
	devs[1].node_guid = 0x999;
	ch = rnd_ucma_open(net->host[0].ucma, devs, 2, net);
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	assert_int_equal(bind_ip(net, ch, id, ip6(link_local(1), IFINDEX + 1, 0)), 0);
	assert_int_equal(be64toh(ends_of(net, ch, id).node_guid), 0x999);
	rnd_ucma_close(ch, net->now);
}

static void a_link_local_connection_keeps_its_interface(void **state)
{
	struct net *net = *state;
	struct rdma_ucm_query_addr_resp ends;
	struct pair p = { 0 };

	add_ipv6(net);
	net->host[0].route_src = &net->host[0].nd.gid[1];
	p.server = open_channel(net, 1);
	p.server_id = create_id(net, p.server, SERVER_UID, RDMA_PS_TCP);
	assert_int_equal(bind_ip(net, p.server, p.server_id,
				 ip6(link_local(2), IFINDEX, TCP_PORT)),
			 0);
	assert_int_equal(listen_on(net, p.server, p.server_id, 0), 0);
	p.client = open_channel(net, 0);
	p.client_id = create_id(net, p.client, CLIENT_UID, RDMA_PS_TCP);
	assert_int_equal(resolve_ip(net, p.client, p.client_id,
				    ip6(link_local(2), IFINDEX, TCP_PORT)),
			 0);
	event(net, p.client, RND_EV_ADDR_RESOLVED);
	assert_int_equal(resolve_route(net, p.client, p.client_id), 0);
	event(net, p.client, RND_EV_ROUTE_RESOLVED);
	assert_int_equal(connect_to(net, &p, ""), 0);
	p.child_id = event(net, p.server, RND_EV_CONNECT_REQUEST).id;
	ends = ends_of(net, p.server, p.child_id);
	expect_end6(&ends.src_addr, link_local(2), IFINDEX);
	expect_end6(&ends.dst_addr, link_local(1), IFINDEX);
	end(net, &p);
}

/* Packets from a link-local address do not leave the link. */
static void a_destination_beyond_the_link_has_a_source_that_is_known_there(void **state)
{
	struct net *net = *state;
	struct rdma_ucm_query_addr_resp ends;
	struct rnd_ucma_channel *ch;
	const struct rn_gid odd = global6(77);
	uint32_t id;

	add_ipv6(net);
	ch = open_channel(net, 0);
	/* The routing table would rather have an address that is no device's. */
	net->host[0].route_src = &odd;
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	assert_int_equal(resolve_ip(net, ch, id, ip6(global6(2), 0, TCP_PORT)), 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	ends = ends_of(net, ch, id);
	expect_end6(&ends.src_addr, global6(1), 0);
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	assert_int_equal(resolve_ip(net, ch, id, ip6(link_local(2), IFINDEX, TCP_PORT)),
			 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	ends = ends_of(net, ch, id);
	expect_end6(&ends.src_addr, link_local(1), IFINDEX);
	rnd_ucma_close(ch, net->now);
}

/* ---- Families ---- */

static void an_id_of_one_family_reaches_no_address_of_the_other(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch;
	uint32_t id;

	add_ipv6(net);
	ch = open_channel(net, 0);
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	assert_int_equal(bind_ip(net, ch, id, ip(10, 1, 0)), 0);
	assert_int_equal(resolve_ip(net, ch, id, ip6(global6(2), 0, TCP_PORT)), -EINVAL);
	no_event(net, ch);
	assert_int_equal(resolve_ip(net, ch, id, ip(10, 2, TCP_PORT)), 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	rnd_ucma_close(ch, net->now);
}

/* It can be resolved to another one afterwards. */
static void an_id_that_cannot_be_resolved_has_no_destination(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t id = create_id(net, ch, 1, RDMA_PS_TCP);

	assert_int_equal(resolve_from(net, ch, id, ip(10, 77, 0), ip(10, 2, TCP_PORT)),
			 -EADDRNOTAVAIL);
	assert_int_equal(ends_of(net, ch, id).dst_size, 0);
	assert_int_equal(resolve_from(net, ch, id, ip(10, 1, 0), ip(10, 2, TCP_PORT)), 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	assert_int_equal(ends_of(net, ch, id).dst_size, sizeof(struct sockaddr_in));
	rnd_ucma_close(ch, net->now);
}

/* Of the device 10.0.0.1, fe80::1 and 2001:db8::1 are wanted. */
static void a_wildcard_takes_the_addresses_of_its_families(void **state)
{
	static const struct rn_gid any;
	struct net *net = *state;
	struct host *h = &net->host[0];
	struct rnd_ucma_channel *ch;
	uint32_t id;

	add_ipv6(net);
	ch = open_channel(net, 0);
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	assert_int_equal(bind_ip(net, ch, id, ip(0, 0, TCP_PORT)), 0);
	assert_int_equal(h->held, 1);
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	assert_int_equal(bind_ip(net, ch, id, ip6(any, 0, TCP_PORT + 1)), 0);
	assert_int_equal(h->held, 1 + 3);
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	assert_int_equal(only_own_family(net, ch, id), 0);
	assert_int_equal(bind_ip(net, ch, id, ip6(any, 0, TCP_PORT + 2)), 0);
	assert_int_equal(h->held, 1 + 3 + 2);
	rnd_ucma_close(ch, net->now);
}

/* Whichever of them that is. */
static void a_wildcard_leaves_to_others_what_they_hold(void **state)
{
	static const struct rn_gid any;
	struct net *net = *state;
	struct host *h = &net->host[0];
	struct rnd_ucma_channel *ch;

	add_ipv6(net);
	ch = open_channel(net, 0);
	for (uint16_t i = 0; i < 3; i++) {
		uint32_t id = create_id(net, ch, 1, RDMA_PS_TCP);

		h->elsewhere = &h->nd.gid[i];
		assert_int_equal(bind_ip(net, ch, id, ip6(any, 0, TCP_PORT + i)), 0);
		assert_int_equal(listen_on(net, ch, id, 0), 0);
		assert_int_equal(h->held, 2 * (i + 1));
	}
	rnd_ucma_close(ch, net->now);
}

/* The id and its port are as they were: what was held may be let go. */
static void an_id_without_any_address_to_hold_is_not_bound(void **state)
{
	struct net *net = *state;
	struct host *h = &net->host[0];
	struct rnd_ucma_channel *ch;
	uint32_t id;

	add_ipv6(net);
	ch = open_channel(net, 0);
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	h->elsewhere = &h->nd.gid[0];
	assert_int_equal(bind_ip(net, ch, id, ip(0, 0, TCP_PORT)), -EADDRINUSE);
	assert_int_equal(bind_ip(net, ch, id, ip(10, 1, TCP_PORT)), -EADDRINUSE);
	assert_int_equal(h->held, 0);
	h->elsewhere = NULL;
	assert_int_equal(bind_ip(net, ch, id, ip(10, 1, TCP_PORT)), 0);
	rnd_ucma_close(ch, net->now);
}

/* The program hears of it as of anything else that stands in the way of its packets. */
static void a_way_whose_source_something_else_holds_is_none(void **state)
{
	struct net *net = *state;
	struct host *h = &net->host[0];
	struct rnd_ucma_channel *ch;
	uint32_t id;

	add_ipv6(net);
	ch = open_channel(net, 0);
	id = create_id(net, ch, 1, RDMA_PS_TCP);
	h->elsewhere = &h->nd.gid[2];
	assert_int_equal(resolve_ip(net, ch, id, ip6(global6(2), 0, TCP_PORT)), 0);
	assert_int_equal((int)event(net, ch, RND_EV_ADDR_ERROR).status, -EADDRINUSE);
	h->elsewhere = NULL;
	assert_int_equal(resolve_ip(net, ch, id, ip6(global6(2), 0, TCP_PORT)), 0);
	event(net, ch, RND_EV_ADDR_RESOLVED);
	rnd_ucma_close(ch, net->now);
}

/* Return: as event() gives it. */
static struct rdma_ucm_event_resp connect_v6(struct net *net, struct pair *p,
					     struct rnd_ucma_channel *at, uint32_t type)
{
	p->client = open_channel(net, 0);
	p->client_id = create_id(net, p->client, CLIENT_UID, RDMA_PS_TCP);
	assert_int_equal(
		resolve_ip(net, p->client, p->client_id, ip6(global6(2), 0, TCP_PORT)),
		0);
	event(net, p->client, RND_EV_ADDR_RESOLVED);
	assert_int_equal(resolve_route(net, p->client, p->client_id), 0);
	event(net, p->client, RND_EV_ROUTE_RESOLVED);
	assert_int_equal(connect_to(net, p, ""), 0);
	return event(net, at ? at : p->client, type);
}

static void a_listener_of_all_ipv4_addresses_takes_no_ipv6_requests(void **state)
{
	struct net *net = *state;
	struct pair p = { 0 };

	add_ipv6(net);
	start_server(net, &p, RDMA_PS_TCP);
	assert_int_equal(connect_v6(net, &p, NULL, RND_EV_REJECTED).status,
			 RN_CM_REJ_CONSUMER);
	no_event(net, p.server);
	end(net, &p);
}

static void listeners_of_one_family_each_share_a_port(void **state)
{
	static const struct rn_gid any;
	struct net *net = *state;
	struct pair p = { 0 };
	uint32_t v6, both;

	add_ipv6(net);
	start_server(net, &p, RDMA_PS_TCP);
	both = create_id(net, p.server, 1, RDMA_PS_TCP);
	assert_int_equal(bind_ip(net, p.server, both, ip6(any, 0, TCP_PORT)),
			 -EADDRNOTAVAIL);
	v6 = create_id(net, p.server, 0x66, RDMA_PS_TCP);
	assert_int_equal(only_own_family(net, p.server, v6), 0);
	assert_int_equal(bind_ip(net, p.server, v6, ip6(any, 0, TCP_PORT)), 0);
	assert_int_equal(listen_on(net, p.server, v6, 0), 0);
	assert_int_equal(connect_v6(net, &p, p.server, RND_EV_CONNECT_REQUEST).uid, 0x66);
	rnd_ucma_close(p.client, net->now);
	net->host[0].route_src = NULL;
	start_client(net, &p, RDMA_PS_TCP);
	assert_int_equal(connect_to(net, &p, ""), 0);
	assert_int_equal(event(net, p.server, RND_EV_CONNECT_REQUEST).uid, SERVER_UID);
	end(net, &p);
}

/* ---- Ports ---- */

static int share(struct net *net, struct rnd_ucma_channel *ch, uint32_t id)
{
	static const int one = 1;

	return set_option(net, ch, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one,
			  sizeof(one));
}

static void a_port_is_shared_by_those_who_all_say_so(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t id[3];

	for (unsigned i = 0; i < 3; i++)
		id[i] = create_id(net, ch, 1, RDMA_PS_TCP);
	assert_int_equal(share(net, ch, id[0]), 0);
	assert_int_equal(share(net, ch, id[1]), 0);
	assert_int_equal(bind_ip(net, ch, id[0], ip(10, 1, TCP_PORT)), 0);
	assert_int_equal(bind_ip(net, ch, id[1], ip(10, 1, TCP_PORT)), 0);
	assert_int_equal(bind_ip(net, ch, id[2], ip(10, 1, TCP_PORT)), -EADDRINUSE);
	assert_int_equal(share(net, ch, id[2]), 0);
	assert_int_equal(bind_ip(net, ch, id[2], ip(10, 1, TCP_PORT)), 0);
	rnd_ucma_close(ch, net->now);
}

static void a_port_is_shared_with_nobody_from_when_its_owner_listens(void **state)
{
	struct net *net = *state;
	struct rnd_ucma_channel *ch = open_channel(net, 0);
	uint32_t id[2];

	for (unsigned i = 0; i < 2; i++) {
		id[i] = create_id(net, ch, 1, RDMA_PS_TCP);
		assert_int_equal(share(net, ch, id[i]), 0);
	}
	assert_int_equal(bind_ip(net, ch, id[0], ip(10, 1, TCP_PORT)), 0);
	assert_int_equal(listen_on(net, ch, id[0], 0), 0);
	assert_int_equal(bind_ip(net, ch, id[1], ip(10, 1, TCP_PORT)), -EADDRINUSE);
	rnd_ucma_close(ch, net->now);
}

static struct rnd_port_user user_at(uint8_t last)
{
	struct rnd_port_user u = {
		.ps = RN_CM_PS_TCP,
		.src = { .family = AF_INET,
			 .gid = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, last } } }
	};

	return u;
}

static void an_ephemeral_port_is_one_that_nobody_has(void **state)
{
	static struct rnd_ports ports;
	struct rnd_port_user u[4];

	(void)state;
	rnd_ports_init(&ports, 40000, 40002, 1024);
	for (unsigned i = 0; i < 4; i++) {
		u[i] = user_at(1);
		rn_list_init(&u[i].link);
		assert_int_equal(rnd_port_take(&ports, &u[i], 1),
				 i < 3 ? 0 : -EADDRNOTAVAIL);
	}
	/* From where chance says, round the range. */
	assert_int_equal(u[0].src.port, 40001);
	assert_int_equal(u[1].src.port, 40002);
	assert_int_equal(u[2].src.port, 40000);
	rnd_port_release(&ports, &u[1]);
	assert_int_equal(rnd_port_take(&ports, &u[3], 0), 0);
	assert_int_equal(u[3].src.port, 40002);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, ucma_kit_setup, ucma_kit_teardown)
		TEST(a_link_local_address_needs_its_interface),
		TEST(a_link_local_address_is_that_of_the_interface_it_names),
		TEST(a_link_local_connection_keeps_its_interface),
		TEST(a_destination_beyond_the_link_has_a_source_that_is_known_there),
		TEST(an_id_of_one_family_reaches_no_address_of_the_other),
		TEST(an_id_that_cannot_be_resolved_has_no_destination),
		TEST(a_wildcard_takes_the_addresses_of_its_families),
		TEST(a_wildcard_leaves_to_others_what_they_hold),
		TEST(an_id_without_any_address_to_hold_is_not_bound),
		TEST(a_way_whose_source_something_else_holds_is_none),
		TEST(a_listener_of_all_ipv4_addresses_takes_no_ipv6_requests),
		TEST(listeners_of_one_family_each_share_a_port),
		TEST(a_port_is_shared_by_those_who_all_say_so),
		TEST(a_port_is_shared_with_nobody_from_when_its_owner_listens),
		TEST(an_ephemeral_port_is_one_that_nobody_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
