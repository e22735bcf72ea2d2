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
	w->trace(w->trace_ctx, w->now, line);
}

void rn_w_fail(struct rn_world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->result->failed)
		return;
	w->result->failed = true;
	w->result->at = w->now;
	w->result->check = fmt;
	va_start(ap, fmt);
	vsnprintf(w->result->why, sizeof(w->result->why), fmt, ap);
	va_end(ap);
}

void rn_w_hash(struct rn_world *w, uint64_t a, uint64_t b)
{
	uint64_t h = w->result->hash;

	h = rn_random_mix(h ^ (uint64_t)w->now);
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

void rn_w_put(struct rn_world *w, rn_ns at, enum rn_w_event what, uint32_t arg)
{
	if (!rn_heap_put(&w->heap, at, what, arg))
		rn_w_fail(w, "too much happens at once");
}

/* ---------------------------------------------------------------- what comes out */
static void transmit(struct rn_w_device *d, unsigned what)
{
	struct rn_w_packet pkt;
	struct rn_w_end *e;
	struct rn_tx tx;

	while (!d->w->result->failed) {
		uint32_t len = rn_dev_transmit(d->dev, rn_w_local(d), what, pkt.bytes,
					       RN_PACKET_MAX, &tx);

		if (!len)
			return;
		pkt.flow = *tx.flow;
		pkt.damaged = false;
		rn_icrc_seal_with(&pkt.flow, 0, pkt.bytes, len, &tx.part);
		pkt.len = len + RN_ICRC_LEN;
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
	if (d->stalled_until > d->w->now)
		return;
	transmit(d, d->w->plan.acks_late ? RN_TX_WORK : RN_TX_ALL);
	take_out(d);
}

/* ------------------------------------------------------------------------ time */
static rn_ns deadline(const struct rn_w_device *d)
{
	rn_ns at = rn_dev_deadline(d->dev);

	if (at == RN_NEVER)
		return at;
	at -= d->skew;
	return at < d->stalled_until ? d->stalled_until : at;
}

static void handle(struct rn_world *w, const struct rn_heap_item *item)
{
	struct rn_w_device *d;

	switch ((enum rn_w_event)item->what) {
	case RN_W_STEP:
		rn_w_step(w, &w->plan.step[item->arg]);
		break;
	case RN_W_SWITCH:
		rn_w_at_switch(w, item->arg);
		break;
	case RN_W_ARRIVAL:
		rn_w_arrive(w, item->arg);
		break;
	case RN_W_MEM_DONE:
		d = &w->device[item->arg >> 16];
		rn_w_mem_done(d, item->arg & 0xffff);
		rn_w_drain(d);
		break;
	case RN_W_WAKE:
		rn_w_drain(&w->device[item->arg]);
		break;
	case RN_W_RESUME:
		rn_w_resume(w, &w->pair[item->arg / 2].end[item->arg % 2]);
		break;
	}
}

static void expire(struct rn_world *w)
{
	for (uint32_t i = 0; i < w->plan.devices; i++)
		if (deadline(&w->device[i]) <= w->now) {
			rn_dev_expire(w->device[i].dev, rn_w_local(&w->device[i]));
			rn_w_drain(&w->device[i]);
		}
}

static void late_acks(struct rn_world *w)
{
	for (uint32_t i = 0; i < w->plan.devices; i++)
		if (w->device[i].stalled_until <= w->now)
			transmit(&w->device[i], RN_TX_ALL);
}

/* True: nothing is left to happen; false: @limit was reached, or something is wrong. */
static bool run(struct rn_world *w, rn_ns limit)
{
	while (!w->result->failed) {
		rn_ns heap = rn_heap_next(&w->heap), next = heap;

		for (uint32_t i = 0; i < w->plan.devices; i++)
			if (deadline(&w->device[i]) < next)
				next = deadline(&w->device[i]);
		if (next > w->now && w->plan.acks_late) {
			uint64_t before = w->result->packets;

			late_acks(w);
			if (w->result->packets != before)
				continue;
		}
		if (next > w->now)
			rn_w_check_rest(w);
		if (next == RN_NEVER)
			return true;
		if (next > limit)
			return false;
		if (++w->result->events > EVENTS_MAX) {
			rn_w_fail(w, "it does not come to an end");
			return false;
		}
		if (next > w->now)
			w->now = next;
		if (heap <= w->now) {
			struct rn_heap_item item = rn_heap_take(&w->heap);

			handle(w, &item);
		} else {
			expire(w);
		}
	}
	return false;
}

/* ---------------------------------------------------------------- a whole run */
static void start_device(struct rn_world *w, uint32_t i)
{
	struct rn_w_device *d = &w->device[i];
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
	d->skew = 1000000 * (rn_ns)i;
	d->stalled_until = 0;
	d->dead = false;
	d->marked = d->notified = 0;
	d->gid = (struct rn_gid){
		{ [10] = 0xff, [11] = 0xff, [12] = 10, [15] = (uint8_t)(i + 1) }
	};
	if (w->plan.ipv6)
		d->gid = (struct rn_gid){ { 0xfd, [15] = (uint8_t)(i + 1) } };
	cfg.gid[0] = d->gid;
	rc = rn_dev_init(d->dev, &cfg);
	assert(rc == 0);
	rn_link_init(&d->up, &w->plan.link, w->plan.seed + 2 * (uint64_t)i);
	rn_link_init(&d->down, &w->plan.link, w->plan.seed + 2 * (uint64_t)i + 1);
	rn_w_cq_start(d);
	rn_w_mem_init(d);
	rn_w_srq_create(d);
}

static void start(struct rn_world *w)
{
	w->now = RN_USEC(1);
	w->calm = false;
	w->qpns = 0;
	w->ids = 0;
	w->heap.count = 0;
	w->heap.seq = 0;
	w->mem_waiting = 0;
	w->memory_random = rn_random_of(w->plan.seed, 'm');
	w->host_random = rn_random_of(w->plan.seed, 'h');
	w->free_packets = 0;
	for (uint32_t i = RN_W_PACKETS; i--;)
		w->free_packet[w->free_packets++] = i;
	for (uint32_t i = 0; i < w->plan.faults; i++)
		w->fault_random[i] = rn_random_of(w->plan.seed, 100 + i);
	for (uint32_t i = 0; i < w->plan.devices; i++)
		start_device(w, i);
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
	if (!run(w, w->now + QUIET_WITHIN * SECOND))
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
		w->now = w->now < plan->end ? plan->end : w->now;
		finish(w);
	}
	if (!result->failed)
		result->at = w->now;
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

struct rn_world *rn_world_new(void)
{
	struct rn_world *w = calloc(1, sizeof(*w));
	size_t dev = (rn_dev_size() + 63) & ~(size_t)63;
	uint8_t *at;

	if (!w)
		return NULL;
	w->packet = calloc(RN_W_PACKETS, sizeof(*w->packet));
	w->blocks = aligned_alloc(64, RN_PLAN_DEVICES * (dev + 2 * rn_w_srq_size()) +
					      (size_t)2 * RN_PLAN_PAIRS * RN_W_QP_BLOCK);
	if (!w->packet || !w->blocks) {
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
	free(w->packet);
	free(w->blocks);
	free(w);
}
