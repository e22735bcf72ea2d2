/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fat_tree.h - hundreds of hosts that load a fat tree, in virtual time, and what must
 * hold.
 *
 * A seed says who sends to whom: each host to one other (a permutation), or groups of
 * hosts to one of theirs (incasts); with which operation, how much, and when links lose
 * packets and fail. Judged is, with nothing known of the transport but its accesses to
 * memory, its completions and its counters:
 *
 * - each byte is placed once, in order, where and while a request opens memory for it,
 * and is the byte that was sent;
 * - each request and each receive completes once, in order, with success, and not before
 * its effect; nothing is refused for want of a receive while one is posted;
 * - what was not lost nor sent by another way is not sent again, and no timeout runs out;
 * - each packet comes to a queue pair, or is lost and counted; in the end none is left;
 * - in the end all have all, every timer has stopped, and no device keeps anything.
 *
 * No host has memory for what it sends and receives: the bytes follow from their
 * addresses. Equal settings give equal runs everywhere. Threads: no locks; a run
 * allocates and frees.
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
	uint32_t loss_ppm; /* of the packets on each link */
	uint32_t flaps;	   /* times that a link goes down for a while */
	bool pfc; /* switches tell who sends too much to pause, and lose nothing */
	uint32_t messages; /* of each flow; 0: RN_FAT_TREE_MESSAGES */
	uint32_t length;   /* bytes of one, a multiple of 8; 0: as the seed has it */
	/* Is told now and then how far the run is; or NULL. */
	void (*progress)(void *ctx, const struct rn_fat_tree_result *r);
	void *ctx;
};

enum {
	RN_FAT_TREE_MESSAGES = 8,
};

struct rn_fat_tree_result {
	bool failed;
	char why[160]; /* a sentence, if it failed */
	rn_ns at;      /* when that was, or when all was quiet */
	rn_ns done;    /* when the last request completed */
	uint64_t hash; /* of every packet and completion */
	enum rn_fat_tree_traffic traffic;
	uint32_t switches, flows;
	uint64_t wanted;    /* requests in all */
	uint64_t completed; /* of them */
	uint64_t bytes;	    /* that were placed */
	uint64_t events;    /* of the simulation */
	uint64_t packets;   /* that left a host */
	uint64_t lost;	    /* of these packets, also in full queues */
	uint64_t dropped;   /* of those: because a queue was full */
	uint64_t marked, cnps, retransmitted, timeouts;
	uint64_t pauses; /* that ports were told, with PFC */
	uint64_t memory; /* bytes of all that was used */
};

/* Return: 0, or -ENOMEM. */
int rn_fat_tree_run(const struct rn_fat_tree_cfg *cfg, struct rn_fat_tree_result *r);

#endif /* RN_WORLD_FAT_TREE_H */
