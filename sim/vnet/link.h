/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* link.h - one direction of a link in virtual time: rate, delay, a queue with ECN
 * marking, and faults.
 *
 * A packet waits in the queue of the port until the packets before it have been sent, is
 * then on the wire for its length divided by the rate, and arrives @delay after that. A
 * packet that does not fit the queue is lost. A packet whose IP header allows ECN (ECT)
 * is marked as RED does for DCQCN: never while the queue holds less than @ecn_min bytes,
 * always from @ecn_max bytes on, and in between with a probability that rises from 0 to
 * @ecn_ppm. On the wire a packet may be lost, duplicated, or delayed so that later
 * packets overtake it. Packets sent while the link is down, and packets on the wire when
 * it goes down, are lost.
 *
 * All arithmetic is on integers, so that a seed gives the same run on every machine.
 * Threads: no locks.
 * Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
 * 2015, 3.1.
 */
#ifndef RN_LINK_H
#define RN_LINK_H

#include "rocin/random.h"

struct rn_link_cfg {
	/* Bits per second, at least 1000; 0: sending takes no time. */
	uint64_t rate;
	rn_ns delay;	/* propagation delay in ns */
	uint32_t queue; /* maximum bytes that may wait in the queue; 0: no limit */
	/* Queue lengths in bytes between which the probability of an ECN mark rises;
	 * ecn_max 0: the link marks no packet.
	 */
	uint32_t ecn_min, ecn_max;
	/* Probability of marking when the queue holds just under ecn_max bytes,
	 * in millionths.
	 */
	uint32_t ecn_ppm;
	uint32_t loss_ppm, twice_ppm, late_ppm;
	/* Longest extra delay, in ns; at least 1 if @twice_ppm or @late_ppm is not 0. */
	rn_ns late;
};

struct rn_link {
	struct rn_link_cfg cfg;
	struct rn_random random;
	/* Time at which the last packet in the queue will have been sent completely. */
	rn_ns idle_at;
	bool down;
	uint32_t downs; /* number of times that the link has gone down */
	uint64_t packets, bytes, dropped, marked;
	/* number of packets lost at random, or because the link was down */
	uint64_t lost;
	uint32_t queue_max; /* highest number of bytes that ever waited in the queue */
};

struct rn_link_fate {
	/* The packet is lost: the queue was full, the link was down, or a random loss
	 * was drawn.
	 */
	bool lost;
	bool marked; /* the packet gets the mark CE of ECN */
	bool twice;  /* a second copy arrives at the time @again */
	/* the packet got an extra delay, so that later ones may overtake it */
	bool late;
	rn_ns arrives_at; /* arrival at the other end, unless the packet is lost */
	rn_ns again;
};

/* Number of bytes on the wire besides the part of a packet from BTH to ICRC: Ethernet,
 * IPv4 and UDP headers, frame check sequence, preamble and inter-frame gap.
 */
enum {
	RN_LINK_FRAMING = 14 + 20 + 8 + 4 + 20
};

void rn_link_init(struct rn_link *link, const struct rn_link_cfg *cfg, uint64_t seed);

/* Returns the bytes that wait in the queue or are being sent at @now. */
uint32_t rn_link_queued(const struct rn_link *link, rn_ns now);

/**
 * rn_link_send() - Put a packet into the queue and decide what happens to it
 * @now:	Time; must not go backwards from call to call
 * @bytes:	Length of the packet, framing included
 * @capable:	true if the IP header of the packet allows ECN marks (ECT)
 */
struct rn_link_fate rn_link_send(struct rn_link *link, rn_ns now, uint32_t bytes,
				 bool capable);

/* Decides at random, as RED does, whether a packet gets an ECN mark. @queued: number of
 * bytes in the queue when the packet comes.
 */
bool rn_link_mark(struct rn_link *link, uint32_t queued);

/* Returns the time in ns that sending @bytes takes. */
rn_ns rn_link_time(const struct rn_link *link, uint32_t bytes);

/* Takes the link down or up. Going down loses all packets in the queue and on the wire;
 * until the link is up again, every packet that is sent is lost.
 */
void rn_link_set_down(struct rn_link *link, rn_ns now, bool down);

#endif /* RN_LINK_H */
