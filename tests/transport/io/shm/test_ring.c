/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_ring.c - the two ends of a ring that both keep the rules. */
#include "ring_kit.h"
#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/random.h"

static void packets_come_out_as_they_went_in(void **state)
{
	static const uint32_t len[] = { RN_RING_PACKET_MIN, 47, 48, 49, 1024,
					RN_RING_PACKET_MAX };
	struct both *b = *state;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(len); i++)
		assert_int_equal(both_send(b, i, len[i]), 0);
	assert_true(rn_ring_publish(&b->send));
	assert_int_equal(both_receive(b), RN_ARRAY_SIZE(len));
	for (unsigned i = 0; i < RN_ARRAY_SIZE(len); i++)
		assert_packet(&b->got[i], i, len[i]);
	assert_true(rn_ring_is_read(&b->send));
}

static void nothing_is_seen_before_it_is_published(void **state)
{
	struct both *b = *state;

	assert_int_equal(both_send(b, 1, 80), 0);
	assert_int_equal(both_receive(b), 0);
	assert_false(rn_ring_waits(&b->recv));
	assert_true(rn_ring_publish(&b->send));
	assert_false(rn_ring_publish(&b->send));
	assert_true(rn_ring_waits(&b->recv));
	assert_int_equal(both_receive(b), 1);
	assert_false(rn_ring_waits(&b->recv));
}

static void what_is_shown_is_still_to_be_published(void **state)
{
	struct both *b = *state;

	both_send(b, 1, 500);
	rn_ring_show(&b->send);
	assert_int_equal(rn_ring_unpublished(&b->send), 0);
	assert_true(rn_ring_waits(&b->recv));
	assert_int_equal(both_receive(b), 1);
	assert_packet(&b->got[0], 1, 500);
	assert_true(rn_ring_publish(&b->send)); /* the doorbell has not been rung */
	assert_false(rn_ring_publish(&b->send));
	assert_int_equal(both_receive(b), 0);
	rn_ring_recv_close(&b->recv);
	while (both_send(b, 2, 500) == 0)
		;
	rn_ring_show(&b->send); /* of no use to anybody, and no harm */
	assert_false(rn_ring_publish(&b->send));
}

static void a_watched_ring_is_still_until_something_shows(void **state)
{
	struct both *b = *state;
	struct rn_ring_watch watch = { .end = watch.ring };

	assert_true(rn_ring_watch(&b->recv, &watch));
	assert_ptr_equal(watch.end, &watch.ring[1]);
	assert_true(rn_ring_is_still(&watch));
	both_send(b, 1, 500);
	assert_true(rn_ring_is_still(&watch));
	rn_ring_show(&b->send);
	assert_false(rn_ring_is_still(&watch));
	assert_int_equal(both_receive(b), 1);
	assert_false(rn_ring_is_still(&watch)); /* as it was, it is not any more */
	watch.end = watch.ring;
	assert_true(rn_ring_watch(&b->recv, &watch));
	assert_true(rn_ring_is_still(&watch));
	both_send(b, 2, 500);
	rn_ring_publish(&b->send);
	assert_false(rn_ring_is_still(&watch));
}

static void a_ring_that_has_something_is_not_watched(void **state)
{
	struct rn_ring_watch watch = { .end = watch.ring };
	struct both *b = *state;

	for (unsigned i = 0; i <= KIT_MANY; i++)
		assert_int_equal(both_send(b, i, 20), 0);
	rn_ring_publish(&b->send);
	assert_int_equal(both_receive(b), KIT_MANY);
	assert_true(rn_ring_has_more(&b->recv));
	assert_false(rn_ring_watch(&b->recv, &watch));
	while (both_receive(b) > 0)
		;
	assert_true(rn_ring_watch(&b->recv, &watch));
	rn_ring_recv_close(&b->recv);
	assert_false(rn_ring_watch(&b->recv, &watch));
	assert_ptr_equal(watch.end, &watch.ring[1]);
}

static void what_was_taken_stays_whatever_the_producer_writes(void **state)
{
	struct both *b = *state;

	both_send(b, 1, 500);
	rn_ring_publish(&b->send);
	assert_int_equal(both_receive(b), 1);
	memset(b->data, 0xee, KIT_CAPACITY);
	assert_packet(&b->got[0], 1, 500);
}

/* Send a packet if there is space for a longest one. */
static bool both_send_if_room(struct both *b, uint64_t i, uint32_t len)
{
	const uint8_t *at = rn_ring_next(&b->send);

	if (!at)
		return false;
	assert_in_range((uintptr_t)at, (uintptr_t)b->data,
			(uintptr_t)(b->data + b->send.size - RN_RING_PACKET_MAX));
	assert_ptr_equal(rn_ring_next(&b->send), at); /* nothing has happened yet */
	assert_int_equal(both_send(b, i, len), 0);
	return true;
}

static void where_there_is_room_sending_does_not_fail(void **state)
{
	struct both *b = *state;
	uint32_t sent = 0, got = 0;

	for (unsigned lap = 0; lap < 100; lap++) {
		uint32_t len = RN_RING_PACKET_MIN + lap * 971 % 4000;

		while (both_send_if_room(b, sent, len)) {
			sent++;
			if (sent % 3 == 0 && both_send(b, sent, len) == 0)
				sent++;
		}
		assert_true(rn_ring_unpublished(&b->send) > 0);
		assert_true(rn_ring_publish(&b->send));
		assert_int_equal(rn_ring_unpublished(&b->send), 0);
		for (unsigned n; (n = both_receive(b)) > 0;)
			for (unsigned i = 0; i < n; i++)
				assert_packet(&b->got[i], got++, len);
		assert_int_equal(got, sent);
	}
	assert_int_equal(b->recv.fault, RN_RING_OK);
	rn_ring_recv_close(&b->recv);
	while (both_send_if_room(b, sent, 100))
		;
	assert_int_equal(b->send.fault, RN_RING_CLOSED);
}

static void full_ring_takes_no_more_until_some_is_read(void **state)
{
	struct both *b = *state;
	unsigned n = both_fill(b, 0, 1000);

	assert_int_equal(n, RN_RING_SIZE_MIN / 1024);
	assert_int_equal(both_send(b, n, 1000), -EAGAIN);
	assert_int_equal(b->send.full_count, 2);
	assert_int_equal(both_receive(b), n);
	assert_int_equal(both_send(b, n, 1000), 0);
}

static void space_comes_back_before_the_ring_is_dry(void **state)
{
	struct both *b = *state;
	unsigned n = both_fill(b, 0, 1000);

	assert_int_equal(
		rn_ring_receive(&b->recv, b->got, n / 4 - 1, b->room, sizeof(b->room)),
		n / 4 - 1);
	assert_int_equal(both_send(b, n, 1000), -EAGAIN);
	assert_int_equal(rn_ring_receive(&b->recv, b->got, 1, b->room, sizeof(b->room)),
			 1);
	assert_int_equal(both_send(b, n, 1000), 0);
}

static void small_room_takes_fewer_packets_at_a_time(void **state)
{
	struct both *b = *state;
	unsigned n = both_fill(b, 0, 4000), calls = 0;

	for (unsigned got = 0; got < n; calls++) {
		unsigned some = rn_ring_receive(&b->recv, b->got, KIT_MANY, b->room,
						RN_RING_ROOM_MIN);

		assert_in_range(some, 1, 2);
		for (unsigned i = 0; i < some; i++) {
			assert_packet(&b->got[i], got + i, 4000);
			assert_true(b->got[i].data + 4000 <= b->room + RN_RING_ROOM_MIN);
		}
		got += some;
	}
	assert_in_range(calls, 2, n);
}

/* 16 KiB are four records of 4 KiB less 64: where they do not fit a pad goes first. */
static void records_do_not_wrap(void **state)
{
	struct both *b = *state;

	for (unsigned i = 0; i < 1000; i++) {
		uint32_t len = 3000 + i % 1200;

		assert_int_equal(both_send(b, i, len), 0);
		rn_ring_publish(&b->send);
		assert_int_equal(both_receive(b), 1);
		assert_packet(&b->got[0], i, len);
	}
	assert_true(b->recv.head > 3 * RN_RING_SIZE_MIN);
}

/* ------------------------------------------------------------------------- ICRC */
static const struct rn_flow flow = {
	.src.raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
	.dst.raw = { [10] = 0xff, 0xff, 127, 0, 0, 2 },
	.sport = 0xc000,
};

/* Through the ring, with byte @broken of it changed on the way unless that is @len. */
static enum rn_icrc_verdict verdict_after(struct both *b, uint32_t len, uint32_t broken)
{
	const struct rn_ring_packet *p = &b->got[0];
	static uint8_t bytes[RN_RING_PACKET_MAX];
	struct rn_ring_meta meta = { .path = 0 };
	enum rn_icrc_verdict verdict;

	memcpy(bytes, both_packet(len, len), len);
	rn_icrc_seal(&flow, 7, bytes, len - RN_ICRC_LEN);
	if (broken < len)
		bytes[broken] ^= 0x10;
	assert_int_equal(rn_ring_send(&b->send, &meta, bytes, len), 0);
	rn_ring_publish(&b->send);
	assert_int_equal(both_receive(b), 1);
	assert_int_equal(p->len, len);
	assert_memory_equal(p->data, bytes, len);
	verdict = rn_icrc_check_with(NULL, &flow, p->data, len, 7, true, &p->part);
	assert_int_equal(verdict, rn_icrc_check(NULL, &flow, p->data, len, 7, true));
	return verdict;
}

static void packet_of_every_length_is_checked_with_what_its_copy_found_out(void **state)
{
	enum {
		VARIANT = 4 /* a byte that the ICRC does not cover */
	};
	struct both *b = *state;
	struct rn_random rng = rn_random_of(3, 0);

	for (uint32_t len = RN_RING_PACKET_MIN; len <= RN_RING_PACKET_MAX; len++) {
		uint32_t broken = rn_random_below(&rng, len);

		assert_int_equal(verdict_after(b, len, len), RN_ICRC_OK);
		assert_int_equal(verdict_after(b, len, broken),
				 broken == VARIANT ? RN_ICRC_OK : RN_ICRC_BAD);
	}
}

/* With no headers, a RETH, an AETH and so on before it. */
static void payload_of_an_mtu_need_not_be_read_again(void **state)
{
	struct both *b = *state;

	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		for (uint32_t headers = 0; headers <= 32; headers += 4) {
			uint32_t len = RN_RING_PACKET_MIN + headers + mtu;
			uint32_t part =
				headers % 16 == 0 && rn_crc32_can_copy(mtu) ? mtu : 0;

			verdict_after(b, len, len);
			assert_int_equal(b->got[0].part.len, part);
			assert_true(part == 0 ||
				    (uintptr_t)(b->got[0].data + 12 + headers) % 64 == 0);
		}
	}
}

/* ------------------------------------------------------------------------ sizes */
static void ring_grows_with_unread_packets_in_it(void **state)
{
	struct both *b = *state;
	unsigned n = both_fill(b, 0, 1000), more;

	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), -EAGAIN);
	assert_int_equal(rn_ring_receive(&b->recv, b->got, 5, b->room, sizeof(b->room)),
			 5);
	/* Now there is space, but at the start. */
	assert_int_equal(both_send(b, n, 1000), 0);
	rn_ring_publish(&b->send);
	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), -EAGAIN);

	/* One call looks at the tail once. */
	assert_int_equal(both_receive(b), n - 5);
	assert_int_equal(both_receive(b), 1);
	assert_int_equal(both_send(b, n + 1, 1000), 0);
	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), 0);
	more = both_fill(b, n + 2, 1000);
	assert_int_equal(more, KIT_CAPACITY / 1024 - 2);
	assert_int_equal(b->recv.size, RN_RING_SIZE_MIN);
	assert_int_equal(both_receive(b), more + 1);
	assert_int_equal(b->recv.size, KIT_CAPACITY);
	for (unsigned i = 0; i <= more; i++)
		assert_packet(&b->got[i], n + 1 + i, 1000);
}

/* The record that says so may lie behind the end of the smaller ring: until it is read a
 * larger one would write over it.
 */
static void size_does_not_change_before_the_last_change_is_read(void **state)
{
	struct both *b = *state;

	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), 0);
	for (unsigned i = 0; i < 40; i++)
		both_send(b, i, 1000);
	rn_ring_publish(&b->send);
	assert_int_equal(rn_ring_resize(&b->send, RN_RING_SIZE_MIN), -EAGAIN);
	both_receive(b);
	assert_int_equal(rn_ring_resize(&b->send, RN_RING_SIZE_MIN), 0);
	assert_int_equal(both_send(b, 40, 1000), 0);
	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), -EAGAIN);
	rn_ring_publish(&b->send);
	assert_int_equal(both_receive(b), 1);
	assert_packet(&b->got[0], 40, 1000);
	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), 0);
}

static void ring_shrinks_when_all_is_read(void **state)
{
	struct both *b = *state;

	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), 0);
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(both_send(b, i, 1000), 0);
	rn_ring_publish(&b->send);
	assert_int_equal(rn_ring_resize(&b->send, RN_RING_SIZE_MIN), -EAGAIN);
	assert_int_equal(both_receive(b), 40);
	assert_int_equal(rn_ring_resize(&b->send, RN_RING_SIZE_MIN), 0);
	assert_int_equal(b->send.size, RN_RING_SIZE_MIN);
	assert_true(b->send.off < RN_RING_SIZE_MIN);
	memset(b->data + RN_RING_SIZE_MIN + 40960, 0xee, 64);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(both_send(b, i, 1000), 0);
		rn_ring_publish(&b->send);
		assert_int_equal(both_receive(b), 1);
		assert_packet(&b->got[0], i, 1000);
	}
	assert_int_equal(b->recv.size, RN_RING_SIZE_MIN);
}

static void advice_is_more_after_many_refusals_in_a_millisecond(void **state)
{
	struct both *b = *state;
	rn_ns now = RN_MSEC(5000);

	assert_int_equal(rn_ring_advice(&b->send, now), RN_RING_SIZE_MIN);
	both_fill(b, 0, 1000);
	for (unsigned i = 1; i < RN_RING_FULLS - 1; i++)
		both_send(b, 0, 1000);
	assert_int_equal(rn_ring_advice(&b->send, now), RN_RING_SIZE_MIN);
	both_send(b, 0, 1000);
	assert_int_equal(rn_ring_advice(&b->send, now), 2 * RN_RING_SIZE_MIN);
	/* It has been said. */
	assert_int_equal(rn_ring_advice(&b->send, now), RN_RING_SIZE_MIN);
}

static void advice_forgets_refusals_that_are_long_ago(void **state)
{
	struct both *b = *state;
	rn_ns now = RN_MSEC(5000);

	rn_ring_advice(&b->send, now);
	both_fill(b, 0, 1000);
	for (unsigned i = 0; i < 10 * RN_RING_FULLS; i++) {
		now += RN_USEC(100);
		both_send(b, 0, 1000);
		assert_int_equal(rn_ring_advice(&b->send, now), RN_RING_SIZE_MIN);
	}
	for (unsigned i = 0; i < 2 * RN_RING_FULLS; i++)
		both_send(b, 0, 1000);
	now += RN_MSEC(3);
	assert_int_equal(rn_ring_advice(&b->send, now), RN_RING_SIZE_MIN);
}

static void advice_is_the_least_after_an_idle_second(void **state)
{
	struct both *b = *state;
	rn_ns now = RN_MSEC(5000);

	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), 0);
	rn_ring_publish(&b->send);
	both_receive(b);
	assert_int_equal(rn_ring_advice(&b->send, now), KIT_CAPACITY);
	assert_int_equal(rn_ring_advice(&b->send, now + RN_MSEC(999)), KIT_CAPACITY);
	assert_int_equal(rn_ring_advice(&b->send, now + RN_MSEC(1000)), RN_RING_SIZE_MIN);
}

/* It will be wanted when the consumer goes on. */
static void ring_of_a_consumer_that_has_stopped_is_not_idle(void **state)
{
	struct both *b = *state;
	rn_ns now = RN_MSEC(5000);

	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), 0);
	both_fill(b, 0, 1000);
	assert_int_equal(rn_ring_advice(&b->send, now), KIT_CAPACITY);
	assert_int_equal(rn_ring_advice(&b->send, now + RN_MSEC(5000)), KIT_CAPACITY);
}

/* ------------------------------------------------------------------------ the end */
static void consumer_reads_all_before_the_producer_s_end(void **state)
{
	struct both *b = *state;

	both_send(b, 1, 80);
	rn_ring_publish(&b->send);
	rn_ring_send_close(&b->send);
	assert_int_equal(both_send(b, 2, 80), -EPIPE);
	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), -EPIPE);
	assert_int_equal(both_receive(b), 1);
	assert_packet(&b->got[0], 1, 80);
	assert_int_equal(b->recv.fault, RN_RING_CLOSED);
	assert_int_equal(both_receive(b), 0);
	assert_false(rn_ring_waits(&b->recv));
}

static void producer_learns_of_the_consumer_s_end_when_it_is_full(void **state)
{
	struct both *b = *state;

	rn_ring_recv_close(&b->recv);
	assert_int_equal(b->recv.fault, RN_RING_CLOSED);
	both_fill(b, 0, 1000);
	assert_int_equal(b->send.fault, RN_RING_CLOSED);
	assert_int_equal(both_send(b, 0, 80), -EPIPE);
	assert_false(rn_ring_publish(&b->send));
	assert_int_equal(both_receive(b), 0);
}

/* ------------------------------------------------------------------------ at random */
static uint32_t some_length(struct rn_random *rng)
{
	uint32_t most = rn_random_below(rng, 2) ? 200 : RN_RING_PACKET_MAX;

	return RN_RING_PACKET_MIN + rn_random_below(rng, most - RN_RING_PACKET_MIN + 1);
}

static void whatever_sizes_and_lengths_nothing_is_lost(void **state)
{
	static uint32_t len[1 << 16]; /* of packets on the way */
	struct both *b = *state;
	struct rn_random rng = rn_random_of(11, 0);
	uint64_t sent = 0, got = 0;

	while (got < 60000) {
		uint32_t l = some_length(&rng);
		unsigned n;

		switch (rn_random_below(&rng, 8)) {
		case 0:
			n = rn_ring_receive(&b->recv, b->got,
					    1 + rn_random_below(&rng, KIT_MANY), b->room,
					    sizeof(b->room));
			for (unsigned i = 0; i < n; i++, got++)
				assert_packet(&b->got[i], got,
					      len[got % RN_ARRAY_SIZE(len)]);
			break;
		case 1:
			rn_ring_publish(&b->send);
			break;
		case 2:
			rn_ring_resize(&b->send, kit_size(rn_random_below(&rng, 3)));
			break;
		default:
			if (both_send(b, sent, l) == 0)
				len[sent++ % RN_ARRAY_SIZE(len)] = l;
		}
		assert_int_equal(b->send.fault, RN_RING_OK);
		assert_int_equal(b->recv.fault, RN_RING_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(packets_come_out_as_they_went_in),
		BOTH_TEST(nothing_is_seen_before_it_is_published),
		BOTH_TEST(what_was_taken_stays_whatever_the_producer_writes),
		BOTH_TEST(what_is_shown_is_still_to_be_published),
		BOTH_TEST(a_watched_ring_is_still_until_something_shows),
		BOTH_TEST(a_ring_that_has_something_is_not_watched),
		BOTH_TEST(where_there_is_room_sending_does_not_fail),
		BOTH_TEST(full_ring_takes_no_more_until_some_is_read),
		BOTH_TEST(space_comes_back_before_the_ring_is_dry),
		BOTH_TEST(small_room_takes_fewer_packets_at_a_time),
		BOTH_TEST(records_do_not_wrap),
		BOTH_TEST(packet_of_every_length_is_checked_with_what_its_copy_found_out),
		BOTH_TEST(payload_of_an_mtu_need_not_be_read_again),
		BOTH_TEST(ring_grows_with_unread_packets_in_it),
		BOTH_TEST(size_does_not_change_before_the_last_change_is_read),
		BOTH_TEST(ring_shrinks_when_all_is_read),
		BOTH_TEST(advice_is_more_after_many_refusals_in_a_millisecond),
		BOTH_TEST(advice_forgets_refusals_that_are_long_ago),
		BOTH_TEST(advice_is_the_least_after_an_idle_second),
		BOTH_TEST(ring_of_a_consumer_that_has_stopped_is_not_idle),
		BOTH_TEST(consumer_reads_all_before_the_producer_s_end),
		BOTH_TEST(producer_learns_of_the_consumer_s_end_when_it_is_full),
		BOTH_TEST(whatever_sizes_and_lengths_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
