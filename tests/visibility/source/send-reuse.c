/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send-reuse.c - the source of a SEND is filled again after posting.
 *
 * question: ibv_post_send() has returned for a SEND. May its source be filled with the
 *           next message?
 * reads:    the NIC of the requester, when it fetches the payload.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     source
 * rule:     V2: the source belongs to the NIC until the completion has been polled.
 * litmus:   VS6-send-source
 * sibling:  source/reuse-poll
 */
#include "../kit.h"
#include <string.h>

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, to);
	vis_send(&a, from, 0);
	memset(from->addr, 0x77, DATA);
	vis_poll_send(&a);
	vis_poll_recv(&b);
	vis_look_unless(to, 0x77);
	return 0;
}
