/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_live_internal.h - what the files of a live target share: conform_target.c
 * (reaching it), conform_live.c (time, and what comes), conform_live_calls.c (objects and
 * calls), conform_live_skips.c (what it cannot do).
 */
#ifndef RN_CONFORM_LIVE_INTERNAL_H
#define RN_CONFORM_LIVE_INTERNAL_H

#include "conform_live.h"
#include "conform_stats.h"
#include "conform_wire.h"

enum {
	RN_LIVE_QUEUE = 256, /* packets or events that nobody has looked at */
	RN_LIVE_CQES = 1024,
	RN_LIVE_SLOWER = 4, /* codes: 16 times */
};

/* Addresses of one family, and the tester's sockets on them. */
struct rn_live_side {
	struct rn_gid device, peer, other, group;
	bool has_device, has_peer, has_other;
	int fd, other_fd, group_fd; /* -1: not open */
	uint32_t ifindex;	    /* of the peer's address */
};

struct rn_live_target {
	struct rn_scene_ops ops, slow_ops;
	struct rn_conform_wire wire;
	struct rn_live_side side[2]; /* IPv4, IPv6 */
	uint32_t can;		     /* enum rn_conform_can */
	struct rn_conform_stats stats;
	bool is_lost;

	/* Of a scenario. */
	struct rn_live_side *at;
	struct rn_scene_names *names;
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

/* Forget all that came. */
void rn_live_forget(struct rn_live_target *t);

/* conform_live_calls.c: as struct rn_scene_ops says. */
int rn_live_begin(void *ctx, const struct rn_scenario *s, struct rn_scene_names *n,
		  char *err, size_t err_len);
int rn_live_begin_slower(void *ctx, const struct rn_scenario *s, struct rn_scene_names *n,
			 char *err, size_t err_len);
void rn_live_end(void *ctx);
int rn_live_call(void *ctx, const struct rn_scn_line *l);

/* Destroy what was and make the queues of @s; @cqes: out, what they hold. 0 or -errno. */
int rn_live_make_queues(struct rn_live_target *t, const struct rn_scenario *s,
			uint64_t *cqes);
/* What a scenario asks for at most. */
uint64_t rn_live_cqes(const struct rn_scenario *s);

/* conform_live_skips.c */
bool rn_live_skips(void *ctx, const struct rn_scenario *s, char *why, size_t why_len);

#endif /* RN_CONFORM_LIVE_INTERNAL_H */
