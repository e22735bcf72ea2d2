/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_live_internal.h - what conform_target.c (reaching a target) and conform_live.c
 * (scenarios on it) share.
 */
#ifndef RN_CONFORM_LIVE_INTERNAL_H
#define RN_CONFORM_LIVE_INTERNAL_H

#include "conform_live.h"
#include "conform_wire.h"

enum {
	RN_LIVE_QUEUE = 256, /* packets or events that nobody has looked at */
};

struct rn_live_target {
	struct rn_scene_ops ops;
	struct rn_conform_wire wire;
	int fd; /* UDP */
	struct rn_gid device, peer, other;
	bool has_other, is_lost;

	const struct rn_scene_names *names;
	const struct rn_scenario *s;
	struct rn_scene_packet packet[RN_LIVE_QUEUE];
	unsigned packets, packets_taken;
	struct rn_scene_wc wc[2][RN_LIVE_QUEUE];
	unsigned wcs[2], wcs_taken[2];
	struct rn_scene_event event[RN_LIVE_QUEUE];
	unsigned events, events_taken, comps[2];
};

/* Ask the agent for what @l says and get the answer there; 0 or -errno as it says. */
int rn_live_ask(struct rn_live_target *t, struct rn_conform_line *l);

void rn_live_set_ops(struct rn_live_target *t, const struct rn_live_options *o);

#endif /* RN_CONFORM_LIVE_INTERNAL_H */
