/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpu-reads-after-loopback.c - GPU memory that the CPU reads itself, after a loopback
 * READ.
 *
 * question: After the completion of an immediate the CPU READs a word of the data by a
 *           queue pair of the NIC that is connected to itself, then reads GPU memory
 *           through the BAR. Is the data there, wherever NIC and GPU are?
 * reads:    the CPU of the target, through the BAR, after the completion of the
 *           loopback READ.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2 and GV2: the READ takes the way of the data, so when it has completed
 *           the data is in the GPU.
 * litmus:   VG12-cpu-reads-after-loopback
 * sibling:  gpu/cpu-reads
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct ibv_mr *trash = vis_word(there, 0);
	struct vis_end a, b, loop;

	vis_connect(&a, here, &b, there);
	vis_connect_loopback(&loop, there);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_read(&loop, trash, to, 0);
	vis_poll_send(&loop);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
