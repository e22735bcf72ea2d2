/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* launch.c - a drive reads a file into GPU memory; then a kernel is launched.
 *
 * question: A drive has read a file into GPU memory and reported completion. Does a
 *           kernel that is launched then see the data, whichever way the file took?
 * reads:    a kernel that was launched after the completion of the drive.
 * expect:   switch=right switch.none=right ports=wrong c2c=wrong relaxed=right
 * kind:     stale
 * rule:     GV1 and P6: a launch pushes what takes the way of the CPU to the GPU, and
 *           empties its inside; the data of a drive below another root port takes
 *           another way.
 * litmus:   D7-nvme-gpu-launch
 * sibling:  storage/bounce
 * example:  storage-route
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
	vis_load(file, gpu.bar);
	vis_launch(&gpu, vis_kernel_read, &kernel);
	vis_synchronize(&gpu);
	return 0;
}
