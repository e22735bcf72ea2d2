/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-overwrite-fenced.c - READ of remote bytes, then a fenced WRITE of the same bytes.
 *
 * question: The WRITE behind the READ carries the fence indicator. Does the READ return
 *           the old bytes?
 * reads:    the NIC of the target, when it serves the READ.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V7: the fence lets the WRITE wait until the READ has been answered.
 * litmus:   VF2-war+fence
 * sibling:  fence/read-overwrite
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *old = vis_target(here);
	struct ibv_mr *remote = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_read(&a, old, remote, 0);
	vis_write(&a, from, remote, IBV_SEND_FENCE);
	vis_poll_send(&a);
	vis_poll_send(&a);
	vis_look_unless(old, NEW);
	return 0;
}
