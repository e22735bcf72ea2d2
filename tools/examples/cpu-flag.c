/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpu-flag.c - a kernel on the GPU reads a flag in host memory, and this read makes sure
 * that the NIC's writes to GPU memory have arrived.
 *
 * The CPU has polled the completion of the NIC. Without --mended, the kernel does not
 * read over PCIe before it uses the data: it waits for a time that "was always long
 * enough", and the CPU tells it that this time is over. With --mended, the kernel reads a
 * flag in host memory; the completion of this read follows the data over the same link,
 * so it arrives after the data.
 */
#include <rocin/gpu.h>
#include <semaphore.h>
#include <string.h>

#include "example.h"

static sem_t pause_is_over;

static void pause_and_count(void *kernel)
{
	while (sem_wait(&pause_is_over))
		;
	example_count(kernel);
}

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
	sem_init(&pause_is_over, 0, 0);
	rn_gpu_launch(gpu.gpu, e.is_mended ? example_wait_and_count : pause_and_count,
		      &kernel);

	example_post_recv(&e, RECEIVER, NULL, 0);
	example_post(&e, SENDER,
		     (struct example_request){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
					       .local = from,
					       .remote = to,
					       .len = DATA });
	example_poll(&e, RECEIVER);
	example_raise(&kernel);
	sem_post(&pause_is_over);
	example_end_kernel(&gpu, &kernel);
}
