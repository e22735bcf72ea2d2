/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write-read-socket.c - WRITE, a READ of what was written, then a message by a socket.
 *
 * question: The requester READs back one word of what it wrote, polls, and tells the
 *           target by TCP. May the target look?
 * reads:    the CPU of the target, another process, after the message.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P2: a read pushes the writes before it on its way, so its answer shows that
 *           they are in memory.
 * litmus:   M11-two-NICs+read-flush
 * sibling:  host/write-socket
 */
#include "../kit.h"

/* Host A, which writes. */
static void write_to_target(const struct vis_peer *peer)
{
	struct vis_nic *nic = vis_open(0);
	struct ibv_mr *from = vis_source(nic), *trash = vis_word(nic, 0);
	struct ibv_mr *to;
	struct vis_end a;

	vis_connect_peer(peer, &a, nic);
	to = vis_take_region(peer);
	vis_write(&a, from, to, VIS_UNSIGNALED);
	vis_read(&a, trash, to, 0);
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
