/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arena.h - the memory of a test: blocks between guard bytes, and the functions by which
 * a device accesses them.
 *
 * An IOVA is the address of the byte, as with the provider's functions for direct access
 * (mem_direct.h). There are two differences: an access outside of the blocks returns
 * FAULT, and reads and atomics can return PENDING and take place later.
 */
#ifndef RN_ARENA_H
#define RN_ARENA_H

#include "rocin/mem.h"

enum {
	ARENA_BLOCKS = 256,
	ARENA_PENDING = 4096,
	ARENA_GUARD = 64,
	ARENA_CALLS = 32 /* number of the latest calls that are stored */
};

/* A call by which the device has accessed memory. */
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

/* A read or atomic for which the call returned PENDING. */
struct arena_op {
	/* time at which the operation takes place and rn_dev_mem_done() must be called */
	rn_ns at;
	void *dst;
	rn_iova src;
	uint32_t len;
	bool is_atomic;
	struct rn_mem_atomic_req atomic;
	uint64_t tag;
};

struct arena {
	struct {
		/* beginning of the block's memory, which includes the guard bytes */
		uint8_t *base;
		uint8_t *data;
		size_t len;
		bool gone; /* the block is unmapped: every access returns FAULT */
	} block[ARENA_BLOCKS];
	unsigned count;

	/* Maximum delay of reads and atomics in ns. 0: they return DONE at once.
	 * Otherwise they return PENDING and take place in random order, at a time from
	 * now + 1 to now + delay.
	 */
	rn_ns delay;
	const rn_ns *now;
	uint64_t seed;
	struct arena_op pending[ARENA_PENDING];
	unsigned pending_count;
	uint64_t reads, writes, atomics; /* number of operations so far */
	struct arena_call call[ARENA_CALLS];
	/* number of calls so far; call n is in element n % ARENA_CALLS */
	unsigned call_count;
};

/* Initialises an arena without blocks. @now: the clock from which the times of delayed
 * operations are computed.
 */
void arena_init(struct arena *a, const rn_ns *now);
void arena_fini(struct arena *a);

/* Allocates a block of @len zeroed bytes, aligned to 64 bytes, which exists until
 * arena_fini().
 */
void *arena_alloc(struct arena *a, size_t len);

/* Makes all later accesses to the block at @data return FAULT. */
void arena_unmap(struct arena *a, const void *data);

/* Drops the pending operations that would write to [mem, mem + len). Called before that
 * memory, such as the memory of a QP, is freed.
 */
void arena_cancel(struct arena *a, const void *mem, size_t len);

/* Returns true if no guard byte was overwritten. */
bool arena_guards_intact(const struct arena *a);

/* Returns the time of the next pending operation; RN_NEVER if there is none. */
rn_ns arena_deadline(const struct arena *a);

/* Executes one pending operation whose time has come, and sets *@tag and *@result to the
 * arguments of rn_dev_mem_done(). Returns false if there is none.
 */
bool arena_step(struct arena *a, rn_ns now, uint64_t *tag, enum rn_mem_result *result);

/* Functions for a struct rn_dev_cfg; their @ctx is a struct arena. always_done is true in
 * arena_direct_ops and false in arena_pending_ops.
 */
extern const struct rn_mem_ops arena_direct_ops;
extern const struct rn_mem_ops arena_pending_ops;

/* Returns the next number of the pseudo-random sequence with state *@seed. */
uint64_t test_random(uint64_t *seed);

#endif /* RN_ARENA_H */
