/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flag-by-cpu.c - WRITE with immediate into GPU memory, then a flag there by the CPU.
 *
 * question: The CPU has polled the completion of an immediate and stores a flag into
 *           GPU memory, for which a running kernel waits. Is the data there?
 * reads:    a kernel that has been running, after it has seen the flag in GPU memory.
 * expect:   switch=right switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     stale
 * rule:     P1: the store of the CPU stands behind the data in the queue to the GPU,
 *           and not inside of it (GV1) nor on another way (P6).
 * litmus:   VG6-cpu-flag-in-gpu
 * sibling:  gpu-poll/flag-by-cpu-flush
 */
#include "../kit.h"

struct work {
	const uint8_t *data;
	const uint64_t *flag;
};

static void wait_and_read(void *arg)
{
	struct work *work = arg;

	vis_need(!rn_gpu_wait_device(work->flag, 1, sizeof(*work->flag), -1), "wait");
	vis_kernel_look_at(work->data);
}

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu, flag;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct work work = { .data = gpu.dev };
	struct vis_end a, b;

	vis_gpu_memory(&flag, NULL, 0);
	work.flag = flag.dev;
	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, wait_and_read, &work);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	rn_gpu_bar_store(flag.bar, 1, sizeof(uint64_t));
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
