/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* atomic-then-both.c - FETCH_ADD of a counter, a WRITE that does not wait, one that does.
 *
 * question: Behind an atomic come a WRITE of data without a fence and a fenced WRITE of
 *           a flag. The target polls the flag. Has the counter been added to?
 * reads:    the CPU of the target, after it has seen the flag.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V7: the fence lets the WRITE of the flag wait for the atomic, whatever the
 *           WRITE between them does.
 * litmus:   VF5-atomic-write-write+fence
 * sibling:  poll/atomic-then-flag
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *old = vis_word(here, 0), *one = vis_word(here, 1);
	struct ibv_mr *counter = vis_word(there, 0), *flag = vis_word(there, 0);
	struct ibv_mr *from = vis_source(here), *data = vis_target(there);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_fetch_add(&a, old, counter, VIS_UNSIGNALED);
	vis_write(&a, from, data, VIS_UNSIGNALED);
	vis_write(&a, one, flag, IBV_SEND_FENCE);
	vis_await_byte(flag->addr, 1);
	vis_look(counter);
	vis_poll_send(&a);
	return 0;
}
