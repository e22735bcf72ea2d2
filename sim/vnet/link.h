/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* link.h - one direction of a link in virtual time: rate, delay, a queue that marks,
 * faults.
 *
 * A packet waits in the queue of the port until those before it have been sent, takes
 * its bytes' time on the wire and arrives a delay later. What does not fit the queue is
 * lost. A packet that is capable of it (ECT) is marked as RED does for DCQCN: never while
 * the queue holds less than @ecn_min bytes, always from @ecn_max on, in between with a
 * probability that rises from 0 to @ecn_ppm. On its way it may be lost, doubled, or late,
 * so that others overtake it; while the link is down, and when it goes down before the
 * packet has arrived, it is lost.
 *
 * Integers only, so that a seed gives the same run everywhere. Threads: no locks.
 * Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
 * 2015, 3.1.
 */
#ifndef RN_LINK_H
#define RN_LINK_H

#include "rocin/random.h"

struct rn_link_cfg {
	uint64_t rate;		   /* bits per second, at least 1000; 0: takes no time */
	rn_ns delay;		   /* propagation */
	uint32_t queue;		   /* bytes that may wait; 0: any number */
	uint32_t ecn_min, ecn_max; /* bytes; ecn_max 0: never marks */
	uint32_t ecn_ppm;	   /* probability just below ecn_max, in millionths */
	uint32_t loss_ppm, twice_ppm, late_ppm;
	rn_ns late; /* at most so much; where @twice_ppm or @late_ppm is not 0, at least 1
		     */
};

struct rn_link {
	struct rn_link_cfg cfg;
	struct rn_random random;
	rn_ns idle_at; /* when the last packet accepted will have left */
	bool down;
	uint32_t downs; /* times that it went down */
	uint64_t packets, bytes, dropped, marked;
	uint64_t lost;	    /* by chance, or because it was down */
	uint32_t queue_max; /* most bytes that ever waited */
};

struct rn_link_fate {
	bool lost;	  /* the queue was full, the link down, or by chance */
	bool marked;	  /* becomes CE */
	bool twice;	  /* a copy arrives at @again */
	bool late;	  /* others may overtake it */
	rn_ns arrives_at; /* at the other end, if not lost */
	rn_ns again;
};

/* Bytes of Ethernet, IPv4 and UDP headers, frame check, preamble and gap around a packet
 * from BTH to ICRC.
 */
enum {
	RN_LINK_FRAMING = 14 + 20 + 8 + 4 + 20
};

void rn_link_init(struct rn_link *link, const struct rn_link_cfg *cfg, uint64_t seed);

/* Bytes that wait or are being sent at @now. */
uint32_t rn_link_queued(const struct rn_link *link, rn_ns now);

/**
 * rn_link_send() - Put a packet into the queue
 * @now:	Time; does not go backwards from call to call
 * @bytes:	Length, framing included
 * @capable:	The packet may be marked (ECT)
 */
struct rn_link_fate rn_link_send(struct rn_link *link, rn_ns now, uint32_t bytes,
				 bool capable);

/* Is a packet that is capable of it marked, when @queued bytes wait? */
bool rn_link_mark(struct rn_link *link, uint32_t queued);

/* How long @bytes take to be sent. */
rn_ns rn_link_time(const struct rn_link *link, uint32_t bytes);

/* What waits and what is on its way is lost, as is what is sent until it is up again. */
void rn_link_set_down(struct rn_link *link, rn_ns now, bool down);

#endif /* RN_LINK_H */
