/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_report.c - one sentence about device memory that is not there (any more). */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu_memory.h"
#include "transport/io/memory/mem_guard.h"

enum {
	REPORTS_MAX = 16, /* about memory that never was allocated */
};

/* "free_it+0x1c of ./program", or an address. */
static void name_code(void *at, char *buf, size_t len)
{
	Dl_info info;

	if (!dladdr(at, &info) || !info.dli_fname)
		snprintf(buf, len, "%p", at);
	else if (info.dli_sname)
		snprintf(buf, len, "%s+%#tx of %s", info.dli_sname,
			 (char *)at - (char *)info.dli_saddr, info.dli_fname);
	else
		snprintf(buf, len, "%s+%#tx", info.dli_fname,
			 (char *)at - (char *)info.dli_fbase);
}

/* Who uses memory by @view. A device of Rocin copies under a guard; its plugin has one of
 * its own where the layer is off.
 */
static const char *name_user(const struct rn_gpu *gpu, char view)
{
	if (view == 'd' || rn_gpu_current())
		return "by a kernel";
	if (view == 'e' || rn_guard_thread.current || rn_host_is_locked_by_me(gpu->host))
		return "by a device";
	return rn_gpu_is_off(gpu) ? "by the CPU or a device" : "by the CPU";
}

/* The extent that ends closest below @offset. */
static const struct rn_gpu_extent *before(const struct rn_gpu *gpu, uint64_t offset)
{
	const struct rn_gpu_extent *found = NULL;

	for (const struct rn_gpu_extent *e = gpu->extents; e && e->start <= offset;
	     e = e->next)
		found = e;
	return found;
}

static void say(const char *text)
{
	/* Not write(), which page_calls.c has replaced: this is a handler of SIGSEGV. */
	syscall(SYS_write, STDERR_FILENO, text, strlen(text));
}

static void report_freed(struct rn_gpu *gpu, struct rn_gpu_extent e, uint64_t offset,
			 char view)
{
	char by[160], text[400];

	name_code(e.freed_by, by, sizeof(by));
	snprintf(text, sizeof(text),
		 "rocin: use after free: byte %llu of allocation %llu (%llu bytes, GPU "
		 "%d) "
		 "was touched %s; it was freed by %s\n",
		 (unsigned long long)(offset - e.start), (unsigned long long)e.number,
		 (unsigned long long)e.asked, gpu->number, name_user(gpu, view), by);
	say(text);
}

static void report_outside(struct rn_gpu *gpu, const struct rn_gpu_extent *e,
			   struct rn_gpu_extent copy, uint64_t offset, char view)
{
	static _Atomic unsigned count;
	char text[300];

	if (atomic_fetch_add(&count, 1) >= REPORTS_MAX)
		return;
	if (!e)
		snprintf(text, sizeof(text),
			 "rocin: byte %llu of GPU %d, which is not allocated, was "
			 "touched %s\n",
			 (unsigned long long)offset, gpu->number, name_user(gpu, view));
	else if (view == 'b' && offset < copy.start + copy.len)
		snprintf(text, sizeof(text),
			 "rocin: allocation %llu (%llu bytes, GPU %d) was touched %s "
			 "through the BAR, where it has no place\n",
			 (unsigned long long)copy.number, (unsigned long long)copy.asked,
			 gpu->number, name_user(gpu, view));
	else
		snprintf(text, sizeof(text),
			 "rocin: the byte %llu behind the start of allocation %llu (%llu "
			 "bytes, GPU %d) was touched %s\n",
			 (unsigned long long)(offset - copy.start),
			 (unsigned long long)copy.number, (unsigned long long)copy.asked,
			 gpu->number, name_user(gpu, view));
	say(text);
}

void rn_gpu_report_fault(uintptr_t addr)
{
	const struct rn_gpu_extent *below = NULL;
	struct rn_gpu_extent *e, copy = { 0 };
	struct rn_gpu *gpu;
	uint64_t offset;
	bool is_new;
	char view;

	gpu = rn_gpu_of(addr, &offset, &view);
	if (!gpu)
		return;
	atomic_fetch_add(&rn_gpu_counts.freed_accesses, 1);
	rn_gpu_table_lock();
	e = rn_gpu_extent_at(gpu, offset);
	if (e) {
		copy = *e;
		is_new = !e->is_reported;
		e->is_reported = true;
	} else {
		below = before(gpu, offset);
		is_new = true;
		if (below)
			copy = *below;
	}
	rn_gpu_table_unlock();
	if (!is_new)
		return;
	if (copy.is_freed && e)
		report_freed(gpu, copy, offset, view);
	else
		report_outside(gpu, e ? e : below, copy, offset, view);
}
