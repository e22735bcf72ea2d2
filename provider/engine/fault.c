/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault.c - the device that rules about faults are for. */
#include "fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"
#include "rocin/fail.h"
#include "rocin/psn.h"
#include "rocin/qp_attr.h"
#include "rocin/queue_pair.h"
#include "rocin/transport.h"
#include "transport/io/fault/fault_rules.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/host/log.h"
#include "transport/io/host/sentence.h"
#include "wire.h"

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

static struct rn_stats_faults *page_of(const struct rnp_engine *e)
{
	char *page = (char *)e->stats.page;

	return (struct rn_stats_faults *)(void *)(page + RN_STATS_FAULTS_OFFSET);
}

static bool is_sender(const struct rn_stats_qp *rec, const struct rn_flow *flow,
		      uint32_t dest_qpn)
{
	return rec->qpn != 0 && rec->dest_qpn == dest_qpn &&
	       memcmp(&rec->dest_gid, &flow->dst, sizeof(flow->dst)) == 0;
}

/* A packet of a connected QP does not name its sender: it is known by whom it is for. */
uint32_t rnp_fault_find_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn)
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

uint32_t rnp_fault_find_peer(void *ctx, uint32_t qpn)
{
	struct rnp_engine *e = ctx;
	const struct rn_qp *qp = rn_dev_find_qp(e->dev, qpn);
	struct rn_qp_attr attr;

	if (!qp)
		return 0;
	rn_qp_query(qp, &attr);
	return attr.dest_qpn;
}

static uint32_t find_first_psn(void *ctx, uint32_t qpn, bool of_peer)
{
	struct rnp_engine *e = ctx;
	const struct rn_qp *qp = rn_dev_find_qp(e->dev, qpn);

	return qp ? rn_qp_first_psn(qp, of_peer) : RN_FAULT_NO_PSN;
}

static uint32_t find_msn(void *ctx, uint32_t qpn, uint32_t psn, bool of_peer)
{
	struct rnp_engine *e = ctx;
	const struct rn_qp *qp = rn_dev_find_qp(e->dev, qpn);

	if (!qp)
		return 0;
	return of_peer ? rn_qp_peer_msn(qp, rn_psn(psn)) : rn_qp_msn(qp);
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

static uint64_t show_rules(const struct rnp_engine *e, const struct rn_fault_rules *rules,
			   bool of_calls)
{
	struct rn_stats_faults *page = page_of(e);
	unsigned own = e->faults.own ? e->faults.own->count : 0;
	uint64_t own_hits = 0;

	for (unsigned i = 0; i < rules->count; i++) {
		const struct rn_fault_rule *r = &rules->rule[i];

		if ((r->act == RN_FAULT_FAIL) != of_calls)
			continue;
		if (i < own) {
			own_hits += r->hits;
			continue;
		}
		__atomic_store_n(&page->seen[r->number], r->seen, __ATOMIC_RELAXED);
		__atomic_store_n(&page->hits[r->number], r->hits, __ATOMIC_RELAXED);
	}
	return own_hits;
}

/* Where rocind and `rocin fault` look. */
static void show_all(const struct rnp_engine *e)
{
	uint64_t own_hits = 0;

	if (e->wire.fault)
		own_hits += show_rules(e, rn_fault_rules(e->wire.fault), false);
	if (e->faults.calls)
		own_hits += show_rules(e, e->faults.calls, true);
	__atomic_store_n(&page_of(e)->own_hits, own_hits, __ATOMIC_RELAXED);
}

static void show(void *ctx, const struct rn_fault_rules *rules)
{
	(void)rules;
	show_all(ctx);
}

static const struct rn_fault_host host = {
	.now = tell_time,
	.sender = rnp_fault_find_sender,
	.peer = rnp_fault_find_peer,
	.first_psn = find_first_psn,
	.msn = find_msn,
	.place = find_place,
	.sgid = find_sgid,
	.obey = obey,
	.show = show,
	.tell = rnp_capture_tell,
};

/* ---------------------------------------------------------------------- the rules */
static int put_in(struct rnp_engine *e)
{
	/* What the socket did not take may be half sent. */
	bool has_begun = rnp_tx_batch_flush(&e->batch, e->wire.net) != 0;

	return rnp_wire_add_fault(&e->wire, has_begun, e->stats.page->counter, &host, e);
}

/* What waited for the rules that are gone reaches the device; then they cost nothing. */
static void take_out(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();
	struct rn_rx rx[RN_RX_BATCH];
	int n = 1;

	/* If more waits, it stays, with no rules, until they change again. */
	for (unsigned i = 0; i < RNP_DRAIN_BACKGROUND && n != 0; i++) {
		n = e->wire.net->ops->receive(e->wire.net->ctx, rx);
		if (n > 0)
			rn_dev_receive(e->dev, now, rx, (unsigned)n);
	}
	rnp_wire_remove_fault(&e->wire);
	rnp_pump_events(e);
}

static int apply_to_packets(struct rnp_engine *e, const struct rn_fault_rules *all)
{
	int rc = 0;

	if (!e->wire.net)
		return 0;
	if (!e->wire.fault && rn_fault_rules_meet_packets(all))
		rc = put_in(e);
	if (!e->wire.fault)
		return rc;
	rn_fault_set_rules(e->wire.fault, all);
	if (!rn_fault_rules_meet_packets(all))
		take_out(e);
	return 0;
}

/* @all becomes the device's, or is freed. */
static void apply_to_calls(struct rnp_engine *e, struct rn_fault_rules *all)
{
	struct rn_fault_rules *old = e->faults.calls;
	bool ask = rn_fault_rules_meet_calls(all);

	if (ask && old)
		rn_fault_rules_carry(all, old);
	e->faults.calls = ask ? all : NULL;
	if (!ask)
		free(all);
	if (ask != (old != NULL))
		for (const struct rnp_owner *o = e->owners; o; o = o->next)
			if (e->hooks->on_call_faults)
				e->hooks->on_call_faults(o->owner, ask);
	free(old);
}

/* The rules of both kinds, those of the environment first. */
static int apply(struct rnp_engine *e)
{
	const struct rnp_faults *f = &e->faults;
	struct rn_fault_rules *all = calloc(1, sizeof(*all));
	int rc;

	if (!all)
		return -ENOMEM;
	if (f->own)
		*all = *f->own;
	if (f->live)
		rn_fault_rules_append(all, f->live);
	rc = apply_to_packets(e, all);
	apply_to_calls(e, all);
	show_all(e);
	return rc;
}

bool rnp_engine_fails_calls(const struct rnp_engine *e)
{
	return e->faults.calls != NULL;
}

int rnp_engine_judge_call(struct rnp_engine *e, unsigned call)
{
	int cancel, error = 0;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_lock(e);
	if (e->faults.calls) {
		error = rn_fault_judge_call(e->faults.calls, call);
		show_all(e);
	}
	rnp_engine_unlock(e);
	pthread_setcancelstate(cancel, NULL);
	return error;
}

static void select_rules(const struct rnp_engine *e, struct rn_fault_rules *rules)
{
	rn_fault_rules_select(rules, e->netdev.ibdev, getpid(),
			      program_invocation_short_name);
	rn_log(RN_LOG_INFO, "%s: %u rules about faults, seed %llu", e->netdev.ibdev,
	       rules->count, (unsigned long long)rules->seed);
}

int rnp_fault_open(struct rnp_engine *e, char *err, size_t err_len)
{
	struct rnp_faults *f = &e->faults;

	if (!e->set.has_fault)
		return 0;
	f->own = malloc(sizeof(*f->own));
	if (f->own) {
		*f->own = e->set.fault;
		select_rules(e, f->own);
	}
	if (f->own && apply(e) == 0)
		return 0;
	return rn_fail(err, err_len, -ENOMEM, "no memory for faults");
}

int rnp_fault_start(struct rnp_engine *e, uint32_t first, char *err, size_t err_len)
{
	e->faults.first = first;
	return apply(e) ? rn_fail(err, err_len, -ENOMEM, "no memory for faults") : 0;
}

/* The rules in the file, or NULL. */
static struct rn_fault_rules *read_live(const struct rnp_engine *e, int fd)
{
	struct rn_fault_rules *rules = malloc(sizeof(*rules));
	char *text = malloc(RN_FAULT_TEXT_MAX), err[400];
	ssize_t n = text ? pread(fd, text, RN_FAULT_TEXT_MAX - 1, 0) : -1;
	int rc = rules && n >= 0 ? 0 : -ENOMEM;

	if (!rc) {
		text[n] = '\0';
		rc = rn_fault_rules_parse(text, "rules", rules, err, sizeof(err));
	}
	free(text);
	if (!rc) {
		select_rules(e, rules);
		return rules;
	}
	rn_log(RN_LOG_ERROR, "%s: faults cannot be read: %s", e->netdev.ibdev,
	       rc == -EINVAL ? err : strerrordesc_np(-rc));
	free(rules);
	return NULL;
}

void rnp_fault_live(struct rnp_engine *e, int fd, uint64_t generation)
{
	struct rnp_faults *f = &e->faults;
	struct rn_stats_faults *page = page_of(e);

	free(f->live);
	f->live = fd >= 0 ? read_live(e, fd) : NULL;
	f->generation = generation;
	if (fd >= 0)
		close(fd);
	memset(page->seen, 0, sizeof(page->seen));
	memset(page->hits, 0, sizeof(page->hits));
	if (apply(e))
		rn_log(RN_LOG_ERROR, "%s: no memory for faults", e->netdev.ibdev);
	__atomic_store_n(&page->generation, generation, __ATOMIC_RELEASE);
	if (e->attached)
		rnp_progress_deadline(e, rnp_engine_now());
}

void rnp_fault_free(struct rnp_engine *e)
{
	free(e->faults.own);
	free(e->faults.live);
	free(e->faults.calls);
	e->faults = (struct rnp_faults){ 0 };
}

rn_ns rnp_fault_due(const struct rnp_engine *e, rn_ns now)
{
	return rn_fault_due(e->wire.fault, now);
}
