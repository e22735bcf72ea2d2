/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_lib_device.c - the device without I/O: two of them, and a network of one queue of
 * packets, in virtual time.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/device.h"
#include "rocin/hash.h"
#include "rocin/random.h"
#include "rocin/types.h"

enum {
	FLIGHTS = 1024,
	MEMORY = 1 << 16,
	DELAY = 5000,
	ALL = RN_DEVICE_LOCAL_WRITE | RN_DEVICE_REMOTE_WRITE | RN_DEVICE_REMOTE_READ |
	      RN_DEVICE_REMOTE_ATOMIC,
};

/* Device 0 with queue pair 0 and its peer; packets under way in the order of arrival. */
static struct rn_device *device[2];
static uint32_t qpn[2], key[2];
static uint64_t memory[2][MEMORY / 8];
static struct rn_device_packet flight[FLIGHTS];
static unsigned flights, receiver[FLIGHTS], loss_percent;
static struct rn_random network;
static int64_t now;
static uint64_t trace; /* hash of all packets that were sent */

static struct rn_device_options options_of(unsigned i)
{
	return (struct rn_device_options){
		.address = { [10] = 0xff, [11] = 0xff, 10, 0, 0, (uint8_t)(i + 1) },
	};
}

static struct rn_device_peer peer_of(unsigned i)
{
	struct rn_device_peer peer = { .qpn = qpn[!i],
				       .psn = 500u + !i,
				       .own_psn = 500u + i };

	memcpy(peer.address, options_of(!i).address, sizeof(peer.address));
	return peer;
}

static void make_devices(const struct rn_device_options *more,
			 const struct rn_device_queue *queue)
{
	for (unsigned i = 0; i < 2; i++) {
		struct rn_device_options options = *more;

		memcpy(options.address, options_of(i).address, sizeof(options.address));
		device[i] = rn_device_new(&options);
		assert_non_null(device[i]);
		assert_int_equal(rn_device_queue_new(device[i], queue, &qpn[i]), 0);
		memset(memory[i], 0, sizeof(memory[i]));
		assert_int_equal(
			rn_device_register(device[i], memory[i], MEMORY, ALL, &key[i]),
			0);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct rn_device_peer peer = peer_of(i);

		assert_int_equal(rn_device_state(device[i], qpn[i]), RN_DEVICE_INIT);
		assert_int_equal(rn_device_connect(device[i], now, qpn[i], &peer), 0);
		assert_int_equal(rn_device_state(device[i], qpn[i]), RN_DEVICE_READY);
	}
}

static int begin(void **state)
{
	(void)state;
	flights = loss_percent = 0;
	network = rn_random_of(1, 0);
	now = 1000;
	trace = 0;
	make_devices(&(struct rn_device_options){ .mtu = 1024 },
		     &(struct rn_device_queue){ 0 });
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++)
		rn_device_free(device[i]);
	return 0;
}

static void again_with(const struct rn_device_options *more,
		       const struct rn_device_queue *queue)
{
	end(NULL);
	make_devices(more, queue);
}

static void send_all(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct rn_device_packet *p = &flight[flights];

		while (rn_device_transmit(device[i], now, p)) {
			for (uint32_t at = 0; at < p->len; at++)
				trace = rn_random_mix(trace ^ p->bytes[at]);
			if (rn_random_below(&network, 100) >= loss_percent) {
				receiver[flights++] = !i;
				assert_true(flights < FLIGHTS);
			}
			p = &flight[flights];
		}
	}
}

/* One packet, or else the next deadline. Returns false if there is neither. */
static bool step(void)
{
	int64_t deadline[2] = { rn_device_deadline(device[0]),
				rn_device_deadline(device[1]) };
	unsigned first = deadline[1] < deadline[0];

	if (flights > 0) {
		now += DELAY;
		rn_device_receive(device[receiver[0]], now, &flight[0]);
		flights--;
		memmove(flight, flight + 1, flights * sizeof(flight[0]));
		memmove(receiver, receiver + 1, flights * sizeof(receiver[0]));
	} else if (deadline[first] != RN_DEVICE_NEVER) {
		now = deadline[first] > now ? deadline[first] : now;
		rn_device_expire(device[first], now);
	} else {
		return false;
	}
	send_all();
	return true;
}

static struct rn_device_completion expect(unsigned i, uint64_t id)
{
	struct rn_device_completion done;

	send_all();
	while (rn_device_poll(device[i], &done, 1) == 0)
		assert_true(step());
	assert_int_equal(done.id, id);
	assert_int_equal(done.qpn, qpn[i]);
	return done;
}

static void post(unsigned i, struct rn_device_request request)
{
	request.key = key[i];
	request.remote_key = key[!i];
	assert_int_equal(rn_device_post_send(device[i], now, qpn[i], &request), 0);
}

static void post_receive(unsigned i, uint64_t id, uint32_t len)
{
	const struct rn_device_memory m = { memory[i], len, key[i] };

	assert_int_equal(rn_device_post_receive(device[i], now, qpn[i], id, &m), 0);
}

static void every_operation_does_what_it_says(void **state)
{
	struct rn_device_completion done;

	(void)state;
	for (unsigned i = 0; i < MEMORY / 8; i++)
		memory[0][i] = rn_random_next(&network);
	post(0, (struct rn_device_request){ .id = 1,
					    .operation = RN_DEVICE_WRITE,
					    .local = memory[0],
					    .len = MEMORY,
					    .remote = (uintptr_t)memory[1] });
	done = expect(0, 1);
	assert_int_equal(done.status, 0);
	assert_int_equal(done.done, RN_DEVICE_WRITTEN);
	assert_memory_equal(memory[0], memory[1], MEMORY);

	memory[1][7] = 41;
	post(0, (struct rn_device_request){ .id = 2,
					    .operation = RN_DEVICE_FETCH_ADD,
					    .local = memory[0],
					    .len = 8,
					    .remote = (uintptr_t)&memory[1][7],
					    .operand = 2 });
	done = expect(0, 2);
	assert_int_equal(done.done, RN_DEVICE_ADDED);
	assert_int_equal(memory[0][0], 41);
	assert_int_equal(memory[1][7], 43);
	post(0, (struct rn_device_request){ .id = 3,
					    .operation = RN_DEVICE_COMPARE_SWAP,
					    .local = memory[0],
					    .len = 8,
					    .remote = (uintptr_t)&memory[1][7],
					    .compare = 43,
					    .operand = 99 });
	done = expect(0, 3);
	assert_int_equal(done.done, RN_DEVICE_SWAPPED);
	assert_int_equal(memory[1][7], 99);
	post(0, (struct rn_device_request){ .id = 4,
					    .operation = RN_DEVICE_READ,
					    .local = memory[0],
					    .len = 4096,
					    .remote = (uintptr_t)memory[1] });
	done = expect(0, 4);
	assert_int_equal(done.done, RN_DEVICE_WAS_READ);
	assert_memory_equal(memory[0], memory[1], 4096);

	post_receive(1, 50, MEMORY);
	post_receive(1, 51, 0);
	post(0, (struct rn_device_request){ .id = 5,
					    .operation = RN_DEVICE_SEND_IMM,
					    .local = memory[0],
					    .len = 100,
					    .immediate = 0x01020304 });
	post(0, (struct rn_device_request){ .id = 6,
					    .operation = RN_DEVICE_WRITE_IMM,
					    .remote = (uintptr_t)memory[1],
					    .immediate = 5 });
	done = expect(1, 50);
	assert_int_equal(done.done, RN_DEVICE_RECEIVED);
	assert_int_equal(done.len, 100);
	assert_true(done.has_immediate);
	assert_int_equal(done.immediate, 0x01020304);
	done = expect(1, 51);
	assert_int_equal(done.done, RN_DEVICE_RECEIVED_WRITE);
	assert_int_equal(done.immediate, 5);
	assert_int_equal(expect(0, 5).done, RN_DEVICE_SENT);
	assert_int_equal(expect(0, 6).done, RN_DEVICE_WRITTEN);
}

/* Writes by @loss_percent, and returns the hash of all packets. */
static uint64_t run_lossy(uint64_t seed)
{
	uint64_t retransmitted;

	end(NULL);
	begin(NULL);
	network = rn_random_of(seed, 0);
	loss_percent = 10;
	for (unsigned i = 0; i < 16; i++) {
		memset((uint8_t *)memory[0] + (size_t)4096 * i, (int)i + 1, 4096);
		post(0, (struct rn_device_request){
				.id = i,
				.operation = i % 2 ? RN_DEVICE_WRITE : RN_DEVICE_READ,
				.local = (uint8_t *)memory[0] + (size_t)4096 * i,
				.len = 4096,
				.remote = (uintptr_t)memory[1] + (size_t)4096 * i });
	}
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(expect(0, i).status, 0);
	assert_memory_equal(memory[0], memory[1], MEMORY);
	assert_int_equal(
		rn_device_counter(device[1], "duplicate_request", &retransmitted), 0);
	return trace;
}

static void loss_is_made_up_for_and_equal_seeds_give_equal_packets(void **state)
{
	uint64_t first = run_lossy(7);

	(void)state;
	assert_int_equal(run_lossy(7), first);
	assert_int_not_equal(run_lossy(8), first);
}

static void a_peer_that_is_gone_fails_the_queue_pair_and_all_that_it_has(void **state)
{
	(void)state;
	loss_percent = 100;
	post_receive(0, 20, 64);
	for (unsigned i = 0; i < 2; i++)
		post(0, (struct rn_device_request){ .id = i,
						    .operation = RN_DEVICE_SEND,
						    .local = memory[0],
						    .len = 8 });
	assert_int_equal(expect(0, 0).status, 12);
	assert_true(now > 7 * INT64_C(4096 << 14));
	assert_int_equal(expect(0, 1).status, 5);
	assert_int_equal(expect(0, 20).status, 5);
	assert_int_equal(rn_device_state(device[0], qpn[0]), RN_DEVICE_FAILED);
	post(0, (struct rn_device_request){ .id = 9, .operation = RN_DEVICE_SEND });
	assert_int_equal(expect(0, 9).status, 5);
	assert_string_equal(rn_device_status_text(12),
			    "the peer did not answer, after all retries");
	assert_string_equal(rn_device_status_text(3), "an unknown status");
	assert_string_equal(rn_device_status_text(1000), "an unknown status");
}

static void keys_that_are_no_longer_registered_are_refused(void **state)
{
	(void)state;
	assert_int_equal(rn_device_deregister(device[1], key[1]), 0);
	assert_int_equal(rn_device_deregister(device[1], key[1]), -ENOENT);
	post(0, (struct rn_device_request){ .id = 1,
					    .operation = RN_DEVICE_WRITE,
					    .local = memory[0],
					    .len = 8,
					    .remote = (uintptr_t)memory[1] });
	assert_int_equal(expect(0, 1).status, 10);
}

static void no_more_is_posted_than_completions_have_room(void **state)
{
	const struct rn_device_request send = { .operation = RN_DEVICE_SEND };
	struct rn_device_completion done[8];
	uint32_t other;

	(void)state;
	again_with(&(struct rn_device_options){ .completions = 4 },
		   &(struct rn_device_queue){ 0 });
	assert_int_equal(
		rn_device_queue_new(device[0], &(struct rn_device_queue){ 0 }, &other),
		0);
	assert_int_equal(rn_device_post_receive(device[0], now, other, 1,
						&(struct rn_device_memory){ 0 }),
			 0);
	for (unsigned i = 0; i < 3; i++)
		post_receive(0, i, 8);
	assert_int_equal(rn_device_post_send(device[0], now, qpn[0], &send), -EAGAIN);
	assert_int_equal(rn_device_post_receive(device[0], now, other, 1,
						&(struct rn_device_memory){ 0 }),
			 -EAGAIN);
	/* What a queue pair had posted makes room when it goes. */
	assert_int_equal(rn_device_queue_free(device[0], other), 0);
	assert_int_equal(rn_device_queue_free(device[0], other), -ENOENT);
	assert_int_equal(rn_device_post_send(device[0], now, qpn[0], &send), 0);
	assert_int_equal(rn_device_post_send(device[0], now, qpn[0], &send), -EAGAIN);

	/* Completions that wait take room until they are polled, also of one that is
	 * gone. */
	loss_percent = 100;
	send_all();
	while (rn_device_state(device[0], qpn[0]) == RN_DEVICE_READY)
		assert_true(step());
	assert_int_equal(
		rn_device_queue_new(device[0], &(struct rn_device_queue){ 0 }, &other),
		0);
	assert_int_equal(rn_device_queue_free(device[0], qpn[0]), 0);
	assert_int_equal(rn_device_post_receive(device[0], now, other, 1,
						&(struct rn_device_memory){ 0 }),
			 -EAGAIN);
	assert_int_equal(rn_device_poll(device[0], done, 8), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(rn_device_post_receive(device[0], now, other, i,
							&(struct rn_device_memory){ 0 }),
				 0);
	assert_int_equal(rn_device_post_receive(device[0], now, other, 4,
						&(struct rn_device_memory){ 0 }),
			 -EAGAIN);
}

static void unreliable_connections_lose_what_the_network_loses(void **state)
{
	(void)state;
	again_with(&(struct rn_device_options){ 0 },
		   &(struct rn_device_queue){ .type = RN_DEVICE_UC });
	loss_percent = 100;
	post_receive(1, 1, 64);
	post(0, (struct rn_device_request){ .id = 1,
					    .operation = RN_DEVICE_SEND,
					    .local = memory[0],
					    .len = 8 });
	assert_int_equal(expect(0, 1).status, 0);
	loss_percent = 0;
	post(0, (struct rn_device_request){ .id = 2,
					    .operation = RN_DEVICE_SEND,
					    .local = memory[0],
					    .len = 16 });
	assert_int_equal(expect(0, 2).status, 0);
	assert_int_equal(expect(1, 1).len, 16);
}

static void rubbish_is_dropped(void **state)
{
	static struct rn_device_packet rubbish;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t len = rn_random_below(&network, 200);

		for (uint32_t at = 0; at < len; at++)
			rubbish.bytes[at] = (uint8_t)rn_random_next(&network);
		memcpy(rubbish.source, options_of(1).address, 16);
		memcpy(rubbish.destination, options_of(0).address, 16);
		rubbish.len = i % 100 ? len : RN_DEVICE_PACKET_MAX + i;
		rn_device_receive(device[0], now, &rubbish);
	}
	assert_false(rn_device_transmit(device[0], now, &rubbish));
	post(0, (struct rn_device_request){ .id = 1,
					    .operation = RN_DEVICE_WRITE,
					    .local = memory[0],
					    .len = 8,
					    .remote = (uintptr_t)memory[1] });
	assert_int_equal(expect(0, 1).status, 0);
}

static void a_changed_byte_is_noticed(void **state)
{
	uint64_t refused = 0;

	(void)state;
	post(0, (struct rn_device_request){ .id = 1,
					    .operation = RN_DEVICE_WRITE,
					    .local = memory[0],
					    .len = 8,
					    .remote = (uintptr_t)memory[1] });
	send_all();
	assert_int_equal(flights, 1);
	flight[0].bytes[flight[0].len - 6] ^= 1;
	assert_int_equal(expect(0, 1).status, 0);
	assert_int_equal(rn_device_counter(device[1], "rx_icrc_encapsulated", &refused),
			 0);
	assert_int_equal(refused, 1);
	assert_int_equal(rn_device_counter(device[1], "no_such", &refused), -ENOENT);
}

static void wrong_options_are_refused(void **state)
{
	struct rn_device_options options[8];

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		options[i] = options_of(0);
	memset(options[0].address, 0, 16);
	memset(options[1].address + 12, 0, 4);
	options[2].address[12] = 224;
	options[3].mtu = 255;
	options[4].mtu = 4097;
	options[5].reserved[3] = 1;
	options[6].first_qpn = 1 << 24;
	options[7].congestion = (enum rn_device_congestion)3;
	for (unsigned i = 0; i < 8; i++) {
		errno = 0;
		assert_null(rn_device_new(&options[i]));
		assert_int_equal(errno, EINVAL);
	}
	rn_device_free(NULL);
}

static void wrong_regions_queues_and_requests_are_refused(void **state)
{
	const struct rn_device_request not_one = { .operation =
							   (enum rn_device_operation)7 };
	uint32_t n;

	(void)state;
	assert_int_equal(rn_device_register(device[0], NULL, 8, 0, &n), -EINVAL);
	assert_int_equal(rn_device_register(device[0], memory, 0, 0, &n), -EINVAL);
	assert_int_equal(rn_device_register(device[0], memory, SIZE_MAX, 0, &n), -EINVAL);
	assert_int_equal(rn_device_register(device[0], memory, 8, 16, &n), -EINVAL);
	assert_int_equal(
		rn_device_register(device[0], memory, 8, RN_DEVICE_REMOTE_WRITE, &n),
		-EINVAL);

	assert_int_equal(rn_device_queue_new(device[0],
					     &(struct rn_device_queue){ .qpn = qpn[0] },
					     &n),
			 -EEXIST);
	assert_int_equal(
		rn_device_queue_new(device[0], &(struct rn_device_queue){ .qpn = 1 }, &n),
		-EINVAL);
	assert_int_equal(
		rn_device_queue_new(
			device[0],
			&(struct rn_device_queue){ .type = (enum rn_device_type)4 }, &n),
		-EINVAL);
	assert_int_equal(rn_device_queue_new(device[0],
					     &(struct rn_device_queue){ .reads = 129 },
					     &n),
			 -EINVAL);
	assert_int_equal(rn_device_queue_new(device[0],
					     &(struct rn_device_queue){ .sends = 16385 },
					     &n),
			 -EINVAL);
	assert_int_equal(rn_device_post_send(device[0], now, 999, &not_one), -ENOENT);
	assert_int_equal(rn_device_post_send(device[0], now, qpn[0], &not_one), -EINVAL);
	assert_int_equal(rn_device_state(device[0], 999), -ENOENT);
}

static void wrong_peers_are_refused(void **state)
{
	struct rn_device_peer peer[10];
	uint32_t n;

	(void)state;
	assert_int_equal(
		rn_device_queue_new(device[0], &(struct rn_device_queue){ 0 }, &n), 0);
	for (unsigned i = 0; i < 10; i++)
		peer[i] = peer_of(0);
	peer[0].mtu = 1000;
	peer[1].mtu = 2048; /* more than the device has */
	peer[2].psn = 1 << 24;
	peer[3].own_psn = 1 << 24;
	peer[4].retries = 8;
	peer[5].rnr_retries = 8;
	peer[6].ack_timeout = 32;
	peer[7].rnr_timer = 32;
	peer[8].address[10] = 0; /* IPv6 */
	peer[9].qpn = 1 << 24;
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(rn_device_connect(device[0], now, n, &peer[i]), -EINVAL);
		assert_int_equal(rn_device_state(device[0], n), RN_DEVICE_INIT);
	}
	peer[0].mtu = 0;
	assert_int_equal(rn_device_connect(device[0], now, n, &peer[0]), 0);
	assert_int_equal(rn_device_connect(device[0], now, n, &peer[0]), -EINVAL);
	assert_int_equal(rn_device_connect(device[0], now, 999, &peer[0]), -ENOENT);
}

static void a_time_that_goes_back_counts_as_the_latest(void **state)
{
	int64_t deadline;

	(void)state;
	loss_percent = 100;
	post(0, (struct rn_device_request){ .id = 1,
					    .operation = RN_DEVICE_SEND,
					    .local = memory[0],
					    .len = 8 });
	send_all();
	deadline = rn_device_deadline(device[0]);
	assert_true(deadline > now && deadline < RN_DEVICE_NEVER);
	rn_device_expire(device[0], INT64_MIN);
	rn_device_expire(device[0], 0);
	assert_int_equal(rn_device_deadline(device[0]), deadline);
	rn_device_expire(device[1], INT64_C(1) << 40);
	assert_int_equal(rn_device_post_send(device[1], 0, qpn[1],
					     &(struct rn_device_request){
						     .operation = RN_DEVICE_SEND }),
			 0);
	now = 0;
	send_all();
	assert_true(rn_device_deadline(device[1]) > INT64_C(1) << 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
		T(every_operation_does_what_it_says),
		T(loss_is_made_up_for_and_equal_seeds_give_equal_packets),
		T(a_peer_that_is_gone_fails_the_queue_pair_and_all_that_it_has),
		T(keys_that_are_no_longer_registered_are_refused),
		T(no_more_is_posted_than_completions_have_room),
		T(unreliable_connections_lose_what_the_network_loses),
		T(rubbish_is_dropped),
		T(a_changed_byte_is_noticed),
		T(wrong_options_are_refused),
		T(wrong_regions_queues_and_requests_are_refused),
		T(wrong_peers_are_refused),
		T(a_time_that_goes_back_counts_as_the_latest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
