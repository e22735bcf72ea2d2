/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_internal.h - what the parts of the middleware share. */
#ifndef RN_FAULT_INTERNAL_H
#define RN_FAULT_INTERNAL_H

#include "fault_edit.h"
#include "fault_fate.h"
#include "fault_lane.h"
#include "net_fault.h"

enum {
	RN_FAULT_ORDERS_MAX = 64, /* more are not given between two receive() */
};

struct rn_fault_pending {
	enum rn_fault_order what;
	uint32_t qpn;
};

struct rn_fault {
	struct rn_net net;
	struct rn_net *inner;
	uint64_t *stats;
	const struct rn_fault_host *host;
	void *host_ctx;
	struct rn_fault_lane lane[RN_FAULT_DIRS];
	struct rn_fault_list given; /* to the device, until the next receive() */
	bool wants_qp, wants_fate, has_counted;
	struct rn_fault_fates *fates;
	bool has_begun; /* @inner has begun with the next super-packet */
	bool is_cut;
	rn_ns cut_until;
	uint64_t cut_by; /* id of the rule */
	unsigned orders;
	struct rn_fault_pending order[RN_FAULT_ORDERS_MAX];
	struct rn_fault_rules rules;
};

/* What the rules want of one packet. */
struct rn_fault_plan {
	bool is_dropped;
	uint32_t copies, places;
	rn_ns delay;
	enum rn_fault_icrc icrc;
};

rn_ns rn_fault_now(const struct rn_fault *f);

/* The local QP of a packet, or 0. */
uint32_t rn_fault_find_qp(const struct rn_fault *f, enum rn_fault_dir dir,
			  const struct rn_flow *flow, const uint8_t *pkt, uint32_t len);

/* What @rule does to @it at once; the rest is in @plan. */
void rn_fault_act(struct rn_fault *f, enum rn_fault_dir dir, struct rn_fault_rule *rule,
		  struct rn_fault_item *it, struct rn_fault_plan *plan);

/* The link goes down as @rule says, and comes up. */
void rn_fault_begin_cut(struct rn_fault *f, const struct rn_fault_rule *rule);
void rn_fault_end_cut(struct rn_fault *f);

#endif /* RN_FAULT_INTERNAL_H */
