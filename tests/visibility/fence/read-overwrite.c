/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-overwrite.c - READ of remote bytes, then a WRITE of the same bytes.
 *
 * question: A READ saves remote bytes, the WRITE behind it overwrites them. Does the
 *           READ return the old bytes?
 * reads:    the NIC of the target, when it serves the READ.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     fence
 * rule:     V6: a WRITE may be executed before the READ that was posted before it.
 * litmus:   Q2-read-write
 * sibling:  fence/read-overwrite-fenced
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
	vis_write(&a, from, remote, 0);
	vis_poll_send(&a);
	vis_poll_send(&a);
	vis_look_unless(old, NEW);
	return 0;
}
