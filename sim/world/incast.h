/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* incast.h - senders that write to one receiver through one link, in virtual time.
 *
 *   sender 0 ──┐
 *   sender 1 ──┼── switch ──(the bottleneck: its queue marks)── receiver
 *      ...   ──┘
 *
 * Every sender has a queue pair of its own and always something to write. They begin one
 * after the other. What arrives of each, and how long the queue is, is counted in equal
 * spans of time.
 *
 * Equal settings give equal results everywhere. Threads: no locks; a run allocates its
 * devices and frees them.
 */
#ifndef RN_WORLD_INCAST_H
#define RN_WORLD_INCAST_H

#include "rocin/dev_cfg.h"
#include "sim/vnet/link.h"

enum {
	RN_INCAST_SENDERS = 16,
	RN_INCAST_SAMPLES = 400,
};

struct rn_incast_cfg {
	uint32_t senders; /* 1 .. RN_INCAST_SENDERS */
	enum rn_cc_mode cc;
	struct rn_link_cfg link; /* every one; its queue and marks are the bottleneck's */
	rn_ns apart;		 /* between the beginnings of two senders */
	rn_ns end;
	rn_ns sample; /* length of a span; at most RN_INCAST_SAMPLES of them are kept */
	/* The receiver stands still for a time from @stall_min to @stall_max, runs for up
	 * to @run_max, and so on; what comes meanwhile waits for it. 0: it always runs.
	 */
	rn_ns stall_min, stall_max, run_max;
	bool reads; /* the senders READ from the receiver instead */
	bool both;  /* the receiver WRITEs to them as well */
	uint64_t seed;
};

struct rn_incast_sample {
	uint32_t kbps[RN_INCAST_SENDERS]; /* that arrived, framing included */
	uint32_t queue;			  /* most bytes that waited */
};

struct rn_incast_result {
	struct rn_incast_cfg cfg;
	uint32_t samples;
	struct rn_incast_sample sample[RN_INCAST_SAMPLES];
	/* Of the last quarter of the time: */
	uint32_t share[RN_INCAST_SENDERS]; /* kbps */
	uint32_t fairness;		   /* Jain's index, millionths */
	uint32_t used;			   /* of the bottleneck, millionths */
	uint32_t queue_last;		   /* most bytes that waited */
	/* Of all of it: */
	uint32_t queue_max;
	uint64_t delivered; /* packets that the bottleneck carried */
	uint64_t dropped, marked, cnps, retransmitted, failed;
	uint64_t requests, responses; /* packets that left: of senders; of the receiver */
	uint64_t completed;	      /* WRITEs or READs */
	uint64_t timeouts;
};

/* 10 Gbit/s, 2 us, a queue of 2 MB that marks as the paper's does, 100 ms. */
void rn_incast_defaults(struct rn_incast_cfg *cfg, uint32_t senders);

/* Return: 0, or -ENOMEM. */
int rn_incast_run(const struct rn_incast_cfg *cfg, struct rn_incast_result *r);

#endif /* RN_WORLD_INCAST_H */
