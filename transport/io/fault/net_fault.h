/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_fault.h - a layer that applies fault rules to the packets of a device in
 * both directions.
 *
 * Packets that no rule hits pass unchanged, super-packets as a whole; if a rule hits a
 * packet of a super-packet, its packets leave one by one. Packets that wait (delay,
 * reorder) leave when they are due, which rn_fault_due() tells, or when 16 MiB wait.
 *
 * Threads: as net.h.
 */
#ifndef RN_NET_FAULT_H
#define RN_NET_FAULT_H

#include "fault_rules.h"
#include "rocin/diagnostic.h"
#include "rocin/net.h"

struct rn_gid;

/* Effects of rules on the device itself. */
enum rn_fault_order {
	RN_FAULT_ORDER_KILL,	     /* move the QP to ERR */
	RN_FAULT_ORDER_OVERRUN_SEND, /* overrun the QP's send CQ */
	RN_FAULT_ORDER_OVERRUN_RECV,
	RN_FAULT_ORDER_LINK_DOWN,
	RN_FAULT_ORDER_LINK_UP,
};

/* A packet that a rule has hit. */
struct rn_fault_news {
	struct rn_diagnostic what; /* all but dest_qpn and psn */
	const struct rn_flow *flow;
	const uint8_t *packet; /* the packet after the rules */
	uint32_t len;
	bool is_unsent; /* the packet does not get to the wire */
};

/* Callbacks to the device. All are called under its lock. None may be NULL, except the
 * last one and where the comment says so.
 */
struct rn_fault_host {
	rn_ns (*now)(void *ctx);
	/* The connected local QP that sends to @dest_qpn with @flow, or 0. */
	uint32_t (*sender)(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn);
	/* The QP that the local QP @qpn is connected to, or 0. */
	uint32_t (*peer)(void *ctx, uint32_t qpn);
	/* The number of @qpn in the order in which the process created its QPs, from 1;
	 * 0: it is not a QP of this process.
	 */
	uint32_t (*place)(void *ctx, uint32_t qpn);
	/* The first PSN of the requests of local QP @qpn or, if @of_peer, of requests to
	 * it; RN_FAULT_NO_PSN: not known. May be NULL.
	 */
	uint32_t (*first_psn)(void *ctx, uint32_t qpn, bool of_peer);
	/* The MSN of an answer to request @psn: from local QP @qpn to its peer or, if
	 * @of_peer, from its peer. 24 bits.
	 */
	uint32_t (*msn)(void *ctx, uint32_t qpn, uint32_t psn, bool of_peer);
	/* Index of @gid in the GID table; RN_GID_MAX: it is not there. */
	uint32_t (*sgid)(void *ctx, const struct rn_gid *gid);
	/* Carry out an order. Called from receive() before it reads the wire, so it may
	 * call into the device; @qpn is 0 for the link.
	 */
	void (*obey)(void *ctx, enum rn_fault_order order, uint32_t qpn);
	/* Called after the counts of rules have changed. */
	void (*show)(void *ctx, const struct rn_fault_rules *rules);
	/* Called for each packet that a rule has hit, before the packet goes on. */
	void (*tell)(void *ctx, const struct rn_fault_news *news);
};

struct rn_fault;

/**
 * rn_fault_new() - Put a layer for faults in front of a back end
 * @inner:	The back end; must outlive the result
 * @has_begun:	@inner has answered -EAGAIN to the super-packet that is transmitted next,
 *		which therefore passes unchanged
 * @stats:	RN_STAT_COUNT counters, of which FAULT_DROPPED is written
 * @host:	Constant. NULL: only faults that need no device happen; the clock is
 *		CLOCK_MONOTONIC
 *
 * Return: the layer, without rules, or NULL with errno ENOMEM.
 */
struct rn_fault *rn_fault_new(struct rn_net *inner, bool has_begun, uint64_t *stats,
			      const struct rn_fault_host *host, void *host_ctx);

/* Packets that wait are lost. @inner is not freed. NULL is ignored. */
void rn_fault_free(struct rn_fault *f);

/* Replace the rules by a copy of @rules, which are already selected for this device. A
 * rule that was there before continues with its counts. Packets that wait are released.
 */
void rn_fault_set_rules(struct rn_fault *f, const struct rn_fault_rules *rules);

/* The present rules, for reading their counts and for rn_fault_judge_call(). */
struct rn_fault_rules *rn_fault_rules(struct rn_fault *f);

struct rn_net *rn_fault_net(struct rn_fault *f);

/* Use another back end for the same wire. */
void rn_fault_set_inner(struct rn_fault *f, struct rn_net *inner);

/* Time at which receive() is next worth calling although nothing has
 * arrived; RN_NEVER.
 */
rn_ns rn_fault_due(const struct rn_fault *f, rn_ns now);

/* Are there no rules, and no packets that wait? Then the layer can be removed. */
bool rn_fault_is_idle(const struct rn_fault *f);

#endif /* RN_NET_FAULT_H */
