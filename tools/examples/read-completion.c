/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-completion.c - an RDMA READ into GPU memory has completed: is the data there?
 *
 * The CPU polls the completion and raises a flag in host memory, for which a running
 * kernel waits. With --mended, the CPU flushes the GPU before it raises the flag.
 */
#include <rocin/gpu.h>
#include <string.h>

#include "example.h"

int main(int argc, char **argv)
{
	struct example_kernel kernel = { 0 };
	struct rn_gpu_buffer gpu;
	struct ibv_mr *there, *here;
	struct example e;

	example_open(&e, argc, argv);
	example_gpu_memory(&gpu);
	there = example_region(&e, NULL, DATA);
	memset(there->addr, NEW, DATA);
	here = example_region(&e, gpu.bar, DATA);
	kernel.data = gpu.dev;
	rn_gpu_launch(gpu.gpu, example_wait_and_count, &kernel);

	example_post(&e, SENDER,
		     (struct example_request){ .opcode = IBV_WR_RDMA_READ,
					       .local = here,
					       .remote = there,
					       .len = DATA });
	example_poll(&e, SENDER);
	if (e.is_mended)
		rn_gpu_flush(gpu.gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER);
	example_raise(&kernel);
	example_end_kernel(&gpu, &kernel);
}
