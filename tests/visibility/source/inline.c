/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inline.c - the source of an inline SEND is filled again after posting.
 *
 * question: A SEND was posted with IBV_SEND_INLINE. May its source be filled again at
 *           once?
 * reads:    nobody, after ibv_post_send() has returned.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V3: inline data is copied while the request is posted.
 * litmus:   VS1-inline
 * sibling:  source/send-reuse
 */
#include "../kit.h"
#include <string.h>

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_word(here, 1), *box = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, box);
	vis_send(&a, from, IBV_SEND_INLINE);
	memset(from->addr, 0x77, from->length);
	vis_poll_recv(&b);
	vis_look_unless(box, 0x77);
	vis_poll_send(&a);
	return 0;
}
