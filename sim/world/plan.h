/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plan.h - the plan of a world: the steps and faults of a run, drawn from a seed.
 *
 * Each step and each fault is independent of the others: its details follow from its own
 * seed and from the state of the world at that time. So rn_world_shrink() can leave out
 * any step or fault.
 */
#ifndef RN_WORLD_PLAN_H
#define RN_WORLD_PLAN_H

#include "rocin/dev_cfg.h"
#include "rocin/queue_pair.h"
#include "sim/vnet/link.h"

enum {
	RN_PLAN_DEVICES = 8,
	RN_PLAN_PAIRS = 12,
	RN_PLAN_STEPS = 256,
	RN_PLAN_FAULTS = 24,
};

enum rn_plan_do {
	RN_DO_SEND,  /* post a work request to the send queue */
	RN_DO_RECV,  /* post receives to the QP or its SRQ */
	RN_DO_ERROR, /* modify the QP to the state ERR */
	/* Both ends go through RESET, or are destroyed and created again. */
	RN_DO_RECONNECT,
	RN_DO_DEATH, /* rn_dev_error(): the device fails */
	RN_DO_STALL, /* the host does not run for a while */
	RN_DO_JUMP,  /* the clock of the host jumps forward */
	RN_DO_DRAIN, /* the QP goes to SQD, and back to RTS when it has drained */
	RN_DO_PACE,  /* the QP's requests are limited to a rate */
	RN_DO_SRQ,   /* the SRQ of the device gets a limit, or another size */
	RN_DO_GROUP, /* UD: the QP joins the multicast group, or leaves it */
	RN_DO_POLL,  /* the QP's CQ is armed, not polled for a while, or resized */
	/* RC: bind or invalidate a window, register or deregister a region. */
	RN_DO_KEY,
	RN_DO_COUNT,
};

struct rn_plan_step {
	rn_ns at;
	enum rn_plan_do what;
	/* The QP on which the step acts, as pair and end. For DEATH, STALL and JUMP: the
	 * device of this QP.
	 */
	uint8_t pair, side;
	bool off; /* the step is left out of the run */
	uint64_t seed;
};

enum rn_plan_harm {
	RN_HARM_LOSS,
	RN_HARM_DUPLICATE,
	RN_HARM_REORDER,
	RN_HARM_CORRUPT,
	RN_HARM_DELAY,
	RN_HARM_MARK, /* packets get the ECN codepoint CE */
	RN_HARM_FLAP, /* the link is down, so all packets are lost */
	RN_HARM_COUNT,
};

struct rn_plan_fault {
	rn_ns from, until;
	enum rn_plan_harm harm;
	uint8_t dev; /* number of the device whose arriving packets are affected */
	bool off;
	uint32_t ppm; /* how many packets are affected, per million */
	/* for REORDER, DELAY and DUPLICATE: the longest extra delay in ns */
	rn_ns by;
};

/* Two QPs, connected to each other unless they are UD. In an XRC pair the first QP is the
 * requester and the second one the responder.
 */
struct rn_plan_pair {
	uint8_t dev[2];
	enum rn_qp_type type; /* RN_QPT_XRC_SEND stands for an XRC pair */
	bool off;
	uint32_t psn[2]; /* first PSN of the send queue of each QP */
	uint32_t mtu;
	uint8_t timeout, retry, rnr_retry, rnr_timer, depth;
	uint8_t tclass; /* IPv4 ToS or IPv6 traffic class: DSCP and ECN */
	bool srq;	/* receives come from an SRQ, one on each device */
	/* 0: the QPs use the CQ of the device. 1 to 3: each QP has a CQ of its own, and
	 * the number selects one of three sizes.
	 */
	uint8_t own_cq;
	uint8_t recvs; /* number of receives posted at the start */
};

struct rn_plan {
	uint64_t seed;
	uint32_t devices, pairs, steps, faults;
	/* Longest time in ns after which memory answers a read or atomic for which it
	 * has first said PENDING. 0: memory answers at once.
	 */
	rn_ns mem_delay;
	bool rough; /* programs reset QPs, hosts fail, and requests have wrong keys */
	/* devices send acknowledgements only when nothing else can happen */
	bool acks_late;
	bool ipv6;
	bool credits; /* responders send credits for their posted receives in the AETH */
	enum rn_cc_mode cc;
	uint32_t window_max, read_window;
	struct rn_link_cfg link; /* settings of all links */
	struct rn_plan_pair pair[RN_PLAN_PAIRS];
	struct rn_plan_step step[RN_PLAN_STEPS]; /* the steps, sorted by time */
	struct rn_plan_fault fault[RN_PLAN_FAULTS];
	rn_ns end; /* time at which the last step or fault is over */
};

/* Draws a plan from @seed. @devices: 2 .. RN_PLAN_DEVICES; 0: the seed decides. */
void rn_plan_make(struct rn_plan *plan, uint64_t seed, uint32_t devices);

/* Returns the number of pairs, steps and faults that are not left out. */
uint32_t rn_plan_size(const struct rn_plan *plan);

const char *rn_plan_do_name(enum rn_plan_do what);
const char *rn_plan_harm_name(enum rn_plan_harm harm);

#endif /* RN_WORLD_PLAN_H */
