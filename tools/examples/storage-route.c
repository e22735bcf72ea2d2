/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage-route.c - the route from a file to a GPU that is not below the drive's switch.
 *
 * The drive and GPU 0 are below different root ports, so not even a kernel that is
 * launched after the completion sees the data. With --mended, the policy lets the
 * transfer use a bounce buffer in GPU 1, which is below the drive's switch.
 */
#include <rocin/gpu.h>
#include <rocin/storage.h>
#include <stdio.h>

#include "example.h"

int main(int argc, char **argv)
{
	struct example_kernel kernel = { 0 };
	struct rn_storage_route route;
	struct rn_storage_file *file;
	struct rn_gpu_buffer gpu;
	char text[160];

	example_gpu_memory(&gpu);
	file = example_file();
	example_need(!rn_storage_buffer_register(gpu.bar, DATA), "register a buffer");
	rn_storage_set_near("nvme0=gpu1");
	rn_storage_set_policy(example_is_mended(argc, argv) ? "direct,gpu,host" : "p2p");
	kernel.data = gpu.dev;

	rn_storage_plan(file, gpu.bar, DATA, 0, 0, &route);
	rn_storage_route_text(&route, text, sizeof(text));
	printf("route: %s\n", text);
	example_need(rn_storage_read(file, gpu.bar, DATA, 0, 0) == DATA, "read the file");
	rn_gpu_launch(gpu.gpu, example_count, &kernel);
	example_end_kernel(&gpu, &kernel);
}
