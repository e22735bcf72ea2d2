/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* world.c - virtual time: what happens next, and what it makes happen. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world_internal.h"

enum {
	EVENTS_MAX = 400000, /* more: they do not come to an end */
	QUIET_WITHIN = 600,  /* seconds after the last fault */
};

#define SECOND RN_MSEC(1000)

void rn_w_say(struct rn_world *w, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (!w->trace)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	w->trace(w->trace_ctx, w->net->now, line);
}

void rn_w_fail(struct rn_world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->result->failed)
		return;
	w->result->failed = true;
	w->result->at = w->net->now;
	w->result->check = fmt;
	va_start(ap, fmt);
	vsnprintf(w->result->why, sizeof(w->result->why), fmt, ap);
	va_end(ap);
}

void rn_w_hash(struct rn_world *w, uint64_t a, uint64_t b)
{
	uint64_t h = w->result->hash;

	h = rn_random_mix(h ^ (uint64_t)w->net->now);
	h = rn_random_mix(h ^ a);
	w->result->hash = rn_random_mix(h ^ b);
}

struct rn_w_end *rn_w_find(struct rn_world *w, uint32_t dev, uint32_t qpn)
{
	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		struct rn_w_end *e = &w->pair[i / 2].end[i % 2];

		if (e->qp && e->dev == dev && e->qpn == qpn)
			return e;
	}
	return NULL;
}

/* ---------------------------------------------------------------- what comes out */
static void transmit(struct rn_w_device *d, unsigned what)
{
	struct rn_vnet_packet pkt;
	struct rn_w_end *e;
	struct rn_tx tx;

	while (!d->w->result->failed) {
		if (!rn_vnet_build(d->w->net, d->number, what, &pkt, &tx))
			return;
		rn_w_leave(d, &pkt);
		e = rn_w_find(d->w, d->number, tx.src_qpn);
		if (!e)
			continue;
		if (!tx.response)
			rn_w_check_pace(d->w, e, pkt.len);
		rn_w_key_tick(d->w, e);
	}
}

static void take_out(struct rn_w_device *d)
{
	struct rn_event ev;

	while (rn_dev_event(d->dev, &ev))
		rn_w_check_event(d, &ev);
	rn_w_cq_poll(d);
}

/* Of all queue pairs of @d, after anything that may have charged a retry. */
static void check_accounts(struct rn_w_device *d)
{
	struct rn_world *w = d->w;

	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		struct rn_w_end *e = &w->pair[i / 2].end[i % 2];

		if (e->qp && e->dev == d->number)
			rn_w_account_check(w, e);
	}
}

void rn_w_drain(struct rn_w_device *d)
{
	check_accounts(d);
	take_out(d);
	if (rn_w_is_stalled(d))
		return;
	transmit(d, d->w->plan.acks_late ? RN_TX_WORK : RN_TX_ALL);
	take_out(d);
}

/* ------------------------------------------------------------------------ time */
/* A step may touch any device. */
static void rearm(struct rn_world *w)
{
	for (uint32_t i = 0; i < w->plan.devices; i++)
		rn_vnet_rearm(w->net, i);
}

static void happen(void *ctx, uint32_t what, uint32_t arg)
{
	struct rn_world *w = ctx;
	struct rn_w_device *d;

	switch ((enum rn_w_event)what) {
	case RN_W_STEP:
		rn_w_step(w, &w->plan.step[arg]);
		break;
	case RN_W_MEM_DONE:
		d = &w->device[arg >> 16];
		rn_w_mem_done(d, arg & 0xffff);
		rn_w_drain(d);
		break;
	case RN_W_WAKE:
		rn_w_drain(&w->device[arg]);
		break;
	case RN_W_RESUME:
		rn_w_resume(w, &w->pair[arg / 2].end[arg % 2]);
		break;
	}
}

static void expire(void *ctx, uint32_t device)
{
	struct rn_world *w = ctx;
	struct rn_w_device *d = &w->device[device];

	rn_dev_expire(d->dev, rn_w_local(d));
	rn_w_drain(d);
	rearm(w);
}

static const struct rn_vnet_ops network = {
	.arrive = rn_w_arrive,
	.expire = expire,
	.happen = happen,
	.queued = rn_w_queued,
	.lost = rn_w_lost,
};

static void late_acks(struct rn_world *w)
{
	for (uint32_t i = 0; i < w->plan.devices; i++)
		if (!rn_w_is_stalled(&w->device[i]))
			transmit(&w->device[i], RN_TX_ALL);
}

/* True: nothing is left to happen; false: @limit was reached, or something is wrong. */
static bool run(struct rn_world *w, rn_ns limit)
{
	while (!w->result->failed) {
		rn_ns next;

		rearm(w);
		next = rn_vnet_next(w->net);
		if (next > w->net->now && w->plan.acks_late) {
			uint64_t before = w->result->packets;

			late_acks(w);
			if (w->result->packets != before)
				continue;
		}
		if (next > w->net->now)
			rn_w_check_rest(w);
		if (next == RN_NEVER)
			return true;
		if (next > limit)
			return false;
		if (++w->result->events > EVENTS_MAX) {
			rn_w_fail(w, "it does not come to an end");
			return false;
		}
		rn_vnet_step(w->net);
		if (w->net->overflowed)
			rn_w_fail(w, "too much happens at once");
	}
	return false;
}

/* ---------------------------------------------------------------- a whole run */
static void start_device(struct rn_world *w, uint32_t i, uint32_t its_switch)
{
	struct rn_w_device *d = &w->device[i];
	const uint64_t seed = w->plan.seed + 2 * (uint64_t)i;
	const struct rn_gid gid = rn_vnet_gid(i, w->plan.ipv6);
	struct rn_dev_cfg cfg = {
		.gid_count = 1,
		.ifindex = 7,
		.mtu_max = RN_MTU_MAX,
		.icrc_exact = true,
		.credits = w->plan.credits,
		.cc = w->plan.cc,
		.cc_line = (uint32_t)(w->plan.link.rate / 1000),
		.window_start = w->plan.window_max / 2,
		.window_min = 8192,
		.window_max = w->plan.window_max,
		.read_window = w->plan.read_window,
		.read_chunk = 1 << 13,
		.mem = w->plan.mem_delay ? &rn_w_mem_later : &rn_w_mem_now,
		.mem_ctx = d,
		.stats = d->stats,
	};
	int rc;

	memset(d->stats, 0, sizeof(d->stats));
	d->w = w;
	d->number = i;
	d->dead = false;
	d->marked = d->notified = 0;
	cfg.gid[0] = gid;
	rc = rn_dev_init(d->dev, &cfg);
	assert(rc == 0);
	rn_vnet_add_host(w->net, d->dev, &gid);
	w->net->host[i].skew = RN_MSEC(i);
	rn_vnet_join(w->net, &(struct rn_vnet_side){ i, 0, &w->plan.link, seed },
		     &(struct rn_vnet_side){ its_switch, i, &w->plan.link, seed + 1 });
	rn_vnet_route(w->net, its_switch, i, i, 1);
	rn_w_cq_start(d);
	rn_w_mem_init(d);
	rn_w_srq_create(d);
}

static void start(struct rn_world *w)
{
	uint32_t its_switch;

	rn_vnet_clear(w->net, RN_USEC(1));
	its_switch = rn_vnet_add_switch(w->net);
	w->calm = false;
	w->qpns = 0;
	w->ids = 0;
	w->mem_waiting = 0;
	w->memory_random = rn_random_of(w->plan.seed, 'm');
	w->host_random = rn_random_of(w->plan.seed, 'h');
	for (uint32_t i = 0; i < w->plan.faults; i++)
		w->fault_random[i] = rn_random_of(w->plan.seed, 100 + i);
	for (uint32_t i = 0; i < w->plan.devices; i++)
		start_device(w, i, its_switch);
	for (uint32_t i = 0; i < w->plan.pairs; i++)
		for (unsigned k = 0; k < 2; k++)
			w->pair[i].end[k].qp = NULL;
	for (uint32_t i = 0; i < w->plan.pairs; i++)
		if (!w->plan.pair[i].off)
			rn_w_make_pair(w, i);
	for (uint32_t i = 0; i < w->plan.steps; i++)
		if (!w->plan.step[i].off)
			rn_w_put(w, w->plan.step[i].at, RN_W_STEP, i);
}

typedef void each_end(struct rn_world *w, struct rn_w_end *e);

static void for_each_end(struct rn_world *w, each_end *f)
{
	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++)
		if (w->pair[i / 2].end[i % 2].qp && !w->result->failed)
			f(w, &w->pair[i / 2].end[i % 2]);
}

static void top_up(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_random r = rn_random_of(w->plan.seed, e->qpn);

	if (e->alive)
		rn_w_post_recvs(w, e, RN_W_WRS, &r);
}

static void give_up(struct rn_world *w, struct rn_w_end *e)
{
	if (e->alive)
		rn_w_to_error(w, e);
}

static bool until_quiet(struct rn_world *w)
{
	for (uint32_t i = 0; i < w->plan.devices; i++)
		rn_w_drain(&w->device[i]);
	if (!run(w, w->net->now + QUIET_WITHIN * SECOND))
		rn_w_fail(w, "it does not become quiet");
	return !w->result->failed;
}

/* Faults are over: what can complete must, and then nothing may be left. */
static void finish(struct rn_world *w)
{
	rn_w_say(w, "faults end");
	w->calm = true;
	for_each_end(w, top_up);
	if (!until_quiet(w))
		return;
	for_each_end(w, rn_w_check_done);
	for_each_end(w, give_up);
	if (!until_quiet(w))
		return;
	for_each_end(w, rn_w_check_flushed);
}

void rn_world_run(struct rn_world *w, const struct rn_plan *plan, rn_world_trace *trace,
		  void *trace_ctx, struct rn_world_result *result)
{
	*result = (struct rn_world_result){ 0 };
	w->plan = *plan;
	w->result = result;
	w->trace = trace;
	w->trace_ctx = trace_ctx;
	start(w);
	run(w, plan->end);
	if (!result->failed) {
		w->net->now = w->net->now < plan->end ? plan->end : w->net->now;
		finish(w);
	}
	if (!result->failed)
		result->at = w->net->now;
	/* After a failure the devices are left as they are: the next run starts anew. */
	if (result->failed)
		return;
	for (uint32_t i = 0; i < 2 * plan->pairs; i++)
		rn_w_close(w, &w->pair[i / 2].end[i % 2]);
	for (uint32_t i = 0; i < plan->devices; i++) {
		rn_w_srq_destroy(&w->device[i]);
		rn_w_check_gone(&w->device[i]);
	}
}

static struct rn_vnet *net_new(struct rn_world *w)
{
	return rn_vnet_new(&(struct rn_vnet_cfg){ .hosts = RN_PLAN_DEVICES,
						  .switches = 1,
						  .switch_ports = RN_PLAN_DEVICES,
						  .packets = RN_W_PACKETS,
						  .events = RN_W_EVENTS,
						  .ops = &network,
						  .ctx = w });
}

struct rn_world *rn_world_new(void)
{
	struct rn_world *w = calloc(1, sizeof(*w));
	size_t dev = (rn_dev_size() + 63) & ~(size_t)63;
	uint8_t *at;

	if (!w)
		return NULL;
	w->net = net_new(w);
	w->blocks = aligned_alloc(64, RN_PLAN_DEVICES * (dev + 2 * rn_w_srq_size()) +
					      (size_t)2 * RN_PLAN_PAIRS * RN_W_QP_BLOCK);
	if (!w->net || !w->blocks) {
		rn_world_free(w);
		return NULL;
	}
	at = w->blocks;
	for (uint32_t i = 0; i < RN_PLAN_DEVICES; i++) {
		w->device[i].dev = (struct rn_dev *)(void *)at;
		at += dev;
		for (uint32_t k = 0; k < RN_ARRAY_SIZE(w->device[i].srq); k++) {
			w->device[i].srq[k].block = at;
			at += rn_w_srq_size();
		}
	}
	for (uint32_t i = 0; i < 2 * RN_PLAN_PAIRS; i++, at += RN_W_QP_BLOCK)
		w->pair[i / 2].end[i % 2].block = at;
	return w;
}

void rn_world_free(struct rn_world *w)
{
	if (!w)
		return;
	rn_vnet_free(w->net);
	free(w->blocks);
	free(w);
}
