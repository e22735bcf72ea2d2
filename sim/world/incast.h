/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* incast.h - a simulated incast: several senders write to one receiver through one link.
 *
 *   sender 0 ──┐
 *   sender 1 ──┼── switch ──(the bottleneck: its queue marks)── receiver
 *      ...   ──┘
 *
 * Each sender has a QP of its own and always has something to write. The senders start
 * one after the other. The time is divided into equal samples; in each sample the run
 * counts the bytes that arrive of each sender, and measures the longest queue.
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
	uint32_t senders; /* 1 .. RN_INCAST_SENDERS */
	enum rn_cc_mode cc;
	/* Settings of all links; queue and ECN marks apply to the bottleneck. */
	struct rn_link_cfg link;
	rn_ns apart; /* ns between the starts of two senders */
	rn_ns end;
	rn_ns sample; /* length of a sample in ns; at most RN_INCAST_SAMPLES are kept */
	/* The receiver stalls for a random time from @stall_min to @stall_max, runs for a
	 * random time up to @run_max, and so on; packets that arrive during a stall wait.
	 * 0: the receiver never stalls.
	 */
	rn_ns stall_min, stall_max, run_max;
	bool reads; /* the senders READ from the receiver instead of writing to it */
	bool both;  /* the receiver WRITEs to the senders as well */
	uint64_t seed;
};

struct rn_incast_sample {
	/* Rate at which each sender's packets arrived, framing included. */
	uint32_t kbps[RN_INCAST_SENDERS];
	uint32_t queue; /* most bytes in the queue of the bottleneck */
};

struct rn_incast_result {
	struct rn_incast_cfg cfg;
	uint32_t samples;
	struct rn_incast_sample sample[RN_INCAST_SAMPLES];
	/* The next four fields describe the last quarter of the run. */
	uint32_t share[RN_INCAST_SENDERS]; /* kbps of each sender */
	uint32_t fairness;		   /* Jain's fairness index, in millionths */
	/* Used part of the bottleneck's rate, in millionths. */
	uint32_t used;
	uint32_t queue_last; /* most bytes in the queue */
	/* The other fields describe the whole run. */
	uint32_t queue_max;
	uint64_t delivered; /* packets that the bottleneck carried */
	uint64_t dropped, marked, cnps, retransmitted, failed;
	/* Packets that all senders have sent; packets that the receiver has sent. */
	uint64_t requests, responses;
	uint64_t completed; /* WRITEs or READs that have completed */
	uint64_t timeouts;
};

/* Sets 10 Gbit/s, a delay of 2 us, a queue of 2 MB that marks as in the DCQCN paper
 * (link.h), and a run of 100 ms.
 */
void rn_incast_defaults(struct rn_incast_cfg *cfg, uint32_t senders);

/* Return: 0, or -ENOMEM. */
int rn_incast_run(const struct rn_incast_cfg *cfg, struct rn_incast_result *r);

#endif /* RN_WORLD_INCAST_H */
