/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* other-qp.c - the source of a WRITE, after the completion of another queue pair.
 *
 * question: WRITEs were posted to two queue pairs, and the completion of the later one
 *           has been polled. May the source of the first be filled again?
 * reads:    the NIC of the requester, when it fetches the payload.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     source
 * rule:     V2 and V11: queue pairs have no order, so the completion of one covers
 *           nothing of the other.
 * litmus:   VS3-source-other-queue
 * sibling:  source/unsignaled
 */
#include "../kit.h"
#include <string.h>

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *first = vis_source(here), *second = vis_source(here);
	struct ibv_mr *to = vis_target(there), *more = vis_target(there);
	struct vis_end a, b, other_a, other_b;

	vis_connect(&a, here, &b, there);
	vis_connect(&other_a, here, &other_b, there);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, first, to, 0);
	vis_write(&other_a, second, more, 0);
	vis_poll_send(&other_a);
	memset(first->addr, 0x77, DATA);
	vis_poll_send(&a);
	vis_poll_recv(&b);
	vis_look_unless(to, 0x77);
	return 0;
}
