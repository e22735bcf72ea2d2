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
	/* When at least this number of QPs wait for room in a peer window, they take
	 * turns.
	 */
	RN_WINDOW_MANY = 16,
};

struct rn_dev;
struct rn_qp;

/* A peer window: the number of bytes that all RC QPs of this device which send to the
 * same process have in flight together, and its limit. The process is identified by
 * address and slot. The struct is stored inside one of these QPs, and moves to another
 * one when that QP leaves.
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
	/* Number of bytes that may still be sent in turns although in_flight exceeds the
	 * window.
	 */
	uint32_t replace;
	/* Timer, in dev->watches: when it expires and nothing was acknowledged, a
	 * waiting QP gets a turn nevertheless.
	 */
	struct rn_timer watch;
	uint32_t window; /* maximum number of unacknowledged bytes */
	/* Below this size in bytes, the window doubles per round trip. */
	uint32_t threshold;
	/* Number of unacknowledged bytes: the sum of req.in_flight of all QPs that share
	 * the window.
	 */
	uint32_t in_flight;
	/* Number of bytes that were acknowledged since the window last grew in a step,
	 * beyond the threshold.
	 */
	uint32_t acked;
	uint32_t steps; /* growths since the last loss while @window was >= @threshold */
	uint32_t cuts;	/* number of losses for which the window was reduced */
	rn_ns cut_at;	/* time of the last of these losses; valid if cuts > 0 */
	rn_ns grown_at; /* time of the last growth that @steps counts */
	/* estimate of the round trip time, close to the longest ones measured */
	rn_ns rtt;
	rn_ns rtt_least; /* shortest round trip time ever measured; 0: none yet */
	/* Argument @taken of the last call of rn_dev_peer_holds(), folded into 32 bits,
	 * and the time of that call.
	 */
	uint32_t taken;
	rn_ns holds_at;
	/* Number of further bursts (bytes sent in one go) that are watched closely,
	 * because a packet was lost.
	 */
	uint32_t suspicion;
};

static inline bool rn_window_takes_turns(const struct rn_peer *peer)
{
	return peer->waiters >= RN_WINDOW_MANY;
}

/* Lets the RC or XRC QP share the window of its peer. Called when the QP goes to RTR,
 * and when its path has changed.
 */
void rn_window_join(struct rn_qp *qp);
/* Removes the QP, with all that it has in flight, from the window of its peer. Called
 * when the QP goes to RESET, and before it is destroyed or its path changes.
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
/* Return: true if this QP could send no further packet for now after a packet of @len
 * bytes.
 */
bool rn_window_closes(const struct rn_qp *qp, uint32_t len);
/* Ends the QP's turn to use the peer window, because it has nothing more to send, or may
 * send nothing more.
 */
void rn_window_yield(struct rn_qp *qp);
/* Removes the QP, which has nothing to send any more, from the queue peer->waiting. */
void rn_window_withdraw(struct rn_qp *qp);
/* Subtracts @len bytes that were acknowledged: the window grows, and waiting QPs
 * are scheduled.
 */
void rn_window_credit(struct rn_qp *qp, rn_ns now, uint32_t len);
/* Subtracts @len bytes from those in flight, because they are given up or will be sent
 * again. The window does not grow.
 */
void rn_window_uncharge(struct rn_qp *qp, uint32_t len);
/* Called when a NAK, a missing response or a timeout shows that a packet was lost:
 * reduces the window to its minimum. Return: true; false, with nothing changed, if the
 * loss probably has the same cause as one that was counted already.
 */
bool rn_window_loss(struct rn_qp *qp, rn_ns now);
/* Called when the timer @watch of a peer window has expired. */
void rn_window_expire(struct rn_dev *dev, struct rn_timer *watch, rn_ns now);

/* Return: true if @qp's packets have reached the host of its peer and wait there: the
 * peer process has read nothing since the last call of this function. See
 * rn_dev_peer_holds().
 */
bool rn_window_holds(struct rn_qp *qp, rn_ns now);

/* Called when a packet was lost on the way to @qp's peer or back. The next bursts to
 * that peer will be watched closely (probe.c).
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

/* Called when @qp has sent a READ request: adds its @bytes to those outstanding. */
void rn_read_window_charge(struct rn_qp *qp, uint32_t bytes);
/* Subtracts @bytes of READ responses that have arrived, or will never arrive. */
void rn_read_window_credit(struct rn_dev *dev, uint32_t bytes);

/* Called when @qp has had its turn to use the READ window: gives the turn to the next QP
 * that waits. Does nothing if it was not @qp's turn.
 */
void rn_read_window_yield(struct rn_qp *qp);
/* Removes @qp, which has no READ requests to send any more, from the queue of the READ
 * window.
 */
void rn_read_window_withdraw(struct rn_qp *qp);

#endif /* RN_WINDOW_H */
