/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-poll.c - the result of a READ, after its completion.
 *
 * question: A READ has completed. May the CPU look at what it brought to host memory?
 * reads:    the CPU of the requester, after it has polled the completion of the READ.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V1: the completion of a READ covers the data that it returned; P1: the
 *           completion entry takes the same way to host memory behind the data.
 * litmus:   R6-read-poll
 * sibling:  host/read-told-by-peer
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(there), *to = vis_target(here);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_read(&a, to, from, 0);
	vis_poll_send(&a);
	vis_look(to);
	return 0;
}
