/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pd.h - protection domains, parent domains, thread domains; addresses.
 *
 * A protection domain of the device is a number (struct rnp_pd). What the program holds
 * is a handle on it: the one that ibv_alloc_pd() gave, a parent domain, or an import.
 * Objects are made on a handle and belong to the domain behind it.
 *
 * A thread domain is a promise that nobody needs here: an object without its own lock
 * would still meet the other threads at the engine's. All objects stay safe for any
 * thread.
 */
#ifndef RNP_PD_H
#define RNP_PD_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct rn_av;
struct rn_netdev;
struct rnp_context;
struct rnp_td;

/* What shares this number may work together. */
struct rnp_pd {
	uint32_t number;
	atomic_uint refs;	 /* objects in it; a PD in use cannot go */
	atomic_uint held;	 /* handles, and one for the device while it is there */
	bool gone;		 /* deallocated through another handle; engine lock */
	LIST_ENTRY(rnp_pd) link; /* rnp_context.pds; engine lock */
};

enum rnp_pd_kind {
	RNP_PD_PLAIN, /* allocated or imported */
	RNP_PD_PARENT,
};

/* What the program holds. Constant but for @refs. */
struct rnp_pd_handle {
	struct ibv_pd base;
	struct rnp_pd *pd;
	enum rnp_pd_kind kind;
	atomic_uint refs; /* one of its own, and one of each object made on it */

	/* Of a parent domain. */
	struct ibv_pd *below; /* handle that it was made on */
	struct rnp_td *td;    /* or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type); /* NULL: ours */
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
};

struct rnp_td {
	struct ibv_td base;
	atomic_uint refs; /* parent domains */
};

/* The domain behind a handle of any kind. */
static inline struct rnp_pd *to_rnp_pd(struct ibv_pd *pd)
{
	return ((struct rnp_pd_handle *)pd)->pd;
}

static inline bool rnp_pd_is_parent(struct ibv_pd *pd)
{
	return ((struct rnp_pd_handle *)pd)->kind == RNP_PD_PARENT;
}

/* Count one more object on this handle and in its domain, or one less. A handle that was
 * unimported meanwhile is freed with its last object.
 */
void rnp_pd_get(struct ibv_pd *pd);
void rnp_pd_put(struct ibv_pd *pd);

/* A handle on @pd, which has been counted in @pd->held; NULL if memory is short. */
struct rnp_pd_handle *rnp_pd_new_handle(struct ibv_context *context, struct rnp_pd *pd);

/* Out of the device: no handle opens it any more; engine lock held. */
void rnp_pd_detach(struct rnp_context *ctx, struct rnp_pd *pd);

/* ------------------------------------------------------------- memory of the program */
/* What a buffer is for: @resource_type of the program's allocator. The upper half of it
 * is the number of the kernel driver, and we have none.
 */
enum rnp_resource {
	RNP_RESOURCE_QP = 1, /* both queues of a QP */
	RNP_RESOURCE_CQ = 2, /* CQEs */
	RNP_RESOURCE_SRQ = 3,
	RNP_RESOURCE_WQ = 4,
};

/* A buffer that the program may want to allocate. */
struct rnp_buffer {
	void *addr;
	size_t len;
	struct ibv_pd *from; /* parent domain whose free() gets it, or NULL: ours */
	enum rnp_resource resource;
};

/**
 * rnp_buffer_alloc() - Memory for an object
 * @buf:	Out; @buf->resource and @buf->len are filled in by the caller
 * @pd:		What the object is made on, or NULL
 * @align:	Bytes, a power of two, at least 8
 *
 * Asks the allocator of @pd, if it is a parent domain that has one. Lock not held: the
 * allocator may call verbs. The memory is zeroed.
 *
 * Return: 0 or -ENOMEM.
 */
int rnp_buffer_alloc(struct rnp_buffer *buf, struct ibv_pd *pd, size_t align);

/* Before rnp_pd_put() of the object. Lock not held. Harmless without memory. */
void rnp_buffer_free(struct rnp_buffer *buf);

/* ------------------------------------------------------------------------- addresses */

/**
 * rnp_av_from_attr() - Judge and convert an address
 * @dev:	Whose GID table @attr refers to
 * @av:		Out; untouched on failure
 *
 * Return: 0; -EINVAL: no GRH (RoCE has no other address), port not 1, an unused entry of
 *	   the GID table, an unspecified destination, addresses of different families.
 *	   A multicast destination is right for UD only.
 */
int rnp_av_from_attr(const struct rn_netdev *dev, const struct ibv_ah_attr *attr,
		     struct rn_av *av);

void rnp_av_to_attr(const struct rn_av *av, struct ibv_ah_attr *attr);

#endif /* RNP_PD_H */
