/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_udp_connected.c - sockets that are connected: who gets one, and what leaves by it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/stats.h"
#include "tests/kit/system/descriptors.h"
#include "tests/kit/system/io_kind.h"
#include "tests/kit/system/roce_socket.h"
#include "transport/io/udp/net_udp.h"

enum {
	DATA = 200, /* BTH to pad; the ICRC comes behind */
	PACKET = DATA + RN_ICRC_LEN,
	SOON = 100,  /* super-packets after which a destination has a connected socket */
	LONG = 3000, /* ... or has lost it to another */
};

static struct rn_udp *a, *b;
static struct rn_net *tx, *rx;
static struct rn_flow flow; /* from a to b */
static bool has_connected = true;
static uint64_t stats[RN_STAT_COUNT];
static struct rn_icrc_hint hint; /* what b remembers of the connected socket */
static struct rn_rx got[RN_RX_BATCH];
static uint8_t data[RN_SUPER_BYTES];

static struct rn_udp *open_end(const struct rn_gid *gid)
{
	int sock = roce_socket(gid);
	struct rn_udp_cfg cfg = { .sock_count = 1,
				  .sock = &sock,
				  .gid = gid,
				  .ifindex = 1,
				  .gso = true,
				  .connected = has_connected,
				  .uring = io_by_uring(),
				  .stats = stats };

	return sock < 0 ? NULL : rn_udp_new(&cfg);
}

static int open_world(const struct rn_gid *from, const struct rn_gid *to)
{
	a = open_end(from);
	b = from == to ? NULL : open_end(to);
	if (!a)
		return -1;
	flow = (struct rn_flow){ .src = *from,
				 .dst = *to,
				 .ifindex = 1,
				 .sport = RN_ROCE_PORT,
				 .hop_limit = 64 };
	tx = rn_udp_net(a);
	rx = rn_udp_net(b ? b : a);
	hint = (struct rn_icrc_hint){ 0 };
	return 0;
}

static int setup(void **state)
{
	const struct rn_gid from = roce_gid(0), to = roce_gid(1);

	(void)state;
	return open_world(&from, &to);
}

static int teardown(void **state)
{
	(void)state;
	rn_udp_free(a);
	rn_udp_free(b);
	a = b = NULL;
	has_connected = true;
	return 0;
}

static struct rn_tx_socket tx_socket(void)
{
	return rn_net_tx_socket(tx, &flow, 0, 0);
}

/* The connected socket of a destination that many packets go to. */
static struct rn_tx_socket earn(void)
{
	struct rn_tx_socket o = { 0 };

	for (unsigned i = 0; i < SOON && !o.id; i++)
		o = tx_socket();
	return o;
}

/* As the stage does it: @count packets of @len bytes, signed for the connected socket. */
static int send_by(const struct rn_tx_socket *o, uint32_t count, uint32_t len)
{
	struct rn_flow out = flow;
	struct rn_super s = { .flow = &out,
			      .data = data,
			      .seg_len = len,
			      .count = count,
			      .len = count * len,
			      .tx_socket = *o };

	if (o->id)
		out.sport = o->sport;
	for (uint32_t i = 0; i < count; i++) {
		memset(data + i * len, (int)i, len);
		rn_icrc_seal(&out, rn_super_ip_id(o, tx->gso, i), data + i * len,
			     len - RN_ICRC_LEN);
	}
	return tx->ops->transmit(tx->ctx, &s);
}

/* @solved: the identification could not have been expected. */
static void receive(uint32_t count, uint32_t len, uint16_t sport, bool solved)
{
	assert_int_equal(rx->ops->receive(rx->ctx, got), count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(got[i].len, len);
		assert_int_equal(got[i].data[0], i);
		assert_int_equal(got[i].flow->sport, sport);
		assert_int_equal(rn_icrc_check(&hint, got[i].flow, got[i].data,
					       got[i].len, got[i].gro_idx, !solved),
				 solved ? RN_ICRC_OK_SOLVED : RN_ICRC_OK);
		solved = false;
	}
}

static void destination_of_many_packets_gets_a_connected_socket(void **state)
{
	struct rn_tx_socket o = tx_socket();

	(void)state;
	assert_int_equal(o.id, 0); /* not of a few */
	o = earn();
	assert_int_not_equal(o.id, 0);
	assert_true(o.sport >= 0xf000); /* dynamic, and not the kernel's to give */
	assert_int_equal(tx_socket().sport, o.sport);
	/* The next super-packet has not left yet. */
	assert_int_equal(tx_socket().first_id, o.first_id);
}

/* Whatever the kernel numbers them by, the ICRC says the same. */
static void packets_are_signed_with_what_their_headers_have(void **state)
{
	static const struct {
		uint32_t count, len;
	} sent[] = {
		{ 1, PACKET },	    { 1, 20 }, { 10, PACKET }, { 10, PACKET },
		{ 10, PACKET },	    { 3, 64 }, { 1, PACKET },  { 1, PACKET + 40 },
		{ 1, PACKET + 40 }, { 5, 64 }, { 64, PACKET }, { 5, 64 },
		{ 64, PACKET },	    { 1, 20 },
	};
	struct rn_tx_socket o = earn();

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(sent); i++) {
		o = tx_socket();
		assert_int_equal(send_by(&o, sent[i].count, sent[i].len), 0);
		receive(sent[i].count, sent[i].len, o.sport, i == 0);
	}
}

static void others_go_by_the_shared_socket_as_before(void **state)
{
	const struct rn_tx_socket shared = { 0 };
	struct rn_tx_socket o = earn();

	(void)state;
	assert_int_equal(send_by(&o, 2, PACKET), 0);
	receive(2, PACKET, o.sport, true);
	hint = (struct rn_icrc_hint){ 0 };
	assert_int_equal(send_by(&shared, 4, PACKET), 0);
	receive(4, PACKET, RN_ROCE_PORT, false);
}

/* Traffic class and hop limit are the socket's own. */
static void headers_are_those_of_the_flow(void **state)
{
	struct rn_tx_socket o;

	(void)state;
	flow.tclass = 0x6a;
	flow.hop_limit = 17;
	o = earn();
	assert_int_equal(send_by(&o, 3, PACKET), 0);
	receive(3, PACKET, o.sport, true);
	assert_int_equal(got[0].flow->tclass, 0x6a);
	assert_int_equal(got[0].flow->hop_limit, 17);
}

/* The kernel tells a connected socket that nobody listened; a connection may yet be. */
static void peer_that_comes_back_is_reached(void **state)
{
	const struct rn_gid to = flow.dst;
	struct rn_tx_socket o = earn();

	(void)state;
	rn_udp_set(b, 0, -1, NULL);
	for (unsigned i = 0; i < 3; i++) {
		o = tx_socket();
		assert_int_equal(send_by(&o, 2, PACKET), 0);
	}
	rn_udp_set(b, 0, roce_socket(&to), &to);
	assert_int_not_equal(tx_socket().id, 0);
	o = tx_socket();
	assert_int_equal(send_by(&o, 2, PACKET), 0);
	receive(2, PACKET, o.sport, true);
}

static void connected_socket_goes_with_the_address(void **state)
{
	struct rn_tx_socket o = earn();

	(void)state;
	rn_udp_set(a, 0, -1, NULL);
	assert_int_equal(send_by(&o, 2, PACKET), -EADDRNOTAVAIL);
	assert_int_equal(earn().id, 0);
}

/* A super-packet that was signed for a socket that is another one by now. */
static void what_a_connected_socket_that_is_gone_was_to_take_is_lost(void **state)
{
	const struct rn_gid from = flow.src;
	struct rn_tx_socket o = earn();

	(void)state;
	rn_udp_set(a, 0, -1, NULL);
	rn_udp_set(a, 0, roce_socket(&from), &from);
	assert_int_equal(send_by(&o, 2, PACKET), -EADDRNOTAVAIL);
	o = earn();
	assert_int_equal(send_by(&o, 2, PACKET), 0);
	receive(2, PACKET, o.sport, true);
}

/* After an error nobody knows what the kernel has counted. */
static void connected_socket_that_fails_is_not_used_again(void **state)
{
	struct rn_tx_socket o = earn();

	(void)state;
	/* More segments than any kernel takes. */
	assert_int_equal(send_by(&o, 200, 64), -EINVAL);
	o = earn();
	assert_int_equal(o.id, 0);
	assert_int_equal(send_by(&o, 3, PACKET), 0);
	receive(3, PACKET, RN_ROCE_PORT, false);
}

/* There are few, and they are for those who have much to say. */
static void many_destinations_take_turns(void **state)
{
	unsigned with = 0, most = 0;

	(void)state;
	for (unsigned n = 0; n < 24; n++) {
		flow.dst = (struct rn_gid){ .raw = { [10] = 0xff,
						     [11] = 0xff,
						     [12] = 127,
						     [13] = 1,
						     [15] = (uint8_t)n } };
		with += earn().id != 0;
	}
	assert_in_range(with, 4, 16);
	for (unsigned n = 100; n < 104; n++) {
		flow.dst.raw[15] = (uint8_t)n;
		for (unsigned i = 0; i < LONG; i++)
			(void)tx_socket();
		most += tx_socket().id != 0;
	}
	assert_int_equal(most, 4);
}

/* A firewall in between may follow connections. */
static void another_host_is_reached_by_the_shared_socket(void **state)
{
	(void)state;
	flow.dst = (struct rn_gid){ .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } };
	assert_int_equal(earn().id, 0);
}

/* What it was opened with, and it itself once its address goes or it fails. */
static void a_connected_socket_is_one_descriptor_as_long_as_it_is_there(void **state)
{
	const struct rn_gid from = flow.src;
	unsigned before = count_descriptors();
	struct rn_tx_socket o;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_not_equal(earn().id, 0);
		assert_int_equal(count_descriptors(), before + 1);
		rn_udp_set(a, 0, -1, NULL);
		rn_udp_set(a, 0, roce_socket(&from), &from);
		assert_int_equal(count_descriptors(), before);
	}
	o = earn();
	assert_int_equal(send_by(&o, 200, 64), -EINVAL);
	assert_int_equal(count_descriptors(), before);
}

/* The destination is on another host, or the source is not ours to send from. */
static void a_connected_socket_that_does_not_come_about_leaves_nothing_open(void **state)
{
	const struct rn_gid outside = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } };
	const struct rn_flow inside = flow;
	unsigned before = count_descriptors();

	(void)state;
	flow.dst = outside;
	assert_int_equal(earn().id, 0);
	flow = inside;
	flow.src = outside;
	assert_int_equal(earn().id, 0);
	assert_int_equal(count_descriptors(), before);
}

static void destinations_that_take_turns_leave_nothing_open(void **state)
{
	unsigned before = count_descriptors();

	(void)state;
	for (unsigned n = 0; n < 40; n++) {
		flow.dst.raw[15] = (uint8_t)n;
		for (unsigned i = 0; i < LONG; i++)
			(void)tx_socket();
		assert_in_range(count_descriptors(), before + 1, before + 16);
	}
	rn_udp_set(a, 0, -1, NULL);
	assert_int_equal(count_descriptors(), before - 1); /* with the address's own */
}

static void without_super_packets_there_is_none(void **state)
{
	(void)state;
	tx->gso = false;
	assert_int_equal(earn().id, 0);
}

static void who_wants_none_has_none(void **state)
{
	const struct rn_gid from = flow.src, to = flow.dst;

	teardown(state);
	has_connected = false;
	assert_int_equal(open_world(&from, &to), 0);
	assert_int_equal(earn().id, 0);
}

static void ipv6_has_no_identification_to_learn(void **state)
{
	const struct rn_gid lo6 = roce_gid_loopback6();
	struct rn_tx_socket o;

	if (open_world(&lo6, &lo6)) {
		skip(); /* no IPv6, or somebody else has the port of ::1 */
		return;
	}
	o = earn();
	assert_int_not_equal(o.id, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(send_by(&o, 7, PACKET), 0);
		receive(7, PACKET, o.sport, false);
	}
	teardown(state);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(destination_of_many_packets_gets_a_connected_socket),
		test(packets_are_signed_with_what_their_headers_have),
		test(others_go_by_the_shared_socket_as_before),
		test(headers_are_those_of_the_flow),
		test(peer_that_comes_back_is_reached),
		test(connected_socket_goes_with_the_address),
		test(what_a_connected_socket_that_is_gone_was_to_take_is_lost),
		test(connected_socket_that_fails_is_not_used_again),
		test(many_destinations_take_turns),
		test(another_host_is_reached_by_the_shared_socket),
		test(a_connected_socket_is_one_descriptor_as_long_as_it_is_there),
		test(a_connected_socket_that_does_not_come_about_leaves_nothing_open),
		test(destinations_that_take_turns_leave_nothing_open),
		test(without_super_packets_there_is_none),
		test(who_wants_none_has_none),
		cmocka_unit_test(ipv6_has_no_identification_to_learn),
	};
	int missing = io_missing();

	return missing ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
