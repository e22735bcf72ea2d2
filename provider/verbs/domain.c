/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* domain.c - parent domains with the program's allocators, and thread domains. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "provider.h"

/* Buffers from this size on are mapped, so that a large one costs only what is used of
 * it; smaller ones are not, since a process may have no more than 65530 mappings.
 */
enum {
	MAP_MIN = 256 * 1024
};

/* ------------------------------------------------------------------ thread domains */
struct ibv_td *rnp_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct rnp_td *td;
	int err = rnp_is_copy(to_rnp_context(context)) ? EIO : 0;

	if (!err && attr->comp_mask)
		err = EINVAL;
	if (err) {
		errno = err;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->base.context = context;
	return &td->base;
}

int rnp_dealloc_td(struct ibv_td *base)
{
	struct rnp_td *td = (struct rnp_td *)base;

	if (atomic_load(&td->refs))
		return EBUSY;
	free(td);
	return 0;
}

/* ------------------------------------------------------------------ parent domains */
static int check(const struct ibv_context *context,
		 const struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

	if (attr->comp_mask & ~known || !attr->pd || attr->pd->context != context)
		return EINVAL;
	if (attr->td && attr->td->context != context)
		return EINVAL;
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) &&
	    (!attr->alloc || !attr->free))
		return EINVAL;
	return 0;
}

struct ibv_pd *rnp_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr)
{
	int err = rnp_is_copy(to_rnp_context(context)) ? EIO : check(context, attr);
	struct rnp_pd_handle *h;

	if (err) {
		errno = err;
		return NULL;
	}
	h = rnp_pd_new_handle(context, to_rnp_pd(attr->pd));
	if (!h)
		return NULL;
	atomic_fetch_add(&h->pd->held, 1);
	rnp_pd_get(attr->pd);
	h->kind = RNP_PD_PARENT;
	h->below = attr->pd;
	h->td = (struct rnp_td *)attr->td;
	if (h->td)
		atomic_fetch_add(&h->td->refs, 1);
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		h->alloc = attr->alloc;
		h->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		h->pd_context = attr->pd_context;
	return &h->base;
}

int rnp_dealloc_parent_domain(struct ibv_pd *base)
{
	struct rnp_pd_handle *h = (struct rnp_pd_handle *)base;
	struct ibv_pd *below = h->below;

	if (atomic_load(&h->refs) > 1 && !rnp_is_copy(to_rnp_context(base->context)))
		return EBUSY;
	if (h->td)
		atomic_fetch_sub(&h->td->refs, 1);
	atomic_fetch_sub(&h->pd->held, 1); /* not the last: @below is one more */
	free(h);
	rnp_pd_put(below);
	return 0;
}

/* ------------------------------------------------------------------------- buffers */
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

int rnp_buffer_alloc(struct rnp_buffer *buf, struct ibv_pd *pd, size_t align)
{
	const struct rnp_pd_handle *h = (const struct rnp_pd_handle *)pd;
	void *addr = IBV_ALLOCATOR_USE_DEFAULT;

	if (h && h->alloc)
		addr = h->alloc(pd, h->pd_context, round_up(buf->len, align), align,
				buf->resource);
	buf->from = pd;
	if (addr == IBV_ALLOCATOR_USE_DEFAULT) {
		buf->from = NULL;
		addr = alloc_ours(buf->len, align);
	} else if (addr && (uintptr_t)addr % align) {
		h->free(pd, h->pd_context, addr, buf->resource);
		addr = NULL;
	} else if (addr) {
		memset(addr, 0, buf->len); /* it should be; the core relies on it */
	}
	buf->addr = addr;
	return addr ? 0 : -ENOMEM;
}

void rnp_buffer_free(struct rnp_buffer *buf)
{
	const struct rnp_pd_handle *h = (const struct rnp_pd_handle *)buf->from;

	if (!buf->addr)
		return;
	if (h)
		h->free(buf->from, h->pd_context, buf->addr, buf->resource);
	else if (buf->len >= MAP_MIN)
		munmap(buf->addr, buf->len);
	else
		free(buf->addr);
}
