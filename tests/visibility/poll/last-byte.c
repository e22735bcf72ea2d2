/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* last-byte.c - the target polls the last byte of a WRITE.
 *
 * question: The last byte of a WRITE is new. Are the bytes before it?
 * reads:    the CPU of the target, after it has seen the last byte.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=wrong
 * kind:     poll
 * rule:     V8: inside a message there is no order of placement. Many NICs place
 *           upward, and hosts in order; none has to.
 * litmus:   M5-last-byte
 * sibling:  host/write-imm
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
	vis_await_byte(&byte[DATA - 1], NEW);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
