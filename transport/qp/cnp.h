/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cnp.h - how fast a queue pair sends: pacing and congestion notifications.
 *
 *   notification point   a packet came that a switch has marked: tell its sender
 *   reaction point       a notification came: the rate is cut
 *
 * Source: IBTA Annex A17.9 (RoCEv2 congestion management); the format is that of NICs.
 */
#ifndef RN_CNP_H
#define RN_CNP_H

#include "dcqcn.h"
#include "list.h"
#include "rocin/flow.h"

/* Between two notifications of one queue pair, at least. */
#define RN_CNP_PERIOD RN_USEC(50)

/* DSCP 48, as NICs send by default, and ECT(0): marked rather than dropped. */
#define RN_CNP_TCLASS (48 << 2 | RN_ECN_ECT0)

struct rn_qp;
struct rn_dev;
struct rn_build;
struct rn_packet;

struct rn_pace {
	uint32_t kbps;	/* in force; 0: as fast as can be */
	uint32_t limit; /* kbps that the program asked for; 0: none */
	uint32_t burst; /* bytes */
	bool on;	/* false: pace.c need not be asked */
	rn_ns next;	/* before it no request leaves */
	rn_ns deadline; /* one waits; RN_NEVER: none does */
};

/* Behind the QP's block, if the device has congestion control. */
struct rn_cc {
	struct rn_qp *qp;
	struct rn_dcqcn rate;
	rn_ns next_cnp; /* not before */
	/* A notification that has not left: link in dev->cnps, and where it goes. */
	struct rn_list due;
	struct rn_flow to;
	uint32_t to_qpn;
};

/* The traffic class of what leaves: with congestion control, capable of being marked. */
uint8_t rn_cc_tclass(const struct rn_dev *dev, uint8_t tclass);

/* ------------------------------------------------------------------- pace.c */
/* Of a QP with pace.on. False: it is put to work again when the next may leave. */
bool rn_pace_may_send(struct rn_qp *qp, rn_ns now);
bool rn_pace_may_respond(struct rn_qp *qp, rn_ns now);
/* A request or response of so many bytes without ICRC; 0: there was none. */
void rn_pace_sent(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_pace_responded(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_pace_expire(struct rn_qp *qp, rn_ns now);
/* The limit by congestion control has changed. */
void rn_pace_follow(struct rn_qp *qp, rn_ns now);
void rn_pace_reset(struct rn_qp *qp); /* the program's rate is forgotten */

/* ----------------------------------------------- cnp.c; of a QP with cc only */
void rn_cc_init(struct rn_qp *qp);
void rn_cc_reset(struct rn_qp *qp);
/* A packet that a switch has marked was accepted: tell its sender, if it is time. */
void rn_cnp_answer(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
/* A notification for the QP has come. */
void rn_cnp_receive(struct rn_qp *qp, rn_ns now);
/* Build the first of dev->cnps, which is not empty; @qp: who sends it. */
uint32_t rn_cnp_build(struct rn_dev *dev, struct rn_build *b, struct rn_qp **qp);

#endif /* RN_CNP_H */
