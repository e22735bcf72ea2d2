/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_live_calls.c - a device behind a network: objects and calls. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conform_live_internal.h"
#include "sim/scenario/calls.h"
#include "sim/scenario/fields.h"

enum {
	PEER_QPN = 0x99,
	WRS = 64,
	PD = 1,
	FLUSH_LEVEL_SHIFT = 8, /* in the immediate of a FLUSH, above its placement */
};

/* ---------------------------------------------------------------------- calls */
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
		t->names->key[window] = (uint32_t)line.n[0];
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

static int recv(struct rn_live_target *t, const struct rn_scn_line *l)
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

static int modify(struct rn_live_target *t, const struct rn_scn_line *l)
{
	struct rn_qp_attr attr = rn_scene_attr(t->names, l);

	return modify_qp(t, l->subject, &attr, rn_scene_attr_mask(l));
}

static int revive(struct rn_live_target *t, const struct rn_scn_line *l)
{
	const struct rn_scn_object *o = &t->s->qp[l->subject];
	struct rn_scn_line line = rn_scene_revived(o, l);

	return rn_scene_bring_up(o->type, rn_scene_attr(t->names, &line), l->subject,
				 modify_qp, t);
}

/* A call of an object and a number. */
static int ask_of(struct rn_live_target *t, const char *word, const struct rn_scn_line *l,
		  uint64_t number)
{
	struct rn_conform_line line = { .count = 2, .n = { l->subject, number } };

	snprintf(line.word, sizeof(line.word), "%s", word);
	return rn_live_ask(t, &line);
}

int rn_live_call(void *ctx, const struct rn_scn_line *l)
{
	struct rn_conform_line region = { .word = "dereg",
					  .count = 1,
					  .n = { l->subject } };

	switch ((int)l->verb) {
	case RN_SCN_POST:
		return post(ctx, l);
	case RN_SCN_RECV:
		return recv(ctx, l);
	case RN_SCN_MODIFY:
		return modify(ctx, l);
	case RN_SCN_REVIVE:
		return revive(ctx, l);
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

/* --------------------------------------------------------------------- objects */
static int add_mw(struct rn_live_target *t, unsigned i)
{
	const struct rn_scn_line *m = &t->s->mr[i].line;
	struct rn_conform_line l = {
		.word = "mw",
		.count = 2,
		.n = { rn_scn_get(m, RN_F_TYPE, 2), rn_scn_get(m, RN_F_PD, PD) },
	};
	int rc = rn_live_ask(t, &l);

	t->names->key[i] = (uint32_t)l.n[0];
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
		t->names->key[i] = (uint32_t)l.n[0];
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

/* What the posts of a queue pair need it to have been made for. */
static void name_needs(const struct rn_scenario *s, unsigned qp,
		       struct rn_conform_line *l)
{
	for (unsigned i = 0; i < s->lines; i++) {
		const struct rn_scn_line *p = &s->line[i];
		uint64_t len = rn_scn_get(p, RN_F_LEN, 0);

		if (p->verb != RN_SCN_POST || p->subject != qp)
			continue;
		if (rn_scn_get(p, RN_F_KIND, RN_WR_SEND) == RN_WR_ATOMIC_WRITE)
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

/* ------------------------------------------------------------ beginning and end */
uint64_t rn_live_cqes(const struct rn_scenario *s)
{
	uint64_t count = RN_LIVE_CQES;

	for (unsigned i = 0; i < s->qps; i++) {
		uint64_t wanted = rn_scn_get(&s->qp[i].line, RN_F_CQE, count);

		count = wanted < count ? wanted : count;
	}
	return count;
}

int rn_live_make_queues(struct rn_live_target *t, const struct rn_scenario *s,
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

static int begin(struct rn_live_target *t, const struct rn_scenario *s, uint8_t slower,
		 struct rn_scene_names *n, char *err, size_t err_len)
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
				      .slower = slower };
	t->s = s;
	t->names = n;
	rc = rn_live_make_queues(t, s, &cqes);
	rn_live_forget(t);
	if (!rc)
		rc = make_objects(t, s);
	if (rc)
		snprintf(err, err_len, "the device cannot be prepared: %s",
			 strerror(-rc));
	rn_conform_stats_begin(&t->stats);
	return rc;
}

int rn_live_begin(void *ctx, const struct rn_scenario *s, struct rn_scene_names *n,
		  char *err, size_t err_len)
{
	return begin(ctx, s, 0, n, err, err_len);
}

int rn_live_begin_slower(void *ctx, const struct rn_scenario *s, struct rn_scene_names *n,
			 char *err, size_t err_len)
{
	return begin(ctx, s, RN_LIVE_SLOWER, n, err, err_len);
}

/* With the queue pairs goes what they might still send. */
void rn_live_end(void *ctx)
{
	struct rn_live_target *t = ctx;
	uint64_t cqes;

	rn_live_make_queues(t, t->s, &cqes);
}
