/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_fault.h - faults on purpose, in front of a back end: what rules say happens to
 * packets on their way out and in.
 *
 * Packets that no rule hits pass as they are, super-packets whole; a super-packet of
 * which one is hit leaves as single packets. What waits (delay, reorder) leaves when it
 * is due, which rn_fault_due() tells, or when 16 MiB wait.
 *
 * Threads: as net.h.
 */
#ifndef RN_NET_FAULT_H
#define RN_NET_FAULT_H

#include "fault_rules.h"
#include "rocin/diagnostic.h"
#include "rocin/net.h"

struct rn_gid;

/* What happens to the device itself. */
enum rn_fault_order {
	RN_FAULT_ORDER_KILL,	     /* the QP goes to ERR */
	RN_FAULT_ORDER_OVERRUN_SEND, /* of the QP's send CQ */
	RN_FAULT_ORDER_OVERRUN_RECV,
	RN_FAULT_ORDER_LINK_DOWN,
	RN_FAULT_ORDER_LINK_UP,
};

/* A packet that rules have met. */
struct rn_fault_news {
	struct rn_diagnostic what; /* but dest_qpn and psn */
	const struct rn_flow *flow;
	const uint8_t *packet; /* as it is now */
	uint32_t len;
	bool is_unsent; /* the wire never carries it */
};

/* The device that the back end belongs to. All under its lock; none may be NULL but
 * those that say so and the last.
 */
struct rn_fault_host {
	rn_ns (*now)(void *ctx);
	/* Local QP that sends to @dest_qpn by @flow, or 0. Only of connected QPs. */
	uint32_t (*sender)(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn);
	/* QP that local @qpn is connected to, or 0. */
	uint32_t (*peer)(void *ctx, uint32_t qpn);
	/* How many QPs the process had made when it had made @qpn; 0: not its own. */
	uint32_t (*place)(void *ctx, uint32_t qpn);
	/* PSN that requests of local @qpn, or, if @of_peer, those to it, began with;
	 * RN_FAULT_NO_PSN: not known. May be NULL.
	 */
	uint32_t (*first_psn)(void *ctx, uint32_t qpn, bool of_peer);
	/* MSN of an answer to packet @psn: of local @qpn to its peer, or, if @of_peer, of
	 * its peer to it. 24 bits.
	 */
	uint32_t (*msn)(void *ctx, uint32_t qpn, uint32_t psn, bool of_peer);
	/* Place in the GID table that @gid has, RN_GID_MAX: none. */
	uint32_t (*sgid)(void *ctx, const struct rn_gid *gid);
	/* Called from receive() before it looks at the wire, so that it may call into the
	 * device; @qpn is 0 for the link.
	 */
	void (*obey)(void *ctx, enum rn_fault_order order, uint32_t qpn);
	/* Called when rules have counted since it was called last. */
	void (*show)(void *ctx, const struct rn_fault_rules *rules);
	/* Called for each packet that a rule has met, before it goes on. */
	void (*tell)(void *ctx, const struct rn_fault_news *news);
};

struct rn_fault;

/**
 * rn_fault_new() - Put faults in front of a back end
 * @inner:	What really transmits; must outlive the result
 * @has_begun:	It has answered -EAGAIN to what is transmitted next, which passes whole
 * @stats:	RN_STAT_COUNT counters: FAULT_DROPPED is written
 * @host:	Constant; NULL: only what needs no device happens, by CLOCK_MONOTONIC
 *
 * Return: the middleware without rules, or NULL with errno ENOMEM.
 */
struct rn_fault *rn_fault_new(struct rn_net *inner, bool has_begun, uint64_t *stats,
			      const struct rn_fault_host *host, void *host_ctx);

/* Packets held back are lost. @inner is not freed. NULL is ignored. */
void rn_fault_free(struct rn_fault *f);

/* Replace the rules, which are copied and already selected for this device. Those that
 * were there go on where they were. What waits because of rules that are gone waits no
 * longer.
 */
void rn_fault_set_rules(struct rn_fault *f, const struct rn_fault_rules *rules);

/* For reading counts, and for rn_fault_judge_call(). */
struct rn_fault_rules *rn_fault_rules(struct rn_fault *f);

struct rn_net *rn_fault_net(struct rn_fault *f);

/* Another back end, which stands for the same wire. */
void rn_fault_set_inner(struct rn_fault *f, struct rn_net *inner);

/* When receive() is next worth calling though nothing arrives; RN_NEVER. */
rn_ns rn_fault_due(const struct rn_fault *f, rn_ns now);

/* No rules, and nothing waits: it can be taken away. */
bool rn_fault_is_idle(const struct rn_fault *f);

#endif /* RN_NET_FAULT_H */
