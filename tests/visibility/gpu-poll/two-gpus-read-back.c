/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* two-gpus-read-back.c - a kernel stores into another GPU, loads that, then raises a
 * flag.
 *
 * question: A kernel of GPU 0 stores into the memory of GPU 1, loads a word of it, then
 *           raises the flag. Does the kernel of GPU 1 see the data?
 * reads:    a kernel of GPU 1, after it has seen the flag.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2 and GV2: the load takes the way of the stores and empties the inside of
 *           GPU 1.
 * litmus:   VG10-two-gpus+read-back
 * sibling:  gpu-poll/two-gpus
 */
#include "../kit.h"

/* What both kernels know; the flag is in host memory. */
struct work {
	void *into;	  /* memory of GPU 1, as GPU 0 reaches it */
	const void *data; /* the same, as GPU 1 has it */
	uint64_t flag;
};

static void produce(void *arg)
{
	struct work *work = arg;

	vis_kernel_fill(work->into);
	(void)rn_gpu_load((uint8_t *)work->into + DATA - 8, 8);
	rn_gpu_store(&work->flag, 1, sizeof(work->flag));
}

static void consume(void *arg)
{
	struct work *work = arg;

	vis_need(!rn_gpu_wait_host(&work->flag, 1, sizeof(work->flag), -1), "wait");
	vis_kernel_look_at(work->data);
}

int main(void)
{
	struct rn_gpu_buffer scratch, gpu;
	struct work work = { 0 };

	vis_gpu_memory(&scratch, NULL, 0);
	vis_gpu_memory(&gpu, NULL, 1);
	work.into = gpu.bar;
	work.data = gpu.dev;
	vis_launch(&gpu, consume, &work);
	vis_launch(&scratch, produce, &work);
	vis_synchronize(&scratch);
	vis_synchronize(&gpu);
	return 0;
}
