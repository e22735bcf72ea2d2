/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stream-flag.c - a stream reads a file into GPU memory and raises the flag.
 *
 * question: The read of the file and the flag are operations of one stream. Does a
 *           running kernel that waits for the flag see the data?
 * reads:    a kernel that has been running, after it has seen the flag.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2 and GV2: what a stream has read is visible to all that follows in it.
 * litmus:   VD1-stream-flag
 * sibling:  storage/flag
 * example:  storage-completion --mended
 */
#include "../kit.h"

static void raise(void *kernel)
{
	vis_raise(kernel);
}

int main(void)
{
	struct rn_storage_file *file = vis_file();
	struct rn_storage_stream *stream;
	struct rn_gpu_buffer gpu;
	struct vis_kernel kernel = { 0 };

	vis_gpu_memory(&gpu, NULL, 0);
	vis_storage_buffer(gpu.bar);
	kernel.data = gpu.dev;
	vis_launch(&gpu, vis_kernel_wait_and_read, &kernel);
	vis_need(!rn_storage_stream_create(&stream), "rn_storage_stream_create");
	vis_load_by_stream(file, gpu.bar, stream);
	vis_need(!rn_storage_stream_callback(stream, raise, &kernel), "callback");
	vis_need(!rn_storage_stream_synchronize(stream), "rn_storage_stream_synchronize");
	vis_synchronize(&gpu);
	return 0;
}
