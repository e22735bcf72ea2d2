/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* relaxed-flag.c - the flag in a region with relaxed ordering.
 *
 * question: The flag that follows the data is in a region with relaxed ordering. The
 *           target polls it. Is the data there?
 * reads:    the CPU of the target, after it has seen the flag.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     poll
 * rule:     V12 (A2b): a relaxed write may overtake the writes before it, and here that
 *           is the flag.
 * litmus:   VH8-relaxed-flag
 * sibling:  poll/relaxed-data
 */
#include "../kit.h"

static _Alignas(4096) uint8_t data[DATA];
static _Alignas(4096) uint64_t flag;

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *one = vis_word(here, 1);
	struct ibv_mr *to = vis_register(there, data, DATA, 0);
	struct ibv_mr *word =
		vis_register(there, &flag, sizeof(flag), IBV_ACCESS_RELAXED_ORDERING);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_write(&a, one, word, 0);
	vis_await_byte(&flag, 1);
	vis_look_at(data, DATA);
	vis_poll_send(&a);
	return 0;
}
