/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trap.h - a plain load of the CPU from device memory becomes a PCIe read.
 *
 * While anything written is on its way to or from a GPU, all pages by which the CPU
 * names its memory are closed (PROT_NONE): a read of one byte pushes whatever is
 * on the way, and its completion what the GPU has sent, so it matters little which byte
 * it was. A load or store that faults performs a read TLP and opens the pages. What
 * that does not push (another route, or not yet there) stays on its way; the pages are
 * closed again at the next event of this GPU, since the next access may have more to
 * push. So a plain store, which takes effect at once, overtakes nothing that it must not
 * overtake, on whatever page.
 *
 * Threads: everything under the host lock unless it says otherwise.
 */
#ifndef RN_TRAP_H
#define RN_TRAP_H

#include "sim/pcie/host/host.h"

struct rn_gpu;
struct rn_declared;

enum rn_trap_state {
	RN_TRAP_OPEN,
	RN_TRAP_CLOSED,
	RN_TRAP_PARTLY, /* the sanitizer keeps some pages closed */
};

/* What the CPU reaches of one GPU. */
struct rn_trap_space {
	unsigned on_way; /* writes to it or from it */
	enum rn_trap_state state;
	bool has_stepped;	/* pages were opened one by one since all were closed */
	_Atomic bool is_active; /* a handler looks at it without the lock */
	struct rn_declared
		*declared; /* ordinary memory that belongs to it; next_of_gpu */
};

/* Begin to watch @gpu. Does nothing with ROCIN_PCIE_TRAP=off. */
void rn_trap_add(struct rn_host *h, struct rn_gpu *gpu);

/* Are there writes on the way to or from @gpu? */
bool rn_trap_is_busy(const struct rn_gpu *gpu);

/* After memory was allocated, freed, declared: make its pages what the state says. */
void rn_trap_refresh(struct rn_gpu *gpu);

/* The next access may have more to push, or to be judged: close what is open. */
void rn_trap_close_again(struct rn_gpu *gpu);

/* For the sanitizer, which takes the opening on itself. The page at @page and no other:
 * false: it is not watched, or cannot be opened.
 */
bool rn_trap_open_page(struct rn_gpu *gpu, uintptr_t page);

/* All but @count pages, which rise. */
void rn_trap_open_but(struct rn_gpu *gpu, const uintptr_t *pages, unsigned count);

/* What rn_trap_open_page() has opened, if it is still watched. */
void rn_trap_close_page(struct rn_gpu *gpu, uintptr_t page);

/* Have @fn called, under the host lock, when a load or store of the CPU has met a closed
 * page at @addr and pushed what it pushes: it opens what is to be opened. In the handler
 * of SIGSEGV. Before any GPU is watched.
 */
void rn_trap_on_load(void (*fn)(struct rn_gpu *gpu, uintptr_t addr));

extern struct rn_trap_counts {
	_Atomic uint64_t closings, loads_trapped, syscalls_opened, not_closed;
} rn_trap_counts;

#endif /* RN_TRAP_H */
