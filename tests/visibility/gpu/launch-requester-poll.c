/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* launch-requester-poll.c - WRITE into GPU memory, and a launch after the completion of
 * the requester.
 *
 * question: The requester has its completion and tells the target, which launches a
 *           kernel. Does the kernel see the data?
 * reads:    a kernel that was launched after the completion of the requester.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     unordered
 * rule:     V10: the NIC of the target has accepted the bytes, and may not have sent
 *           them on. A launch pushes what is in the queue to the GPU, and nothing that
 *           has not come there.
 * litmus:   VG8-launch-told
 * sibling:  gpu/send-read-back
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct vis_kernel kernel = { .data = gpu.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, 0);
	vis_poll_send(&a);
	/* One process plays both hosts: its next line is the message to the target. */
	vis_launch(&gpu, vis_kernel_read, &kernel);
	vis_synchronize(&gpu);
	return 0;
}
