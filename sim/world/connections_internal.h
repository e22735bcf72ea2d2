/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connections_internal.h - what the two halves share: wire, hosts and runs
 * (connections.c); what programs do and see (connections_life.c).
 */
#ifndef RN_WORLD_CONNECTIONS_INTERNAL_H
#define RN_WORLD_CONNECTIONS_INTERNAL_H

#include "connections.h"
#include "rocin/cm.h"
#include "sim/vnet/vnet.h"

enum {
	RN_CONNS_LIVES = 128,
	RN_CONNS_FLIGHT = 512,
	RN_CONNS_LISTENERS = 2, /* of connections, of datagrams */
	RN_CONNS_PROCESSES = 3,
};

#define RN_CONNS_SECOND RN_MSEC(1000)

/* What a program knows of a connection. */
struct rn_conns_life {
	struct rn_cm_conn *conn; /* NULL: free */
	unsigned process;
	bool active, sidr;
	bool nobody;	 /* asks for what nobody listens for */
	bool answered;	 /* accepted, refused, or confirmed */
	unsigned offers; /* alternate paths: made, heard of */
	unsigned heard;
	unsigned seen;	     /* events, by bit */
	rn_ns act_at;	     /* when the program does something; RN_NEVER: it waits */
	rn_ns timewait_from; /* 0: not yet */
};

struct rn_conns_host {
	struct rn_cm *cm;
	void *block;
	uint64_t guid;
	uint32_t qpn; /* given out last */
	struct rn_cm_listener listener[RN_CONNS_LISTENERS];
	struct rn_conns_life life[RN_CONNS_LIVES];
};

struct rn_conns {
	const struct rn_connections_cfg *cfg;
	struct rn_connections_result *r;
	struct rn_vnet *net; /* host i is its host i */
	struct rn_random random, network;
	uint32_t hosts;
	uint32_t left;	  /* connections still to be asked for */
	uint32_t trouble; /* crashes and reboots still to come */
	uint32_t loss_ppm, double_ppm;
	struct rn_conns_host host[RN_CONNECTIONS_HOSTS];
};

static inline const struct rn_gid *rn_conns_gid(const struct rn_conns *w,
						const struct rn_conns_host *h)
{
	return &w->net->host[h - w->host].gid;
}

/* connections.c */
void rn_conns_note(struct rn_conns *w, uint64_t what);
void rn_conns_fail(struct rn_conns *w, const char *why);
void rn_conns_tell(struct rn_conns *w, const struct rn_conns_host *h, const char *what,
		   const char *more, uint32_t id);
uint32_t rn_conns_draw(struct rn_conns *w, uint32_t below);

/* connections_life.c: a program asks, does what can be done next, learns of something,
 * leaves.
 */
void rn_conns_ask(struct rn_conns *w, struct rn_conns_host *h);
void rn_conns_act(struct rn_conns *w, struct rn_conns_host *h, struct rn_conns_life *l);
void rn_conns_hear(struct rn_conns *w, struct rn_conns_host *h,
		   const struct rn_cm_event *ev);
void rn_conns_leave(struct rn_conns *w, struct rn_conns_host *h, struct rn_conns_life *l);

/* After each step: time-waits that have begun. */
void rn_conns_watch(struct rn_conns *w, struct rn_conns_host *h);

#endif /* RN_WORLD_CONNECTIONS_INTERNAL_H */
