/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gdr.c - the stand-in of GDRCopy.
 *
 * The memory of a simulated GPU is in its BAR already, so that a mapping is the memory's
 * own address. Copies are loads and stores of the CPU from and to the BAR: a load waits
 * for its completion, and a store is a posted write, which work that the GPU began before
 * may see late.
 */
#include "sim/cuda/api/gdr.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/gpu.h"
#include "transport/container/list.h"

enum {
	PAGE = 4096,
};

struct gdr {
	struct rn_list link; /* in the list of all */
	struct rn_list pins;
};

struct pin {
	struct rn_list link;
	struct gdr *owner;
	/* Whole pages that have what was pinned. */
	uintptr_t base;
	size_t len;
	bool is_mapped;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rn_list all = { &all, &all };

/* -------------------------------------------------- handles; the lock is held */
static bool is_open(gdr_t g)
{
	struct rn_list *at;

	rn_list_for_each (at, &all)
		if (RN_CONTAINER_OF(at, struct gdr, link) == g)
			return true;
	return false;
}

/* Returns the pinned memory of a handle; of @g, or of anyone if that is NULL. */
static struct pin *pin_of(gdr_t g, gdr_mh_t handle)
{
	struct rn_list *one, *at;

	rn_list_for_each (one, &all) {
		struct gdr *owner = RN_CONTAINER_OF(one, struct gdr, link);

		if (g && owner != g)
			continue;
		rn_list_for_each (at, &owner->pins) {
			struct pin *p = RN_CONTAINER_OF(at, struct pin, link);

			if ((uintptr_t)p == handle.h)
				return p;
		}
	}
	return NULL;
}

/* ------------------------------------------------------- opening and pinning */
gdr_t gdr_open(void)
{
	gdr_t g = rn_gpu_open(0) ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	rn_list_init(&g->link);
	rn_list_init(&g->pins);
	pthread_mutex_lock(&lock);
	rn_list_push_back(&all, &g->link);
	pthread_mutex_unlock(&lock);
	return g;
}

int gdr_close(gdr_t g)
{
	struct rn_list *at, *next;
	int rc = EINVAL;

	pthread_mutex_lock(&lock);
	if (is_open(g)) {
		rn_list_for_each_safe (at, next, &g->pins)
			free(RN_CONTAINER_OF(at, struct pin, link));
		rn_list_remove(&g->link);
		free(g);
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static struct pin *make_pin(unsigned long addr, size_t size)
{
	struct rn_gpu_where where = { 0 };
	struct pin *p;
	uintptr_t end;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the interface has numbers */
	if (!size || rn_gpu_find((void *)addr, &where) || !where.by_bar ||
	    size > where.buffer.len - where.offset)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	rn_list_init(&p->link);
	end = (addr + size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	p->base = addr & ~(uintptr_t)(PAGE - 1);
	p->len = end - p->base;
	return p;
}

int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags,
		      gdr_mh_t *handle)
{
	struct pin *p;
	int rc = EINVAL;

	(void)flags;
	if (!handle)
		return EINVAL;
	pthread_mutex_lock(&lock);
	p = is_open(g) ? make_pin(addr, size) : NULL;
	if (p) {
		p->owner = g;
		rn_list_push_back(&g->pins, &p->link);
		handle->h = (uintptr_t)p;
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token,
		   uint32_t va_space, gdr_mh_t *handle)
{
	(void)p2p_token;
	(void)va_space;
	return gdr_pin_buffer_v2(g, addr, size, 0, handle);
}

int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle)
{
	struct pin *p;

	pthread_mutex_lock(&lock);
	p = is_open(g) ? pin_of(g, handle) : NULL;
	if (p) {
		rn_list_remove(&p->link);
		free(p);
	}
	pthread_mutex_unlock(&lock);
	return p ? 0 : EINVAL;
}

/* Tells whether the memory was freed since. */
int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int *flag)
{
	const struct pin *p;
	int rc = EINVAL;

	pthread_mutex_lock(&lock);
	p = is_open(g) ? pin_of(g, handle) : NULL;
	if (p && flag) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers */
		*flag = rn_gpu_find((void *)p->base, NULL) != 0;
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int gdr_get_info_v2(gdr_t g, gdr_mh_t handle, gdr_info_v2_t *info)
{
	const struct pin *p;
	int rc = EINVAL;

	pthread_mutex_lock(&lock);
	p = is_open(g) ? pin_of(g, handle) : NULL;
	if (p && info) {
		*info = (gdr_info_v2_t){ .va = p->base,
					 .mapped_size = p->len,
					 .page_size = PAGE,
					 .mapped = p->is_mapped,
					 .wc_mapping = p->is_mapped,
					 .mapping_type = p->is_mapped };
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* ---------------------------------------------------------------- mappings */
int gdr_map(gdr_t g, gdr_mh_t handle, void **va, size_t size)
{
	struct pin *p;
	int rc = EINVAL;

	pthread_mutex_lock(&lock);
	p = is_open(g) ? pin_of(g, handle) : NULL;
	if (p && va && p->is_mapped) {
		rc = EAGAIN;
	} else if (p && va && size && size <= p->len) {
		p->is_mapped = true;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers */
		*va = (void *)p->base;
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int gdr_unmap(gdr_t g, gdr_mh_t handle, void *va, size_t size)
{
	struct pin *p;
	int rc = EINVAL;

	(void)size;
	pthread_mutex_lock(&lock);
	p = is_open(g) ? pin_of(g, handle) : NULL;
	if (p && p->is_mapped && (uintptr_t)va == p->base) {
		p->is_mapped = false;
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Returns true if the range is in the mapping of the handle. */
static bool is_in_mapping(gdr_mh_t handle, const void *at, size_t size)
{
	const struct pin *p;
	bool yes;

	pthread_mutex_lock(&lock);
	p = pin_of(NULL, handle);
	yes = p && p->is_mapped && (uintptr_t)at >= p->base && size <= p->len &&
	      (uintptr_t)at - p->base <= p->len - size;
	pthread_mutex_unlock(&lock);
	return yes;
}

/* Returns the largest access at this address: 8 bytes if it is aligned to that. */
static unsigned access_at(uintptr_t at, size_t left)
{
	unsigned size = 8;

	while (at % size || size > left)
		size /= 2;
	return size;
}

int gdr_copy_to_mapping(gdr_mh_t handle, void *map_d_ptr, const void *h_ptr, size_t size)
{
	char *to = map_d_ptr;
	const char *from = h_ptr;

	if (!h_ptr || !is_in_mapping(handle, map_d_ptr, size))
		return EINVAL;
	while (size) {
		unsigned n = access_at((uintptr_t)to, size);
		uint64_t word = 0;

		memcpy(&word, from, n);
		rn_gpu_bar_store(to, word, n);
		to += n;
		from += n;
		size -= n;
	}
	return 0;
}

int gdr_copy_from_mapping(gdr_mh_t handle, void *h_ptr, const void *map_d_ptr,
			  size_t size)
{
	const char *from = map_d_ptr;
	char *to = h_ptr;

	if (!h_ptr || !is_in_mapping(handle, map_d_ptr, size))
		return EINVAL;
	while (size) {
		unsigned n = access_at((uintptr_t)from, size);
		uint64_t word = rn_gpu_bar_load(from, n);

		memcpy(to, &word, n);
		to += n;
		from += n;
		size -= n;
	}
	return 0;
}

/* ------------------------------------------------------------ versions */
void gdr_runtime_get_version(int *major, int *minor)
{
	*major = 2;
	*minor = 5;
}

int gdr_driver_get_version(gdr_t g, int *major, int *minor)
{
	(void)g;
	gdr_runtime_get_version(major, minor);
	return 0;
}

int gdr_get_attribute(gdr_t g, int attr, int *value)
{
	enum {
		USE_PERSISTENT_MAPPING = 1,
	};

	(void)g;
	if (!value || attr != USE_PERSISTENT_MAPPING)
		return EINVAL;
	*value = 1;
	return 0;
}
