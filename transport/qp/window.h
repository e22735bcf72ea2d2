/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* window.h - how much a queue pair may have in flight: the peer window and
 * the READ window.
 *
 * All RC QPs that send to one process share the window of that peer. The room for READ
 * responses is shared by all QPs of the device.
 */
#ifndef RN_WINDOW_H
#define RN_WINDOW_H

#include "rocin/gid.h"
#include "rocin/hnode.h"
#include "rocin/psn.h"
#include "rocin/types.h"
#include "transport/container/list.h"
#include "transport/container/timer.h"

enum {
	/* Bytes that a packet costs in the window besides its payload. They stand for
	 * the headers and for what a receiving kernel keeps per packet: 832 bytes for
	 * a packet that comes alone, under 100 for one of 64 in a super-packet
	 * (measured on Linux 6.18).
	 */
	RN_PACKET_COST = 256,
	/* If this many QPs of a peer wait for room, they take turns. */
	RN_WINDOW_MANY = 16,
};

struct rn_dev;
struct rn_qp;

/* What the RC QPs of this device that send to one process (an address and a slot) have in
 * flight together. The struct lies inside one of its member QPs, and moves into another
 * member when that QP leaves.
 */
struct rn_peer {
	struct rn_hnode node; /* key: hash of address and slot */
	struct rn_gid gid;
	uint8_t slot; /* low byte of the destination QPN */
	bool limited; /* the window has stopped a QP since nothing was in flight */
	bool moved;   /* something was acknowledged since `watch` last expired */
	struct rn_list members; /* all QPs of the peer, by struct rn_qp.peer_link */
	struct rn_list busy; /* QPs with packets in flight, by struct rn_qp.busy_link */
	/* QPs stopped by the window, by struct rn_qp.window_link. */
	struct rn_list waiting;
	uint32_t waiters; /* length of `waiting` */
	uint32_t
		/* Bytes that QPs whose turn it is may still send: the sum of
		 * their req.grant.
		 */
		granted;
	/* Bytes that may be sent although more is in flight than the window allows. */
	uint32_t replace;
	struct rn_timer watch; /* runs while QPs take turns; in dev->watches */
	uint32_t window;       /* bytes that may be unacknowledged */
	uint32_t threshold;    /* below this size the window doubles per round trip */
	/* Bytes that are unacknowledged: the sum of req.in_flight of the members. */
	uint32_t in_flight;
	/* Beyond the threshold: bytes acknowledged since the window last grew. */
	uint32_t acked;
	uint32_t steps; /* steps of growth beyond the threshold since the last loss */
	uint32_t cuts;	/* number of losses that have made the window smaller */
	rn_ns cut_at;	/* time of the last such loss; valid if cuts > 0 */
	rn_ns grown_at; /* time of the last step of growth beyond the threshold */
	rn_ns rtt; /* estimate of the round trip time, rather the longest than the mean */
	rn_ns rtt_least; /* shortest round trip time ever measured; 0: none yet */
	/* From rn_dev_peer_holds(): a counter of what the peer has read, and
	 * when the driver reported it.
	 */
	uint32_t taken;
	rn_ns holds_at;
	/* Number of bursts to be watched closely, because something was lost. */
	uint32_t suspicion;
};

static inline bool rn_window_takes_turns(const struct rn_peer *peer)
{
	return peer->waiters >= RN_WINDOW_MANY;
}

/* Add the QP to the window of its peer: at RTR and when the path
 * changes. RC and XRC only.
 */
void rn_window_join(struct rn_qp *qp);
/* Take the QP out of its peer's window, at RESET and destroy, with all that it
 * has in flight.
 */
void rn_window_leave(struct rn_qp *qp);

/* The functions below keep qp->req.in_flight and peer->in_flight in step. They do nothing
 * for a QP without a peer (UC, UD), which may always send.
 */

/* May @qp send a packet that takes @len bytes of the window? If not, the QP is queued on
 * peer->waiting and scheduled again when its turn comes.
 */
bool rn_window_may_send(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_window_charge(struct rn_qp *qp, rn_ns now, uint32_t len);
/* Return: true if, after a packet of @len, this QP could not send another one now. */
bool rn_window_closes(const struct rn_qp *qp, uint32_t len);
/* The QP's turn is over: it has nothing (more) to send, or may not send. */
void rn_window_yield(struct rn_qp *qp);
/* The QP does not want to send any more: take it out of the queue. */
void rn_window_withdraw(struct rn_qp *qp);
/* @len bytes were acknowledged: the window grows, and waiting QPs are scheduled. */
void rn_window_credit(struct rn_qp *qp, rn_ns now, uint32_t len);
/* @len bytes are in flight no longer, because they were given up or will be sent again:
 * the window does not grow.
 */
void rn_window_uncharge(struct rn_qp *qp, uint32_t len);
/* A NAK, a gap or a timeout shows a loss: the window starts at its minimum again, see
 * window.c. Return: false if this loss is an echo of one that was counted already.
 */
bool rn_window_loss(struct rn_qp *qp, rn_ns now);
/* The timer of a peer has expired. */
void rn_window_expire(struct rn_dev *dev, struct rn_timer *watch, rn_ns now);

/* Do the packets of @qp lie unread before its peer, which has read nothing since this was
 * last asked? Such packets are not lost. See rn_dev_peer_holds().
 */
bool rn_window_holds(struct rn_qp *qp, rn_ns now);

/* A packet was lost on the way to @qp's peer, or back: watch the peer's next
 * bursts closely.
 */
void rn_window_suspect(struct rn_qp *qp);

/* --------------------------------------------------------- READ responses */
/* All QPs together ask for no more bytes by READs than our own sockets
 * can hold (cfg.read_window).
 */

/* May @qp send a READ request for @bytes? If not, the QP is queued and scheduled
 * again when its turn comes.
 */
bool rn_read_window_open(struct rn_qp *qp, rn_ns now, uint32_t bytes);

/* @qp has sent a READ request for @bytes. */
void rn_read_window_charge(struct rn_qp *qp, uint32_t bytes);
/* @bytes of READ responses have come, or will never come. */
void rn_read_window_credit(struct rn_dev *dev, uint32_t bytes);

/* If it is the turn of @qp, pass the turn on: @qp does not use it now. */
void rn_read_window_yield(struct rn_qp *qp);
/* @qp does not want to send READ requests any more: take it out of the queue. */
void rn_read_window_withdraw(struct rn_qp *qp);

#endif /* RN_WINDOW_H */
