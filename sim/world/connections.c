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
	w->cfg->trace(w->cfg->trace_ctx, w->net->now, line);
}

uint32_t rn_conns_draw(struct rn_conns *w, uint32_t below)
{
	return rn_random_below(&w->random, below);
}

/* ---- The wire ---- */

/* The network itself takes no time: how late a message is, and whether it is lost or
 * doubled, is drawn here.
 */
static void launch(struct rn_conns *w, const struct rn_conns_host *h,
		   const struct rn_cm_tx *tx)
{
	struct rn_vnet_packet p = { .flow = tx->flow,
				    .from = (uint32_t)(h - w->host),
				    .to = rn_vnet_host_of(w->net, &tx->flow.dst),
				    .len = RN_MAD_LEN };
	unsigned copies = rn_random_ppm(&w->network, w->double_ppm) ? 2 : 1;

	memcpy(p.bytes, tx->mad, RN_MAD_LEN);
	w->r->messages++;
	w->r->doubled += copies - 1;
	for (; copies; copies--) {
		bool late = rn_random_below(&w->network, 8) == 0;
		rn_ns delay = (late ? 3 * RN_CONNS_SECOND : 0) +
			      rn_random_below(&w->network, 2000000);

		if (rn_random_ppm(&w->network, w->loss_ppm) ||
		    !rn_vnet_send(w->net, &p, delay))
			w->r->lost++;
		else
			w->r->late += late;
	}
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
	rn_cm_listener_ip(&h->listener[1], RN_CM_PS_UDP, PORT, rn_conns_gid(w, h));
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

/* Return: to whom it happens. */
static struct rn_conns_host *trouble(struct rn_conns *w)
{
	struct rn_conns_host *h = &w->host[rn_conns_draw(w, w->hosts)];

	w->trouble--;
	if (rn_conns_draw(w, 3))
		crash(w, h, rn_conns_draw(w, RN_CONNS_PROCESSES));
	else
		reboot(w, h);
	return h;
}

/* ---- Steps ---- */

static void drain(struct rn_conns *w, struct rn_conns_host *h)
{
	struct rn_cm_event ev;
	struct rn_cm_tx tx;

	while (rn_cm_next_event(h->cm, &ev))
		rn_conns_hear(w, h, &ev);
	while (rn_cm_transmit(h->cm, &tx))
		launch(w, h, &tx);
}

static void serve(struct rn_conns *w, struct rn_conns_host *h)
{
	drain(w, h);
	rn_cm_expire(h->cm, w->net->now);
	drain(w, h);
	for (unsigned i = 0; i < RN_CONNS_LIVES; i++)
		if (h->life[i].conn && h->life[i].act_at <= w->net->now)
			rn_conns_act(w, h, &h->life[i]);
	drain(w, h);
	rn_conns_watch(w, h);
}

/* Of what its connection manager and its programs have to do. */
static rn_ns deadline(void *ctx, uint32_t host)
{
	const struct rn_conns *w = ctx;
	const struct rn_conns_host *h = &w->host[host];
	rn_ns next = rn_cm_deadline(h->cm);

	for (unsigned i = 0; i < RN_CONNS_LIVES; i++)
		if (h->life[i].conn && h->life[i].act_at < next)
			next = h->life[i].act_at;
	return next;
}

static void expire(void *ctx, uint32_t host)
{
	struct rn_conns *w = ctx;

	serve(w, &w->host[host]);
}

static void arrive(void *ctx, uint32_t host, struct rn_vnet_packet *p)
{
	struct rn_conns *w = ctx;
	const struct rn_flow flow = {
		.src = p->flow.src,
		.dst = p->flow.dst,
		.ifindex = 1,
		.hop_limit = 64,
	};

	rn_conns_note(w, (uint64_t)w->net->now);
	rn_cm_receive(w->host[host].cm, w->net->now,
		      &(struct rn_cm_rx){ .flow = &flow, .src_qpn = 1, .mad = p->bytes });
	serve(w, &w->host[host]);
}

/* Somebody asks for a connection, or something goes wrong; and in a while the next. */
static void happen(void *ctx, uint32_t what, uint32_t arg)
{
	struct rn_conns *w = ctx;
	struct rn_conns_host *h;
	rn_ns next;

	(void)what, (void)arg;
	if (w->trouble && (!w->left || rn_conns_draw(w, 6) == 0)) {
		h = trouble(w);
	} else {
		h = &w->host[rn_conns_draw(w, w->hosts)];
		rn_conns_ask(w, h);
	}
	next = w->net->now + rn_conns_draw(w, 3000) * RN_USEC(1000);
	if (w->left || w->trouble)
		rn_vnet_put(w->net, next, RN_VNET_OWN, 0);
	serve(w, h);
	rn_vnet_rearm(w->net, (uint32_t)(h - w->host));
}

static const struct rn_vnet_ops network = {
	.arrive = arrive,
	.expire = expire,
	.deadline = deadline,
	.happen = happen,
};

/* ---- Runs ---- */

/* Hosts at a switch, with links that take no time. */
static void build(struct rn_conns *w)
{
	static const struct rn_link_cfg plain = { 0 };
	uint32_t its_switch;

	rn_vnet_clear(w->net, RN_USEC(1));
	its_switch = rn_vnet_add_switch(w->net);
	for (unsigned n = 0; n < w->hosts; n++) {
		const struct rn_gid gid = rn_vnet_gid(n, false);

		rn_vnet_add_host(w->net, NULL, &gid);
		rn_vnet_join(w->net, &(struct rn_vnet_side){ n, 0, &plain, 0 },
			     &(struct rn_vnet_side){ its_switch, n, &plain, 0 });
		rn_vnet_route(w->net, its_switch, n, n, 1);
	}
}

static int open_hosts(struct rn_conns *w)
{
	size_t size = (rn_cm_size(RN_CONNS_LIVES) + 15) & ~(size_t)15;

	w->net = rn_vnet_new(&(struct rn_vnet_cfg){ .hosts = RN_CONNECTIONS_HOSTS,
						    .switches = 1,
						    .switch_ports = RN_CONNECTIONS_HOSTS,
						    .packets = RN_CONNS_FLIGHT,
						    .events = 1,
						    .ops = &network,
						    .ctx = w });
	if (!w->net)
		return -ENOMEM;
	build(w);
	for (unsigned n = 0; n < w->hosts; n++) {
		struct rn_conns_host *h = &w->host[n];

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
	rn_vnet_free(w->net);
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
}

static void run(struct rn_conns *w)
{
	rn_vnet_put(w->net, w->net->now, RN_VNET_OWN, 0);
	while (!w->r->failed && rn_vnet_next(w->net) != RN_NEVER) {
		if (rn_vnet_next(w->net) > HOUR)
			rn_conns_fail(w, "it does not come to an end");
		rn_vnet_step(w->net);
	}
	check_rest(w);
	w->r->at = w->net->now;
}

int rn_connections_run(const struct rn_connections_cfg *cfg,
		       struct rn_connections_result *result)
{
	struct rn_conns *w = calloc(1, sizeof(*w));
	int rc;

	*result = (struct rn_connections_result){ 0 };
	if (!w)
		return -ENOMEM;
	w->cfg = cfg;
	w->r = result;
	set_up(w);
	rc = open_hosts(w);
	if (!rc)
		run(w);
	close_hosts(w);
	return rc;
}
