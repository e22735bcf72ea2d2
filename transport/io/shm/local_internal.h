/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local_internal.h - state shared by net_local.c (packets) and local_wires.c (wires that
 * are set up and removed).
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
	LOCAL_PATHS = 512, /* destinations that are remembered; a power of two */
	/* Bytes of packets taken out at a time: few enough for the L1 cache. */
	LOCAL_ROOM = 16 * 1024,
	LOCAL_PAGE = 4096,
	LOCAL_BUILD = LOCAL_PAGE + RN_RING_PACKET_MAX + RN_RING_ALIGN,
	LOCAL_WORDS = RN_ROCIND_WIRES_MAX / 64,
};

/* One end of a wire. */
struct local_wire {
	struct rn_rocind_ends ends;
	unsigned bit, peer_bit;
	uint8_t *memory; /* RN_WIRE_BYTES of shared memory */
	struct rn_ring_send send;
	struct rn_ring_recv recv;
	struct rn_doorbell *peer_page;
	int peer_event;
	bool may_omit_icrc; /* both ends have agreed to do without ICRCs */
	/* The wire is new. Packets that the peer sent by UDP before may still be in our
	 * sockets, so the ring is not read yet.
	 */
	bool is_fresh;
	bool is_drained_for; /* the sockets are being read so that this wire can be */
	bool is_closing;     /* the peer has gone: what it has sent is left to read */
	uint32_t want; /* size that the sending ring is to have, at the next chance */
	uint64_t trim_tail; /* tail of the sending ring at the last rn_local_trim() */
	bool is_away;	    /* the sending ring has given back its memory */
	/* Since when the ring has been full; 0: it had space when last checked. */
	rn_ns full_since;
	/* The last packet was long: build the next one elsewhere and copy it. */
	bool is_long;
	bool is_stuck; /* the peer has not read for long, so packets go by UDP */
	/* Packets built since the ring was last published, and in the
	 * burst before that.
	 */
	uint32_t burst, burst_before;
	struct rn_copy_pace pace;
};

/* What is known about a destination. */
struct local_path {
	bool is_used;
	struct rn_rocind_ends ends;
	struct local_wire *wire; /* NULL: packets go by UDP */
	rn_ns ask_at;	/* time at which to ask for a wire; RN_NEVER: not again */
	bool lost;	/* a wire was lost, but rocind may believe that there is one */
	uint8_t losses; /* number of wires lost after rocind had set them up */
};

struct rn_local {
	struct rn_net net;
	struct rn_local_cfg cfg;
	struct rn_net *udp;

	struct local_wire *wire[RN_ROCIND_WIRES_MAX]; /* by doorbell bit */
	unsigned wires;				      /* number of wires */
	unsigned fresh;		  /* number of wires that are is_fresh */
	struct rn_doorbell *page; /* own doorbell page; NULL before the first wire */
	int event_fd;
	uint64_t present[LOCAL_WORDS]; /* bits of `wire` that are not NULL */
	uint64_t ready[LOCAL_WORDS]; /* bits of rings that were rung and are not empty */
	unsigned cursor;	     /* wire to be read next */

	unsigned asks; /* wires asked for since asks_since */
	rn_ns asks_since;

	/* State of sending. `sent` belongs to the super-packet that was
	 * answered by -EAGAIN.
	 */
	/* Packets that came without an ICRC get one before they are delivered. */
	bool seals;
	uint32_t sent; /* packets of that super-packet that are in a ring */
	bool hurry;    /* a packet that finds its ring full goes by UDP at once */
	/* Wire in whose ring a packet is being built; or NULL. */
	struct local_wire *place;
	unsigned shows; /* times that packets were shown to the peer in this burst */
	/* Private memory in which the packet is built, to be copied to the
	 * ring; or NULL.
	 */
	uint8_t *apart;
	/* The super-packet goes by UDP, even if a wire has been set up meanwhile. */
	bool udp_begun;

	/* When idle rings are checked next; RN_NEVER: all have given
	 * back their memory.
	 */
	rn_ns trim_at;

	unsigned drain; /* reads of the sockets that are left for fresh wires */
	bool look;	/* read the sockets because the caller asked for it */
	unsigned quiet; /* receive calls since a ring had something */
	unsigned busy;	/* receive calls since the sockets were read, weighted by cost */

	struct local_path path[LOCAL_PATHS];
	struct rn_flow rx_flow[RN_RX_BATCH];
	_Alignas(64) uint8_t room[LOCAL_ROOM];
	_Alignas(64) uint8_t build[LOCAL_BUILD];
};

/* CLOCK_MONOTONIC, which may lag by some milliseconds. */
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
/* What is known about the destination of @flow and @slot; asks for a wire if
 * it is time to.
 */
struct local_path *rn_local_path(struct rn_local *l, const struct rn_flow *flow,
				 unsigned slot);

/* The peer broke the protocol, or the memory is not as it should be: remove the wire, and
 * never ask for one again.
 */
void rn_local_break(struct rn_local *l, struct local_wire *w, const char *why);

/* The ring says that the peer has closed it. Either rocind will say so as well, or it is
 * not true: the peer can write the flag. So a wire is asked for again after a while,
 * which doubles each time.
 */
void rn_local_lose(struct rn_local *l, const struct local_wire *w);

/* The wire has ended and everything that the peer sent has been read: free it. */
void rn_local_remove(struct rn_local *l, struct local_wire *w);

/* The peer of the wire has gone: nothing is sent to it any more; what it has sent is
 * still received.
 */
void rn_local_peer_gone(struct rn_local *l, struct local_wire *w);

/* Give the ring as much memory as the traffic needs: rn_local_fit() decides when there
 * was no space, rn_local_resize() changes the ring when that is possible, which is
 * once per round.
 */
void rn_local_fit(struct local_wire *w, rn_ns now);
void rn_local_resize(struct local_wire *w);

/* Allocate memory for a ring that has given back its own. Return: whether
 * that succeeded.
 */
bool rn_local_fetch(struct rn_local *l, struct local_wire *w);

/* Close both rings of a wire, whose peer still reads what was sent; or
 * close our doorbell.
 */
void rn_local_close(struct local_wire *w);
void rn_local_close_doorbell(struct rn_local *l);

#endif /* RN_LOCAL_INTERNAL_H */
