/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr.c - judge accesses to memory regions and windows. */
#include <errno.h>

#include "key_table.h"
#include "rocin/mr.h"

#define ACCESS_KNOWN                                                         \
	(RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_MASK | RN_ACCESS_MW_BIND | \
	 RN_ACCESS_ZERO_BASED | RN_ACCESS_ON_DEMAND | RN_ACCESS_HUGETLB |    \
	 RN_ACCESS_OPTIONAL_RANGE)

int rn_mr_init(struct rn_mr *mr, const struct rn_mr_attr *attr)
{
	uint64_t va = attr->access & RN_ACCESS_ZERO_BASED ? 0 : attr->va;

	if (attr->access & ~ACCESS_KNOWN)
		return -EINVAL;
	if (attr->access & (RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_ATOMIC) &&
	    !(attr->access & RN_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	/* The last byte, not the end: a region may reach up to 2^64. */
	if (attr->length > 0 && va + (attr->length - 1) < va)
		return -EINVAL;

	*mr = (struct rn_mr){
		.node = { .key = attr->key >> RN_KEY_INDEX_SHIFT },
		.lkey = attr->key,
		.pd = attr->pd,
		.va = va,
		.length = attr->length,
		.iova_base = attr->iova_base,
		.access = attr->access,
		.kind = RN_MR_KIND_MR,
		.valid = true,
	};
	return 0;
}

void rn_mr_init_null(struct rn_mr *mr, uint32_t key, uint32_t pd)
{
	*mr = (struct rn_mr){
		.node = { .key = key >> RN_KEY_INDEX_SHIFT },
		.lkey = key,
		.pd = pd,
		.length = UINT64_MAX,
		.access = RN_ACCESS_LOCAL_WRITE,
		.kind = RN_MR_KIND_NULL,
		.valid = true,
	};
}

void rn_mw_init(struct rn_mr *mr, enum rn_mr_kind kind, uint32_t key, uint32_t pd)
{
	assert(kind == RN_MR_KIND_MW1 || kind == RN_MR_KIND_MW2);
	*mr = (struct rn_mr){
		.node = { .key = key >> RN_KEY_INDEX_SHIFT },
		.lkey = key,
		.pd = pd,
		.kind = kind,
	};
}

/* Kinds that each sort of key may stand for. */
enum {
	LOCAL = 1 << RN_MR_KIND_MR | 1 << RN_MR_KIND_NULL,
	REMOTE = 1 << RN_MR_KIND_MR | 1 << RN_MR_KIND_MW1 | 1 << RN_MR_KIND_MW2,
};

static inline enum rn_key_result check(const struct rn_htab *tab,
				       const struct rn_key_use *use, unsigned kinds,
				       rn_iova *iova, struct rn_mr **mr_out)
{
	struct rn_hnode *node = rn_htab_find(tab, use->key >> RN_KEY_INDEX_SHIFT);
	struct rn_mr *mr;

	if (!node)
		return RN_KEY_UNKNOWN;
	mr = RN_CONTAINER_OF(node, struct rn_mr, node);
	if (mr->lkey != use->key)
		return RN_KEY_UNKNOWN;
	if (!mr->valid || !(kinds & 1u << mr->kind))
		return RN_KEY_INVALID;
	if (mr->pd != use->pd)
		return RN_KEY_PD;
	/* Type 2B: domain and queue pair. IBTA Vol 1, 10.6.7.2.5. */
	if (mr->kind == RN_MR_KIND_MW2 && mr->qpn != use->qpn)
		return RN_KEY_QP;
	if ((mr->access & use->access) != use->access)
		return RN_KEY_ACCESS;
	if (mr->kind != RN_MR_KIND_NULL && !use->whole &&
	    !rn_mr_contains(mr, use->va, use->len))
		return RN_KEY_RANGE;

	*iova = mr->iova_base + (use->whole ? 0 : use->va - mr->va);
	if (mr_out)
		*mr_out = mr;
	return RN_KEY_OK;
}

enum rn_key_result rn_mr_check_remote(const struct rn_htab *tab,
				      const struct rn_key_use *use, rn_iova *iova,
				      struct rn_mr **mr)
{
	assert(use->access != 0);
	assert((use->access & ~RN_ACCESS_REMOTE_MASK) == 0);
	return check(tab, use, REMOTE, iova, mr);
}

enum rn_key_result rn_mr_check_local(const struct rn_htab *tab,
				     const struct rn_key_use *use, rn_iova *iova,
				     struct rn_mr **mr)
{
	assert((use->access & ~RN_ACCESS_LOCAL_WRITE) == 0);
	return check(tab, use, LOCAL, iova, mr);
}

const char *rn_key_result_name(enum rn_key_result result)
{
	static const char *const names[] = {
		[RN_KEY_OK] = "ok",
		[RN_KEY_UNKNOWN] = "unknown key",
		[RN_KEY_INVALID] = "key of an invalid object",
		[RN_KEY_PD] = "key of another protection domain",
		[RN_KEY_QP] = "key of another queue pair's window",
		[RN_KEY_ACCESS] = "missing access right",
		[RN_KEY_RANGE] = "range outside of the region",
	};

	static_assert(RN_ARRAY_SIZE(names) == RN_KEY_RESULT_COUNT, "one name each");
	assert(result < RN_KEY_RESULT_COUNT);
	return names[result];
}
