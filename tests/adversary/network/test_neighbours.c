/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_neighbours.c - whose packets count among those that were sent on this host. */
#include "tests/tools/rocind/kit/rocind_kit.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocin/wire.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/udp/own_port.h"

enum {
	NOBODY = 65534
};

static void send_by(int fd, const struct rn_gid *to, uint32_t qpn)
{
	uint8_t packet[16] = {
		4,	     0, 0xff, 0xff, 0, (uint8_t)(qpn >> 16), (uint8_t)(qpn >> 8),
		(uint8_t)qpn
	};
	union rn_sockaddr sa;
	socklen_t len = rn_gid_sockaddr(&sa, to, RN_ROCE_PORT, 0);

	assert_int_equal(sendto(fd, packet, sizeof(packet), 0, &sa.sa, len),
			 sizeof(packet));
}

static void send_plain(const struct rn_gid *to, uint32_t qpn)
{
	int fd = socket(rn_gid_is_ipv4(to) ? AF_INET : AF_INET6, SOCK_DGRAM, 0);

	send_by(fd, to, qpn);
	close(fd);
}

static void send_from_own_port(const struct rn_gid *to, uint32_t qpn, uint16_t port)
{
	int fd = rn_own_port_open(to, 0, port);

	assert_true(fd >= 0);
	send_by(fd, to, qpn);
	close(fd);
}

static uint64_t drops(struct rn_rocind *r, enum rn_rocind_drop reason)
{
	struct rn_rocind_status status;

	assert_int_equal(rn_rocind_status(r, &status, NULL, 0), 0);
	return status.drops[reason];
}

static uint32_t a_qpn(const struct rn_attach *a)
{
	return 7u << 8 | a->slot;
}

static void expect_boundary(const struct rn_netdev *dev)
{
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(dev, &a);

	assert_true(a.own_port >= 0xf000);
	send_plain(&dev->gid[0], a_qpn(&a));
	send_plain(&dev->gid[0], 1); /* to the connection manager */
	send_from_own_port(&dev->gid[0], a_qpn(&a), a.own_port);
	assert_int_equal(kit_receive(a.sock[0]), a_qpn(&a));
	assert_true(kit_is_empty(a.sock[0]));
	assert_int_equal(drops(r, RN_ROCIND_DROP_FOREIGN), 2);
	assert_int_equal(drops(r, RN_ROCIND_DROP_QP1), 0);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

static void only_the_own_port_counts(void **state)
{
	const struct rn_netdev dev = kit_device(1);

	(void)state;
	setenv("ROCIN_NEIGHBOURS", "user", 1);
	expect_boundary(&dev);
}

static void only_the_own_port_counts_with_ipv6(void **state)
{
	struct rn_netdev dev = kit_device(1);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	union rn_sockaddr sa;
	socklen_t len;

	(void)state;
	dev.gid[0] = (struct rn_gid){ { [15] = 1 } };
	len = rn_gid_sockaddr(&sa, &dev.gid[0], RN_ROCE_PORT, 0);
	if (fd < 0 || bind(fd, &sa.sa, len)) { /* no IPv6, or somebody else's rocind */
		close(fd);
		skip();
	}
	close(fd);
	setenv("ROCIN_NEIGHBOURS", "user", 1);
	expect_boundary(&dev);
}

/* Not even packets of this user do, except by shared memory. */
static void nobody_is_nobody(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach a;
	struct rn_rocind *r;

	(void)state;
	setenv("ROCIN_NEIGHBOURS", "nobody", 1);
	r = kit_attach(&dev, &a);
	send_from_own_port(&dev.gid[0], a_qpn(&a), a.own_port);
	assert_true(kit_is_empty(a.sock[0]));
	assert_int_equal(drops(r, RN_ROCIND_DROP_FOREIGN), 1);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* ---- Another user ---- */

static int bind_as(const struct rn_gid *gid, uint16_t port, int option)
{
	union rn_sockaddr sa;
	socklen_t len = rn_gid_sockaddr(&sa, gid, port, 0);
	int fd = socket(sa.sa.sa_family, SOCK_DGRAM, 0), on = 1;

	if (option && setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on)))
		return -1;
	if (bind(fd, &sa.sa, len) == 0)
		return fd;
	close(fd);
	return -1;
}

static const struct rn_gid any6;
static const struct rn_gid elsewhere = { { [10] = 0xff, 0xff, 127, 77, 77, 7 } };

static void become_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(9);
}

static void other_users_cannot_have_the_own_port_at_any_address(void **state)
{
	static const int options[] = { 0, SO_REUSEADDR, SO_REUSEPORT };
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach a;
	struct rn_rocind *r;
	int status;

	(void)state;
	if (geteuid())
		skip();
	setenv("ROCIN_NEIGHBOURS", "user", 1);
	r = kit_attach(&dev, &a);
	if (fork() == 0) {
		become_nobody();
		for (unsigned i = 0; i < RN_ARRAY_SIZE(options); i++)
			if (bind_as(&elsewhere, a.own_port, options[i]) >= 0 ||
			    bind_as(&dev.gid[0], a.own_port, options[i]) >= 0 ||
			    bind_as(&any6, a.own_port, options[i]) >= 0)
				_exit(1);
		_exit(0);
	}
	wait(&status);
	assert_int_equal(status, 0);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* A member of the group holds a port at all addresses, as its rocind does, and another
 * one at one address, where it could be somebody else's, too.
 */
static pid_t start_neighbour(const struct rn_gid *to, uint32_t qpn, uint16_t ports[2],
			     int *go)
{
	int ready[2], start[2];
	pid_t pid;

	assert_int_equal(pipe(ready) | pipe(start), 0);
	pid = fork();
	if (pid == 0) {
		union rn_sockaddr sa = { 0 };
		socklen_t len;
		int fd[2];

		become_nobody();
		fd[0] = bind_as(&any6, 0, 0);
		fd[1] = bind_as(&elsewhere, 0, 0);
		for (unsigned i = 0; i < 2; i++) {
			len = sizeof(sa);
			if (getsockname(fd[i], &sa.sa, &len))
				_exit(1);
			ports[i] = ntohs(i ? sa.in.sin_port : sa.in6.sin6_port);
		}
		if (write(ready[1], ports, 2 * sizeof(ports[0])) < 0 ||
		    read(start[0], &sa, 1) != 1)
			_exit(1);
		send_by(fd[1], to, qpn);
		_exit(0);
	}
	assert_int_equal(read(ready[0], ports, 2 * sizeof(ports[0])),
			 2 * sizeof(ports[0]));
	*go = start[1];
	return pid;
}

static void members_of_the_group_count_by_ports_that_are_theirs_alone(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach a;
	struct rn_rocind *r;
	uint16_t ports[2];
	int go, status;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	setenv("ROCIN_NEIGHBOURS", "group:nogroup", 1);
	pid = start_neighbour(&dev.gid[0], 7u << 8 | 1, ports, &go);
	r = kit_attach(&dev, &a); /* when rocind looks who is there */
	assert_int_equal(a.slot, 1);
	assert_int_equal(write(go, "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(kit_is_empty(a.sock[0]));
	assert_int_equal(drops(r, RN_ROCIND_DROP_FOREIGN), 1);
	/* The first port was the neighbour's when rocind looked. */
	send_by(bind_as(&dev.gid[0], ports[0], 0), &dev.gid[0], a_qpn(&a));
	assert_int_equal(kit_receive(a.sock[0]), a_qpn(&a));
	kit_close_socks(&a);
	rn_rocind_close(r);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
	const struct CMUnitTest tests[] = {
		TEST(only_the_own_port_counts),
		TEST(only_the_own_port_counts_with_ipv6),
		TEST(nobody_is_nobody),
		TEST(other_users_cannot_have_the_own_port_at_any_address),
		TEST(members_of_the_group_count_by_ports_that_are_theirs_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
