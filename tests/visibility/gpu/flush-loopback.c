/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flush-loopback.c - WRITE with immediate into GPU memory, a loopback READ, then the
 * flag.
 *
 * question: The CPU has polled the completion of an immediate, READs a word of the data
 *           by a queue pair of the same NIC that is connected to itself, and raises a
 *           flag. Does the running kernel see the data?
 * reads:    a kernel that has been running, after it has seen the flag of the CPU.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2 and GV2: the READ takes the way of the data, whichever that is, and
 *           empties the inside of the GPU. NCCL does so.
 * litmus:   G5-loopback-read
 * sibling:  gpu/flush-call
 * example:  loopback-read --mended
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct ibv_mr *trash = vis_word(there, 0);
	struct vis_kernel kernel = { .data = gpu.dev };
	struct vis_end a, b, loop;

	vis_connect(&a, here, &b, there);
	vis_connect_loopback(&loop, there);
	vis_launch(&gpu, vis_kernel_wait_and_read, &kernel);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_read(&loop, trash, to, 0);
	vis_poll_send(&loop);
	vis_raise(&kernel);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
