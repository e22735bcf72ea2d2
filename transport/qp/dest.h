/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dest.h - the window shared by all QPs towards one destination process. */
#ifndef RN_DEST_H
#define RN_DEST_H

#include "list.h"
#include "rocin/hnode.h"
#include "rocin/netdev.h"
#include "rocin/psn.h"
#include "timer.h"

enum {
	/* What a packet costs in the window besides its payload: headers, and what a
	 * receiving kernel keeps per packet: 832 bytes for one that comes alone, under
	 * 100 for one of 64 in a super-packet (measured, Linux 6.18).
	 */
	RN_PACKET_COST = 256,
};

struct rn_dev;
struct rn_qp;

/* All RC QPs of this device that talk to one process of one address share a window. It
 * lives inside one of its member QPs and moves to another when that one leaves.
 */
struct rn_dest {
	struct rn_hnode node; /* key: hash of address and slot */
	struct rn_gid gid;
	uint8_t slot; /* low byte of the destination QPN */
	bool limited; /* the window has stopped somebody since nothing was in flight */
	bool moved;   /* something was acknowledged since the watch last looked */
	struct rn_list members; /* struct rn_qp.dest_link */
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
	rn_ns holds_at;	    /* ... and when */
	uint32_t taken;	    /* rn_dev_peer_holds(): how much it has read, ... */
	uint32_t suspicion; /* bursts that are watched closely: something was lost */
};

/* RTR, another path: RC only. */
void rn_dest_join(struct rn_qp *qp);
/* RESET, destroy; returns what was in flight. */
void rn_dest_leave(struct rn_qp *qp);

/* These keep qp->req.in_flight and dest->in_flight in step. They do nothing for a QP
 * without a destination (UC, UD), which may always send.
 */

/* False: it is queued on dest->waiting and scheduled again when it is its turn. */
bool rn_dest_may_send(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_dest_charge(struct rn_qp *qp, rn_ns now, uint32_t len);
/* True if this QP could not send another packet after one of @len now. */
bool rn_dest_closes(const struct rn_qp *qp, uint32_t len);
/* Its turn is over: it has nothing (more) to send, or may not. */
void rn_dest_yield(struct rn_qp *qp);
/* It does not want to send any more. */
void rn_dest_withdraw(struct rn_qp *qp);
/* Acknowledged: the window grows, waiting QPs are scheduled. */
void rn_dest_credit(struct rn_qp *qp, rn_ns now, uint32_t len);
/* Given up or to be sent again: no growth. */
void rn_dest_uncharge(struct rn_qp *qp, uint32_t len);
/* NAK, gap or timeout: the window starts anew, see dest.c. False: this loss is an echo of
 * one that was counted.
 */
bool rn_dest_loss(struct rn_qp *qp, rn_ns now);
/* The watch of a destination has run out. */
void rn_dest_expire(struct rn_dev *dev, struct rn_timer *watch, rn_ns now);

/* What @qp waits for lies before its peer, who has read nothing since it was asked this
 * last. See rn_dev_peer_holds().
 */
bool rn_dest_holds(struct rn_qp *qp, rn_ns now);

/* ------------------------------------------------------------------ probe.c */
/* What one QP does about losses that show by silence. */
struct rn_probe {
	rn_ns deadline; /* RN_NEVER: not watching */
	rn_ns wait;
	rn_ns until; /* end of the watch, if it is a close one */
	/* Oldest PSN not acknowledged, and newest that was answered, when the wait began.
	 */
	struct rn_psn una, heard;
	bool is_close;	 /* for a reason, and not in case */
	bool lossy;	 /* ... and that is a loss */
	bool was_silent; /* it has gone back because nothing came */
};

/* @qp has heard from its peer of a loss: watch all QPs that share the way for a while. */
void rn_probe_start(struct rn_qp *qp, rn_ns now);
/* Watch @qp alone, though nobody has heard of a loss: what it has sent is all for now,
 * and nothing behind it would show that it is lost.
 */
void rn_probe_watch(struct rn_qp *qp, rn_ns now);
/* @qp, with nothing in flight, is about to send. Its timer is armed for ack_deadline
 * later, and for this then.
 */
void rn_probe_burst(struct rn_qp *qp, rn_ns now);
/* Something was lost on the way to @qp's peer, or back. */
void rn_probe_suspect(struct rn_qp *qp);
void rn_probe_expire(struct rn_qp *qp, rn_ns now);
/* una has moved, and what was sent again is not looked at yet: is that what was answered?
 */
bool rn_probe_is_answered(const struct rn_qp *qp, rn_ns now);
/* Send nothing again while answers come (req.listens). */
void rn_probe_listen(struct rn_qp *qp, rn_ns now);

#endif /* RN_DEST_H */
