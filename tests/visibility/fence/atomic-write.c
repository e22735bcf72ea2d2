/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* atomic-write.c - FETCH_ADD, then a WRITE of its result.
 *
 * question: A WRITE is posted behind a FETCH_ADD, from the word that the old value
 *           comes to. Does it send the old value?
 * reads:    the NIC of the requester, when it fetches the payload of the WRITE.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     fence
 * rule:     V6: a WRITE need not wait for the atomic before it.
 * litmus:   VF3-atomic-write
 * sibling:  fence/atomic-write-fenced
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *old = vis_word(here, 0), *counter = vis_word(there, 5);
	struct ibv_mr *to = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_fetch_add(&a, old, counter, 0);
	vis_write_imm(&a, old, to, 0);
	vis_poll_send(&a);
	vis_poll_send(&a);
	vis_poll_recv(&b);
	vis_look(to);
	return 0;
}
