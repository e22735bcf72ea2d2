/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* load-then-send.c - reads a file into GPU memory, then WRITEs that buffer to a peer.
 *
 * Drive, NIC and GPU are below different root ports. When the drive reports completion,
 * the data of the drive may still be on its way to the GPU. If the NIC's read of the
 * buffer arrives before it, the peer gets the old content of the buffer. With --mended,
 * the file is read by a stream of the storage library, and the program posts the WRITE
 * after it has synchronized with the stream.
 */
#include <rocin/gpu.h>
#include <rocin/storage.h>

#include "example.h"

static void load(struct rn_storage_file *file, void *buffer, bool is_mended)
{
	struct rn_storage_stream *stream;
	const size_t size = DATA;
	const off_t start = 0;

	if (!is_mended) {
		example_need(rn_storage_read(file, buffer, DATA, 0, 0) == DATA,
			     "read the file");
		return;
	}
	rn_storage_stream_create(&stream);
	rn_storage_read_async(file, buffer, &size, &start, &start, NULL, stream);
	example_need(!rn_storage_stream_synchronize(stream), "read the file");
}

int main(int argc, char **argv)
{
	struct rn_storage_file *file;
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from, *to;
	unsigned count = 0;
	struct example e;

	example_open(&e, argc, argv);
	example_gpu_memory(&gpu);
	from = example_region(&e, gpu.bar, DATA);
	to = example_region(&e, NULL, DATA);
	file = example_file();
	example_need(!rn_storage_buffer_register(gpu.bar, DATA), "register a buffer");
	rn_storage_set_policy("direct,p2p");

	load(file, gpu.bar, e.is_mended);
	example_post_recv(&e, RECEIVER, NULL, 0);
	example_post(&e, SENDER,
		     (struct example_request){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
					       .local = from,
					       .remote = to,
					       .len = DATA });
	example_poll(&e, RECEIVER);
	for (unsigned i = 0; i < DATA; i++)
		count += ((const uint8_t *)to->addr)[i] == NEW;
	example_end(count == DATA, "the peer got %u new bytes of %d", count, DATA);
}
