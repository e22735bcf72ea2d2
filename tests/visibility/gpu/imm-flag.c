/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* imm-flag.c - WRITE with immediate into GPU memory, then a flag for a running kernel.
 *
 * question: The CPU has polled the completion of an immediate and raises a flag in host
 *           memory. Does a running kernel see the data in GPU memory?
 * reads:    a kernel that has been running, after it has seen the flag of the CPU.
 * expect:   switch=right switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     stale
 * rule:     P4: the answer to the load of the flag takes the queue to the GPU behind
 *           the data. That is enough if the GPU has no inside (gpu.ordering=owner) and
 *           one link (P6, GV1).
 * litmus:   G2-imm-into-gpu
 * sibling:  gpu/imm-launch
 * example:  write-immediate; cpu-flag --mended
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct vis_kernel kernel = { .data = gpu.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, vis_kernel_wait_and_read, &kernel);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_raise(&kernel);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
