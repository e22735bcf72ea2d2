/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_cm.h - the connection manager of the device in virtual time, and the programs
 * that use it.
 */
#ifndef RN_VIRTUAL_CM_H
#define RN_VIRTUAL_CM_H

#include "rocin/gsi.h"
#include "scene.h"

enum {
	RN_VIRTUAL_CM_EVENTS = 64, /* that nobody has looked at */
	RN_VIRTUAL_CM_CONNS = 32,
};

struct rn_virtual_cm {
	struct rn_cm *cm;
	void *block;
	struct rn_gsi gsi;
	const struct rn_scenario *s;
	const struct rn_scene_names *names;
	uint64_t stats[RN_CM_STAT_COUNT];
	struct rn_cm_listener listener[RN_SCN_CONNS];
	bool listens[RN_SCN_CONNS];
	struct rn_cm_conn *conn[RN_SCN_CONNS]; /* of the programs; NULL: none */
	struct rn_scene_cm_event event[RN_VIRTUAL_CM_EVENTS];
	struct rn_cm_conn *of[RN_VIRTUAL_CM_EVENTS]; /* the connection of each */
	unsigned events, events_taken;
	/* An answer of queue pair 1 that is no CM message: what it had to say, and to
	 * whom.
	 */
	struct rn_gsi_mad reply;
	struct rn_flow reply_flow;
	bool has_reply;
};

/* Return: 0 or -ENOMEM. */
int rn_virtual_cm_init(struct rn_virtual_cm *v, const struct rn_scenario *s,
		       const struct rn_scene_names *n);
void rn_virtual_cm_fini(struct rn_virtual_cm *v);

/* A packet to queue pair 1. */
void rn_virtual_cm_receive(struct rn_virtual_cm *v, rn_ns now,
			   const struct rn_scene_packet *p);

/* Return: false if there is no packet to be sent. */
bool rn_virtual_cm_transmit(struct rn_virtual_cm *v, rn_ns now,
			    struct rn_scene_packet *p);

/* What happened is kept for those who look. */
void rn_virtual_cm_take_events(struct rn_virtual_cm *v, rn_ns now);

/* The first of them is taken: a request is that of connection @conn from now on. */
void rn_virtual_cm_take_event(struct rn_virtual_cm *v, unsigned conn);

/* A line of rn_scn_is_cm_call(): 0 or -errno. */
int rn_virtual_cm_call(struct rn_virtual_cm *v, rn_ns now, const struct rn_scn_line *l);

#endif /* RN_VIRTUAL_CM_H */
