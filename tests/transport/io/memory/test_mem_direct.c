/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_mem_direct.c - the device's way to plain memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/cpu.h"
#include "rocin/crc32.h"
#include "tests/kit/apart.h"
#include "transport/io/memory/mem_direct.h"

static const struct rn_mem_attr attr;

static enum rn_mem_result do_write(void *dst, const void *src, uint32_t len)
{
	return rn_mem_direct_ops.write(NULL, (uintptr_t)dst, src, len, attr);
}

static enum rn_mem_result do_read(void *dst, const void *src, uint32_t len)
{
	return rn_mem_direct_ops.read(NULL, dst, (uintptr_t)src, len, attr, 0);
}

static void
write_and_read_copy_exactly_the_bytes_for_every_length_and_offset(void **state)
{
	enum {
		ROOM = 400
	};
	uint8_t from[ROOM], to[ROOM], want[ROOM], back[ROOM];

	(void)state;
	for (unsigned i = 0; i < ROOM; i++)
		from[i] = (uint8_t)(i * 7 + 1);
	for (uint32_t len = 1; len < 300; len++) {
		for (uint32_t off = 0; off<40; off += len> 80 ? 2 : 1) {
			uint32_t src_off = (off * 5 + len) % 33;

			memset(to, 0xee, ROOM);
			memset(want, 0xee, ROOM);
			memset(back, 0xee, ROOM);
			memcpy(want + off, from + src_off, len);
			assert_int_equal(do_write(to + off, from + src_off, len),
					 RN_MEM_DONE);
			assert_memory_equal(to, want, ROOM);
			assert_int_equal(do_read(back + off, to + off, len), RN_MEM_DONE);
			assert_memory_equal(back, want, ROOM);
		}
	}
}

/* A reader that sees the last word must see all that came before it. */
struct spin {
	_Alignas(64) uint64_t words[64];
	_Atomic bool stop;
	unsigned torn;
};

static void *watch(void *arg)
{
	struct spin *s = arg;

	while (!atomic_load(&s->stop)) {
		uint64_t last = __atomic_load_n(&s->words[63], __ATOMIC_ACQUIRE);

		for (unsigned i = 0; i < 63; i++)
			s->torn += __atomic_load_n(&s->words[i], __ATOMIC_RELAXED) < last;
	}
	return NULL;
}

static void last_word_becomes_visible_last(void **state)
{
	static struct spin s;
	uint64_t msg[64];
	pthread_t t;

	(void)state;
	memset(&s, 0, sizeof(s));
	assert_int_equal(pthread_create(&t, NULL, watch, &s), 0);
	for (uint64_t round = 1; round < 100000; round++) {
		for (unsigned i = 0; i < 64; i++)
			msg[i] = round;
		do_write(s.words, msg, sizeof(msg));
	}
	atomic_store(&s.stop, true);
	pthread_join(t, NULL);
	assert_int_equal(s.torn, 0);
}

static void aligned_words_are_never_torn(void **state)
{
	static _Alignas(8) _Atomic uint64_t word;
	uint64_t a = 0, b = UINT64_MAX, got;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(do_write(&word, i & 1 ? &a : &b, 8), RN_MEM_DONE);
		assert_int_equal(do_read(&got, &word, 8), RN_MEM_DONE);
		assert_true(got == (i & 1 ? a : b));
	}
}

static void atomics_return_what_they_found(void **state)
{
	_Alignas(8) uint64_t word = 40;
	uint64_t orig = 0;
	struct rn_mem_atomic_req add = { RN_MEM_FETCH_ADD, (uintptr_t)&word, 2, 0 };
	struct rn_mem_atomic_req miss = { RN_MEM_CMP_SWAP, (uintptr_t)&word, 7, 41 };
	struct rn_mem_atomic_req hit = { RN_MEM_CMP_SWAP, (uintptr_t)&word, 7, 42 };
	const struct rn_mem_ops *ops = &rn_mem_direct_ops;

	(void)state;
	assert_int_equal(ops->atomic(NULL, &add, &orig, attr, 0), RN_MEM_DONE);
	assert_int_equal(orig, 40);
	assert_int_equal(word, 42);
	assert_int_equal(ops->atomic(NULL, &miss, &orig, attr, 0), RN_MEM_DONE);
	assert_int_equal(orig, 42);
	assert_int_equal(word, 42);
	assert_int_equal(ops->atomic(NULL, &hit, &orig, attr, 0), RN_MEM_DONE);
	assert_int_equal(orig, 42);
	assert_int_equal(word, 7);
}

static enum rn_mem_result do_read_part(void *dst, const void *src, uint32_t len,
				       struct rn_crc32_part *part)
{
	return rn_mem_direct_ops.read_part(NULL, dst, (uintptr_t)src, len, attr, part);
}

static void read_part_reads_every_length(void **state)
{
	uint8_t from[RN_CRC32_PART_MAX + 100], to[sizeof(from)];
	struct rn_crc32_part part;

	(void)state;
	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	for (uint32_t len = 1; len <= sizeof(from); len++) {
		memset(to, 0, sizeof(to));
		assert_int_equal(do_read_part(to, from, len, &part), RN_MEM_DONE);
		assert_memory_equal(to, from, len);
		assert_int_equal(part.len, rn_crc32_can_copy(len) ? len : 0);
	}
}

struct scribble {
	_Alignas(64) uint8_t bytes[RN_CRC32_PART_MAX];
	_Atomic bool stop;
};

static void *scribble(void *arg)
{
	struct scribble *s = arg;

	for (uint64_t i = 0; !atomic_load(&s->stop); i++)
		for (size_t at = 0; at < sizeof(s->bytes); at += 8)
			__atomic_store_n((uint64_t *)(void *)(s->bytes + at), i * at,
					 __ATOMIC_RELAXED);
	return NULL;
}

/* A program that changes what it has posted sends one thing or another, and never a
 * packet that its peer drops.
 */
static void part_is_true_of_the_copy_while_the_source_changes(void **state)
{
	const uint64_t head[RN_CRC32_HEAD / 8] = { 1, 2, 3 };
	static struct scribble s;
	uint8_t to[sizeof(s.bytes)];
	struct rn_crc32_part part;
	pthread_t t;

	(void)state;
	if (!rn_crc32_can_copy(sizeof(to)))
		skip();
	assert_int_equal(pthread_create(&t, NULL, scribble, &s), 0);
	for (unsigned i = 0; i < 3000; i++) {
		assert_int_equal(do_read_part(to, s.bytes, sizeof(to), &part),
				 RN_MEM_DONE);
		assert_int_equal(rn_crc32_with(head, NULL, 0, &part),
				 rn_crc32(head, to, sizeof(to)));
	}
	atomic_store(&s.stop, true);
	pthread_join(t, NULL);
}

/* cmocka has put its own before each test. */
static void put_handler_in_front(void)
{
	assert_int_equal(rn_mem_direct_init(), 0);
}

static uint8_t *two_pages(int prot)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = map_apart(2 * page, prot);

	assert_non_null(p);
	return p;
}

static void memory_that_was_unmapped_answers_fault(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = two_pages(PROT_READ | PROT_WRITE);
	struct rn_crc32_part part;
	uint8_t buf[8192];
	uint64_t orig;
	struct rn_mem_atomic_req add = { RN_MEM_FETCH_ADD, (uintptr_t)(p + page), 1, 0 };

	put_handler_in_front();
	(void)state;
	memset(buf, 1, sizeof(buf));
	munmap(p + page, page);
	for (uint32_t len = 1; len <= 512; len *= 2) {
		assert_int_equal(do_write(p + page, buf, len), RN_MEM_FAULT);
		assert_int_equal(do_read(buf, p + page, len), RN_MEM_FAULT);
	}
	assert_int_equal(do_write(p + page - 100, buf, 4096), RN_MEM_FAULT);
	assert_int_equal(do_read(buf, p + page - 100, 4096), RN_MEM_FAULT);
	assert_int_equal(do_read_part(buf, p + page - 100, 4096, &part), RN_MEM_FAULT);
	assert_int_equal(part.len, 0);
	assert_int_equal(rn_mem_direct_ops.atomic(NULL, &add, &orig, attr, 0),
			 RN_MEM_FAULT);
	/* The page before is as good as ever, and has got what came before the hole. */
	assert_int_equal(p[page - 1], 1);
	assert_int_equal(do_write(p, buf, (uint32_t)page), RN_MEM_DONE);
	munmap(p, page);
}

static void read_only_memory_refuses_writes_only(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = two_pages(PROT_READ);
	uint8_t byte = 1;

	put_handler_in_front();
	(void)state;
	assert_int_equal(do_read(&byte, p, 1), RN_MEM_DONE);
	assert_int_equal(do_write(p, &byte, 1), RN_MEM_FAULT);
	munmap(p, 2 * page);
}

static void file_that_was_truncated_answers_fault(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("test", MFD_CLOEXEC);
	uint8_t *p, buf[64] = { 0 };

	put_handler_in_front();
	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(2 * page)), 0);
	p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(do_write(p + page, buf, sizeof(buf)), RN_MEM_DONE);
	assert_int_equal(ftruncate(fd, (off_t)page), 0);
	assert_int_equal(do_write(p + page, buf, sizeof(buf)), RN_MEM_FAULT);
	assert_int_equal(do_read(buf, p + page, sizeof(buf)), RN_MEM_FAULT);
	assert_int_equal(do_write(p, buf, sizeof(buf)), RN_MEM_DONE);
	munmap(p, 2 * page);
	close(fd);
}

static void address_that_no_pointer_can_hold_answers_fault(void **state)
{
	uint8_t buf[64] = { 0 };

	put_handler_in_front();
	(void)state;
	assert_int_equal(
		rn_mem_direct_ops.write(NULL, 0x8000000000000000u, buf, 64, attr),
		RN_MEM_FAULT);
	assert_int_equal(rn_mem_direct_ops.read(NULL, buf, 0, 8, attr, 0), RN_MEM_FAULT);
}

/* On arm64 the top byte is a tag, and the fault is reported at the address without it. */
static void tagged_address_of_no_memory_answers_fault(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = two_pages(PROT_NONE), buf[64] = { 0 };
	uint64_t tagged = (uintptr_t)p | (uint64_t)0x3a << 56;

	put_handler_in_front();
	(void)state;
	assert_int_equal(rn_mem_direct_ops.write(NULL, tagged, buf, 64, attr),
			 RN_MEM_FAULT);
	assert_int_equal(rn_mem_direct_ops.read(NULL, buf, tagged + 40, 64, attr, 0),
			 RN_MEM_FAULT);
	munmap(p, 2 * page);
}

/* qemu-user has no process_vm_readv(), nor have some sandboxes. */
static bool has_copies_by_system_call(void)
{
	char from = 1, to = 0;
	struct iovec source = { &from, 1 }, target = { &to, 1 };

	return process_vm_readv(getpid(), &target, 1, &source, 1, 0) == 1;
}

static int init(void **state)
{
	(void)state;
	return rn_mem_direct_init();
}

/* @test once by the instructions of each level. */
static void at_each_cpu_level(void **state, void (*test)(void **state))
{
	for (unsigned level = 0; level < RN_CPU_LEVELS; level++) {
		rn_cpu_limit(level);
		test(state);
	}
}

static void copies_are_exact_at_each_cpu_level(void **state)
{
	at_each_cpu_level(
		state, write_and_read_copy_exactly_the_bytes_for_every_length_and_offset);
}

static void last_word_becomes_visible_last_at_each_cpu_level(void **state)
{
	at_each_cpu_level(state, last_word_becomes_visible_last);
}

int main(void)
{
	/* by system calls, where no handler can be installed */
	const struct CMUnitTest without_handler[] = {
		cmocka_unit_test(
			write_and_read_copy_exactly_the_bytes_for_every_length_and_offset),
		cmocka_unit_test(atomics_return_what_they_found),
		cmocka_unit_test(address_that_no_pointer_can_hold_answers_fault),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_exact_at_each_cpu_level),
		cmocka_unit_test(last_word_becomes_visible_last_at_each_cpu_level),
		cmocka_unit_test(aligned_words_are_never_torn),
		cmocka_unit_test(atomics_return_what_they_found),
		cmocka_unit_test(read_part_reads_every_length),
		cmocka_unit_test(part_is_true_of_the_copy_while_the_source_changes),
		cmocka_unit_test(memory_that_was_unmapped_answers_fault),
		cmocka_unit_test(read_only_memory_refuses_writes_only),
		cmocka_unit_test(file_that_was_truncated_answers_fault),
		cmocka_unit_test(address_that_no_pointer_can_hold_answers_fault),
		cmocka_unit_test(tagged_address_of_no_memory_answers_fault),
	};

	return (has_copies_by_system_call()
			? cmocka_run_group_tests_name("without a handler",
						      without_handler, NULL, NULL)
			: 0) +
	       cmocka_run_group_tests(tests, init, NULL);
}
