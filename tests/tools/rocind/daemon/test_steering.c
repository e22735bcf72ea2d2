/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_steering.c - packets reach the process whose slot their QPN names. */
#include "tests/tools/rocind/kit/rocind_kit.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t qpn_of(const struct rn_attach *a, unsigned counter_offset)
{
	return (a->qpn_counter + counter_offset) << 8 | a->slot;
}

static void packets_reach_the_slot_that_their_qpn_names(void **state)
{
	const struct rn_netdev dev = kit_device(2);
	struct rn_rocind *r[5];
	struct rn_attach a[5];

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		r[i] = kit_attach(&dev, &a[i]);
		assert_int_equal(a[i].slot, i + 1);
		assert_int_equal(a[i].sock_count, 2);
		assert_in_range(a[i].qpn_counter, 1, 65535);
	}
	for (unsigned gid = 0; gid < 2; gid++)
		for (unsigned i = 0; i < 5; i++) {
			kit_send(&dev.gid[gid], qpn_of(&a[i], gid), 16);
			assert_int_equal(kit_receive(a[i].sock[gid]), qpn_of(&a[i], gid));
		}
	for (unsigned i = 0; i < 5; i++) {
		assert_true(kit_is_empty(a[i].sock[0]));
		assert_true(kit_is_empty(a[i].sock[1]));
		kit_close_socks(&a[i]);
		rn_rocind_close(r[i]);
	}
}

static void a_process_that_stays_keeps_its_slot_while_others_come_and_go(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach first, second, third;
	struct rn_rocind *r1 = kit_attach(&dev, &first);
	struct rn_rocind *r2 = kit_attach(&dev, &second);
	struct rn_rocind *r3 = kit_attach(&dev, &third);

	(void)state;
	kit_close_socks(&first);
	rn_rocind_close(r1);
	kit_send(&dev.gid[0], qpn_of(&third, 0), 16);
	assert_int_equal(kit_receive(third.sock[0]), qpn_of(&third, 0));
	kit_close_socks(&third);
	rn_rocind_close(r3);
	kit_send(&dev.gid[0], qpn_of(&second, 0), 16);
	assert_int_equal(kit_receive(second.sock[0]), qpn_of(&second, 0));
	kit_close_socks(&second);
	rn_rocind_close(r2);
}

/* The daemon reads packets to slot 0 in its own time: ask until they are counted. */
static void await_drops(struct rn_rocind *r, uint64_t total,
			struct rn_rocind_status *status)
{
	for (unsigned tries = 0; tries < 100000; tries++) {
		uint64_t sum = 0;

		assert_int_equal(rn_rocind_status(r, status, NULL, 0), 0);
		for (unsigned i = 0; i < RN_ROCIND_DROP_COUNT; i++)
			sum += status->drops[i];
		if (sum == total)
			return;
	}
	fail_msg("the packets were not counted");
}

static void packets_for_nobody_are_counted_by_reason_and_reach_no_process(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind_status status;
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a);

	(void)state;
	kit_send(&dev.gid[0], qpn_of(&a, 0), 11); /* one byte short of a BTH */
	kit_send(&dev.gid[0], 0, 0);
	kit_send(&dev.gid[0], 0, 16);
	kit_send(&dev.gid[0], 1, 16);
	kit_send(&dev.gid[0], 2, 16);
	kit_send(&dev.gid[0], 255, 16);
	kit_send(&dev.gid[0], 0xffffff, 16);
	kit_send(&dev.gid[0], 0x100, 16); /* slot 0 */
	kit_send(&dev.gid[0], 0x100 | (a.slot + 1), 16);
	kit_send(&dev.gid[0], 0xfffffe, 16); /* slot 254 */
	await_drops(r, 10, &status);
	assert_int_equal(status.drops[RN_ROCIND_DROP_SHORT], 2);
	assert_int_equal(status.drops[RN_ROCIND_DROP_QP0], 1);
	assert_int_equal(status.drops[RN_ROCIND_DROP_QP1], 1);
	assert_int_equal(status.drops[RN_ROCIND_DROP_RESERVED], 2);
	assert_int_equal(status.drops[RN_ROCIND_DROP_MULTICAST], 1);
	assert_int_equal(status.drops[RN_ROCIND_DROP_UNKNOWN_SLOT], 3);
	assert_true(kit_is_empty(a.sock[0]));
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* ---- Death ---- */

/* A process that attaches, tells what it got, and waits to be killed. */
static pid_t fork_victim(const struct rn_netdev *dev, struct rn_attach *got)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct rn_attach a = { 0 };
		struct rn_rocind *r = rn_rocind_connect(NULL, NULL, 0);

		if (r && rn_rocind_attach(r, dev, -1, &a, NULL, 0) == 0 &&
		    write(ends[1], &a, sizeof(a)) == sizeof(a))
			pause();
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], got, sizeof(*got)), sizeof(*got));
	close(ends[0]);
	return pid;
}

static int count_client(void *ctx, const struct rn_rocind_client *client)
{
	unsigned *count = ctx;

	if (client->stats_fd >= 0)
		close(client->stats_fd);
	(*count)++;
	return 0;
}

static void await_clients(struct rn_rocind *r, unsigned want)
{
	unsigned count = ~0u;

	for (unsigned tries = 0; tries < 100000 && count != want; tries++) {
		count = 0;
		assert_int_equal(rn_rocind_list(r, count_client, &count, NULL, 0), 0);
	}
	assert_int_equal(count, want);
}

static void
the_slot_of_a_killed_process_is_empty_and_has_other_qpns_when_reused(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind *watcher = kit_connect();
	struct rn_attach dead, next;
	struct rn_rocind *r;
	pid_t pid = fork_victim(&dev, &dead);

	(void)state;
	kit_send(&dev.gid[0], qpn_of(&dead, 0), 16);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	await_clients(watcher, 0);
	kit_send(&dev.gid[0], qpn_of(&dead, 1), 16);
	r = kit_attach(&dev, &next);
	assert_int_equal(next.slot, dead.slot);
	assert_int_equal((next.qpn_counter + 65535 - dead.qpn_counter) % 65535, 4096);
	assert_true(kit_is_empty(next.sock[0]));
	kit_send(&dev.gid[0], qpn_of(&next, 0), 16);
	assert_int_equal(kit_receive(next.sock[0]), qpn_of(&next, 0));
	kit_close_socks(&next);
	rn_rocind_close(r);
	rn_rocind_close(watcher);
}

/* The child shares the connection, so there is no end of file; the pidfd tells. */
static void a_fork_child_does_not_keep_the_slot_of_its_dead_parent(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind *watcher = kit_connect();
	int ends[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct rn_attach a;
		struct rn_rocind *r = rn_rocind_connect(NULL, NULL, 0);

		if (!r || rn_rocind_attach(r, &dev, -1, &a, NULL, 0))
			_exit(1);
		close(ends[0]);
		if (fork() == 0) {
			alarm(300); /* ends with SIGPIPE or this */
			for (;;)
				if (write(ends[1], "", 1) < 0)
					_exit(0);
		}
		pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1); /* the grandchild runs */
	await_clients(watcher, 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	await_clients(watcher, 0);
	close(ends[0]);
	rn_rocind_close(watcher);
}

static void a_fork_child_that_abandons_leaves_its_parent_attached(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a);
	struct rn_rocind *watcher = kit_connect();
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		kit_close_socks(&a);
		rn_rocind_abandon(r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	await_clients(watcher, 1);
	kit_send(&dev.gid[0], qpn_of(&a, 0), 16);
	assert_int_equal(kit_receive(a.sock[0]), qpn_of(&a, 0));
	kit_close_socks(&a);
	rn_rocind_close(r);
	rn_rocind_close(watcher);
}

/* ---- Slots ---- */

static void a_connection_has_one_device_and_may_give_it_back(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach a, other;
	struct rn_rocind *r = kit_attach(&dev, &a);

	(void)state;
	assert_int_equal(rn_rocind_attach(r, &dev, -1, &other, NULL, 0), -EALREADY);
	kit_close_socks(&a);
	assert_int_equal(rn_rocind_detach(r, NULL, 0), 0);
	assert_int_equal(rn_rocind_detach(r, NULL, 0), -ENOTCONN);
	assert_int_equal(rn_rocind_attach(r, &dev, -1, &other, NULL, 0), 0);
	assert_int_equal(other.slot, a.slot);
	assert_int_not_equal(other.qpn_counter, a.qpn_counter);
	kit_close_socks(&other);
	rn_rocind_close(r);
}

/* QPNs below 256 are nobody's: after 65535 comes 1. */
static void where_a_slot_s_owners_begin_goes_round_and_leaves_out_0(void **state)
{
	enum {
		TURNS = 34, /* twice round, by steps of 4096 */
	};
	const struct rn_netdev dev = kit_device(1);
	uint32_t before = 0, wraps = 0;
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a);

	(void)state;
	for (unsigned i = 0; i < TURNS; i++) {
		if (before)
			assert_int_equal((a.qpn_counter + 65535 - before) % 65535, 4096);
		wraps += a.qpn_counter < before;
		before = a.qpn_counter;
		assert_in_range(before, 1, 65535);
		kit_close_socks(&a);
		assert_int_equal(rn_rocind_detach(r, NULL, 0), 0);
		assert_int_equal(rn_rocind_attach(r, &dev, -1, &a, NULL, 0), 0);
	}
	assert_in_range(wraps, 2, 3);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

static void devices_that_share_an_address_get_slots_that_are_free_in_both(void **state)
{
	const struct rn_netdev both = kit_device(2);
	struct rn_netdev second = kit_device(1), first = kit_device(1);
	struct rn_attach a, b, c;
	struct rn_rocind *ra, *rb, *rc;

	(void)state;
	second.gid[0] = kit_gid(1);
	ra = kit_attach(&first, &a);
	rb = kit_attach(&both, &b);
	rc = kit_attach(&second, &c);
	assert_int_equal(a.slot, 1);
	assert_int_equal(b.slot, 2);
	assert_int_equal(c.slot, 1);
	kit_send(&second.gid[0], qpn_of(&b, 0), 16);
	assert_int_equal(kit_receive(b.sock[1]), qpn_of(&b, 0));
	kit_send(&second.gid[0], qpn_of(&c, 0), 16);
	assert_int_equal(kit_receive(c.sock[0]), qpn_of(&c, 0));
	kit_close_socks(&a);
	kit_close_socks(&b);
	kit_close_socks(&c);
	rn_rocind_close(ra);
	rn_rocind_close(rb);
	rn_rocind_close(rc);
}

static void the_256th_process_of_a_device_is_told_so(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind *r[256];
	struct rn_attach a;
	char why[512] = "";

	(void)state;
	for (unsigned i = 0; i < 255; i++) {
		r[i] = kit_attach(&dev, &a);
		assert_int_equal(a.slot, i + 1);
		if (i < 254)
			kit_close_socks(&a);
	}
	r[255] = kit_connect();
	kit_send(&dev.gid[0], qpn_of(&a, 0), 16);
	assert_int_equal(kit_receive(a.sock[0]), qpn_of(&a, 0));
	assert_int_equal(rn_rocind_attach(r[255], &dev, -1, &a, why, sizeof(why)),
			 -EUSERS);
	assert_non_null(strstr(why, "255 processes"));
	kit_close_socks(&a);
	for (unsigned i = 0; i < 256; i++)
		rn_rocind_close(r[i]);
}

/* ---- Telling ---- */

struct seen {
	unsigned count;
	struct rn_rocind_client client;
	char page[8];
};

static int look(void *ctx, const struct rn_rocind_client *client)
{
	struct seen *seen = ctx;

	seen->client = *client;
	if (client->stats_fd >= 0) {
		assert_int_equal(pread(client->stats_fd, seen->page, 8, 0), 8);
		close(client->stats_fd);
	}
	return ++seen->count == 2 ? 7 : 0;
}

static void the_list_shows_each_client_with_its_statistics_page(void **state)
{
	const struct rn_netdev dev = kit_device(2);
	struct rn_rocind *r = kit_connect(), *other;
	struct seen seen = { 0 };
	struct rn_attach a, b;
	int page = memfd_create("stats", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(page, "counters", 8), 8);
	assert_int_equal(rn_rocind_attach(r, &dev, page, &a, NULL, 0), 0);
	close(page);
	assert_int_equal(rn_rocind_list(r, look, &seen, NULL, 0), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.client.pid, getpid());
	assert_int_equal(seen.client.slot, a.slot);
	assert_string_equal(seen.client.ibdev, "rocin0");
	assert_string_equal(seen.client.ifname, "lo");
	assert_int_equal(seen.client.gid_count, 2);
	assert_memory_equal(seen.client.gid, dev.gid, 2 * sizeof(dev.gid[0]));
	assert_memory_equal(seen.page, "counters", 8);
	other = kit_attach(&dev, &b);
	seen.count = 0;
	assert_int_equal(rn_rocind_list(r, look, &seen, NULL, 0), 7);
	assert_int_equal(seen.client.stats_fd, -1);
	kit_close_socks(&a);
	kit_close_socks(&b);
	rn_rocind_close(other);
	rn_rocind_close(r);
}

static void the_status_counts_clients_and_addresses(void **state)
{
	const struct rn_netdev dev = kit_device(2);
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a), *other = kit_connect();
	struct rn_rocind_status status;

	(void)state;
	assert_int_equal(rn_rocind_status(other, &status, NULL, 0), 0);
	assert_int_equal(status.clients, 2);
	assert_int_equal(status.attached, 1);
	assert_int_equal(status.groups, 2);
	assert_int_equal(status.idle_ms, 60000);
	assert_string_equal(status.version, ROCIN_VERSION);
	assert_true(status.since_s > 1700000000);
	assert_int_not_equal(status.pid, getpid());
	kit_close_socks(&a);
	rn_rocind_close(other);
	rn_rocind_close(r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(packets_reach_the_slot_that_their_qpn_names),
		TEST(a_process_that_stays_keeps_its_slot_while_others_come_and_go),
		TEST(packets_for_nobody_are_counted_by_reason_and_reach_no_process),
		TEST(the_slot_of_a_killed_process_is_empty_and_has_other_qpns_when_reused),
		TEST(a_fork_child_does_not_keep_the_slot_of_its_dead_parent),
		TEST(a_fork_child_that_abandons_leaves_its_parent_attached),
		TEST(a_connection_has_one_device_and_may_give_it_back),
		TEST(where_a_slot_s_owners_begin_goes_round_and_leaves_out_0),
		TEST(devices_that_share_an_address_get_slots_that_are_free_in_both),
		TEST(the_256th_process_of_a_device_is_told_so),
		TEST(the_list_shows_each_client_with_its_statistics_page),
		TEST(the_status_counts_clients_and_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
