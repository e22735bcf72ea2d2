/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* last-byte-of-read.c - the requester polls the last byte that a READ brings.
 *
 * question: The last byte of a READ has arrived, its completion has not been taken. Are
 *           the bytes before it there?
 * reads:    the CPU of the requester, after it has seen the last byte.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=wrong
 * kind:     poll
 * rule:     V8: the data of a READ is written like that of a WRITE, in order only where
 *           NIC and host keep it.
 * litmus:   VH11-last-byte-of-read
 * sibling:  host/read-poll
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(there), *to = vis_target(here);
	const uint8_t *byte = to->addr;
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_read(&a, to, from, 0);
	vis_await_byte(&byte[DATA - 1], NEW);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
