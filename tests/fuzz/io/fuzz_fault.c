/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_fault.c - rules about faults as people write them, and any packets that meet them
 * on their way out and in, while rules come and go and the socket underneath is full.
 *
 * No packet gets lost but by a rule: without rules that make packets, what came out and
 * what was counted as dropped is what went in.
 */
#include <errno.h>
#include <stdio.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/stats.h"
#include "rocin/wire.h"
#include "tests/fuzz/script.h"
#include "transport/io/fault/net_fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	STEPS_MAX = 200,
	SENTENCE_MAX = 400,
	PACKET_MAX = RN_BTH_LEN + 64 + RN_ICRC_LEN,
	BATCH = 4,
};

struct world {
	struct script s;
	rn_ns now;
	struct rn_net net;
	struct rn_fault *fault;
	uint64_t stats[RN_STAT_COUNT];
	bool makes_packets; /* some rule did or does */
	uint8_t full;	    /* bits: the next calls of the socket underneath fail */
	uint64_t in, out;
	struct rn_flow flow;
	uint8_t arrived[BATCH][PACKET_MAX];
	struct rn_rx waiting[BATCH];
	unsigned waits;
};

/* -------------------------------------------------------------------- rules */
static bool make_packets(const struct rn_fault_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].act == RN_FAULT_DUPLICATE ||
		    rules->rule[i].act == RN_FAULT_NAK)
			return true;
	return false;
}

static void check_rules(const struct rn_fault_rules *rules)
{
	require(rules->count <= RN_FAULT_RULES_MAX);
	for (unsigned i = 0; i < rules->count; i++) {
		const struct rn_fault_rule *r = &rules->rule[i];

		require(r->act < RN_FAULT_ACTS && r->changes <= RN_FAULT_SETS_MAX);
		require(r->chance <= 1000000 && r->time >= 0);
		require(r->act != RN_FAULT_FAIL ||
			(r->call < rn_fault_call_count && r->error > 0));
		require(strnlen(r->dev, sizeof(r->dev)) < sizeof(r->dev));
		require(strnlen(r->program, sizeof(r->program)) < sizeof(r->program));
		for (unsigned k = 0; k < r->changes; k++)
			require(r->change[k].field && r->change[k].field->name);
	}
}

static void take_rules(struct world *w)
{
	static struct rn_fault_rules rules;
	char why[SENTENCE_MAX] = "";
	char *text = take_text(&w->s);
	int rc;

	/* No files: those of this machine are not a part of the script. */
	if (*text == '@')
		*text = '#';
	rc = rn_fault_read(text, &rules, why, sizeof(why));
	require(rc == 0 || rc == -EINVAL);
	require(rc == 0 || why[0] != '\0');
	free(text);
	if (rc)
		return;
	check_rules(&rules);
	rn_fault_rules_select(&rules, "rocin0", 7, "fuzz");
	check_rules(&rules);
	w->makes_packets |= make_packets(&rules);
	rn_fault_set_rules(w->fault, &rules);
}

/* --------------------------------------------------------------- underneath */
static int transmit(void *ctx, const struct rn_super *super)
{
	struct world *w = ctx;
	bool full = w->full & 1;

	require(super->count >= 1 && super->count <= RN_SUPER_SEGMENTS);
	require(super->len <= RN_SUPER_BYTES && super->len > 0);
	require((super->count - 1) * super->seg_len < super->len);
	require(super->count * super->seg_len >= super->len);
	w->full >>= 1;
	if (full)
		return -EAGAIN;
	w->out += super->count;
	return 0;
}

static int receive(void *ctx, struct rn_rx *rx)
{
	struct world *w = ctx;
	int n = (int)w->waits;

	memcpy(rx, w->waiting, w->waits * sizeof(*rx));
	w->waits = 0;
	return n;
}

static const struct rn_net_ops ops = { .transmit = transmit, .receive = receive };

/* --------------------------------------------------------------------- host */
static rn_ns tell_time(void *ctx)
{
	return ((const struct world *)ctx)->now;
}

static uint32_t find_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn)
{
	(void)ctx;
	require(flow != NULL);
	return dest_qpn & 1 ? (dest_qpn + 1) & RN_QPN_MASK : 0;
}

static uint32_t find_peer(void *ctx, uint32_t qpn)
{
	(void)ctx;
	return qpn & 2 ? 0 : qpn - 1;
}

static uint32_t find_msn(void *ctx, uint32_t qpn, uint32_t psn, bool of_peer)
{
	(void)ctx;
	(void)qpn;
	return (of_peer ? psn + 0x100 : psn + 0x200) & 0xffffff;
}

static uint32_t find_place(void *ctx, uint32_t qpn)
{
	(void)ctx;
	return qpn & 0xf;
}

static uint32_t find_sgid(void *ctx, const struct rn_gid *gid)
{
	(void)ctx;
	return gid->raw[15] & 1;
}

static void obey(void *ctx, enum rn_fault_order order, uint32_t qpn)
{
	(void)ctx;
	require(order <= RN_FAULT_ORDER_LINK_UP);
	require(order < RN_FAULT_ORDER_LINK_DOWN || qpn == 0);
}

static void show(void *ctx, const struct rn_fault_rules *rules)
{
	(void)ctx;
	check_rules(rules);
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

/* ------------------------------------------------------------------ packets */
static uint32_t take_packet(struct script *s, uint8_t *data)
{
	uint32_t given = take8(s) % PACKET_MAX;

	memset(data, 0, PACKET_MAX);
	take_bytes(s, data, given % 24);
	return given ? given : 1;
}

static void send(struct world *w, uint8_t op)
{
	static uint8_t buf[BATCH * PACKET_MAX];
	struct rn_super super = { .flow = &w->flow, .count = 1 + op % BATCH };
	struct rn_net *net = rn_fault_net(w->fault);

	super.data = buf;
	super.seg_len = take_packet(&w->s, buf);
	/* The device makes no runts, which the network may. */
	if (super.seg_len < RN_BTH_LEN + RN_ICRC_LEN)
		super.seg_len = RN_BTH_LEN + RN_ICRC_LEN;
	for (unsigned i = 1; i < super.count; i++)
		memcpy(buf + i * super.seg_len, buf, super.seg_len);
	super.len = super.count * super.seg_len;
	/* What has been refused may be tried again, as a whole. */
	for (unsigned tries = 0; tries < 10; tries++)
		if (net->ops->transmit(net->ctx, &super) != -EAGAIN) {
			w->in += super.count;
			break;
		}
}

static void take_in(struct world *w)
{
	struct rn_net *net = rn_fault_net(w->fault);
	struct rn_rx rx[RN_RX_BATCH];
	int n = net->ops->receive(net->ctx, rx);

	if (n == -EAGAIN) /* all that came is dropped, or waits */
		return;
	require(n >= 0 && n <= RN_RX_BATCH);
	for (int i = 0; i < n; i++)
		require(rx[i].flow && rx[i].data && rx[i].len > 0);
	w->out += (unsigned)n;
}

static void arrive(struct world *w, uint8_t op)
{
	for (unsigned i = 0, n = w->waits ? 0 : 1 + op % BATCH; i < n; i++) {
		uint32_t len = take_packet(&w->s, w->arrived[i]);

		w->waiting[i] = (struct rn_rx){ .flow = &w->flow,
						.data = w->arrived[i],
						.len = len,
						.gro_idx = (uint16_t)i };
		w->waits++;
		w->in++;
	}
	take_in(w);
}

static void step(struct world *w)
{
	uint8_t op = take8(&w->s);

	switch (op >> 5) {
	case 0:
		take_rules(w);
		break;
	case 1:
	case 2:
		send(w, op);
		break;
	case 3:
	case 4:
		arrive(w, op);
		break;
	case 5:
		w->now += (rn_ns)1 << op % 32;
		take_in(w);
		break;
	case 6:
		w->full = take8(&w->s);
		break;
	case 7:
		rn_fault_judge_call(rn_fault_rules(w->fault), op % rn_fault_call_count);
		break;
	}
	require(rn_fault_due(w->fault, w->now) >= 0);
}

/* Without rules all that waits goes on. */
static void finish(struct world *w)
{
	static const struct rn_fault_rules none;

	w->full = 0;
	rn_fault_set_rules(w->fault, &none);
	for (unsigned i = 0; i < 1000 && !rn_fault_is_idle(w->fault); i++)
		take_in(w);
	take_in(w);
	require(rn_fault_is_idle(w->fault));
	require(w->makes_packets || w->in == w->out + w->stats[RN_STAT_FAULT_DROPPED]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .s = { data, data + size }, .now = RN_MSEC(1) };

	w.net = (struct rn_net){ .ops = &ops, .ctx = &w, .gso = take8(&w.s) & 1 };
	for (unsigned i = 10; i < 12; i++)
		w.flow.src.raw[i] = w.flow.dst.raw[i] = 0xff;
	w.fault = rn_fault_new(&w.net, false, w.stats, &host, &w);
	require(w.fault != NULL);
	take_rules(&w);
	for (unsigned n = 0; n < STEPS_MAX && !script_is_over(&w.s); n++)
		step(&w);
	finish(&w);
	rn_fault_free(w.fault);
	return 0;
}
