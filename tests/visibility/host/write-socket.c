/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write-socket.c - WRITE, its completion, then a message by a socket to the target.
 *
 * question: The requester polls the completion of its WRITE, then tells the target by
 *           TCP. May the target look?
 * reads:    the CPU of the target, another process, after the message.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     unordered
 * rule:     V10 and P6: the message goes another way and pushes nothing that is between
 *           the NIC of the target and its memory.
 * litmus:   S12-ISA2-cpu-at-target
 * sibling:  host/write-send
 */
#include "../kit.h"

/* Host A, which writes. */
static void write_to_target(const struct vis_peer *peer)
{
	struct vis_nic *nic = vis_open(0);
	struct ibv_mr *from = vis_source(nic);
	struct ibv_mr *to;
	struct vis_end a;

	vis_connect_peer(peer, &a, nic);
	to = vis_take_region(peer);
	vis_write(&a, from, to, 0);
	vis_poll_send(&a);
	vis_tell(peer);
}

/* Host B, which reads. */
static void read_target(const struct vis_peer *peer)
{
	struct vis_nic *nic = vis_open(1);
	struct ibv_mr *to = vis_target(nic);
	struct vis_end b;

	vis_connect_peer(peer, &b, nic);
	vis_give_region(peer, to);
	vis_hear(peer);
	vis_look(to);
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
