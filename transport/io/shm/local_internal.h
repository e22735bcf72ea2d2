/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local_internal.h - state shared by net_local.c (packets) and local_wires.c (wires that
 * come and go).
 */
#ifndef RN_LOCAL_INTERNAL_H
#define RN_LOCAL_INTERNAL_H

#include "doorbell.h"
#include "far_copy.h"
#include "net_local.h"
#include "ring.h"
#include "rocin/flow.h"
#include "rocin/stats.h"
#include "transport/io/host/clock.h"

enum {
	LOCAL_PATHS = 512,	/* destinations that are remembered; a power of two */
	LOCAL_ROOM = 16 * 1024, /* packets taken out at a time: they stay in L1 */
	LOCAL_PAGE = 4096,
	LOCAL_BUILD = LOCAL_PAGE + RN_RING_PACKET_MAX + RN_RING_ALIGN,
	LOCAL_WORDS = RN_ROCIND_WIRES_MAX / 64,
};

/* One end of a wire. */
struct local_wire {
	struct rn_rocind_ends ends;
	unsigned bit, peer_bit;
	uint8_t *memory; /* RN_WIRE_BYTES */
	struct rn_ring_send send;
	struct rn_ring_recv recv;
	struct rn_doorbell *peer_page;
	int peer_event;
	bool may_be_bare; /* both ends do without ICRCs */
	/* It is new: packets that its peer sent by UDP before may still be in our
	 * sockets, so it is not read yet.
	 */
	bool is_fresh;
	bool is_drained_for; /* the sockets are being read for its sake */
	bool is_closing;     /* the peer has gone: what it has sent is left to read */
	uint32_t want;	     /* size that its ring is to have, at the next chance */
	uint64_t rest_tail;  /* of its ring, when rn_local_rest() looked last */
	bool is_away;	     /* its ring has no memory */
	rn_ns full_since;    /* 0: there was space when we last looked */
	bool is_long;	     /* the last packet was, so building the next apart pays */
	bool is_stuck;	     /* the peer has not read for long: UDP has the packets */
	/* Packets that were built since the ring was published, and in the burst before.
	 */
	uint32_t burst, burst_before;
	struct rn_copy_pace pace;
};

/* What is known about a destination. */
struct local_path {
	bool is_used;
	struct rn_rocind_ends ends;
	struct local_wire *wire; /* NULL: by UDP */
	rn_ns ask_at;		 /* next; RN_NEVER: not again */
	bool lost;		 /* rocind may believe that there is a wire */
	uint8_t losses;		 /* of a wire that rocind was told of */
};

struct rn_local {
	struct rn_net net;
	struct rn_local_cfg cfg;
	struct rn_net *udp;

	struct local_wire *wire[RN_ROCIND_WIRES_MAX]; /* by bit */
	unsigned wires;				      /* of them, in use */
	unsigned fresh;				      /* of them, is_fresh */
	struct rn_doorbell *page;		      /* NULL before the first wire */
	int event_fd;
	uint64_t present[LOCAL_WORDS]; /* bits of wire that are not NULL */
	uint64_t ready[LOCAL_WORDS];   /* rings that were rung for, and are not dry */
	unsigned cursor;	       /* wire whose turn it is */

	unsigned asks; /* since asks_since */
	rn_ns asks_since;

	/* The super-packet that was answered by -EAGAIN. */
	bool seals;		  /* packets get their ICRC before they are given */
	uint32_t sent;		  /* packets of it that are in a ring */
	bool hurry;		  /* nothing waits for a ring */
	struct local_wire *place; /* that a packet is built in; or NULL */
	unsigned shows;		  /* of what is in a ring, since the burst began */
	uint8_t *apart; /* where it is built in fact, to be copied there; or NULL */
	bool udp_begun; /* it goes by UDP, whatever has come up meanwhile */

	rn_ns rest_at; /* when rings are next looked at; RN_NEVER: all are away */

	unsigned drain; /* reads of the sockets left, for the sake of fresh wires */
	bool look;	/* likewise, because somebody wants to know */
	unsigned quiet; /* calls since a ring had something */
	unsigned busy;	/* calls since the sockets were looked at, by their cost */

	struct local_path path[LOCAL_PATHS];
	struct rn_flow rx_flow[RN_RX_BATCH];
	_Alignas(64) uint8_t room[LOCAL_ROOM];
	_Alignas(64) uint8_t build[LOCAL_BUILD];
};

/* CLOCK_MONOTONIC, some milliseconds late. */
static inline rn_ns rn_local_now(void)
{
	return rn_clock(CLOCK_MONOTONIC_COARSE);
}

static inline void rn_local_count(struct rn_local *l, enum rn_stat what, uint64_t n)
{
	uint64_t *counter = &l->cfg.stats[what];

	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline struct rn_ring_meta rn_local_meta(const struct rn_flow *flow)
{
	return (struct rn_ring_meta){ .sport = flow->sport,
				      .tclass = flow->tclass,
				      .hop_limit = flow->hop_limit };
}

/* ------------------------------------------------------------------ local_wires.c */
/* The path to where @flow and the slot say; asks for a wire if it is time to. */
struct local_path *rn_local_path(struct rn_local *l, const struct rn_flow *flow,
				 unsigned slot);

/* The peer broke the rules, or the memory is not what it should be: never again. */
void rn_local_break(struct rn_local *l, struct local_wire *w, const char *why);

/* The peer has closed the ring, says the ring; rocind will say so as well, or it is not
 * so. Then a wire is asked for again after a while, which doubles each time: the flag is
 * the peer's to write.
 */
void rn_local_lose(struct rn_local *l, const struct local_wire *w);

/* It has gone, and everything that it sent has been read. */
void rn_local_remove(struct rn_local *l, struct local_wire *w);

/* Its peer has gone: nothing is sent there any more, what it sent is still received. */
void rn_local_peer_gone(struct rn_local *l, struct local_wire *w);

/* As much memory as what is going on wants: asked when there was no space, done when the
 * ring can change, which is so once in each of its turns.
 */
void rn_local_fit(struct local_wire *w, rn_ns now);
void rn_local_resize(struct local_wire *w);

/* Memory for a ring that has given back its own. Return: it is there. */
bool rn_local_fetch(struct rn_local *l, struct local_wire *w);

/* Take leave of the peer, which reads what is in the ring; or of all of them. */
void rn_local_close(struct local_wire *w);
void rn_local_close_doorbell(struct rn_local *l);

#endif /* RN_LOCAL_INTERNAL_H */
