/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_live.c - a device behind a network as the device of a scenario. */
#include "conform_live_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "calls.h"
#include "cmd.h"

enum {
	ANSWER_MS = 10000, /* the agent does a call in this time */
	QUIET_MS = 150,	   /* about twice the ACK timeout of most scenarios */
	PEER_QPN = 0x99,
	CQES = 1024,
	WRS = 64,
	PD = 1,
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

static void look(struct rn_live_target *t)
{
	while (t->packets - t->packets_taken < RN_LIVE_QUEUE &&
	       rn_live_take(t->fd, &t->peer, &t->packet[t->packets % RN_LIVE_QUEUE]))
		t->packet[t->packets++ % RN_LIVE_QUEUE].at = now(t);
	while (take_one(t))
		;
}

/* Wait for a packet for a millisecond at most: the agent has to be asked. */
static void run(void *ctx, rn_ns until)
{
	struct rn_live_target *t = ctx;
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	do {
		look(t);
		if (next_packet(t) || next_event(t) || next_wc(t, 0) || next_wc(t, 1) ||
		    t->comps[0] || t->comps[1] || t->is_lost)
			break;
	} while (now(t) < until && poll(&p, 1, 1) >= 0);
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

/* ---------------------------------------------------------------------- calls */
static int modify_qp(void *ctx, unsigned qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	struct rn_conform_line l = {
		.word = "modify",
		.count = RN_CONFORM_ATTRS,
		.n = { qp, mask, attr->state, attr->path_mtu, attr->qkey, attr->rq_psn,
		       attr->sq_psn, attr->dest_qpn, attr->access, attr->max_rd_atomic,
		       attr->max_dest_rd_atomic, attr->min_rnr_timer, attr->timeout,
		       attr->retry_cnt, attr->rnr_retry, attr->en_sqd_async_notify },
	};

	return rn_live_ask(ctx, &l);
}

static int post(struct rn_live_target *t, const struct rn_scn_line *l)
{
	struct rn_scene_send s;
	struct rn_conform_line line = { .word = "post", .count = RN_CONFORM_WRS };

	rn_scene_send_wr(t->s, t->names, l, &s);
	line.n[0] = l->subject;
	line.n[RN_CONFORM_ID] = s.wr.wr_id;
	line.n[RN_CONFORM_OPCODE] = s.wr.opcode;
	line.n[RN_CONFORM_FLAGS] = s.wr.flags;
	line.n[RN_CONFORM_IMM] = s.wr.imm;
	line.n[RN_CONFORM_REMOTE] = s.wr.remote_addr;
	line.n[RN_CONFORM_RKEY] = s.wr.rkey;
	line.n[RN_CONFORM_COMPARE_ADD] = s.wr.compare_add;
	line.n[RN_CONFORM_SWAP] = s.wr.swap;
	line.n[RN_CONFORM_ADDRESS] = s.sge.addr;
	line.n[RN_CONFORM_LENGTH] = s.sge.len;
	line.n[RN_CONFORM_LKEY] = s.sge.lkey;
	return rn_live_ask(t, &line);
}

static int call(void *ctx, const struct rn_scn_line *l)
{
	struct rn_live_target *t = ctx;
	struct rn_conform_line line = { .word = "dereg",
					.count = 1,
					.n = { l->subject } };
	struct rn_qp_attr attr = rn_scene_attr(t->names, l);
	struct rn_sge sge = rn_scene_recv_sge(t->names, l);
	struct rn_scn_line declared;

	switch ((int)l->verb) {
	case RN_SCN_POST:
		return post(t, l);
	case RN_SCN_RECV:
		line = (struct rn_conform_line){
			.word = "recv",
			.count = 5,
			.n = { l->subject, rn_scn_get(l, RN_F_WR, 0), sge.addr, sge.len,
			       sge.lkey },
		};
		break;
	case RN_SCN_MODIFY:
		return modify_qp(t, l->subject, &attr, rn_scene_attr_mask(l));
	case RN_SCN_REVIVE:
		declared = rn_scene_revived(&t->s->qp[l->subject], l);
		return rn_scene_bring_up(t->s->qp[l->subject].type,
					 rn_scene_attr(t->names, &declared), l->subject,
					 modify_qp, t);
	case RN_SCN_ARM:
		line = (struct rn_conform_line){
			.word = "arm",
			.count = 2,
			.n = { l->subject, rn_scn_get(l, RN_F_ARM, RN_CQ_ARM_NEXT) ==
						   RN_CQ_ARM_SOLICITED },
		};
		break;
	default:
		break;
	}
	return rn_live_ask(t, &line);
}

static void query(void *ctx, unsigned qp, struct rn_qp_attr *attr)
{
	struct rn_conform_line l = { .word = "query", .count = 1, .n = { qp } };

	*attr = (struct rn_qp_attr){ .state = RN_QPS_COUNT };
	if (rn_live_ask(ctx, &l) || l.count != 3)
		return;
	attr->state = (enum rn_qp_state)l.n[0];
	attr->rq_psn = (uint32_t)l.n[1];
	attr->sq_psn = (uint32_t)l.n[2];
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

/* ------------------------------------------------------------ beginning and end */
static const char *why_not(const struct rn_live_target *t, const struct rn_scenario *s)
{
	if (s->ipv6)
		return "of IPv6";
	if (s->credits || s->exact || s->cc)
		return "of a device with other settings";
	if (s->srqs)
		return "of shared receive queues";
	for (unsigned i = 0; i < s->mrs; i++) {
		if (s->mr[i].line.verb == RN_SCN_MW)
			return "of memory windows";
		if (rn_scn_has(&s->mr[i].line, RN_F_ERROR))
			return "a region that cannot be made";
	}
	for (unsigned i = 0; i < s->qps; i++) {
		if (s->qp[i].type != RN_QPT_RC)
			return "of another transport than RC";
		if (rn_scn_has(&s->qp[i].line, RN_F_CQE))
			return "a device may make completion queues larger than asked "
			       "for";
	}
	for (unsigned i = 0; i < s->lines; i++) {
		const struct rn_scn_line *l = &s->line[i];

		if (l->verb == RN_SCN_COUNT)
			return "counters cannot be seen by public verbs";
		if (l->verb == RN_SCN_POST &&
		    rn_scn_get(l, RN_F_KIND, RN_WR_SEND) > RN_WR_SEND_WITH_INV)
			return "of requests that are posted by ibv_wr_*() only";
		if (l->verb == RN_SCN_HOLD || l->verb == RN_SCN_UNMAP ||
		    rn_scn_has(l, RN_F_ID))
			return "of what a socket cannot do";
		if (rn_scn_has(l, RN_F_CUR) || rn_scn_has(l, RN_F_WITH))
			return "the agent gives attributes by the names of the fields";
		if (rn_scn_has(l, RN_F_ALT) || rn_scn_has(l, RN_F_MIG))
			return "of path migration";
		if (rn_scn_has(l, RN_F_INLINE))
			return "the agent posts nothing inline";
		if (l->verb == RN_SCN_INJECT && !rn_scn_get(l, RN_F_SPORT, 1))
			return "no socket sends from port 0";
		if (l->verb == RN_SCN_INJECT && rn_scn_get(l, RN_F_FROM, 0) &&
		    !t->has_other)
			return "the tester has no second address";
	}
	return NULL;
}

static bool skips(void *ctx, const struct rn_scenario *s, char *why, size_t why_len)
{
	const char *reason = why_not(ctx, s);

	if (reason)
		snprintf(why, why_len, "%s", reason);
	return reason;
}

static int add_mr(struct rn_live_target *t, unsigned i, struct rn_scene_names *n)
{
	const struct rn_scn_line *m = &t->s->mr[i].line;
	struct rn_conform_line l = {
		.word = "mr",
		.count = 4,
		.n = { rn_scn_get(m, RN_F_LEN, 4096),
		       rn_scn_get(m, RN_F_VA, RN_CONFORM_ANYWHERE),
		       rn_scn_get(m, RN_F_ACCESS, 0), rn_scn_get(m, RN_F_PD, PD) },
	};
	int rc = rn_live_ask(t, &l);

	n->key[i] = (uint32_t)l.n[0];
	n->va[i] = l.n[1];
	return rc;
}

static int add_qp(struct rn_live_target *t, unsigned i, struct rn_scene_names *n)
{
	const struct rn_scn_object *o = &t->s->qp[i];
	struct rn_conform_line l = {
		.word = "qp",
		.count = 4,
		.n = { o->type, rn_scn_get(&o->line, RN_F_PD, PD),
		       rn_scn_get(&o->line, RN_F_SQ, WRS),
		       rn_scn_get(&o->line, RN_F_RQ, WRS) },
	};
	int rc = rn_live_ask(t, &l);

	n->qpn[i] = (uint32_t)l.n[0];
	return rc ? rc
		  : rn_scene_bring_up(o->type, rn_scene_attr(n, &o->line), i, modify_qp,
				      t);
}

static int begin(void *ctx, const struct rn_scenario *s, struct rn_scene_names *n,
		 char *err, size_t err_len)
{
	struct rn_live_target *t = ctx;
	struct rn_conform_line l = { .word = "begin", .count = 3, .n = { CQES } };
	int rc;

	*n = (struct rn_scene_names){ .device = t->device,
				      .peer = t->peer,
				      .other = t->other,
				      .peer_qpn = PEER_QPN };
	t->s = s;
	t->names = n;
	memcpy(&l.n[1], t->peer.raw, sizeof(t->peer.raw));
	rc = rn_live_ask(t, &l);
	look(t);
	t->packets_taken = t->packets;
	t->events_taken = t->events;
	t->comps[0] = t->comps[1] = 0;
	for (unsigned i = 0; i < 2; i++)
		t->wcs_taken[i] = t->wcs[i];
	for (unsigned i = 0; i < s->mrs && !rc; i++)
		rc = add_mr(t, i, n);
	for (unsigned i = 0; i < s->qps && !rc; i++)
		rc = add_qp(t, i, n);
	if (rc)
		snprintf(err, err_len, "the device cannot be prepared: %s",
			 strerror(-rc));
	return rc;
}

static void end(void *ctx)
{
	struct rn_conform_line l = { .word = "begin", .count = 3, .n = { CQES } };

	rn_live_ask(ctx, &l);
}

static uint64_t counter(void *ctx, enum rn_stat stat)
{
	(void)ctx;
	(void)stat;
	return 0; /* skips() */
}

void rn_live_set_ops(struct rn_live_target *t, const struct rn_live_options *o)
{
	t->ops = (struct rn_scene_ops){
		.begin = begin,
		.end = end,
		.now = now,
		.run = run,
		.call = call,
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
		.skips = skips,
		.slack = RN_MSEC(o->slack_ms),
		.quiet = RN_MSEC(QUIET_MS),
	};
}
