/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-unsignaled.c - an unsignaled READ before a signaled one.
 *
 * question: The first of two READs asked for no completion. Does the completion of the
 *           second cover it?
 * reads:    the CPU of the requester, after it has polled the completion of the second
 *           READ.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V4: completions of one send queue come in the order of posting, and each
 *           covers what was posted before it.
 * litmus:   R9-unsignaled-read
 * sibling:  host/read-told-by-peer
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(there), *more = vis_source(there);
	struct ibv_mr *first = vis_target(here), *second = vis_target(here);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_read(&a, first, from, VIS_UNSIGNALED);
	vis_read(&a, second, more, 0);
	vis_poll_send(&a);
	vis_look(first);
	vis_look(second);
	return 0;
}
