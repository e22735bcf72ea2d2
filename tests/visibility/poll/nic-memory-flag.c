/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nic-memory-flag.c - data in host memory, the flag in memory of the NIC.
 *
 * question: Two WRITEs of one queue pair: data into host memory, a flag into memory on
 *           the NIC (ibv_alloc_dm). The CPU polls the flag by reading the NIC. Is the
 *           data there?
 * reads:    the CPU of the target, after it has seen the flag.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=wrong
 * kind:     poll
 * rule:     P4: the answer to the read of the NIC comes behind what the NIC has written
 *           to host memory, if all its queue pairs share the way out.
 * litmus:   D1-dm-flag
 * sibling:  host/write-imm
 */
#include "../kit.h"

/* Eight bytes of memory on a NIC. */
static struct ibv_mr *nic_memory(struct vis_nic *nic, struct ibv_dm **dm)
{
	struct ibv_alloc_dm_attr attr = { .length = sizeof(uint64_t) };
	struct ibv_mr *mr;

	*dm = ibv_alloc_dm(nic->ctx, &attr);
	vis_need(*dm != NULL, "ibv_alloc_dm");
	mr = ibv_reg_dm_mr(nic->pd, *dm, 0, sizeof(uint64_t),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_ZERO_BASED);
	vis_need(mr != NULL, "ibv_reg_dm_mr");
	return mr;
}

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *one = vis_word(here, 1);
	struct ibv_dm *dm;
	struct ibv_mr *to = vis_target(there), *flag = nic_memory(there, &dm);
	struct vis_end a, b;
	uint64_t seen = 0;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_write(&a, one, flag, 0);
	while (seen != 1)
		vis_need(!ibv_memcpy_from_dm(&seen, dm, 0, sizeof(seen)), "read the NIC");
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
