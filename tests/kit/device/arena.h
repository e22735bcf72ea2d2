/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arena.h - the memory of a test: blocks between guard bytes, and the device's way to
 * them.
 *
 * An IOVA is the address of the byte, as with the direct back end of the provider. Unlike
 * there, an access that touches anything but a live block is a FAULT, and a read or
 * atomic operation can be made to answer PENDING and to take place later.
 */
#ifndef RN_ARENA_H
#define RN_ARENA_H

#include "rocin/mem.h"

enum {
	ARENA_BLOCKS = 256,
	ARENA_PENDING = 4096,
	ARENA_GUARD = 64,
	ARENA_CALLS = 32 /* calls kept of the last ones */
};

/* A call of the device into its memory. */
struct arena_call {
	enum arena_op_kind {
		ARENA_WRITE,
		ARENA_READ,
		ARENA_ATOMIC
	} kind;
	rn_iova addr;
	uint32_t len;
	struct rn_mem_attr attr;
};

/* A read or atomic operation that answered PENDING. */
struct arena_op {
	rn_ns at; /* when it takes place and rn_dev_mem_done() is to be called */
	void *dst;
	rn_iova src;
	uint32_t len;
	bool is_atomic;
	struct rn_mem_atomic_req atomic;
	uint64_t tag;
};

struct arena {
	struct {
		uint8_t *base; /* with guards */
		uint8_t *data;
		size_t len;
		bool gone; /* every access faults */
	} block[ARENA_BLOCKS];
	unsigned count;

	/* Delay of reads and atomics, ns: 0 answers DONE at once, otherwise PENDING
	 * until now + 1 .. delay, out of order.
	 */
	rn_ns delay;
	const rn_ns *now;
	uint64_t seed;
	struct arena_op pending[ARENA_PENDING];
	unsigned pending_count;
	uint64_t reads, writes, atomics; /* operations so far */
	struct arena_call call[ARENA_CALLS];
	unsigned call_count; /* so far; slot = number % ARENA_CALLS */
};

/* @now: the clock, read when an operation is put off. */
void arena_init(struct arena *a, const rn_ns *now);
void arena_fini(struct arena *a);

/* Zeroed block of @len bytes, 64-byte aligned, until arena_fini(). */
void *arena_alloc(struct arena *a, size_t len);

/* The memory behind the block at @data is gone: accesses fault. */
void arena_unmap(struct arena *a, const void *data);

/* Operations put off that would write to [mem, mem + len) never take place: the block of
 * a QP is about to be freed.
 */
void arena_cancel(struct arena *a, const void *mem, size_t len);

/* True if nothing was written outside the blocks. */
bool arena_guards_intact(const struct arena *a);

/* When the next operation put off takes place; RN_NEVER if there is none. */
rn_ns arena_deadline(const struct arena *a);

/* Carry out one operation that is due at @now. False if there is none. */
bool arena_step(struct arena *a, rn_ns now, uint64_t *tag, enum rn_mem_result *result);

/* ctx is struct arena. always_done is true in the first and false in the second. */
extern const struct rn_mem_ops arena_direct_ops;
extern const struct rn_mem_ops arena_pending_ops;

/* Next number of a seeded sequence. */
uint64_t test_random(uint64_t *seed);

#endif /* RN_ARENA_H */
