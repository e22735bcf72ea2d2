/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* congestion.h - how fast a queue pair sends: congestion control (DCQCN) and pacing.
 *
 *   notification point   a packet came that a switch has marked: tell its sender
 *   reaction point       a notification came: the rate is cut
 *
 * Until the first congestion notification nothing limits a queue pair. A notification
 * cuts the rate by a share that remembers how often there were notifications lately
 * (alpha). A timer and a counter of bytes then bring the rate back: halfway to what it
 * was before the cut, five times; from then on the target rises as well, and faster once
 * both the timer and the counter say so. When the rate has reached that of the line, the
 * limit ends and alpha is forgotten.
 *
 * The timers of DCQCN are no timers: rn_dcqcn_advance() catches up with what they would
 * have done. Integers only. Threads: no locks.
 *
 * Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
 * 2015, section 5 and figure 7. IBTA Annex A17.9 (RoCEv2 congestion management); the
 * format of a notification is that of NICs.
 */
#ifndef RN_CONGESTION_H
#define RN_CONGESTION_H

#include "rocin/flow.h"
#include "rocin/types.h"
#include "transport/container/list.h"

struct rn_qp;
struct rn_dev;
struct rn_build;
struct rn_packet;

/* ------------------------------------------------------------------ DCQCN */
/* Rates are 1000 bits per second, 1 .. RN_DCQCN_LINE_MAX. */
#define RN_DCQCN_LINE_MAX 4000000000u

struct rn_dcqcn_params {
	uint32_t line;	  /* of the port's line: a limit ends when the rate reaches it */
	uint32_t min;	  /* no cut goes below this rate */
	uint32_t ai, hai; /* added to the target rate in additive and in hyper increase */
	uint32_t bytes;	  /* B: bytes sent between two increases */
	unsigned gain;	  /* g = 2^-gain */
	unsigned fast;	  /* F: number of steps of fast recovery */
	/* K: alpha falls when no notification has come for this time. */
	rn_ns alpha_period;
	rn_ns increase_period; /* T: time between two increases */
	rn_ns cut_period;      /* shortest time between two cuts */
};

#define RN_DCQCN_ONE (1u << 30) /* stands for alpha = 1 */

enum rn_dcqcn_phase {
	RN_DCQCN_FREE, /* the rate is not limited */
	RN_DCQCN_RECOVERY,
	RN_DCQCN_ADDITIVE,
	RN_DCQCN_HYPER,
	RN_DCQCN_PHASES
};

/* Congestion control state of one QP. All zeros: not limited. The fields below `phase`
 * are valid only while there is a limit.
 */
struct rn_dcqcn {
	uint8_t phase;	       /* enum rn_dcqcn_phase */
	uint16_t times, fills; /* increases by time and by bytes since the last cut */
	uint32_t rate;	       /* R_C, the current rate */
	uint32_t target;       /* R_T, the target rate */
	uint32_t alpha;	       /* in units of 1 / RN_DCQCN_ONE */
	uint32_t sent;	       /* bytes since the last increase by bytes */
	rn_ns alpha_at, increase_at;
	rn_ns cut_at; /* earliest time of a further cut */
};

/* Fill in the values of the paper, which are meant for a line of 40
 * Gbit/s, scaled to @line.
 */
void rn_dcqcn_defaults(struct rn_dcqcn_params *p, uint32_t line);

static inline bool rn_dcqcn_limits(const struct rn_dcqcn *d)
{
	return d->phase != RN_DCQCN_FREE;
}

/* A congestion notification has come. Return: true if the rate was cut; false if the last
 * cut was too short a time ago.
 */
bool rn_dcqcn_notify(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, rn_ns now);

/* Catch up with the steps that are due by time until @now. If nothing is sent, the rate
 * changes next at d->increase_at.
 */
void rn_dcqcn_advance(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, rn_ns now);

/* The QP has sent @bytes. */
void rn_dcqcn_sent(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, uint32_t bytes);

/* --------------------------------------------------------- of a queue pair */
/* A queue pair sends at most one congestion notification in this time. */
#define RN_CNP_PERIOD RN_USEC(50)

/* Traffic class of a congestion notification: DSCP 48, as NICs use by default, and
 * ECT(0), so that a switch marks the packet rather than drops it.
 */
#define RN_CNP_TCLASS (48 << 2 | RN_ECN_ECT0)

struct rn_pace {
	uint32_t kbps;	/* rate limit in force; 0: none */
	uint32_t limit; /* rate limit in kbit/s that the program asked for; 0: none */
	uint32_t burst; /* bytes that may be sent at once */
	bool on;	/* false: rn_pace_may_send() and its kind need not be called */
	rn_ns next;	/* no request leaves before this time */
	rn_ns deadline; /* when a request that waits may leave; RN_NEVER: none waits */
};

/* Lies behind the QP in its block, if the device has congestion control. */
struct rn_cc {
	struct rn_qp *qp;
	struct rn_dcqcn rate;
	rn_ns next_cnp; /* no notification leaves before this time */
	/* A notification that has not left yet: link in dev->cnps, and where
	 * the packet goes.
	 */
	struct rn_list due;
	struct rn_flow to;
	uint32_t to_qpn;
};

/* Traffic class of our packets. With congestion control they say
 * ECT(0): a switch may mark them.
 */
uint8_t rn_cc_tclass(const struct rn_dev *dev, uint8_t tclass);

/* May a QP with pace.on send a request (or a response) now? If not, it is scheduled again
 * when the next one may leave.
 */
bool rn_pace_may_send(struct rn_qp *qp, rn_ns now);
bool rn_pace_may_respond(struct rn_qp *qp, rn_ns now);
/* The QP has built a request (or a response) of @len bytes without ICRC;
 * 0: it had none.
 */
void rn_pace_sent(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_pace_responded(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_pace_expire(struct rn_qp *qp, rn_ns now);
void rn_pace_reset(struct rn_qp *qp); /* also forgets the program's rate limit */

/* All but rn_cc_init() and rn_cc_reset() are only for QPs that have `cc`. */
void rn_cc_init(struct rn_qp *qp);
void rn_cc_reset(struct rn_qp *qp);
/* A packet that a switch has marked was accepted: notify its sender, unless that
 * was done a short time ago.
 */
void rn_cnp_answer(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
/* A congestion notification for @qp has come. */
void rn_cnp_receive(struct rn_qp *qp, rn_ns now);
/* Build the first notification of dev->cnps, which is not empty. @qp:
 * out, the QP that sends it.
 */
uint32_t rn_cnp_build(struct rn_dev *dev, struct rn_build *b, struct rn_qp **qp);

#endif /* RN_CONGESTION_H */
