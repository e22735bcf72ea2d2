/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local_internal.h - state shared by net_local.c (sending and receiving packets) and
 * local_wires.c (setting up and removing local wires).
 */
#ifndef RN_LOCAL_INTERNAL_H
#define RN_LOCAL_INTERNAL_H

#include <string.h>

#include "far_copy.h"
#include "net_local.h"
#include "ring.h"
#include "rocin/gid.h"
#include "rocin/stats.h"
#include "transport/io/host/clock.h"

enum {
	/* number of entries in the table of destinations; a power of two */
	LOCAL_PATHS = 512,
	/* bytes of packets that one call copies out of a ring; they fit into the L1 cache
	 */
	LOCAL_ROOM = 16 * 1024,
	LOCAL_PAGE = 4096,
	LOCAL_BUILD = LOCAL_PAGE + RN_RING_PACKET_MAX + RN_RING_ALIGN,
	LOCAL_WORDS = RN_ROCIND_WIRES_MAX / 64,
};

/* One end of a local wire, which is a pair of rings in shared memory between two
 * processes of this machine.
 */
struct local_wire {
	struct rn_rocind_ends ends;
	unsigned bit, peer_bit;
	uint8_t *memory; /* RN_WIRE_BYTES of shared memory, with both rings */
	struct rn_ring_send send;
	struct rn_ring_recv recv;
	struct rn_doorbell *peer_page;
	int peer_event;
	bool may_omit_icrc; /* both ends have agreed to do without ICRCs */
	/* The local wire is new. Packets that the peer sent by UDP before may still be
	 * in the sockets of this process, so the receiving ring is not read until the
	 * sockets are empty.
	 */
	bool is_fresh;
	/* The sockets are being read until they are empty, because this wire is new
	 * (is_fresh) and its ring has packets.
	 */
	bool is_drained_for;
	/* the peer has gone, but not all packets that it has sent have been read */
	bool is_closing;
	/* Size in bytes that the sending ring is to get as soon as it can be changed. */
	uint32_t want;
	/* Value of @send.tail when rn_local_trim() was last called. If the next call
	 * finds the same value, the ring was idle in between.
	 */
	uint64_t trim_tail;
	/* the memory of the sending ring's data was given back to the kernel */
	bool is_away;
	/* Time since when the sending ring has been full; 0: it was not full when last
	 * looked at.
	 */
	rn_ns full_since;
	/* the last packet was a long one (at least RN_FAR_COPY_MIN bytes) */
	bool is_long;
	/* the peer has not read for RN_LOCAL_PATIENCE, so packets go by UDP */
	bool is_stuck;
	/* @burst: number of packets built since the ring was last published.
	 * @burst_before: the same for the burst before that.
	 */
	uint32_t burst, burst_before;
	struct rn_copy_pace pace;
};

/* An entry of the table of destinations. */
struct local_path {
	bool is_used;
	struct rn_rocind_ends ends;
	/* the local wire (pair of rings) to the destination; NULL: its packets go by UDP
	 */
	struct local_wire *wire;
	/* time at which to request a local wire from rocind; RN_NEVER: not again */
	rn_ns ask_at;
	/* There was a local wire (a pair of rings), which was lost. rocind may not know
	 * that.
	 */
	bool lost;
	/* number of times that the loss of a local wire was reported to rocind */
	uint8_t losses;
};

struct rn_local {
	struct rn_net net;
	struct rn_local_cfg cfg;
	struct rn_net *udp;

	/* local wires, by the number of their bits in the doorbell of this process */
	struct local_wire *wire[RN_ROCIND_WIRES_MAX];
	unsigned wires; /* number of local wires */
	unsigned fresh; /* number of local wires with is_fresh set */
	/* doorbell of this process; NULL before the first local wire */
	struct rn_doorbell *page;
	int event_fd;
	uint64_t present[LOCAL_WORDS]; /* bit i: wire[i] is not NULL */
	/* bit i: the receiving ring of wire[i] may have packets */
	uint64_t ready[LOCAL_WORDS];
	unsigned cursor; /* index of the local wire whose ring is read next */

	unsigned asks; /* number of local wires requested since @asks_since */
	rn_ns asks_since;

	/* packets that came without an ICRC get one before they are delivered */
	bool seals;
	/* After transmit() has returned -EAGAIN: number of packets of that super-packet
	 * that are in a ring already. The caller passes the same super-packet again
	 * later, and transmit() continues with the next of its packets.
	 */
	uint32_t sent;
	bool hurry; /* a packet that finds its ring full goes by UDP at once */
	/* local wire into whose sending ring packets are being built; or NULL */
	struct local_wire *place;
	/* number of times that packets of the present burst were made visible to the peer
	 */
	unsigned shows;
	/* Address of the packet that is being built, in the private memory @build. From
	 * there it is copied to the ring of @place.
	 */
	uint8_t *built;
	/* Some packets of the present super-packet went by UDP. So the others do, too,
	 * even if a local wire (a pair of rings) was set up meanwhile.
	 */
	bool udp_begun;

	/* Time at which idle rings are looked at next; RN_NEVER: all have given back
	 * their memory.
	 */
	rn_ns trim_at;

	/* Number of further reads of the sockets before the rings of new local wires
	 * (is_fresh) are read.
	 */
	unsigned drain;
	/* the caller has asked that the sockets be read until they are empty */
	bool look;
	/* Number of calls of receive() since the last one that found a packet in a ring.
	 */
	unsigned quiet;
	/* Number of calls of receive() since the sockets were read. A call that found a
	 * packet in a ring counts as LOOK_VAIN calls.
	 */
	unsigned busy;

	struct local_path path[LOCAL_PATHS];
	/* the entry of @path that was asked for last; NULL before the first */
	struct local_path *last;
	struct rn_flow rx_flow[RN_RX_BATCH];
	_Alignas(64) uint8_t room[LOCAL_ROOM];
	_Alignas(64) uint8_t build[LOCAL_BUILD];
};

/* Return: the time of CLOCK_MONOTONIC, which may be some milliseconds behind. */
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
/* Return: the table's entry for the destination of @flow and @slot, which is created if
 * there is none. If it has no local wire (a pair of rings), requests one from rocind
 * when it is time to.
 */
struct local_path *rn_local_look_up(struct rn_local *l, const struct rn_flow *flow,
				    unsigned slot);

/* Are two addresses equal? Compared by words, as this is done for each packet. */
static inline bool rn_local_same_gid(const struct rn_gid *a, const struct rn_gid *b)
{
	uint64_t x[2], y[2];

	static_assert(sizeof(x) == sizeof(*a), "two words");
	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return x[0] == y[0] && x[1] == y[1];
}

/* Is @path, which is in use, the entry for the destination of @flow and @slot? */
static inline bool rn_local_is_to(const struct local_path *path,
				  const struct rn_flow *flow, unsigned slot)
{
	return path->ends.peer_slot == slot &&
	       rn_local_same_gid(&path->ends.peer, &flow->dst) &&
	       rn_local_same_gid(&path->ends.local, &flow->src);
}

/* Does the same as rn_local_look_up(), without a search if the destination is that of the
 * last call and has a local wire (a pair of rings).
 */
static inline struct local_path *rn_local_path(struct rn_local *l,
					       const struct rn_flow *flow, unsigned slot)
{
	struct local_path *last = l->last;

	if (!last || !last->wire || !rn_local_is_to(last, flow, slot))
		l->last = last = rn_local_look_up(l, flow, slot);
	return last;
}

/* Remove a local wire (a pair of rings) and never request it again, because the peer
 * broke the protocol or the memory is not as it should be. @why: the reason, which is
 * logged.
 */
void rn_local_break(struct rn_local *l, struct local_wire *w, const char *why);

/* Stop using a local wire (a pair of rings), because its ring says that the peer has
 * closed it. Either rocind will report the same soon, or the peer has set the flag
 * without reason. In the second case, a wire is requested again after a while, and later
 * each time.
 */
void rn_local_lose(struct rn_local *l, const struct local_wire *w);

/* Free a local wire (a pair of rings), whose packets have all been read or are given up.
 */
void rn_local_remove(struct rn_local *l, struct local_wire *w);

/* Called when the peer of a local wire (a pair of rings) has gone: sends nothing to it
 * any more, but still receives the packets that it has sent.
 */
void rn_local_peer_gone(struct rn_local *l, struct local_wire *w);

/* Adapt the memory of a sending ring to the traffic. rn_local_fit() is called when a
 * packet found no space, and decides whether the ring grows. rn_local_resize() changes
 * the size as soon as possible, which is once in each round of the ring.
 */
void rn_local_fit(struct local_wire *w, rn_ns now);
void rn_local_resize(struct local_wire *w);

/* Allocate memory again for a sending ring that has given its memory back. Return: true
 * on success.
 */
bool rn_local_fetch(struct rn_local *l, struct local_wire *w);

/* rn_local_close() closes both rings of a local wire and frees the end of this process;
 * the peer can still read what was sent. rn_local_close_doorbell() unmaps the doorbell
 * of this process and closes its descriptor.
 */
void rn_local_close(struct local_wire *w);
void rn_local_close_doorbell(struct rn_local *l);

#endif /* RN_LOCAL_INTERNAL_H */
