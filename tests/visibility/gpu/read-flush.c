/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-flush.c - READ into GPU memory, its completion, a flush call, then the flag.
 *
 * question: After the completion of a READ into GPU memory the CPU calls the flush of
 *           the GPU, then raises the flag. Does the running kernel see the data?
 * reads:    a kernel that has been running, after it has seen the flag of the CPU.
 * expect:   switch=right switch.none=right ports=wrong c2c=wrong relaxed=right
 * kind:     stale
 * rule:     GV2 and P2: the flush takes the way of the CPU to the GPU, and empties its
 *           inside. It pushes no data that comes through another root port, and none on
 *           PCIe if it takes a link of its own (P6).
 * litmus:   VG1-read-flush-call
 * sibling:  gpu/flush-loopback
 * example:  read-completion --mended
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
	vis_need(!rn_gpu_flush(gpu.gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER), "flush");
	vis_raise(&kernel);
	vis_synchronize(&gpu);
	return 0;
}
