/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* real.c - memory of real GPUs behind the hierarchy: a registered range is memory of the
 * simulated GPU of the same number as the real one has, so that TLPs to it take the way
 * to that GPU and obey its knobs. What the CPU or a kernel does to the memory crosses the
 * real bus, and the model does not see it.
 */
#include <errno.h>
#include <stdlib.h>

#include "gpu_internal.h"
#include "transport/io/cuda/cuda.h"

/* Registered ranges; guarded by the host lock. */
static struct rn_host_region *ranges;

/* Returns the simulated GPU that stands for a real one, or NULL. */
static struct rn_gpu *stand_for(unsigned number)
{
	return rn_gpu_open((int)(number % (unsigned)rn_gpu_count()));
}

static int link_range(struct rn_gpu *gpu, rn_iova alias, uint64_t len)
{
	struct rn_host_region *r = calloc(1, sizeof(*r));
	bool is_open;

	if (!r)
		return -ENOMEM;
	*r = (struct rn_host_region){ .addr = alias,
				      .len = len,
				      .target = rn_gpu_agent(gpu) };
	rn_host_lock(gpu->host);
	is_open = rn_host_open_real(gpu->host);
	if (is_open) {
		rn_host_region_link(gpu->host, r);
		r->next = ranges;
		ranges = r;
	}
	rn_host_unlock(gpu->host);
	if (!is_open)
		free(r);
	return is_open ? 1 : -ENOMEM;
}

int rn_gpu_real_add(rn_iova addr, uint64_t len, rn_iova *alias)
{
	struct rn_gpu *gpu;
	int rc;

	if (rn_gpu_is_forked())
		return 0;
	rc = rn_cuda_region_add(addr, len, alias);
	if (rc <= 0)
		return rc;
	gpu = stand_for(rn_cuda_device(*alias));
	rc = gpu ? link_range(gpu, *alias, len) : -ENODEV;
	if (rc < 0)
		rn_cuda_region_remove(*alias);
	return rc;
}

void rn_gpu_real_remove(rn_iova alias)
{
	struct rn_host *h = rn_host_get();
	struct rn_host_region **at = &ranges, *r;

	if (!h || rn_gpu_is_forked())
		return;
	rn_host_lock(h);
	while (*at && (*at)->addr != alias)
		at = &(*at)->next;
	r = *at;
	assert(r);
	rn_host_force_region(h, r);
	rn_host_region_unlink(h, r);
	*at = r->next;
	rn_host_unlock(h);
	rn_cuda_region_remove(alias);
	free(r);
}
