/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* atomic-then-flag.c - FETCH_ADD of a counter, then a WRITE of a flag, without a fence.
 *
 * question: An atomic adds to a counter, the next WRITE raises a flag. The target polls
 *           the flag. Has the counter been added to?
 * reads:    the CPU of the target, after it has seen the flag.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     poll
 * rule:     V6: a WRITE behind an atomic may be executed before it, unless it is
 *           fenced.
 * litmus:   Q11-faa-write
 * sibling:  poll/atomic-then-fenced-flag
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *old = vis_word(here, 0), *one = vis_word(here, 1);
	struct ibv_mr *counter = vis_word(there, 0), *flag = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_fetch_add(&a, old, counter, VIS_UNSIGNALED);
	vis_write(&a, one, flag, 0);
	vis_await_byte(flag->addr, 1);
	vis_look(counter);
	vis_poll_send(&a);
	return 0;
}
