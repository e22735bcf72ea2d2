/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* atomic-told-by-peer.c - the result of a FETCH_ADD, before its completion.
 *
 * question: The peer has received a SEND that was fenced behind a FETCH_ADD, and has
 *           told me so. May I look at the old value without polling?
 * reads:    the CPU of the requester, after it has heard of the receive completion of
 *           the peer.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     unordered
 * rule:     V1: only the completion of the atomic covers its result, which comes to
 *           memory like any other write.
 * litmus:   VH2-atomic-told-by-peer
 * sibling:  fence/atomic-poll
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *old = vis_word(here, 0), *counter = vis_word(there, 5);
	struct ibv_mr *note = vis_word(here, 1), *box = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, box);
	vis_fetch_add(&a, old, counter, 0);
	vis_send(&a, note, IBV_SEND_FENCE | IBV_SEND_INLINE);
	vis_poll_recv(&b);
	vis_look(old);
	vis_poll_send(&a);
	return 0;
}
