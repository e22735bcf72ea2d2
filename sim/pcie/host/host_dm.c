/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_dm.c - memory on a NIC (ibv_alloc_dm). The NIC accesses this memory without TLPs;
 * the CPU accesses it by MMIO, in pieces of up to 64 bytes, the size of a write-combining
 * buffer or a wide load.
 */
#include <errno.h>
#include <stdlib.h>

#include "host_internal.h"
#include "transport/io/memory/mem_guard.h"

enum {
	LINE = 64,
};

/* ------------------------------------------------------- regions of a NIC */
int rn_host_dm_add(struct rn_host_nic *nic, rn_iova addr, uint64_t len)
{
	struct rn_host_region *r = malloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct rn_host_region){ .addr = addr,
				      .len = len,
				      .target = rn_nic_agent(nic) };
	rn_host_lock(nic->host);
	rn_host_region_link(nic->host, r);
	rn_host_unlock(nic->host);
	return 0;
}

void rn_host_dm_remove(struct rn_host_nic *nic, rn_iova addr)
{
	struct rn_host *h = nic->host;
	struct rn_host_region *r;

	rn_host_lock(h);
	r = (struct rn_host_region *)rn_host_region_of(h, addr);
	assert(r && r->addr == addr && r->target == rn_nic_agent(nic));
	rn_host_force_region(h, r);
	rn_host_region_unlink(h, r);
	rn_host_unlock(h);
	free(r);
}

/* -------------------------------------- copies by the CPU to and from a NIC */
static void write_performed(void *arg, const struct rn_tlp *tlp,
			    enum rn_mem_result result)
{
	struct rn_host_nic *nic = arg;

	(void)tlp;
	/* @result need not be looked at: an error has been counted where it occurred, and
	 * the CPU does not learn what becomes of a posted write.
	 */
	(void)result;
	atomic_fetch_sub(&nic->dm_writes, 1);
}

/* Issues one MMIO write of the CPU. Called with the host lock held. */
static int write_piece(struct rn_host_nic *nic, struct rn_tlp *tlp, uint8_t *bytes)
{
	atomic_fetch_add(&nic->dm_writes, 1);
	if (rn_host_issue(nic->host, tlp, bytes, write_performed, nic) >= 0)
		return 0;
	atomic_fetch_sub(&nic->dm_writes, 1);
	return -EFAULT;
}

/* Copies by MMIO; @kind is the kind of the TLPs, reads or writes. Releases the host lock
 * between pieces, so that other threads need not wait for a long copy.
 */
static int copy_by_mmio(struct rn_host_nic *nic, unsigned kind, rn_iova addr,
			uint8_t *bytes, uint64_t len)
{
	struct rn_host *h = nic->host;
	struct rn_tlp tlp = {
		.kind = (uint8_t)kind,
		.requester = RN_AGENT_CPU,
		.target = (uint8_t)rn_nic_agent(nic),
	};
	int err = 0;

	for (; len > 0 && !err; addr += tlp.len, bytes += tlp.len, len -= tlp.len) {
		tlp.addr = addr;
		tlp.len = LINE - (uint32_t)(addr % LINE);
		if (tlp.len > len)
			tlp.len = (uint32_t)len;
		rn_host_lock(h);
		err = kind == RN_TLP_READ ? rn_host_ask(h, &tlp, bytes)
					  : write_piece(nic, &tlp, bytes);
		rn_host_unlock(h);
	}
	return err;
}

int rn_host_dm_write(struct rn_host_nic *nic, rn_iova addr, const void *src, uint64_t len)
{
	return copy_by_mmio(nic, RN_TLP_WRITE, addr, (uint8_t *)src, len);
}

int rn_host_dm_read(struct rn_host_nic *nic, void *dst, rn_iova addr, uint64_t len)
{
	return copy_by_mmio(nic, RN_TLP_READ, addr, dst, len);
}

static bool is_write_to(const struct rn_tlp *tlp, const void *arg)
{
	const unsigned *agent = arg;

	return tlp->kind == RN_TLP_WRITE && tlp->requester == RN_AGENT_CPU &&
	       tlp->target == *agent;
}

void rn_host_doorbell(struct rn_host_nic *nic)
{
	unsigned agent = rn_nic_agent(nic);

	/* A relaxed load is enough: only writes that this thread has issued matter here,
	 * and a thread sees its own changes of the counter.
	 */
	if (atomic_load_explicit(&nic->dm_writes, memory_order_relaxed) == 0)
		return;
	rn_host_lock(nic->host);
	rn_host_force_if(nic->host, is_write_to, &agent);
	rn_host_unlock(nic->host);
}
