/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* one-word.c - a sequence number and a value in one aligned word.
 *
 * question: The target polls a byte of an aligned word of 8 bytes. Are the other seven
 *           new, too?
 * reads:    the CPU of the target, after it has seen the sequence number.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P7: an aligned word of 8 bytes becomes visible as one. Protocols with a
 *           flag in each word are made of this.
 * litmus:   VH6-one-word
 * sibling:  poll/last-byte
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_word(here, 0x5a5a5a5a00000001),
		      *to = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, 0);
	vis_await_byte(to->addr, 1);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
