/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_port_owner.c - which process owns a port, by what the kernel says of its sockets.
 */
#include "tools/rocind/net/group.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proc_udp.h"
#include "rocin/gid.h"

/* With one digit behind it no process has a socket of this inode: there are not so many.
 */
#define INODE "429496729"

/* Words are printed as this machine has them in memory. */
static void write_v4(char hex[9], uint8_t last)
{
	uint32_t word = htonl(0xc0000200u | last);

	snprintf(hex, 9, "%08X", word);
}

static const struct rn_gid ours = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } };
static const struct rn_gid ours6 = { .raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } };

static void expect_user(const struct rn_gid *gid, const char *user)
{
	char why[512] = "", whose[64];

	snprintf(whose, sizeof(whose), " is held by %s;", user);
	assert_int_equal(rnd_port_owner_explain(gid, why, sizeof(why)), -EADDRINUSE);
	if (!strstr(why, whose))
		fail_msg("%s", why);
}

static void who_has_the_port_of_all_addresses_holds_each(void **state)
{
	(void)state;
	udp = NULL;
	udp6 = HEAD LINE("00000000000000000000000000000000", "12B7", "1234", INODE "4");
	expect_user(&ours, "a process of user 1234");
	expect_user(&ours6, "a process of user 1234");
	udp6 = HEAD;
	udp = HEAD LINE("00000000", "12B7", "77", INODE "4");
	expect_user(&ours, "a process of user 77");
	expect_user(&ours6, "another program");
}

static void other_ports_and_addresses_are_in_nobodys_way(void **state)
{
	char table[1024], hex[2][9];

	(void)state;
	write_v4(hex[0], 1);
	write_v4(hex[1], 2);
	snprintf(table, sizeof(table),
		 HEAD LINE("%s", "12B6", "1", INODE "4")
			 LINE("%s", "12B7", "2", INODE "4"),
		 hex[0], hex[1]);
	udp6 = NULL;
	udp = table;
	expect_user(&ours, "another program");
}

/* In the group of another rocind that is its own socket. */
static void of_several_sockets_the_one_opened_first_is_the_owner(void **state)
{
	char table[1024], hex[9];

	(void)state;
	write_v4(hex, 1);
	snprintf(table, sizeof(table),
		 HEAD LINE("%s", "12B7", "8", INODE "2")
			 LINE("%s", "12B7", "7", INODE "1")
				 LINE("%s", "12B7", "9", INODE "3"),
		 hex, hex, hex);
	udp6 = NULL;
	udp = table;
	expect_user(&ours, "a process of user 7");
}

static void a_socket_without_an_inode_is_the_kernels(void **state)
{
	char table[1024], hex[9];

	(void)state;
	write_v4(hex, 1);
	snprintf(table, sizeof(table), HEAD LINE("%s", "12B7", "0", "0"), hex);
	udp6 = NULL;
	udp = table;
	expect_user(&ours, "the kernel (a device of the module rdma_rxe?)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_the_port_of_all_addresses_holds_each),
		cmocka_unit_test(other_ports_and_addresses_are_in_nobodys_way),
		cmocka_unit_test(of_several_sockets_the_one_opened_first_is_the_owner),
		cmocka_unit_test(a_socket_without_an_inode_is_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
