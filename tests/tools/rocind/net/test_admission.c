/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_admission.c - which source ports count, by what the kernel says of its sockets,
 * and what the filter of a socket lets through then.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc_udp.h"
#include "rocin/types.h"
#include "tools/rocind/net/admission.h"

enum {
	MEMBER = 1000, /* of the group that is admitted */
	OWN_PORT = 5000,
};

#define INODE "4711"
#define ANY "00000000"
#define ANY_V6 "00000000000000000000000000000000"
#define ONE "0100007F"
#define ONE_V6 "00000000000000000000000001000000"

static struct rnd_admission members(void)
{
	return (struct rnd_admission){ .hold = -1,
				       .own_port = OWN_PORT,
				       .port = { OWN_PORT },
				       .port_count = 1,
				       .user = { MEMBER },
				       .user_count = 1 };
}

static void ports_count_that_only_members_hold_at_all_addresses(void **state)
{
	struct rnd_admission a = members();

	(void)state;
	udp = HEAD LINE(ANY, "1001", "1000", INODE)
		LINE(ANY, "1002", "1001", INODE) /* a stranger's */
		LINE(ONE, "1003", "1000", INODE) /* at one address */
		LINE(ANY, "1004", "1000", INODE)
			LINE(ONE, "1004", "1001", INODE); /* shared */
	udp6 = HEAD LINE(ANY_V6, "1005", "1000", INODE);
	assert_true(rnd_admission_refresh(&a));
	assert_int_equal(a.port_count, 3);
	assert_int_equal(a.port[0], OWN_PORT);
	assert_int_equal(a.port[1], 0x1001);
	assert_int_equal(a.port[2], 0x1005);
	assert_false(rnd_admission_refresh(&a)); /* nothing new */
	udp6 = HEAD LINE(ANY_V6, "1005", "1000", INODE) LINE(ONE_V6, "1005", "0", INODE);
	assert_true(rnd_admission_refresh(&a));
	assert_int_equal(a.port_count, 2);
}

static void where_no_other_user_is_admitted_no_table_is_read(void **state)
{
	struct rnd_admission a = members();

	(void)state;
	a.user_count = 0;
	udp = HEAD LINE(ANY, "1001", "1000", INODE);
	udp6 = NULL;
	assert_false(rnd_admission_refresh(&a));
	assert_int_equal(a.port_count, 1);
}

/* A socket of the loopback address, and its port. */
static int open_socket(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)addr, sizeof(*addr)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)addr, &len), 0);
	return fd;
}

static bool arrives(int from, int at, const struct sockaddr_in *to)
{
	char byte = 0;

	assert_int_equal(
		sendto(from, &byte, 1, 0, (const struct sockaddr *)to, sizeof(*to)), 1);
	return recv(at, &byte, 1, MSG_DONTWAIT) == 1;
}

static void filter_lets_through_what_comes_from_an_admitted_port(void **state)
{
	struct rnd_admission a = members();
	struct sockaddr_in addr, own, other;
	int fd = open_socket(&addr), ours = open_socket(&own),
	    theirs = open_socket(&other);

	(void)state;
	a.loopback = if_nametoindex("lo");
	a.port[0] = ntohs(own.sin_port);
	assert_int_equal(rnd_admission_filter(&a, fd), 0);
	assert_true(arrives(ours, fd, &addr));
	assert_false(arrives(theirs, fd, &addr));
	a.port[a.port_count++] = ntohs(other.sin_port);
	assert_int_equal(rnd_admission_filter(&a, fd), 0);
	assert_true(arrives(ours, fd, &addr));
	assert_true(arrives(theirs, fd, &addr));
	close(fd);
	close(ours);
	close(theirs);
}

static void without_a_boundary_there_is_no_filter(void **state)
{
	struct rnd_admission a = { .hold = -1, .is_for_all = true };
	struct sock_filter prog[RND_ADMISSION_LEN];

	(void)state;
	assert_int_equal(rnd_admission_write(&a, RND_VIEW_UDP, 0, prog), 0);
	assert_int_equal(rnd_admission_filter(&a, -1), 0);
	a.is_for_all = false;
	assert_int_not_equal(rnd_admission_write(&a, RND_VIEW_UDP, 0, prog), 0);
	assert_int_equal(rnd_admission_filter(&a, -1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_count_that_only_members_hold_at_all_addresses),
		cmocka_unit_test(where_no_other_user_is_admitted_no_table_is_read),
		cmocka_unit_test(filter_lets_through_what_comes_from_an_admitted_port),
		cmocka_unit_test(without_a_boundary_there_is_no_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
