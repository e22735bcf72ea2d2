/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recv-buffer.c - the receiver polls the last byte of its receive buffer.
 *
 * question: A SEND fills the receive buffer, and its last byte is new. Is the message
 *           there, before the completion is polled?
 * reads:    the CPU of the receiver, after it has seen the last byte.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=wrong
 * kind:     poll
 * rule:     V8: inside a message there is no order of placement.
 * litmus:   VH12-last-byte-of-send
 * sibling:  host/send-recv-poll
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	const uint8_t *byte = to->addr;
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, to);
	vis_send(&a, from, 0);
	vis_await_byte(&byte[DATA - 1], NEW);
	vis_look(to);
	vis_poll_recv(&b);
	vis_poll_send(&a);
	return 0;
}
