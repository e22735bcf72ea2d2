/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* atomic-poll.c - the result of a FETCH_ADD, after its completion.
 *
 * question: The completion of a FETCH_ADD has been polled. May I look at the old value?
 * reads:    the CPU of the requester, after the completion.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V1: the completion of an atomic covers its result.
 * litmus:   VH3-atomic-poll
 * sibling:  fence/atomic-told-by-peer
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *old = vis_word(here, 0), *counter = vis_word(there, 5);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_fetch_add(&a, old, counter, 0);
	vis_poll_send(&a);
	vis_look(old);
	return 0;
}
