/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_wires.c - local wires: who gets one, of what it is made, and when it ends. */
#include "wires_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/io/shm/ring.h"

/* ---- A wire ---- */

static uint8_t *map(int fd, size_t len)
{
	uint8_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(mem != MAP_FAILED);
	return mem;
}

static void packet_goes(uint8_t *from, uint8_t *to, unsigned role)
{
	static const uint8_t pkt[80] = { 4, 1, 2, 3 };
	const struct rn_ring_meta meta = { .sport = 0xc123, .gro_idx = 5 };
	static uint8_t room[RN_RING_ROOM_MIN];
	struct rn_ring_send s;
	struct rn_ring_recv r;
	struct rn_ring_packet got;
	size_t at = role * (size_t)RN_WIRE_RING_BYTES;

	assert_int_equal(rn_ring_send_init(&s, from + at, RN_WIRE_CAPACITY), RN_RING_OK);
	assert_int_equal(rn_ring_recv_init(&r, to + at, RN_WIRE_CAPACITY), RN_RING_OK);
	assert_int_equal(rn_ring_send(&s, &meta, pkt, sizeof(pkt)), 0);
	assert_true(rn_ring_publish(&s));
	assert_int_equal(rn_ring_receive(&r, &got, 1, room, sizeof(room)), 1);
	assert_int_equal(got.len, sizeof(pkt));
	assert_memory_equal(got.data, pkt, sizeof(pkt));
	assert_int_equal(got.meta.sport, meta.sport);
	assert_int_equal(got.meta.gro_idx, meta.gro_idx);
}

static void both_ends_get_the_same_memory(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, true);
	struct rn_rocind_wire wa, wb;
	uint8_t *ma, *mb;

	(void)state;
	ask(&a, &b);
	wa = await_wire(&a, &b);
	wb = await_wire(&b, &a);
	assert_int_equal(wa.role, 0);
	assert_int_equal(wb.role, 1);
	assert_int_equal(wa.bit, wb.peer_bit);
	assert_int_equal(wb.bit, wa.peer_bit);
	ma = map(wa.rings, RN_WIRE_BYTES);
	mb = map(wb.rings, RN_WIRE_BYTES);
	packet_goes(ma, mb, 0);
	packet_goes(mb, ma, 1);
	munmap(ma, RN_WIRE_BYTES);
	munmap(mb, RN_WIRE_BYTES);

	ma = map(wa.peer_page, RN_DOORBELL_BYTES);
	mb = map(wb.page, RN_DOORBELL_BYTES);
	rn_doorbell_announce((struct rn_doorbell *)mb);
	assert_true(rn_doorbell_ring((struct rn_doorbell *)ma, wa.peer_bit));
	assert_int_equal(rn_doorbell_take((struct rn_doorbell *)mb, 0), 1u << wb.bit);
	munmap(ma, RN_DOORBELL_BYTES);
	munmap(mb, RN_DOORBELL_BYTES);

	assert_int_equal(write(wa.peer_event, &(uint64_t){ 7 }, 8), 8);
	{
		uint64_t count = 0;

		assert_int_equal(read(wb.event, &count, 8), 8);
		assert_int_equal(count, 7);
		assert_int_equal(read(wb.event, &count, 8), -1); /* does not wait */
		assert_int_equal(errno, EAGAIN);
	}
	close_wire(&wa);
	close_wire(&wb);
	close_side(&a);
	close_side(&b);
}

static void no_end_can_make_the_memory_shorter(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, true);
	struct rn_rocind_wire w;
	struct stat st;

	(void)state;
	ask(&a, &b);
	w = await_wire(&a, &b);
	assert_int_equal(ftruncate(w.rings, 0), -1);
	assert_int_equal(ftruncate(w.peer_page, 0), -1);
	assert_int_equal(ftruncate(w.rings, 2 * RN_WIRE_BYTES), -1);
	assert_int_equal(fcntl(w.rings, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(fstat(w.rings, &st), 0);
	assert_int_equal(st.st_size, RN_WIRE_BYTES);
	/* No more of it is there than is used at first. */
	assert_true(st.st_blocks * 512 <= 2 * (RN_RING_CONTROL + RN_RING_SIZE_MIN));
	close_wire(&w);
	close_side(&a);
	close_side(&b);
}

/* Fills what @fd wakes somebody by, up to where a write would wait. */
static void fill(int fd)
{
	uint64_t most = UINT64_MAX - 1;

	for (unsigned i = 0; i < 100000; i++)
		if (write(fd, &most, sizeof(most)) < 0) {
			assert_int_equal(errno, EAGAIN);
			return;
		}
	fail_msg("it is never full");
}

/* O_NONBLOCK is of an open file, and whoever shares it can clear it for all. */
static void no_end_can_make_the_other_wait(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, true);
	struct rn_rocind_wire wa, wb;
	uint64_t one = 1;

	(void)state;
	ask(&a, &b);
	wa = await_wire(&a, &b);
	wb = await_wire(&b, &a);
	fill(wa.event);
	assert_int_equal(fcntl(wa.event, F_SETFL, 0), 0);
	assert_int_equal(fcntl(wa.peer_event, F_SETFL, 0), 0);
	assert_int_equal(fcntl(wb.event, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(fcntl(wb.peer_event, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(write(wb.peer_event, &one, sizeof(one)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(read(wb.event, &one, sizeof(one)), -1);
	assert_int_equal(errno, EAGAIN);
	close_wire(&wa);
	close_wire(&wb);
	close_side(&a);
	close_side(&b);
}

/* A process that has ended is woken in vain: that is no SIGPIPE. */
static void a_wake_reaches_the_other_end_or_nobody(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, true);
	struct rn_rocind_wire wa, wb;
	uint64_t one = 1;

	(void)state;
	ask(&a, &b);
	wa = await_wire(&a, &b);
	wb = await_wire(&b, &a);
	assert_int_equal(write(wb.peer_event, &one, sizeof(one)), sizeof(one));
	assert_int_equal(read(wb.event, &one, sizeof(one)), -1);
	assert_int_equal(read(wa.event, &one, sizeof(one)), sizeof(one));
	assert_int_equal(read(wa.event, &one, sizeof(one)), -1);
	close_wire(&wa);
	close_side(&a);
	await_down(&b, &a, 0);
	assert_int_equal(write(wb.peer_event, &one, sizeof(one)), sizeof(one));
	close_wire(&wb);
	close_side(&b);
}

static void two_who_ask_at_once_get_one_wire(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, true);
	struct rn_rocind_wire w;

	(void)state;
	ask(&a, &b);
	ask(&b, &a);
	ask(&a, &b);
	w = await_wire(&a, &b);
	close_wire(&w);
	w = await_wire(&b, &a);
	close_wire(&w);
	assert_true(nothing_waits(&a));
	assert_true(nothing_waits(&b));
	close_side(&a);
	close_side(&b);
}

static void who_gets_none_is_told_why(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, false);
	struct side nobody = { .gid = kit_gid(2), .a = { .slot = 1 } };
	struct side no_slot = b;

	(void)state;
	ask(&a, &b);
	await_down(&a, &b, EOPNOTSUPP);
	ask(&b, &a);
	await_down(&b, &a, EOPNOTSUPP);
	ask(&a, &nobody);
	await_down(&a, &nobody, EHOSTUNREACH);
	no_slot.a.slot = 77;
	ask(&a, &no_slot);
	await_down(&a, &no_slot, EHOSTUNREACH);
	ask(&a, &a); /* packets to oneself need no other process */
	await_down(&a, &a, EHOSTUNREACH);
	{
		struct side spoof = a;

		spoof.gid = b.gid;
		ask(&spoof, &b);
		await_down(&spoof, &b, EADDRNOTAVAIL);
	}
	assert_true(nothing_waits(&b));
	close_side(&a);
	close_side(&b);
}

static void packets_lack_icrc_where_both_ends_take_them(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct side a = open_at(kit_gid(0), true, i & 1);
		struct side b = open_at(kit_gid(1), true, i & 2);
		struct rn_rocind_wire w;

		ask(&a, &b);
		w = await_wire(&a, &b);
		assert_int_equal(w.no_icrc, i == 3);
		close_wire(&w);
		w = await_wire(&b, &a);
		assert_int_equal(w.no_icrc, i == 3);
		close_wire(&w);
		close_side(&a);
		close_side(&b);
	}
}

static void who_asks_and_does_not_read_keeps_its_device(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, true);
	struct side nobody = { .gid = kit_gid(2) };
	struct rn_rocind_event ev;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		struct rn_rocind_ends ends = towards(&a, &nobody);

		ends.peer_slot = i % 255 + 1;
		while (rn_rocind_ask_wire(a.r, &ends, false) == -EAGAIN)
			sched_yield();
	}
	while (rn_rocind_event(a.r, &ev) == 0)
		assert_int_equal(ev.kind, RN_ROCIND_WIRE_DOWN);
	ask(&b, &a); /* rocind still knows it */
	ev = kit_event(b.r);
	assert_int_equal(ev.kind, RN_ROCIND_WIRE);
	close_wire(&ev.wire);
	close_side(&a);
	close_side(&b);
}

/* ---- The end ---- */

static void the_end_of_one_is_told_to_the_other(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, true), again;
	struct rn_rocind_wire w;

	(void)state;
	ask(&a, &b);
	w = await_wire(&a, &b);
	close_wire(&w);
	again = b;
	close_side(&b);
	await_down(&a, &again, 0);
	ask(&a, &again);
	await_down(&a, &again, EHOSTUNREACH);
	b = open_side(1, true); /* the next owner of the slot gets a wire of its own */
	assert_int_equal(b.a.slot, again.a.slot);
	ask(&a, &b);
	w = await_wire(&a, &b);
	close_wire(&w);
	close_side(&a);
	close_side(&b);
}

static void a_process_that_was_killed_is_gone_too(void **state)
{
	struct side a = open_side(0, true);
	struct side b = { .gid = kit_gid(1), .a = { .slot = 1 } };
	struct rn_rocind_wire w;
	int ready[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		b = open_at(b.gid, true, false);
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	ask(&a, &b);
	w = await_wire(&a, &b);
	close_wire(&w);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	await_down(&a, &b, 0);
	close_side(&a);
	close(ready[0]);
	close(ready[1]);
}

static void a_spoilt_wire_is_the_last_of_the_two(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, true);
	struct rn_rocind_ends ends = towards(&b, &a);
	struct rn_rocind_wire w;

	(void)state;
	ask(&a, &b);
	w = await_wire(&a, &b);
	close_wire(&w);
	w = await_wire(&b, &a);
	close_wire(&w);
	assert_int_equal(rn_rocind_drop_wire(b.r, &ends), 0);
	await_down(&a, &b, EPIPE);
	ask(&a, &b);
	await_down(&a, &b, EPIPE);
	ask(&b, &a);
	await_down(&b, &a, EPIPE);
	assert_true(nothing_waits(&a));
	close_side(&a);
	assert_true(nothing_waits(&b)); /* it knows already */
	close_side(&b);
}

/* An end whose ring says that the other has closed it, while it has not. */
static void who_has_lost_a_wire_gets_another_after_a_while(void **state)
{
	struct side a = open_side(0, true), b = open_side(1, true);
	struct rn_rocind_wire first[2], second[2];
	struct rn_rocind_status status;
	struct rn_rocind_event ev;

	(void)state;
	ask(&a, &b);
	first[0] = await_wire(&b, &a);
	first[1] = await_wire(&a, &b);
	ask(&a, &b);
	assert_true(nothing_waits(&a));
	/* Not at once, or an end could have the other busy with wires. */
	ask_again(&a, &b);
	assert_true(nothing_waits(&a));
	while (rn_rocind_event(a.r, &ev) == -EAGAIN) {
		ask_again(&a, &b);
		assert_int_equal(rn_rocind_status(a.r, &status, NULL, 0), 0);
	}
	assert_int_equal(ev.kind, RN_ROCIND_WIRE);
	second[1] = ev.wire;
	await_down(&b, &a, 0);
	second[0] = await_wire(&b, &a);
	assert_int_not_equal(first[1].bit, second[1].bit);
	for (unsigned i = 0; i < 2; i++) {
		close_wire(&first[i]);
		close_wire(&second[i]);
	}
	assert_true(nothing_waits(&a) && nothing_waits(&b));
	close_side(&a);
	await_down(&b, &a, 0);
	close_side(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(both_ends_get_the_same_memory),
		test(no_end_can_make_the_memory_shorter),
		test(no_end_can_make_the_other_wait),
		test(a_wake_reaches_the_other_end_or_nobody),
		test(two_who_ask_at_once_get_one_wire),
		test(who_gets_none_is_told_why),
		test(packets_lack_icrc_where_both_ends_take_them),
		test(who_asks_and_does_not_read_keeps_its_device),
		test(the_end_of_one_is_told_to_the_other),
		test(a_process_that_was_killed_is_gone_too),
		test(a_spoilt_wire_is_the_last_of_the_two),
		test(who_has_lost_a_wire_gets_another_after_a_while),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
