/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* other-nic.c - GPU memory is forwarded by another NIC than received it.
 *
 * question: Data comes into GPU memory; after the completion of the immediate the CPU
 *           SENDs it on by another NIC of the host. Does the next host get the data?
 * reads:    the other NIC, when it reads what it sends.
 * expect:   switch=right switch.none=right ports=wrong c2c=right relaxed=right
 * kind:     stale
 * rule:     P2 and P6: below one switch the reads of the other NIC take the last queue
 *           to the GPU too; through another root port they take a way of their own.
 * litmus:   D9-two-nics-forward
 * sibling:  forward/other-nic-read
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1), *beside = vis_open(2);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct ibv_mr *box = vis_target(here);
	struct ibv_mr *again = vis_register(beside, gpu.bar, DATA, 0);
	struct vis_end a, b, next, last;

	vis_connect(&a, here, &b, there);
	vis_connect(&next, beside, &last, here);
	vis_post_recv(&b, NULL);
	vis_post_recv(&last, box);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_send(&next, again, 0);
	vis_poll_recv(&last);
	vis_look(box);
	vis_poll_send(&next);
	vis_poll_send(&a);
	return 0;
}
