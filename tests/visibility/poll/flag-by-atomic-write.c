/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flag-by-atomic-write.c - data by a WRITE, a flag by ATOMIC WRITE; the target polls the
 * flag.
 *
 * question: A WRITE of data, then an ATOMIC WRITE of the same queue pair that raises a
 *           flag in another region. The target spins on the flag. Is the data there?
 * reads:    the CPU of the target, after it has seen the flag.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V13: an ATOMIC WRITE waits for the requests before it, and is never
 *           relaxed, so it overtakes no data.
 * litmus:   VH13-atomic-write-flag
 * sibling:  poll/flag
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *one = vis_word(here, 1);
	struct ibv_mr *to = vis_target(there), *flag = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_atomic_write(&a, one, flag, 0);
	vis_await_byte(flag->addr, 1);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
