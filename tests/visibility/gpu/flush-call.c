/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flush-call.c - WRITE with immediate into GPU memory, a flush call, then the flag.
 *
 * question: The CPU has polled the completion of an immediate, calls the flush of the
 *           GPU and raises a flag. Does the running kernel see the data?
 * reads:    a kernel that has been running, after it has seen the flag of the CPU.
 * expect:   switch=right switch.none=right ports=wrong c2c=wrong relaxed=right
 * kind:     stale
 * rule:     GV2: the flush pushes what takes the way of the CPU to the GPU. Data from
 *           another root port takes another (P6).
 * litmus:   VG2-imm-flush-call
 * sibling:  gpu/flush-loopback
 * example:  loopback-read
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
	vis_need(!rn_gpu_flush(gpu.gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER), "flush");
	vis_raise(&kernel);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
