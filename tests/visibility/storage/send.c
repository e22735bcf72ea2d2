/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send.c - a drive reads a file into GPU memory, which a NIC then sends.
 *
 * question: A drive has read a file into GPU memory and reported completion. Does a NIC
 *           that is then asked to WRITE it to a peer send the data?
 * reads:    the NIC, when it reads what it sends.
 * expect:   switch=right switch.none=right ports=wrong c2c=right relaxed=right
 * kind:     stale
 * rule:     P2 and P6: below one switch the reads of the NIC push the data of the
 *           drive; through another root port they do not.
 * litmus:   VD4-send
 * sibling:  storage/stream-send
 * example:  load-then-send
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_storage_file *file = vis_file();
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_gpu_memory(&gpu, here, 0), *to = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_storage_buffer(gpu.bar);
	vis_post_recv(&b, NULL);
	vis_load(file, gpu.bar);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
