/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_doorbell.c - one who sleeps is woken: two threads, and two processes, answer each
 * other through rings and go to sleep at moments drawn at random. A wake-up that is lost
 * leaves both asleep. test_doorbell_model walks all orders; here are real processors.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring_kit.h"
#include "rocin/random.h"
#include "transport/io/shm/ring.h"

enum {
	ROUNDS = 5000,
	LOST_MS = 300000, /* nobody is so late on any machine */
	RING = 77,	  /* its number on both sides */
};

/* Of the shared memory: two doorbells, two rings. */
struct room {
	uint8_t bell[2][RN_DOORBELL_BYTES];
	uint8_t ring[2][RN_RING_CONTROL + KIT_CAPACITY];
};

struct side {
	struct rn_ring_send send;
	struct rn_ring_recv recv;
	struct rn_doorbell *own, *peer;
	int own_fd, peer_fd;
	struct rn_random rng;
	unsigned slept;
	bool by_bits; /* looks at the bit, and not at the ring */
	bool lost;
};

static struct room *room_open(void)
{
	struct room *room = mmap(NULL, sizeof(*room), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(room, MAP_FAILED);
	for (unsigned i = 0; i < 2; i++)
		rn_ring_format(room->ring[i], KIT_CAPACITY);
	return room;
}

static void sides_open(struct side *s, struct room *room, bool by_bits)
{
	int fd[2];

	for (unsigned i = 0; i < 2; i++) {
		fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		assert_true(fd[i] >= 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		s[i] = (struct side){ .own = (void *)room->bell[i],
				      .peer = (void *)room->bell[1 - i],
				      .own_fd = fd[i],
				      .peer_fd = fd[1 - i],
				      .by_bits = by_bits,
				      .rng = rn_random_of(1, i) };
		rn_ring_send_init(&s[i].send, room->ring[i], KIT_CAPACITY);
		rn_ring_recv_init(&s[i].recv, room->ring[1 - i], KIT_CAPACITY);
	}
}

static void say(struct side *s)
{
	static const uint8_t packet[80];
	static const struct rn_ring_meta meta;
	uint64_t one = 1;

	assert_int_equal(rn_ring_send(&s->send, &meta, packet, sizeof(packet)), 0);
	rn_ring_publish(&s->send);
	if (rn_doorbell_ring(s->peer, RING))
		assert_int_equal(write(s->peer_fd, &one, sizeof(one)), sizeof(one));
}

static bool take(struct side *s)
{
	struct rn_ring_packet packet;
	uint8_t bytes[RN_RING_ROOM_MIN];

	return rn_ring_receive(&s->recv, &packet, 1, bytes, sizeof(bytes)) == 1;
}

static bool is_something(struct side *s)
{
	return s->by_bits
		       ? rn_doorbell_take(s->own, RING / 64) == UINT64_C(1) << RING % 64
		       : rn_ring_waits(&s->recv);
}

static void sleep_until_woken(struct side *s)
{
	struct pollfd p = { .fd = s->own_fd, .events = POLLIN };
	uint64_t count;

	s->slept++;
	if (poll(&p, 1, LOST_MS) != 1)
		s->lost = true;
	/* Or another has taken it: a wake-up in vain. */
	(void)!read(s->own_fd, &count, sizeof(count));
}

static void hear(struct side *s)
{
	for (unsigned polls = rn_random_below(&s->rng, 64); !take(s) && !s->lost;) {
		if (polls > 0) {
			polls--;
			if (polls % 16 == 0)
				sched_yield();
			continue;
		}
		rn_doorbell_announce(s->own);
		if (is_something(s))
			rn_doorbell_awake(s->own);
		else
			sleep_until_woken(s);
	}
}

static void *first(void *arg)
{
	struct side *s = arg;

	for (unsigned i = 0; i < ROUNDS && !s->lost; i++) {
		say(s);
		hear(s);
	}
	return NULL;
}

static void *second(void *arg)
{
	struct side *s = arg;

	for (unsigned i = 0; i < ROUNDS && !s->lost; i++) {
		hear(s);
		say(s);
	}
	return NULL;
}

static void sides_close(struct side *s, struct room *room)
{
	assert_false(s[0].lost);
	assert_true(s[0].slept > 0);
	close(s[0].own_fd);
	close(s[1].own_fd);
	munmap(room, sizeof(*room));
}

static void between_threads(bool by_bits)
{
	struct side s[2];
	struct room *room = room_open();
	pthread_t other;

	sides_open(s, room, by_bits);
	assert_int_equal(pthread_create(&other, NULL, second, &s[1]), 0);
	first(&s[0]);
	pthread_join(other, NULL);
	assert_false(s[1].lost);
	sides_close(s, room);
}

static void no_thread_sleeps_over_a_packet_of_another(void **state)
{
	(void)state;
	between_threads(false);
	between_threads(true);
}

static void no_process_sleeps_over_a_packet_of_another(void **state)
{
	struct side s[2];
	struct room *room = room_open();
	int status;
	pid_t pid;

	(void)state;
	sides_open(s, room, true);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		second(&s[1]);
		_exit(s[1].lost);
	}
	first(&s[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	sides_close(s, room);
}

/* ------------------------------------------------------------------------ one thread */
static void bits_tell_which_ring(void **state)
{
	static _Alignas(4096) uint8_t page[RN_DOORBELL_BYTES];
	struct rn_doorbell *bell = (void *)page;

	(void)state;
	assert_false(rn_doorbell_ring(bell, 0));
	assert_false(rn_doorbell_ring(bell, 63));
	assert_false(rn_doorbell_ring(bell, 63));
	assert_false(rn_doorbell_ring(bell, RN_DOORBELL_RINGS - 1));
	assert_int_equal(rn_doorbell_take(bell, 0), UINT64_C(1) << 63 | 1);
	assert_int_equal(rn_doorbell_take(bell, 0), 0);
	assert_int_equal(rn_doorbell_take(bell, RN_DOORBELL_WORDS - 1), UINT64_C(1)
										<< 63);
	rn_doorbell_remember(bell, 65);
	assert_int_equal(rn_doorbell_take(bell, 1), 2);
}

static void only_the_first_wakes_one_who_sleeps(void **state)
{
	static _Alignas(4096) uint8_t page[RN_DOORBELL_BYTES];
	struct rn_doorbell *bell = (void *)page;

	(void)state;
	rn_doorbell_announce(bell);
	assert_true(rn_doorbell_ring(bell, 1));
	assert_false(rn_doorbell_ring(bell, 2));
	rn_doorbell_announce(bell);
	rn_doorbell_awake(bell);
	assert_false(rn_doorbell_ring(bell, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits_tell_which_ring),
		cmocka_unit_test(only_the_first_wakes_one_who_sleeps),
		cmocka_unit_test(no_thread_sleeps_over_a_packet_of_another),
		cmocka_unit_test(no_process_sleeps_over_a_packet_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
