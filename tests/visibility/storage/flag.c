/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flag.c - a drive reads a file into GPU memory; then a flag for a running kernel.
 *
 * question: A drive has read a file into GPU memory and reported completion. The CPU
 *           raises a flag in host memory. Does a running kernel see the data?
 * reads:    a kernel that has been running, after it has seen the flag of the CPU.
 * expect:   switch=right switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     stale
 * rule:     P6 and GV1: a drive is a DMA engine like a NIC; its data goes to the GPU
 *           and its completion entry to host memory.
 * litmus:   D6-nvme-gpu
 * sibling:  storage/stream-flag
 * example:  storage-completion
 */
#include "../kit.h"

int main(void)
{
	struct rn_storage_file *file = vis_file();
	struct rn_gpu_buffer gpu;
	struct vis_kernel kernel = { 0 };

	vis_gpu_memory(&gpu, NULL, 0);
	vis_storage_buffer(gpu.bar);
	kernel.data = gpu.dev;
	vis_launch(&gpu, vis_kernel_wait_and_read, &kernel);
	vis_load(file, gpu.bar);
	vis_raise(&kernel);
	vis_synchronize(&gpu);
	return 0;
}
