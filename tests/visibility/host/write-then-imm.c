/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write-then-imm.c - WRITEs that an immediate of the same queue pair follows.
 *
 * question: Many WRITEs, and one immediate at the end. Does its completion cover the
 *           WRITEs before it?
 * reads:    the CPU of the target, after the receive completion of the immediate.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V1 and V5: WRITEs of one queue pair keep their order, and a receive
 *           completion covers all that came before it.
 * litmus:   M4-write;write+imm
 * sibling:  host/write-requester-poll
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *flag = vis_word(here, 1);
	struct ibv_mr *to = vis_target(there), *more = vis_target(there);
	struct ibv_mr *word = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_write(&a, from, more, VIS_UNSIGNALED);
	vis_write_imm(&a, flag, word, 0);
	vis_poll_recv(&b);
	vis_look(to);
	vis_look(more);
	vis_look(word);
	vis_poll_send(&a);
	return 0;
}
