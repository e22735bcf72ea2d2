/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dmah.c - DMA handles, and ibv_reg_mr_ex(), which registers a region by attributes, one
 * of which may be a DMA handle: verbs of rdma-core 59 and later.
 *
 * A DMA handle tells the device which hints its TLPs to a region shall carry (TPH, PCI
 * Express Base Specification, 6.17). The hints say which processor's cache gets the data.
 * They change neither the contents nor the order of memory, and Rocin simulates no
 * caches, so a handle is checked and counted, and has no other effect.
 */
#include <errno.h>
#include <sched.h>

#include "mr.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/provider.h"

enum {
	PH_MAX = 3, /* a processing hint has two bits */
	MEM_TYPES = 2,
};

static bool may_run_on(uint32_t cpu)
{
	cpu_set_t set;

	return cpu < CPU_SETSIZE && !sched_getaffinity(0, sizeof(set), &set) &&
	       CPU_ISSET(cpu, &set);
}

/* Checks the attributes of a DMA handle. A processing hint is required. The processor and
 * the kind of memory together select a cache, so either both or none of them must be
 * given. Returns 0 or a positive errno.
 */
static int check_dmah(const struct rnp_abi_dmah_attr *attr)
{
	const uint32_t steering = RNP_DMAH_CPU_ID | RNP_DMAH_MEM_TYPE;
	const uint32_t mask = attr->comp_mask;

	if (mask & ~(steering | RNP_DMAH_PH))
		return EOPNOTSUPP;
	if (!(mask & RNP_DMAH_PH) || attr->ph > PH_MAX)
		return EINVAL;
	if ((mask & steering) == 0)
		return 0;
	if ((mask & steering) != steering || attr->tph_mem_type >= MEM_TYPES)
		return EINVAL;
	return may_run_on(attr->cpu_id) ? 0 : EPERM;
}

struct rnp_abi_dmah *rnp_alloc_dmah(struct ibv_context *context,
				    struct rnp_abi_dmah_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	int err = rnp_is_fork_child(ctx) ? EIO : check_dmah(attr), cancel;
	struct rnp_dmah *dmah = err ? NULL : rnp_object_new(RNP_KIND_DMAH, NULL);

	if (!dmah) {
		errno = err ? err : ENOMEM;
		return NULL;
	}
	dmah->base.context = context;
	cancel = rnp_lock_engine(ctx->engine);
	rnp_handle_add(ctx, RNP_KIND_DMAH, dmah);
	rnp_unlock_engine(ctx->engine, cancel);
	return &dmah->base;
}

int rnp_dealloc_dmah(struct rnp_abi_dmah *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx), err = 0;
	struct rnp_dmah *dmah = rnp_handle_find(ctx, RNP_KIND_DMAH, base);

	if (!dmah)
		err = ENOENT;
	else if (lock != RNP_NO_LOCK && dmah->mrs > 0)
		err = EBUSY;
	else
		rnp_handle_remove(ctx, RNP_KIND_DMAH, dmah);
	rnp_unlock_destroyed(ctx, lock);
	if (!err)
		rnp_object_free(RNP_KIND_DMAH, dmah);
	return err;
}

/* ---------------------------------------------------------------------- registration */
/* Checks that the combination of attributes is allowed. Returns 0 or a positive errno. */
static int check_attr(const struct rnp_abi_mr_attr *attr)
{
	const uint64_t file = RNP_REG_MR_FD | RNP_REG_MR_FD_OFFSET;
	const uint64_t mask = attr->comp_mask;

	if (mask & ~(file | RNP_REG_MR_IOVA | RNP_REG_MR_ADDR | RNP_REG_MR_DMAH))
		return EOPNOTSUPP;
	if (mask & file) {
		if ((mask & file) != file || !(mask & RNP_REG_MR_IOVA) ||
		    mask & RNP_REG_MR_ADDR)
			return EINVAL;
	} else if (!(mask & RNP_REG_MR_ADDR)) {
		return EINVAL;
	}
	/* The pages of a region with on-demand paging may change. So a hint, which is
	 * fixed, cannot name the place where they are.
	 */
	if (mask & RNP_REG_MR_DMAH && (uint32_t)attr->access & RN_ACCESS_ON_DEMAND)
		return EOPNOTSUPP;
	return 0;
}

static struct ibv_mr *register_by(struct ibv_pd *pd, const struct rnp_abi_mr_attr *attr)
{
	if (attr->comp_mask & RNP_REG_MR_FD)
		return rnp_reg_dmabuf_mr(pd, attr->fd_offset, attr->length, attr->iova,
					 attr->fd, attr->access);
	return rnp_reg_mr(pd, attr->addr, attr->length,
			  attr->comp_mask & RNP_REG_MR_IOVA ? attr->iova
							    : (uintptr_t)attr->addr,
			  attr->access);
}

/* Finds the DMA handle that the program has passed, and counts one more region of it.
 * Returns NULL if this context has no such handle.
 */
static struct rnp_dmah *hold_dmah(struct rnp_context *ctx,
				  const struct rnp_abi_dmah *base)
{
	int cancel = rnp_lock_engine(ctx->engine);
	struct rnp_dmah *dmah = rnp_handle_find(ctx, RNP_KIND_DMAH, base);

	if (dmah)
		dmah->mrs++;
	rnp_unlock_engine(ctx->engine, cancel);
	return dmah;
}

static struct ibv_mr *register_with_dmah(struct ibv_pd *pd,
					 const struct rnp_abi_mr_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	struct rnp_dmah *dmah;
	struct ibv_mr *mr;
	int cancel;

	if (rnp_is_fork_child(ctx)) {
		errno = EIO;
		return NULL;
	}
	dmah = hold_dmah(ctx, attr->dmah);
	if (!dmah) {
		errno = EINVAL;
		return NULL;
	}
	mr = register_by(pd, attr);
	cancel = rnp_lock_engine(ctx->engine);
	if (mr)
		((struct rnp_mr *)mr)->dmah = dmah;
	else
		dmah->mrs--;
	rnp_unlock_engine(ctx->engine, cancel);
	return mr;
}

struct ibv_mr *rnp_reg_mr_ex(struct ibv_pd *pd, struct rnp_abi_mr_attr *attr)
{
	int err = check_attr(attr);

	if (err) {
		errno = err;
		return NULL;
	}
	return attr->comp_mask & RNP_REG_MR_DMAH ? register_with_dmah(pd, attr)
						 : register_by(pd, attr);
}
