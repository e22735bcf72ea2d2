/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_flush.c - what the CPU does to a GPU: explicit MMIO, flush, waits of a stream. */
#include <errno.h>
#include <stdatomic.h>

#include "gpu_memory.h"

static bool is_access(uintptr_t addr, unsigned size)
{
	return (size == 1 || size == 2 || size == 4 || size == 8) && addr % size == 0;
}

/* ------------------------------------------------------------------- MMIO */
/* 0: @addr is device memory as the CPU names it. */
static int find_bar(const volatile void *addr, unsigned size, struct rn_gpu_where *where)
{
	if (rn_gpu_is_forked() || !is_access((uintptr_t)addr, size) ||
	    rn_gpu_find(addr, where) < 0 || !(where->by_bar || where->is_declared))
		return rn_gpu_fail(-EFAULT, "%u bytes at %p are not in a BAR", size,
				   rn_gpu_pointer((uintptr_t)addr));
	return 0;
}

uint64_t rn_gpu_bar_load(const volatile void *bar, unsigned size)
{
	struct rn_gpu_where where = { 0 };
	uint64_t value = 0;
	int err = find_bar(bar, size, &where);

	if (!err) {
		atomic_fetch_add(&rn_gpu_counts.bar_reads, 1);
		if (rn_gpu_is_off(where.gpu))
			err = rn_gpu_plain_load((uintptr_t)bar, size, &value);
		else
			err = rn_gpu_tlp(RN_AGENT_CPU, RN_TLP_READ, 0, (uintptr_t)bar,
					 &value, size);
	}
	if (err) {
		errno = EFAULT;
		return UINT64_MAX;
	}
	return value;
}

void rn_gpu_bar_store(volatile void *bar, uint64_t value, unsigned size)
{
	struct rn_gpu_where where = { 0 };
	int err = find_bar(bar, size, &where);

	if (!err) {
		atomic_fetch_add(&rn_gpu_counts.bar_writes, 1);
		if (rn_gpu_is_off(where.gpu))
			err = rn_gpu_plain_store((uintptr_t)bar, size, value);
		else
			err = rn_gpu_tlp(RN_AGENT_CPU, RN_TLP_WRITE, 0, (uintptr_t)bar,
					 &value, size);
	}
	if (err)
		errno = EFAULT;
}

/* ------------------------------------------------------------------ flush */
static void flush(struct rn_gpu *gpu)
{
	atomic_fetch_add(&rn_gpu_counts.flushes, 1);
	if (rn_gpu_is_off(gpu))
		return;
	rn_host_lock(gpu->host);
	rn_gpu_read_flush(gpu);
	rn_host_unlock(gpu->host);
}

int rn_gpu_flush(struct rn_gpu *gpu, enum rn_gpu_flush_target target,
		 enum rn_gpu_flush_scope scope)
{
	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	if (target != RN_GPU_FLUSH_THIS ||
	    (scope != RN_GPU_TO_OWNER && scope != RN_GPU_TO_ALL_DEVICES))
		return rn_gpu_fail(-EINVAL, "there is no flush of target %d, scope %d",
				   (int)target, (int)scope);
	if ((int)scope <= 100 * (int)rn_host_knobs(gpu->host)->gpu_ordering)
		atomic_fetch_add(&rn_gpu_counts.flushes_skipped, 1);
	else
		flush(gpu);
	return 0;
}

/* -------------------------------------------------------- waits of a stream */
static bool is_met(uint32_t found, uint32_t value, unsigned how)
{
	if (how == RN_GPU_WAIT_EQ)
		return found == value;
	if (how == RN_GPU_WAIT_AND)
		return (found & value) != 0;
	return (int32_t)(found - value) >= 0;
}

/* As the front end of @gpu sees it. */
static int front_end_load(struct rn_gpu *gpu, uintptr_t addr, uint32_t *found)
{
	uint64_t value = 0, offset;
	char view;
	int err;

	rn_host_set_polling(true);
	if (rn_gpu_of(addr, &offset, &view) == gpu)
		err = rn_gpu_plain_load((uintptr_t)gpu->dev + offset, 4, &value);
	else if (rn_gpu_is_off(gpu))
		err = rn_gpu_plain_load(addr, 4, &value);
	else
		err = rn_gpu_tlp(rn_gpu_agent(gpu), RN_TLP_READ, 0, addr, &value, 4);
	rn_host_set_polling(false);
	*found = (uint32_t)value;
	return err;
}

int rn_gpu_wait_value32(struct rn_gpu *gpu, const volatile uint32_t *addr, uint32_t value,
			unsigned flags, int timeout_ms)
{
	unsigned how = flags & ~(unsigned)RN_GPU_WAIT_FLUSH;
	rn_ns end = rn_host_now() + RN_MSEC(timeout_ms);
	uint32_t found;

	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	if ((uintptr_t)addr % 4 || how > RN_GPU_WAIT_AND)
		return rn_gpu_fail(-EINVAL, "no wait on %p with flags %#x",
				   rn_gpu_pointer((uintptr_t)addr), flags);
	for (;;) {
		if (front_end_load(gpu, (uintptr_t)addr, &found) < 0)
			return rn_gpu_fail(-EFAULT, "nothing answers at %p",
					   rn_gpu_pointer((uintptr_t)addr));
		if (is_met(found, value, how))
			break;
		if (timeout_ms >= 0 && rn_host_now() >= end)
			return rn_gpu_fail(-ETIMEDOUT, "%#x at %p after %d ms", found,
					   rn_gpu_pointer((uintptr_t)addr), timeout_ms);
		rn_gpu_pause(gpu);
	}
	if (flags & RN_GPU_WAIT_FLUSH)
		flush(gpu);
	return 0;
}
