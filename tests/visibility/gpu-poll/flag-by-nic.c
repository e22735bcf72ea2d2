/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flag-by-nic.c - data and flag WRITTEN into GPU memory; a kernel polls the flag.
 *
 * question: Two WRITEs of one queue pair into GPU memory: data, then a flag for which a
 *           running kernel waits. Is the data there?
 * reads:    a kernel that has been running, after it has seen the flag in GPU memory.
 * expect:   switch=right switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     poll
 * rule:     P1 orders the two on their way to the GPU; inside a GPU with
 *           gpu.ordering=none they become visible in any order (GV1).
 * litmus:   G9-flag-in-gpu-by-nic
 * sibling:  gpu-poll/host-flag-fenced
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
	struct rn_gpu_buffer gpu, gpu_flag;
	struct ibv_mr *from = vis_source(here), *one = vis_word(here, 1);
	struct ibv_mr *to = vis_gpu_memory(&gpu, there, 0);
	struct ibv_mr *flag = vis_gpu_memory(&gpu_flag, there, 0);
	struct work work = { .data = gpu.dev, .flag = gpu_flag.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, wait_and_read, &work);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_write(&a, one, flag, 0);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
