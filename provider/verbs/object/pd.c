/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pd.c - protection domains, parent domains and their allocators, thread domains, and
 * address handles.
 */
#include "pd.h"

#include "device.h"
#include "handle.h"
#include "library.h"
#include "provider.h"
#include "provider/engine/engine.h"
#include "provider/engine/pcie.h"
#include "rocin/netdev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct rnp_pd_handle *to_pd_handle(struct ibv_pd *pd)
{
	return (struct rnp_pd_handle *)pd;
}

/* Drops one reference of a handle, or of the device, to a domain. */
static void release_pd(struct rnp_pd *pd)
{
	if (atomic_fetch_sub(&pd->held, 1) == 1)
		free(pd);
}

struct rnp_pd_handle *rnp_pd_new_handle(struct ibv_context *context, struct rnp_pd *pd)
{
	struct rnp_pd_handle *h = rnp_object_new(RNP_KIND_PD, NULL);

	if (!h)
		return NULL;
	h->base.context = context;
	if (pd)
		h->base.handle = pd->number;
	h->pd = pd;
	atomic_init(&h->refs, 1);
	return h;
}

/* Adds @by to the number of objects that the domain's record in the statistics page
 * shows. A fork() child does nothing, as the record belongs to its parent.
 */
static void record_users(struct ibv_pd *pd, int by)
{
	const struct rnp_pd *p = to_rnp_pd(pd);

	/* @p->engine is used, because the context of the handle may be closed already. */
	if (p->record && !rnp_engine_forked(p->engine))
		rnp_record_users(p->record, by);
}

void rnp_pd_get(struct ibv_pd *pd)
{
	atomic_fetch_add(&to_pd_handle(pd)->refs, 1);
	atomic_fetch_add(&to_rnp_pd(pd)->refs, 1);
	record_users(pd, 1);
}

static void release_handle(struct rnp_pd_handle *h)
{
	if (atomic_fetch_sub(&h->refs, 1) > 1)
		return;
	release_pd(h->pd);
	rnp_object_free(RNP_KIND_PD, h);
}

const struct rnp_pd *rnp_pd_find(const struct rnp_context *ctx, const struct ibv_pd *pd)
{
	const struct rnp_pd_handle *h = rnp_handle_find(ctx, RNP_KIND_PD, pd);

	return h ? h->pd : NULL;
}

void rnp_pd_put(struct ibv_pd *pd)
{
	/* This comes before the reference is dropped: once the domain has no object, it
	 * may be deallocated at any time.
	 */
	record_users(pd, -1);
	atomic_fetch_sub(&to_rnp_pd(pd)->refs, 1);
	release_handle(to_pd_handle(pd));
}

static void record_pd(const struct rnp_context *ctx, struct rnp_pd *pd)
{
	const struct rn_stats_object o = {
		.kind = RN_STATS_PD,
		.number = pd->number,
		.ctxn = (uint32_t)ctx->file,
	};

	pd->engine = ctx->engine;
	pd->record = rnp_engine_record(ctx->engine, &o);
}

struct ibv_pd *rnp_alloc_pd(struct ibv_context *context)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct rnp_pd_handle *h = NULL;
	struct rnp_pd *pd;
	int cancel, rc;

	if (rnp_is_fork_child(ctx)) {
		errno = EIO;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (pd)
		h = rnp_pd_new_handle(context, pd);
	if (!h) {
		free(pd);
		return NULL;
	}
	atomic_init(&pd->held, 2);
	cancel = rnp_lock_engine(ctx->engine);
	rc = rnp_hca_add(ctx->hca, RNP_HCA_PD);
	if (!rc) {
		h->base.handle = pd->number = rnp_hca_new_pd(ctx->hca);
		record_pd(ctx, pd);
		LIST_INSERT_HEAD(&ctx->pds, pd, link);
		rnp_handle_add(ctx, RNP_KIND_PD, h);
	}
	rnp_unlock_engine(ctx->engine, cancel);
	if (rc) {
		rnp_object_free(RNP_KIND_PD, h);
		free(pd);
		errno = -rc;
		return NULL;
	}
	return &h->base;
}

void rnp_pd_detach(struct rnp_context *ctx, struct rnp_pd *pd)
{
	pd->gone = true;
	rnp_engine_forget(ctx->engine, pd->record);
	pd->record = NULL;
	rnp_hca_remove(ctx->hca, RNP_HCA_PD);
	LIST_REMOVE(pd, link);
	release_pd(pd);
}

/* Removes a domain from the device. The engine lock is held. Returns 0; EBUSY if there
 * are objects in the domain; ENOENT if it was deallocated through another handle.
 */
static int detach_domain(struct rnp_context *ctx, struct rnp_pd *pd)
{
	if (pd->gone)
		return ENOENT;
	if (atomic_load(&pd->refs))
		return EBUSY;
	rnp_pd_detach(ctx, pd);
	return 0;
}

static bool is_parent(const struct rnp_pd_handle *h)
{
	return h->kind == RNP_PD_PARENT;
}

static void free_parent_domain(struct rnp_pd_handle *h)
{
	struct ibv_pd *below = h->below;

	if (h->td)
		atomic_fetch_sub(&h->td->refs, 1);
	/* cannot be the last reference, since @below has another */
	atomic_fetch_sub(&h->pd->held, 1);
	rnp_object_free(RNP_KIND_PD, h);
	rnp_pd_put(below);
}

/* Makes a handle unusable for the program. @ends_domain: deallocate the domain of the
 * handle, too, as ibv_dealloc_pd() does; false for an unimport. The engine lock is held.
 * Returns 0 or a positive errno.
 */
static int take_handle(struct rnp_context *ctx, struct rnp_pd_handle *h, bool ends_domain)
{
	if (is_parent(h))
		return atomic_load(&h->refs) > 1 ? EBUSY : 0;
	return ends_domain ? detach_domain(ctx, h->pd) : 0;
}

static int end_handle(struct ibv_pd *base, bool ends_domain)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_pd_handle *h = rnp_handle_find(ctx, RNP_KIND_PD, base);
	int err = h ? 0 : ENOENT;

	if (h && lock != RNP_NO_LOCK)
		err = take_handle(ctx, h, ends_domain);
	if (!err)
		rnp_handle_remove(ctx, RNP_KIND_PD, h);
	rnp_unlock_destroyed(ctx, lock);
	if (err)
		return err;
	if (is_parent(h))
		free_parent_domain(h);
	else
		release_handle(h);
	return 0;
}

/* Unimports a handle. If there are objects that were created with it, it is freed when
 * the last of them is destroyed.
 */
void rnp_unimport_pd(struct ibv_pd *base)
{
	(void)end_handle(base, false);
}

int rnp_dealloc_pd(struct ibv_pd *base)
{
	return end_handle(base, true);
}

/* -------------------------------------------------------------------- thread domains */
struct ibv_td *rnp_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct rnp_td *td;
	int err = rnp_is_fork_child(ctx) ? EIO : 0, cancel;

	if (!err && attr->comp_mask)
		err = EINVAL;
	if (err) {
		errno = err;
		return NULL;
	}
	td = rnp_object_new(RNP_KIND_TD, NULL);
	if (!td)
		return NULL;
	td->base.context = context;
	cancel = rnp_lock_engine(ctx->engine);
	rnp_handle_add(ctx, RNP_KIND_TD, td);
	rnp_unlock_engine(ctx->engine, cancel);
	return &td->base;
}

int rnp_dealloc_td(struct ibv_td *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx), err = 0;
	struct rnp_td *td = rnp_handle_find(ctx, RNP_KIND_TD, base);

	if (!td)
		err = ENOENT;
	else if (atomic_load(&td->refs))
		err = EBUSY;
	else
		rnp_handle_remove(ctx, RNP_KIND_TD, td);
	rnp_unlock_destroyed(ctx, lock);
	if (!err)
		rnp_object_free(RNP_KIND_TD, td);
	return err;
}

/* -------------------------------------------------------------------- parent domains */
static int check_parent_domain(const struct rnp_context *ctx,
			       const struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |
			       RNP_PARENT_DOMAIN_CC_UNPROTECTED;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (attr->comp_mask & ~known)
		return EINVAL;
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) &&
	    (!attr->alloc || !attr->free))
		return EINVAL;
	return 0;
}

/* Adds the parent domain @h to its context. The engine lock is held. Returns 0, or EINVAL
 * if the domain or the thread domain that @attr names does not exist in this context.
 */
static int add_parent_domain(struct rnp_context *ctx, struct rnp_pd_handle *h,
			     const struct ibv_parent_domain_init_attr *attr)
{
	const struct rnp_pd_handle *below = rnp_handle_find(ctx, RNP_KIND_PD, attr->pd);

	if (attr->td)
		h->td = rnp_handle_find(ctx, RNP_KIND_TD, attr->td);
	if (!below || (attr->td && !h->td))
		return EINVAL;
	h->pd = below->pd;
	h->base.handle = h->pd->number;
	h->below = attr->pd;
	atomic_fetch_add(&h->pd->held, 1);
	rnp_pd_get(attr->pd);
	if (h->td)
		atomic_fetch_add(&h->td->refs, 1);
	rnp_handle_add(ctx, RNP_KIND_PD, h);
	return 0;
}

struct ibv_pd *rnp_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	int err = check_parent_domain(ctx, attr), cancel;
	struct rnp_pd_handle *h = err ? NULL : rnp_pd_new_handle(context, NULL);

	if (!h) {
		errno = err ? err : ENOMEM;
		return NULL;
	}
	h->kind = RNP_PD_PARENT;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		h->alloc = attr->alloc;
		h->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		h->pd_context = attr->pd_context;
	cancel = rnp_lock_engine(ctx->engine);
	err = add_parent_domain(ctx, h, attr);
	rnp_unlock_engine(ctx->engine, cancel);
	if (!err)
		return &h->base;
	rnp_object_free(RNP_KIND_PD, h);
	errno = err;
	return NULL;
}

/* ---------------------------------------------------------------- buffers for queues */
/* Buffers of at least MAP_MIN bytes are mapped by mmap(), so that only the used pages of
 * a large buffer need memory. Smaller ones are not, since a process may have at most
 * 65530 mappings.
 */
enum {
	MAP_MIN = 256 * 1024,
	PAGE = 4096,
};

static size_t round_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static void *alloc_ours(size_t len, size_t align)
{
	void *addr;

	if (len >= MAP_MIN) {
		addr = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		return addr == MAP_FAILED ? NULL : addr;
	}
	addr = aligned_alloc(align, round_up(len, align));
	return addr ? memset(addr, 0, len) : NULL;
}

/* Allocates the memory of a buffer: by the allocator of the parent domain @pd if it has
 * one, otherwise by the plugin. Does not count it as pinned. Returns 0 or -ENOMEM.
 */
static int alloc_memory(struct rnp_buffer *buf, struct ibv_pd *pd, size_t align)
{
	const struct rnp_pd_handle *h = (const struct rnp_pd_handle *)pd;
	void *addr = IBV_ALLOCATOR_USE_DEFAULT;

	if (h && h->alloc)
		addr = h->alloc(pd, h->pd_context, round_up(buf->len, align), align,
				buf->resource);
	buf->from = pd;
	if (addr == IBV_ALLOCATOR_USE_DEFAULT) {
		buf->from = NULL;
		/* The device uses this memory with each packet. It must not share a page
		 * with memory of the program, because the sanitizer may have revoked
		 * access to such pages.
		 */
		if (rnp_pcie_is_watched(rnp_engine_pcie(buf->engine)))
			align = PAGE;
		addr = alloc_ours(buf->len, align);
	} else if (addr && (uintptr_t)addr % align) {
		h->free(pd, h->pd_context, addr, buf->resource);
		addr = NULL;
	} else if (addr) {
		memset(addr, 0, buf->len); /* the core relies on zeroed memory */
	}
	buf->addr = addr;
	return addr ? 0 : -ENOMEM;
}

int rnp_buffer_alloc(struct rnp_buffer *buf, struct ibv_pd *pd, size_t align)
{
	/* The buffer is assumed to begin at the start of a page, like the buffers
	 * of drivers.
	 */
	const uint64_t pages = rnp_pin_pages(0, buf->len);
	int rc = rnp_engine_pin(buf->engine, pages);

	if (rc)
		return rc;
	buf->pinned = pages;
	rc = alloc_memory(buf, pd, align);
	if (rc)
		rnp_buffer_unpin(buf);
	return rc;
}

void rnp_buffer_free(struct rnp_buffer *buf)
{
	const struct rnp_pd_handle *h = (const struct rnp_pd_handle *)buf->from;

	if (!buf->addr)
		return;
	rnp_buffer_unpin(buf);
	if (h)
		h->free(buf->from, h->pd_context, buf->addr, buf->resource);
	else if (buf->len >= MAP_MIN)
		munmap(buf->addr, buf->len);
	else
		free(buf->addr);
}

/* ----------------------------------------------------------- conversion of addresses */
enum {
	/* Default hop limit of Linux (IPDEFTTL), for programs that set none. */
	HOP_LIMIT_DEFAULT = 64,
	FLOW_LABEL_MASK = 0xfffff,
	SL_MASK = 0xf,
};

static_assert(sizeof(struct rn_gid) == sizeof(union ibv_gid), "GIDs are copied");

static bool is_unspecified(const struct rn_gid *gid)
{
	static const struct rn_gid zero;
	static const struct rn_gid zero_ipv4 = { .raw = { [10] = 0xff, [11] = 0xff } };

	return !memcmp(gid, &zero, sizeof(zero)) ||
	       !memcmp(gid, &zero_ipv4, sizeof(zero_ipv4));
}

/* Returns the hop limit for addresses in which the program sets none. A packet to a
 * multicast group then stays on its link, by the default of Linux
 * (IP_DEFAULT_MULTICAST_TTL).
 */
static uint8_t default_hop_limit(const struct rn_gid *dgid)
{
	return rn_gid_is_multicast(dgid) ? 1 : HOP_LIMIT_DEFAULT;
}

int rnp_av_from_attr(const struct rn_netdev *dev, const struct ibv_ah_attr *attr,
		     struct rn_av *av)
{
	static const struct rn_gid unused;
	const struct rn_gid *sgid;
	struct rn_gid dgid;

	if (!attr->is_global || attr->port_num != 1)
		return -EINVAL;
	if (attr->grh.sgid_index >= RN_GID_MAX)
		return -EINVAL;
	sgid = &dev->gid[attr->grh.sgid_index];
	if (!memcmp(sgid, &unused, sizeof(unused)))
		return -EINVAL;
	memcpy(&dgid, &attr->grh.dgid, sizeof(dgid));
	if (is_unspecified(&dgid) || rn_gid_is_ipv4(sgid) != rn_gid_is_ipv4(&dgid))
		return -EINVAL;

	*av = (struct rn_av){
		.dgid = dgid,
		.flow_label = attr->grh.flow_label & FLOW_LABEL_MASK,
		.sgid_index = attr->grh.sgid_index,
		.hop_limit = attr->grh.hop_limit ? attr->grh.hop_limit
						 : default_hop_limit(&dgid),
		.tclass = attr->grh.traffic_class,
		.sl = attr->sl & SL_MASK,
	};
	return 0;
}

void rnp_av_to_attr(const struct rn_av *av, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){
		.grh.flow_label = av->flow_label,
		.grh.sgid_index = av->sgid_index,
		.grh.hop_limit = av->hop_limit,
		.grh.traffic_class = av->tclass,
		.sl = av->sl,
		.is_global = 1,
		.port_num = 1,
	};
	memcpy(&attr->grh.dgid, &av->dgid, sizeof(av->dgid));
}

/* ------------------------------------------------------------------ address handles */
/* Adds the AH to its context. The engine lock is held. Returns 0 or -errno. */
static int add_ah(struct rnp_context *ctx, struct rnp_ah *ah, struct ibv_pd *pd,
		  const struct ibv_ah_attr *attr)
{
	int rc = rnp_pd_find(ctx, pd) ? 0 : -EINVAL;

	if (!rc)
		rc = rnp_av_from_attr(rnp_engine_netdev(ctx->engine), attr, &ah->av);
	if (!rc)
		rc = rnp_hca_add(ctx->hca, RNP_HCA_AH);
	if (rc)
		return rc;
	rnp_pd_get(pd);
	ah->pd = pd;
	ah->base.handle = ++ctx->last_ah;
	LIST_INSERT_HEAD(&ctx->ahs, ah, link);
	rnp_handle_add(ctx, RNP_KIND_AH, ah);
	return 0;
}

struct ibv_ah *rnp_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	struct rnp_ah *ah;
	int cancel, rc;

	if (rnp_is_fork_child(ctx)) {
		errno = EIO;
		return NULL;
	}
	ah = rnp_object_new(RNP_KIND_AH, NULL);
	if (!ah)
		return NULL;
	cancel = rnp_lock_engine(ctx->engine);
	rc = add_ah(ctx, ah, pd, attr);
	rnp_unlock_engine(ctx->engine, cancel);
	if (!rc)
		return &ah->base;
	rnp_object_free(RNP_KIND_AH, ah);
	errno = -rc;
	return NULL;
}

void rnp_ah_detach(struct rnp_context *ctx, struct rnp_ah *ah)
{
	rnp_hca_remove(ctx->hca, RNP_HCA_AH);
	LIST_REMOVE(ah, link);
}

int rnp_destroy_ah(struct ibv_ah *base)
{
	/* The protection domain that a destroyed AH gets. No queue pair has it, so posts
	 * with a destroyed AH are refused.
	 */
	static struct rnp_pd_handle none;
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_ah *ah = rnp_handle_find(ctx, RNP_KIND_AH, base);

	if (ah) {
		ah->base.pd = &none.base;
		rnp_handle_remove(ctx, RNP_KIND_AH, ah);
		if (lock != RNP_NO_LOCK)
			rnp_ah_detach(ctx, ah);
	}
	rnp_unlock_destroyed(ctx, lock);
	if (!ah)
		return ENOENT;
	rnp_pd_put(ah->pd);
	rnp_object_free(RNP_KIND_AH, ah);
	return 0;
}
