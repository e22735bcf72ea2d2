/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flag.c - data by one WRITE, a flag by the next; the target polls the flag.
 *
 * question: Two WRITEs of one queue pair: data, then a flag in another region. The
 *           target spins on the flag. Is the data there?
 * reads:    the CPU of the target, after it has seen the flag.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=wrong
 * kind:     poll
 * rule:     V5 and P1: WRITEs of one queue pair are placed in order where the NIC and
 *           the host keep the order of PCIe; no text promises it (place=any).
 * litmus:   M1-write+write
 * sibling:  poll/flag-by-atomic
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
	vis_write(&a, one, flag, 0);
	vis_await_byte(flag->addr, 1);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
