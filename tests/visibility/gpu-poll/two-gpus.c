/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* two-gpus.c - a kernel stores into another GPU and raises a flag in host memory.
 *
 * question: A kernel of GPU 0 stores into the memory of GPU 1, then raises a flag in
 *           host memory, for which a kernel of GPU 1 waits. Is the data there?
 * reads:    a kernel of GPU 1, after it has seen the flag.
 * expect:   switch=right switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     poll
 * rule:     P6: data and flag go to two memories. The answer to the load of the flag
 *           pushes what is in the queue to GPU 1 (P4), not what is inside of it (GV1).
 * litmus:   VG9-two-gpus
 * sibling:  gpu-poll/two-gpus-read-back
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
