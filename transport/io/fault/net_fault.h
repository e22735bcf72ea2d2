/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_fault.h - a layer in front of a back end, which applies fault rules to the packets
 * of a device in both directions.
 *
 * Packets that no rule hits pass unchanged, super-packets as a whole. If a rule hits a
 * packet of a super-packet, all packets of the super-packet leave one by one. Packets
 * that wait (delay, reorder) leave when they are due, which rn_fault_due() tells, or
 * earlier if more than 16 MiB wait.
 *
 * Threads: all calls are made under the lock of the engine that owns the layer.
 */
#ifndef RN_NET_FAULT_H
#define RN_NET_FAULT_H

#include "fault_rules.h"
#include "rocin/diagnostic.h"
#include "rocin/net.h"

struct rn_gid;

/* Orders to the device: effects of rules on the device itself, not on packets. */
enum rn_fault_order {
	RN_FAULT_ORDER_KILL,	     /* move the QP to ERR */
	RN_FAULT_ORDER_OVERRUN_SEND, /* overrun the QP's send CQ */
	RN_FAULT_ORDER_OVERRUN_RECV,
	RN_FAULT_ORDER_LINK_DOWN,
	RN_FAULT_ORDER_LINK_UP,
};

/* Report about a packet that a rule has changed or dropped. */
struct rn_fault_news {
	struct rn_diagnostic what; /* the diagnostic, without dest_qpn and psn */
	const struct rn_flow *flow;
	const uint8_t *packet; /* the packet as changed by the rules */
	uint32_t len;
	bool is_unsent; /* the packet was dropped before it was sent */
};

/* Functions that the device provides. Called with the lock of the engine held. Those
 * that may be NULL say so.
 */
struct rn_fault_host {
	rn_ns (*now)(void *ctx);
	/* Return: the number of the local QP that is connected to @dest_qpn and sends to
	 * it with the flow @flow; 0 if there is none.
	 */
	uint32_t (*sender)(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn);
	/* Return: number of the QP that the local QP @qpn is connected to, or 0. */
	uint32_t (*peer)(void *ctx, uint32_t qpn);
	/* Return: the position of the QP @qpn in the order in which this process has
	 * created its QPs, from 1; 0: it is not a QP of this process.
	 */
	uint32_t (*place)(void *ctx, uint32_t qpn);
	/* Return: the first PSN of the requests that the local QP @qpn sends or, if
	 * @of_peer is true, receives; RN_FAULT_NO_PSN if it is not known. May be NULL.
	 */
	uint32_t (*first_psn)(void *ctx, uint32_t qpn, bool of_peer);
	/* Return: the MSN (24 bits) for an acknowledgement of the request @psn. If
	 * @of_peer is false, the local QP @qpn sends the acknowledgement; if it is true,
	 * the peer of that QP does.
	 */
	uint32_t (*msn)(void *ctx, uint32_t qpn, uint32_t psn, bool of_peer);
	/* Return: index of @gid in the GID table; RN_GID_MAX: it is not there. */
	uint32_t (*sgid)(void *ctx, const struct rn_gid *gid);
	/* Carry out an order to the QP @qpn or, if @qpn is 0, to the link. Called at the
	 * start of receive(), before packets are read; so this function may call into
	 * the device.
	 */
	void (*obey)(void *ctx, enum rn_fault_order order, uint32_t qpn);
	/* Called after the rules' counts have changed, so that they can be published. */
	void (*show)(void *ctx, const struct rn_fault_rules *rules);
	/* Called for each packet that a rule has hit, before the packet goes on. May be
	 * NULL.
	 */
	void (*tell)(void *ctx, const struct rn_fault_news *news);
};

struct rn_fault;

/**
 * rn_fault_new() - Create a layer for faults in front of a back end
 * @inner:	The back end; must outlive the result
 * @has_begun:	@inner has returned -EAGAIN for the super-packet that is transmitted
 *		next, which therefore passes unchanged
 * @stats:	RN_STAT_COUNT counters, of which FAULT_DROPPED is written
 * @host:	Functions of the device, with @host_ctx as their argument; must outlive
 *		the result and not change. NULL: only faults that need no device happen,
 *		and the clock is CLOCK_MONOTONIC
 *
 * Return: the layer, without rules, or NULL with errno ENOMEM.
 */
struct rn_fault *rn_fault_new(struct rn_net *inner, bool has_begun, uint64_t *stats,
			      const struct rn_fault_host *host, void *host_ctx);

/* Free the layer, but not the back end @inner. Packets that wait in it are lost. NULL is
 * ignored.
 */
void rn_fault_free(struct rn_fault *f);

/* Replace the rules by a copy of @rules. The caller passes only rules for this device
 * (rn_fault_rules_select()). A rule that was there before keeps its counts. Packets that
 * are held back leave.
 */
void rn_fault_set_rules(struct rn_fault *f, const struct rn_fault_rules *rules);

/* Return: the present rules, for reading their counts and for rn_fault_judge_call(). */
struct rn_fault_rules *rn_fault_rules(struct rn_fault *f);

struct rn_net *rn_fault_net(struct rn_fault *f);

/* Replace the back end by another one for the same device. */
void rn_fault_set_inner(struct rn_fault *f, struct rn_net *inner);

/* Return: the time by which the caller must call receive(), even if no packet has
 * arrived; RN_NEVER if no packet is held back.
 */
rn_ns rn_fault_due(const struct rn_fault *f, rn_ns now);

/* Return: true if there are neither rules nor packets that are held back, so that the
 * layer can be removed.
 */
bool rn_fault_is_idle(const struct rn_fault *f);

#endif /* RN_NET_FAULT_H */
