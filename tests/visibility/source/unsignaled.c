/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unsignaled.c - the source of an unsignaled WRITE, after a later completion.
 *
 * question: A WRITE asked for no completion; that of the WRITE behind it has been
 *           polled. May the source of the first be filled again?
 * reads:    the NIC of the requester, when it fetches the payload.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V4: a completion covers what was posted before it on its queue pair.
 * litmus:   VS2-unsignaled-source
 * sibling:  source/other-qp
 */
#include "../kit.h"
#include <string.h>

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *first = vis_source(here), *second = vis_source(here);
	struct ibv_mr *to = vis_target(there), *more = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_write(&a, first, to, VIS_UNSIGNALED);
	vis_write_imm(&a, second, more, 0);
	vis_poll_send(&a);
	memset(first->addr, 0x77, DATA);
	vis_poll_recv(&b);
	vis_look_unless(to, 0x77);
	return 0;
}
