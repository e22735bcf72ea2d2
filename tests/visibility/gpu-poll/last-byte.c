/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* last-byte.c - a kernel polls the last byte of a WRITE into GPU memory.
 *
 * question: A running kernel waits until the last byte of a WRITE into GPU memory is
 *           new. Are the bytes before it there?
 * reads:    a kernel that has been running, after it has seen the last byte.
 * expect:   switch=right switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     poll
 * rule:     V8: inside a message there is no order of placement, and what has arrived
 *           in order leaves the inside of a GPU in any (GV1).
 * litmus:   VG5-last-byte
 * sibling:  gpu-poll/host-flag-fenced
 */
#include "../kit.h"

static void wait_and_read(void *arg)
{
	struct vis_kernel *kernel = arg;
	const uint8_t *byte = kernel->data;

	vis_need(!rn_gpu_wait_device(&byte[DATA - 1], NEW, 1, -1), "wait");
	vis_kernel_look_at(kernel->data);
}

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct vis_kernel kernel = { .data = gpu.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, wait_and_read, &kernel);
	vis_write(&a, from, to, 0);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
