/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* other-nic.c - WRITE and its completion, then a SEND to another NIC of the target.
 *
 * question: The target has two NICs. The WRITE goes to one and has completed; the SEND
 *           that tells of it goes to the other. Does the receive completion cover the
 *           WRITE?
 * reads:    the CPU of the target, after the receive completion at the other NIC.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     unordered
 * rule:     V10 and P6: two NICs are two ways to memory, and nothing relates them.
 * litmus:   S12-ISA2-cpu-at-target
 * sibling:  host/other-nic-read
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1), *beside = vis_open(2);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct ibv_mr *note = vis_word(here, 1), *box = vis_word(beside, 0);
	struct vis_end a, b, other_a, other_b;

	vis_connect(&a, here, &b, there);
	vis_connect(&other_a, here, &other_b, beside);
	vis_post_recv(&other_b, box);
	vis_write(&a, from, to, 0);
	vis_poll_send(&a);
	vis_send(&other_a, note, 0);
	vis_poll_recv(&other_b);
	vis_look(to);
	vis_poll_send(&other_a);
	return 0;
}
