/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr.c - memory regions.
 *
 * What is registered is a range of addresses, not the pages behind it: the engine reaches
 * them as the program does. Registration only checks that they are there.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mr_access.h"
#include "pages.h"
#include "provider.h"
#include "transport/io/memory/mem_direct.h"

/* 0, or -errno if such a region cannot be. */
static int check(const struct rn_mr_attr *attr)
{
	int rc = rnp_access_check(attr->access);

	if (rc || (attr->access & RN_ACCESS_ON_DEMAND))
		return rc;
	return rnp_pages_populate(rnp_pages_pointer(attr->iova_base),
				  attr->length ? attr->length : 1,
				  rnp_access_writes(attr->access));
}

/* What the kernel says of a range, before it looks for the pages. */
static int judge(const struct rn_mr_attr *attr)
{
	const uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	const uint64_t start = attr->iova_base, end = start + attr->length;

	/* The whole address space. */
	if ((attr->access & RN_ACCESS_ON_DEMAND) && attr->length == SIZE_MAX)
		return start || attr->va || attr->access & RN_ACCESS_HUGETLB ? -EINVAL
									     : 0;
	if (end < start || end > UINT64_MAX - in_page)
		return -EINVAL;
	/* A region of 0 bytes has the page that its address is in, and none at the start
	 * of one (ib_umem_get()).
	 */
	if (attr->length == 0 && (start & in_page) == 0)
		return -EINVAL;
	/* Pages are translated, not bytes. */
	if (!(attr->access & RN_ACCESS_ZERO_BASED) && (start ^ attr->va) & in_page)
		return -EINVAL;
	return 0;
}

/* Does it name memory of the program? */
static bool is_of_program(const struct rnp_mr *mr)
{
	return !mr->dm && mr->core.kind == RN_MR_KIND_MR;
}

/* In the device and known to the PCIe layer; engine lock held. */
static int enter(struct rnp_engine *e, struct rnp_mr *mr, const struct rn_mr_attr *attr)
{
	int rc = rn_mr_init(&mr->core, attr);

	(void)rn_mem_direct_init(); /* in front again, if the program has a new handler */
	if (!rc && !mr->dm)
		rc = rnp_pcie_region_add(rnp_engine_pcie(e), attr->key, attr->iova_base,
					 attr->length, attr->access);
	/* 1: device memory */
	if (rc < 0)
		return rc;
	rn_dev_add_mr(rnp_engine_dev(e), &mr->core);
	return 0;
}

/* Out of the device, with nothing on its way to it; engine lock held. */
static void leave(struct rnp_engine *e, struct rnp_mr *mr)
{
	rn_dev_remove_mr(rnp_engine_dev(e), &mr->core);
	if (is_of_program(mr))
		rnp_pcie_region_remove(rnp_engine_pcie(e), mr->core.lkey);
}

static int add(struct rnp_context *ctx, struct rnp_mr *mr, struct rn_mr_attr *attr)
{
	int cancel = rnp_enter(ctx->engine);
	int rc = mr->dm && mr->dm->gone ? -EINVAL : rnp_hca_add(ctx->hca, RNP_HCA_MR);

	if (rc)
		goto out;
	attr->key = rnp_hca_new_key(ctx->hca);
	rc = enter(ctx->engine, mr, attr);
	if (rc) {
		rnp_hca_remove(ctx->hca, RNP_HCA_MR);
		goto out;
	}
	LIST_INSERT_HEAD(&ctx->mrs, mr, link);
	if (mr->dm)
		mr->dm->mrs++;
out:
	rnp_leave(ctx->engine, cancel);
	return rc;
}

struct rnp_mr *rnp_mr_register(struct ibv_pd *pd, struct rn_mr_attr *attr,
			       enum rnp_abi_mr_type type, struct rnp_dm *dm, int *rc)
{
	struct rnp_mr *mr;

	*rc = check(attr);
	if (*rc)
		return NULL;
	mr = calloc(1, sizeof(*mr));
	if (mr) {
		mr->dm = dm;
		mr->held = 2; /* the program and the device */
	}
	*rc = mr ? add(to_rnp_context(pd->context), mr, attr) : -ENOMEM;
	if (*rc) {
		free(mr);
		return NULL;
	}
	rnp_pd_get(pd);
	mr->base.ibv_mr.lkey = mr->base.ibv_mr.rkey = attr->key;
	mr->base.ibv_mr.handle = attr->key >> RN_KEY_INDEX_SHIFT;
	mr->base.mr_type = (int)type;
	mr->base.access = (int)attr->access;
	return mr;
}

struct ibv_mr *rnp_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va,
			  int access)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	struct rn_mr_attr attr = {
		.pd = to_rnp_pd(pd)->number,
		.va = hca_va,
		.length = length,
		.iova_base = (uintptr_t)addr,
		.access = (uint32_t)access,
	};
	struct rnp_mr *mr;
	int rc = rnp_is_copy(ctx) ? -EIO : judge(&attr);

	mr = rc ? NULL : rnp_mr_register(pd, &attr, RNP_ABI_MR, NULL, &rc);
	if (!mr)
		errno = -rc;
	return mr ? &mr->base.ibv_mr : NULL;
}

void rnp_mr_detach(struct rnp_mr *mr)
{
	struct rnp_context *ctx = to_rnp_context(mr->base.ibv_mr.context);

	/* Nothing more comes, and what is on its way arrives. */
	mr->core.valid = false;
	if (rnp_engine_settle(ctx->engine, 0))
		rnp_engine_kick(ctx->engine);
	leave(ctx->engine, mr);
	rnp_hca_remove(ctx->hca, RNP_HCA_MR);
	if (mr->dm)
		mr->dm->mrs--;
	LIST_REMOVE(mr, link);
	mr->gone = true;
}

/* What the caller asked for. */
struct change {
	int flags;
	const struct rnp_pd *pd; /* NULL: stays */
	const void *addr;
	size_t length;
	uint32_t access;
};

/* What the region would be after the change; the key stays. Engine lock held. */
static struct rn_mr_attr changed(const struct rnp_mr *mr, const struct change *c)
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

/* Requests under way meet the old region or the new one: those that wait for memory go on
 * with the old, and no packet is looked at in between. Engine lock held.
 */
static int replace(struct rnp_engine *e, struct rnp_mr *mr, const struct rn_mr_attr *attr)
{
	const struct change none = { 0 };
	struct rn_mr_attr old = changed(mr, &none);
	bool ended;
	int rc;

	if (mr->core.windows)
		return -EBUSY;
	ended = rnp_engine_settle(e, 0);
	leave(e, mr);
	rc = enter(e, mr, attr);
	if (rc && enter(e, mr, &old)) {
		/* The PCIe layer does not take it again: it stays, for nobody's use. */
		mr->core.valid = false;
		rn_dev_add_mr(rnp_engine_dev(e), &mr->core);
	}
	if (ended)
		rnp_engine_kick(e);
	return rc;
}

/* What the region would be now: others may change it, too. */
static struct rn_mr_attr preview(struct rnp_engine *e, const struct rnp_mr *mr,
				 const struct change *c)
{
	int cancel = rnp_enter(e);
	struct rn_mr_attr attr = changed(mr, c);

	rnp_leave(e, cancel);
	return attr;
}

/* 0 or -errno; looks for the pages. */
static int check_change(const struct rnp_mr *mr, int flags, const struct rn_mr_attr *attr)
{
	int rc = 0;

	/* What is no memory of the program stays what it is; so does an import. */
	if (!is_of_program(mr) || mr->origin)
		return -EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		rc = judge(attr);
	return rc ? rc : check(attr);
}

static int change(struct rnp_context *ctx, struct rnp_mr *mr, const struct change *c)
{
	struct rn_mr_attr attr;
	int rc, cancel;

	if (rnp_is_copy(ctx))
		return -EIO;
	attr = preview(ctx->engine, mr, c);
	rc = check_change(mr, c->flags, &attr);
	if (rc)
		return rc;
	cancel = rnp_enter(ctx->engine);
	attr = changed(mr, c);
	rc = replace(ctx->engine, mr, &attr);
	if (!rc)
		mr->base.access = (int)attr.access;
	rnp_leave(ctx->engine, cancel);
	return rc;
}

/* On failure the region stays as it was. The library has judged @flags and takes over
 * PD, address and length. What @flags does not name may be rubbish.
 */
int rnp_rereg_mr(struct rnp_abi_mr *base, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access)
{
	bool to_other = flags & IBV_REREG_MR_CHANGE_PD;
	const struct change c = {
		.flags = flags,
		.pd = to_other && pd ? to_rnp_pd(pd) : NULL,
		.addr = addr,
		.length = length,
		.access = (uint32_t)access,
	};
	int rc = -EINVAL;

	if (flags && (!to_other || (pd && pd->context == base->ibv_mr.context)))
		rc = change(to_rnp_context(base->ibv_mr.context), to_rnp_mr(base), &c);
	if (rc)
		return -rc;
	if (to_other) {
		rnp_pd_get(pd);
		rnp_pd_put(base->ibv_mr.pd);
	}
	return 0;
}

void rnp_mr_release(struct rnp_mr *mr, unsigned holders)
{
	assert(mr->held >= holders);
	mr->held -= holders;
	if (mr->held)
		return;
	if (mr->map)
		munmap(mr->map, mr->map_len);
	free(mr);
}

/* Of a fork child: its copy of the handle. */
static int forget(struct rnp_mr *mr)
{
	if (mr->origin) {
		free(mr);
		return 0;
	}
	rnp_pd_put(mr->base.ibv_mr.pd);
	if (mr->map)
		munmap(mr->map, mr->map_len);
	free(mr);
	return 0;
}

/* Through the first handle or an import; the other handles can only be unimported. */
int rnp_dereg_mr(struct rnp_abi_mr *base)
{
	struct rnp_context *ctx = to_rnp_context(base->ibv_mr.context);
	struct rnp_mr *handle = to_rnp_mr(base);
	struct rnp_mr *mr = handle->origin ? handle->origin : handle;
	struct ibv_pd *pd = NULL;
	int cancel, err = 0;

	if (rnp_is_copy(ctx))
		return forget(handle);
	cancel = rnp_enter(ctx->engine);
	if (mr->gone)
		err = ENOENT;
	else if (mr->core.windows) /* IBTA Vol 1, 10.6.7.2.6 */
		err = EBUSY;
	if (!err) {
		pd = mr->base.ibv_mr.pd;
		if (handle != mr)
			free(handle);
		rnp_mr_detach(mr);
		rnp_mr_release(mr, 2); /* the device and the handle */
	}
	rnp_leave(ctx->engine, cancel);
	if (err)
		return err;
	rnp_pd_put(pd);
	return 0;
}
