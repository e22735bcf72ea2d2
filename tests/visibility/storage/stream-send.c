/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stream-send.c - a stream reads a file into GPU memory, which a NIC then sends.
 *
 * question: A stream has read a file into GPU memory and was waited for. Does a NIC
 *           that is then asked to WRITE it to a peer send the data?
 * reads:    the NIC, when it reads what it sends.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2: what a stream has read is visible when the stream has been waited for.
 * litmus:   VD2-stream-send
 * sibling:  storage/send
 * example:  load-then-send --mended
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_storage_file *file = vis_file();
	struct rn_storage_stream *stream;
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_gpu_memory(&gpu, here, 0), *to = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_storage_buffer(gpu.bar);
	vis_post_recv(&b, NULL);
	vis_need(!rn_storage_stream_create(&stream), "rn_storage_stream_create");
	vis_load_by_stream(file, gpu.bar, stream);
	vis_need(!rn_storage_stream_synchronize(stream), "rn_storage_stream_synchronize");
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
