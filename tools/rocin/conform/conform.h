/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform.h - what `rocin conform` reads, runs and reports. */
#ifndef RN_CONFORM_H
#define RN_CONFORM_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/stats.h"
#include "sim/scenario/scene.h"
#include "wire.h"

/* A scenario of a file, and how it ended. */
struct rn_conform_case {
	char *file;
	char title[160];
	char rule[RN_SCN_RULES][RN_SCN_NAME];
	unsigned rules;
	struct rn_scene_result result;
};

struct rn_conform {
	struct rn_conform_case *run;
	size_t count, failed, skipped, slowly;
	char **rule; /* of the list of rules; NULL: none was given */
	size_t rule_count;
};

/* Failures, then totals and the rules without a scenario; with @all every case. */
void rn_conform_text(const struct rn_conform *c, FILE *to, bool all);
/* 0 or -1: no memory, or the output cannot be written. */
int rn_conform_json(const struct rn_conform *c, FILE *to);
int rn_conform_junit(const struct rn_conform *c, FILE *to);

/* -------------------------------------------------------------------------- counters */
/* Counters of a target that is a Rocin program of this user and host;
 * no public verb tells them.
 */

struct rn_rocind;

struct rn_conform_stats {
	int32_t pid; /* of the agent, as it says */
	struct rn_gid gid[2];
	int fd; /* its stats page; -1: not found */
	struct rn_rocind *daemon;
	bool looked;
	uint64_t base[RN_STAT_COUNT];
};

/* Counters count from now on. The page is looked for at the first call. */
void rn_conform_stats_begin(struct rn_conform_stats *c);

/* What was counted since; false: it cannot be seen. A packet to a queue pair that nobody
 * has may be rocind's to drop: it counts like one that the program drops.
 */
bool rn_conform_stats_get(struct rn_conform_stats *c, enum rn_stat stat, uint64_t *value);

/* ---------------------------------------------------------------------- live targets */
/* A device behind a network as the device of a scenario: packets over
 * UDP sockets of our own, everything else through the agent on its side (wire.h).
 *
 * Threads: one at a time.
 */

enum {
	RN_LIVE_ADDRESSES = 4,
};

struct rn_live_target;

struct rn_live_options {
	const char *target; /* ADDRESS[:PORT] of the agent */
	/* Ours: the first of each family is the peer's, the second another host's. None
	 * of IPv4: of loopback, if the target is there.
	 */
	const char *address[RN_LIVE_ADDRESSES];
	unsigned addresses;
	unsigned slack_ms;
};

/* Connect to the agent and take the addresses. Return: the target, or NULL after a
 * complaint.
 */
struct rn_live_target *rn_live_target_open(const struct rn_live_options *o);
void rn_live_target_close(struct rn_live_target *t);

/* What to call rn_scene_run() with, the target as context. Lives as long as @t. */
const struct rn_scene_ops *rn_live_target_ops(struct rn_live_target *t);

/* The connection was lost: no result since is worth anything. */
bool rn_live_target_is_lost(const struct rn_live_target *t);

/* ----------------------------------------------------------------------- its packets */

/* Send a packet from the address and port that its flow names. 0 or -errno. */
int rn_live_send(const struct rn_scene_packet *p);

/* Take a packet that has arrived at @gid. False: there is none. */
bool rn_live_take(int fd, const struct rn_gid *gid, struct rn_scene_packet *p);

/* ----------------------------------------------------------------------- their state */
enum {
	RN_LIVE_QUEUE = 256, /* packets or events that nobody has looked at */
	RN_LIVE_CQES = 1024,
	RN_LIVE_SLOWER = 4, /* codes: 16 times */
};

/* Addresses of one family, and the tester's sockets on them. */
struct rn_live_side {
	struct rn_gid device, peer, other, group;
	bool has_device, has_peer, has_other;
	int fd, other_fd, group_fd; /* -1: not open */
	uint32_t ifindex;	    /* of the peer's address */
};

struct rn_live_target {
	struct rn_scene_ops ops, slow_ops;
	struct rn_conform_wire wire;
	struct rn_live_side side[2]; /* IPv4, IPv6 */
	uint32_t can;		     /* enum rn_conform_can */
	struct rn_conform_stats stats;
	bool is_lost;

	/* Of a scenario. */
	struct rn_live_side *at;
	struct rn_scene_names *names;
	const struct rn_scenario *s;
	struct rn_scene_packet packet[RN_LIVE_QUEUE];
	unsigned packets, packets_taken;
	struct rn_scene_wc wc[2][RN_LIVE_QUEUE];
	unsigned wcs[2], wcs_taken[2];
	struct rn_scene_event event[RN_LIVE_QUEUE];
	unsigned events, events_taken, comps[2];
};

/* Ask the agent for what @l says and get the answer there; 0 or -errno as it says. */
int rn_live_ask(struct rn_live_target *t, struct rn_conform_line *l);

void rn_live_set_ops(struct rn_live_target *t, const struct rn_live_options *o);

void rn_live_end(void *ctx);

/* ------------------------------------------------------------------------- addresses */
/* Read ADDRESS[:PORT] (IPv4); a port that is not given stays. 0 or -EINVAL. */
static inline int rn_conform_address(const char *text, struct sockaddr_in *at)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	char address[INET_ADDRSTRLEN] = "", *end = NULL;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : ntohs(at->sin_port);

	if (len >= sizeof(address) || (end && *end) || port == 0 || port > UINT16_MAX)
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		address[i] = text[i];
	at->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, address, &at->sin_addr) == 1 ? 0 : -EINVAL;
}

#endif /* RN_CONFORM_H */
