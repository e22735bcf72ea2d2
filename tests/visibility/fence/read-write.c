/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-write.c - READ into a buffer, then a WRITE from it.
 *
 * question: A WRITE is posted behind a READ of the same queue pair, from the buffer
 *           that the READ fills. Does it send what was READ?
 * reads:    the NIC of the requester, when it fetches the payload of the WRITE.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     fence
 * rule:     V6: a WRITE need not wait for the READ before it.
 * litmus:   R7-read-then-write-same-buffer
 * sibling:  fence/read-write-fenced
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(there), *middle = vis_target(here);
	struct ibv_mr *to = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_read(&a, middle, from, 0);
	vis_write_imm(&a, middle, to, 0);
	vis_poll_send(&a);
	vis_poll_send(&a);
	vis_poll_recv(&b);
	vis_look(to);
	return 0;
}
