/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write-requester-poll.c - the target of a WRITE, after the completion of the requester.
 *
 * question: My WRITE has completed and I have told the target so. May the target look?
 * reads:    the CPU of the target, which was told of the completion of the requester.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     unordered
 * rule:     V10: the completion says that the NIC of the target has accepted the bytes.
 *           The target has no completion for a WRITE, and nothing else that covers it.
 * litmus:   S12-ISA2-cpu-at-target
 * sibling:  host/write-imm
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, 0);
	vis_poll_send(&a);
	/* One process plays both hosts: its next line is the message to the target. */
	vis_look(to);
	return 0;
}
