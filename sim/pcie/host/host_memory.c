/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_memory.c - finds the memory that an address belongs to, and accesses its bytes. */
#include <stdlib.h>
#include <string.h>

#include "host_internal.h"
#include "transport/io/cuda/cuda.h"
#include "transport/io/memory/mem_direct.h"
#include "transport/io/memory/mem_guard.h"

/* ------------------------------------------------------ regions of memory */
/* Returns the number of regions that begin at or below @addr. */
static unsigned upper_bound(const struct rn_host *h, rn_iova addr)
{
	unsigned lo = 0, hi = h->region_count;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (h->regions[mid]->addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct rn_host_region *rn_host_region_of(const struct rn_host *h, rn_iova addr)
{
	unsigned n = upper_bound(h, addr);
	const struct rn_host_region *r = n > 0 ? h->regions[n - 1] : NULL;

	return r && addr - r->addr < r->len ? r : NULL;
}

static void make_region_room(struct rn_host *h)
{
	unsigned room = h->region_room ? 2 * h->region_room : 16;
	struct rn_host_region **regions;

	if (h->region_count < h->region_room)
		return;
	regions = realloc(h->regions, room * sizeof(void *));
	/* This library cannot go on without the list of regions. The list takes about a
	 * page.
	 */
	assert(regions);
	h->regions = regions;
	h->region_room = room;
}

void rn_host_region_link(struct rn_host *h, struct rn_host_region *r)
{
	unsigned at = upper_bound(h, r->addr);

	assert(r->len > 0 && !rn_host_region_of(h, r->addr));
	make_region_room(h);
	memmove(&h->regions[at + 1], &h->regions[at],
		(h->region_count - at) * sizeof(void *));
	h->regions[at] = r;
	h->region_count++;
}

void rn_host_region_unlink(struct rn_host *h, struct rn_host_region *r)
{
	unsigned at = upper_bound(h, r->addr);

	assert(at > 0 && h->regions[at - 1] == r);
	h->region_count--;
	memmove(&h->regions[at - 1], &h->regions[at],
		(h->region_count - at + 1) * sizeof(void *));
}

/* ------------------------------------------------------- access to memory */
/* Memory of real GPUs: TLPs are late, as the knobs say, and then become copies. A copy is
 * asked for when its TLP is performed, and waited for before the next TLP that is
 * performed elsewhere: so bytes arrive in the order in which the model performs TLPs.
 * Copies that still wait for others to join them leave when the lock is released.
 */
static void look_later(void *arg)
{
	(void)arg; /* the hierarchy waits for all reads */
}

bool rn_host_open_real(struct rn_host *h)
{
	if (!h->cuda)
		h->cuda = rn_cuda_attach(look_later, NULL);
	return h->cuda != NULL;
}

static void no_result(void *arg, uint64_t tag, enum rn_mem_result result)
{
	(void)arg, (void)tag, (void)result;
}

void rn_host_send_real(struct rn_host *h)
{
	if (h->cuda)
		(void)rn_cuda_collect(h->cuda, no_result, NULL);
}

static const struct rn_mem_ops *mem_ops(const struct rn_host *h)
{
	return h->cuda ? &rn_cuda_waiting_ops : &rn_mem_direct_ops;
}

static bool is_accessed(struct rn_host *h, rn_iova addr, void *bytes, uint32_t len,
			bool to_store)
{
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->access &&
		    h->hooks[i]->access(h, addr, bytes, len, to_store))
			return true;
	return false;
}

static rn_iova engine_address(struct rn_host *h, rn_iova addr, uint32_t len,
			      bool to_store)
{
	const struct rn_host_region *r = rn_host_region_of(h, addr);

	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->touching)
			h->hooks[i]->touching(h, addr, len, to_store);
	return r ? addr + (rn_iova)r->shift : addr;
}

static void end_access(struct rn_host *h, rn_iova addr, uint32_t len)
{
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->touched && !rn_host_region_of(h, addr))
			h->hooks[i]->touched(h, addr, len);
}

/* This function and the similar ones below save the guard of this thread (the range in
 * which the thread expects faults, transport/io/memory/mem_guard.h) and restore it. They
 * may be called inside another guarded access of the same thread, because the SIGSEGV
 * handler may move TLPs when a load of the program has faulted.
 */
enum rn_mem_result rn_host_store(struct rn_host *h, rn_iova addr, const void *src,
				 uint32_t len)
{
	static const struct rn_mem_attr none;
	struct rn_guard *outer = rn_guard_thread.current;
	enum rn_mem_result result;

	if (is_accessed(h, addr, (void *)src, len, true))
		return RN_MEM_DONE;
	result = mem_ops(h)->write(h->cuda, engine_address(h, addr, len, true), src, len,
				   none);
	end_access(h, addr, len);
	rn_guard_thread.current = outer;
	return result;
}

enum rn_mem_result rn_host_load(struct rn_host *h, void *dst, rn_iova addr, uint32_t len)
{
	static const struct rn_mem_attr none;
	struct rn_guard *outer = rn_guard_thread.current;
	enum rn_mem_result result;

	if (is_accessed(h, addr, dst, len, false))
		return RN_MEM_DONE;
	result = mem_ops(h)->read(h->cuda, dst, engine_address(h, addr, len, false), len,
				  none, 0);
	end_access(h, addr, len);
	rn_guard_thread.current = outer;
	return result;
}

enum rn_mem_result rn_host_modify(struct rn_host *h, struct rn_host_atomic *a)
{
	static const struct rn_mem_attr none;
	struct rn_guard *outer = rn_guard_thread.current;
	struct rn_mem_atomic_req req = a->req;
	enum rn_mem_result result;

	req.dst = engine_address(h, req.dst, sizeof(a->found), true);
	result = mem_ops(h)->atomic(h->cuda, &req, &a->found, none, 0);
	end_access(h, a->req.dst, sizeof(a->found));
	rn_guard_thread.current = outer;
	return result;
}
