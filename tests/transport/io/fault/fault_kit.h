/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_kit.h - the middleware of faults in front of a device whose time the test tells.
 * Include it behind cmocka.h.
 */
#ifndef RN_FAULT_KIT_H
#define RN_FAULT_KIT_H

#include "rocin/gid.h"
#include "transport/io/fault/net_fault.h"

struct world {
	rn_ns now;
	unsigned orders;
	enum rn_fault_order order[8];
	uint32_t qpn[8];
	uint64_t hits;
};

static rn_ns tell_time(void *ctx)
{
	const struct world *w = ctx;

	return w->now;
}

static uint32_t find_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn)
{
	(void)ctx;
	(void)flow;
	return dest_qpn + 0x1000;
}

static uint32_t find_peer(void *ctx, uint32_t qpn)
{
	(void)ctx;
	return qpn - 0x1000;
}

static uint32_t find_msn(void *ctx, uint32_t qpn, uint32_t psn, bool of_peer)
{
	(void)ctx;
	(void)qpn;
	return of_peer ? psn + 0x100 : psn + 0x200;
}

static uint32_t find_place(void *ctx, uint32_t qpn)
{
	(void)ctx;
	return qpn - 0x1000;
}

static uint32_t find_sgid(void *ctx, const struct rn_gid *gid)
{
	(void)ctx;
	return gid->raw[15];
}

static void obey(void *ctx, enum rn_fault_order order, uint32_t qpn)
{
	struct world *w = ctx;

	assert_in_range(w->orders, 0, RN_ARRAY_SIZE(w->order) - 1);
	w->order[w->orders] = order;
	w->qpn[w->orders++] = qpn;
}

static void show(void *ctx, const struct rn_fault_rules *rules)
{
	struct world *w = ctx;

	w->hits = rules->count ? rules->rule[0].hits : 0;
}

static const struct rn_fault_host host = {
	.now = tell_time,
	.sender = find_sender,
	.peer = find_peer,
	.msn = find_msn,
	.place = find_place,
	.sgid = find_sgid,
	.obey = obey,
	.show = show,
};

/* With @h in place of host. */
static inline struct rn_fault *make_for(const struct rn_fault_host *h,
					struct rn_net *inner, const char *text,
					uint64_t *stats, struct world *w)
{
	struct rn_fault *fault = rn_fault_new(inner, false, stats, h, w);
	struct rn_fault_rules rules;
	char err[300] = "";

	assert_non_null(fault);
	if (rn_fault_read(text, &rules, err, sizeof(err)))
		fail_msg("%s", err);
	rn_fault_set_rules(fault, &rules);
	return fault;
}

static inline struct rn_fault *make(struct rn_net *inner, const char *text,
				    uint64_t *stats, struct world *w)
{
	return make_for(&host, inner, text, stats, w);
}

#endif /* RN_FAULT_KIT_H */
