/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow_steer.c - finds the queue pairs that get a frame. */
#include "flow_steer.h"

#include <stddef.h>

struct visit {
	struct rnp_steer *steer;
	struct rnp_frame_view view;
	size_t len;
	rnp_deliver_fn *deliver;
	void *arg;
	unsigned delivered;
};

void rnp_steer_init(struct rnp_steer *s)
{
	TAILQ_INIT(&s->rules);
	s->frames = 0;
}

static uint32_t stage_of(const struct rnp_rule *rule)
{
	uint32_t within = rule->kind == RNP_RULE_NORMAL ? rule->priority : 0;

	return (uint32_t)rule->kind << 16 | within;
}

void rnp_steer_add(struct rnp_steer *s, struct rnp_rule *rule)
{
	struct rnp_rule *other;

	rule->served = 0;
	TAILQ_FOREACH(other, &s->rules, link)
	{
		if (stage_of(other) <= stage_of(rule))
			continue;
		TAILQ_INSERT_BEFORE(other, rule, link);
		return;
	}
	TAILQ_INSERT_TAIL(&s->rules, rule, link);
}

void rnp_steer_remove(struct rnp_steer *s, struct rnp_rule *rule)
{
	TAILQ_REMOVE(&s->rules, rule, link);
}

bool rnp_steer_is_empty(const struct rnp_steer *s)
{
	return TAILQ_EMPTY(&s->rules);
}

static bool applies(const struct rnp_rule *rule, const struct rnp_frame_view *view)
{
	switch (rule->kind) {
	case RNP_RULE_NORMAL:
		return rnp_flow_matches(&rule->match, view);
	case RNP_RULE_MC_DEFAULT:
		return rnp_frame_is_multicast(view);
	case RNP_RULE_SNIFFER:
	case RNP_RULE_ALL_DEFAULT:
		break;
	}
	return true;
}

/* Has another rule given this frame to the QP already? */
static bool is_served(const struct rnp_steer *s, const void *qp)
{
	const struct rnp_rule *rule;

	TAILQ_FOREACH(rule, &s->rules, link)
	if (rule->qp == qp && rule->served == s->frames)
		return true;
	return false;
}

static void serve(struct visit *v, struct rnp_rule *rule)
{
	void *qp = rule->qp;

	if (is_served(v->steer, rule->qp))
		return;
	rule->served = v->steer->frames;
	v->delivered++;
	if (rule->rss)
		qp = rnp_rss_choose(rule->rss, &v->view);
	v->deliver(v->arg, qp, rule->tag);
}

static void count_match(const struct visit *v, const struct rnp_rule *rule)
{
	if (!rule->tally)
		return;
	rule->tally->frames++;
	rule->tally->bytes += v->len;
}

static bool ends_here(const struct rnp_rule *rule)
{
	return rule->kind != RNP_RULE_SNIFFER && !rule->dont_trap;
}

/* Applies the rules of the stage that begins with @first. Return: first rule of the next
 * stage; NULL: the frame is not passed to further stages.
 */
static struct rnp_rule *pass_stage(struct visit *v, struct rnp_rule *first)
{
	struct rnp_rule *rule, *end = first;
	bool dropped = false, ended = false;

	for (; end && stage_of(end) == stage_of(first); end = TAILQ_NEXT(end, link)) {
		if (!applies(end, &v->view))
			continue;
		count_match(v, end);
		dropped |= end->drop;
		ended |= ends_here(end);
	}
	for (rule = first; rule != end && !dropped; rule = TAILQ_NEXT(rule, link))
		if (applies(rule, &v->view))
			serve(v, rule);
	return dropped || ended ? NULL : end;
}

unsigned rnp_steer_frame(struct rnp_steer *s, const uint8_t *frame, size_t len,
			 rnp_deliver_fn *deliver, void *arg)
{
	struct visit v = { .steer = s, .len = len, .deliver = deliver, .arg = arg };
	struct rnp_rule *rule = TAILQ_FIRST(&s->rules);

	s->frames++;
	rnp_frame_parse(&v.view, frame, len);
	while (rule)
		rule = pass_stage(&v, rule);
	return v.delivered;
}
