/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plan.h - what is to happen in a world: made from a seed, and made smaller.
 *
 * Every step and fault stands for itself: its details follow from a seed of its own and
 * from what the world is like when its time comes, so that others can be left out.
 */
#ifndef RN_WORLD_PLAN_H
#define RN_WORLD_PLAN_H

#include "rocin/dev_cfg.h"
#include "rocin/qp_types.h"
#include "sim/vnet/link.h"

enum {
	RN_PLAN_DEVICES = 8,
	RN_PLAN_PAIRS = 12,
	RN_PLAN_STEPS = 256,
	RN_PLAN_FAULTS = 24,
};

enum rn_plan_do {
	RN_DO_SEND,	 /* post a work request to the send queue */
	RN_DO_RECV,	 /* post receives */
	RN_DO_ERROR,	 /* modify to ERR */
	RN_DO_RECONNECT, /* both ends through RESET, or destroyed and made again */
	RN_DO_DEATH,	 /* rn_dev_error() */
	RN_DO_STALL,	 /* the host stands still */
	RN_DO_JUMP,	 /* its clock goes forward */
	RN_DO_DRAIN,	 /* to SQD, and back when it has drained */
	RN_DO_PACE,	 /* requests at a rate */
	RN_DO_SRQ,	 /* of the device: a limit, or resize it */
	RN_DO_GROUP,	 /* UD: join the group, or leave it */
	RN_DO_POLL,	 /* its completion queue: arm, do not poll, resize */
	RN_DO_KEY,	 /* RC: bind, invalidate, register, deregister */
	RN_DO_COUNT,
};

struct rn_plan_step {
	rn_ns at;
	enum rn_plan_do what;
	uint8_t pair, side; /* DEATH, STALL, JUMP: the device of that end */
	bool off;	    /* left out */
	uint64_t seed;
};

enum rn_plan_harm {
	RN_HARM_LOSS,
	RN_HARM_DUPLICATE,
	RN_HARM_REORDER,
	RN_HARM_CORRUPT,
	RN_HARM_DELAY,
	RN_HARM_MARK, /* CE */
	RN_HARM_FLAP, /* everything is lost */
	RN_HARM_COUNT,
};

struct rn_plan_fault {
	rn_ns from, until;
	enum rn_plan_harm harm;
	uint8_t dev; /* packets that come to it */
	bool off;
	uint32_t ppm; /* of them */
	rn_ns by;     /* REORDER, DELAY, DUPLICATE: at most so much later */
};

/* Two queue pairs, connected unless they are UD. Of XRC the first asks and the second
 * answers.
 */
struct rn_plan_pair {
	uint8_t dev[2];
	enum rn_qp_type type; /* XRC: RN_QPT_XRC_SEND */
	bool off;
	uint32_t psn[2]; /* first PSN of each end's send queue */
	uint32_t mtu;
	uint8_t timeout, retry, rnr_retry, rnr_timer, depth;
	uint8_t tclass; /* IPv4 ToS or IPv6 traffic class: DSCP and ECN */
	bool srq;	/* receives come from an SRQ of each device */
	uint8_t own_cq; /* 0: the device's; else one of each end, 1 to 3 say how large */
	uint8_t recvs;	/* that are posted to begin with */
};

struct rn_plan {
	uint64_t seed;
	uint32_t devices, pairs, steps, faults;
	rn_ns mem_delay; /* > 0: reads and atomics answer PENDING, for at most so long */
	bool rough;	 /* programs reset queue pairs, hosts fail, keys are wrong */
	bool acks_late;	 /* acknowledgements leave when nothing else happens */
	bool ipv6;
	bool credits; /* devices say how many receives they have */
	enum rn_cc_mode cc;
	uint32_t window_max, read_window;
	struct rn_link_cfg link; /* every one */
	struct rn_plan_pair pair[RN_PLAN_PAIRS];
	struct rn_plan_step step[RN_PLAN_STEPS]; /* in order of time */
	struct rn_plan_fault fault[RN_PLAN_FAULTS];
	rn_ns end; /* of the last step and fault */
};

/* @devices: 2 .. RN_PLAN_DEVICES; 0: as the seed has it. */
void rn_plan_make(struct rn_plan *plan, uint64_t seed, uint32_t devices);

/* How much of it is left. */
uint32_t rn_plan_size(const struct rn_plan *plan);

const char *rn_plan_do_name(enum rn_plan_do what);
const char *rn_plan_harm_name(enum rn_plan_harm harm);

#endif /* RN_WORLD_PLAN_H */
