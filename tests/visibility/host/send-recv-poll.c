/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send-recv-poll.c - the buffer of a receive, after its completion.
 *
 * question: The receiver has polled the completion of a SEND. May it look at the
 *           message?
 * reads:    the CPU of the receiver, after the receive completion.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V1: a receive completion covers the message.
 * litmus:   VH4-send
 * sibling:  host/send-requester-poll
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
	vis_poll_recv(&b);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
