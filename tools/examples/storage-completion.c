/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage-completion.c - a file is read into GPU memory, as with GPUDirect Storage.
 *
 * The CPU polls the completion of the drive and raises a flag for a running kernel.
 * With --mended, a stream of the storage library raises the flag, after the data of the
 * read has become visible.
 */
#include <rocin/gpu.h>
#include <rocin/storage.h>

#include "example.h"

static void raise_flag(void *kernel)
{
	example_raise(kernel);
}

int main(int argc, char **argv)
{
	struct example_kernel kernel = { 0 };
	struct rn_storage_stream *stream;
	struct rn_storage_file *file;
	struct rn_gpu_buffer gpu;
	const size_t size = DATA;
	const off_t start = 0;

	example_gpu_memory(&gpu);
	file = example_file();
	example_need(!rn_storage_buffer_register(gpu.bar, DATA), "register a buffer");
	kernel.data = gpu.dev;
	rn_gpu_launch(gpu.gpu, example_wait_and_count, &kernel);

	if (example_is_mended(argc, argv)) {
		rn_storage_stream_create(&stream);
		rn_storage_read_async(file, gpu.bar, &size, &start, &start, NULL, stream);
		rn_storage_stream_callback(stream, raise_flag, &kernel);
		example_need(!rn_storage_stream_synchronize(stream), "read the file");
	} else {
		example_need(rn_storage_read(file, gpu.bar, DATA, 0, 0) == DATA,
			     "read the file");
		example_raise(&kernel);
	}
	example_end_kernel(&gpu, &kernel);
}
