/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* other-nic-read.c - WRITE, a READ of what was written, then a SEND to another NIC.
 *
 * question: The target has two NICs. The requester READs back a word of what it wrote
 *           before it SENDs to the other NIC. May the target look?
 * reads:    the CPU of the target, after the receive completion at the other NIC.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2: a read pushes the writes before it on its way; its completion comes
 *           before the SEND is posted.
 * litmus:   M11-two-NICs+read-flush
 * sibling:  host/other-nic
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1), *beside = vis_open(2);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct ibv_mr *note = vis_word(here, 1), *box = vis_word(beside, 0);
	struct ibv_mr *trash = vis_word(here, 0);
	struct vis_end a, b, other_a, other_b;

	vis_connect(&a, here, &b, there);
	vis_connect(&other_a, here, &other_b, beside);
	vis_post_recv(&other_b, box);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_read(&a, trash, to, 0);
	vis_poll_send(&a);
	vis_send(&other_a, note, 0);
	vis_poll_recv(&other_b);
	vis_look(to);
	vis_poll_send(&other_a);
	return 0;
}
