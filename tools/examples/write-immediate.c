/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write-immediate.c - WRITE WITH IMMEDIATE into GPU memory, for a running kernel.
 *
 * The receiver polls the completion of the immediate and raises a flag for the kernel.
 * With --mended, it launches the kernel after the completion.
 */
#include <rocin/gpu.h>
#include <string.h>

#include "example.h"

int main(int argc, char **argv)
{
	struct example_kernel kernel = { 0 };
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from, *to;
	struct example e;

	example_open(&e, argc, argv);
	example_gpu_memory(&gpu);
	from = example_region(&e, NULL, DATA);
	memset(from->addr, NEW, DATA);
	to = example_region(&e, gpu.bar, DATA);
	kernel.data = gpu.dev;
	if (!e.is_mended)
		rn_gpu_launch(gpu.gpu, example_wait_and_count, &kernel);

	example_post_recv(&e, RECEIVER, NULL, 0);
	example_post(&e, SENDER,
		     (struct example_request){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
					       .local = from,
					       .remote = to,
					       .len = DATA });
	example_poll(&e, RECEIVER);
	if (e.is_mended)
		rn_gpu_launch(gpu.gpu, example_count, &kernel);
	else
		example_raise(&kernel);
	example_end_kernel(&gpu, &kernel);
}
