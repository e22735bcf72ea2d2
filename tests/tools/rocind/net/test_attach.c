/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_attach.c - who gets which slot, and which addresses are given back when.
 *
 * Time and chance are the test's, and so are the addresses: none is opened.
 */
#include "tools/rocind/net/attach.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int __wrap_rnd_group_open(struct rnd_group **out, const struct rn_gid *gid,
			  uint32_t scope, rn_ns deadline, char *err, size_t err_len);
void __wrap_rnd_group_close(struct rnd_group *group);
int __wrap_rnd_group_reach(struct rnd_group *group, unsigned slot);
void __wrap_rnd_group_drain(const struct rnd_group *group, unsigned slot);
int __wrap_rnd_group_guard(struct rnd_group *group);
bool __wrap_rnd_admission_refresh(struct rnd_admission *a);
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

enum {
	IFINDEX = 77, /* of no interface of this machine, so that nothing is looked up */
};

static struct rnd_groups groups;
static rn_ns now;
static unsigned open_max; /* groups that can be open at a time */
static const struct rnd_group *wanted;
static bool is_held; /* by sockets that nobody closes */
static rn_ns waited; /* for ports, in all */
static int guard_rc;
static unsigned guards;	 /* number of groups that were guarded, each time counted */
static bool has_changed; /* who is admitted */

int __wrap_rnd_group_open(struct rnd_group **out, const struct rn_gid *gid,
			  uint32_t scope, rn_ns deadline, char *err, size_t err_len)
{
	(void)err;
	(void)err_len;
	if (is_held) {
		waited += deadline > now ? deadline - now : 0;
		now = deadline > now ? deadline : now;
		return -EADDRINUSE;
	}
	if (rnd_groups_count(&groups) >= open_max)
		return -EMFILE;
	*out = calloc(1, sizeof(**out));
	assert_non_null(*out);
	(*out)->gid = *gid;
	(*out)->scope = scope;
	return 0;
}

void __wrap_rnd_group_close(struct rnd_group *group)
{
	free(group);
}

int __wrap_rnd_group_reach(struct rnd_group *group, unsigned slot)
{
	(void)group;
	(void)slot;
	return 0;
}

void __wrap_rnd_group_drain(const struct rnd_group *group, unsigned slot)
{
	(void)group;
	(void)slot;
}

int __wrap_rnd_group_guard(struct rnd_group *group)
{
	(void)group;
	guards++;
	return guard_rc;
}

bool __wrap_rnd_admission_refresh(struct rnd_admission *a)
{
	(void)a;
	return has_changed;
}

ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags)
{
	(void)flags;
	memset(buf, 0, len);
	return (ssize_t)len;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	*ts = (struct timespec){ .tv_sec = now / RN_MSEC(1000),
				 .tv_nsec = now % RN_MSEC(1000) };
	return 0;
}

static bool is_wanted(void *ctx, const struct rnd_group *group)
{
	(void)ctx;
	return group == wanted;
}

static int setup(void **state)
{
	(void)state;
	now = RN_MSEC(1000);
	open_max = 100;
	wanted = NULL;
	is_held = false;
	waited = 0;
	guard_rc = 0;
	guards = 0;
	has_changed = false;
	rnd_groups_init(&groups);
	groups.is_wanted = is_wanted;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rnd_groups_fini(&groups);
	return 0;
}

/* ---- Devices ---- */

static struct rn_gid gid_at(uint8_t last)
{
	return (struct rn_gid){ .raw = { [10] = 0xff, 0xff, 10, 0, 0, last } };
}

static struct rnd_group *group_at(uint8_t last)
{
	const struct rn_gid gid = gid_at(last);

	return rnd_group_find(&groups, &gid, 0);
}

static int try_attach_all(struct rnd_attachment *a, const struct rn_gid *gids,
			  uint32_t count, uint32_t ifindex)
{
	struct rn_ctl_attach rq = { .ibdev = "rocin0",
				    .ifname = "eth0",
				    .ifindex = ifindex,
				    .gid_count = count };
	char why[RN_CTL_TEXT_LEN];

	memcpy(rq.gid, gids, count * sizeof(*gids));
	*a = (struct rnd_attachment){ .stats_fd = -1 };
	return rnd_attach(&groups, a, &rq, why, sizeof(why));
}

static int try_attach(struct rnd_attachment *a, const struct rn_gid *gid,
		      uint32_t ifindex)
{
	return try_attach_all(a, gid, 1, ifindex);
}

/* One with the address that ends so. */
static struct rnd_attachment attach(uint8_t last)
{
	const struct rn_gid gid = gid_at(last);
	struct rnd_attachment a;

	assert_int_equal(try_attach(&a, &gid, IFINDEX), 0);
	return a;
}

/* It is used at this time, and not afterwards. */
static void use_until(uint8_t last, rn_ns when)
{
	struct rnd_attachment a = attach(last);

	now = when;
	rnd_detach(&a);
}

/* ---- Slots ---- */

/* QPNs below 256 are nobody's. */
static void counters_of_queue_pairs_never_begin_at_0(void **state)
{
	struct rnd_attachment a[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		a[i] = attach(1);
		assert_int_equal(a[i].slot, i + 1);
		assert_int_equal(a[i].qpn_counter, 1);
	}
	for (unsigned i = 0; i < 3; i++)
		rnd_detach(&a[i]);
}

static void a_slot_is_free_at_each_address_of_its_device(void **state)
{
	const struct rn_gid both[] = { gid_at(1), gid_at(2) };
	struct rnd_attachment second = attach(2), a;

	(void)state;
	assert_int_equal(second.slot, 1);
	assert_int_equal(try_attach_all(&a, both, 2, IFINDEX), 0);
	assert_int_equal(a.slot, 2);
	rnd_detach(&second);
	rnd_detach(&a);
}

static void a_link_local_address_is_another_one_on_each_interface(void **state)
{
	const struct rn_gid gid = { .raw = { 0xfe, 0x80, [15] = 1 } };
	struct rnd_attachment a, b;

	(void)state;
	assert_int_equal(try_attach(&a, &gid, IFINDEX), 0);
	assert_int_equal(try_attach(&b, &gid, IFINDEX + 1), 0);
	assert_ptr_not_equal(a.group[0], b.group[0]);
	assert_int_equal(a.slot, 1);
	assert_int_equal(b.slot, 1);
	assert_ptr_equal(rnd_group_find(&groups, &gid, IFINDEX), a.group[0]);
	assert_ptr_equal(rnd_group_find(&groups, &gid, IFINDEX + 1), b.group[0]);
	rnd_detach(&a);
	rnd_detach(&b);
}

/* Its packets would come to the other one. */
static void an_address_whose_slot_another_process_has_is_not_taken(void **state)
{
	const struct rn_gid gid = gid_at(1);
	struct rnd_attachment a = attach(1), b = attach(2);

	(void)state;
	assert_int_equal(a.slot, b.slot);
	assert_int_equal(rnd_attach_gid(&groups, &b, 1, &gid), -EUSERS);
	assert_int_equal(b.gid_count, 1);
	assert_int_equal(group_at(1)->users, 1);
	rnd_detach_gid(&a, 0);
	assert_int_equal(rnd_attach_gid(&groups, &b, 1, &gid), 0);
	assert_int_equal(b.gid_count, 2);
	assert_ptr_equal(b.group[1], group_at(1));
	/* And the first one does not get it back meanwhile. */
	assert_int_equal(rnd_attach_gid(&groups, &a, 0, &gid), -EUSERS);
	rnd_detach(&a);
	rnd_detach(&b);
	assert_int_equal(group_at(1)->users, 0);
}

/* ---- Addresses that nobody uses ---- */

static void an_address_is_kept_for_a_while_after_its_last_user(void **state)
{
	const rn_ns left = RN_MSEC(5000);

	(void)state;
	assert_int_equal(groups.idle_from, RN_NEVER);
	use_until(1, left);
	assert_int_equal(groups.idle_from, left);
	rnd_groups_give_back(&groups, left - 1, left);
	assert_non_null(group_at(1));
	assert_int_equal(groups.idle_from, left);
	rnd_groups_give_back(&groups, left, left);
	assert_null(group_at(1));
	assert_int_equal(groups.idle_from, RN_NEVER);
}

static void addresses_are_given_back_each_in_its_time(void **state)
{
	struct rnd_attachment used;

	(void)state;
	use_until(1, RN_MSEC(5000));
	use_until(2, RN_MSEC(7000));
	use_until(3, RN_MSEC(6000));
	used = attach(4);
	rnd_groups_give_back(&groups, RN_MSEC(5500), now);
	assert_null(group_at(1));
	assert_int_equal(groups.idle_from, RN_MSEC(6000));
	rnd_groups_give_back(&groups, RN_MSEC(6500), now);
	assert_null(group_at(3));
	assert_int_equal(groups.idle_from, RN_MSEC(7000));
	assert_non_null(group_at(2));
	rnd_groups_give_back(&groups, RN_NEVER, now);
	assert_null(group_at(2));
	assert_ptr_equal(group_at(4), used.group[0]);
	rnd_detach(&used);
}

/* As that of a connection that is under way. It is idle from when it is looked at. */
static void an_address_that_others_want_is_kept(void **state)
{
	(void)state;
	use_until(1, RN_MSEC(5000));
	wanted = group_at(1);
	rnd_groups_give_back(&groups, RN_MSEC(5000), RN_MSEC(8000));
	assert_ptr_equal(group_at(1), wanted);
	assert_int_equal(groups.idle_from, RN_MSEC(8000));
	wanted = NULL;
	rnd_groups_give_back(&groups, RN_MSEC(7999), RN_MSEC(9000));
	assert_non_null(group_at(1));
	rnd_groups_give_back(&groups, RN_MSEC(8000), RN_MSEC(9000));
	assert_null(group_at(1));
}

/* ---- Without descriptors ---- */

static void the_address_that_was_left_first_makes_room(void **state)
{
	struct rnd_attachment a[2];

	(void)state;
	use_until(1, RN_MSEC(7000));
	use_until(2, RN_MSEC(5000));
	use_until(3, RN_MSEC(6000));
	now = RN_MSEC(8000);
	open_max = 3;
	a[0] = attach(4);
	assert_null(group_at(2));
	assert_true(group_at(1) && group_at(3));
	a[1] = attach(5);
	assert_null(group_at(3));
	assert_non_null(group_at(1));
	rnd_detach(&a[0]);
	rnd_detach(&a[1]);
}

static void an_address_in_use_makes_room_for_nobody(void **state)
{
	const struct rn_gid gid = gid_at(3);
	struct rnd_attachment used, b;

	(void)state;
	use_until(2, RN_MSEC(6000));
	now = RN_MSEC(5000);
	used = attach(1);
	wanted = group_at(2);
	open_max = 2;
	assert_int_equal(try_attach(&b, &gid, IFINDEX), -EMFILE);
	assert_ptr_equal(group_at(1), used.group[0]);
	assert_ptr_equal(group_at(2), wanted);
	wanted = NULL;
	assert_int_equal(try_attach(&b, &gid, IFINDEX), 0);
	assert_null(group_at(2));
	rnd_detach(&used);
	rnd_detach(&b);
}

/* ---- Ports that somebody holds ---- */

/* All clients wait while one of them has its port bound. */
static void a_port_that_stays_held_costs_the_others_a_tenth_of_the_time(void **state)
{
	const struct rn_gid gid = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
	rn_ns start = now;

	(void)state;
	is_held = true;
	while (now < start + RN_MSEC(100000)) {
		assert_int_equal(rnd_group_hold(&groups, &gid, 0, NULL, 0), -EADDRINUSE);
		now += RN_MSEC(1);
	}
	assert_in_range(waited, RN_MSEC(9000), RN_MSEC(11000));
	/* One that is free is had at once, and a wait that helped may be had again. */
	is_held = false;
	assert_int_equal(rnd_group_hold(&groups, &gid, 0, NULL, 0), 0);
}

/* ---- Whose packets count ---- */

static void an_address_that_cannot_be_guarded_is_not_taken(void **state)
{
	const struct rn_gid gid = gid_at(1);
	struct rnd_attachment a;

	(void)state;
	guard_rc = -EPERM;
	assert_int_equal(try_attach(&a, &gid, IFINDEX), -EPERM);
	assert_null(group_at(1));
	guard_rc = 0;
	assert_int_equal(try_attach(&a, &gid, IFINDEX), 0);
	assert_int_equal(guards, 2);
	rnd_detach(&a);
}

static void with_a_new_device_it_is_looked_who_is_admitted_now(void **state)
{
	struct rnd_attachment a = attach(1), b;

	(void)state;
	assert_int_equal(guards, 1);
	b = attach(2);
	assert_int_equal(guards, 2);
	rnd_detach(&b);
	has_changed = true;
	b = attach(2);
	assert_int_equal(guards, 4); /* both, whose groups are there */
	rnd_detach(&b);
	rnd_detach(&a);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(counters_of_queue_pairs_never_begin_at_0),
		TEST(a_slot_is_free_at_each_address_of_its_device),
		TEST(a_link_local_address_is_another_one_on_each_interface),
		TEST(an_address_whose_slot_another_process_has_is_not_taken),
		TEST(an_address_is_kept_for_a_while_after_its_last_user),
		TEST(addresses_are_given_back_each_in_its_time),
		TEST(an_address_that_others_want_is_kept),
		TEST(the_address_that_was_left_first_makes_room),
		TEST(an_address_in_use_makes_room_for_nobody),
		TEST(a_port_that_stays_held_costs_the_others_a_tenth_of_the_time),
		TEST(an_address_that_cannot_be_guarded_is_not_taken),
		TEST(with_a_new_device_it_is_looked_who_is_admitted_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
