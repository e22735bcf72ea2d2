/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_net_udp_split.c - from what recvmsg() delivered to packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/udp/udp_internal.h"

static const struct rn_flow flow;

static void single_packet_is_one_entry(void **state)
{
	static uint8_t data[50];
	struct rn_rx_split s;
	struct rn_rx rx[RN_RX_BATCH];

	(void)state;
	rn_rx_split_init(&s, data, sizeof(data), 0);
	assert_int_equal(rn_rx_split_next(&s, &flow, rx), 1);
	assert_ptr_equal(rx[0].data, data);
	assert_int_equal(rx[0].len, 50);
	assert_int_equal(rx[0].gro_idx, 0);
	assert_int_equal(rn_rx_split_next(&s, &flow, rx), 0);
}

static void super_packet_is_cut_and_the_last_may_be_shorter(void **state)
{
	static uint8_t data[250];
	struct rn_rx_split s;
	struct rn_rx rx[RN_RX_BATCH];

	(void)state;
	rn_rx_split_init(&s, data, sizeof(data), 100);
	assert_int_equal(rn_rx_split_next(&s, &flow, rx), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_ptr_equal(rx[i].data, data + i * 100);
		assert_int_equal(rx[i].len, i < 2 ? 100 : 50);
		assert_int_equal(rx[i].gro_idx, i);
	}
}

static void more_packets_than_a_batch_come_in_several(void **state)
{
	static uint8_t data[16 * (RN_RX_BATCH + 3)];
	struct rn_rx_split s;
	struct rn_rx rx[RN_RX_BATCH];

	(void)state;
	rn_rx_split_init(&s, data, sizeof(data), 16);
	assert_int_equal(rn_rx_split_next(&s, &flow, rx), RN_RX_BATCH);
	assert_int_equal(rn_rx_split_next(&s, &flow, rx), 3);
	assert_int_equal(rx[2].gro_idx, RN_RX_BATCH + 2);
	assert_int_equal(rn_rx_split_next(&s, &flow, rx), 0);
}

static void segment_longer_than_the_packet_is_the_packet(void **state)
{
	static uint8_t data[10];
	struct rn_rx_split s;
	struct rn_rx rx[RN_RX_BATCH];

	(void)state;
	rn_rx_split_init(&s, data, sizeof(data), 4000);
	assert_int_equal(rn_rx_split_next(&s, &flow, rx), 1);
	assert_int_equal(rx[0].len, 10);
}

static void empty_packet_is_no_entry(void **state)
{
	struct rn_rx_split s;
	struct rn_rx rx[RN_RX_BATCH];

	(void)state;
	rn_rx_split_init(&s, (const uint8_t *)"", 0, 0);
	assert_int_equal(rn_rx_split_next(&s, &flow, rx), 0);
}

static void ipv4_source_becomes_a_mapped_gid(void **state)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = htons(0xc001) };
	const uint8_t want[16] = { [10] = 0xff, 0xff, 192, 0, 2, 7 };
	struct rn_flow f;

	(void)state;
	from.sin_addr.s_addr = htonl(0xc0000207);
	memset(&f, 0x55, sizeof(f));
	rn_flow_set_source(&f, (const struct sockaddr *)&from);
	assert_memory_equal(f.src.raw, want, 16);
	assert_int_equal(f.sport, 0xc001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_packet_is_one_entry),
		cmocka_unit_test(super_packet_is_cut_and_the_last_may_be_shorter),
		cmocka_unit_test(more_packets_than_a_batch_come_in_several),
		cmocka_unit_test(segment_longer_than_the_packet_is_the_packet),
		cmocka_unit_test(empty_packet_is_no_entry),
		cmocka_unit_test(ipv4_source_becomes_a_mapped_gid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
