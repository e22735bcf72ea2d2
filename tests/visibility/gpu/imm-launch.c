/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* imm-launch.c - WRITE with immediate into GPU memory, then the launch of a kernel.
 *
 * question: The CPU launches a kernel after it has polled the completion of an
 *           immediate. Does the kernel see the data?
 * reads:    a kernel that was launched after the completion.
 * expect:   switch=right switch.none=right ports=wrong c2c=wrong relaxed=right
 * kind:     stale
 * rule:     GV1: a launch is a doorbell write behind the data in the queue to the GPU,
 *           and empties its inside. It takes the way of the CPU, so it pushes nothing
 *           on another one (P6).
 * litmus:   G4-launch
 * sibling:  gpu/flush-loopback
 * example:  write-immediate --mended
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
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_launch(&gpu, vis_kernel_read, &kernel);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
