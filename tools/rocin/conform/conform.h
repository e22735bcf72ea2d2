/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform.h - declarations shared by the files of `rocin conform`. */
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

/* ------------------------------------------------ counters of a target on this host */
/* Counters of the target, which verbs do not report. They are known if the target is a
 * program of this user on this host that uses Rocin.
 */

struct rn_rocind;

struct rn_conform_stats {
	int32_t pid; /* process id of the agent, from its answer to `hello' */
	struct rn_gid gid[2];
	int fd; /* descriptor of the agent's statistics page; -1: not found */
	struct rn_rocind *daemon;
	bool looked;
	uint64_t base[RN_STAT_COUNT];
};

/* Stores the present values, from which changes are counted. The first call searches for
 * the stats page.
 */
void rn_conform_stats_begin(struct rn_conform_stats *c);

/* Returns in @value the change of a counter since rn_conform_stats_begin(). Returns false
 * if the target has no stats page. The counter of rocind is added, because packets to an
 * unknown QP may be dropped by rocind instead of the program.
 */
bool rn_conform_stats_get(struct rn_conform_stats *c, enum rn_stat stat, uint64_t *value);

/* ---------------------------------------------------------------------- live targets */
/* A live target: a device on the network on which scenarios are run instead of in virtual
 * time. The tester, which is this program, exchanges packets with the device by UDP
 * sockets; the agent, a program on the host of the device, calls verbs for it (wire.h).
 *
 * Threads: one at a time.
 */

enum {
	RN_LIVE_ADDRESSES = 4,
};

struct rn_live_target;

struct rn_live_options {
	const char *target; /* ADDRESS[:PORT] of the agent */
	/* Addresses of the tester. For each address family the first one is used as the
	 * peer of the scenario, the second one as another host. If there is no IPv4
	 * address, and the target is on loopback, loopback addresses are used.
	 */
	const char *address[RN_LIVE_ADDRESSES];
	unsigned addresses;
	unsigned slack_ms;
	/* How long a call of the agent may take before the agent counts as hanging, in
	 * ms.
	 */
	unsigned call_ms;
};

/* Connects to the agent and opens sockets on the addresses. Returns the target, or NULL
 * after an error message.
 */
struct rn_live_target *rn_live_target_open(const struct rn_live_options *o);
void rn_live_target_close(struct rn_live_target *t);

/* Returns the operations for rn_scene_run(), whose context is @t. They are valid as long
 * as @t.
 */
const struct rn_scene_ops *rn_live_target_ops(struct rn_live_target *t);

/* Returns the trace of the last scenario: a line for each packet, verbs call, completion
 * and event. It is valid until the next scenario begins.
 */
const char *rn_live_target_trace(const struct rn_live_target *t);

/* Did the last scenario send a packet that is longer than the path to the target takes?
 * Then its result says nothing about the target.
 */
bool rn_live_target_was_too_long(const struct rn_live_target *t);

/* Was the agent lost, and could not be reached again? No more scenarios can be run. */
bool rn_live_target_is_gone(const struct rn_live_target *t);

/* --------------------------------------------- packets exchanged with a live target */

/* Sends a packet with the source address and port in its flow. Returns 0 or -errno. */
int rn_live_send(const struct rn_scene_packet *p);

/* Receives a packet that was sent to @gid. Returns false if there is none. */
bool rn_live_take(int fd, const struct rn_gid *gid, struct rn_scene_packet *p);

/* -------------------------- state of a live target, private to live*.c and target.c */
enum {
	/* maximum number of packets, or events, that have not been read */
	RN_LIVE_QUEUE = 256,
	RN_LIVE_CQES = 1024,
	RN_LIVE_TRACE = 8192, /* bytes of a trace */
	RN_LIVE_SLOWER = 4, /* added to timeout codes: makes timeouts 16 times as long */
};

/* The addresses of one family, and the sockets of the tester on them. */
struct rn_live_side {
	struct rn_gid device, peer, other, group;
	bool has_device, has_peer, has_other;
	int fd, other_fd, group_fd; /* UDP sockets of the tester; -1: not open */
	uint32_t ifindex;	    /* interface to which the peer's address belongs */
};

/* Packets and requests that were exchanged in a scenario, as lines of text. */
struct rn_live_trace {
	rn_ns began;
	size_t used;
	char text[RN_LIVE_TRACE];
};

/* Adds a line: the time since the scenario began, and what happened. Nothing is added to
 * a trace that is full.
 */
void rn_live_trace_add(struct rn_live_target *t, const char *arrow, const char *what);

struct rn_live_target {
	struct rn_scene_ops ops, slow_ops;
	struct rn_conform_wire wire;
	/* the two address families; index 0: IPv4, 1: IPv6 */
	struct rn_live_side side[2];
	/* Bit set of enum rn_conform_can: abilities of the device. */
	uint32_t can;
	struct rn_conform_stats stats;
	struct rn_live_options options;
	/* The agent has stopped answering; @lost says how. Reset at the end of the
	 * scenario.
	 */
	bool is_lost;
	char lost[96];
	bool is_gone; /* the target could not be reached again */

	/* The fields from here on are reset for each scenario. */
	struct rn_live_side *at;
	struct rn_scene_names *names;
	const struct rn_scenario *s;
	struct rn_scene_packet packet[RN_LIVE_QUEUE];
	unsigned packets, packets_taken;
	struct rn_scene_wc wc[2][RN_LIVE_QUEUE];
	unsigned wcs[2], wcs_taken[2];
	struct rn_scene_event event[RN_LIVE_QUEUE];
	unsigned events, events_taken, comps[2];
	bool was_too_long;
	struct rn_live_trace trace;
};

/* Sends request @l to the agent and replaces it by the answer. Returns 0, or the -errno
 * in the answer.
 */
int rn_live_ask(struct rn_live_target *t, struct rn_conform_line *l);

void rn_live_set_ops(struct rn_live_target *t);

/* Connects to a new process of the agent after the old one was lost. Returns false, and
 * sets is_gone, if no agent answers.
 */
bool rn_live_reconnect(struct rn_live_target *t);

/* Returns the size of the CQs for the scenario, which is at most the default. */
uint64_t rn_live_cqes(const struct rn_scenario *s);

/* Returns why the scenario cannot be run on the target, or NULL. Does not check the size
 * of CQs.
 */
const char *rn_live_why_not(const struct rn_live_target *t, const struct rn_scenario *s);

/* ------------------------------------------------------------- parsing of addresses */
/* Parses ADDRESS[:PORT] (IPv4). Without a port the port in @at does not change. Returns 0
 * or -EINVAL.
 */
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
