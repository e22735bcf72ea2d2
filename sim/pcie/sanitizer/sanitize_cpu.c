/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_cpu.c - plain loads of the CPU from device memory, whose pages trap.c closes.
 *
 * A page opens for one instruction. Where a thread may make no more steps, all pages open
 * but those with covered bytes on their way: no number of loads that are right hides the
 * one that is not.
 */
#include "sanitize_internal.h"
#include "sim/pcie/gpu/gpu_internal.h"
#include "sim/pcie/page/page.h"
#include "transport/io/memory/mem_guard.h"

enum {
	/* Of writes on their way; more than one of two pages is rare, and then some pages
	 * are open.
	 */
	PAGES = 2 * RN_HOST_TLPS,
};

static uintptr_t pages[PAGES]; /* host lock */

/* --------------------------------------------------- sorting without memory */
static void sift_down(unsigned at, unsigned count)
{
	for (unsigned child; (child = 2 * at + 1) < count; at = child) {
		uintptr_t moved = pages[at];

		if (child + 1 < count && pages[child + 1] > pages[child])
			child++;
		if (moved >= pages[child])
			return;
		pages[at] = pages[child];
		pages[child] = moved;
	}
}

/* In a handler of SIGSEGV, perhaps within malloc(): not qsort(), which calls it. */
static void sort(unsigned count)
{
	for (unsigned i = count / 2; i-- > 0;)
		sift_down(i, count);
	while (count-- > 1) {
		uintptr_t most = pages[0];

		pages[0] = pages[count];
		pages[count] = most;
		sift_down(0, count);
	}
}

/* --------------------------------------------------------------------- loads */
static bool is_needed(uintptr_t page)
{
	return rn_san_is_covered(page, RN_PAGE_SIZE);
}

static void open_but_needed(struct rn_gpu *gpu, uintptr_t page)
{
	unsigned count = rn_san_covered_pages(rn_gpu_agent(gpu), pages, PAGES);
	unsigned kept = 0;

	sort(count);
	for (unsigned i = 0; i < count; i++)
		if (pages[i] != page && (kept == 0 || pages[i] != pages[kept - 1]))
			pages[kept++] = pages[i];
	rn_trap_open_but(gpu, pages, kept);
}

/* The instruction is over. */
static void close_page(void *arg, uintptr_t page)
{
	struct rn_gpu *gpu = arg;

	if (gpu->trap.state == RN_TRAP_CLOSED ||
	    (gpu->trap.state == RN_TRAP_PARTLY && is_needed(page)))
		rn_trap_close_page(gpu, page);
}

void rn_san_loaded(struct rn_gpu *gpu, uintptr_t addr)
{
	uintptr_t page = rn_page_down(addr);

	if (!rn_guard_is_store())
		rn_san_judge_load(RN_AGENT_CPU, addr);
	if (gpu->trap.state == RN_TRAP_OPEN)
		return;
	if (rn_page_step(page, close_page, gpu, is_needed(page)) &&
	    rn_trap_open_page(gpu, page))
		return;
	open_but_needed(gpu, page);
}

void rn_san_cpu_covered(const struct rn_tlp *tlp)
{
	struct rn_gpu *gpu = rn_agent_is_gpu(tlp->target)
				     ? rn_gpu_opened((int)(tlp->target - RN_AGENT_GPU))
				     : NULL;

	if (gpu)
		rn_trap_close_again(gpu);
}
