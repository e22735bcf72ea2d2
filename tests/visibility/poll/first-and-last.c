/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* first-and-last.c - the target polls the first and the last byte of a WRITE.
 *
 * question: The first and the last byte of a WRITE are new. Is what lies between?
 * reads:    the CPU of the target, after it has seen both bytes.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=wrong
 * kind:     poll
 * rule:     V8: inside a message there is no order of placement, so two bytes say
 *           nothing of a third.
 * litmus:   M6-first-and-last
 * sibling:  host/write-imm
 * example:  last-byte
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	const uint8_t *byte = to->addr;
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, 0);
	vis_await_byte(&byte[0], NEW);
	vis_await_byte(&byte[DATA - 1], NEW);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
