/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_net_capture.c - what the middleware writes into the rings, and what it thinks. */
#include "tests/transport/io/pair_kit.h"
#include "transport/io/capture/net_capture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_kit.h"
#include "rocin/icrc.h"
#include "transport/io/capture/capture_ring.h"
#include "transport/io/fault/net_fault.h"

enum {
	SIZE = RN_CAPTURE_SIZE_MIN,
	PACKET = 100,
	CAPTURE = 5, /* its id */
};

struct rig {
	struct rn_pair *pair;
	struct rn_capture *c;
	struct rn_net *net, *far;
	void *mem;
	struct rn_capture_reader r;
};

static int make_ring(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	void *mem;

	assert_int_equal(ftruncate(fd, (off_t)rn_capture_ring_bytes(SIZE)), 0);
	mem = mmap(NULL, rn_capture_ring_bytes(SIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	rn_capture_format(mem, SIZE);
	munmap(mem, rn_capture_ring_bytes(SIZE));
	return fd;
}

static void begin(struct rig *rig, uint32_t qpn, uint32_t snaplen)
{
	const struct rn_capture_filter filter = { .qpn = qpn, .snaplen = snaplen };
	int fd = make_ring();

	assert_int_equal(rn_capture_add(rig->c, CAPTURE, fd, SIZE, &filter), 0);
	rig->mem = mmap(NULL, rn_capture_ring_bytes(SIZE), PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);
	close(fd);
	assert_int_equal(rn_capture_reader_init(&rig->r, rig->mem, SIZE), 0);
}

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	rig->pair = rn_pair_new();
	rig->c = rn_capture_new(rn_pair_net(rig->pair, 0), &host, NULL);
	rig->net = rn_capture_net(rig->c);
	rig->far = rn_pair_net(rig->pair, 1);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	rn_capture_free(rig->c);
	if (rig->mem)
		munmap(rig->mem, rn_capture_ring_bytes(SIZE));
	rn_pair_free(rig->pair);
	free(rig);
	return 0;
}

static void send_packets(const struct rn_net *net, uint32_t dest, uint32_t psn,
			 uint32_t count)
{
	uint8_t data[RN_SUPER_SEGMENTS * PACKET];

	for (uint32_t i = 0; i < count; i++)
		make_packet(data + i * PACKET, PACKET, 0x0a, dest, psn + i);
	send_super(net, data, PACKET, count);
}

static void expect(struct rig *rig, unsigned flags, uint32_t psn, uint32_t qpn)
{
	assert_int_equal(rn_capture_peek(&rig->r), 0);
	assert_int_equal(rig->r.rec.kind, RN_CAPTURE_PACKET);
	assert_int_equal(rig->r.rec.flags, flags);
	assert_int_equal(rig->r.rec.len, PACKET);
	assert_int_equal(rn_get_be24(rig->r.body + 9), psn);
	assert_int_equal(rig->r.rec.qpn, qpn);
	assert_memory_equal(&rig->r.rec.flow, &flow, sizeof(flow));
	rn_capture_pass(&rig->r);
}

static void expect_nothing(struct rig *rig)
{
	assert_int_equal(rn_capture_peek(&rig->r), -EAGAIN);
}

static void expect_diagnostic(struct rig *rig, uint64_t number, uint32_t code)
{
	struct rn_diagnostic said;

	assert_int_equal(rn_capture_peek(&rig->r), 0);
	assert_int_equal(rig->r.rec.kind, RN_CAPTURE_DIAGNOSTIC);
	assert_int_equal(rig->r.rec.number, number);
	memcpy(&said, rig->r.body, sizeof(said));
	assert_int_equal(said.code, code);
	rn_capture_pass(&rig->r);
}

static void
packets_of_a_connected_socket_are_written_with_its_identifications(void **state)
{
	struct rig *rig = *state;
	uint8_t data[3 * PACKET];
	struct rn_super s = { .flow = &flow,
			      .data = data,
			      .len = sizeof(data),
			      .seg_len = PACKET,
			      .count = 3,
			      .tx_socket = { .id = 1, .first_id = 0xfffe } };

	begin(rig, 0, 0);
	for (uint32_t i = 0; i < 3; i++)
		make_packet(data + i * PACKET, PACKET, 0x0a, REMOTE, 10 + i);
	assert_int_equal(rig->net->ops->transmit(rig->net->ctx, &s), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(rn_capture_peek(&rig->r), 0);
		assert_int_equal(rig->r.rec.ip_id, (0xfffe + i) & 0xffff);
		rn_capture_pass(&rig->r);
	}
}

/* The back end sends the packets from the second on one by one, with identification 0. */
static void packets_that_left_alone_are_written_as_they_left(void **state)
{
	struct rig *rig = *state;
	struct rn_net *inner = rn_pair_net(rig->pair, 0);
	uint8_t data[3 * PACKET], sealed[PACKET];
	const struct rn_super s = { .flow = &flow,
				    .data = data,
				    .len = sizeof(data),
				    .seg_len = PACKET,
				    .count = 3,
				    .tx_socket = { .id = 1, .first_id = 7 } };

	begin(rig, 0, 0);
	for (uint32_t i = 0; i < 3; i++)
		make_packet(data + i * PACKET, PACKET, 0x0a, REMOTE, 10 + i);
	inner->is_alone = true;
	inner->alone_at = 1;
	assert_int_equal(rig->net->ops->transmit(rig->net->ctx, &s), 0);
	for (uint32_t i = 0; i < 3; i++) {
		memcpy(sealed, data + i * PACKET, PACKET);
		if (i >= 1)
			rn_icrc_seal(&flow, 0, sealed, PACKET - RN_ICRC_LEN);
		assert_int_equal(rn_capture_peek(&rig->r), 0);
		assert_int_equal(rig->r.rec.ip_id, i >= 1 ? 0 : 7);
		assert_memory_equal(rig->r.body, sealed, PACKET);
		rn_capture_pass(&rig->r);
	}
	inner->is_alone = false;
}

static void both_directions_are_written(void **state)
{
	struct rig *rig = *state;
	struct rn_rx rx[RN_RX_BATCH];

	begin(rig, 0, 0);
	send_packets(rig->net, REMOTE, 10, 3);
	for (uint32_t i = 0; i < 3; i++)
		expect(rig, RN_CAPTURE_SENT, 10 + i, LOCAL);
	send_packets(rig->far, LOCAL, 20, 2);
	assert_int_equal(rig->net->ops->receive(rig->net->ctx, rx), 2);
	/* The device has not said what it thinks of them. */
	expect_nothing(rig);
	rn_capture_flush(rig->c);
	expect(rig, 0, 20, LOCAL);
	expect(rig, 0, 21, LOCAL);
	expect_nothing(rig);
}

static void diagnostics_go_with_the_packet_received(void **state)
{
	struct rig *rig = *state;
	struct rn_rx rx[RN_RX_BATCH];
	struct rn_diagnostic said = { .kind = RN_DIAGNOSTIC_COUNTED };
	uint8_t copy[PACKET];
	const struct rn_rx copied = { .data = copy, .len = PACKET };

	begin(rig, 0, 0);
	send_packets(rig->far, LOCAL, 20, 3);
	assert_int_equal(rig->net->ops->receive(rig->net->ctx, rx), 3);
	said.code = 1;
	rn_capture_diagnostic(rig->c, &said, &rx[1]);
	memcpy(copy, rx[2].data, sizeof(copy));
	said.code = 2;
	rn_capture_diagnostic(rig->c, &said, &copied); /* as faults hand it on */
	make_packet(copy, PACKET, 0x0a, LOCAL, 99);
	rn_capture_diagnostic(rig->c, &said, &copied); /* of no packet of the batch */
	rn_capture_flush(rig->c);
	for (uint32_t i = 0; i < 3; i++)
		expect(rig, 0, 20 + i, LOCAL);
	expect_diagnostic(rig, 2, 1);
	expect_diagnostic(rig, 3, 2);
	expect_nothing(rig);
}

static void diagnostics_wait_for_the_packet_sent(void **state)
{
	struct rig *rig = *state;
	struct rn_diagnostic said = { .kind = RN_DIAGNOSTIC_RESENT,
				      .is_sent = true,
				      .dest_qpn = REMOTE };

	begin(rig, 0, 0);
	said.psn = 12;
	said.code = 12;
	rn_capture_diagnostic(rig->c, &said, NULL);
	said.is_response = true; /* an acknowledgement of the same PSN */
	rn_capture_diagnostic(rig->c, &said, NULL);
	send_packets(rig->net, REMOTE, 11, 2);
	expect(rig, RN_CAPTURE_SENT, 11, LOCAL);
	expect(rig, RN_CAPTURE_SENT, 12, LOCAL);
	expect_diagnostic(rig, 2, 12);
	send_packets(rig->net, REMOTE, 12, 1);
	expect(rig, RN_CAPTURE_SENT, 12, LOCAL);
	expect_nothing(rig);
	/* However many of them meet no packet. */
	for (unsigned i = 0; i < 1000; i++)
		rn_capture_diagnostic(rig->c, &said, NULL);
}

static void receive_all(struct rig *rig)
{
	struct rn_rx rx[RN_RX_BATCH];

	while (rig->net->ops->receive(rig->net->ctx, rx) > 0)
		;
}

static void a_filter_knows_both_ends(void **state)
{
	struct rig *rig = *state;

	begin(rig, REMOTE, 60);
	send_packets(rig->net, REMOTE, 1, 1);
	send_packets(rig->net, REMOTE + 1, 2, 1);
	send_packets(rig->far, LOCAL, 3, 1);
	send_packets(rig->far, LOCAL + 1, 4, 1);
	receive_all(rig);
	assert_int_equal(rn_capture_peek(&rig->r), 0);
	assert_int_equal(rig->r.rec.cap, 60);
	expect(rig, RN_CAPTURE_SENT, 1, LOCAL);
	expect(rig, 0, 3, LOCAL);
	expect_nothing(rig);
}

static void a_packet_that_never_left_is_shown(void **state)
{
	uint8_t data[PACKET];
	const struct rn_fault_news dropped = { .what = { .kind = RN_DIAGNOSTIC_FAULT,
							 .is_sent = true,
							 .code = RN_DIAGNOSTIC_DROPPED },
					       .flow = &flow,
					       .packet = data,
					       .len = sizeof(data),
					       .is_unsent = true };
	struct rig *rig = *state;

	begin(rig, 0, 0);
	make_packet(data, PACKET, 0x0a, REMOTE, 7);
	rn_capture_fault(rig->c, &dropped);
	expect(rig, RN_CAPTURE_SENT | RN_CAPTURE_UNSENT, 7, LOCAL);
	expect_diagnostic(rig, 1, RN_DIAGNOSTIC_DROPPED);
}

static uint64_t missed(const struct rig *rig)
{
	uint64_t packets, count;

	rn_capture_counts(&rig->r, &packets, &count);
	return count;
}

/* Of one QP only, without room for more. Return: what is missed so far. */
static uint64_t begin_full(struct rig *rig)
{
	begin(rig, REMOTE, 0);
	while (missed(rig) == 0)
		send_packets(rig->net, REMOTE, 1, RN_SUPER_SEGMENTS);
	return missed(rig);
}

/* Who captures some packets only misses some only. */
static void what_finds_no_room_is_counted(void **state)
{
	struct rig *rig = *state;
	uint64_t before = begin_full(rig);

	for (unsigned i = 0; i < 3; i++) {
		send_packets(rig->net, REMOTE, 1, 2);
		send_packets(rig->net, REMOTE + 0x100, 2, 3);
		send_packets(rig->far, LOCAL, 3, 4); /* of REMOTE */
		send_packets(rig->far, LOCAL + 0x100, 4, 5);
		receive_all(rig);
	}
	assert_int_equal(missed(rig), before + (uint64_t)3 * (2 + 4));
	/* There is room again. */
	while (rn_capture_peek(&rig->r) == 0)
		rn_capture_pass(&rig->r);
	send_packets(rig->net, REMOTE, 77, 1);
	send_packets(rig->net, REMOTE + 0x100, 78, 1);
	expect(rig, RN_CAPTURE_SENT, 77, LOCAL);
	expect_nothing(rig);
	assert_int_equal(missed(rig), before + (uint64_t)3 * (2 + 4));
}

static void send_datagram(const struct rn_net *net, uint32_t dest, uint32_t src)
{
	uint8_t data[PACKET];

	make_packet(data, PACKET, 0x64, dest, 1);
	rn_put_be24(data + RN_BTH_LEN + 5, src);
	send_super(net, data, PACKET, 1);
}

static void datagrams_that_find_no_room_are_looked_at_one_by_one(void **state)
{
	struct rig *rig = *state;
	uint64_t before = begin_full(rig);

	for (uint32_t i = 0; i < 6; i++) {
		send_datagram(rig->net, LOCAL + 0x100, i % 3 ? LOCAL : REMOTE);
		send_datagram(rig->far, LOCAL + 0x100, i % 3 ? REMOTE : LOCAL);
	}
	receive_all(rig);
	assert_int_equal(missed(rig), before + 2 + 4);
}

/* What stands where a longer one says whom it is for is none of it. */
static void a_packet_shorter_than_its_header_is_of_no_queue_pair(void **state)
{
	struct rig *rig = *state;
	uint64_t before = begin_full(rig);
	struct rn_rx rx[RN_RX_BATCH];
	uint8_t data[RN_BTH_LEN];

	make_packet(data, sizeof(data), 0x0a, REMOTE, 2);
	for (uint32_t len = 1; len < RN_BTH_LEN; len++) {
		while (rig->far->ops->receive(rig->far->ctx, rx) > 0)
			;
		send_super(rig->net, data, len, 1);
	}
	assert_int_equal(missed(rig), before);
	send_super(rig->net, data, RN_BTH_LEN, 1);
	assert_int_equal(missed(rig), before + 1);
}

static void captures_come_and_go(void **state)
{
	const struct rn_capture_filter all = { 0 };
	struct rig *rig = *state;
	int fd = make_ring();

	assert_true(rn_capture_is_idle(rig->c));
	begin(rig, 0, 0);
	for (uint64_t id = 10; id < 10 + RN_CAPTURES_MAX - 1; id++)
		assert_int_equal(rn_capture_add(rig->c, id, fd, SIZE, &all), 0);
	assert_int_equal(rn_capture_add(rig->c, 99, fd, SIZE, &all), -EMFILE);
	rn_capture_remove(rig->c, 10);
	assert_int_equal(rn_capture_add(rig->c, 99, fd, 2 * SIZE, &all), -EPROTO);
	send_packets(rig->net, REMOTE, 10, 1);
	expect(rig, RN_CAPTURE_SENT, 10, LOCAL);
	rn_capture_remove(rig->c, CAPTURE);
	send_packets(rig->net, REMOTE, 11, 1);
	expect_nothing(rig);
	assert_false(rn_capture_is_idle(rig->c));
	rn_capture_remove(rig->c, 11);
	rn_capture_remove(rig->c, 12);
	assert_true(rn_capture_is_idle(rig->c));
	close(fd);
}

static int refuse(void *ctx, const struct rn_super *super)
{
	const int *rc = ctx;

	(void)super;
	return *rc;
}

static void a_packet_that_was_not_sent_is_not_captured(void **state)
{
	static const struct rn_net_ops ops = { .transmit = refuse };
	struct rig *rig = *state;
	int rc = -EAGAIN;
	struct rn_net full = { .ops = &ops, .ctx = &rc };
	uint8_t data[PACKET];
	const struct rn_super super = {
		.flow = &flow, .data = data, .len = PACKET, .seg_len = PACKET, .count = 1
	};

	rn_capture_free(rig->c);
	rig->c = rn_capture_new(&full, &host, NULL);
	rig->net = rn_capture_net(rig->c);
	begin(rig, 0, 4096);
	make_packet(data, PACKET, 0x0a, REMOTE, 7);
	assert_int_equal(rig->net->ops->transmit(rig->net->ctx, &super), -EAGAIN);
	rc = 0;
	assert_int_equal(rig->net->ops->transmit(rig->net->ctx, &super), 0);
	expect(rig, RN_CAPTURE_SENT, 7, LOCAL);
	expect_nothing(rig);
}

static int receive_one(void *ctx, struct rn_rx *rx)
{
	static uint8_t data[PACKET];

	(void)ctx;
	make_packet(data, PACKET, 0x11, LOCAL, 8);
	*rx = (struct rn_rx){ .data = data, .len = PACKET, .flow = &flow };
	return 1;
}

/* The peer answers what it got of a super-packet before the rest of it has been sent. */
static void packets_are_captured_before_the_rest_of_their_super_packet(void **state)
{
	static const struct rn_net_ops ops = { .transmit = refuse,
					       .receive = receive_one };
	struct rig *rig = *state;
	int rc = -EAGAIN;
	struct rn_net full = { .ops = &ops, .ctx = &rc, .gso = true };
	uint8_t data[4 * PACKET];
	const struct rn_super super = { .flow = &flow,
					.data = data,
					.len = sizeof(data),
					.seg_len = PACKET,
					.count = 4 };
	struct rn_rx rx[RN_RX_BATCH];

	rn_capture_free(rig->c);
	rig->c = rn_capture_new(&full, &host, NULL);
	rig->net = rn_capture_net(rig->c);
	begin(rig, 0, 4096);
	for (uint32_t i = 0; i < 4; i++)
		make_packet(data + i * PACKET, PACKET, 0x0a, REMOTE, 7 + i);
	full.sent = 2;
	assert_int_equal(rig->net->ops->transmit(rig->net->ctx, &super), -EAGAIN);
	full.sent = 3;
	assert_int_equal(rig->net->ops->transmit(rig->net->ctx, &super), -EAGAIN);
	assert_int_equal(rig->net->ops->transmit(rig->net->ctx, &super), -EAGAIN);
	assert_int_equal(rig->net->ops->receive(rig->net->ctx, rx), 1);
	rc = 0;
	assert_int_equal(rig->net->ops->transmit(rig->net->ctx, &super), 0);
	assert_int_equal(rig->net->ops->transmit(rig->net->ctx, &super), 0);
	for (uint32_t i = 0; i < 3; i++)
		expect(rig, RN_CAPTURE_SENT, 7 + i, LOCAL);
	expect(rig, 0, 8, LOCAL);
	assert_int_equal(rn_capture_peek(&rig->r), 0);
	assert_int_equal(rig->r.rec.ip_id, 3);
	expect(rig, RN_CAPTURE_SENT, 10, LOCAL);
	for (uint32_t i = 0; i < 4; i++)
		expect(rig, RN_CAPTURE_SENT, 7 + i, LOCAL);
	expect_nothing(rig);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(packets_of_a_connected_socket_are_written_with_its_identifications),
		TEST(packets_that_left_alone_are_written_as_they_left),
		TEST(both_directions_are_written),
		TEST(diagnostics_go_with_the_packet_received),
		TEST(diagnostics_wait_for_the_packet_sent),
		TEST(a_filter_knows_both_ends),
		TEST(a_packet_that_never_left_is_shown),
		TEST(what_finds_no_room_is_counted),
		TEST(datagrams_that_find_no_room_are_looked_at_one_by_one),
		TEST(a_packet_shorter_than_its_header_is_of_no_queue_pair),
		TEST(captures_come_and_go),
		TEST(a_packet_that_was_not_sent_is_not_captured),
		TEST(packets_are_captured_before_the_rest_of_their_super_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
