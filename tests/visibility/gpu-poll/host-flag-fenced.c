/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host-flag-fenced.c - WRITE into GPU memory, READ back, then a fenced WRITE of a host
 * flag.
 *
 * question: The requester flushes by a READ of what it wrote and WRITEs a flag into
 *           host memory behind a fence. A running kernel waits for the flag. Is the
 *           data there?
 * reads:    a kernel that has been running, after it has seen the flag that the NIC
 *           wrote.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2 and V7: the READ pushes the data and empties the inside of the GPU; the
 *           fence lets the flag wait for its answer.
 * litmus:   G14-remote-read-flush
 * sibling:  gpu-poll/host-flag-unfenced
 */
#include "../kit.h"

struct work {
	const uint8_t *data;
	const uint64_t *flag;
};

static void wait_and_read(void *arg)
{
	struct work *work = arg;

	vis_need(!rn_gpu_wait_host(work->flag, 1, sizeof(*work->flag), -1), "wait");
	vis_kernel_look_at(work->data);
}

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *one = vis_word(here, 1);
	struct ibv_mr *trash = vis_word(here, 0), *flag = vis_word(there, 0);
	struct ibv_mr *to = vis_gpu_memory(&gpu, there, 0);
	struct work work = { .data = gpu.dev, .flag = flag->addr };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_launch(&gpu, wait_and_read, &work);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_read(&a, trash, to, VIS_UNSIGNALED);
	vis_write(&a, one, flag, IBV_SEND_FENCE);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
