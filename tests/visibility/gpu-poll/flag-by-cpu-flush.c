/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flag-by-cpu-flush.c - WRITE with immediate into GPU memory, a flush, then a flag there
 * by the CPU.
 *
 * question: The CPU flushes the GPU between the completion and the store of the flag
 *           into GPU memory. Is the data there?
 * reads:    a kernel that has been running, after it has seen the flag in GPU memory.
 * expect:   switch=right switch.none=right ports=wrong c2c=wrong relaxed=right
 * kind:     stale
 * rule:     GV2: the flush empties the inside of the GPU and what takes the way of the
 *           CPU; it pushes nothing on another one (P6).
 * litmus:   VG7-flush;cpu-flag-in-gpu
 * sibling:  gpu/flush-loopback
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
	vis_need(!rn_gpu_flush(gpu.gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER), "flush");
	rn_gpu_bar_store(flag.bar, 1, sizeof(uint64_t));
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
