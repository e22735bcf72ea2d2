/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_wires.c - what a client says and hears about local wires. See rocind_client.h.
 */
#include <errno.h>
#include <unistd.h>

#include "rocind_conn.h"

static_assert((int)RN_ROCIND_WIRES_MAX == (int)RN_CTL_WIRES_MAX, "same wires");

void rn_rocind_take_wires(struct rn_rocind *r, bool bare)
{
	r->takes_wires = true;
	r->takes_bare = bare;
}

static int say(struct rn_rocind *r, enum rn_ctl_type type,
	       const struct rn_rocind_ends *ends, bool lost)
{
	const struct rn_ctl_wire_ask msg = { .hdr = rn_ctl_hdr(type),
					     .ends = { .local = ends->local,
						       .peer = ends->peer,
						       .peer_slot = ends->peer_slot,
						       .lost = lost } };
	int before, rc;

	if (r->gone)
		return -ECONNRESET;
	before = rn_rocind_cancel_off();
	rc = rn_ctl_send(r->sock, &msg, NULL, 0);
	rn_rocind_cancel_restore(before);
	return rc == 0 || rc == -EAGAIN ? rc : -ECONNRESET;
}

int rn_rocind_ask_wire(struct rn_rocind *r, const struct rn_rocind_ends *ends, bool lost)
{
	return say(r, RN_CTL_WIRE_ASK, ends, lost);
}

int rn_rocind_drop_wire(struct rn_rocind *r, const struct rn_rocind_ends *ends)
{
	return say(r, RN_CTL_WIRE_DROP, ends, false);
}

static struct rn_rocind_ends ends_of(const struct rn_ctl_ends *ends)
{
	return (struct rn_rocind_ends){ .local = ends->local,
					.peer = ends->peer,
					.peer_slot = ends->peer_slot };
}

bool rn_rocind_wire_event(const struct rn_ctl_packet *pkt, struct rn_rocind_event *event)
{
	const struct rn_ctl_wire *up = &pkt->msg.wire;
	const struct rn_ctl_wire_down *down = &pkt->msg.wire_down;

	if (pkt->msg.hdr.type == RN_CTL_WIRE_DOWN) {
		event->kind = RN_ROCIND_WIRE_DOWN;
		event->ends = ends_of(&down->ends);
		event->err = down->err;
		return down->err >= 0;
	}
	if (pkt->fd_count != RN_CTL_WIRE_FDS || up->role > 1 ||
	    up->bit >= RN_CTL_WIRES_MAX || up->peer_bit >= RN_CTL_WIRES_MAX)
		return false;
	event->kind = RN_ROCIND_WIRE;
	event->ends = ends_of(&up->ends);
	event->wire = (struct rn_rocind_wire){
		.role = up->role,
		.bit = up->bit,
		.peer_bit = up->peer_bit,
		.bare = up->bare == 1,
		.rings = pkt->fd[RN_CTL_WIRE_RINGS],
		.peer_page = pkt->fd[RN_CTL_WIRE_PEER_PAGE],
		.peer_event = pkt->fd[RN_CTL_WIRE_PEER_EVENT],
		.page = pkt->fd[RN_CTL_WIRE_PAGE],
		.event = pkt->fd[RN_CTL_WIRE_EVENT],
	};
	return true;
}

void rn_rocind_decline_wire(struct rn_rocind *r, const struct rn_ctl_wire *wire,
			    struct rn_rocind_event *event)
{
	*event = (struct rn_rocind_event){ .kind = RN_ROCIND_WIRE_DOWN,
					   .gid_idx = RN_GID_MAX,
					   .sock = -1,
					   .text = -1,
					   .ends = ends_of(&wire->ends),
					   .err = EMFILE };
	/* If rocind does not hear it, the peer finds the ring full, and goes by UDP. */
	(void)rn_rocind_drop_wire(r, &event->ends);
}

void rn_rocind_close_wire(const struct rn_rocind_wire *wire)
{
	close(wire->rings);
	close(wire->peer_page);
	close(wire->peer_event);
	close(wire->page);
	close(wire->event);
}
