/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* other-nic-read.c - GPU memory is forwarded by another NIC, after a loopback READ.
 *
 * question: Before the other NIC SENDs the data on, the CPU READs a word of it by a
 *           queue pair of the receiving NIC that is connected to itself. Does the next
 *           host get the data?
 * reads:    the other NIC, when it reads what it sends.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2: the READ takes the way of the data, so when it has completed the data
 *           is in the GPU, for whoever reads it.
 * litmus:   VG11-forward-by-other-nic+read
 * sibling:  forward/other-nic
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1), *beside = vis_open(2);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct ibv_mr *box = vis_target(here);
	struct ibv_mr *again = vis_register(beside, gpu.bar, DATA, 0);
	struct ibv_mr *trash = vis_word(there, 0);
	struct vis_end a, b, next, last, loop;

	vis_connect(&a, here, &b, there);
	vis_connect(&next, beside, &last, here);
	vis_connect_loopback(&loop, there);
	vis_post_recv(&b, NULL);
	vis_post_recv(&last, box);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_read(&loop, trash, to, 0);
	vis_poll_send(&loop);
	vis_send(&next, again, 0);
	vis_poll_recv(&last);
	vis_look(box);
	vis_poll_send(&next);
	vis_poll_send(&a);
	return 0;
}
