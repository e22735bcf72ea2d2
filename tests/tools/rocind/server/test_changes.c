/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_changes.c - what clients hear when their interface changes, where it and what the
 * kernel says of it are the test's. (test_watch.c has a real one.)
 */
#include "tests/tools/rocind/kit/server_kit.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/kit/work.h"
#include "tools/rocind/net/iface.h"
#include "tools/rocind/server/server.h"

int __wrap_rnd_iface_read(uint32_t ifindex, struct rnd_iface *out);
ssize_t __real_recv(int fd, void *buf, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags);

static struct rnd_iface iface;	   /* of every number */
static unsigned news;		   /* messages that wait there */
static int errors[2], error_count; /* of the socket of news, before it is read */

int __wrap_rnd_iface_read(uint32_t ifindex, struct rnd_iface *out)
{
	(void)ifindex;
	*out = iface;
	return 0;
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	work_add(WORK_SYSCALL);
	if (fd == server.netlink.fd && news > 0) {
		const struct nlmsghdr any = { .nlmsg_len = sizeof(any),
					      .nlmsg_type = RTM_NEWLINK };

		/* As many as there is room for, none of which says anything. */
		news--;
		for (size_t at = 0; at + sizeof(any) <= len; at += sizeof(any))
			memcpy((uint8_t *)buf + at, &any, sizeof(any));
		return (ssize_t)(len / sizeof(any) * sizeof(any));
	}
	if (fd != server.netlink.fd || !error_count)
		return __real_recv(fd, buf, len, flags);
	errno = errors[--error_count];
	return -1;
}

/* Its addresses are server_gid(@first) and those behind, without that at @but. */
static void have_addresses(unsigned first, unsigned count, unsigned but)
{
	iface.gid_count = 0;
	for (unsigned i = 0; i < count; i++)
		if (i != but)
			iface.gid[iface.gid_count++] = server_gid(first + i);
}

static int kernel; /* the other end of the socket of news */

static int setup(void **state)
{
	int pair[2];

	iface = (struct rnd_iface){ .up = true, .knows_gids = true };
	error_count = 0;
	news = 0;
	if (server_setup(state) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -1;
	server.netlink.fd = pair[0];
	kernel = pair[1];
	return 0;
}

static int teardown(void **state)
{
	close(kernel);
	return server_teardown(state);
}

/* A device with the interface's addresses as they are now. */
static struct guest with_device(bool follows)
{
	struct rn_ctl_attach rq = attach_request(0, iface.gid_count);
	struct guest guest = come_and_greet();

	memcpy(rq.gid, iface.gid, sizeof(rq.gid));
	rq.ifindex = 7;
	rq.all_addresses = follows;
	rq.wires = 1;
	attach(&guest, &rq, -1);
	return guest;
}

static void expect_change(const struct guest *guest, unsigned idx, bool added,
			  const struct rn_gid gid)
{
	struct rn_ctl_packet pkt = hear_all(guest, RN_CTL_GID_CHANGE);

	assert_int_equal(pkt.msg.gid_change.gid_idx, idx);
	assert_int_equal(pkt.msg.gid_change.added, added);
	assert_int_equal(pkt.fd_count, added);
	assert_memory_equal(&pkt.msg.gid_change.gid, &gid, sizeof(gid));
	rn_ctl_close_fds(&pkt);
}

/* ---- The socket of news ---- */

/* As where a sandbox denies the call: the socket would stay readable. */
static void news_that_cannot_be_read_are_not_looked_at_for_ever(void **state)
{
	(void)state;
	errors[0] = EAGAIN;
	error_count = 1;
	rnd_watch_changed(&server);
	assert_int_not_equal(server.netlink.fd, -1);
	errors[0] = EPERM;
	error_count = 1;
	rnd_watch_changed(&server);
	assert_int_equal(server.netlink.fd, -1);
}

/* Interfaces that come and go without end. */
static void news_are_taken_in_pieces(void **state)
{
	struct guest guest[8];

	(void)state;
	have_addresses(0, 2, 2);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(guest); i++)
		guest[i] = with_device(false);
	news = 1000;
	while (news > 0) {
		unsigned before = news;

		work_begin();
		rnd_watch_changed(&server);
		assert_in_range(before - news, 1, 64);
		assert_work_of(before - news + RN_ARRAY_SIZE(guest), WORK_MESSAGE);
	}
	for (unsigned i = 0; i < RN_ARRAY_SIZE(guest); i++)
		go(&guest[i]);
}

/* ---- Addresses ---- */

static void an_address_that_goes_leaves_its_slot_to_others(void **state)
{
	struct guest guest, other;

	(void)state;
	have_addresses(0, 2, 2);
	guest = with_device(false);
	have_addresses(0, 2, 1);
	rnd_watch_changed(&server);
	expect_change(&guest, 1, false, server_gid(1));
	assert_null(guest.client->attachment.group[1]);
	have_addresses(1, 1, 1);
	other = with_device(false);
	assert_int_equal(other.client->attachment.slot, guest.client->attachment.slot);
	go(&guest);
	go(&other);
}

static void an_address_that_goes_takes_its_wires_along(void **state)
{
	struct rn_ctl_wire_ask rq = { .hdr = rn_ctl_hdr(RN_CTL_WIRE_ASK) };
	struct guest a, b;

	(void)state;
	have_addresses(0, 1, 1);
	a = with_device(false);
	have_addresses(1, 1, 1);
	b = with_device(false);
	rq.ends = (struct rn_ctl_ends){ .local = server_gid(0),
					.peer = server_gid(1),
					.peer_slot = b.client->attachment.slot };
	request(&a, &rq, -1);
	hear(&a, RN_CTL_WIRE);
	hear(&b, RN_CTL_WIRE);
	iface.gid_count = 0;
	rnd_watch_update(a.client);
	hear(&a, RN_CTL_WIRE_DOWN);
	expect_change(&a, 0, false, server_gid(0));
	hear(&b, RN_CTL_WIRE_DOWN);
	assert_null(b.client->wires.wire[0]);
	go(&a);
	go(&b);
}

static void an_address_comes_back_at_its_place(void **state)
{
	struct guest guest;

	(void)state;
	have_addresses(0, 2, 2);
	guest = with_device(true);
	have_addresses(0, 2, 0);
	rnd_watch_changed(&server);
	expect_change(&guest, 0, false, server_gid(0));
	have_addresses(0, 3, 3);
	rnd_watch_changed(&server);
	expect_change(&guest, 0, true, server_gid(0));
	expect_change(&guest, 2, true, server_gid(2));
	assert_true(hears_nothing(&guest));
	go(&guest);
}

/* A GID table has 16 places; those that were never used come first. */
static void a_new_address_takes_the_place_of_one_that_has_gone(void **state)
{
	struct guest guest;

	(void)state;
	have_addresses(0, RN_GID_MAX, 5);
	guest = with_device(true);
	have_addresses(0, RN_GID_MAX, 3);
	rnd_watch_changed(&server);
	expect_change(&guest, 3, false, server_gid(3));
	expect_change(&guest, RN_GID_MAX - 1, true, server_gid(5));
	/* The table is full, and only the place of what has gone is free. */
	iface.gid[iface.gid_count++] = server_gid(RN_GID_MAX);
	rnd_watch_changed(&server);
	expect_change(&guest, 3, true, server_gid(RN_GID_MAX));
	/* For the next one there is none. */
	iface.gid[0] = server_gid(3);
	rnd_watch_changed(&server);
	expect_change(&guest, 0, false, server_gid(0));
	expect_change(&guest, 0, true, server_gid(3));
	assert_true(hears_nothing(&guest));
	go(&guest);
}

static void a_device_of_named_addresses_follows_no_others(void **state)
{
	struct guest guest;

	(void)state;
	have_addresses(0, 1, 1);
	guest = with_device(false);
	have_addresses(0, 2, 2);
	rnd_watch_changed(&server);
	assert_true(hears_nothing(&guest));
	go(&guest);
}

/* ---- Who hears ---- */

static void each_client_hears_of_a_change(void **state)
{
	struct guest guest[3];

	(void)state;
	have_addresses(0, 1, 1);
	for (unsigned i = 0; i < 3; i++)
		guest[i] = with_device(false);
	for (unsigned up = 0; up < 2; up++) {
		iface.up = up;
		rnd_watch_changed(&server);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(hear(&guest[i], RN_CTL_PORT).port.up, up);
	}
	for (unsigned i = 0; i < 3; i++)
		go(&guest[i]);
}

/* The others hear of the change all the same. */
static void a_client_that_does_not_take_its_events_is_closed(void **state)
{
	struct guest guest[3];

	(void)state;
	have_addresses(0, 1, 1);
	for (unsigned i = 0; i < 3; i++)
		guest[i] = with_device(false);
	stop_listening(&guest[1]);
	iface.up = false;
	rnd_watch_changed(&server);
	assert_ptr_equal(server.clients->next, guest[2].client);
	hear(&guest[0], RN_CTL_PORT);
	hear(&guest[2], RN_CTL_PORT);
	close(guest[1].sock);
	go(&guest[0]);
	go(&guest[2]);
}

/* Some of the news had no room in the socket: the rest of them is there, and what has
 * changed is seen anyway.
 */
static void news_that_were_lost_end_nothing(void **state)
{
	const struct nlmsghdr noop = { .nlmsg_len = sizeof(noop),
				       .nlmsg_type = NLMSG_NOOP };
	struct guest guest;
	char byte;

	(void)state;
	have_addresses(0, 1, 1);
	guest = with_device(false);
	iface.up = false;
	errors[0] = EINTR;
	errors[1] = ENOBUFS;
	error_count = 2;
	assert_int_equal(send(kernel, &noop, sizeof(noop), 0), sizeof(noop));
	rnd_watch_changed(&server);
	assert_int_equal(error_count, 0);
	assert_int_equal(__real_recv(server.netlink.fd, &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(hear(&guest, RN_CTL_PORT).port.up, 0);
	go(&guest);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_address_that_goes_leaves_its_slot_to_others),
		TEST(an_address_that_goes_takes_its_wires_along),
		TEST(an_address_comes_back_at_its_place),
		TEST(a_new_address_takes_the_place_of_one_that_has_gone),
		TEST(a_device_of_named_addresses_follows_no_others),
		TEST(each_client_hears_of_a_change),
		TEST(a_client_that_does_not_take_its_events_is_closed),
		TEST(news_that_were_lost_end_nothing),
		TEST(news_that_cannot_be_read_are_not_looked_at_for_ever),
		TEST(news_are_taken_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
