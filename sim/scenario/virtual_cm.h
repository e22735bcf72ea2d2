/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_cm.h - the connection manager of the device in virtual time, and the programs
 * that use it.
 */
#ifndef RN_VIRTUAL_CM_H
#define RN_VIRTUAL_CM_H

#include "rocin/gsi.h"
#include "scene.h"

enum {
	/* maximum number of CM events that wait until a line takes them */
	RN_VIRTUAL_CM_EVENTS = 64,
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
	/* Connections of the program, by the index that the scenario gives them; NULL:
	 * there is none.
	 */
	struct rn_cm_conn *conn[RN_SCN_CONNS];
	struct rn_scene_cm_event event[RN_VIRTUAL_CM_EVENTS];
	/* The connection that each event is about. */
	struct rn_cm_conn *of[RN_VIRTUAL_CM_EVENTS];
	unsigned events, events_taken;
	/* Answer of queue pair 1 to a packet that is not for the connection manager, and
	 * where the answer goes.
	 */
	struct rn_gsi_mad reply;
	struct rn_flow reply_flow;
	bool has_reply;
};

/* Initialises the connection manager. Returns 0 or -ENOMEM. */
int rn_virtual_cm_init(struct rn_virtual_cm *v, const struct rn_scenario *s,
		       const struct rn_scene_names *n);
void rn_virtual_cm_fini(struct rn_virtual_cm *v);

/* Handles a packet for queue pair 1. */
void rn_virtual_cm_receive(struct rn_virtual_cm *v, rn_ns now,
			   const struct rn_scene_packet *p);

/* Makes the next packet of queue pair 1. Returns false if queue pair 1 has none to send.
 */
bool rn_virtual_cm_transmit(struct rn_virtual_cm *v, rn_ns now,
			    struct rn_scene_packet *p);

/* Moves the events that the connection manager has for its programs to the array @event.
 */
void rn_virtual_cm_take_events(struct rn_virtual_cm *v, rn_ns now);

/* Removes the first event. If it is a new connection request, the connection gets the
 * index @conn.
 */
void rn_virtual_cm_take_event(struct rn_virtual_cm *v, unsigned conn);

/* Executes a line for which rn_scn_is_cm_call() is true. Returns 0 or -errno. */
int rn_virtual_cm_call(struct rn_virtual_cm *v, rn_ns now, const struct rn_scn_line *l);

#endif /* RN_VIRTUAL_CM_H */
