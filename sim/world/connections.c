/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connections.c - hosts whose programs connect, in virtual time; see connections.h. */
#include "connections.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connections_internal.h"

enum {
	PORT = 7174,
	FIRST_QPN = 0x1000,
	ASKED_MAX = 40, /* connections that a run asks for */
};

#define HOUR (3600 * RN_CONNS_SECOND)

/* ---- What is noted ---- */

void rn_conns_note(struct rn_conns *w, uint64_t what)
{
	w->r->hash = (w->r->hash ^ what) * UINT64_C(0x100000001b3);
}

void rn_conns_fail(struct rn_conns *w, const char *why)
{
	if (w->r->failed)
		return;
	w->r->failed = true;
	w->r->why = why;
}

void rn_conns_tell(struct rn_conns *w, const struct rn_conns_host *h, const char *what,
		   const char *more, uint32_t id)
{
	char line[96];

	if (!w->cfg->trace)
		return;
	snprintf(line, sizeof(line), "host %u  %-12s %s 0x%08x", (unsigned)(h - w->host),
		 what, more, id);
	w->cfg->trace(w->cfg->trace_ctx, w->now, line);
}

uint32_t rn_conns_draw(struct rn_conns *w, uint32_t below)
{
	return rn_random_below(&w->random, below);
}

/* ---- The wire ---- */

static struct rn_conns_host *host_at(struct rn_conns *w, const struct rn_gid *gid)
{
	return &w->host[gid->raw[15] - 1];
}

static void launch(struct rn_conns *w, const struct rn_cm_tx *tx)
{
	unsigned copies = rn_random_ppm(&w->network, w->double_ppm) ? 2 : 1;

	w->r->messages++;
	w->r->doubled += copies - 1;
	for (; copies; copies--) {
		bool late = rn_random_below(&w->network, 8) == 0;
		rn_ns delay = (late ? 3 * RN_CONNS_SECOND : 0) +
			      rn_random_below(&w->network, 2000000);

		if (rn_random_ppm(&w->network, w->loss_ppm) ||
		    w->in_flight == RN_CONNS_FLIGHT) {
			w->r->lost++;
			continue;
		}
		w->r->late += late;
		w->flight[w->in_flight++] = (struct rn_conns_flight){
			.at = w->now + delay,
			.to = host_at(w, &tx->flow.dst),
			.tx = *tx,
		};
	}
}

static void land(struct rn_conns *w, unsigned i)
{
	const struct rn_conns_flight f = w->flight[i];
	const struct rn_flow flow = {
		.src = f.tx.flow.src,
		.dst = f.tx.flow.dst,
		.ifindex = 1,
		.hop_limit = 64,
	};

	w->flight[i] = w->flight[--w->in_flight];
	rn_conns_note(w, (uint64_t)f.at);
	rn_cm_receive(f.to->cm, w->now,
		      &(struct rn_cm_rx){ .flow = &flow, .src_qpn = 1, .mad = f.tx.mad });
}

/* ---- Hosts ---- */

static void open_table(struct rn_conns *w, struct rn_conns_host *h)
{
	const struct rn_cm_cfg cfg = {
		.conn_max = RN_CONNS_LIVES,
		.seed = rn_random_next(&w->random),
	};

	h->cm = rn_cm_init(h->block, &cfg);
	h->qpn = FIRST_QPN;
	memset(h->life, 0, sizeof(h->life));
	rn_cm_listener_ip(&h->listener[0], RN_CM_PS_TCP, PORT, NULL);
	rn_cm_listener_ip(&h->listener[1], RN_CM_PS_UDP, PORT, &h->gid);
	for (unsigned i = 0; i < RN_CONNS_LISTENERS; i++)
		if (rn_cm_listen(h->cm, &h->listener[i]))
			rn_conns_fail(w, "nobody listens, and nobody may");
}

/* Without a word: the peers find out. */
static void reboot(struct rn_conns *w, struct rn_conns_host *h)
{
	rn_conns_tell(w, h, "reboots", "", 0);
	w->r->reboots++;
	open_table(w, h);
}

/* Its connection manager says for a process that has ended what is to be said. */
static void crash(struct rn_conns *w, struct rn_conns_host *h, unsigned process)
{
	rn_conns_tell(w, h, "crashes", "process", process);
	w->r->crashes++;
	for (unsigned i = 0; i < RN_CONNS_LIVES; i++)
		if (h->life[i].conn && h->life[i].process == process)
			rn_conns_leave(w, h, &h->life[i]);
}

static void trouble(struct rn_conns *w)
{
	struct rn_conns_host *h = &w->host[rn_conns_draw(w, w->hosts)];

	w->trouble--;
	if (rn_conns_draw(w, 3))
		crash(w, h, rn_conns_draw(w, RN_CONNS_PROCESSES));
	else
		reboot(w, h);
}

/* ---- Steps ---- */

static void drain(struct rn_conns *w, struct rn_conns_host *h)
{
	struct rn_cm_event ev;
	struct rn_cm_tx tx;

	while (rn_cm_next_event(h->cm, &ev))
		rn_conns_hear(w, h, &ev);
	while (rn_cm_transmit(h->cm, &tx))
		launch(w, &tx);
}

static rn_ns earlier(rn_ns a, rn_ns b)
{
	return a < b ? a : b;
}

static rn_ns next_time(const struct rn_conns *w)
{
	rn_ns next = w->left || w->trouble ? w->next_ask : RN_NEVER;

	for (unsigned i = 0; i < w->in_flight; i++)
		next = earlier(next, w->flight[i].at);
	for (unsigned n = 0; n < w->hosts; n++) {
		next = earlier(next, rn_cm_deadline(w->host[n].cm));
		for (unsigned i = 0; i < RN_CONNS_LIVES; i++)
			if (w->host[n].life[i].conn)
				next = earlier(next, w->host[n].life[i].act_at);
	}
	return next;
}

static void serve(struct rn_conns *w, struct rn_conns_host *h)
{
	drain(w, h);
	rn_cm_expire(h->cm, w->now);
	drain(w, h);
	for (unsigned i = 0; i < RN_CONNS_LIVES; i++)
		if (h->life[i].conn && h->life[i].act_at <= w->now)
			rn_conns_act(w, h, &h->life[i]);
	drain(w, h);
	rn_conns_watch(w, h);
}

static void step(struct rn_conns *w)
{
	if (w->now >= w->next_ask && (w->left || w->trouble)) {
		if (w->trouble && (!w->left || rn_conns_draw(w, 6) == 0))
			trouble(w);
		else
			rn_conns_ask(w, &w->host[rn_conns_draw(w, w->hosts)]);
		w->next_ask = w->now + rn_conns_draw(w, 3000) * RN_USEC(1000);
	}
	for (unsigned i = 0; i < w->in_flight;)
		if (w->flight[i].at <= w->now)
			land(w, i);
		else
			i++;
	for (unsigned n = 0; n < w->hosts; n++)
		serve(w, &w->host[n]);
}

/* ---- Runs ---- */

static int open_hosts(struct rn_conns *w)
{
	size_t size = (rn_cm_size(RN_CONNS_LIVES) + 15) & ~(size_t)15;

	for (unsigned n = 0; n < w->hosts; n++) {
		struct rn_conns_host *h = &w->host[n];

		h->gid = (struct rn_gid){
			{ [10] = 0xff, [11] = 0xff, [12] = 10, [15] = (uint8_t)(n + 1) }
		};
		h->guid = UINT64_C(0x0200000000000000) + n;
		h->block = aligned_alloc(16, size);
		if (!h->block)
			return -ENOMEM;
		open_table(w, h);
	}
	return 0;
}

static void close_hosts(struct rn_conns *w)
{
	for (unsigned n = 0; n < w->hosts; n++)
		free(w->host[n].block);
	free(w);
}

static void check_rest(struct rn_conns *w)
{
	for (unsigned n = 0; n < w->hosts; n++) {
		const struct rn_conns_host *h = &w->host[n];

		for (unsigned i = 0; i < RN_CONNS_LIVES; i++)
			if (h->life[i].conn)
				rn_conns_fail(w,
					      "a program waits for what does not come");
		if (rn_cm_conn_count(h->cm))
			rn_conns_fail(w, "an entry is left in a table");
		for (unsigned i = 0; i < RN_CONNS_LISTENERS; i++)
			if (h->listener[i].pending_count)
				rn_conns_fail(
					w, "a listener still counts what was answered");
	}
}

static void set_up(struct rn_conns *w)
{
	w->random = rn_random_of(w->cfg->seed, 1);
	w->network = rn_random_of(w->cfg->seed, 2);
	w->hosts = w->cfg->hosts;
	if (!w->hosts)
		w->hosts = 2 + rn_conns_draw(w, RN_CONNECTIONS_HOSTS - 1);
	w->left = 1 + rn_conns_draw(w, ASKED_MAX);
	w->trouble = rn_conns_draw(w, 2) ? rn_conns_draw(w, 5) : 0;
	w->loss_ppm = rn_conns_draw(w, 3) ? rn_conns_draw(w, 300000) : 0;
	w->double_ppm = rn_conns_draw(w, 3) ? rn_conns_draw(w, 400000) : 0;
	w->now = RN_USEC(1);
}

int rn_connections_run(const struct rn_connections_cfg *cfg,
		       struct rn_connections_result *result)
{
	struct rn_conns *w = calloc(1, sizeof(*w));
	rn_ns next;
	int rc;

	*result = (struct rn_connections_result){ 0 };
	if (!w)
		return -ENOMEM;
	w->cfg = cfg;
	w->r = result;
	set_up(w);
	rc = open_hosts(w);
	while (!rc && !result->failed && (next = next_time(w)) != RN_NEVER) {
		if (next > HOUR)
			rn_conns_fail(w, "it does not come to an end");
		w->now = next > w->now ? next : w->now;
		step(w);
	}
	if (!rc)
		check_rest(w);
	result->at = w->now;
	close_hosts(w);
	return rc;
}
