/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reuse-poll.c - the source of a WRITE is filled again after its completion.
 *
 * question: The completion of the WRITE has been polled. May the source be filled with
 *           the next message?
 * reads:    the NIC of the requester, when it fetches the payload.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V2 and V1: the completion gives the source back.
 * litmus:   R2-src-reuse+poll
 * sibling:  source/reuse
 * example:  source-reuse --mended
 */
#include "../kit.h"
#include <string.h>

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_send(&a);
	memset(from->addr, 0x77, DATA);
	vis_poll_recv(&b);
	vis_look_unless(to, 0x77);
	return 0;
}
