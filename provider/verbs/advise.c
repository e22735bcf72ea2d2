/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* advise.c - advice about regions with on-demand paging.
 *
 * The device reaches memory through the program's own page table, so to prefetch is to
 * have the kernel make the pages present.
 */
#include "mr_access.h"
#include "pages.h"
#include "provider.h"

static bool is_inside(const struct rn_mr *mr, const struct ibv_sge *sge)
{
	uint64_t offset = sge->addr - mr->va;

	return sge->addr >= mr->va && offset <= mr->length &&
	       sge->length <= mr->length - offset;
}

/* 0 with the address in memory, or an errno; engine lock held. */
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

static int find(struct ibv_pd *pd, bool write, const struct ibv_sge *sge, uintptr_t *addr)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	int cancel = rnp_enter(ctx->engine);
	int err = find_locked(ctx, to_rnp_pd(pd)->number, write, sge, addr);

	rnp_leave(ctx->engine, cancel);
	return err;
}

/* A positive errno. */
static int fetch(uintptr_t at, size_t len, enum ibv_advise_mr_advice advice)
{
	const void *addr = rnp_pages_pointer(at);

	if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -rnp_pages_mapped(addr, len);
	return -rnp_pages_populate(addr, len,
				   advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
}

/* Nothing is fetched unless all of it is right. Without IBV_ADVISE_MR_FLAG_FLUSH the
 * caller does not wait for pages, so he does not hear of missing ones.
 */
int rnp_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg_list, uint32_t num_sge)
{
	const bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	uintptr_t addr;
	int err = 0;

	if (rnp_is_copy(to_rnp_context(pd->context)))
		return EIO;
	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH && !write &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return EOPNOTSUPP;
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || !sg_list || num_sge == 0)
		return EINVAL;
	for (uint32_t i = 0; i < num_sge && !err; i++)
		err = find(pd, write, &sg_list[i], &addr);
	for (uint32_t i = 0; i < num_sge && !err; i++) {
		err = find(pd, write, &sg_list[i], &addr);
		if (err || sg_list[i].length == 0)
			continue;
		if (flags & IBV_ADVISE_MR_FLAG_FLUSH)
			err = fetch(addr, sg_list[i].length, advice);
		else if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
			rnp_pages_expect(rnp_pages_pointer(addr), sg_list[i].length);
	}
	return err;
}
