/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr.c - memory regions of the program's memory, null regions, and advice about regions
 * with on-demand paging.
 *
 * A region is a range of addresses, not the pages behind it: the engine accesses the
 * memory as the program does, through its page table. Registration only checks that the
 * pages are there.
 */
#include "mr.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "provider/engine/pcie.h"
#include "provider/persona/persona.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"
#include "transport/io/memory/mem_direct.h"

/* ------------------------------------------------------------------- checks of pages */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static uintptr_t page_size;
static bool can_populate;
static char probe_byte;

static int populate_pages(uintptr_t first, size_t len, bool write)
{
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	while (madvise(rnp_pages_pointer(first), len, advice))
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	return 0;
}

/* Finds out whether madvise() knows MADV_POPULATE_WRITE, by trying it with a page that is
 * certainly there. The errno of a later call would not tell: EINVAL may mean that an old
 * kernel does not know this advice, or that the memory lacks the access right.
 */
static void find_out(void)
{
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	can_populate = populate_pages((uintptr_t)&probe_byte & ~(page_size - 1),
				      page_size, true) == 0;
}

static void find_out_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_out);
}

/* Reads one byte of each page of a range, to fault the pages in. It uses a system call
 * that reports a fault instead of raising a signal. Returns 0 or -EFAULT.
 */
int rnp_pages_read(const void *addr, size_t len)
{
	uintptr_t at = (uintptr_t)addr, end = at + len;
	struct iovec remote[IOV_MAX], local;
	char sink[IOV_MAX];

	find_out_once();
	while (at < end) {
		unsigned n = 0;
		long got;

		for (; n < IOV_MAX && at < end; n++) {
			remote[n] = (struct iovec){ rnp_pages_pointer(at), 1 };
			at = (at & ~(page_size - 1)) + page_size;
		}
		local = (struct iovec){ sink, n };
		got = syscall(SYS_process_vm_readv, getpid(), &local, 1, remote, n, 0);
		if (got >= 0 && got < (long)n)
			return -EFAULT;
		if (got < 0 && errno == EFAULT)
			return -EFAULT;
		if (got < 0)
			/* process_vm_readv() itself is not allowed. A missing page is
			 * then found when it is used.
			 */
			return 0;
	}
	return 0;
}

int rnp_pages_populate(const void *addr, size_t len, bool write)
{
	uintptr_t first = (uintptr_t)addr, last = first + len;

	if (len == 0)
		return 0;
	find_out_once();
	if (last < first || last > UINTPTR_MAX - page_size)
		return -EINVAL;
	if (!can_populate)
		return rnp_pages_read(addr, len);
	first &= ~(page_size - 1);
	last = (last + page_size - 1) & ~(page_size - 1);
	return populate_pages(first, last - first, write) ? -EFAULT : 0;
}

int rnp_pages_mapped(const void *addr, size_t len)
{
	unsigned char there[1024];
	uintptr_t at, end = (uintptr_t)addr + len;

	find_out_once();
	for (at = (uintptr_t)addr & ~(page_size - 1); at < end;) {
		size_t left = end - at, most = sizeof(there) * page_size;
		size_t n = left < most ? left : most;

		if (mincore(rnp_pages_pointer(at), n, there))
			return -EFAULT;
		at += n;
	}
	return 0;
}

void rnp_pages_expect(const void *addr, size_t len)
{
	uintptr_t first;

	find_out_once();
	first = (uintptr_t)addr & ~(page_size - 1);
	(void)madvise(rnp_pages_pointer(first), (uintptr_t)addr + len - first,
		      MADV_WILLNEED);
}

/* ---------------------------------------------------------------------- registration */
/* Returns the number of pages that a driver would pin for a region of the
 * program's memory.
 */
static uint64_t pages_to_pin(const struct rn_mr_attr *attr)
{
	if (attr->access & RN_ACCESS_ON_DEMAND || rn_cuda_is_alias(attr->iova_base))
		return 0;
	return rnp_pin_pages(attr->iova_base, attr->length);
}

/* Does, in the kernel's order, what a registration does to pages: checks the access
 * flags, counts @pages as pinned, and faults in the pages of the region (none with
 * on-demand paging, or in a GPU). Returns 0, or -errno if such a region cannot exist;
 * nothing is counted then.
 */
static int pin_pages(struct rnp_engine *e, const struct rn_mr_attr *attr, uint64_t pages)
{
	const rn_ns begun = rnp_engine_now();
	int rc = rnp_access_check(attr->access);

	if (!rc)
		rc = rnp_engine_pin(e, pages);
	if (rc || (attr->access & RN_ACCESS_ON_DEMAND) ||
	    rn_cuda_is_alias(attr->iova_base))
		return rc;
	rc = rnp_pages_populate(rnp_pages_pointer(attr->iova_base),
				attr->length ? attr->length : 1,
				rnp_access_writes(attr->access));
	if (rc)
		rnp_engine_unpin(e, pages);
	else
		rnp_engine_await_pinning(e, pages, begun);
	return rc;
}

/* Stores in the region that @pages pages are pinned for it, which the caller has counted
 * already, and uncounts its former pages. If the memory is that of a GPU, uncounts
 * @pages, too, since no pages of a GPU are pinned. The engine lock is held.
 */
static void set_pinned(struct rnp_engine *e, struct rnp_mr *mr, uint64_t pages)
{
	rnp_engine_unpin(e, mr->pinned);
	mr->pinned = mr->is_on_gpu ? 0 : pages;
	rnp_engine_unpin(e, pages - mr->pinned);
}

/* Checks a range as the kernel does before it looks for the pages. */
static int check_range(const struct rn_mr_attr *attr)
{
	const uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	const uint64_t start = attr->iova_base, end = start + attr->length;

	/* Length SIZE_MAX with on-demand paging means a region of the whole address
	 * space, which must start at address 0.
	 */
	if ((attr->access & RN_ACCESS_ON_DEMAND) && attr->length == SIZE_MAX)
		return start || attr->va || attr->access & RN_ACCESS_HUGETLB ? -EINVAL
									     : 0;
	if (end < start || end > UINT64_MAX - in_page)
		return -EINVAL;
	/* No program has memory there; the device means regions of GPUs by it. */
	if (rn_cuda_is_alias(start) || rn_cuda_is_alias(end))
		return -EFAULT;
	/* A region of 0 bytes consists of the page that its address is in. If that
	 * address is the start of a page, the region consists of no page, and is
	 * refused (ib_umem_get()).
	 */
	if (attr->length == 0 && (start & in_page) == 0)
		return -EINVAL;
	/* Address and IOVA must have equal offsets in their pages, because addresses are
	 * translated page by page.
	 */
	if (!(attr->access & RN_ACCESS_ZERO_BASED) && (start ^ attr->va) & in_page)
		return -EINVAL;
	return 0;
}

/* Is this a region of the program's memory, rather than of a GPU, a file or the device?
 */
static bool is_of_program(const struct rnp_mr *mr)
{
	return !mr->dm && mr->core.kind == RN_MR_KIND_MR;
}

/* Adds the region to the device, and to the simulated PCIe hierarchy if there is one. The
 * engine lock is held.
 */
static int enter_device(struct rnp_engine *e, struct rnp_mr *mr,
			const struct rn_mr_attr *attr)
{
	int rc = rn_mr_init(&mr->core, attr);

	/* The program may have installed a signal handler of its own, which the handler
	 * of the memory guard must precede. This call puts the latter first again.
	 */
	(void)rn_mem_direct_init();
	if (!rc && !mr->dm)
		rc = rnp_pcie_region_add(rnp_engine_pcie(e), attr->key, attr->iova_base,
					 attr->length, attr->access);
	/* rc 1 means that the memory is in a simulated device such as a GPU */
	if (rc < 0)
		return rc;
	mr->is_on_gpu = rc > 0 || rn_cuda_is_alias(attr->iova_base);
	rn_dev_add_mr(rnp_engine_dev(e), &mr->core);
	return 0;
}

/* Removes the region from the device and from the PCIe layer. No access to it may be
 * under way. The engine lock is held.
 */
static void leave_device(struct rnp_engine *e, struct rnp_mr *mr)
{
	rn_dev_remove_mr(rnp_engine_dev(e), &mr->core);
	if (is_of_program(mr))
		rnp_pcie_region_remove(rnp_engine_pcie(e), mr->core.lkey);
}

/* Returns the record of the region for the statistics page. The engine lock is held. */
static struct rn_stats_object describe(const struct rnp_context *ctx,
				       const struct rn_mr_attr *attr)
{
	return (struct rn_stats_object){
		.kind = RN_STATS_MR,
		.number = attr->key >> RN_KEY_INDEX_SHIFT,
		.ctxn = (uint32_t)ctx->file,
		.pdn = attr->pd,
		.key = attr->key,
		.access = attr->access,
		.iova = attr->va,
		.length = attr->length,
	};
}

static void record_region(const struct rnp_context *ctx, struct rnp_mr *mr,
			  const struct rn_mr_attr *attr)
{
	const struct rn_stats_object o = describe(ctx, attr);

	mr->record = rnp_engine_record(ctx->engine, &o);
}

/* Adds the region to its context and to the device. The caller has counted @pages pages
 * as pinned for it. Returns 0 or -errno.
 */
static int add_region(struct rnp_context *ctx, struct rnp_mr *mr, struct rn_mr_attr *attr,
		      uint64_t pages)
{
	int cancel = rnp_lock_engine(ctx->engine);
	int rc = rnp_hca_add(ctx->hca, RNP_HCA_MR);

	if (rc)
		goto out;
	attr->key = rnp_hca_new_key(ctx->hca);
	rc = enter_device(ctx->engine, mr, attr);
	if (rc) {
		rnp_hca_remove(ctx->hca, RNP_HCA_MR);
		goto out;
	}
	set_pinned(ctx->engine, mr, pages);
	record_region(ctx, mr, attr);
	LIST_INSERT_HEAD(&ctx->mrs, mr, link);
	mr->base.ibv_mr.handle = attr->key >> RN_KEY_INDEX_SHIFT;
	rnp_handle_add(ctx, RNP_KIND_MR, mr);
out:
	rnp_unlock_engine(ctx->engine, cancel);
	return rc;
}

/* Finds the domain of the handle @pd, which the program has passed, and counts one more
 * object in that domain. Returns NULL if this context has no such handle.
 */
static const struct rnp_pd *hold_pd(struct rnp_context *ctx, struct ibv_pd *pd)
{
	int cancel = rnp_lock_engine(ctx->engine);
	const struct rnp_pd *found = rnp_pd_find(ctx, pd);

	if (found)
		rnp_pd_get(pd);
	rnp_unlock_engine(ctx->engine, cancel);
	return found;
}

/* Registers a region. The caller has counted an object in its domain, so that the domain
 * cannot be deallocated meanwhile. Returns as rnp_mr_register() does.
 */
static struct rnp_mr *register_in(struct rnp_context *ctx, struct rn_mr_attr *attr,
				  enum rnp_abi_mr_type type, struct rnp_dm *dm, int *rc)
{
	uint64_t pages = dm || type != RNP_ABI_MR ? 0 : pages_to_pin(attr);
	struct rnp_mr *mr;

	*rc = pin_pages(ctx->engine, attr, pages);
	if (*rc)
		return NULL;
	mr = rnp_object_new(RNP_KIND_MR, NULL);
	if (mr) {
		mr->dm = dm;
		mr->held = 2; /* two uses: by the program and by the device */
	}
	*rc = mr ? add_region(ctx, mr, attr, pages) : -ENOMEM;
	if (*rc) {
		rnp_engine_unpin(ctx->engine, pages);
		rnp_object_free(RNP_KIND_MR, mr);
		return NULL;
	}
	return mr;
}

struct rnp_mr *rnp_mr_register(struct ibv_pd *pd, struct rn_mr_attr *attr,
			       enum rnp_abi_mr_type type, struct rnp_dm *dm, int *rc)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	const struct rnp_pd *domain = hold_pd(ctx, pd);
	struct rnp_mr *mr;

	if (!domain) {
		*rc = -EINVAL;
		return NULL;
	}
	attr->pd = domain->number;
	mr = register_in(ctx, attr, type, dm, rc);
	if (!mr) {
		rnp_pd_put(pd);
		return NULL;
	}
	mr->pd = pd;
	mr->base.ibv_mr.lkey = mr->base.ibv_mr.rkey = attr->key;
	mr->base.mr_type = (int)type;
	mr->base.access = (int)attr->access;
	return mr;
}

/* Registers the memory with the CUDA driver alone; see rnp_mr_join_gpu(). */
static int join_cuda(struct rnp_engine *e, uint64_t addr, uint64_t len, rn_iova *at)
{
	int rc = rn_cuda_region_add(addr, len, at);

	if (rc <= 0)
		return rc;
	rc = rnp_engine_join_cuda(e);
	if (!rc)
		return 1;
	rn_cuda_region_remove(*at);
	return rc;
}

int rnp_mr_join_gpu(struct rnp_context *ctx, uint64_t addr, uint64_t len, rn_iova *alias)
{
	const struct rnp_pcie *pcie = rnp_engine_pcie(ctx->engine);
	rn_iova at;
	int rc;

	if (rnp_pcie_is_on(pcie))
		rc = rnp_pcie_real_add(pcie, addr, len, &at);
	else
		rc = join_cuda(ctx->engine, addr, len, &at);
	if (rc > 0)
		*alias = at;
	return rc;
}

void rnp_mr_leave_gpu(struct rnp_context *ctx, rn_iova addr)
{
	const struct rnp_pcie *pcie = rnp_engine_pcie(ctx->engine);

	if (!rn_cuda_is_alias(addr))
		return;
	if (rnp_pcie_is_on(pcie))
		rnp_pcie_real_remove(pcie, addr);
	else
		rn_cuda_region_remove(addr);
}

struct ibv_mr *rnp_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va,
			  int access)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	struct rn_mr_attr attr = {
		.va = hca_va,
		.length = length,
		.iova_base = (uintptr_t)addr,
		.access = (uint32_t)access,
	};
	struct rnp_mr *mr;
	int rc = rnp_is_fork_child(ctx) ? -EIO : check_range(&attr);

	if (!rc)
		rc = -rnp_persona_check_mr(rnp_engine_persona(ctx->engine), attr.access);
	if (!rc)
		rc = rnp_mr_join_gpu(ctx, attr.iova_base, length, &attr.iova_base);
	mr = rc < 0 ? NULL : rnp_mr_register(pd, &attr, RNP_ABI_MR, NULL, &rc);
	if (!mr) {
		if (attr.iova_base != (uintptr_t)addr)
			rnp_mr_leave_gpu(ctx, attr.iova_base);
		errno = -rc;
	}
	return mr ? &mr->base.ibv_mr : NULL;
}

void rnp_mr_detach(struct rnp_mr *mr)
{
	struct rnp_context *ctx = to_rnp_context(mr->base.ibv_mr.context);

	/* From here on no request finds the region. Accesses that are under way are
	 * completed first.
	 */
	mr->core.valid = false;
	if (rnp_engine_settle(ctx->engine, 0))
		rnp_engine_kick(ctx->engine);
	leave_device(ctx->engine, mr);
	rnp_mr_leave_gpu(ctx, mr->core.iova_base);
	set_pinned(ctx->engine, mr, 0);
	rnp_engine_forget(ctx->engine, mr->record);
	rnp_hca_remove(ctx->hca, RNP_HCA_MR);
	if (mr->dm)
		mr->dm->mrs--;
	if (mr->dmah)
		mr->dmah->mrs--;
	LIST_REMOVE(mr, link);
	mr->gone = true;
}

/* A change that ibv_rereg_mr() requests. */
struct change {
	int flags;
	/* new protection domain, and the handle on it; NULL: not changed */
	const struct rnp_pd *pd;
	struct ibv_pd *handle;
	const void *addr;
	size_t length;
	uint32_t access;
};

/* Returns the attributes that the region would have after the change @c; its key would
 * stay the same. The engine lock is held.
 */
static struct rn_mr_attr attr_after(const struct rnp_mr *mr, const struct change *c)
{
	struct rn_mr_attr attr = {
		.key = mr->core.lkey,
		.pd = mr->core.pd,
		.va = mr->core.va,
		.length = mr->core.length,
		.iova_base = mr->core.iova_base,
		.access = (uint32_t)mr->base.access,
	};

	if (c->flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		attr.va = attr.iova_base = (uintptr_t)c->addr;
		attr.length = c->length;
	}
	if (c->pd)
		attr.pd = c->pd->number;
	if (c->flags & IBV_REREG_MR_CHANGE_ACCESS)
		attr.access = c->access;
	return attr;
}

/* Replaces a region by one with the attributes @attr and the same key. Each request that
 * is under way uses either the old region or the new one: requests that wait for memory
 * finish with the old region, and no packet is received between the two. The engine lock
 * is held. Returns 0 or -errno.
 */
static int replace_region(struct rnp_engine *e, struct rnp_mr *mr,
			  const struct rn_mr_attr *attr)
{
	const struct change none = { 0 };
	struct rn_mr_attr old = attr_after(mr, &none);
	bool ended;
	int rc;

	if (mr->core.windows)
		return -EBUSY;
	ended = rnp_engine_settle(e, 0);
	leave_device(e, mr);
	rc = enter_device(e, mr, attr);
	if (rc && enter_device(e, mr, &old)) {
		/* If the simulated PCIe hierarchy refuses even the old region, the region
		 * remains registered, but its key is not valid.
		 */
		mr->core.valid = false;
		rn_dev_add_mr(rnp_engine_dev(e), &mr->core);
	}
	if (ended)
		rnp_engine_kick(e);
	return rc;
}

/* Would a driver pin pages for the change? If the region keeps its range of addresses,
 * its pages stay pinned, and the driver pins none. An exception is a change that switches
 * on-demand paging on or off, because a region with on-demand paging has no pinned pages.
 */
static bool needs_pinning(const struct rnp_mr *mr, int flags,
			  const struct rn_mr_attr *attr)
{
	return flags & IBV_REREG_MR_CHANGE_TRANSLATION ||
	       (attr->access ^ (uint32_t)mr->base.access) & RN_ACCESS_ON_DEMAND;
}

/* Returns the region that the program has passed to ibv_rereg_mr(). Returns NULL if there
 * is no such region or it cannot be changed: it is an import, it was destroyed, or its
 * memory is not ordinary memory of the program but that of a GPU, a file or the device.
 * The engine lock is held.
 */
static struct rnp_mr *find_changeable(const struct rnp_context *ctx,
				      const struct rnp_abi_mr *base)
{
	struct rnp_mr *mr = rnp_handle_find(ctx, RNP_KIND_MR, base);

	if (!mr || !is_of_program(mr) || mr->origin || mr->gone)
		return NULL;
	return rn_cuda_is_alias(mr->core.iova_base) ? NULL : mr;
}

/* Stores in *@attr the attributes that the region would have if it were changed now, and
 * in *@repins whether a driver would pin pages. Other threads may change the region
 * before this change is made. Returns 0, or -EINVAL if there is no such region.
 */
static int preview_change(struct rnp_context *ctx, const struct rnp_abi_mr *base,
			  const struct change *c, struct rn_mr_attr *attr, bool *repins)
{
	int cancel = rnp_lock_engine(ctx->engine);
	const struct rnp_mr *mr = find_changeable(ctx, base);

	if (mr) {
		*attr = attr_after(mr, c);
		*repins = needs_pinning(mr, c->flags, attr);
	}
	rnp_unlock_engine(ctx->engine, cancel);
	return mr ? 0 : -EINVAL;
}

/* Checks a change, and that the new pages are there, and counts @pages as pinned. Returns
 * 0 or -errno; on failure nothing is counted.
 */
static int check_change(struct rnp_engine *e, int flags, const struct rn_mr_attr *attr,
			uint64_t pages)
{
	int rc = 0;

	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		rc = check_range(attr);
	return rc ? rc : pin_pages(e, attr, pages);
}

/* Makes the change @c that ibv_rereg_mr() asks for. The engine lock is held. Returns 0 or
 * -errno.
 */
static int make_change(struct rnp_context *ctx, struct rnp_mr *mr, const struct change *c,
		       bool repins, uint64_t pages)
{
	const struct rn_mr_attr attr = attr_after(mr, c);
	int rc = replace_region(ctx->engine, mr, &attr);

	if (rc)
		return rc;
	mr->base.access = (int)attr.access;
	if (mr->record)
		*mr->record = describe(ctx, &attr);
	if (repins)
		set_pinned(ctx->engine, mr, pages);
	if (c->pd)
		mr->pd = c->handle;
	return 0;
}

/* Makes the whole change, or none. As with mlx5, the new pages are pinned before the old
 * ones are unpinned, so that the region is unchanged if pinning fails. @before: out: the
 * domain handle that the region had before. Returns 0 or -errno.
 */
static int change_region(struct rnp_context *ctx, const struct rnp_abi_mr *base,
			 const struct change *c, struct ibv_pd **before)
{
	struct rn_mr_attr attr;
	struct rnp_mr *mr;
	uint64_t pages = 0;
	bool repins;
	int cancel, rc = preview_change(ctx, base, c, &attr, &repins);

	if (rc)
		return rc;
	if (repins)
		pages = pages_to_pin(&attr);
	rc = check_change(ctx->engine, c->flags, &attr, pages);
	if (rc)
		return rc;
	cancel = rnp_lock_engine(ctx->engine);
	mr = find_changeable(ctx, base);
	if (mr)
		*before = mr->pd;
	rc = mr ? make_change(ctx, mr, c, repins, pages) : -EINVAL;
	if (rc)
		rnp_engine_unpin(ctx->engine, pages);
	rnp_unlock_engine(ctx->engine, cancel);
	return rc;
}

/* Changes a region. If the change fails, the region stays as it was. libibverbs has
 * checked @flags, and stores the new PD, address and length in its struct afterwards. An
 * argument whose flag is not in @flags may be garbage. Returns 0 or a positive errno.
 */
int rnp_rereg_mr(struct rnp_abi_mr *base, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access)
{
	struct rnp_context *ctx = to_rnp_context(base->ibv_mr.context);
	struct change c = {
		.flags = flags,
		.handle = flags & IBV_REREG_MR_CHANGE_PD ? pd : NULL,
		.addr = addr,
		.length = length,
		.access = (uint32_t)access,
	};
	struct ibv_pd *before = NULL;
	int rc;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (!flags)
		return EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		c.pd = hold_pd(ctx, pd);
		if (!c.pd)
			return EINVAL;
	}
	rc = change_region(ctx, base, &c, &before);
	if (c.pd)
		rnp_pd_put(rc ? pd : before);
	return -rc;
}

/* Frees the memory that describes a region. The program has no handle of the region any
 * more.
 */
static void free_region(struct rnp_mr *mr)
{
	if (mr->map)
		munmap(mr->map, mr->map_len);
	rnp_object_free(RNP_KIND_MR, mr);
}

void rnp_mr_release(struct rnp_mr *mr, unsigned holders)
{
	assert(mr->held >= holders);
	mr->held -= holders;
	if (!mr->held)
		free_region(mr);
}

/* Frees the memory of a handle when rnp_lock_to_destroy() has taken no lock, which is the
 * case in a fork() child, and if the context was closed.
 */
static int forget_copy(struct rnp_context *ctx, struct rnp_mr *mr)
{
	if (!mr)
		return ENOENT;
	rnp_handle_remove(ctx, RNP_KIND_MR, mr);
	if (!mr->origin)
		rnp_pd_put(mr->pd);
	free_region(mr);
	return 0;
}

/* Deregisters the region that @handle, the original or an imported handle, refers to. The
 * engine lock is held. Returns 0 and sets *@pd to the handle of the region's domain; or
 * returns a positive errno.
 */
static int deregister(struct rnp_context *ctx, struct rnp_mr *handle, struct ibv_pd **pd)
{
	struct rnp_mr *mr = handle && handle->origin ? handle->origin : handle;

	if (!mr || mr->gone)
		return ENOENT;
	if (mr->core.windows) /* still has windows: IBTA Vol 1, 10.6.7.2.6 */
		return EBUSY;
	*pd = mr->pd;
	rnp_handle_remove(ctx, RNP_KIND_MR, handle);
	if (handle != mr)
		rnp_object_free(RNP_KIND_MR, handle);
	rnp_mr_detach(mr);
	/* drops two uses: by the device and by the handle */
	rnp_mr_release(mr, 2);
	return 0;
}

/* Deregisters a region through one of its handles, the original or an imported one. The
 * other handles can only be unimported afterwards.
 */
int rnp_dereg_mr(struct rnp_abi_mr *base)
{
	struct rnp_context *ctx = to_rnp_context(base->ibv_mr.context);
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_mr *handle = rnp_handle_find(ctx, RNP_KIND_MR, base);
	struct ibv_pd *pd = NULL;
	int err;

	if (lock == RNP_NO_LOCK)
		return forget_copy(ctx, handle);
	err = deregister(ctx, handle, &pd);
	rnp_unlock_destroyed(ctx, lock);
	if (!err)
		rnp_pd_put(pd);
	return err;
}

/* ---------------------------------------------------------------------- null regions */
/* Reads of a null region give zeros, and writes to it are discarded. Its key works only
 * in scatter and gather lists.
 */
/* Adds the region to the device. The engine lock is held. */
static int attach_null(struct rnp_context *ctx, struct rnp_mr *mr, struct ibv_pd *pd)
{
	const struct rnp_pd *domain = rnp_pd_find(ctx, pd);
	struct rn_mr_attr attr = { 0 };
	int rc = domain ? rnp_hca_add(ctx->hca, RNP_HCA_MR) : -EINVAL;

	if (rc)
		return rc;
	attr.pd = domain->number;
	attr.key = rnp_hca_new_key(ctx->hca);
	rn_mr_init_null(&mr->core, attr.key, attr.pd);
	rn_dev_add_mr(rnp_engine_dev(ctx->engine), &mr->core);
	record_region(ctx, mr, &attr);
	LIST_INSERT_HEAD(&ctx->mrs, mr, link);
	rnp_pd_get(pd);
	mr->pd = pd;
	mr->base.ibv_mr.handle = mr->core.node.key;
	rnp_handle_add(ctx, RNP_KIND_MR, mr);
	return 0;
}

struct ibv_mr *rnp_alloc_null_mr(struct ibv_pd *pd)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	int rc = rnp_is_fork_child(ctx) ? -EIO : 0, cancel;
	struct rnp_mr *mr = rc ? NULL : rnp_object_new(RNP_KIND_MR, NULL);

	if (!mr) {
		errno = rc ? -rc : ENOMEM;
		return NULL;
	}
	mr->held = 2; /* uses: by the program and by the device */
	cancel = rnp_lock_engine(ctx->engine);
	rc = attach_null(ctx, mr, pd);
	rnp_unlock_engine(ctx->engine, cancel);
	if (rc) {
		rnp_object_free(RNP_KIND_MR, mr);
		errno = -rc;
		return NULL;
	}
	mr->base.ibv_mr.context = pd->context;
	mr->base.ibv_mr.pd = pd;
	mr->base.ibv_mr.lkey = mr->base.ibv_mr.rkey = mr->core.lkey;
	mr->base.mr_type = RNP_ABI_NULL_MR;
	return &mr->base.ibv_mr;
}

/* ------------------------------------------------------------------- ibv_advise_mr() */
/* Is the SGE inside the region? */
static bool is_inside(const struct rn_mr *mr, const struct ibv_sge *sge)
{
	uint64_t offset = sge->addr - mr->va;

	return sge->addr >= mr->va && offset <= mr->length &&
	       sge->length <= mr->length - offset;
}

/* Finds the memory of an SGE in a region of the domain number @pd. Returns 0 with the
 * address of the memory in *@addr, or a positive errno. The engine lock is held.
 */
static int find_locked(const struct rnp_context *ctx, uint32_t pd, bool write,
		       const struct ibv_sge *sge, uintptr_t *addr)
{
	const struct rn_mr *mr = rn_dev_find_mr(rnp_engine_dev(ctx->engine),
						sge->lkey >> RN_KEY_INDEX_SHIFT);

	if (!mr || mr->lkey != sge->lkey)
		return ENOENT;
	if (mr->kind != RN_MR_KIND_MR)
		return EINVAL;
	if (!(mr->access & RN_ACCESS_ON_DEMAND))
		return ENOENT;
	if (mr->pd != pd || (write && !rnp_access_writes(mr->access)))
		return EPERM;
	if (!is_inside(mr, sge))
		return EFAULT;
	*addr = mr->iova_base + (sge->addr - mr->va);
	return 0;
}

static int find_advised(struct ibv_pd *pd, bool write, const struct ibv_sge *sge,
			uintptr_t *addr)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	int cancel = rnp_lock_engine(ctx->engine);
	const struct rnp_pd *domain = rnp_pd_find(ctx, pd);
	int err = domain ? find_locked(ctx, domain->number, write, sge, addr) : EINVAL;

	rnp_unlock_engine(ctx->engine, cancel);
	return err;
}

/* Follows an advice for a range: makes its pages present in the program's page table,
 * through which the device accesses memory; or only checks that they are mapped. Returns
 * 0 or a positive errno.
 */
static int fetch_pages(uintptr_t at, size_t len, enum ibv_advise_mr_advice advice)
{
	const void *addr = rnp_pages_pointer(at);

	if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -rnp_pages_mapped(addr, len);
	return -rnp_pages_populate(addr, len,
				   advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
}

/* Prefetches the pages of the SGEs, which must be in regions with on-demand paging. If
 * one of the SGEs is not valid, prefetches none. Without IBV_ADVISE_MR_FLAG_FLUSH the
 * call does not wait for pages, so it is no error if some cannot be made present.
 */
int rnp_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg_list, uint32_t num_sge)
{
	const bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	uintptr_t addr;
	int err = 0;

	if (rnp_is_fork_child(to_rnp_context(pd->context)))
		return EIO;
	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH && !write &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return EOPNOTSUPP;
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || !sg_list || num_sge == 0)
		return EINVAL;
	for (uint32_t i = 0; i < num_sge && !err; i++)
		err = find_advised(pd, write, &sg_list[i], &addr);
	for (uint32_t i = 0; i < num_sge && !err; i++) {
		err = find_advised(pd, write, &sg_list[i], &addr);
		if (err || sg_list[i].length == 0)
			continue;
		if (flags & IBV_ADVISE_MR_FLAG_FLUSH)
			err = fetch_pages(addr, sg_list[i].length, advice);
		else if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
			rnp_pages_expect(rnp_pages_pointer(addr), sg_list[i].length);
	}
	return err;
}
