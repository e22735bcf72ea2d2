/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-flag.c - READ into GPU memory, its completion, then a flag for a running kernel.
 *
 * question: A READ into GPU memory has completed. The CPU raises a flag in host memory,
 *           for which a running kernel waits. Does the kernel see the data?
 * reads:    a kernel that has been running, after it has seen the flag of the CPU.
 * expect:   switch=right switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     stale
 * rule:     P6: the completion entry goes to host memory and the data to the GPU. The
 *           answer to the load of the flag pushes what is in the queue to the GPU (P4),
 *           but not out of its inside (GV1), and nothing on another way.
 * litmus:   G1-read-into-gpu
 * sibling:  gpu/read-flush
 * example:  read-completion
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(there), *to = vis_gpu_memory(&gpu, here, 0);
	struct vis_kernel kernel = { .data = gpu.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, vis_kernel_wait_and_read, &kernel);
	vis_read(&a, to, from, 0);
	vis_poll_send(&a);
	vis_raise(&kernel);
	vis_synchronize(&gpu);
	return 0;
}
