/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flag-by-atomic.c - data by a WRITE, a flag by FETCH_ADD; the target polls the flag.
 *
 * question: A WRITE of data, then an atomic of the same queue pair that raises a flag
 *           in another region. The target spins on the flag. Is the data there?
 * reads:    the CPU of the target, after it has seen the flag.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2: an atomic of the NIC begins with a read, which pushes the WRITEs before
 *           it, and its write follows.
 * litmus:   M7-write+faa
 * sibling:  poll/flag
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *old = vis_word(here, 0);
	struct ibv_mr *to = vis_target(there), *flag = vis_word(there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_fetch_add(&a, old, flag, 0);
	vis_await_byte(flag->addr, 1);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
