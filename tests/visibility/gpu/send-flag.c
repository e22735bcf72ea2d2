/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send-flag.c - WRITE into GPU memory, SEND, then a flag for a running kernel.
 *
 * question: A WRITE into GPU memory and a SEND on the same queue pair. The CPU polls
 *           the receive completion and raises a flag. Does the kernel see what was
 *           WRITTEN?
 * reads:    a kernel that has been running, by plain loads, after it has seen the flag
 *           of the CPU.
 * expect:   switch=right switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     stale
 * rule:     P6 and GV1: at the NIC both came in order; the data went to the GPU and the
 *           completion entry to host memory.
 * litmus:   VG3-write-send
 * sibling:  gpu/send-read-back
 * example:  write-send
 */
#include "../kit.h"

static void wait_and_read(void *arg)
{
	struct vis_kernel *kernel = arg;

	vis_need(!rn_gpu_wait_host(&kernel->flag, 1, sizeof(kernel->flag), -1), "wait");
	vis_look_at(kernel->data, DATA);
}

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct ibv_mr *note = vis_word(here, 1), *box = vis_word(there, 0);
	struct vis_kernel kernel = { .data = gpu.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, wait_and_read, &kernel);
	vis_post_recv(&b, box);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_send(&a, note, 0);
	vis_poll_recv(&b);
	vis_raise(&kernel);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
