/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_bond.c - which messages about links say that a bond has another address. */
#include "tools/rocind/net/iface.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum {
	BOND = 7,
};

struct message {
	struct nlmsghdr hdr;
	struct ifinfomsg info;
	char attrs[64];
};

static void put(struct message *m, unsigned short type, const void *value, size_t len)
{
	struct rtattr *attr =
		(struct rtattr *)((char *)m + NLMSG_ALIGN(m->hdr.nlmsg_len));

	attr->rta_type = type;
	attr->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), value, len);
	m->hdr.nlmsg_len = NLMSG_ALIGN(m->hdr.nlmsg_len) + RTA_ALIGN(attr->rta_len);
}

/* @mac: last byte of its address. */
static uint32_t take(struct rnd_links *links, uint16_t type, int ifindex, uint8_t mac,
		     uint32_t event)
{
	const uint8_t address[6] = { 2, 0, 0, 0, 0, mac };
	struct message m = { .hdr = { .nlmsg_type = type,
				      .nlmsg_len = NLMSG_LENGTH(sizeof(m.info)) },
			     .info = { .ifi_index = ifindex } };

	put(&m, IFLA_ADDRESS, address, sizeof(address));
	if (event != IFLA_EVENT_NONE)
		put(&m, IFLA_EVENT, &event, sizeof(event));
	return rnd_links_take(links, &m.hdr);
}

static void a_failover_to_another_address_is_told(void **state)
{
	struct rnd_links links = { 0 };

	(void)state;
	assert_int_equal(take(&links, RTM_NEWLINK, BOND, 1, IFLA_EVENT_NONE), 0);
	assert_int_equal(take(&links, RTM_NEWLINK, BOND, 2, IFLA_EVENT_BONDING_FAILOVER),
			 BOND);
	/* To a port that takes the address over, as bonds have it unless told otherwise
	 */
	assert_int_equal(take(&links, RTM_NEWLINK, BOND, 2, IFLA_EVENT_BONDING_FAILOVER),
			 0);
	rnd_links_free(&links);
}

static void other_changes_are_not(void **state)
{
	struct rnd_links links = { 0 };

	(void)state;
	assert_int_equal(take(&links, RTM_NEWLINK, BOND, 1, IFLA_EVENT_NONE), 0);
	assert_int_equal(take(&links, RTM_NEWLINK, BOND, 2, IFLA_EVENT_NONE), 0);
	assert_int_equal(take(&links, RTM_NEWLINK, BOND, 2, IFLA_EVENT_NOTIFY_PEERS), 0);
	assert_int_equal(take(&links, RTM_DELLINK, BOND, 2, IFLA_EVENT_NONE), 0);
	assert_int_equal(take(&links, RTM_NEWADDR, BOND, 3, IFLA_EVENT_NONE), 0);
	/* Another link of the same number */
	assert_int_equal(take(&links, RTM_NEWLINK, BOND, 3, IFLA_EVENT_BONDING_FAILOVER),
			 0);
	rnd_links_free(&links);
}

static void links_are_told_apart(void **state)
{
	struct rnd_links links = { 0 };

	(void)state;
	for (int i = 1; i < 20; i++)
		assert_int_equal(
			take(&links, RTM_NEWLINK, i, (uint8_t)i, IFLA_EVENT_NONE), 0);
	for (int i = 1; i < 20; i++)
		assert_int_equal(take(&links, RTM_NEWLINK, i, (uint8_t)(i + (i % 2)),
				      IFLA_EVENT_BONDING_FAILOVER),
				 i % 2 ? i : 0);
	rnd_links_free(&links);
}

/* A failover to an address of @address_len bytes, which all are @byte; the message ends
 * @cut bytes early.
 */
static uint32_t take_odd(struct rnd_links *links, uint8_t byte, size_t address_len,
			 size_t event_len, unsigned cut)
{
	static const uint32_t event[2] = { IFLA_EVENT_BONDING_FAILOVER };
	uint8_t address[RND_LINK_ADDRESS_MAX + 1];
	struct message m = { .hdr = { .nlmsg_type = RTM_NEWLINK,
				      .nlmsg_len = NLMSG_LENGTH(sizeof(m.info)) },
			     .info = { .ifi_index = BOND } };

	memset(address, byte, sizeof(address));
	put(&m, IFLA_ADDRESS, address, address_len);
	put(&m, IFLA_EVENT, event, event_len);
	m.hdr.nlmsg_len -= cut;
	return rnd_links_take(links, &m.hdr);
}

static void an_event_of_a_wrong_length_is_none(void **state)
{
	struct rnd_links links = { 0 };

	(void)state;
	assert_int_equal(take_odd(&links, 1, 6, 4, 0), 0);
	assert_int_equal(take_odd(&links, 2, 6, 2, 0), 0);
	assert_int_equal(take_odd(&links, 2, 6, 8, 0), 0);
	for (unsigned cut = 1; cut <= 8; cut++)
		assert_int_equal(take_odd(&links, 2, 6, 4, cut), 0);
	assert_int_equal(take_odd(&links, 2, 6, 4, 0), BOND);
	rnd_links_free(&links);
}

static void an_address_that_is_too_long_is_none(void **state)
{
	struct rnd_links links = { 0 };

	(void)state;
	assert_int_equal(take_odd(&links, 1, RND_LINK_ADDRESS_MAX + 1, 4, 0), 0);
	assert_int_equal(take_odd(&links, 2, RND_LINK_ADDRESS_MAX + 1, 4, 0), 0);
	assert_int_equal(take_odd(&links, 1, RND_LINK_ADDRESS_MAX, 4, 0), BOND);
	assert_int_equal(take_odd(&links, 2, RND_LINK_ADDRESS_MAX, 4, 0), BOND);
	assert_int_equal(take_odd(&links, 2, RND_LINK_ADDRESS_MAX, 4, 0), 0);
	rnd_links_free(&links);
}

/* The last attribute is not padded, and another one lies behind the message. */
static void what_lies_behind_a_message_is_not_read(void **state)
{
	static const uint32_t event = IFLA_EVENT_BONDING_FAILOVER;
	const uint8_t address[5] = { 2 };
	struct message m = { .hdr = { .nlmsg_type = RTM_NEWLINK,
				      .nlmsg_len = NLMSG_LENGTH(sizeof(m.info)) },
			     .info = { .ifi_index = BOND } };
	struct rnd_links links = { 0 };
	uint32_t end;

	(void)state;
	assert_int_equal(take(&links, RTM_NEWLINK, BOND, 1, IFLA_EVENT_NONE), 0);
	end = m.hdr.nlmsg_len + (uint32_t)RTA_LENGTH(sizeof(address));
	put(&m, IFLA_ADDRESS, address, sizeof(address));
	put(&m, IFLA_EVENT, &event, sizeof(event));
	m.hdr.nlmsg_len = end;
	assert_int_equal(rnd_links_take(&links, &m.hdr), 0);
	rnd_links_free(&links);
}

static void a_message_without_a_body_says_nothing(void **state)
{
	const struct nlmsghdr hdr = { .nlmsg_type = RTM_NEWLINK,
				      .nlmsg_len = NLMSG_LENGTH(0) };
	struct rnd_links links = { 0 };

	(void)state;
	assert_int_equal(rnd_links_take(&links, &hdr), 0);
	assert_int_equal(links.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failover_to_another_address_is_told),
		cmocka_unit_test(other_changes_are_not),
		cmocka_unit_test(links_are_told_apart),
		cmocka_unit_test(an_event_of_a_wrong_length_is_none),
		cmocka_unit_test(an_address_that_is_too_long_is_none),
		cmocka_unit_test(what_lies_behind_a_message_is_not_read),
		cmocka_unit_test(a_message_without_a_body_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
