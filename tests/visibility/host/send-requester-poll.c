/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send-requester-poll.c - the buffer of a receive, after the completion of the sender.
 *
 * question: The sender has its completion, which means that the message was received.
 *           May the receiver look at its buffer without polling?
 * reads:    the CPU of the receiver, which was told of the completion of the sender.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     unordered
 * rule:     V10: the completion of the sender says that the NIC of the receiver has
 *           accepted the message. Only the receive completion covers the buffer.
 * litmus:   VH5-send-told
 * sibling:  host/send-recv-poll
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, to);
	vis_send(&a, from, 0);
	vis_poll_send(&a);
	/* One process plays both hosts: its next line is the message to the receiver. */
	vis_look(to);
	vis_poll_recv(&b);
	return 0;
}
