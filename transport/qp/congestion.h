/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* congestion.h - limits the rate at which a queue pair sends: congestion control (DCQCN)
 * and pacing.
 *
 *   notification point   tells the sender of a packet that a switch has marked it
 *   reaction point       cuts the rate when a notification arrives
 *
 * Until the first congestion notification nothing limits a queue pair. A notification
 * cuts the rate by the factor (1 - alpha / 2), where alpha grows with each notification
 * and decays with time. A timer and a counter of bytes then bring the rate back: five
 * times halfway to the target, which is the rate before the cut; from then on the target
 * rises as well, and faster once both the timer and the counter have fired more than
 * five times. When the rate has reached the rate of the port, the limit ends and alpha
 * is discarded.
 *
 * The timers of DCQCN are not implemented as timers: rn_dcqcn_advance() performs all
 * steps that have become due. All arithmetic is in integers. Threads: no locks.
 *
 * Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
 * 2015, section 5 and figure 7. IBTA Annex A17.9 (RoCEv2 congestion management); the
 * format of a notification is that of NICs.
 */
#ifndef RN_CONGESTION_H
#define RN_CONGESTION_H

#include "rocin/gid.h"
#include "rocin/types.h"
#include "transport/container/list.h"

struct rn_qp;
struct rn_dev;
struct rn_build;
struct rn_packet;

/* ------------------------------------------------------------ rate control by DCQCN */
/* Rates are in kbit/s, from 1 to RN_DCQCN_LINE_MAX. */
#define RN_DCQCN_LINE_MAX 4000000000u

struct rn_dcqcn_params {
	/* Rate of the port. When the rate of a QP has grown to this value, its limit
	 * ends.
	 */
	uint32_t line;
	uint32_t min; /* lowest value to which a cut reduces the rate */
	/* R_AI and R_HAI: added to the target rate by one additive or hyper increase. */
	uint32_t ai, hai;
	uint32_t bytes; /* B: bytes sent between two increases */
	unsigned gain;	/* weight of a notification in alpha: g = 2^-gain */
	unsigned fast;	/* F: number of steps of fast recovery */
	/* K: time without a notification after which alpha is reduced */
	rn_ns alpha_period;
	rn_ns increase_period; /* T: time between two increases by time */
	rn_ns cut_period;      /* shortest time between two cuts */
};

#define RN_DCQCN_ONE (1u << 30) /* value that represents alpha = 1 */

enum rn_dcqcn_phase {
	RN_DCQCN_FREE, /* no congestion: the rate is not limited */
	RN_DCQCN_RECOVERY,
	RN_DCQCN_ADDITIVE,
	RN_DCQCN_HYPER,
	RN_DCQCN_PHASES
};

/* DCQCN state of one QP; all zeros: the rate is not limited. All members after @phase
 * are valid only while the rate is limited.
 */
struct rn_dcqcn {
	uint8_t phase; /* enum rn_dcqcn_phase */
	/* Number of increases since the last cut that were due by time, and that were
	 * due by the number of bytes sent.
	 */
	uint16_t times, fills;
	uint32_t rate;	 /* R_C, the current rate */
	uint32_t target; /* R_T, the target rate */
	uint32_t alpha;	 /* alpha, in units of 1 / RN_DCQCN_ONE */
	uint32_t sent;	 /* bytes since the last increase by bytes */
	rn_ns alpha_at, increase_at;
	rn_ns cut_at; /* earliest time of the next cut */
};

/* Fills in the parameters of the paper. They are meant for a port of 40 Gbit/s, and are
 * scaled here to the port rate @line.
 */
void rn_dcqcn_defaults(struct rn_dcqcn_params *p, uint32_t line);

static inline bool rn_dcqcn_limits(const struct rn_dcqcn *d)
{
	return d->phase != RN_DCQCN_FREE;
}

/* Called when a congestion notification has arrived: cuts the rate. Return: true; false,
 * with the rate unchanged, if the last cut was less than cut_period ago.
 */
bool rn_dcqcn_notify(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, rn_ns now);

/* Performs the changes of the rate and of alpha that have become due by time until @now.
 * If the QP sends nothing, the next change of the rate is due at d->increase_at.
 */
void rn_dcqcn_advance(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, rn_ns now);

/* Counts @bytes bytes that the QP has sent, and increases the rate if that is due
 * because of this number of bytes.
 */
void rn_dcqcn_sent(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, uint32_t bytes);

/* --------------------------------------------------- the rate of one queue pair */
/* Shortest time between two congestion notifications that one queue pair sends. */
#define RN_CNP_PERIOD RN_USEC(50)

/* Traffic class of a congestion notification: DSCP 48, which NICs use by default, and
 * ECT(0), so that a congested switch marks the notification instead of dropping it.
 */
#define RN_CNP_TCLASS (48 << 2 | RN_ECN_ECT0)

struct rn_pace {
	/* Limit in force, in kbit/s: the lower one of congestion control's and the
	 * program's; 0: none.
	 */
	uint32_t kbps;
	uint32_t limit; /* rate limit in kbit/s that the program has set; 0: none */
	/* Number of bytes that may be sent without waiting after a pause; 0: as many as
	 * the rate allows in 1 ms.
	 */
	uint32_t burst;
	/* False: nothing limits the rate, and the rn_pace_*() functions need not be
	 * called.
	 */
	bool on;
	rn_ns next; /* earliest time at which the next request may leave */
	/* Time until which the QP may send no request because of the rate; RN_NEVER: the
	 * rate delays no request.
	 */
	rn_ns deadline;
};

/* Congestion control state of one QP. It is stored behind the QP in the QP's memory
 * block, if the device has congestion control.
 */
struct rn_cc {
	struct rn_qp *qp;
	struct rn_dcqcn rate;
	rn_ns next_cnp; /* earliest time of the next notification */
	/* A congestion notification that is to be sent. @due: link in the list
	 * dev->cnps. @to: the flow to which it is sent, and @to_qpn the destination QPN.
	 */
	struct rn_list due;
	struct rn_flow to;
	uint32_t to_qpn;
};

/* Returns the traffic class with which a packet leaves: @tclass, with the ECN bits set
 * to ECT(0) if the device has congestion control, so that switches may mark the packet.
 */
uint8_t rn_cc_tclass(const struct rn_dev *dev, uint8_t tclass);

/* Return: true if the rate allows the QP to send a request (or a response) now. If it
 * does not, a timer is set, and schedules the QP again. The caller calls this only if
 * pace.on is set.
 */
bool rn_pace_may_send(struct rn_qp *qp, rn_ns now);
bool rn_pace_may_respond(struct rn_qp *qp, rn_ns now);
/* Accounts for a request (or a response) that the QP has built. @len: its bytes without
 * the ICRC; 0 if the QP had nothing to build.
 */
void rn_pace_sent(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_pace_responded(struct rn_qp *qp, rn_ns now, uint32_t len);
void rn_pace_expire(struct rn_qp *qp, rn_ns now);
/* Forgets what pacing remembers of packets sent, and the program's rate limit. */
void rn_pace_reset(struct rn_qp *qp);

/* In the functions from here on, except rn_cc_init() and rn_cc_reset(), qp->cc must not
 * be NULL.
 */
void rn_cc_init(struct rn_qp *qp);
void rn_cc_reset(struct rn_qp *qp);
/* Queues a congestion notification to the sender of the received packet @p, which a
 * switch has marked. Does nothing if the QP has sent one within the last RN_CNP_PERIOD.
 */
void rn_cnp_answer(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
/* Called when a congestion notification for @qp has arrived: cuts its rate. */
void rn_cnp_receive(struct rn_qp *qp, rn_ns now);
/* Builds the first of the congestion notifications in dev->cnps, which must not be
 * empty. @qp: out: the QP that sends it. Return: length of the packet in bytes.
 */
uint32_t rn_cnp_build(struct rn_dev *dev, struct rn_build *b, struct rn_qp **qp);

#endif /* RN_CONGESTION_H */
