/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host-other-nic.c - host memory is forwarded by another NIC than received it.
 *
 * question: Data comes into host memory; after the completion of the immediate the CPU
 *           SENDs it on by another NIC of the host. Does the next host get the data?
 * reads:    the other NIC, when it reads what it sends.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V1: the completion covers the data in host memory, for the CPU and for what
 *           the CPU asks others to do.
 * litmus:   VG13-host-forward-by-other-nic
 * sibling:  forward/host-requester-poll
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1), *beside = vis_open(2);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct ibv_mr *again = vis_register(beside, to->addr, DATA, 0);
	struct ibv_mr *box = vis_target(here);
	struct vis_end a, b, next, last;

	vis_connect(&a, here, &b, there);
	vis_connect(&next, beside, &last, here);
	vis_post_recv(&b, NULL);
	vis_post_recv(&last, box);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_send(&next, again, 0);
	vis_poll_recv(&last);
	vis_look(box);
	vis_poll_send(&next);
	vis_poll_send(&a);
	return 0;
}
