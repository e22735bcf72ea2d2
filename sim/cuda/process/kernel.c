/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel.c - C functions under the names of kernels (rocin/cuda.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

enum {
	PARAMS_MAX = 256,
	BYTES_MAX = 4096,
};

/* The kernels have a lock of their own, since programs register them before cuInit(). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rn_list kernels = { &kernels, &kernels };

/* Returns the place of a parameter of @size bytes behind @at bytes of others. */
static size_t aligned(size_t at, size_t size)
{
	size_t to = size & -size; /* the largest power of two in the size */

	if (to > 16)
		to = 16;
	return (at + to - 1) & ~(to - 1);
}

size_t rn_cu_kernel_offset(const struct rn_cu_kernel *k, unsigned param)
{
	size_t at = 0;

	for (unsigned i = 0; i < param; i++)
		at = aligned(at, k->sizes[i]) + k->sizes[i];
	return param < k->count ? aligned(at, k->sizes[param]) : at;
}

static struct rn_cu_kernel *find(const char *name)
{
	struct rn_list *at;

	rn_list_for_each (at, &kernels) {
		struct rn_cu_kernel *k = RN_CONTAINER_OF(at, struct rn_cu_kernel, link);

		if (strcmp(k->name, name) == 0)
			return k;
	}
	return NULL;
}

struct rn_cu_kernel *rn_cu_kernel_find(const char *name)
{
	struct rn_cu_kernel *k;

	pthread_mutex_lock(&lock);
	k = find(name);
	if (k && !k->fn)
		k = NULL;
	pthread_mutex_unlock(&lock);
	return k;
}

static bool are_sizes(const size_t *sizes, unsigned count)
{
	size_t sum = 0;

	if (count > PARAMS_MAX || (count && !sizes))
		return false;
	for (unsigned i = 0; i < count; i++) {
		if (!sizes[i] || sizes[i] > BYTES_MAX)
			return false;
		sum = aligned(sum, sizes[i]) + sizes[i];
	}
	return sum <= BYTES_MAX;
}

static struct rn_cu_kernel *new_kernel(const char *name, const size_t *sizes,
				       unsigned count)
{
	struct rn_cu_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->name = strdup(name);
	k->sizes = calloc(count + 1, sizeof(size_t));
	if (!k->name || !k->sizes) {
		free(k->name);
		free(k->sizes);
		free(k);
		return NULL;
	}
	for (unsigned i = 0; i < count; i++)
		k->sizes[i] = sizes[i];
	k->count = count;
	k->bytes = rn_cu_kernel_offset(k, count);
	return k;
}

/* Takes the name from the kernel that has it. Handles to that kernel remain. */
static void forget(const char *name)
{
	struct rn_cu_kernel *k = find(name);

	if (k) {
		rn_list_remove(&k->link);
		rn_list_init(&k->link);
	}
}

int rn_cuda_register_kernel(const char *name, rn_cuda_kernel_fn *fn, const size_t *sizes,
			    unsigned count)
{
	struct rn_cu_kernel *k = NULL;

	if (!name || !*name || (fn && !are_sizes(sizes, count)))
		return -EINVAL;
	if (fn) {
		k = new_kernel(name, sizes, count);
		if (!k)
			return -ENOMEM;
		k->fn = fn;
	}
	pthread_mutex_lock(&lock);
	forget(name);
	if (k) {
		rn_list_init(&k->link);
		rn_list_push_front(&kernels, &k->link);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}
