/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scene_result.c - the time of lines, and the sentence about what went wrong. */
#include "describe.h"
#include "scene_internal.h"
#include "sim/pcie/model/text.h"

bool rn_scene_fail(struct rn_scene *c, const struct rn_scn_line *l, const char *what)
{
	c->r->line = l->number;
	rn_scene_say(c->r->what, sizeof(c->r->what), what);
	return false;
}

bool rn_scene_fail_number(struct rn_scene *c, const struct rn_scn_line *l,
			  const char *what, uint64_t number)
{
	struct rn_text t;

	c->r->line = l->number;
	rn_text_init(&t, c->r->what, sizeof(c->r->what));
	rn_text_add(&t, what);
	rn_text_number(&t, number);
	return false;
}

void rn_scene_say(char *buf, size_t size, const char *text)
{
	struct rn_text t;

	rn_text_init(&t, buf, size);
	rn_text_add(&t, text);
}

void rn_scene_fail_time(struct rn_scene *c, const char *what, rn_ns from, rn_ns at)
{
	char buf[32];
	struct rn_text t;

	rn_describe_time(at - from, buf, sizeof(buf));
	rn_text_init(&t, c->r->what, sizeof(c->r->what));
	rn_text_add(&t, what);
	rn_text_add(&t, buf);
	rn_text_add(&t, " after the line before");
}

/* What T stands for: of a connection the response timeout that everybody has. */
static rn_ns timeout_of(const struct rn_scene *c, const struct rn_scn_line *l)
{
	const struct rn_scn_line *qp = &c->s->qp[l->subject].line;

	if (rn_scn_is_cm_call(l->verb) ||
	    (l->verb >= RN_SCN_MAD_IN && l->verb <= RN_SCN_CM_COUNT))
		return rn_ack_timeout_ns(RN_CM_RESP_TIMEOUT);
	return rn_ack_timeout_ns(rn_scene_timeout(&c->names, qp));
}

rn_ns rn_scene_patience(const struct rn_scene *c, rn_ns until)
{
	return until + c->ops->slack;
}

rn_ns rn_scene_time_of(const struct rn_scene *c, const struct rn_scn_line *l,
		       const struct rn_scn_time *t)
{
	return c->at + t->ns + (t->timeouts ? t->timeouts * timeout_of(c, l) : 0);
}

bool rn_scene_in_time(struct rn_scene *c, const struct rn_scn_line *l, rn_ns at)
{
	rn_ns from = rn_scene_time_of(c, l, &l->from);
	rn_ns to = rn_scene_time_of(c, l, &l->to);

	if (at + c->ops->slack >= from && at <= to + c->ops->slack) {
		c->at = at;
		return true;
	}
	rn_scene_fail(c, l, "");
	rn_scene_fail_time(c, at < from ? "too early: " : "too late: ", c->at, at);
	return false;
}
