/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* incast.h - a simulated incast: several senders write to one receiver through one link.
 *
 *   sender 0 ──┐
 *   sender 1 ──┼── switch ──(the bottleneck: its queue marks)── receiver
 *      ...   ──┘
 *
 * Each sender has its own QP and always has a WRITE to send. The senders start one after
 * the other. The time is divided into equal samples; for each sample the run counts the
 * bytes that arrive from each sender, and measures the longest queue.
 *
 * Equal settings give equal results on every machine. Threads: no locks; a run allocates
 * its devices and frees them.
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
	uint32_t senders; /* number of senders, 1 .. RN_INCAST_SENDERS */
	enum rn_cc_mode cc;
	/* Settings of all links. Queue length and ECN marking are used only at
	 * the bottleneck.
	 */
	struct rn_link_cfg link;
	rn_ns apart; /* time in ns between the starts of two senders */
	rn_ns end;
	/* length of a sample in ns; at most RN_INCAST_SAMPLES samples are stored */
	rn_ns sample;
	/* The receiver stalls for a random time from @stall_min to @stall_max, then runs
	 * for a random time up to @run_max, and so on. Packets that arrive meanwhile
	 * wait. All 0: the receiver never stalls.
	 */
	rn_ns stall_min, stall_max, run_max;
	bool reads; /* the senders READ from the receiver instead of writing to it */
	bool both;  /* the receiver WRITEs to the senders as well */
	uint64_t seed;
};

struct rn_incast_sample {
	/* Rate at which the packets of each sender arrived, including framing, in kbit/s.
	 */
	uint32_t kbps[RN_INCAST_SENDERS];
	uint32_t queue; /* highest number of bytes in the queue of the bottleneck */
};

struct rn_incast_result {
	struct rn_incast_cfg cfg;
	uint32_t samples;
	struct rn_incast_sample sample[RN_INCAST_SAMPLES];
	/* This and the next three members are about the last quarter of the run. */
	uint32_t share[RN_INCAST_SENDERS]; /* rate of each sender, in kbit/s */
	uint32_t fairness;		   /* Jain's fairness index, in millionths */
	/* Used part of the bottleneck's rate, in millionths. */
	uint32_t used;
	/* highest number of bytes in the bottleneck's queue in that quarter of the run */
	uint32_t queue_last;
	/* @queue_max: highest number of bytes in the bottleneck's queue. This member and
	 * the following ones are about the whole run.
	 */
	uint32_t queue_max;
	uint64_t delivered; /* number of packets that the bottleneck has carried */
	uint64_t dropped, marked, cnps, retransmitted, failed;
	/* Number of packets that all senders have sent, and number that the receiver
	 * has sent.
	 */
	uint64_t requests, responses;
	uint64_t completed; /* number of WRITEs or READs that have completed */
	uint64_t timeouts;
};

/* Sets 10 Gbit/s, a delay of 2 us, a queue of 2 MB that marks as in the DCQCN paper
 * (link.h), and a run of 100 ms.
 */
void rn_incast_defaults(struct rn_incast_cfg *cfg, uint32_t senders);

/* Simulates one run with the settings @cfg and fills in @r. Returns 0 or -ENOMEM. */
int rn_incast_run(const struct rn_incast_cfg *cfg, struct rn_incast_result *r);

#endif /* RN_WORLD_INCAST_H */
