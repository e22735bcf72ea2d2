/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_wire_ends.c - who hears of a local wire, and what rocind keeps of it. */
#include "tests/tools/rocind/kit/server_kit.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/rocind/server/server.h"

/* One with a device that takes wires. */
static struct guest with_device(unsigned first, unsigned count)
{
	struct rn_ctl_attach rq = attach_request(first, count);
	struct guest guest = come_and_greet();

	rq.wires = 1;
	attach(&guest, &rq, -1);
	return guest;
}

/* From address @at of one to address @to of the other. */
static struct rn_ctl_ends between(const struct guest *from, unsigned at,
				  const struct guest *peer, unsigned to)
{
	return (struct rn_ctl_ends){ .local = from->client->attachment.gid[at],
				     .peer = peer->client->attachment.gid[to],
				     .peer_slot = peer->client->attachment.slot };
}

static void connect_ends(const struct guest *from, unsigned at, const struct guest *peer)
{
	const struct rn_ctl_wire_ask rq = { .hdr = rn_ctl_hdr(RN_CTL_WIRE_ASK),
					    .ends = between(from, at, peer, 0) };

	request(from, &rq, -1);
	hear(from, RN_CTL_WIRE);
	hear(peer, RN_CTL_WIRE);
}

static unsigned wires_of(const struct guest *guest)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RN_CTL_WIRES_MAX; i++)
		n += guest->client->wires.wire[i] != NULL;
	return n;
}

static void expect_down(const struct guest *guest, const struct rn_ctl_ends *ends,
			int err)
{
	union rn_ctl_msg msg = hear(guest, RN_CTL_WIRE_DOWN);

	assert_memory_equal(&msg.wire_down.ends, ends, sizeof(*ends));
	assert_int_equal(msg.wire_down.err, err);
}

/* ---- Who gets one ---- */

/* A device as rnd_attach() leaves it, at an address that this machine need not have. */
static void pretend_device(struct guest *guest, unsigned slot, uint8_t last,
			   uint32_t ifindex)
{
	static struct rnd_group group;

	guest->client->attachment = (struct rnd_attachment){
		.slot = slot,
		.ifindex = ifindex,
		.gid_count = 1,
		.gid = { { .raw = { 0xfe, 0x80, [15] = last } } },
		.group = { &group },
		.wires = true,
		.stats_fd = -1,
	};
}

static void end_pretence(struct guest *guest)
{
	rnd_wires_close(guest->client);
	guest->client->attachment = (struct rnd_attachment){ .stats_fd = -1 };
	go(guest);
}

/* Two interfaces of a machine may have the same one, and slots of the same number. */
static void a_link_local_peer_is_one_of_the_same_interface(void **state)
{
	struct guest a = come_and_greet(), other = come_and_greet(), b = come_and_greet();
	struct rn_ctl_ends ends;

	(void)state;
	pretend_device(&a, 2, 1, 5);
	pretend_device(&other, 1, 2, 6);
	pretend_device(&b, 1, 2, 5);
	ends = between(&a, 0, &b, 0);
	rnd_wires_ask(a.client, &ends);
	hear(&a, RN_CTL_WIRE);
	hear(&b, RN_CTL_WIRE);
	assert_true(hears_nothing(&other));
	end_pretence(&b);
	expect_down(&a, &ends, 0);
	rnd_wires_ask(a.client, &ends);
	expect_down(&a, &ends, EHOSTUNREACH);
	assert_true(hears_nothing(&other));
	end_pretence(&other);
	end_pretence(&a);
}

/* The one that is told first would wait for packets from one that never will be. */
static void an_end_whose_peer_cannot_be_told_hears_that_there_is_none(void **state)
{
	struct guest a = with_device(0, 1), b = with_device(1, 1);
	struct rn_ctl_ends asked = between(&a, 0, &b, 0), theirs = between(&b, 0, &a, 0);

	(void)state;
	stop_listening(&a);
	rnd_wires_ask(a.client, &asked);
	hear(&b, RN_CTL_WIRE);
	expect_down(&b, &theirs, EAGAIN);
	assert_true(hears_nothing(&b));
	assert_int_equal(wires_of(&a), 0);
	assert_int_equal(wires_of(&b), 0);
	go(&a);
	go(&b);
}

static void rocind_keeps_none_of_the_memory_of_a_wire(void **state)
{
	struct guest a = with_device(0, 1), b = with_device(1, 1), c = with_device(2, 1);
	unsigned before;

	(void)state;
	/* Each process has a doorbell from its first wire on. */
	connect_ends(&a, 0, &b);
	connect_ends(&a, 0, &c);
	before = open_descriptors();
	connect_ends(&b, 0, &c);
	assert_int_equal(open_descriptors(), before);
	go(&a);
	go(&b);
	go(&c);
}

/* ---- Who hears of its end ---- */

static void who_loses_an_address_hears_of_the_wires_from_there(void **state)
{
	struct guest a = with_device(0, 2), b = with_device(2, 1);
	const struct rn_ctl_ends own = between(&a, 0, &b, 0),
				 theirs = between(&b, 0, &a, 0);

	(void)state;
	connect_ends(&a, 0, &b);
	connect_ends(&a, 1, &b);
	rnd_wires_close_gid(a.client, 0);
	expect_down(&a, &own, 0);
	expect_down(&b, &theirs, 0);
	assert_true(hears_nothing(&a) && hears_nothing(&b));
	assert_int_equal(wires_of(&a), 1);
	go(&b);
	go(&a);
}

static void a_device_that_is_given_back_takes_its_wires_along(void **state)
{
	const struct rn_ctl_hdr detach = rn_ctl_hdr(RN_CTL_DETACH);
	struct guest a = with_device(0, 1), b = with_device(1, 1);
	const struct rn_ctl_ends theirs = between(&b, 0, &a, 0);

	(void)state;
	connect_ends(&a, 0, &b);
	request(&a, &detach, -1);
	hear(&a, RN_CTL_DETACHED);
	expect_down(&b, &theirs, 0);
	assert_int_equal(wires_of(&b), 0);
	go(&a);
	go(&b);
}

/* That all is over is one message. */
static void at_its_end_rocind_tells_of_no_single_wire(void **state)
{
	struct guest a = with_device(0, 1), b = with_device(1, 1);

	(void)state;
	connect_ends(&a, 0, &b);
	server.stopping = true;
	rnd_wires_close(a.client);
	assert_true(hears_nothing(&b));
	assert_int_equal(wires_of(&b), 0);
	go(&a);
	go(&b);
}

/* It would believe for ever in a wire that has no other end. */
static void who_does_not_take_its_events_is_disconnected(void **state)
{
	struct guest a = with_device(0, 1), b = with_device(1, 1);

	(void)state;
	connect_ends(&a, 0, &b);
	stop_listening(&b);
	go(&a);
	assert_null(server.clients);
	close(b.sock);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, server_setup, server_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_link_local_peer_is_one_of_the_same_interface),
		TEST(an_end_whose_peer_cannot_be_told_hears_that_there_is_none),
		TEST(rocind_keeps_none_of_the_memory_of_a_wire),
		TEST(who_loses_an_address_hears_of_the_wires_from_there),
		TEST(a_device_that_is_given_back_takes_its_wires_along),
		TEST(at_its_end_rocind_tells_of_no_single_wire),
		TEST(who_does_not_take_its_events_is_disconnected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
