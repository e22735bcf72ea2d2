/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host-requester-poll.c - host memory is forwarded after the completion of the
 * requester.
 *
 * question: The requester has its completion and tells the target, which SENDs the data
 *           on by another NIC. Does the next host get the data?
 * reads:    the other NIC, when it reads what it sends.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     unordered
 * rule:     V10 and P6: the target has no completion for the WRITE, and the reads of
 *           another NIC push nothing of this one.
 * litmus:   VG14-host-forward-told
 * sibling:  forward/host-other-nic
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1), *beside = vis_open(2);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct ibv_mr *again = vis_register(beside, to->addr, DATA, 0);
	struct ibv_mr *box = vis_target(here);
	struct vis_end a, b, next, last;

	vis_connect(&a, here, &b, there);
	vis_connect(&next, beside, &last, here);
	vis_post_recv(&last, box);
	vis_write(&a, from, to, 0);
	vis_poll_send(&a);
	/* One process plays both hosts: its next line is the message to the target. */
	vis_send(&next, again, 0);
	vis_poll_recv(&last);
	vis_look(box);
	vis_poll_send(&next);
	return 0;
}
