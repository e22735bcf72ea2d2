/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel-reuse-poll.c - a kernel fills the source of a WRITE that has completed.
 *
 * question: A WRITE from GPU memory has completed, and the CPU tells a running kernel
 *           to fill the buffer again. May it?
 * reads:    the NIC of the requester, when it fetches the payload.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V2 and V1: the completion gives the source back.
 * litmus:   VS5-kernel-source+poll
 * sibling:  source/kernel-reuse
 */
#include "../kit.h"

struct work {
	void *data;
	uint64_t flag;
};

static void wait_and_fill(void *arg)
{
	struct work *work = arg;

	vis_need(!rn_gpu_wait_host(&work->flag, 1, sizeof(work->flag), -1), "wait");
	vis_kernel_fill(work->data);
}

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_gpu_memory(&gpu, here, 0), *to = vis_target(there);
	struct work work = { .data = gpu.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, wait_and_fill, &work);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_send(&a);
	__atomic_store_n(&work.flag, 1, __ATOMIC_RELEASE);
	vis_synchronize(&gpu);
	vis_poll_recv(&b);
	vis_look_unless(to, NEW);
	return 0;
}
