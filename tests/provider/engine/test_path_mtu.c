/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_path_mtu.c - one socket finds out the MTU of a path, however many QPs use the
 * path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/engine/engine_internal.h"
#include "rocin/work_request.h"

enum {
	LOOKUPS = 10000,
};

static unsigned made;

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);

int __wrap_socket(int domain, int type, int protocol)
{
	made++;
	return __real_socket(domain, type, protocol);
}

static struct rn_gid ipv4(uint8_t last)
{
	return (struct rn_gid){ { [10] = 0xff, 0xff, 127, 0, 0, last } };
}

static const struct rn_netdev *loopback(void)
{
	static struct rn_netdev dev = { .ibdev = "rocin0", .ifname = "lo", .ifindex = 1 };

	dev.gid[0] = ipv4(1);
	dev.gid[1] = ipv4(2);
	return &dev;
}

static void thousands_of_queue_pairs_ask_by_one_socket(void **state)
{
	struct rnp_path_mtu paths = { 0 };
	struct rn_av av = { .sgid_index = 0 };

	(void)state;
	made = 0;
	for (unsigned i = 0; i < LOOKUPS; i++) {
		av.dgid = ipv4((uint8_t)(1 + i % 3));
		assert_true(rnp_path_carries(&paths, loopback(), &av, 4096));
	}
	assert_int_equal(made, 1);
	/* No path has such an MTU. */
	assert_false(rnp_path_carries(&paths, loopback(), &av, 1 << 20));
	av.sgid_index = 1;
	assert_true(rnp_path_carries(&paths, loopback(), &av, 4096));
	assert_int_equal(made, 2);
	rnp_path_mtu_close(&paths);
}

static void socket_that_was_closed_is_made_again(void **state)
{
	struct rnp_path_mtu paths = { 0 };
	struct rn_av av = { .sgid_index = 0, .dgid = ipv4(9) };

	(void)state;
	assert_false(rnp_path_carries(&paths, loopback(), &av, 1 << 20));
	/* A program closes descriptors that it does not know. */
	assert_true(paths.path[0].fd > 2);
	close(paths.path[0].fd);
	/* the MTU is now unknown, so it is not refused */
	assert_true(rnp_path_carries(&paths, loopback(), &av, 1 << 20));
	assert_false(rnp_path_carries(&paths, loopback(), &av, 1 << 20));
	rnp_path_mtu_close(&paths);
}

static void another_address_of_the_device_has_another_socket(void **state)
{
	struct rn_netdev dev = *loopback();
	struct rnp_path_mtu paths = { 0 };
	struct rn_av av = { .sgid_index = 0, .dgid = ipv4(9) };
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	unsigned before = made;

	(void)state;
	assert_true(rnp_path_carries(&paths, &dev, &av, 4096));
	dev.gid[0] = ipv4(77);
	assert_true(rnp_path_carries(&paths, &dev, &av, 4096));
	assert_int_equal(made, before + 2);
	assert_int_equal(getsockname(paths.path[0].fd, (struct sockaddr *)&name, &len),
			 0);
	assert_int_equal(((const uint8_t *)&name)[7], 77);
	rnp_path_mtu_close(&paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thousands_of_queue_pairs_ask_by_one_socket),
		cmocka_unit_test(socket_that_was_closed_is_made_again),
		cmocka_unit_test(another_address_of_the_device_has_another_socket),
	};

	return cmocka_run_group_tests_name("path_mtu", tests, NULL, NULL);
}
