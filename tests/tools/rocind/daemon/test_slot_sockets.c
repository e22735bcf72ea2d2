/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_slot_sockets.c - what the sockets are like that a process gets with its slot. */
#include "tests/tools/rocind/kit/rocind_kit.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#endif

static int get_int(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static void sockets_come_ready_for_use(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a);
	int fd = a.sock[0];

	(void)state;
	assert_true(fd > 2);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(ntohs(sa.sin_port), 4791);
	assert_memory_equal(&sa.sin_addr, dev.gid[0].raw + 12, 4);
	assert_int_equal(getpeername(fd, (struct sockaddr *)&sa, &len), -1);
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_DO);
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_RECVTOS), 1);
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_RECVTTL), 1);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_RXQ_OVFL), 1);
	assert_in_range(get_int(fd, SOL_SOCKET, SO_RCVBUF), 2 * 212992, 32 << 20);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* A16: without the option that rocind sets the kernel drops an IPv6 datagram whose UDP
 * checksum is zero; the ICRC makes one needless, and some senders leave it out.
 */
static void datagrams_without_a_checksum_come_in_over_ipv6(void **state)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
				   .sin6_port = htons(4791),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct rn_netdev dev = kit_device(1);
	const int on = 1;
	struct rn_attach a;
	struct rn_rocind *r;
	uint8_t data[32] = { 100 }, got[64];
	struct pollfd p;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	dev.gid[0] = (struct rn_gid){ .raw = { [15] = 1 } };
	r = kit_attach(&dev, &a);
	data[5] = 1; /* of no special queue pair, of this slot */
	data[7] = (uint8_t)a.slot;
	assert_true(fd >= 0);
	for (int without = 0; without <= on; without++) {
		assert_int_equal(setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &without,
					    sizeof(without)),
				 0);
		assert_int_equal(
			sendto(fd, data, sizeof(data), 0, (void *)&to, sizeof(to)),
			sizeof(data));
		p = (struct pollfd){ .fd = a.sock[0], .events = POLLIN };
		assert_int_equal(poll(&p, 1, 300000), 1);
		assert_int_equal(recv(a.sock[0], got, sizeof(got), 0), sizeof(data));
	}
	close(fd);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

static void a_slot_that_is_used_again_has_its_receive_buffer_back(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a);
	const int small = 65536;
	int full = get_int(a.sock[0], SOL_SOCKET, SO_RCVBUF);

	(void)state;
	assert_int_equal(
		setsockopt(a.sock[0], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	assert_true(get_int(a.sock[0], SOL_SOCKET, SO_RCVBUF) < full);
	kit_close_socks(&a);
	rn_rocind_close(r);
	r = kit_attach(&dev, &a);
	assert_int_equal(get_int(a.sock[0], SOL_SOCKET, SO_RCVBUF), full);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* A sender's super-packet goes whole to the process that its first segment names. */
static void a_super_packet_arrives_as_one(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach other, a;
	struct rn_rocind *r1 = kit_attach(&dev, &other), *r2 = kit_attach(&dev, &a);
	uint8_t packets[3][32] = { 0 }, got[sizeof(packets) + 1];
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
	    segment = sizeof(packets[0]);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		packets[i][6] = 1; /* QPN 0x100 | slot */
		packets[i][7] = (uint8_t)a.slot;
	}
	memcpy(&sa.sin_addr, dev.gid[0].raw + 12, 4);
	assert_int_equal(
		setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)), 0);
	assert_int_equal(sendto(fd, packets, sizeof(packets), 0, (struct sockaddr *)&sa,
				sizeof(sa)),
			 sizeof(packets));
	assert_int_equal(recv(a.sock[0], got, sizeof(got), 0), sizeof(packets));
	assert_true(kit_is_empty(other.sock[0]));
	close(fd);
	kit_close_socks(&other);
	kit_close_socks(&a);
	rn_rocind_close(r1);
	rn_rocind_close(r2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)

/* Else packets for the one would reach the other. */
static void a_slot_is_free_at_all_addresses_of_its_device(void **state)
{
	const struct rn_netdev both = kit_device(2);
	struct rn_netdev second = kit_device(1);
	struct rn_rocind *r, *other;
	struct rn_attach a, b;

	(void)state;
	second.gid[0] = both.gid[1];
	other = kit_attach(&second, &b);
	r = kit_attach(&both, &a);
	assert_int_not_equal(a.slot, b.slot);
	kit_send(&both.gid[1], 0x300 | b.slot, 16);
	assert_int_equal(kit_receive(b.sock[0]), 0x300 | b.slot);
	assert_true(kit_is_empty(a.sock[1]));
	kit_close_socks(&a);
	kit_close_socks(&b);
	rn_rocind_close(r);
	rn_rocind_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sockets_come_ready_for_use),
		TEST(datagrams_without_a_checksum_come_in_over_ipv6),
		TEST(a_slot_that_is_used_again_has_its_receive_buffer_back),
		TEST(a_super_packet_arrives_as_one),
		TEST(a_slot_is_free_at_all_addresses_of_its_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
