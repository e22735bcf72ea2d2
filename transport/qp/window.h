/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* window.h - what a queue pair may have under way: the window of its peer, and of READs.
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
	/* What a packet costs in the window besides its payload: headers, and what a
	 * receiving kernel keeps per packet: 832 bytes for one that comes alone, under
	 * 100 for one of 64 in a super-packet (measured, Linux 6.18).
	 */
	RN_PACKET_COST = 256,
	RN_WINDOW_MANY = 16, /* so many QPs waiting take turns */
};

struct rn_dev;
struct rn_qp;

/* All RC QPs of this device that talk to one process of one address share a window. It
 * lives inside one of its member QPs and moves to another when that one leaves.
 */
struct rn_peer {
	struct rn_hnode node; /* key: hash of address and slot */
	struct rn_gid gid;
	uint8_t slot; /* low byte of the destination QPN */
	bool limited; /* the window has stopped somebody since nothing was in flight */
	bool moved;   /* something was acknowledged since the watch last looked */
	struct rn_list members; /* struct rn_qp.peer_link */
	struct rn_list busy; /* struct rn_qp.busy_link: those with packets on the way */
	struct rn_list waiting; /* struct rn_qp.window_link: QPs stopped by the window */
	uint32_t waiters;	/* how many those are */
	uint32_t
		granted; /* bytes that QPs may send which have waited: sum of req.grant */
	uint32_t replace;      /* bytes that may be sent though the window is overfull */
	struct rn_timer watch; /* runs while QPs take turns; in dev->watches */
	uint32_t window;       /* bytes that may be unacknowledged */
	uint32_t threshold;    /* below it the window doubles per round trip */
	uint32_t in_flight; /* bytes that are: the sum of req.in_flight of the members */
	uint32_t acked;	    /* bytes since the window last changed, beyond it */
	uint32_t steps;	    /* of growth beyond the threshold since the last loss */
	uint32_t cuts;	    /* how often a loss has made it smaller */
	rn_ns cut_at;	    /* when it did last; valid if cuts > 0 */
	rn_ns grown_at;	    /* last step of growth beyond the threshold */
	rn_ns rtt;	    /* round trip, rather the longest than the mean */
	rn_ns rtt_least;    /* the shortest ever; 0: none yet */
	/* Of rn_dev_peer_holds(): how much the peer had read, and when that was asked. */
	uint32_t taken;
	rn_ns holds_at;
	uint32_t suspicion; /* bursts that are watched closely: something was lost */
};

static inline bool rn_window_takes_turns(const struct rn_peer *peer)
{
	return peer->waiters >= RN_WINDOW_MANY;
}

/* RTR, another path: RC only. */
void rn_window_join(struct rn_qp *qp);
/* RESET, destroy; returns what was in flight. */
void rn_window_leave(struct rn_qp *qp);

/* These keep qp->req.in_flight and peer->in_flight in step. They do nothing for a QP
 * without a peer (UC, UD), which may always send.
 */

/* False: it is queued on peer->waiting and scheduled again when it is its turn. */
bool rn_window_may_send(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_window_charge(struct rn_qp *qp, rn_ns now, uint32_t len);
/* True if this QP could not send another packet after one of @len now. */
bool rn_window_closes(const struct rn_qp *qp, uint32_t len);
/* Its turn is over: it has nothing (more) to send, or may not. */
void rn_window_yield(struct rn_qp *qp);
/* It does not want to send any more. */
void rn_window_withdraw(struct rn_qp *qp);
/* Acknowledged: the window grows, waiting QPs are scheduled. */
void rn_window_credit(struct rn_qp *qp, rn_ns now, uint32_t len);
/* Given up or to be sent again: no growth. */
void rn_window_uncharge(struct rn_qp *qp, uint32_t len);
/* NAK, gap or timeout: the window starts anew, see window.c. False: this loss is an echo
 * of one that was counted.
 */
bool rn_window_loss(struct rn_qp *qp, rn_ns now);
/* The watch of a peer has run out. */
void rn_window_expire(struct rn_dev *dev, struct rn_timer *watch, rn_ns now);

/* What @qp waits for lies before its peer, who has read nothing since it was asked this
 * last. See rn_dev_peer_holds().
 */
bool rn_window_holds(struct rn_qp *qp, rn_ns now);

/* Something was lost on the way to @qp's peer, or back. */
void rn_window_suspect(struct rn_qp *qp);

/* --------------------------------------------------------- READ responses */
/* READs and atomics ask for no more bytes than our own sockets hold (cfg.read_window). */

/* May @qp ask for @bytes? False: it stands in line and is scheduled when it is its turn.
 */
bool rn_read_window_open(struct rn_qp *qp, rn_ns now, uint32_t bytes);

/* It has asked for them. */
void rn_read_window_charge(struct rn_qp *qp, uint32_t bytes);
/* They have come, or will not. */
void rn_read_window_credit(struct rn_dev *dev, uint32_t bytes);

/* It does not use its turn now, if this is its turn. */
void rn_read_window_yield(struct rn_qp *qp);
/* It does not want to ask any more. */
void rn_read_window_withdraw(struct rn_qp *qp);

#endif /* RN_WINDOW_H */
