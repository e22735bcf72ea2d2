/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* relaxed-data.c - data in a region with relaxed ordering, the flag in one without.
 *
 * question: Bulk data goes to a region with relaxed ordering, the flag to one without.
 *           The target polls the flag. Is the data there?
 * reads:    the CPU of the target, after it has seen the flag.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=wrong
 * kind:     poll
 * rule:     V12: a relaxed write may overtake others, but the flag is not relaxed and
 *           overtakes nothing. Where hosts keep no order at all it is like poll/flag.
 * litmus:   VH7-relaxed-data
 * sibling:  poll/relaxed-imm
 */
#include "../kit.h"

static _Alignas(4096) uint8_t data[DATA];
static _Alignas(4096) uint64_t flag;

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *one = vis_word(here, 1);
	struct ibv_mr *to = vis_register(there, data, DATA, IBV_ACCESS_RELAXED_ORDERING);
	struct ibv_mr *word = vis_register(there, &flag, sizeof(flag), 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_write(&a, one, word, 0);
	vis_await_byte(&flag, 1);
	vis_look_at(data, DATA);
	vis_poll_send(&a);
	return 0;
}
