/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write-send.c - WRITE, then a SEND on the same queue pair to the target.
 *
 * question: The requester tells the target of its WRITE by a SEND on the same queue
 *           pair. May the target look?
 * reads:    the CPU of the target, another process, after the receive completion of the
 *           SEND.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V1 and V5: a receive completion covers the WRITEs before it on this queue
 *           pair.
 * litmus:   M2-write+send
 * sibling:  host/write-socket
 */
#include "../kit.h"

/* Host A, which writes. */
static void write_to_target(const struct vis_peer *peer)
{
	struct vis_nic *nic = vis_open(0);
	struct ibv_mr *from = vis_source(nic), *note = vis_word(nic, 1);
	struct ibv_mr *to;
	struct vis_end a;

	vis_connect_peer(peer, &a, nic);
	to = vis_take_region(peer);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_send(&a, note, 0);
	vis_poll_send(&a);
}

/* Host B, which reads. */
static void read_target(const struct vis_peer *peer)
{
	struct vis_nic *nic = vis_open(1);
	struct ibv_mr *to = vis_target(nic), *box = vis_word(nic, 0);
	struct vis_end b;

	vis_connect_peer(peer, &b, nic);
	vis_post_recv(&b, box);
	vis_give_region(peer, to);
	vis_poll_recv(&b);
	vis_look(to);
	vis_look(box);
}

int main(void)
{
	struct vis_peer peer;

	if (vis_fork(&peer))
		write_to_target(&peer);
	else
		read_target(&peer);
	return vis_join(&peer);
}
