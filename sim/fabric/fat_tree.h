/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fat_tree.h - hundreds of hosts that exchange data over a simulated fat tree, and the
 * checks of the transport under that load.
 *
 * A seed decides which host sends to which: each host to one other host (a permutation),
 * or groups of hosts to one host each (incasts). It also decides the operation, the
 * amount of data, and when links lose packets and fail. The checks use only the memory
 * accesses, completions and counters of the transport:
 *
 * - each byte is written once, in order, to memory for which a request is in progress,
 *   and has the value that was sent;
 * - each request and each receive completes once, in order, with success, and not before
 *   its data have been written; no RNR NAK is sent while a receive is posted;
 * - a packet is retransmitted only if packets were lost or took different paths, and no
 *   retransmission timer expires without a loss;
 * - each packet reaches a QP, or is lost and counted; in the end no packet is in flight;
 * - in the end all data have arrived, every timer has stopped, and no device holds a
 *   resource.
 *
 * No host stores what it sends and receives: the bytes are computed from their addresses.
 * Equal settings give equal runs on every machine. Threads: no locks; a run allocates
 * memory and frees it.
 */
#ifndef RN_WORLD_FAT_TREE_H
#define RN_WORLD_FAT_TREE_H

#include "rocin/dev_cfg.h"
#include "sim/vnet/topology.h"

enum rn_fat_tree_traffic {
	RN_FAT_TREE_BY_SEED,
	RN_FAT_TREE_PERMUTATION,
	RN_FAT_TREE_INCAST,
};

struct rn_fat_tree_result;

struct rn_fat_tree_cfg {
	uint64_t seed;
	uint32_t k;	/* number of ports per switch: even, 2 .. RN_FAT_TREE_PORTS */
	uint32_t hosts; /* number of hosts, 2 .. rn_fat_tree_hosts(k) */
	enum rn_fat_tree_traffic traffic;
	enum rn_cc_mode cc;
	uint32_t loss_ppm; /* random loss on each link, in packets per million */
	uint32_t flaps;	   /* number of times that a random link goes down for a while */
	/* Priority flow control (PFC): a switch pauses a port that sends too much,
	 * instead of losing packets.
	 */
	bool pfc;
	uint32_t messages; /* number of messages of each flow; 0: RN_FAT_TREE_MESSAGES */
	/* length of a message in bytes, a multiple of 8; 0: the seed decides */
	uint32_t length;
	/* Called every 65536 events with the state of the run; may be NULL. */
	void (*progress)(void *ctx, const struct rn_fat_tree_result *r);
	void *ctx;
};

enum {
	RN_FAT_TREE_MESSAGES = 8,
};

struct rn_fat_tree_result {
	bool failed;
	char why[160]; /* if the run failed: the reason, as text */
	rn_ns at;      /* time of the failure, or of the last event */
	rn_ns done;    /* time at which the last request of the run completed */
	uint64_t hash; /* hash of all packets and completions */
	enum rn_fat_tree_traffic traffic;
	uint32_t switches, flows;
	uint64_t wanted;    /* number of requests of the run */
	uint64_t completed; /* number of requests that have completed */
	uint64_t bytes;	    /* number of bytes written to the memory of receivers */
	/* Number of events and timers that the network has delivered. */
	uint64_t events;
	uint64_t packets; /* number of packets that hosts have sent */
	/* Number of lost packets, including those lost at full queues. */
	uint64_t lost;
	uint64_t dropped; /* number of packets lost because a queue was full */
	uint64_t marked, cnps, retransmitted, timeouts;
	uint64_t pauses; /* number of PAUSE messages that switches have sent, with PFC */
	uint64_t memory; /* number of bytes of memory that the run used */
};

/* Simulates one run with the settings @cfg and fills in @r. Returns 0 or -ENOMEM. */
int rn_fat_tree_run(const struct rn_fat_tree_cfg *cfg, struct rn_fat_tree_result *r);

#endif /* RN_WORLD_FAT_TREE_H */
