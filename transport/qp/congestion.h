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
	uint32_t line;	    /* of the port: where a limit ends */
	uint32_t min;	    /* no cut goes below */
	uint32_t ai, hai;   /* what the target rises by, additive and hyper increase */
	uint32_t bytes;	    /* B: sent between two increases */
	unsigned gain;	    /* g = 2^-gain */
	unsigned fast;	    /* F: steps of fast recovery */
	rn_ns alpha_period; /* K: alpha falls when there was no notification for so long
			     */
	rn_ns increase_period; /* T: between two increases */
	rn_ns cut_period;      /* at most one cut in so long */
};

#define RN_DCQCN_ONE (1u << 30) /* alpha = 1 */

enum rn_dcqcn_phase {
	RN_DCQCN_FREE, /* no limit */
	RN_DCQCN_RECOVERY,
	RN_DCQCN_ADDITIVE,
	RN_DCQCN_HYPER,
	RN_DCQCN_PHASES
};

/* All zeros: free. What is below @phase counts only while there is a limit. */
struct rn_dcqcn {
	uint8_t phase;	       /* enum rn_dcqcn_phase */
	uint16_t times, fills; /* increases by time and by bytes since the cut */
	uint32_t rate;	       /* R_C */
	uint32_t target;       /* R_T */
	uint32_t alpha;	       /* of RN_DCQCN_ONE */
	uint32_t sent;	       /* bytes since the last increase by bytes */
	rn_ns alpha_at, increase_at;
	rn_ns cut_at; /* when a further cut may be */
};

/* The values of the paper, which are those of a line of 40 Gbit/s, for one of @line. */
void rn_dcqcn_defaults(struct rn_dcqcn_params *p, uint32_t line);

static inline bool rn_dcqcn_limits(const struct rn_dcqcn *d)
{
	return d->phase != RN_DCQCN_FREE;
}

/**
 * rn_dcqcn_notify() - A congestion notification has come
 *
 * Return: whether the rate was cut; not if it was a short time ago.
 */
bool rn_dcqcn_notify(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, rn_ns now);

/* Time has passed. The rate changes next at d->increase_at if nothing is sent. */
void rn_dcqcn_advance(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, rn_ns now);

/* @bytes were sent. */
void rn_dcqcn_sent(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, uint32_t bytes);

/* --------------------------------------------------------- of a queue pair */
/* Between two notifications of one queue pair, at least. */
#define RN_CNP_PERIOD RN_USEC(50)

/* DSCP 48, as NICs send by default, and ECT(0): marked rather than dropped. */
#define RN_CNP_TCLASS (48 << 2 | RN_ECN_ECT0)

struct rn_pace {
	uint32_t kbps;	/* in force; 0: as fast as can be */
	uint32_t limit; /* kbps that the program asked for; 0: none */
	uint32_t burst; /* bytes */
	bool on;	/* false: rn_pace_...() need not be asked */
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

/* Of a QP with pace.on. False: it is put to work again when the next may leave. */
bool rn_pace_may_send(struct rn_qp *qp, rn_ns now);
bool rn_pace_may_respond(struct rn_qp *qp, rn_ns now);
/* A request or response of so many bytes without ICRC; 0: there was none. */
void rn_pace_sent(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_pace_responded(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_pace_expire(struct rn_qp *qp, rn_ns now);
void rn_pace_reset(struct rn_qp *qp); /* the program's rate is forgotten */

/* Of a QP with cc only, but for rn_cc_init() and rn_cc_reset(): */
void rn_cc_init(struct rn_qp *qp);
void rn_cc_reset(struct rn_qp *qp);
/* A packet that a switch has marked was accepted: tell its sender, if it is time. */
void rn_cnp_answer(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
/* A notification for the QP has come. */
void rn_cnp_receive(struct rn_qp *qp, rn_ns now);
/* Build the first of dev->cnps, which is not empty; @qp: who sends it. */
uint32_t rn_cnp_build(struct rn_dev *dev, struct rn_build *b, struct rn_qp **qp);

#endif /* RN_CONGESTION_H */
