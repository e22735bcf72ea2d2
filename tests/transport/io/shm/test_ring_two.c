/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_ring_two.c - the two ends of a ring in two threads, and in two processes of which
 * one does what it likes.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ring_kit.h"
#include "rocin/random.h"

enum {
	PACKETS = 40000,
	LIMIT_S = 300, /* then the test has failed, and not the machine */
};

static void expire(struct timespec *limit)
{
	clock_gettime(CLOCK_MONOTONIC, limit);
	limit->tv_sec += LIMIT_S;
}

static bool is_expired(const struct timespec *limit)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > limit->tv_sec;
}

/* The first words of a packet tell all of it. */
static uint32_t length_of(uint64_t i)
{
	uint64_t mix = rn_random_mix(i);

	return RN_RING_PACKET_MIN +
	       (uint32_t)(mix % (mix >> 32 & 1
					 ? 100
					 : RN_RING_PACKET_MAX - RN_RING_PACKET_MIN + 1));
}

static uint64_t word_of(uint64_t i, uint32_t at)
{
	return rn_random_mix(i) + at;
}

static void make(uint64_t i, uint8_t *bytes, uint32_t len)
{
	for (uint32_t at = 0; at < len; at += 8) {
		uint64_t word = word_of(i, at);

		memcpy(bytes + at, &word, len - at < 8 ? len - at : 8);
	}
}

static bool is_right(uint64_t i, const struct rn_ring_packet *p)
{
	uint8_t want[RN_RING_PACKET_MAX];

	make(i, want, length_of(i));
	return p->len == length_of(i) && memcmp(p->data, want, p->len) == 0 &&
	       p->meta.sport == (uint16_t)i;
}

/* ------------------------------------------------------------------ two threads */
/* Publishes, changes the size and the way of copying at random, closes behind the
 * last packet.
 */
static void *produce(void *arg)
{
	struct both *b = arg;
	struct rn_random rng = rn_random_of(1, 1);
	static uint8_t bytes[RN_RING_PACKET_MAX];

	for (uint64_t i = 0; i < PACKETS && !b->send.fault;) {
		struct rn_ring_meta meta = { .sport = (uint16_t)i };
		int err;

		make(i, bytes, length_of(i));
		b->send.past_caches = rn_random_below(&rng, 2);
		err = rn_ring_send(&b->send, &meta, bytes, length_of(i));
		i += err == 0;
		if (err || rn_random_below(&rng, 8) == 0)
			rn_ring_publish(&b->send);
		if (err)
			sched_yield();
		if (rn_random_below(&rng, 64) == 0)
			rn_ring_resize(&b->send, kit_size(rn_random_below(&rng, 3)));
	}
	rn_ring_publish(&b->send);
	rn_ring_send_close(&b->send);
	return NULL;
}

static void two_threads_and_every_packet_in_order(void **state)
{
	struct both *b = *state;
	struct timespec limit;
	pthread_t producer;
	uint64_t got = 0, wrong = 0;

	expire(&limit);
	assert_int_equal(pthread_create(&producer, NULL, produce, b), 0);
	while (!b->recv.fault && !is_expired(&limit)) {
		unsigned n = both_receive(b);

		for (unsigned i = 0; i < n; i++, got++)
			wrong += !is_right(got, &b->got[i]);
		if (n == 0)
			sched_yield();
	}
	rn_ring_recv_close(&b->recv);
	pthread_join(producer, NULL);
	assert_int_equal(b->recv.fault, RN_RING_CLOSED);
	assert_int_equal(got, PACKETS);
	assert_int_equal(wrong, 0);
}

static void *send_one_and_close(void *arg)
{
	struct both *b = arg;

	both_send(b, 0, 80);
	rn_ring_publish(&b->send);
	rn_ring_send_close(&b->send);
	return NULL;
}

/* The end is not seen before what went before it. */
static void last_packet_before_the_end_is_never_missed(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 100; round++) {
		struct timespec limit;
		pthread_t producer;
		struct both *b;
		void *both;
		unsigned got = 0;

		both_set_up(&both);
		b = both;
		expire(&limit);
		assert_int_equal(pthread_create(&producer, NULL, send_one_and_close, b),
				 0);
		while (!b->recv.fault && !is_expired(&limit))
			got += both_receive(b);
		pthread_join(producer, NULL);
		assert_int_equal(b->recv.fault, RN_RING_CLOSED);
		assert_int_equal(got, 1);
		both_tear_down(&both);
	}
}

/* ---------------------------------------------------------------- two processes */
static pid_t in_child(void (*play)(struct both *b, uint64_t seed), struct both *b,
		      uint64_t seed)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(LIMIT_S);
		play(b, seed);
		_exit(0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* Sends without end. */
static void play_producer(struct both *b, uint64_t seed)
{
	uint8_t bytes[RN_RING_PACKET_MAX];

	(void)seed;
	for (uint64_t i = 0; !b->send.fault;) {
		struct rn_ring_meta meta = { .sport = (uint16_t)i };

		make(i, bytes, length_of(i));
		if (rn_ring_send(&b->send, &meta, bytes, length_of(i)) == 0)
			i++;
		rn_ring_publish(&b->send);
	}
}

/* It may be in the middle of a record: that one does not exist. */
static void producer_that_dies_leaves_whole_packets(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 10; round++) {
		struct timespec limit;
		struct both *b;
		void *both;
		uint64_t got = 0;
		pid_t pid;
		unsigned n;

		both_set_up(&both);
		b = both;
		expire(&limit);
		pid = in_child(play_producer, b, 0);
		do {
			if (got > 100 + 37 * round && pid) {
				end_child(pid);
				pid = 0;
			}
			n = both_receive(b);
			for (unsigned i = 0; i < n; i++, got++)
				assert_true(is_right(got, &b->got[i]));
		} while ((pid || n > 0) && !is_expired(&limit));
		assert_int_equal(pid, 0);
		assert_int_equal(b->recv.fault, RN_RING_OK);
		assert_int_equal(b->recv.head, atomic_load(&b->shared->tail));
		both_tear_down(&both);
	}
}

/* What a scribbler writes: rubbish, and what could be right. */
static uint64_t some_word(struct both *b, struct rn_random *rng)
{
	uint64_t tail = atomic_load_explicit(&b->shared->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&b->shared->head, memory_order_relaxed);
	uint64_t near = (uint64_t)rn_random_below(rng, 2048) * RN_RING_ALIGN;

	switch (rn_random_below(rng, 8)) {
	case 0:
		return rn_random_next(rng);
	case 1:
		return tail - near;
	case 2:
		return head + near;
	case 3:
		return (uint64_t)rn_ring_tag(head + near) << 32 | RN_RING_RESIZE;
	case 4:
		return (uint64_t)rn_ring_tag(head + near) << 32 | RN_RING_PAD;
	case 5:
		return kit_size(rn_random_below(rng, 4));
	default:
		return (uint64_t)rn_ring_tag(head + near) << 32 |
		       rn_random_below(rng, RN_RING_PACKET_MAX + 32);
	}
}

static void play_scribbler(struct both *b, uint64_t seed)
{
	struct rn_random rng = rn_random_of(seed, 2);
	_Atomic uint64_t *data = (void *)b->data;
	uint32_t among = seed % 2 ? 256 : RN_RING_SIZE_MIN;

	for (;;) {
		uint64_t word = some_word(b, &rng);
		uint32_t line = rn_random_below(&rng, among / 8);

		switch (rn_random_below(&rng, 16)) {
		case 0:
			atomic_store(&b->shared->tail, word);
			break;
		case 1:
			atomic_store(&b->shared->head, word);
			break;
		case 2:
		case 3:
			both_send(b, word, length_of(word));
			rn_ring_publish(&b->send);
			both_receive(b);
			break;
		default:
			atomic_store_explicit(&data[line], word, memory_order_relaxed);
		}
	}
}

static void assert_sane(const struct both *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		assert_in_range(b->got[i].len, RN_RING_PACKET_MIN, RN_RING_PACKET_MAX);
		assert_true(b->got[i].data >= b->room);
		assert_true(b->got[i].data + b->got[i].len <= b->room + sizeof(b->room));
	}
}

/* One end that was poisoned would do no more: it begins anew. */
static void use_both(struct both *b, unsigned i, unsigned *faults)
{
	assert_sane(b, both_receive(b));
	both_send(b, i, length_of(i));
	rn_ring_publish(&b->send);
	if (i % 64 == 0) {
		rn_ring_resize(&b->send, kit_size(i / 64 % 3));
		sched_yield();
	}
	faults[b->recv.fault]++;
	faults[b->send.fault]++;
	if (b->recv.fault)
		rn_ring_recv_init(&b->recv, b->mem, KIT_CAPACITY);
	if (b->send.fault)
		rn_ring_send_init(&b->send, b->mem, KIT_CAPACITY);
}

/* It is against both ends at once. What counts is that this process is still there, and
 * what it was given.
 */
static void scribbler_harms_nobody(void **state)
{
	struct both *b = *state;

	for (uint64_t seed = 0; seed < 4; seed++) {
		unsigned faults[RN_RING_FAULT_COUNT] = { 0 };
		pid_t pid = in_child(play_scribbler, b, seed);
		struct timespec limit;

		expire(&limit);
		for (unsigned i = 0; !is_expired(&limit); i++) {
			use_both(b, i, faults);
			if (faults[RN_RING_BAD_HEAD] >= 50 &&
			    faults[RN_RING_BAD_TAIL] >= 50 &&
			    faults[RN_RING_BAD_TAG] >= 50)
				break;
		}
		end_child(pid);
		assert_false(is_expired(&limit));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(two_threads_and_every_packet_in_order),
		cmocka_unit_test(last_packet_before_the_end_is_never_missed),
		cmocka_unit_test(producer_that_dies_leaves_whole_packets),
		BOTH_TEST(scribbler_harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
