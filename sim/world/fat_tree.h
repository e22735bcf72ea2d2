/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fat_tree.h - hundreds of hosts that exchange data over a simulated fat tree, and the
 * checks of the transport under that load.
 *
 * A seed says which host sends to which: each host to one other host (a permutation), or
 * groups of hosts to one host each (incasts). It also says by which operation and how
 * much, and when links lose packets and fail. The checks see of the transport only its
 * memory accesses, its completions and its counters:
 *
 * - each byte is placed once, in order, only where and while a request opens the memory,
 *   and is the byte that was sent;
 * - each request and each receive completes once, in order, with success, and not before
 *   its data have been placed; no RNR NAK is sent while a receive is posted;
 * - nothing is retransmitted that was neither lost nor sent by another path, and no
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
	uint32_t k;	/* ports of a switch: even, 2 .. RN_FAT_TREE_PORTS */
	uint32_t hosts; /* 2 .. rn_fat_tree_hosts(k) */
	enum rn_fat_tree_traffic traffic;
	enum rn_cc_mode cc;
	uint32_t loss_ppm; /* random loss on each link, in packets per million */
	uint32_t flaps;	   /* how often a random link goes down for a while */
	/* Priority flow control: switches pause the port that sends too much, and lose
	 * nothing.
	 */
	bool pfc;
	uint32_t messages; /* messages of each flow; 0: RN_FAT_TREE_MESSAGES */
	uint32_t length;   /* bytes of a message, a multiple of 8; 0: the seed decides */
	/* Called every 65536 events with the state of the run; or NULL. */
	void (*progress)(void *ctx, const struct rn_fat_tree_result *r);
	void *ctx;
};

enum {
	RN_FAT_TREE_MESSAGES = 8,
};

struct rn_fat_tree_result {
	bool failed;
	char why[160]; /* a sentence, if the run failed */
	rn_ns at;      /* time of the failure, or of the last event */
	rn_ns done;    /* when the last request completed */
	uint64_t hash; /* of every packet and completion */
	enum rn_fat_tree_traffic traffic;
	uint32_t switches, flows;
	uint64_t wanted;    /* requests that the run has to complete */
	uint64_t completed; /* requests that have completed */
	uint64_t bytes;	    /* bytes placed in the memory of receivers */
	uint64_t events;    /* events and timers that the network has delivered */
	uint64_t packets;   /* packets that hosts have sent */
	uint64_t lost;	    /* lost packets, those lost in full queues included */
	uint64_t dropped;   /* packets lost because a queue was full */
	uint64_t marked, cnps, retransmitted, timeouts;
	uint64_t pauses; /* PAUSE messages that switches have sent, with PFC */
	uint64_t memory; /* bytes of memory that the run used */
};

/* Return: 0, or -ENOMEM. */
int rn_fat_tree_run(const struct rn_fat_tree_cfg *cfg, struct rn_fat_tree_result *r);

#endif /* RN_WORLD_FAT_TREE_H */
