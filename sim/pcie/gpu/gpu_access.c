/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_access.c - single accesses: as a TLP, or plain and survived. */
#include <errno.h>

#include "gpu_memory.h"
#include "transport/io/memory/mem_guard.h"

/* Host lock held. */
static int send_write(struct rn_host *h, struct rn_tlp *tlp, void *bytes)
{
	int index = rn_host_issue(h, tlp, bytes, NULL, NULL);

	if (index < 0)
		return -EFAULT;
	if (tlp->flags & RN_TLP_BELL && index != RN_TLP_NONE)
		rn_host_force(h, (unsigned)index);
	return 0;
}

/* Host lock held. An agent's own memory is at no distance. */
static int send_to_self(struct rn_host *h, const struct rn_tlp *tlp, void *bytes)
{
	enum rn_mem_result result =
		tlp->kind == RN_TLP_READ ? rn_host_load(h, bytes, tlp->addr, tlp->len)
					 : rn_host_store(h, tlp->addr, bytes, tlp->len);

	return result == RN_MEM_DONE ? 0 : -EFAULT;
}

int rn_gpu_tlp(unsigned requester, unsigned kind, unsigned flags, rn_iova addr,
	       void *operand, uint32_t len)
{
	/* What the hierarchy performs has a guard of its own, and guards do not nest. */
	struct rn_guard *outer = rn_guard_thread.current;
	struct rn_host *h = rn_host_get();
	const struct rn_host_region *r;
	struct rn_tlp tlp = {
		.kind = (uint8_t)kind,
		.flags = (uint8_t)flags,
		.requester = (uint8_t)requester,
		.addr = addr,
		.len = len,
	};
	int err;

	rn_host_lock(h);
	r = rn_host_region_of(h, addr);
	tlp.target = (uint8_t)(r ? r->target : RN_AGENT_CPU);
	if (tlp.target == requester)
		err = send_to_self(h, &tlp, operand);
	else if (kind == RN_TLP_READ)
		err = rn_host_ask(h, &tlp, operand);
	else
		err = send_write(h, &tlp, operand);
	rn_host_unlock(h);
	rn_guard_thread.current = outer;
	return err;
}

void rn_gpu_read_flush(struct rn_gpu *gpu)
{
	struct rn_guard *outer = rn_guard_thread.current;
	uint64_t sink;
	struct rn_tlp tlp = {
		.kind = RN_TLP_READ,
		.flags = RN_TLP_FLUSH,
		.requester = RN_AGENT_CPU,
		.target = (uint8_t)rn_gpu_agent(gpu),
		.addr = (uintptr_t)gpu->bar,
		.len = sizeof(sink),
	};

	rn_host_ask(gpu->host, &tlp, &sink);
	rn_guard_thread.current = outer;
}

/* ------------------------------------------------------------------ plain */
/* A sanitizer's checks around a guard would use what the jump does not restore. */
#define GUARDED __attribute__((no_sanitize("thread", "address", "undefined")))

static uint64_t load(uintptr_t addr, unsigned size)
{
	const void *at = rn_gpu_pointer(addr);

	switch (size) {
	case 1:
		return __atomic_load_n((const uint8_t *)at, __ATOMIC_ACQUIRE);
	case 2:
		return __atomic_load_n((const uint16_t *)at, __ATOMIC_ACQUIRE);
	case 4:
		return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
	default:
		return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
	}
}

static void store(uintptr_t addr, unsigned size, uint64_t value)
{
	void *at = rn_gpu_pointer(addr);

	switch (size) {
	case 1:
		__atomic_store_n((uint8_t *)at, (uint8_t)value, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((uint16_t *)at, (uint16_t)value, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
		break;
	}
}

static GUARDED int guarded_load(uintptr_t addr, unsigned size, uint64_t *value)
{
	struct rn_guard g;

	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return -EFAULT;
	}
	rn_guard_enter(&g, addr, size);
	*value = load(addr, size);
	rn_guard_leave(&g);
	return 0;
}

static GUARDED int guarded_store(uintptr_t addr, unsigned size, uint64_t value)
{
	struct rn_guard g;

	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return -EFAULT;
	}
	rn_guard_enter(&g, addr, size);
	store(addr, size, value);
	rn_guard_leave(&g);
	return 0;
}

int rn_gpu_plain_load(uintptr_t addr, unsigned size, uint64_t *value)
{
	struct rn_guard *outer = rn_guard_thread.current;
	int err = guarded_load(addr, size, value);

	rn_guard_thread.current = outer;
	return err;
}

int rn_gpu_plain_store(uintptr_t addr, unsigned size, uint64_t value)
{
	struct rn_guard *outer = rn_guard_thread.current;
	int err = guarded_store(addr, size, value);

	rn_guard_thread.current = outer;
	return err;
}
