/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arena.c - the memory of a test: blocks between guard bytes, and the functions by which
 * a device accesses them.
 */
#include "arena.h"

#include <stdlib.h>
#include <string.h>

#include "rocin/crc32.h"
#include "rocin/random.h"

enum {
	GUARD_BYTE = 0xa5
};

uint64_t test_random(uint64_t *seed)
{
	*seed += RN_RANDOM_STEP;
	return rn_random_mix(*seed);
}

void arena_init(struct arena *a, const rn_ns *now)
{
	memset(a, 0, sizeof(*a));
	a->now = now;
	a->seed = 1;
}

void arena_fini(struct arena *a)
{
	for (unsigned i = 0; i < a->count; i++)
		free(a->block[i].base);
	a->count = 0;
}

void *arena_alloc(struct arena *a, size_t len)
{
	size_t size = (len + 2 * ARENA_GUARD + 63) & ~(size_t)63;
	uint8_t *base = aligned_alloc(64, size);

	assert(base);
	assert(a->count < ARENA_BLOCKS);
	memset(base, GUARD_BYTE, size);
	memset(base + ARENA_GUARD, 0, len);
	a->block[a->count].base = base;
	a->block[a->count].data = base + ARENA_GUARD;
	a->block[a->count].len = len;
	a->block[a->count].gone = false;
	a->count++;
	return base + ARENA_GUARD;
}

void arena_unmap(struct arena *a, const void *data)
{
	for (unsigned i = 0; i < a->count; i++)
		if (a->block[i].data == data)
			a->block[i].gone = true;
}

void arena_cancel(struct arena *a, const void *mem, size_t len)
{
	for (unsigned i = 0; i < a->pending_count;) {
		uintptr_t off = (uintptr_t)a->pending[i].dst - (uintptr_t)mem;

		if (off < len)
			a->pending[i] = a->pending[--a->pending_count];
		else
			i++;
	}
}

bool arena_guards_intact(const struct arena *a)
{
	for (unsigned i = 0; i < a->count; i++) {
		const uint8_t *end = a->block[i].data + a->block[i].len;

		for (unsigned k = 0; k < ARENA_GUARD; k++)
			if (a->block[i].base[k] != GUARD_BYTE || end[k] != GUARD_BYTE)
				return false;
	}
	return true;
}

/* Returns the bytes [iova, iova + len) if they are in one block that is not unmapped,
 * otherwise NULL.
 */
static uint8_t *resolve(const struct arena *a, rn_iova iova, uint32_t len)
{
	assert(len > 0);
	for (unsigned i = 0; i < a->count; i++) {
		uint64_t off = iova - (uintptr_t)a->block[i].data;

		if (off < a->block[i].len && len <= a->block[i].len - off)
			return a->block[i].gone ? NULL : a->block[i].data + off;
	}
	return NULL;
}

static void note(struct arena *a, struct arena_call call)
{
	a->call[a->call_count++ % ARENA_CALLS] = call;
}

static enum rn_mem_result arena_write(void *ctx, rn_iova dst, const void *src,
				      uint32_t len, struct rn_mem_attr attr)
{
	struct arena *a = ctx;
	uint8_t *to = resolve(a, dst, len);

	note(a, (struct arena_call){ ARENA_WRITE, dst, len, attr });
	a->writes++;
	if (!to)
		return RN_MEM_FAULT;
	memcpy(to, src, len);
	return RN_MEM_DONE;
}

static enum rn_mem_result read_now(struct arena *a, void *dst, rn_iova src, uint32_t len)
{
	const uint8_t *from = resolve(a, src, len);

	if (!from)
		return RN_MEM_FAULT;
	memcpy(dst, from, len);
	return RN_MEM_DONE;
}

static enum rn_mem_result atomic_now(struct arena *a, const struct rn_mem_atomic_req *req,
				     uint64_t *orig)
{
	uint8_t *at = resolve(a, req->dst, 8);
	uint64_t old, value;

	assert(req->dst % 8 == 0);
	if (!at)
		return RN_MEM_FAULT;
	memcpy(&old, at, 8);
	value = old;
	if (req->op == RN_MEM_FETCH_ADD)
		value = old + req->operand;
	else if (old == req->compare)
		value = req->operand;
	memcpy(at, &value, 8);
	memcpy(orig, &old, 8);
	return RN_MEM_DONE;
}

static enum rn_mem_result put_off(struct arena *a, struct arena_op op)
{
	assert(a->pending_count < ARENA_PENDING);
	op.at = *a->now + 1 + (rn_ns)(test_random(&a->seed) % (uint64_t)a->delay);
	a->pending[a->pending_count++] = op;
	return RN_MEM_PENDING;
}

static enum rn_mem_result direct_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				      struct rn_mem_attr attr, uint64_t tag)
{
	struct arena *a = ctx;

	(void)tag;
	note(a, (struct arena_call){ ARENA_READ, src, len, attr });
	a->reads++;
	return read_now(a, dst, src, len);
}

static enum rn_mem_result direct_read_part(void *ctx, void *dst, rn_iova src,
					   uint32_t len, struct rn_mem_attr attr,
					   struct rn_crc32_part *part)
{
	uint8_t room[RN_CRC32_PART_MAX];
	enum rn_mem_result result;

	part->len = 0;
	if (!rn_crc32_can_copy(len))
		return direct_read(ctx, dst, src, len, attr, 0);
	result = direct_read(ctx, room, src, len, attr, 0);
	if (result == RN_MEM_DONE)
		rn_crc32_copy(dst, room, len, part);
	return result;
}

static enum rn_mem_result direct_atomic(void *ctx, const struct rn_mem_atomic_req *req,
					uint64_t *orig, struct rn_mem_attr attr,
					uint64_t tag)
{
	struct arena *a = ctx;

	(void)tag;
	note(a, (struct arena_call){ ARENA_ATOMIC, req->dst, 8, attr });
	a->atomics++;
	return atomic_now(a, req, orig);
}

static enum rn_mem_result pending_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				       struct rn_mem_attr attr, uint64_t tag)
{
	struct arena *a = ctx;

	/* Some reads complete at once, so that one list of SGEs can have both kinds. */
	if (a->delay == 0 || test_random(&a->seed) % 8 == 0)
		return direct_read(ctx, dst, src, len, attr, tag);
	note(a, (struct arena_call){ ARENA_READ, src, len, attr });
	a->reads++;
	return put_off(
		a, (struct arena_op){ .dst = dst, .src = src, .len = len, .tag = tag });
}

static enum rn_mem_result pending_atomic(void *ctx, const struct rn_mem_atomic_req *req,
					 uint64_t *orig, struct rn_mem_attr attr,
					 uint64_t tag)
{
	struct arena *a = ctx;

	if (a->delay == 0 || test_random(&a->seed) % 8 == 0)
		return direct_atomic(ctx, req, orig, attr, tag);
	note(a, (struct arena_call){ ARENA_ATOMIC, req->dst, 8, attr });
	a->atomics++;
	return put_off(
		a, (struct arena_op){
			   .dst = orig, .is_atomic = true, .atomic = *req, .tag = tag });
}

static unsigned earliest(const struct arena *a)
{
	unsigned best = 0;

	for (unsigned i = 1; i < a->pending_count; i++)
		if (a->pending[i].at < a->pending[best].at)
			best = i;
	return best;
}

rn_ns arena_deadline(const struct arena *a)
{
	return a->pending_count ? a->pending[earliest(a)].at : RN_NEVER;
}

bool arena_step(struct arena *a, rn_ns now, uint64_t *tag, enum rn_mem_result *result)
{
	struct arena_op op;
	unsigned i;

	if (a->pending_count == 0)
		return false;
	i = earliest(a);
	op = a->pending[i];
	if (op.at > now)
		return false;
	a->pending[i] = a->pending[--a->pending_count];
	*result = op.is_atomic ? atomic_now(a, &op.atomic, op.dst)
			       : read_now(a, op.dst, op.src, op.len);
	*tag = op.tag;
	return true;
}

const struct rn_mem_ops arena_direct_ops = {
	.always_done = true,
	.write = arena_write,
	.read = direct_read,
	.read_part = direct_read_part,
	.atomic = direct_atomic,
};

const struct rn_mem_ops arena_pending_ops = {
	.write = arena_write,
	.read = pending_read,
	.atomic = pending_atomic,
};
