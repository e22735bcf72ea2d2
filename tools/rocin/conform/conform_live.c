/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_live.c - a device behind a network as the device of a scenario. */
#include "conform_live_internal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "tools/rocin/common/cmd.h"

enum {
	ANSWER_MS = 10000, /* the agent does a call in this time */
	QUIET_MS = 150,	   /* about twice the ACK timeout of most scenarios */
};

static rn_ns now(void *ctx)
{
	struct timespec t;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (rn_ns)t.tv_sec * 1000000000 + (rn_ns)t.tv_nsec;
}

/* ---------------------------------------------------------------------- agent */
int rn_live_ask(struct rn_live_target *t, struct rn_conform_line *l)
{
	int rc = t->is_lost ? -EPIPE : rn_conform_send(&t->wire, l);

	if (!rc)
		rc = rn_conform_receive(&t->wire, l, ANSWER_MS);
	if (!rc && !strcmp(l->word, "no") && l->count == 1)
		return -(int)(l->n[0] & 0xfff);
	if (!rc && strcmp(l->word, "ok") != 0)
		rc = -EPROTO;
	if (rc && !t->is_lost) {
		t->is_lost = true;
		rn_complain("the agent is gone or does not answer: %s", strerror(-rc));
	}
	return rc;
}

/* One thing that came; false: there is nothing. */
static bool take_one(struct rn_live_target *t)
{
	struct rn_conform_line l = { .word = "poll" };
	unsigned queue;

	if (rn_live_ask(t, &l) || !l.count || l.n[0] == RN_CONFORM_NOTHING)
		return false;
	queue = l.n[1] & 1;
	if (l.n[0] == RN_CONFORM_WC &&
	    t->wcs[queue] - t->wcs_taken[queue] < RN_LIVE_QUEUE) {
		t->wc[queue][t->wcs[queue]++ % RN_LIVE_QUEUE] = (struct rn_scene_wc){
			.at = now(t),
			.wr_id = l.n[2],
			.qpn = (uint32_t)l.n[3],
			.byte_len = (uint32_t)l.n[4],
			.imm = (uint32_t)l.n[5],
			.src_qpn = (uint32_t)l.n[6],
			.status = (uint8_t)l.n[7],
			.opcode = (uint8_t)l.n[8],
			.flags = (uint16_t)l.n[9],
		};
	} else if (l.n[0] == RN_CONFORM_COMP) {
		t->comps[queue]++;
	} else if (l.n[0] == RN_CONFORM_EVENT &&
		   t->events - t->events_taken < RN_LIVE_QUEUE) {
		t->event[t->events++ % RN_LIVE_QUEUE] = (struct rn_scene_event){
			.at = now(t),
			.qpn = (uint32_t)l.n[1],
			.event = (uint16_t)l.n[2],
		};
	}
	return true;
}

/* ------------------------------------------------------------- what there is */
static const struct rn_scene_packet *next_packet(void *ctx)
{
	struct rn_live_target *t = ctx;

	return t->packets == t->packets_taken
		       ? NULL
		       : &t->packet[t->packets_taken % RN_LIVE_QUEUE];
}

static const struct rn_scene_wc *next_wc(void *ctx, unsigned queue)
{
	struct rn_live_target *t = ctx;

	return t->wcs[queue] == t->wcs_taken[queue]
		       ? NULL
		       : &t->wc[queue][t->wcs_taken[queue] % RN_LIVE_QUEUE];
}

static const struct rn_scene_event *next_event(void *ctx)
{
	struct rn_live_target *t = ctx;

	return t->events == t->events_taken ? NULL
					    : &t->event[t->events_taken % RN_LIVE_QUEUE];
}

static void drop_packet(void *ctx)
{
	((struct rn_live_target *)ctx)->packets_taken++;
}

static void drop_wc(void *ctx, unsigned queue)
{
	((struct rn_live_target *)ctx)->wcs_taken[queue]++;
}

static void drop_event(void *ctx)
{
	((struct rn_live_target *)ctx)->events_taken++;
}

static bool comp(void *ctx, unsigned queue)
{
	struct rn_live_target *t = ctx;

	if (!t->comps[queue])
		return false;
	t->comps[queue]--;
	return true;
}

static bool is_ours(const struct rn_live_side *side, const struct rn_gid *gid)
{
	return !memcmp(gid, &side->peer, sizeof(*gid)) ||
	       !memcmp(gid, &side->other, sizeof(*gid));
}

static void take_packets(struct rn_live_target *t, int fd, const struct rn_gid *to)
{
	struct rn_scene_packet *p;

	while (t->packets - t->packets_taken < RN_LIVE_QUEUE) {
		p = &t->packet[t->packets % RN_LIVE_QUEUE];
		if (!rn_live_take(fd, to, p))
			return;
		/* What we send to a group comes back to us as well. A datagram of no
		 * bytes is no packet: devices knock so at peers that are silent.
		 */
		if (is_ours(t->at, &p->flow.src) || p->len == 0)
			continue;
		p->at = now(t);
		t->packets++;
	}
}

static void look(struct rn_live_target *t)
{
	take_packets(t, t->at->fd, &t->at->peer);
	if (t->at->other_fd >= 0)
		take_packets(t, t->at->other_fd, &t->at->other);
	if (t->at->group_fd >= 0)
		take_packets(t, t->at->group_fd, &t->at->group);
	while (take_one(t))
		;
}

void rn_live_forget(struct rn_live_target *t)
{
	look(t);
	t->packets_taken = t->packets;
	t->events_taken = t->events;
	t->comps[0] = t->comps[1] = 0;
	for (unsigned i = 0; i < 2; i++)
		t->wcs_taken[i] = t->wcs[i];
}

/* Wait for a packet for a millisecond at most: the agent has to be asked. */
static void run(void *ctx, rn_ns until)
{
	struct rn_live_target *t = ctx;
	struct pollfd p[] = { { .fd = t->at->fd, .events = POLLIN },
			      { .fd = t->at->other_fd, .events = POLLIN },
			      { .fd = t->at->group_fd, .events = POLLIN } };

	do {
		look(t);
		if (next_packet(t) || next_event(t) || next_wc(t, 0) || next_wc(t, 1) ||
		    t->comps[0] || t->comps[1] || t->is_lost)
			break;
	} while (now(t) < until && poll(p, RN_ARRAY_SIZE(p), 1) >= 0);
	if (now(t) < until)
		poll(NULL, 0, 1);
}

static void inject(void *ctx, const struct rn_scene_packet *p)
{
	int rc = rn_live_send(p);

	(void)ctx;
	if (rc)
		rn_complain("a packet was not sent: %s", strerror(-rc));
}

static void query(void *ctx, unsigned qp, struct rn_qp_attr *attr)
{
	struct rn_conform_line l = { .word = "query", .count = 1, .n = { qp } };

	*attr = (struct rn_qp_attr){ .state = RN_QPS_COUNT };
	if (rn_live_ask(ctx, &l) || l.count != 4)
		return;
	attr->state = (enum rn_qp_state)l.n[0];
	attr->rq_psn = (uint32_t)l.n[1];
	attr->sq_psn = (uint32_t)l.n[2];
	attr->mig_state = (enum rn_mig_state)l.n[3];
}

static bool memory(void *ctx, unsigned mr, uint64_t offset, void *buf, uint32_t len)
{
	for (uint32_t done = 0, part; done < len; done += part) {
		struct rn_conform_line l = { .word = "memory", .count = 3 };

		part = len - done < RN_CONFORM_READ_MAX ? len - done
							: RN_CONFORM_READ_MAX;
		l.n[0] = mr;
		l.n[1] = offset + done;
		l.n[2] = part;
		if (rn_live_ask(ctx, &l) || l.count != (part + 7) / 8)
			return false;
		memcpy((uint8_t *)buf + done, l.n, part);
	}
	return true;
}

static bool counter(void *ctx, enum rn_stat stat, uint64_t *value)
{
	return rn_conform_stats_get(&((struct rn_live_target *)ctx)->stats, stat, value);
}

void rn_live_set_ops(struct rn_live_target *t, const struct rn_live_options *o)
{
	t->ops = (struct rn_scene_ops){
		.begin = rn_live_begin,
		.end = rn_live_end,
		.now = now,
		.run = run,
		.call = rn_live_call,
		.inject = inject,
		.packet = next_packet,
		.wc = next_wc,
		.event = next_event,
		.drop_packet = drop_packet,
		.drop_wc = drop_wc,
		.drop_event = drop_event,
		.query = query,
		.comp = comp,
		.memory = memory,
		.counter = counter,
		.skips = rn_live_skips,
		.slack = RN_MSEC(o->slack_ms),
		.quiet = RN_MSEC(QUIET_MS),
		.slower = &t->slow_ops,
	};
	t->slow_ops = t->ops;
	t->slow_ops.slower = NULL;
	t->slow_ops.begin = rn_live_begin_slower;
	t->slow_ops.quiet <<= RN_LIVE_SLOWER;
}
