/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* atomic-write-fenced.c - FETCH_ADD, then a fenced WRITE of its result.
 *
 * question: The WRITE behind the FETCH_ADD carries the fence indicator. Does it send
 *           the old value?
 * reads:    the NIC of the requester, when it fetches the payload of the WRITE.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V7: a fenced request does not begin before the READs and atomics before it
 *           have completed.
 * litmus:   VF4-atomic-write+fence
 * sibling:  fence/atomic-write
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *old = vis_word(here, 0), *counter = vis_word(there, 5);
	struct ibv_mr *to = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_fetch_add(&a, old, counter, 0);
	vis_write_imm(&a, old, to, IBV_SEND_FENCE);
	vis_poll_send(&a);
	vis_poll_send(&a);
	vis_poll_recv(&b);
	vis_look(to);
	return 0;
}
