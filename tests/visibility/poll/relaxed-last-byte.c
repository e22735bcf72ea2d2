/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* relaxed-last-byte.c - the last byte of a WRITE into a region with relaxed ordering.
 *
 * question: The target polls the last byte of a WRITE into a region with relaxed
 *           ordering. Are the bytes before it there?
 * reads:    the CPU of the target, after it has seen the last byte.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     poll
 * rule:     V12 and V8: relaxed writes overtake each other; ibv_reg_mr(3) says that
 *           polling the last byte does not work then.
 * litmus:   VH10-relaxed-last-byte
 * sibling:  poll/relaxed-imm
 */
#include "../kit.h"

static _Alignas(4096) uint8_t data[DATA];

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here);
	struct ibv_mr *to = vis_register(there, data, DATA, IBV_ACCESS_RELAXED_ORDERING);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, 0);
	vis_await_byte(&data[DATA - 1], NEW);
	vis_look_at(data, DATA);
	vis_poll_send(&a);
	return 0;
}
