/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* same-nic.c - GPU memory is forwarded by the NIC that received it.
 *
 * question: Data comes into GPU memory; after the completion of the immediate the CPU
 *           SENDs it on by the same NIC. Does the next host get the data?
 * reads:    the NIC that received, when it reads what it sends.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2: the reads of the NIC take the way of its writes, and push them.
 * litmus:   D10-same-nic-forward
 * sibling:  forward/other-nic
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct ibv_mr *box = vis_target(here);
	struct vis_end a, b, next, last;

	vis_connect(&a, here, &b, there);
	vis_connect(&next, there, &last, here);
	vis_post_recv(&b, NULL);
	vis_post_recv(&last, box);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_send(&next, to, 0);
	vis_poll_recv(&last);
	vis_look(box);
	vis_poll_send(&next);
	vis_poll_send(&a);
	return 0;
}
