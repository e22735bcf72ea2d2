/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write-send.c - WRITE into GPU memory, then SEND to say that it is there.
 *
 * Both use one QP, so the receiver gets the SEND after the WRITE. With --mended, the
 * sender posts a READ of one of the written bytes between WRITE and SEND, and a fence
 * makes the SEND wait for this READ.
 */
#include <rocin/gpu.h>
#include <string.h>

#include "example.h"

int main(int argc, char **argv)
{
	struct example_kernel kernel = { 0 };
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from, *to, *note, *trash;
	struct example e;

	example_open(&e, argc, argv);
	example_gpu_memory(&gpu);
	from = example_region(&e, NULL, DATA);
	memset(from->addr, NEW, DATA);
	trash = example_region(&e, NULL, 8);
	note = example_region(&e, NULL, 8);
	to = example_region(&e, gpu.bar, DATA);
	kernel.data = gpu.dev;
	rn_gpu_launch(gpu.gpu, example_wait_and_count, &kernel);

	example_post_recv(&e, RECEIVER, note, 8);
	example_post(&e, SENDER,
		     (struct example_request){ .opcode = IBV_WR_RDMA_WRITE,
					       .local = from,
					       .remote = to,
					       .len = DATA });
	if (e.is_mended)
		example_post(&e, SENDER,
			     (struct example_request){ .opcode = IBV_WR_RDMA_READ,
						       .local = trash,
						       .remote = to,
						       .remote_offset = DATA - 1,
						       .len = 1 });
	example_post(
		&e, SENDER,
		(struct example_request){ .opcode = IBV_WR_SEND,
					  .local = from,
					  .len = 8,
					  .flags = e.is_mended ? IBV_SEND_FENCE : 0 });
	example_poll(&e, RECEIVER);
	example_raise(&kernel);
	example_end_kernel(&gpu, &kernel);
}
