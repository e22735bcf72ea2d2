/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flush-other-nic.c - WRITE with immediate into GPU memory, a loopback READ by another
 * NIC.
 *
 * question: The CPU has polled the completion of an immediate, READs a word of the data
 *           by a queue pair of another NIC of the host that is connected to itself, and
 *           raises a flag. Does the running kernel see the data?
 * reads:    a kernel that has been running, after it has seen the flag of the CPU.
 * expect:   switch=right switch.none=right ports=wrong c2c=right relaxed=right
 * kind:     stale
 * rule:     P2 and P6: the READ of another NIC takes the last queue to the GPU too, if
 *           all are below one switch; through another root port it takes a way of its
 *           own.
 * litmus:   G6-loopback-read-wrong-nic
 * sibling:  gpu/flush-loopback
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct vis_nic *beside = vis_open(2);
	struct ibv_mr *again = vis_register(beside, gpu.bar, DATA, 0);
	struct ibv_mr *trash = vis_word(beside, 0);
	struct vis_kernel kernel = { .data = gpu.dev };
	struct vis_end a, b, loop;

	vis_connect(&a, here, &b, there);
	vis_connect_loopback(&loop, beside);
	vis_launch(&gpu, vis_kernel_wait_and_read, &kernel);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_read(&loop, trash, again, 0);
	vis_poll_send(&loop);
	vis_raise(&kernel);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
