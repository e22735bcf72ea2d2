/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pd.h - protection domains, the buffers that a program may allocate itself, and
 * addresses.
 */
#ifndef RNP_PD_H
#define RNP_PD_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "handle.h"
#include "provider/engine/engine.h"
#include "rocin/stats.h"
#include "rocin/work_request.h"

struct rn_netdev;
struct rnp_context;

/* ----------------------------------------------------------------- protection domains */
/* A protection domain of the device is a number (struct rnp_pd). The program has a handle
 * on it: the one that ibv_alloc_pd() returned, a parent domain, or an import. Objects are
 * created with a handle and belong to its domain.
 *
 * A CQ or a QP that is created with a parent domain that has a thread domain takes no
 * lock of its own (provider/engine/lock/use_lock.h). It still shares the engine lock with
 * other threads.
 */

/* A protection domain of the device. */
struct rnp_pd {
	uint32_t number;
	/* number of objects in the domain, which cannot be deallocated while there
	 * are any
	 */
	atomic_uint refs;
	/* number of handles, plus one until the domain is deallocated */
	atomic_uint held;
	/* Record of the domain in the statistics page; NULL: none. It is set before the
	 * domain has handles, and cleared when the domain is deallocated.
	 */
	struct rn_stats_object *record;
	/* engine of the record; valid while there is a record */
	struct rnp_engine *engine;
	/* the domain was deallocated; guarded by the engine lock */
	bool gone;
	/* entry in rnp_context.pds; guarded by the engine lock */
	LIST_ENTRY(rnp_pd) link;
};

enum rnp_pd_kind {
	RNP_PD_PLAIN, /* handle of ibv_alloc_pd(), or an imported one */
	RNP_PD_PARENT,
};

/* A handle that the program has on a protection domain. Several handles may be on one
 * domain. Only @refs changes.
 */
struct rnp_pd_handle {
	struct ibv_pd base;
	struct rnp_handle handle;
	struct rnp_pd *pd;
	enum rnp_pd_kind kind;
	/* Number of references: one of the handle itself, and one for each object that
	 * was created with it.
	 */
	atomic_uint refs;

	/* The next members are used by parent domains only. */
	/* handle of the domain that the parent domain was created with */
	struct ibv_pd *below;
	struct rnp_td *td; /* thread domain of the parent domain, or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type); /* NULL: the default allocator */
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
};

struct rnp_td {
	struct ibv_td base;
	struct rnp_handle handle;
	atomic_uint refs; /* number of parent domains that use the thread domain */
};

/* Returns the domain of a handle of any kind. */
static inline struct rnp_pd *to_rnp_pd(struct ibv_pd *pd)
{
	return ((struct rnp_pd_handle *)pd)->pd;
}

static inline bool rnp_pd_is_parent(struct ibv_pd *pd)
{
	return ((struct rnp_pd_handle *)pd)->kind == RNP_PD_PARENT;
}

/* Has the program promised that only one thread at a time uses what is created with this
 * handle? It has if the handle is a parent domain with a thread domain.
 */
static inline bool rnp_pd_has_td(struct ibv_pd *pd)
{
	const struct rnp_pd_handle *h = (struct rnp_pd_handle *)pd;

	return h->kind == RNP_PD_PARENT && h->td;
}

/* Purpose of a buffer: the argument @resource_type of the program's allocator. The upper
 * half of that argument is the number of the kernel driver, and Rocin has none.
 */
enum rnp_resource {
	RNP_RESOURCE_QP = 1, /* for both queues of a QP */
	RNP_RESOURCE_CQ = 2, /* for the ring of a CQ */
	RNP_RESOURCE_SRQ = 3,
	RNP_RESOURCE_WQ = 4,
};

/* A buffer that the program's own allocator may provide. */
struct rnp_buffer {
	void *addr;
	size_t len;
	/* parent domain whose allocator has allocated the memory; NULL: the plugin has */
	struct ibv_pd *from;
	enum rnp_resource resource;
	/* engine of the device whose driver would pin the memory */
	struct rnp_engine *engine;
	uint64_t pinned; /* number of the buffer's pages that count as pinned */
};

/* ------------------------------------------------------------------ address handles */
struct rnp_ah {
	struct ibv_ah base;
	struct rnp_handle handle;
	LIST_ENTRY(rnp_ah) link; /* guarded by the engine lock */
	struct ibv_pd *pd;	 /* copy of base.pd, which the program might change */
	struct rn_av av;
};

static inline struct rnp_ah *to_rnp_ah(struct ibv_ah *ah)
{
	return (struct rnp_ah *)ah;
}

/* -------------------------------------- functions for domains, buffers and addresses */
/* rnp_pd_get() counts one more object that was created with the handle, both in the
 * handle and in its domain; rnp_pd_put() counts one less. A handle that was unimported
 * meanwhile is freed with its last object.
 */
void rnp_pd_get(struct ibv_pd *pd);
void rnp_pd_put(struct ibv_pd *pd);

/* Returns the domain of the handle @pd, which the program has passed; NULL if this
 * context has no such handle. The engine lock is held.
 */
const struct rnp_pd *rnp_pd_find(const struct rnp_context *ctx, const struct ibv_pd *pd);

/* Creates a handle on @pd. The caller counts it in @pd->held and adds it to its context.
 * Returns NULL if there is not enough memory.
 */
struct rnp_pd_handle *rnp_pd_new_handle(struct ibv_context *context, struct rnp_pd *pd);

/* Removes a domain from the device: no handle can be used any more. The engine lock is
 * held.
 */
void rnp_pd_detach(struct rnp_context *ctx, struct rnp_pd *pd);

/**
 * rnp_buffer_alloc() - Allocate memory for an object
 * @buf:	Out; the caller has zeroed it and set @resource, @len and @engine
 * @pd:		Handle that the object is created with, or NULL
 * @align:	Bytes, a power of two, at least 8
 *
 * Uses the allocator of @pd, if it is a parent domain that has one. The caller does not
 * hold the engine lock, because the allocator may call verbs. The memory is zeroed. It
 * counts as pinned, like the queues of every driver that has them in memory of the
 * program.
 *
 * Return: 0, -ENOMEM, or an error of rnp_engine_pin().
 */
int rnp_buffer_alloc(struct rnp_buffer *buf, struct ibv_pd *pd, size_t align);

/* Frees the buffer of an object. The caller must do so before it calls rnp_pd_put() for
 * the object, and does not hold the engine lock. Does nothing if no memory was allocated.
 */
void rnp_buffer_free(struct rnp_buffer *buf);

/* Ends the counting of the memory as pinned, because no device uses it any more. */
static inline void rnp_buffer_unpin(struct rnp_buffer *buf)
{
	if (buf->pinned)
		rnp_engine_unpin(buf->engine, buf->pinned);
	buf->pinned = 0;
}

/**
 * rnp_av_from_attr() - Check and convert an address
 * @dev:	Device whose GID table @attr refers to
 * @av:		Out; untouched on failure
 *
 * Return: 0; -EINVAL: no GRH (RoCE has no other address), port not 1, an unused entry of
 *	   the GID table, an unspecified destination, addresses of different families.
 *	   A multicast destination is right for UD only.
 */
int rnp_av_from_attr(const struct rn_netdev *dev, const struct ibv_ah_attr *attr,
		     struct rn_av *av);

void rnp_av_to_attr(const struct rn_av *av, struct ibv_ah_attr *attr);

struct ibv_pd *rnp_alloc_pd(struct ibv_context *context);
int rnp_dealloc_pd(struct ibv_pd *base);
void rnp_unimport_pd(struct ibv_pd *base);
struct ibv_td *rnp_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int rnp_dealloc_td(struct ibv_td *base);
struct ibv_pd *rnp_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr);

struct ibv_ah *rnp_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int rnp_destroy_ah(struct ibv_ah *base);
void rnp_ah_detach(struct rnp_context *ctx, struct rnp_ah *ah);

#endif /* RNP_PD_H */
