/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel-fills.c - a kernel fills GPU memory, which a NIC then sends.
 *
 * question: A kernel stores into GPU memory and raises a flag in host memory; the CPU
 *           sees the flag and posts a WRITE from there. Is it the data of the kernel
 *           that is sent?
 * reads:    the NIC of the requester, when it fetches the payload.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     T2: the doorbell is behind the load of the flag, the flag behind the stores
 *           of the kernel; what a kernel has stored into its own GPU is there for who
 *           reads it.
 * litmus:   G18-gpu-source
 * sibling:  source/kernel-reuse
 */
#include "../kit.h"

struct work {
	void *data;
	uint64_t flag;
};

static void fill(void *arg)
{
	struct work *work = arg;

	vis_kernel_fill(work->data);
	rn_gpu_store(&work->flag, 1, sizeof(work->flag));
}

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_gpu_memory(&gpu, here, 0), *to = vis_target(there);
	struct work work = { .data = gpu.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, fill, &work);
	vis_await_byte(&work.flag, 1);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_look(to);
	vis_poll_send(&a);
	vis_synchronize(&gpu);
	return 0;
}
