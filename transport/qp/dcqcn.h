/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dcqcn.h - how fast a queue pair may send: the reaction point of DCQCN.
 *
 * Until the first congestion notification nothing limits a queue pair. A notification
 * cuts the rate by a share that remembers how often there were notifications lately
 * (alpha). A timer and a counter of bytes then bring the rate back: halfway to what it
 * was before the cut, five times; from then on the target rises as well, and faster once
 * both the timer and the counter say so. When the rate has reached that of the line, the
 * limit ends and alpha is forgotten.
 *
 * The timers are no timers: rn_dcqcn_advance() catches up with what they would have done.
 * Integers only. Threads: no locks.
 * Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
 * 2015, section 5 and figure 7.
 */
#ifndef RN_DCQCN_H
#define RN_DCQCN_H

#include "rocin/types.h"

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

#endif /* RN_DCQCN_H */
