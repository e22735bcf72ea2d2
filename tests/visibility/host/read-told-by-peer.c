/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read-told-by-peer.c - the result of a READ, of which the peer says that it was
 * answered.
 *
 * question: The peer has received a SEND that was fenced behind my READ, and has told
 *           me so. The fence waited for the READ, so may I look at its result without
 *           polling?
 * reads:    the CPU of the requester, after it has heard of the receive completion of
 *           the peer.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     unordered
 * rule:     V1: only the completion of the READ covers its data. The fence waits until
 *           the NIC has the answer; the data may still be on its way from the NIC to
 *           memory.
 * litmus:   VH1-read-told-by-peer
 * sibling:  host/read-poll
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(there), *to = vis_target(here);
	struct ibv_mr *note = vis_word(here, 1), *box = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, box);
	vis_read(&a, to, from, 0);
	vis_send(&a, note, IBV_SEND_FENCE | IBV_SEND_INLINE);
	vis_poll_recv(&b);
	vis_look(to);
	return 0;
}
