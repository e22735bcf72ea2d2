/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault.c - the device that rules about faults are for. */
#include "fault.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"
#include "log.h"
#include "net_fault.h"
#include "rocin/fail.h"
#include "sentence.h"

/* ----------------------------------------------------------------- what rules ask */
static rn_ns tell_time(void *ctx)
{
	(void)ctx;
	return rnp_engine_now();
}

static const struct rn_stats_qp *record(const struct rnp_engine *e, uint32_t i)
{
	const char *page = (const char *)e->stats.page;

	return (const struct rn_stats_qp *)(const void *)(page + RN_STATS_QP_OFFSET) + i;
}

static bool is_sender(const struct rn_stats_qp *rec, const struct rn_flow *flow,
		      uint32_t dest_qpn)
{
	return rec->qpn != 0 && rec->dest_qpn == dest_qpn &&
	       memcmp(&rec->dest_gid, &flow->dst, sizeof(flow->dst)) == 0;
}

/* A packet of a connected QP does not name its sender: it is known by whom it is for. */
static uint32_t find_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn)
{
	struct rnp_engine *e = ctx;
	uint32_t *hint = &e->faults.cache[(dest_qpn ^ dest_qpn >> 8) % RNP_FAULT_CACHE];
	uint32_t capacity = e->stats.page->qp_capacity;

	if (*hint < capacity && is_sender(record(e, *hint), flow, dest_qpn))
		return record(e, *hint)->qpn;
	for (uint32_t i = 0; i < capacity; i++) {
		if (!is_sender(record(e, i), flow, dest_qpn))
			continue;
		*hint = i;
		return record(e, i)->qpn;
	}
	return 0;
}

static uint32_t find_peer(void *ctx, uint32_t qpn)
{
	struct rnp_engine *e = ctx;
	const struct rn_qp *qp = rn_dev_find_qp(e->dev, qpn);
	struct rn_qp_attr attr;

	if (!qp)
		return 0;
	rn_qp_query(qp, &attr);
	return attr.dest_qpn;
}

/* Numbers are given out one after the other, see qpn.c. */
static uint32_t find_place(void *ctx, uint32_t qpn)
{
	struct rnp_engine *e = ctx;
	uint32_t counter = qpn >> 8;

	if ((qpn & 0xff) != e->stats.page->slot || counter == 0)
		return 0;
	return (counter + RNP_QPN_COUNTERS - 1 - e->faults.first) %
		       (RNP_QPN_COUNTERS - 1) +
	       1;
}

static uint32_t find_sgid(void *ctx, const struct rn_gid *gid)
{
	const struct rnp_engine *e = ctx;
	uint32_t i = 0;

	while (i < RN_GID_MAX && memcmp(&e->gid[i], gid, sizeof(*gid)) != 0)
		i++;
	return i;
}

/* --------------------------------------------------------------- what rules order */
static void cut(struct rnp_engine *e, bool down)
{
	struct rnp_faults *f = &e->faults;

	if (f->is_cut == down)
		return;
	if (down)
		f->was_up = e->netdev.up;
	f->is_cut = down;
	rnp_set_link(e, !down && f->was_up);
}

void rnp_fault_link(struct rnp_engine *e, bool up)
{
	if (e->faults.is_cut)
		e->faults.was_up = up;
	else
		rnp_set_link(e, up);
}

static void obey(void *ctx, enum rn_fault_order order, uint32_t qpn)
{
	struct rnp_engine *e = ctx;
	struct rn_qp *qp = rn_dev_find_qp(e->dev, qpn);
	rn_ns now = rnp_engine_now();

	switch (order) {
	case RN_FAULT_ORDER_KILL:
		if (qp)
			rn_qp_fail(e->dev, qp, now);
		break;
	case RN_FAULT_ORDER_OVERRUN_SEND:
	case RN_FAULT_ORDER_OVERRUN_RECV:
		if (qp)
			rn_qp_overrun(e->dev, qp, now,
				      order == RN_FAULT_ORDER_OVERRUN_SEND);
		break;
	case RN_FAULT_ORDER_LINK_DOWN:
		cut(e, true);
		break;
	case RN_FAULT_ORDER_LINK_UP:
		cut(e, false);
		break;
	}
}

static void show(void *ctx, const struct rn_fault_rules *rules)
{
	(void)ctx;
	(void)rules;
}

static const struct rn_fault_host host = {
	.now = tell_time,
	.sender = find_sender,
	.peer = find_peer,
	.place = find_place,
	.sgid = find_sgid,
	.obey = obey,
	.show = show,
};

/* ---------------------------------------------------------------------- the rules */
static int put_in(struct rnp_engine *e)
{
	/* What the socket did not take may be half sent. */
	if (rnp_stage_flush(&e->stage, e->wire.net) == 0)
		return rnp_wire_add_fault(&e->wire, false, e->stats.page->counter, &host,
					  e);
	return rnp_wire_add_fault(&e->wire, true, e->stats.page->counter, &host, e);
}

int rnp_fault_start(struct rnp_engine *e, uint32_t first, char *err, size_t err_len)
{
	struct rn_fault_rules rules = e->set.fault;

	e->faults = (struct rnp_faults){ .first = first };
	if (!e->set.has_fault)
		return 0;
	rn_fault_rules_select(&rules, e->netdev.ibdev, getpid(),
			      program_invocation_short_name);
	if (!rn_fault_rules_meet_packets(&rules))
		return 0;
	if (put_in(e))
		return rn_fail(err, err_len, -ENOMEM, "no memory for faults");
	rn_fault_set_rules(e->wire.fault, &rules);
	rn_log(RN_LOG_INFO, "%s: %u rules about faults, seed %llu", e->netdev.ibdev,
	       rules.count, (unsigned long long)rules.seed);
	return 0;
}

rn_ns rnp_fault_due(const struct rnp_engine *e, rn_ns now)
{
	return rn_fault_due(e->wire.fault, now);
}
