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
/* Counters of the target (the device under test), which a program cannot read by verbs.
 * The tester can read them if the target is a device of Rocin in a program on this host
 * that belongs to the same user.
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

/* Stores the present values of all counters, so that rn_conform_stats_get() can compute
 * increases. The first call also searches for the statistics page of the target.
 */
void rn_conform_stats_begin(struct rn_conform_stats *c);

/* Sets *@value to the number by which a counter has increased since
 * rn_conform_stats_begin(). Returns false if the target has no statistics page. The
 * increase of rocind's counter is added, because packets to an unknown QP may be dropped
 * by rocind instead of the program.
 */
bool rn_conform_stats_get(struct rn_conform_stats *c, enum rn_stat stat, uint64_t *value);

/* ---------------------------------------------------------------------- live targets */
/* A live target: a device on the network, on which scenarios run in real time. The tester
 * (this program) exchanges packets with the device by UDP sockets. The agent, a program
 * on the host of the device, calls verbs for the tester (wire.h).
 *
 * Threads: one at a time.
 */

enum {
	RN_LIVE_ADDRESSES = 4,
};

struct rn_live_target;

struct rn_live_options {
	const char *target; /* ADDRESS[:PORT] of the agent */
	/* Addresses of the tester. In each address family, the first address is that of
	 * the peer in scenarios, the second one that of another host. If no IPv4 address
	 * is given, and the target is on loopback, loopback addresses are used.
	 */
	const char *address[RN_LIVE_ADDRESSES];
	unsigned addresses;
	unsigned slack_ms;
	/* Longest time in ms that a call of the agent may take. If it takes longer, the
	 * agent counts as hanging.
	 */
	unsigned call_ms;
	/* Scenarios with connections that take more seconds, because of their timers, are
	 * skipped.
	 */
	unsigned longest_s;
};

/* Connects to the agent and opens sockets on the addresses. Returns the target, or NULL
 * after an error message.
 */
struct rn_live_target *rn_live_target_open(const struct rn_live_options *o);
void rn_live_target_close(struct rn_live_target *t);

/* Returns the functions by which rn_scene_run() runs a scenario on the target; @t must be
 * passed to it as context. They are valid as long as @t.
 */
const struct rn_scene_ops *rn_live_target_ops(struct rn_live_target *t);

/* Returns the trace of the last scenario: a line for each packet, verbs call, completion
 * and event. It is valid until the next scenario begins.
 */
const char *rn_live_target_trace(const struct rn_live_target *t);

/* Returns true if the last scenario has sent a packet that is too long for the path to
 * the target. The result of the scenario then says nothing about the target.
 */
bool rn_live_target_was_too_long(const struct rn_live_target *t);

/* Returns true if the agent was lost and could not be reached again. Then no more
 * scenarios can be run.
 */
bool rn_live_target_is_gone(const struct rn_live_target *t);

/* --------------------------------------------- packets exchanged with a live target */

/* Sends a packet from the source address and port that are in its flow. Returns 0 or
 * -errno.
 */
int rn_live_send(const struct rn_scene_packet *p);

/* Receives a packet that was sent to @gid. Returns false if there is none. */
bool rn_live_take(int fd, const struct rn_gid *gid, struct rn_scene_packet *p);

/* -------------------------- state of a live target, private to live*.c and target.c */
enum {
	/* maximum number of packets, and of events, that have arrived and that the
	 * scenario has not processed yet
	 */
	RN_LIVE_QUEUE = 256,
	RN_LIVE_CQES = 1024,
	RN_LIVE_TRACE = 8192, /* maximum number of bytes of a trace */
	RN_LIVE_SLOWER = 4, /* added to timeout codes: makes timeouts 16 times as long */
	/* maximum number of connection events that the scenario has not processed yet */
	RN_LIVE_CM_EVENTS = 64,
	/* number of the device's latest messages that are remembered, to recognise
	 * repetitions
	 */
	RN_LIVE_CM_NOTES = 16,
	/* Times in ms. LONGEST: the longest time for which a peer may have to wait until
	 * a timer of the device expires; it is that for which the answer to a lookup is
	 * repeated (2 T). QUIET: if no message comes for this time, no more messages are
	 * expected. A device of Rocin repeats a message after 200 ms.
	 */
	RN_LIVE_CM_LONGEST_MS = 9000,
	RN_LIVE_CM_QUIET_MS = 300,
};

/* The addresses of one address family that scenarios use, and the sockets of the tester
 * on these addresses.
 */
struct rn_live_side {
	struct rn_gid device, peer, other, group;
	bool has_device, has_peer, has_other;
	int fd, other_fd, group_fd; /* UDP sockets of the tester; -1: not open */
	uint32_t ifindex;	    /* interface to which the peer's address belongs */
};

/* The trace of a scenario: its packets, calls, completions and events, as lines of text.
 */
struct rn_live_trace {
	rn_ns began;
	size_t used;
	char text[RN_LIVE_TRACE];
};

/* Adds a line to the trace of the scenario. It consists of the time since the scenario
 * began, @arrow (the direction), and @what (a description). If the trace is full, adds
 * nothing.
 */
void rn_live_trace_add(struct rn_live_target *t, const char *arrow, const char *what);

/* The connections of a scenario. */
struct rn_live_cm {
	struct rn_scene_cm_event event[RN_LIVE_CM_EVENTS];
	unsigned events, taken;
	uint8_t noted[RN_LIVE_CM_NOTES][RN_MAD_LEN];
	unsigned notes;
	struct rn_cm_info info;
};

struct rn_live_target {
	struct rn_scene_ops ops, slow_ops;
	struct rn_conform_wire wire;
	/* the two address families; index 0: IPv4, 1: IPv6 */
	struct rn_live_side side[2];
	/* Abilities of the device, bits of enum rn_conform_can. */
	uint32_t can;
	struct rn_conform_stats stats;
	struct rn_live_options options;
	/* The agent no longer answers, for the reason @lost. This is reset at the end of
	 * the scenario.
	 */
	bool is_lost;
	char lost[96];
	bool is_gone; /* the target could not be reached again */
	uint32_t run; /* number of the next run of a scenario */

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
	struct rn_live_cm cm;
	struct rn_live_trace trace;
};

/* Sends the request @l to the agent, and replaces @l by the answer. Returns 0, or the
 * -errno that the agent has sent in its answer.
 */
int rn_live_ask(struct rn_live_target *t, struct rn_conform_line *l);

void rn_live_set_ops(struct rn_live_target *t);

/* Returns the time of CLOCK_MONOTONIC. */
rn_ns rn_conform_now(void);

/* ---- connections of a scenario (live_cm.c) ---- */
extern const struct rn_scene_cm_ops rn_live_cm_ops;

/* Executes a line for which rn_scn_is_cm_call() is true. Returns 0 or -errno. */
int rn_live_cm_call(struct rn_live_target *t, const struct rn_scn_line *l);

/* Adds a connection event that the agent has reported. */
void rn_live_cm_take(struct rn_live_target *t, const struct rn_conform_line *l);

/* Remembers a message that the scenario has processed. */
void rn_live_cm_note(struct rn_live_target *t, const struct rn_scene_packet *p);

/* Returns true if the packet is about a connection of an earlier run. It then sends the
 * answer that the device needs, if any.
 */
bool rn_live_cm_is_old(struct rn_live_target *t, const struct rn_scene_packet *p);

/* Called when the agent has closed the connections of the scenario. Receives the messages
 * that the device sends about them, and answers them.
 */
void rn_live_cm_settle(struct rn_live_target *t);

/* Returns the longest time that a line of a scenario with connections waits before it is
 * executed.
 */
static inline rn_ns rn_live_cm_longest(const struct rn_scn_line *l)
{
	bool acts = l->verb == RN_SCN_MAD_IN || rn_scn_is_cm_call(l->verb);

	return RN_MSEC(acts ? RN_LIVE_CM_LONGEST_MS : RN_LIVE_CM_QUIET_MS);
}

/* Connects to a new process of the agent after the old one was lost. If no agent answers,
 * sets is_gone and returns false.
 */
bool rn_live_reconnect(struct rn_live_target *t);

/* Returns the number of CQEs that the CQs of the scenario must have, at most
 * RN_LIVE_CQES.
 */
uint64_t rn_live_cqes(const struct rn_scenario *s);

/* Returns the reason why the scenario cannot be run on the target, as text; NULL: it can.
 * Does not check whether the device creates CQs of exactly the requested size.
 */
const char *rn_live_why_not(const struct rn_live_target *t, const struct rn_scenario *s);

/* ------------------------------------------------------------- parsing of addresses */
/* Parses ADDRESS[:PORT] (IPv4) into @at. Without PORT, the port in @at stays as it is.
 * Returns 0 or -EINVAL.
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
