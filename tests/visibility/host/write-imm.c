/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write-imm.c - the target of a WRITE with immediate, after its completion.
 *
 * question: The target has polled the completion of a WRITE with immediate. May it look
 *           at the bytes?
 * reads:    the CPU of the target, after the receive completion of the immediate.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V1: a receive completion covers the WRITE that it belongs to, and the
 *           WRITEs before it on this queue pair.
 * litmus:   M3-write+imm
 * sibling:  host/write-requester-poll
 * example:  last-byte --mended
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
