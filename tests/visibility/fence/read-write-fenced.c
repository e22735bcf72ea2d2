/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-write-fenced.c - READ into a buffer, then a fenced WRITE from it.
 *
 * question: The WRITE behind the READ carries the fence indicator. Does it send what
 *           was READ?
 * reads:    the NIC of the requester, when it fetches the payload of the WRITE.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V7: a fenced request does not begin before the READs and atomics before it
 *           have completed.
 * litmus:   VF1-read-write+fence
 * sibling:  fence/read-write
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(there), *middle = vis_target(here);
	struct ibv_mr *to = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_read(&a, middle, from, 0);
	vis_write_imm(&a, middle, to, IBV_SEND_FENCE);
	vis_poll_send(&a);
	vis_poll_send(&a);
	vis_poll_recv(&b);
	vis_look(to);
	return 0;
}
