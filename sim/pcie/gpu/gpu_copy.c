/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_copy.c - the copy engine of a GPU: copies and fills of any length.
 *
 * The engine reaches the memory of its own GPU by the dev view, as kernels do, without a
 * TLP. It reads host memory and the memory of other GPUs by read TLPs, and writes there
 * by posted writes, all of which are performed before the call returns: a GPU reports the
 * end of a copy by a write behind the data. With place=now everything is a plain copy.
 */
#include <errno.h>
#include <string.h>

#include "gpu_internal.h"
#include "transport/io/memory/mem_guard.h"

enum {
	/* Number of bytes that are read before they are written. They are on the stack of
	 * the caller; a larger piece is no faster.
	 */
	PIECE = 16384,
};

/* ---------------------------------------------------------- plain accesses */
/* Copies within a guard, whose fault would leave the function by a jump that the
 * compiler's sanitizers do not follow. Returns 0 or -EFAULT.
 */
static __attribute__((no_sanitize("thread", "address", "undefined"))) int
guarded_copy(void *to, const void *from, size_t len, const void *may_fault)
{
	struct rn_guard g;

	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return -EFAULT;
	}
	rn_guard_enter(&g, (uintptr_t)may_fault, len);
	__builtin_memcpy(to, from, len);
	rn_guard_leave(&g);
	return 0;
}

/* As guarded_copy(). The guard of the caller is kept, since guards do not nest. */
static int plain_copy(void *to, const void *from, size_t len, const void *may_fault)
{
	struct rn_guard *outer = rn_guard_thread.current;
	int err = guarded_copy(to, from, len, may_fault);

	rn_guard_thread.current = outer;
	return err;
}

/* ------------------------------------------------------------------ places */
/* One side of a copy. */
struct place {
	uintptr_t addr;
	bool is_remote; /* TLPs lead there */
};

static struct place place_of(const struct rn_gpu *gpu, uintptr_t addr)
{
	uint64_t offset;
	char view;
	struct rn_gpu *owner = rn_gpu_of(addr, &offset, &view);

	if (owner == gpu)
		return (struct place){ .addr = (uintptr_t)gpu->dev + offset };
	return (struct place){
		.addr = owner ? (uintptr_t)owner->bar + offset : addr,
		.is_remote = !rn_gpu_is_off(gpu),
	};
}

/* Returns the length of the next TLP: at most max_payload, and within one page. */
static uint32_t tlp_len(const struct rn_gpu *gpu, uintptr_t addr, size_t left)
{
	size_t len = rn_host_knobs(gpu->host)->max_payload;
	size_t to_page_end = RN_GPU_PAGE - addr % RN_GPU_PAGE;

	if (len > to_page_end)
		len = to_page_end;
	return (uint32_t)(len < left ? len : left);
}

static struct rn_tlp make_tlp(const struct rn_gpu *gpu, unsigned kind, uintptr_t addr,
			      size_t left)
{
	const struct rn_host_region *r = rn_host_region_of(gpu->host, addr);

	return (struct rn_tlp){
		.kind = (uint8_t)kind,
		.requester = (uint8_t)rn_gpu_agent(gpu),
		.target = (uint8_t)(r ? r->target : RN_AGENT_CPU),
		.addr = addr,
		.len = tlp_len(gpu, addr, left),
	};
}

static int read_piece(struct rn_gpu *gpu, uint8_t *piece, struct place from, size_t len)
{
	struct rn_guard *outer = rn_guard_thread.current;
	int err = 0;

	if (!from.is_remote)
		return plain_copy(piece, rn_gpu_pointer(from.addr), len,
				  rn_gpu_pointer(from.addr));
	rn_host_lock(gpu->host);
	for (size_t at = 0; at < len && !err;) {
		struct rn_tlp tlp = make_tlp(gpu, RN_TLP_READ, from.addr + at, len - at);

		err = rn_host_ask(gpu->host, &tlp, piece + at);
		at += tlp.len;
	}
	rn_host_unlock(gpu->host);
	rn_guard_thread.current = outer;
	return err;
}

/* Called under the host lock when a write of the engine has been performed. */
static void write_performed(void *arg, const struct rn_tlp *tlp,
			    enum rn_mem_result result)
{
	bool *has_faulted = arg;

	(void)tlp;
	if (result == RN_MEM_FAULT)
		*has_faulted = true;
}

static bool is_write_of(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_gpu *gpu = arg;

	return tlp->kind == RN_TLP_WRITE && tlp->requester == rn_gpu_agent(gpu);
}

static int write_piece(struct rn_gpu *gpu, struct place to, uint8_t *piece, size_t len)
{
	struct rn_guard *outer = rn_guard_thread.current;
	bool has_faulted = false;
	int index = 0;

	if (!to.is_remote)
		return plain_copy(rn_gpu_pointer(to.addr), piece, len,
				  rn_gpu_pointer(to.addr));
	rn_host_lock(gpu->host);
	for (size_t at = 0; at < len && index >= 0;) {
		struct rn_tlp tlp = make_tlp(gpu, RN_TLP_WRITE, to.addr + at, len - at);

		index = rn_host_issue(gpu->host, &tlp, piece + at, write_performed,
				      &has_faulted);
		at += tlp.len;
	}
	/* No write may outlive @has_faulted. */
	rn_host_force_if(gpu->host, is_write_of, gpu);
	rn_host_unlock(gpu->host);
	rn_guard_thread.current = outer;
	return index < 0 || has_faulted ? -EFAULT : 0;
}

/* Makes this thread the GPU's for one call, so that what it touches counts as touched by
 * the GPU. A thread that is a kernel already stays one. Returns true if the caller must
 * call leave_engine().
 */
static bool enter_engine(struct rn_gpu *gpu)
{
	rn_guard_install();
	return !rn_gpu_current() && rn_gpu_become(gpu) == 0;
}

static void leave_engine(bool has_entered)
{
	if (has_entered)
		(void)rn_gpu_become(NULL);
}

/* ------------------------------------------------------------------- calls */
int rn_gpu_copy(struct rn_gpu *gpu, void *to, const void *from, size_t len)
{
	uint8_t piece[PIECE] __attribute__((aligned(64)));
	struct place source, sink;
	bool has_entered;
	int err = 0;

	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	source = place_of(gpu, (uintptr_t)from);
	sink = place_of(gpu, (uintptr_t)to);
	has_entered = enter_engine(gpu);
	for (size_t at = 0; at < len && !err;) {
		size_t n = len - at < PIECE ? len - at : PIECE;
		struct place part = { source.addr + at, source.is_remote };

		err = read_piece(gpu, piece, part, n);
		part = (struct place){ sink.addr + at, sink.is_remote };
		if (!err)
			err = write_piece(gpu, part, piece, n);
		at += n;
	}
	leave_engine(has_entered);
	return err ? rn_gpu_fail(-EFAULT,
				 "GPU %d cannot copy %zu bytes from %p to %p: "
				 "a part of them is not mapped",
				 gpu->number, len, from, to)
		   : 0;
}

int rn_gpu_fill(struct rn_gpu *gpu, void *to, uint32_t value, unsigned size, size_t count)
{
	uint8_t piece[PIECE] __attribute__((aligned(64)));
	struct place sink;
	bool has_entered;
	size_t len;
	int err = 0;

	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	if ((size != 1 && size != 2 && size != 4) || (uintptr_t)to % size ||
	    __builtin_mul_overflow(count, size, &len))
		return rn_gpu_fail(-EINVAL, "no fill of %zu times %u bytes at %p", count,
				   size, to);
	for (size_t at = 0; at < PIECE; at += size)
		memcpy(piece + at, &value, size);
	sink = place_of(gpu, (uintptr_t)to);
	has_entered = enter_engine(gpu);
	for (size_t at = 0; at < len && !err;) {
		size_t n = len - at < PIECE ? len - at : PIECE;
		struct place part = { sink.addr + at, sink.is_remote };

		err = write_piece(gpu, part, piece, n);
		at += n;
	}
	leave_engine(has_entered);
	return err ? rn_gpu_fail(-EFAULT,
				 "GPU %d cannot fill %zu bytes at %p: a part of them is "
				 "not mapped",
				 gpu->number, len, to)
		   : 0;
}
