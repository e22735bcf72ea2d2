/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send-read-back.c - WRITE into GPU memory, a READ of it by the sender, then a fenced
 * SEND.
 *
 * question: Between WRITE and SEND the sender READs back one word of what it wrote, and
 *           fences the SEND. The CPU polls and raises a flag. Does the kernel see the
 *           data?
 * reads:    a kernel that has been running, by plain loads, after it has seen the flag
 *           of the CPU.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2 and V7: the READ takes the way of the data and empties the inside of the
 *           GPU, and the fence lets the SEND wait for its answer.
 * litmus:   VG4-write-read-send
 * sibling:  gpu/send-flag
 * example:  write-send --mended
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
	struct ibv_mr *trash = vis_word(here, 0);
	struct vis_kernel kernel = { .data = gpu.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, wait_and_read, &kernel);
	vis_post_recv(&b, box);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_read(&a, trash, to, VIS_UNSIGNALED);
	vis_send(&a, note, IBV_SEND_FENCE);
	vis_poll_recv(&b);
	vis_raise(&kernel);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
