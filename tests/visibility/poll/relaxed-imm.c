/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* relaxed-imm.c - relaxed data, then an immediate whose completion is polled.
 *
 * question: Data and flag are in regions with relaxed ordering, and the target polls
 *           the completion of an immediate. Does it still cover them?
 * reads:    the CPU of the target, after the receive completion of the immediate.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V12: completions keep their meaning under relaxed ordering.
 * litmus:   VH9-relaxed-imm
 * sibling:  poll/relaxed-flag
 */
#include "../kit.h"

static _Alignas(4096) uint8_t data[DATA];
static _Alignas(4096) uint64_t flag;

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *one = vis_word(here, 1);
	struct ibv_mr *to = vis_register(there, data, DATA, IBV_ACCESS_RELAXED_ORDERING);
	struct ibv_mr *word =
		vis_register(there, &flag, sizeof(flag), IBV_ACCESS_RELAXED_ORDERING);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_write_imm(&a, one, word, 0);
	vis_poll_recv(&b);
	vis_look_at(&flag, sizeof(flag));
	vis_look_at(data, DATA);
	vis_poll_send(&a);
	return 0;
}
