/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* loopback-read.c - makes received data visible to the GPU by a READ through the NIC that
 * received them, as NCCL does.
 *
 * NIC and GPU are below different root ports, so a flush by the CPU takes another route
 * than the data and does not push it. With --mended, the receiver READs one byte of the
 * GPU's buffer through a QP of the same NIC that is connected to itself. This read pushes
 * the data before it.
 */
#include <rocin/gpu.h>
#include <string.h>

#include "example.h"

int main(int argc, char **argv)
{
	struct example_kernel kernel = { 0 };
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from, *to, *trash;
	struct example e;

	example_open(&e, argc, argv);
	example_gpu_memory(&gpu);
	from = example_region(&e, NULL, DATA);
	memset(from->addr, NEW, DATA);
	trash = example_region(&e, NULL, 8);
	to = example_region(&e, gpu.bar, DATA);
	kernel.data = gpu.dev;
	rn_gpu_launch(gpu.gpu, example_wait_and_count, &kernel);

	example_post_recv(&e, RECEIVER, NULL, 0);
	example_post(&e, SENDER,
		     (struct example_request){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
					       .local = from,
					       .remote = to,
					       .len = DATA });
	example_poll(&e, RECEIVER);
	if (e.is_mended) {
		example_post(&e, LOOPBACK,
			     (struct example_request){ .opcode = IBV_WR_RDMA_READ,
						       .local = trash,
						       .remote = to,
						       .len = 1 });
		example_poll(&e, LOOPBACK);
	} else {
		rn_gpu_flush(gpu.gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER);
	}
	example_raise(&kernel);
	example_end_kernel(&gpu, &kernel);
}
