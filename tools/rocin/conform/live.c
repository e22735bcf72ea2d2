/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live.c - executes the operations of a conformance scenario on a device on the network.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "conform.h"
#include "rocin/cqe.h"
#include "rocin/queue_pair.h"
#include "sim/scenario/calls.h"
#include "sim/scenario/describe.h"
#include "sim/scenario/scenario.h"
#include "tools/rocin/common/cmd.h"

/* ------------------------------------------------------ packets, completions, events */
enum {
	/* Time in ms. If no packet comes for this time, the tester expects no more
	 * packets. This is about twice the ACK timeout of most scenarios.
	 */
	QUIET_MS = 150,
};

static rn_ns now(void *ctx)
{
	(void)ctx;
	return rn_conform_now();
}

/* -------------------------------------------------------------- trace of a scenario */
static void trace_packet(struct rn_live_target *t, const char *arrow,
			 const struct rn_scene_packet *p)
{
	char text[320];

	rn_describe_received(p, text, sizeof(text));
	rn_live_trace_add(t, arrow, text);
}

static void trace_wc(struct rn_live_target *t, const struct rn_scene_wc *wc)
{
	char text[160];

	rn_describe_wc(wc, text, sizeof(text));
	rn_live_trace_add(t, "  ", text);
}

static void trace_event(struct rn_live_target *t, const struct rn_scene_event *event)
{
	char text[64];

	snprintf(text, sizeof(text), "event %s",
		 rn_scn_word_of(rn_scn_events, event->event));
	rn_live_trace_add(t, "  ", text);
}

/* Gets one item from the agent: a completion or event of verbs, or a connection event.
 * Returns false if there is none.
 */
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
		trace_wc(t, &t->wc[queue][(t->wcs[queue] - 1) % RN_LIVE_QUEUE]);
	} else if (l.n[0] == RN_CONFORM_COMP) {
		t->comps[queue]++;
	} else if (l.n[0] == RN_CONFORM_CM_EVENT) {
		rn_live_cm_take(t, &l);
	} else if (l.n[0] == RN_CONFORM_EVENT &&
		   t->events - t->events_taken < RN_LIVE_QUEUE) {
		t->event[t->events++ % RN_LIVE_QUEUE] = (struct rn_scene_event){
			.at = now(t),
			.qpn = (uint32_t)l.n[1],
			.event = (uint16_t)l.n[2],
		};
		trace_event(t, &t->event[(t->events - 1) % RN_LIVE_QUEUE]);
	}
	return true;
}

/* ---- Packets, completions and events that have arrived ---- */
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
	struct rn_live_target *t = ctx;

	rn_live_cm_note(t, next_packet(t));
	t->packets_taken++;
}

static void drop_wc(void *ctx, unsigned queue)
{
	((struct rn_live_target *)ctx)->wcs_taken[queue]++;
}

static void drop_event(void *ctx)
{
	((struct rn_live_target *)ctx)->events_taken++;
}

static bool take_comp_event(void *ctx, unsigned queue)
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
		/* Packets to the multicast group that the tester has sent itself are
		 * skipped. So are datagrams without payload, which are not RoCEv2:
		 * devices send them to find out whether the port of a silent peer is
		 * open.
		 */
		if (is_ours(t->at, &p->flow.src) || p->len == 0 ||
		    rn_live_cm_is_old(t, p))
			continue;
		p->at = now(t);
		t->packets++;
		trace_packet(t, " >", p);
	}
}

static void take_all(struct rn_live_target *t)
{
	take_packets(t, t->at->fd, &t->at->peer);
	if (t->at->other_fd >= 0)
		take_packets(t, t->at->other_fd, &t->at->other);
	if (t->at->group_fd >= 0)
		take_packets(t, t->at->group_fd, &t->at->group);
	/* The number of iterations is limited, because a faulty device may always have
	 * another completion.
	 */
	for (unsigned left = RN_LIVE_QUEUE; left > 0 && take_one(t); left--)
		;
}

/* Drops all packets, completions and events that have arrived so far. */
static void forget_arrivals(struct rn_live_target *t)
{
	take_all(t);
	t->packets_taken = t->packets;
	t->events_taken = t->events;
	t->comps[0] = t->comps[1] = 0;
	t->cm.taken = t->cm.events;
	t->cm.notes = 0;
	for (unsigned i = 0; i < 2; i++)
		t->wcs_taken[i] = t->wcs[i];
}

/* ----------------------------------------------------------------- objects and calls */
enum {
	PEER_QPN = 0x99,
	WRS = 64,
	PD = 1,
	/* In the immediate data of a FLUSH: number of the lowest bit of the selectivity
	 * level. The placement is in the bits below it.
	 */
	FLUSH_LEVEL_SHIFT = 8,
};

/* --------------------------------------------------------- verbs calls by the agent */
static int modify_qp(void *ctx, unsigned qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	const struct rn_gid *other = &((struct rn_live_target *)ctx)->names->other;
	struct rn_conform_line l = {
		.word = "modify",
		.count = RN_CONFORM_ATTRS,
		.n = { qp,
		       mask,
		       attr->state,
		       attr->path_mtu,
		       attr->qkey,
		       attr->rq_psn,
		       attr->sq_psn,
		       attr->dest_qpn,
		       attr->access,
		       attr->max_rd_atomic,
		       attr->max_dest_rd_atomic,
		       attr->min_rnr_timer,
		       attr->timeout,
		       attr->retry_cnt,
		       attr->rnr_retry,
		       attr->en_sqd_async_notify,
		       !memcmp(&attr->alt.av.dgid, other, sizeof(*other)),
		       attr->alt.timeout,
		       attr->mig_state,
		       attr->cur_state },
	};

	return rn_live_ask(ctx, &l);
}

static int bind_window(struct rn_live_target *t, const struct rn_scn_line *l,
		       const struct rn_send_wr *wr)
{
	struct rn_conform_line line = { .word = "bind", .count = RN_CONFORM_BINDS };
	uint8_t window = l->region[RN_F_RKEY];
	int rc;

	line.n[0] = l->subject;
	line.n[RN_CONFORM_BIND_ID] = wr->wr_id;
	line.n[RN_CONFORM_BIND_FLAGS] = wr->flags;
	line.n[RN_CONFORM_BIND_MW] = window;
	line.n[RN_CONFORM_BIND_KEY] = wr->rkey;
	line.n[RN_CONFORM_BIND_MR] = l->region[RN_F_REGION];
	line.n[RN_CONFORM_BIND_ADDRESS] = wr->remote_addr;
	line.n[RN_CONFORM_BIND_LENGTH] = wr->bind_length;
	line.n[RN_CONFORM_BIND_ACCESS] = wr->bind_access;
	rc = rn_live_ask(t, &line);
	if (!rc && rn_scn_get(&t->s->mr[window].line, RN_F_TYPE, 2) == 1)
		t->names->rkey[window] = (uint32_t)line.n[0];
	return rc;
}

static int post(struct rn_live_target *t, const struct rn_scn_line *l)
{
	struct rn_scene_send s;
	struct rn_conform_line line = { .word = "post", .count = RN_CONFORM_WRS };

	rn_scene_send_wr(t->s, t->names, l, &s);
	if (s.wr.opcode == RN_WR_BIND_MW)
		return bind_window(t, l, &s.wr);
	if (s.wr.opcode == RN_WR_FLUSH)
		s.wr.imm = s.wr.flush_placement | (uint32_t)s.wr.flush_selectivity
							  << FLUSH_LEVEL_SHIFT;
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
	line.n[RN_CONFORM_SRQN] = s.wr.remote_srqn;
	line.n[RN_CONFORM_TO] = rn_scn_get(l, RN_F_TO, RN_SCN_TO_ONE) == RN_SCN_TO_GROUP;
	line.n[RN_CONFORM_TO_QPN] = s.wr.remote_qpn;
	line.n[RN_CONFORM_TO_QKEY] = s.wr.remote_qkey;
	return rn_live_ask(t, &line);
}

static int post_receive(struct rn_live_target *t, const struct rn_scn_line *l)
{
	struct rn_sge sge = rn_scene_recv_sge(t->names, l);
	struct rn_conform_line line = {
		.word = "recv",
		.count = 5,
		.n = { l->subject, rn_scn_get(l, RN_F_WR, 0), sge.addr, sge.len,
		       sge.lkey },
	};

	if (l->of_srq)
		memcpy(line.word, "srecv", sizeof("srecv"));
	return rn_live_ask(t, &line);
}

static int modify_by_line(struct rn_live_target *t, const struct rn_scn_line *l)
{
	struct rn_qp_attr attr = rn_scene_attr(t->names, l);

	return modify_qp(t, l->subject, &attr, rn_scene_attr_mask(l));
}

static int revive_qp(struct rn_live_target *t, const struct rn_scn_line *l)
{
	const struct rn_scn_object *o = &t->s->qp[l->subject];
	struct rn_scn_line line = rn_scene_revived(o, l);

	return rn_scene_bring_up(o->type, rn_scene_attr(t->names, &line), l->subject,
				 modify_qp, t);
}

/* Sends the agent a request that consists of @word, the number of the object of line @l,
 * and @number. Returns 0 or -errno.
 */
static int ask_of(struct rn_live_target *t, const char *word, const struct rn_scn_line *l,
		  uint64_t number)
{
	struct rn_conform_line line = { .count = 2, .n = { l->subject, number } };

	snprintf(line.word, sizeof(line.word), "%s", word);
	return rn_live_ask(t, &line);
}

static int make_call(void *ctx, const struct rn_scn_line *l)
{
	struct rn_conform_line region = { .word = "dereg",
					  .count = 1,
					  .n = { l->subject } };

	if (rn_scn_is_cm_call(l->verb))
		return rn_live_cm_call(ctx, l);
	switch ((int)l->verb) {
	case RN_SCN_POST:
		return post(ctx, l);
	case RN_SCN_RECV:
		return post_receive(ctx, l);
	case RN_SCN_MODIFY:
		return modify_by_line(ctx, l);
	case RN_SCN_REVIVE:
		return revive_qp(ctx, l);
	case RN_SCN_ARM:
		return ask_of(ctx, "arm", l,
			      rn_scn_get(l, RN_F_ARM, RN_CQ_ARM_NEXT) ==
				      RN_CQ_ARM_SOLICITED);
	case RN_SCN_LIMIT:
		return ask_of(ctx, "limit", l, rn_scn_get(l, RN_F_BELOW, 0));
	case RN_SCN_JOIN:
	case RN_SCN_LEAVE:
		return ask_of(ctx, "group", l, l->verb == RN_SCN_JOIN);
	case RN_SCN_UNMAP:
		memcpy(region.word, "unmap", sizeof("unmap"));
		return rn_live_ask(ctx, &region);
	default:
		return rn_live_ask(ctx, &region);
	}
}

static int call_agent(void *ctx, const struct rn_scn_line *l)
{
	int rc = make_call(ctx, l);
	char text[96];

	snprintf(text, sizeof(text), "call in line %u: %s", l->number,
		 rc ? strerror(-rc) : "done");
	rn_live_trace_add(ctx, "  ", text);
	return rc;
}

/* ----------------------------------------------- creating the objects of a scenario */
static int add_mw(struct rn_live_target *t, unsigned i)
{
	const struct rn_scn_line *m = &t->s->mr[i].line;
	struct rn_conform_line l = {
		.word = "mw",
		.count = 2,
		.n = { rn_scn_get(m, RN_F_TYPE, 2), rn_scn_get(m, RN_F_PD, PD) },
	};
	int rc = rn_live_ask(t, &l);

	t->names->rkey[i] = (uint32_t)l.n[0];
	return rc;
}

static int add_mr(struct rn_live_target *t, unsigned i)
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

	if (-rc != (int)rn_scn_get(m, RN_F_ERROR, 0))
		return rc ? rc : -EPROTO;
	if (!rc) {
		t->names->rkey[i] = (uint32_t)l.n[0];
		t->names->lkey[i] = (uint32_t)l.n[2];
		t->names->va[i] = l.n[1];
	}
	return 0;
}

static int add_srq(struct rn_live_target *t, unsigned i)
{
	const struct rn_scn_line *s = &t->s->srq[i].line;
	struct rn_conform_line l = {
		.word = "srq",
		.count = 3,
		.n = { rn_scn_get(s, RN_F_PD, PD), rn_scn_get(s, RN_F_RQ, WRS),
		       rn_scn_get(s, RN_F_XRCD, 0) },
	};
	int rc = rn_live_ask(t, &l);

	t->names->srqn[i] = (uint32_t)l.n[0];
	return rc;
}

/* Adds the properties of QP @qp to the request @l that creates it: those that later lines
 * of the scenario need to post their requests to it.
 */
static void name_needs(const struct rn_scenario *s, unsigned qp,
		       struct rn_conform_line *l)
{
	for (unsigned i = 0; i < s->lines; i++) {
		const struct rn_scn_line *p = &s->line[i];
		uint64_t len = rn_scn_get(p, RN_F_LEN, 0);
		const struct rn_conform_operation *op;

		if (p->verb != RN_SCN_POST || p->subject != qp)
			continue;
		op = rn_conform_operation(rn_scn_get(p, RN_F_KIND, RN_WR_SEND));
		if (op && op->call)
			l->n[RN_CONFORM_QP_EX] = 1;
		if (rn_scn_has(p, RN_F_INLINE) && len > l->n[RN_CONFORM_QP_INLINE])
			l->n[RN_CONFORM_QP_INLINE] = len;
	}
}

static int add_qp(struct rn_live_target *t, unsigned i)
{
	const struct rn_scn_object *o = &t->s->qp[i];
	struct rn_conform_line l = { .word = "qp", .count = RN_CONFORM_QP_NUMBERS };
	int rc;

	l.n[RN_CONFORM_QP_TYPE] = o->type;
	l.n[RN_CONFORM_QP_PD] = rn_scn_get(&o->line, RN_F_PD, PD);
	l.n[RN_CONFORM_QP_SQ] = rn_scn_get(&o->line, RN_F_SQ, WRS);
	l.n[RN_CONFORM_QP_RQ] = rn_scn_get(&o->line, RN_F_RQ, WRS);
	if (rn_scn_has(&o->line, RN_F_SRQ))
		l.n[RN_CONFORM_QP_SRQ] = o->line.region[RN_F_SRQ] + UINT64_C(1);
	l.n[RN_CONFORM_QP_XRCD] = rn_scn_get(&o->line, RN_F_XRCD, 0);
	name_needs(t->s, i, &l);
	rc = rn_live_ask(t, &l);
	t->names->qpn[i] = (uint32_t)l.n[0];
	return rc ? rc
		  : rn_scene_bring_up(o->type, rn_scene_attr(t->names, &o->line), i,
				      modify_qp, t);
}

/* ------------------------------------------------------ start and end of a scenario */
/* Makes the agent destroy the objects of the last scenario, and create the CQs and
 * receive queues of @s. Sets *@cqes to the size of the CQs. Returns 0 or -errno.
 */
static int make_queues(struct rn_live_target *t, const struct rn_scenario *s,
		       uint64_t *cqes)
{
	const struct rn_live_side *side = &t->side[s->ipv6];
	struct rn_conform_line l = { .word = "begin",
				     .count = 7,
				     .n = { rn_live_cqes(s) } };
	int rc;

	memcpy(&l.n[1], &side->peer, sizeof(side->peer));
	memcpy(&l.n[3], &side->other, sizeof(side->other));
	memcpy(&l.n[5], &side->group, sizeof(side->group));
	rc = rn_live_ask(t, &l);
	*cqes = l.n[0];
	return rc;
}

static int make_objects(struct rn_live_target *t, const struct rn_scenario *s)
{
	int rc = 0;

	for (unsigned i = 0; i < s->mrs && !rc; i++)
		rc = s->mr[i].line.verb == RN_SCN_MW ? add_mw(t, i) : add_mr(t, i);
	for (unsigned i = 0; i < s->srqs && !rc; i++)
		rc = add_srq(t, i);
	for (unsigned i = 0; i < s->qps && !rc; i++)
		rc = add_qp(t, i);
	return rc;
}

static int begin_at_speed(struct rn_live_target *t, const struct rn_scenario *s,
			  uint8_t slower, struct rn_scene_names *n, char *err,
			  size_t err_len)
{
	uint64_t cqes;
	int rc;

	t->at = &t->side[s->ipv6];
	*n = (struct rn_scene_names){ .device = t->at->device,
				      .peer = t->at->peer,
				      .other = t->at->other,
				      .group = t->at->group,
				      .ifindex = t->at->ifindex,
				      .peer_qpn = PEER_QPN,
				      .slower = slower,
				      .run = t->run++ % RN_SCENE_RUNS };
	t->s = s;
	t->names = n;
	rc = make_queues(t, s, &cqes);
	forget_arrivals(t);
	if (!rc)
		rc = make_objects(t, s);
	t->was_too_long = false;
	t->trace.began = now(t);
	t->trace.used = 0;
	t->trace.text[0] = '\0';
	if (rc)
		snprintf(err, err_len, "the device cannot be prepared: %s",
			 strerror(-rc));
	rn_conform_stats_begin(&t->stats);
	return rc;
}

static int begin_scenario(void *ctx, const struct rn_scenario *s,
			  struct rn_scene_names *n, char *err, size_t err_len)
{
	return begin_at_speed(ctx, s, 0, n, err, err_len);
}

static int begin_slower(void *ctx, const struct rn_scenario *s, struct rn_scene_names *n,
			char *err, size_t err_len)
{
	return begin_at_speed(ctx, s, RN_LIVE_SLOWER, n, err, err_len);
}

/* Makes the agent destroy the QPs, so that they send no more packets. */
static void end_scenario(void *ctx)
{
	struct rn_live_target *t = ctx;
	size_t used = t->trace.used;
	uint64_t cqes;

	make_queues(t, t->s, &cqes);
	if (t->s->conns && !t->is_lost)
		rn_live_cm_settle(t);
	/* Packets that came after the scenario do not belong to its trace. */
	t->trace.used = used;
	t->trace.text[used] = '\0';
	t->names = NULL;
}

/* ---------------------------------------------------- operations for rn_scene_run() */
static bool is_skipped(void *ctx, const struct rn_scenario *s, char *why, size_t why_len)
{
	const char *reason = rn_live_why_not(ctx, s);
	uint64_t cqes, wanted = rn_live_cqes(s);

	if (!reason && wanted < RN_LIVE_CQES && !make_queues(ctx, s, &cqes) &&
	    cqes > wanted)
		reason = "the device makes completion queues larger than asked for";
	if (reason)
		snprintf(why, why_len, "%s", reason);
	return reason;
}

/* Waits until something arrives, or until @until. Each wait for packets takes at most 1
 * ms, because the agent must be asked for completions in between.
 */
static void run_live_until(void *ctx, rn_ns until)
{
	struct rn_live_target *t = ctx;
	struct pollfd p[] = { { .fd = t->at->fd, .events = POLLIN },
			      { .fd = t->at->other_fd, .events = POLLIN },
			      { .fd = t->at->group_fd, .events = POLLIN } };

	if (t->is_lost)
		poll(NULL, 0, 1);
	do {
		take_all(t);
		if (next_packet(t) || next_event(t) || next_wc(t, 0) || next_wc(t, 1) ||
		    rn_live_cm_ops.event(t) || t->comps[0] || t->comps[1] || t->is_lost)
			break;
	} while (now(t) < until && poll(p, RN_ARRAY_SIZE(p), 1) >= 0);
	if (now(t) < until)
		poll(NULL, 0, 1);
}

static void inject(void *ctx, const struct rn_scene_packet *p)
{
	int rc = rn_live_send(p);

	trace_packet(ctx, "< ", p);
	if (rc == -EMSGSIZE)
		((struct rn_live_target *)ctx)->was_too_long = true;
	else if (rc)
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

/* Called after a scenario. If the agent was lost during the scenario, writes to @what how
 * it was lost, connects to a new process of the agent, and returns true.
 */
static bool was_lost(void *ctx, char *what, size_t what_len)
{
	struct rn_live_target *t = ctx;

	if (!t->is_lost)
		return false;
	snprintf(what, what_len, "%s", t->lost);
	rn_live_reconnect(t);
	return true;
}

static rn_ns longest(void *ctx, const struct rn_scn_line *l)
{
	const struct rn_live_target *t = ctx;

	return t->s->conns ? rn_live_cm_longest(l)
			   : RN_MSEC(QUIET_MS) << t->names->slower;
}

void rn_live_set_ops(struct rn_live_target *t)
{
	t->ops = (struct rn_scene_ops){
		.begin = begin_scenario,
		.end = end_scenario,
		.now = now,
		.run = run_live_until,
		.call = call_agent,
		.inject = inject,
		.packet = next_packet,
		.wc = next_wc,
		.event = next_event,
		.drop_packet = drop_packet,
		.drop_wc = drop_wc,
		.drop_event = drop_event,
		.query = query,
		.comp = take_comp_event,
		.memory = memory,
		.counter = counter,
		.skips = is_skipped,
		.lost = was_lost,
		.slack = RN_MSEC(t->options.slack_ms),
		.longest = longest,
		.cm = &rn_live_cm_ops,
		.slower = &t->slow_ops,
	};
	t->slow_ops = t->ops;
	t->slow_ops.slower = NULL;
	t->slow_ops.begin = begin_slower;
}
