/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_net.c - see cm_net.h. */
#include "cm_net.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "rocin/flow.h"
#include "rocin/stats.h"
#include "rocin/wire.h"
#include "tools/rocind/net/clock.h"
#include "transport/io/host/log.h"

struct rnd_cm_net {
	struct rn_net sockets;
	struct rn_capture *capture; /* or NULL: nobody captures */
	struct rn_fault *fault;
	struct rnd_server *server;
	struct rn_rx arrived; /* @data is NULL: nothing */
	uint64_t stats[RN_STAT_COUNT];
};

/* ---- The sockets ---- */

static int transmit(void *ctx, const struct rn_super *super)
{
	const struct rnd_cm_net *net = ctx;
	const struct rn_flow *flow = super->flow;
	uint32_t scope = rn_gid_is_link_local(&flow->src) ? flow->ifindex : 0;
	const struct rnd_group *group =
		rnd_group_find(&net->server->groups, &flow->src, scope);

	/* The interface has lost the address: as if the packet were lost. */
	if (group && !rnd_group_send(group, flow, super->data, super->len))
		rn_log(RN_LOG_DEBUG, "a management datagram is not sent: %m");
	return 0;
}

static int receive(void *ctx, struct rn_rx *rx)
{
	struct rnd_cm_net *net = ctx;

	if (!net->arrived.data)
		return 0;
	rx[0] = net->arrived;
	net->arrived = (struct rn_rx){ 0 };
	return 1;
}

static const struct rn_net_ops socket_ops = {
	.transmit = transmit,
	.receive = receive,
};

/* ---- What rules and captures ask; there are no queue pairs but QP1 ---- */

static rn_ns now(void *ctx)
{
	(void)ctx;
	return rnd_now();
}

static uint32_t no_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn)
{
	(void)ctx;
	(void)flow;
	(void)dest_qpn;
	return 0;
}

static uint32_t none(void *ctx, uint32_t qpn)
{
	(void)ctx;
	(void)qpn;
	return 0;
}

static uint32_t no_sgid(void *ctx, const struct rn_gid *gid)
{
	(void)ctx;
	(void)gid;
	return RN_GID_MAX;
}

static void disobey(void *ctx, enum rn_fault_order order, uint32_t qpn)
{
	(void)ctx;
	(void)order;
	(void)qpn;
}

static void show(void *ctx, const struct rn_fault_rules *rules)
{
	(void)ctx;
	(void)rules;
}

static void tell(void *ctx, const struct rn_fault_news *news)
{
	const struct rn_rx rx = { .data = news->packet, .len = news->len };
	const struct rnd_cm_net *net = ctx;
	struct rn_diagnostic what = news->what;

	if (!net->capture)
		return;
	if (news->is_unsent) {
		rn_capture_unsent(net->capture, &what, news->flow, news->packet,
				  news->len);
		return;
	}
	if (news->len < RN_BTH_LEN)
		return;
	what.dest_qpn = rn_get_be24(news->packet + 5);
	what.psn = rn_get_be24(news->packet + 9);
	rn_capture_diagnostic(net->capture, &what, &rx);
}

static const struct rn_fault_host fault_host = {
	.now = now,
	.sender = no_sender,
	.peer = none,
	.place = none,
	.sgid = no_sgid,
	.obey = disobey,
	.show = show,
	.tell = tell,
};

static const struct rn_capture_host capture_host = {
	.sender = no_sender,
	.peer = none,
};

/* ---- In and out ---- */

struct rnd_cm_net *rnd_cm_net_new(struct rnd_server *server)
{
	struct rnd_cm_net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	net->server = server;
	net->sockets = (struct rn_net){ .ops = &socket_ops, .ctx = net };
	net->fault = rn_fault_new(&net->sockets, false, net->stats, &fault_host, net);
	if (!net->fault) {
		free(net);
		return NULL;
	}
	return net;
}

void rnd_cm_net_free(struct rnd_cm_net *net)
{
	if (!net)
		return;
	rn_fault_free(net->fault);
	rn_capture_free(net->capture);
	free(net);
}

void rnd_cm_net_send(struct rnd_cm_net *net, const struct rn_flow *flow,
		     const uint8_t *pkt, uint32_t len)
{
	struct rn_net *out = rn_fault_net(net->fault);
	const struct rn_super one = {
		.flow = flow,
		.data = pkt,
		.len = len,
		.seg_len = len,
		.count = 1,
	};

	out->ops->transmit(out->ctx, &one);
}

void rnd_cm_net_arrive(struct rnd_cm_net *net, const struct rn_flow *flow,
		       const uint8_t *pkt, uint32_t len)
{
	net->arrived = (struct rn_rx){ .flow = flow, .data = pkt, .len = len };
}

int rnd_cm_net_receive(struct rnd_cm_net *net, struct rn_rx *rx)
{
	struct rn_net *in = rn_fault_net(net->fault);

	return in->ops->receive(in->ctx, rx);
}

rn_ns rnd_cm_net_due(const struct rnd_cm_net *net, rn_ns now)
{
	return rn_fault_due(net->fault, now);
}

/* ---- Captures ---- */

static void drop_if_idle(struct rnd_cm_net *net)
{
	if (!net->capture || !rn_capture_is_idle(net->capture))
		return;
	rn_fault_set_inner(net->fault, &net->sockets);
	rn_capture_free(net->capture);
	net->capture = NULL;
}

int rnd_cm_net_capture(struct rnd_cm_net *net, uint64_t id, int ring, uint32_t size,
		       const struct rn_capture_filter *filter)
{
	int rc;

	if (!net->capture) {
		net->capture = rn_capture_new(&net->sockets, &capture_host, net);
		if (!net->capture)
			return -ENOMEM;
		rn_fault_set_inner(net->fault, rn_capture_net(net->capture));
	}
	rc = rn_capture_add(net->capture, id, ring, size, filter);
	drop_if_idle(net);
	return rc;
}

void rnd_cm_net_end_capture(struct rnd_cm_net *net, uint64_t id)
{
	if (net->capture)
		rn_capture_remove(net->capture, id);
	drop_if_idle(net);
}

/* ---- Rules ---- */

void rnd_cm_net_set_rules(struct rnd_cm_net *net, const char *text)
{
	static struct rn_fault_rules rules; /* large; all of rocind is one thread */
	char why[200];

	rules.count = 0;
	if (text && rn_fault_rules_parse(text, "rules", &rules, why, sizeof(why)))
		rn_log(RN_LOG_WARN, "the connection manager keeps no rules: %s", why);
	/* It serves all devices, so rules about one are not for it. */
	rn_fault_rules_select(&rules, "", getpid(), "rocind");
	rn_fault_set_rules(net->fault, &rules);
}

void rnd_cm_net_count(const struct rnd_cm_net *net, uint64_t seen[RN_FAULT_RULES_MAX],
		      uint64_t hits[RN_FAULT_RULES_MAX])
{
	const struct rn_fault_rules *rules = rn_fault_rules(net->fault);

	for (unsigned i = 0; i < rules->count; i++) {
		seen[rules->rule[i].number] += rules->rule[i].seen;
		hits[rules->rule[i].number] += rules->rule[i].hits;
	}
}
