/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bounce.c - a drive reads a file into GPU memory through host memory.
 *
 * question: The policy lets a transfer bounce through host memory. Does a kernel that
 *           is launched after it see the data, wherever the drive is?
 * reads:    a kernel that was launched after the transfer.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P1 and P2: such a transfer is complete when its copy is, and the copy takes
 *           the way of the CPU.
 * litmus:   VD3-bounce
 * sibling:  storage/launch
 * example:  storage-route --mended
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
	vis_need(!rn_storage_set_policy("host"), "rn_storage_set_policy");
	vis_load(file, gpu.bar);
	vis_launch(&gpu, vis_kernel_read, &kernel);
	vis_synchronize(&gpu);
	return 0;
}
