/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* other-qp.c - WRITE and its completion, then a SEND on another queue pair.
 *
 * question: The requester polls the completion of a WRITE, then SENDs on another queue
 *           pair between the same NICs. Does the receive completion cover the WRITE?
 * reads:    the CPU of the target, after the receive completion of the other queue
 *           pair.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=wrong
 * kind:     unordered
 * rule:     V11: queue pairs have no order. It is right where the completion entry
 *           leaves the NIC of the target behind the data of all its queue pairs (P1),
 *           and wrong where they have ways of their own.
 * litmus:   C6-recv-cqe-of-other-qp+poll
 * sibling:  host/write-send
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct ibv_mr *note = vis_word(here, 1), *box = vis_word(there, 0);
	struct vis_end a, b, other_a, other_b;

	vis_connect(&a, here, &b, there);
	vis_connect(&other_a, here, &other_b, there);
	vis_post_recv(&other_b, box);
	vis_write(&a, from, to, 0);
	vis_poll_send(&a);
	vis_send(&other_a, note, 0);
	vis_poll_recv(&other_b);
	vis_look(to);
	vis_poll_send(&other_a);
	return 0;
}
