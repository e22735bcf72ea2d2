/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* window.h - limits the bytes that queue pairs have in flight: the peer window and the
 * READ window.
 *
 * The peer window limits the unacknowledged bytes of all RC QPs that send to the same
 * process. The READ window limits the outstanding READ response bytes of all QPs of
 * the device.
 */
#ifndef RN_WINDOW_H
#define RN_WINDOW_H

#include "rocin/gid.h"
#include "rocin/hnode.h"
#include "rocin/types.h"
#include "rocin/wire.h"
#include "transport/container/list.h"
#include "transport/container/timer.h"

enum {
	/* Bytes that a packet occupies in the window besides its payload, for its headers
	 * and for what the receiving kernel stores per packet. That is 832 bytes for a
	 * packet that arrives alone, and under 100 for each packet of a super-packet of
	 * 64 (measured on Linux 6.18).
	 */
	RN_PACKET_COST = 256,
	/* Number of QPs. When so many wait for room in a peer window, they take turns. */
	RN_WINDOW_MANY = 16,
};

struct rn_dev;
struct rn_qp;

/* A peer window: how many bytes the RC QPs of this device that send to one process have
 * in flight together, and the limit of that number. The process is identified by address
 * and slot. The struct is stored inside one of these QPs, and moves to another one when
 * that QP leaves.
 */
struct rn_peer {
	struct rn_hnode node; /* key: hash of @gid and @slot */
	struct rn_gid gid;
	uint8_t slot; /* number of the process: low byte of its QPNs */
	bool limited; /* the window has stopped a QP since in_flight was last 0 */
	bool moved;   /* bytes were acknowledged since the timer `watch` last expired */
	/* All QPs that share the window, by struct rn_qp.peer_link. */
	struct rn_list members;
	struct rn_list busy; /* QPs with packets in flight, by struct rn_qp.busy_link */
	/* QPs that wait for room in the window, by struct rn_qp.window_link. */
	struct rn_list waiting;
	uint32_t waiters; /* length of `waiting` */
	/* Number of bytes that QPs may still send in their turns: the sum of req.grant of
	 * all QPs that share the window.
	 */
	uint32_t granted;
	/* Bytes that may be sent in turns although in_flight exceeds the window. */
	uint32_t replace;
	/* Timer that gives a turn if nothing is acknowledged; in dev->watches. */
	struct rn_timer watch;
	uint32_t window; /* maximum number of unacknowledged bytes */
	/* Size in bytes below which the window doubles per round trip. */
	uint32_t threshold;
	/* Number of unacknowledged bytes: the sum of req.in_flight of all QPs that share
	 * the window.
	 */
	uint32_t in_flight;
	/* Bytes acknowledged since the last growth beyond the threshold. */
	uint32_t acked;
	uint32_t steps;	 /* number of growths beyond the threshold since the last loss */
	uint32_t cuts;	 /* number of losses for which the window was reduced */
	rn_ns cut_at;	 /* time of the last of these losses; valid if cuts > 0 */
	rn_ns grown_at;	 /* time of the last growth beyond the threshold */
	rn_ns rtt;	 /* estimate of the round trip time, near the longest ones */
	rn_ns rtt_least; /* shortest round trip time ever measured; 0: none yet */
	/* What the last call of rn_dev_peer_holds() has stored: its argument taken in 32
	 * bits, and the time.
	 */
	uint32_t taken;
	rn_ns holds_at;
	/* Number of bursts that are still to be watched closely after a loss. */
	uint32_t suspicion;
};

static inline bool rn_window_takes_turns(const struct rn_peer *peer)
{
	return peer->waiters >= RN_WINDOW_MANY;
}

/* Lets the QP, an RC or XRC one, share the window of its peer. The caller calls this at
 * RTR, and when the path has changed.
 */
void rn_window_join(struct rn_qp *qp);
/* Removes the QP, with all that it has in flight, from its peer's window. The caller
 * calls this at RESET, and before it destroys the QP or changes its path.
 */
void rn_window_leave(struct rn_qp *qp);

/* The functions below keep qp->req.in_flight and peer->in_flight consistent. They do
 * nothing for a QP without a peer (UC, UD), which may always send.
 */

/* Return: true if @qp may send a packet that occupies @len bytes of the window. If false,
 * the QP is put into the queue peer->waiting, and is scheduled again when it may send.
 */
bool rn_window_may_send(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_window_charge(struct rn_qp *qp, rn_ns now, uint32_t len);
/* Return: true if this QP could not send another packet now, after sending one of @len
 * bytes.
 */
bool rn_window_closes(const struct rn_qp *qp, uint32_t len);
/* Ends the QP's turn to use the peer window, because it has nothing more to send, or may
 * send nothing more.
 */
void rn_window_yield(struct rn_qp *qp);
/* Removes the QP, which has nothing to send any more, from the queue. */
void rn_window_withdraw(struct rn_qp *qp);
/* Subtracts @len bytes that were acknowledged: the window grows, and waiting QPs
 * are scheduled.
 */
void rn_window_credit(struct rn_qp *qp, rn_ns now, uint32_t len);
/* Subtracts @len bytes from those in flight, because they are given up or will be sent
 * again. The window does not grow.
 */
void rn_window_uncharge(struct rn_qp *qp, uint32_t len);
/* Reduces the window to its minimum, because a NAK, a missing response or a timeout shows
 * a loss. Return: true; false, with nothing changed, if the loss probably has the same
 * cause as one that was counted already.
 */
bool rn_window_loss(struct rn_qp *qp, rn_ns now);
/* Handles the expiry of the timer of a peer window. */
void rn_window_expire(struct rn_dev *dev, struct rn_timer *watch, rn_ns now);

/* Return: true if the packets of @qp have reached its peer, and so are not lost, but the
 * peer process has not read anything since the last call of this function. See
 * rn_dev_peer_holds().
 */
bool rn_window_holds(struct rn_qp *qp, rn_ns now);

/* Has the next bursts to @qp's peer watched closely, because a packet was lost on the way
 * to the peer or back.
 */
void rn_window_suspect(struct rn_qp *qp);

/* ------------------------------------------------------------------ the READ window */
/* The READ window: all QPs together request no more bytes by READs than the sockets of
 * this process can hold (cfg.read_window).
 */

/* Return: true if @qp may send a READ request for @bytes bytes. If false, the QP is
 * queued, and is scheduled again when it may send.
 */
bool rn_read_window_open(struct rn_qp *qp, rn_ns now, uint32_t bytes);

/* Adds @bytes, for which @qp has sent a READ request. */
void rn_read_window_charge(struct rn_qp *qp, uint32_t bytes);
/* Subtracts @bytes of READ responses that have arrived, or will never arrive. */
void rn_read_window_credit(struct rn_dev *dev, uint32_t bytes);

/* If it is @qp's turn to use the READ window, gives the turn to the next QP of the queue.
 */
void rn_read_window_yield(struct rn_qp *qp);
/* Removes @qp, which has no READ requests to send any more, from the queue. */
void rn_read_window_withdraw(struct rn_qp *qp);

#endif /* RN_WINDOW_H */
