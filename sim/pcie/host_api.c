/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_api.c - the functions that librocin-gpu.so offers to the plugin; see
 * rocin/host_api.h.
 */
#include <errno.h>
#include <stdio.h>

#include "rocin/mr.h"
#include "sim/pcie/gpu/gpu_internal.h"
#include "sim/pcie/host/host_internal.h"
#include "sim/pcie/sanitizer/sanitize.h"
#include "transport/io/cuda/cuda.h"
#include "transport/io/host/log.h"
#include "transport/io/memory/mem_guard.h"

/* Returns true if the simulation with these knobs changes nothing: memory is written as
 * by memcpy(), and the device has the same capabilities as without the simulation.
 */
static bool is_strict(const struct rn_pcie_knobs *k)
{
	struct rn_pcie_knobs strict;

	rn_pcie_preset(&strict, RN_PCIE_STRICT);
	return k->place == RN_PLACE_NOW && k->p2p != RN_P2P_DENY &&
	       k->atomic == strict.atomic;
}

static const struct rn_pcie_knobs *api_knobs(void)
{
	struct rn_host *h = rn_host_is_forked() ? NULL : rn_host_get();

	return h && !is_strict(rn_host_knobs(h)) ? rn_host_knobs(h) : NULL;
}

/* What watches pages of the program may meet a fault inside the CUDA driver, which holds
 * locks of its own then, so that no copy could be asked for.
 */
static int api_real_add(rn_iova addr, uint64_t len, rn_iova *alias)
{
	int rc = rn_gpu_real_add(addr, len, alias);

	if (rc <= 0 || !rn_sanitize_is_on())
		return rc;
	rn_gpu_real_remove(*alias);
	rn_log(RN_LOG_ERROR,
	       "memory of a real GPU cannot be registered with --sanitize, or with "
	       "hold=event, which --pcie=adversarial means: say "
	       "--pcie=adversarial,hold=1ms");
	return -EOPNOTSUPP;
}

static int api_region_add(struct rn_host_nic *nic, uint32_t key, rn_iova addr,
			  uint64_t len, uint32_t access)
{
	/* The program may have installed a SIGSEGV handler since the last call. This puts
	 * the library's handler in front of it again.
	 */
	(void)rn_guard_install();
	if (rn_cuda_is_alias(addr))
		return 1;
	int rc = rn_gpu_region_add(nic, key, addr, len, access);

	/* The program may change the pages of an on-demand region at any time, so the
	 * sanitizer cannot watch it.
	 */
	if (rc == 0 && access & RN_ACCESS_LOCAL_WRITE && !(access & RN_ACCESS_ON_DEMAND))
		rn_sanitize_region_add(nic, key, addr, len);
	return rc;
}

static void api_region_remove(struct rn_host_nic *nic, uint32_t key)
{
	rn_gpu_region_remove(nic, key);
	rn_host_forget_translations(nic);
	rn_sanitize_region_remove(nic, key);
}

/* clang-format off */
#define ALWAYS \
	.version = RN_HOST_API_VERSION, \
	.knobs = api_knobs, \
	.attach = rn_host_attach, \
	.detach = rn_host_detach, \
	.mem = &rn_host_nic_ops, \
	.collect = rn_host_collect, \
	.polled_empty = rn_host_polled_empty, \
	.settle_ring = rn_host_settle_ring, \
	.settle_acked = rn_host_settle_acked, \
	.drain = rn_host_drain, \
	.dmabuf = rn_gpu_dmabuf_find, \
	.real_add = api_real_add, \
	.real_remove = rn_gpu_real_remove, \
	.region_add = api_region_add, \
	.dm_add = rn_host_dm_add, \
	.dm_remove = rn_host_dm_remove, \
	.dm_write = rn_host_dm_write, \
	.dm_read = rn_host_dm_read, \
	.doorbell = rn_host_doorbell, \
	.ring = rn_host_ring, \
	.region_remove = api_region_remove
/* clang-format on */

static const struct rn_host_api api = { ALWAYS };
static const struct rn_host_api watched = {
	ALWAYS,
	.posted = rn_sanitize_posted,
	.polled = rn_sanitize_polled,
};

rn_host_api_fn rn_host_api __attribute__((visibility("default")));

const struct rn_host_api *rn_host_api(uint32_t version, char *err, size_t err_len)
{
	struct rn_host *h;

	if (version != RN_HOST_API_VERSION) {
		snprintf(err, err_len,
			 RN_HOST_LIBRARY " speaks version %d of its interface, not %u",
			 RN_HOST_API_VERSION, version);
		return NULL;
	}
	h = rn_host_make(err, err_len);
	if (!h)
		return NULL;
	if (rn_sanitize_is_on() && rn_host_reads_for_itself(h)) {
		snprintf(err, err_len,
			 "the sanitizer contradicts nic.wqe and mtt.cache: what a NIC "
			 "reads "
			 "for itself pushes data, on which no program may rely");
		return NULL;
	}
	return rn_sanitize_is_on() ? &watched : &api;
}
