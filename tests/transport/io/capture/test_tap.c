/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_tap.c - what a capture shows, read back by libpcap. */
#include <errno.h>
#include <ftw.h>
#include <pcap/pcap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/icrc.h"
#include "rocin/wire.h"
#include "tests/transport/io/pair_kit.h"
#include "transport/io/capture/tap.h"

enum {
	DATA = 101, /* odd: the checksum has a half word */
	PACKET = DATA + RN_ICRC_LEN,
};

static char dir[64];

static const struct rn_flow flow4 = {
	.src = { { [10] = 0xff, 0xff, 127, 0, 0, 2 } },
	.dst = { { [10] = 0xff, 0xff, 127, 0, 0, 3 } },
	.sport = RN_ROCE_PORT,
	.tclass = 0x6a,
	.hop_limit = 33,
};

static const struct rn_flow flow6 = {
	.src = { { 0xfd, 1, [15] = 1 } },
	.dst = { { 0xfd, 1, [15] = 2 } },
	.sport = 0xc123,
	.tclass = 0x6a,
};

static const char *in_dir(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static uint32_t sum(const uint8_t *p, size_t len, uint32_t s)
{
	for (size_t i = 0; i < len; i++)
		s += (uint32_t)p[i] << (i & 1 ? 0 : 8);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

/* Three packets, the last one shorter. */
static struct rn_super make_super(const struct rn_flow *flow, uint8_t *data, bool gso)
{
	struct rn_super s = { .flow = flow, .data = data, .seg_len = PACKET, .count = 3 };

	for (uint32_t i = 0; i < 3; i++) {
		uint32_t len = i < 2 ? PACKET : PACKET - 40;

		memset(data + s.len, (int)(i + 1), len);
		rn_icrc_seal(flow, gso ? (uint16_t)i : 0, data + s.len,
			     len - RN_ICRC_LEN);
		s.len += len;
	}
	return s;
}

static pcap_t *open_file(const char *path)
{
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *p = pcap_open_offline_with_tstamp_precision(
		path, PCAP_TSTAMP_PRECISION_NANO, err);

	assert_non_null(p);
	assert_int_equal(pcap_datalink(p), DLT_RAW);
	return p;
}

static void check_ipv4(const uint8_t *ip, uint32_t len, uint32_t number)
{
	const uint8_t *udp = ip + 20;
	uint32_t payload = len - 28;

	assert_int_equal(len, 28 + (number < 2 ? PACKET : PACKET - 40));
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(ip[1], 0x6a);
	assert_int_equal(ip[2] << 8 | ip[3], len);
	assert_int_equal(ip[4] << 8 | ip[5], number); /* place in the super-packet */
	assert_int_equal(ip[6] << 8 | ip[7], 0x4000);
	assert_int_equal(ip[8], 33);
	assert_int_equal(ip[9], 17);
	assert_int_equal(sum(ip, 20, 0), 0xffff);
	assert_memory_equal(ip + 12, flow4.src.raw + 12, 4);
	assert_memory_equal(ip + 16, flow4.dst.raw + 12, 4);
	assert_int_equal(udp[0] << 8 | udp[1], RN_ROCE_PORT);
	assert_int_equal(udp[2] << 8 | udp[3], RN_ROCE_PORT);
	assert_int_equal(udp[4] << 8 | udp[5], 8 + payload);
	/* Pseudo header: addresses, protocol, length. */
	assert_int_equal(sum(udp, 8 + payload, sum(ip + 12, 8, 17 + 8 + payload)),
			 0xffff);
	assert_int_equal(udp[8], number + 1);
	assert_int_equal(rn_get_le32(udp + 8 + payload - 4),
			 rn_icrc(&flow4, (uint16_t)number, udp + 8, payload - 4));
}

static void super_packet_is_recorded_as_the_packets_that_leave(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	struct rn_tap *tap =
		rn_tap_open(in_dir("tx.pcap"), rn_pair_net(pair, 0), NULL, 0);
	uint8_t data[3 * PACKET];
	struct rn_super s = make_super(&flow4, data, true);
	struct pcap_pkthdr *hdr;
	const uint8_t *ip;
	time_t now = time(NULL);
	pcap_t *p;

	(void)state;
	assert_non_null(tap);
	assert_true(rn_tap_net(tap)->gso);
	assert_int_equal(rn_tap_flush_due(tap) == RN_NEVER, 1);
	assert_int_equal(rn_tap_net(tap)->ops->transmit(rn_tap_net(tap)->ctx, &s), 0);
	assert_int_equal(rn_tap_flush_due(tap) == RN_NEVER, 0);
	rn_tap_close(tap);

	p = open_file(in_dir("tx.pcap"));
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(pcap_next_ex(p, &hdr, &ip), 1);
		assert_int_equal(hdr->caplen, hdr->len);
		assert_in_range(hdr->ts.tv_sec, now - 1, now + 60);
		check_ipv4(ip, hdr->caplen, i);
	}
	assert_int_equal(pcap_next_ex(p, &hdr, &ip), PCAP_ERROR_BREAK);
	pcap_close(p);
	rn_pair_free(pair);
}

/* The source port is that of the flow. */
static int transmit_so(void *ctx, const struct rn_super *super)
{
	const int *rc = ctx;

	(void)super;
	return *rc;
}

static unsigned packets_in(struct rn_tap *tap)
{
	const u_char *data;
	struct pcap_pkthdr *hdr;
	unsigned n = 0;
	pcap_t *p;

	rn_tap_flush(tap);
	p = open_file(rn_tap_path(tap));
	for (; pcap_next_ex(p, &hdr, &data) == 1; n++)
		check_ipv4(data, hdr->len, n);
	pcap_close(p);
	return n;
}

/* The peer answers what it got of a super-packet before the rest of it has been sent. */
static void packets_are_recorded_before_the_rest_of_their_super_packet(void **state)
{
	static const struct rn_net_ops ops = { .transmit = transmit_so };
	int rc = -EAGAIN;
	struct rn_net full = { .ops = &ops, .ctx = &rc, .gso = true };
	struct rn_tap *tap = rn_tap_open(in_dir("part.pcap"), &full, NULL, 0);
	const struct rn_net *net = rn_tap_net(tap);
	uint8_t data[3 * PACKET];
	const struct rn_super s = make_super(&flow4, data, true);

	(void)state;
	assert_int_equal(net->ops->transmit(net->ctx, &s), -EAGAIN);
	assert_int_equal(packets_in(tap), 0);
	full.sent = 2;
	assert_int_equal(net->ops->transmit(net->ctx, &s), -EAGAIN);
	assert_int_equal(net->sent, 2);
	assert_int_equal(packets_in(tap), 2);
	rc = 0;
	assert_int_equal(net->ops->transmit(net->ctx, &s), 0);
	assert_int_equal(net->sent, 0);
	assert_int_equal(packets_in(tap), 3);
	rn_tap_close(tap);
}

/* The back end sends the packets from the second on one by one, with identification 0. */
static void packets_that_left_alone_are_recorded_as_they_left(void **state)
{
	static const struct rn_net_ops ops = { .transmit = transmit_so };
	int rc = 0;
	struct rn_net inner = {
		.ops = &ops, .ctx = &rc, .gso = true, .is_alone = true, .alone_at = 1
	};
	struct rn_tap *tap = rn_tap_open(in_dir("alone.pcap"), &inner, NULL, 0);
	const struct rn_net *net = rn_tap_net(tap);
	uint8_t joined[3 * PACKET], single[3 * PACKET];
	const struct rn_super s = make_super(&flow4, joined, true);
	const struct rn_super alone = make_super(&flow4, single, false);
	struct pcap_pkthdr *hdr;
	const uint8_t *ip;
	pcap_t *p;

	(void)state;
	assert_int_equal(net->ops->transmit(net->ctx, &s), 0);
	assert_true(net->is_alone);
	assert_int_equal(net->alone_at, 1);
	rn_tap_close(tap);
	assert_memory_not_equal(joined, single, s.len);
	p = open_file(in_dir("alone.pcap"));
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(pcap_next_ex(p, &hdr, &ip), 1);
		assert_int_equal(ip[4] << 8 | ip[5], 0);
		assert_memory_equal(ip + 28, alone.data + i * PACKET, hdr->caplen - 28);
	}
	assert_int_equal(pcap_next_ex(p, &hdr, &ip), PCAP_ERROR_BREAK);
	pcap_close(p);
}

static void packets_of_a_connected_socket_have_its_identifications(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	struct rn_tap *tap =
		rn_tap_open(in_dir("connected.pcap"), rn_pair_net(pair, 0), NULL, 0);
	struct rn_net *net = rn_tap_net(tap);
	uint8_t data[3 * PACKET];
	struct rn_super s = make_super(&flow4, data, true);
	struct pcap_pkthdr *hdr;
	const uint8_t *ip;
	pcap_t *p;

	(void)state;
	assert_int_equal(rn_net_tx_socket(net, &flow4, 0, 0).id, 0); /* a pair has none */
	s.tx_socket = (struct rn_tx_socket){ .id = 3, .first_id = 0xffff };
	assert_int_equal(net->ops->transmit(net->ctx, &s), 0);
	rn_tap_close(tap);
	p = open_file(in_dir("connected.pcap"));
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(pcap_next_ex(p, &hdr, &ip), 1);
		assert_int_equal(ip[4] << 8 | ip[5], (0xffff + i) & 0xffff);
	}
	pcap_close(p);
	rn_pair_free(pair);
}

static void
received_packets_get_the_identification_that_their_icrc_speaks_of(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	struct rn_tap *tap =
		rn_tap_open(in_dir("rx.pcap"), rn_pair_net(pair, 1), NULL, 0);
	const struct rn_net *far = rn_pair_net(pair, 0), *near = rn_tap_net(tap);
	uint8_t data[3 * PACKET];
	struct rn_super s = make_super(&flow4, data, true);
	struct rn_rx rx[RN_RX_BATCH];
	struct pcap_pkthdr *hdr;
	const uint8_t *ip;
	pcap_t *p;

	(void)state;
	/* As a network card numbers them: nothing that could be guessed. */
	for (uint32_t i = 0; i < 3; i++)
		rn_icrc_seal(&flow4, (uint16_t)(0x718c + i), data + i * PACKET,
			     (i < 2 ? PACKET : PACKET - 40) - RN_ICRC_LEN);
	assert_int_equal(far->ops->transmit(far->ctx, &s), 0);
	assert_int_equal(near->ops->receive(near->ctx, rx), 3);
	rn_tap_flush(tap); /* enough for a reader */

	p = open_file(in_dir("rx.pcap"));
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(pcap_next_ex(p, &hdr, &ip), 1);
		assert_int_equal(ip[4] << 8 | ip[5], 0x718c + i);
		assert_int_equal(sum(ip, 20, 0), 0xffff);
	}
	pcap_close(p);
	rn_tap_close(tap);
	rn_pair_free(pair);
}

static void ipv6_has_its_header_and_checksum(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	struct rn_tap *tap =
		rn_tap_open(in_dir("v6.pcap"), rn_pair_net(pair, 0), NULL, 0);
	uint8_t data[3 * PACKET];
	struct rn_super s = make_super(&flow6, data, true);
	struct pcap_pkthdr *hdr;
	const uint8_t *ip;
	pcap_t *p;

	(void)state;
	assert_int_equal(rn_tap_net(tap)->ops->transmit(rn_tap_net(tap)->ctx, &s), 0);
	rn_tap_close(tap);
	p = open_file(in_dir("v6.pcap"));
	assert_int_equal(pcap_next_ex(p, &hdr, &ip), 1);
	assert_int_equal(hdr->caplen, 48 + PACKET);
	assert_int_equal((ip[0] & 15) << 4 | ip[1] >> 4, 0x6a);
	assert_int_equal(ip[4] << 8 | ip[5], 8 + PACKET);
	assert_int_equal(ip[6], 17);
	assert_int_equal(ip[7], 64); /* the default, since none was given */
	assert_int_equal(sum(ip + 40, 8 + PACKET, sum(ip + 8, 32, 17 + 8 + PACKET)),
			 0xffff);
	pcap_close(p);
	rn_pair_free(pair);
}

static void second_capture_of_one_name_gets_a_file_of_its_own(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	struct rn_tap *a = rn_tap_open(in_dir("same"), rn_pair_net(pair, 0), NULL, 0);
	struct rn_tap *b = rn_tap_open(in_dir("same"), rn_pair_net(pair, 0), NULL, 0);
	struct rn_tap *c = rn_tap_open(in_dir("same"), rn_pair_net(pair, 0), NULL, 0);
	char want[100];

	(void)state;
	assert_string_equal(rn_tap_path(a), in_dir("same"));
	snprintf(want, sizeof(want), "same.%d", (int)getpid());
	assert_string_equal(rn_tap_path(b), in_dir(want));
	snprintf(want, sizeof(want), "same.%d.1", (int)getpid());
	assert_string_equal(rn_tap_path(c), in_dir(want));
	rn_tap_close(a);
	rn_tap_close(b);
	rn_tap_close(c);
	a = rn_tap_open(in_dir("same"), rn_pair_net(pair, 0), NULL, 0);
	assert_string_equal(rn_tap_path(a), in_dir("same")); /* it is free again */
	rn_tap_close(a);
	rn_pair_free(pair);
}

static void name_may_hold_the_process_id(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	struct rn_tap *tap = rn_tap_open(in_dir("a%pb"), rn_pair_net(pair, 0), NULL, 0);
	char want[100];

	(void)state;
	snprintf(want, sizeof(want), "a%db", (int)getpid());
	assert_string_equal(rn_tap_path(tap), in_dir(want));
	rn_tap_close(tap);
	rn_pair_free(pair);
}

static void file_that_cannot_be_written_is_a_sentence(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	char err[200] = "";

	(void)state;
	assert_null(rn_tap_open(in_dir("no/such/dir"), rn_pair_net(pair, 0), err,
				sizeof(err)));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(err, "no/such/dir"));
	rn_pair_free(pair);
}

/* Bytes of the file. */
static off_t write_beside_a_child(const char *name)
{
	struct rn_pair *pair = rn_pair_new();
	struct rn_tap *tap = rn_tap_open(in_dir(name), rn_pair_net(pair, 0), NULL, 0);
	uint8_t data[3 * PACKET];
	struct rn_super s = make_super(&flow4, data, true);
	struct stat before, after;
	pid_t pid;

	assert_int_equal(rn_tap_net(tap)->ops->transmit(rn_tap_net(tap)->ctx, &s), 0);
	pid = fork();
	if (pid == 0) {
		rn_tap_flush(tap);
		_exit(0);
	}
	assert_int_equal(stat(in_dir(name), &before), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(stat(in_dir(name), &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	rn_tap_close(tap);
	assert_int_equal(stat(in_dir(name), &after), 0);
	rn_pair_free(pair);
	return after.st_size;
}

static void fork_child_does_not_write_the_buffer_again(void **state)
{
	(void)state;
	assert_int_equal(write_beside_a_child("fork"),
			 24 + 3 * (16 + 28) + 2 * PACKET + PACKET - 40);
}

/* exit() does to streams what fflush(NULL) does, but without their locks. */
static void libc_writes_nothing_at_exit(void **state)
{
	struct rn_pair *pair = rn_pair_new();
	struct rn_tap *tap = rn_tap_open(in_dir("exit"), rn_pair_net(pair, 0), NULL, 0);
	uint8_t data[3 * PACKET];
	struct rn_super s = make_super(&flow4, data, true);
	struct stat before, after;

	(void)state;
	assert_int_equal(rn_tap_net(tap)->ops->transmit(rn_tap_net(tap)->ctx, &s), 0);
	assert_int_equal(stat(in_dir("exit"), &before), 0);
	fflush(NULL);
	assert_int_equal(stat(in_dir("exit"), &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	rn_tap_flush(tap);
	assert_int_equal(stat(in_dir("exit"), &after), 0);
	assert_int_equal(after.st_size, 24 + 3 * (16 + 28) + 2 * PACKET + PACKET - 40);
	rn_tap_close(tap);
	rn_pair_free(pair);
}

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/rocin-tap-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_dir(void **state)
{
	(void)state;
	return nftw(dir, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(super_packet_is_recorded_as_the_packets_that_leave),
		cmocka_unit_test(
			packets_are_recorded_before_the_rest_of_their_super_packet),
		cmocka_unit_test(packets_that_left_alone_are_recorded_as_they_left),
		cmocka_unit_test(packets_of_a_connected_socket_have_its_identifications),
		cmocka_unit_test(
			received_packets_get_the_identification_that_their_icrc_speaks_of),
		cmocka_unit_test(ipv6_has_its_header_and_checksum),
		cmocka_unit_test(second_capture_of_one_name_gets_a_file_of_its_own),
		cmocka_unit_test(name_may_hold_the_process_id),
		cmocka_unit_test(file_that_cannot_be_written_is_a_sentence),
		cmocka_unit_test(fork_child_does_not_write_the_buffer_again),
		cmocka_unit_test(libc_writes_nothing_at_exit),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
