/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scene.c - runs a scenario: does its lines in time, wants to see all that comes of it.
 */
#include <string.h>

#include "describe.h"
#include "fields.h"
#include "rocin/cqe.h"
#include "rocin/event.h"
#include "rocin/wire.h"
#include "scene_internal.h"
#include "sim/pcie/model/text.h"
#include "wanted.h"

enum {
	FOR_GOOD_S = 100, /* `end quiet`: longer than any timer of a device may run */
	LOOK_MS = 2,	  /* in real time: from one look to the next */
};

/* ------------------------------------------------------- what was not expected */
/* Nothing may be there that no line took: @l comes next. */
static bool nothing_left(struct rn_scene *c, const struct rn_scn_line *l)
{
	const struct rn_scene_packet *p = rn_repeats_skip(&c->repeats, c->ops, c->ctx);
	const struct rn_scene_event *event = c->ops->event(c->ctx);
	const struct rn_scene_wc *wc = c->ops->wc(c->ctx, 0);

	if (p) {
		rn_scene_fail(c, l, "");
		rn_scene_fail_time(c, "a packet left that no line expects, ", c->at,
				   p->at);
		rn_describe_received(p, c->r->came, sizeof(c->r->came));
		return false;
	}
	if (!wc)
		wc = c->ops->wc(c->ctx, 1);
	if (wc) {
		rn_scene_fail(c, l, "");
		rn_scene_fail_time(c, "a completion came that no line expects, ", c->at,
				   wc->at);
		rn_describe_wc(wc, c->r->came, sizeof(c->r->came));
		return false;
	}
	if (c->ops->comp(c->ctx, 0) || c->ops->comp(c->ctx, 1))
		return rn_scene_fail(c, l,
				     "a completion event came that no line expects");
	if (event) {
		rn_scene_fail(c, l, "an event was raised that no line expects");
		rn_scene_say(c->r->came, sizeof(c->r->came),
			     rn_scn_word_of(rn_scn_events, event->event));
		return false;
	}
	return rn_scene_no_cm_event(c, l);
}

static bool pass_time(struct rn_scene *c, const struct rn_scn_line *l, rn_ns until)
{
	if (c->ops->quiet && until > c->at + c->ops->quiet)
		until = c->at + c->ops->quiet;
	if (!nothing_left(c, l))
		return false;
	do {
		c->ops->run(c->ctx, until);
		if (!nothing_left(c, l))
			return false;
	} while (c->ops->now(c->ctx) < until);
	c->at = c->ops->slack ? c->ops->now(c->ctx) : until;
	return true;
}

/* -------------------------------------------------------------------- packets */
static bool payload_is(struct rn_scene *c, const struct rn_scn_line *l,
		       const uint8_t *payload, uint32_t len)
{
	uint8_t memory[RN_MTU_MAX];
	uint8_t mr = l->region[RN_F_DATA];

	return len <= sizeof(memory) && mr != RN_SCN_ABSOLUTE &&
	       c->ops->memory(c->ctx, mr, l->value[RN_F_DATA], memory, len) &&
	       !memcmp(memory, payload, len);
}

const struct rn_gid *rn_scene_receiver(const struct rn_scene *c,
				       const struct rn_scn_line *l)
{
	switch (rn_scn_get(l, RN_F_TO, RN_SCN_TO_ONE)) {
	case RN_SCN_TO_GROUP:
		return &c->names.group;
	case RN_SCN_TO_OTHER:
		return &c->names.other;
	default:
		return &c->names.peer;
	}
}

static void compare(struct rn_scene *c, const struct rn_scn_line *l,
		    const struct rn_scn_line *want, const struct rn_scene_packet *p,
		    struct rn_text *t)
{
	const uint8_t *payload = NULL;
	struct rn_scn_line came;
	const char *field;

	if (rn_scene_decode(p, &came, &payload)) {
		rn_text_add(t, "the packet is not well formed");
		return;
	}
	field = rn_scene_difference(want, &came);
	if (came.opcode != want->opcode) {
		rn_text_add(t, "another opcode");
	} else if (field) {
		rn_text_add(t, field);
		rn_text_add(t, " is not as expected");
	} else if (memcmp(&p->flow.dst, rn_scene_receiver(c, l), sizeof(p->flow.dst)) !=
		   0) {
		rn_text_add(t, "it went to another address");
	} else if (rn_scn_has(l, RN_F_DATA) &&
		   !payload_is(c, l, payload, (uint32_t)came.value[RN_F_LEN])) {
		rn_text_add(t, "the payload is not what the memory holds");
	}
}

/* Compare all that the line says; the first difference is the sentence. */
static bool same_packet(struct rn_scene *c, const struct rn_scn_line *l,
			const struct rn_scene_packet *p)
{
	struct rn_scn_line want;
	struct rn_text t;

	if (l->verb == RN_SCN_MAD_OUT)
		return rn_scene_same_mad(c, l, p);
	want = rn_scene_wanted(&c->names, l);
	rn_text_init(&t, c->r->what, sizeof(c->r->what));
	compare(c, l, &want, p, &t);
	if (!t.used)
		return true;
	c->r->line = l->number;
	rn_describe_packet(&want, want.given, c->r->expected, sizeof(c->r->expected));
	rn_describe_received(p, c->r->came, sizeof(c->r->came));
	return false;
}

/* Wait for something; false: it did not come by @until. */
static bool wait_packet(struct rn_scene *c, rn_ns until)
{
	while (!c->ops->packet(c->ctx) && c->ops->now(c->ctx) < until)
		c->ops->run(c->ctx, until);
	return c->ops->packet(c->ctx);
}

static bool expect_packet(struct rn_scene *c, const struct rn_scn_line *l)
{
	bool optional = rn_scn_has(l, RN_F_OPTIONAL);
	rn_ns to = rn_scene_time_of(c, l, &l->to);
	struct rn_scene_result before = *c->r;

	while (wait_packet(c, optional ? to + c->ops->slack / 16
				       : rn_scene_patience(c, to))) {
		const struct rn_scene_packet *p = c->ops->packet(c->ctx);

		if (same_packet(c, l, p) && rn_scene_in_time(c, l, p->at)) {
			if (l->verb == RN_SCN_MAD_OUT)
				rn_scene_note_mad(c, l, p);
			rn_repeats_note(&c->repeats, p);
			c->ops->drop_packet(c->ctx);
			return true;
		}
		if (!optional && rn_repeats_skip(&c->repeats, c->ops, c->ctx) == p)
			return false;
		*c->r = before;
		if (optional)
			return true;
	}
	if (optional)
		return true;
	if (l->verb == RN_SCN_MAD_OUT)
		rn_describe_mad(l, l->given, c->r->expected, sizeof(c->r->expected));
	else
		rn_describe_packet(l, l->given, c->r->expected, sizeof(c->r->expected));
	return rn_scene_fail(c, l, "nothing left");
}

/* ---------------------------------------------------- completions and events */
static const struct rn_scene_wc *next_wc(struct rn_scene *c, const struct rn_scn_line *l,
					 unsigned *queue)
{
	const struct rn_scene_wc *wc = NULL;

	/* The one that the line means, if either queue shows it. */
	for (*queue = 0; *queue < 2; ++*queue) {
		wc = c->ops->wc(c->ctx, *queue);
		if (wc && wc->wr_id == rn_scn_get(l, RN_F_WR, wc->wr_id))
			return wc;
	}
	*queue = wc ? 1 : 0;
	return wc ? wc : c->ops->wc(c->ctx, 0);
}

static const char *wrong_about_wc(const struct rn_scene *c, const struct rn_scn_line *l,
				  const struct rn_scene_wc *wc)
{
	if (wc->wr_id != rn_scn_get(l, RN_F_WR, wc->wr_id))
		return "a completion of another request";
	if (wc->status != rn_scn_get(l, RN_F_STATUS, RN_WC_SUCCESS))
		return "another status";
	if (wc->qpn != c->names.qpn[l->subject])
		return "a completion of another queue pair";
	if (wc->byte_len != rn_scn_get(l, RN_F_LEN, wc->byte_len))
		return "another length";
	if (rn_scn_has(l, RN_F_IMM) &&
	    (!(wc->flags & RN_WC_WITH_IMM) || wc->imm != l->value[RN_F_IMM]))
		return "another immediate, or none";
	if (rn_scn_has(l, RN_F_RKEY_NUMBER) &&
	    (!(wc->flags & RN_WC_WITH_INV) ||
	     wc->imm != rn_scene_value(&c->names, l, RN_F_RKEY_NUMBER)))
		return "another key was invalidated, or none";
	if (wc->src_qpn != rn_scn_get(l, RN_F_SRC, wc->src_qpn))
		return "another source";
	return NULL;
}

static bool expect_wc(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = rn_scene_patience(c, rn_scene_time_of(c, l, &l->to));
	const struct rn_scene_wc *wc;
	const char *wrong;
	unsigned queue;

	/* In real time the two queues do not show together what came of one packet. */
	while ((!(wc = next_wc(c, l, &queue)) ||
		(c->ops->slack && wrong_about_wc(c, l, wc))) &&
	       c->ops->now(c->ctx) < until)
		c->ops->run(c->ctx, until);
	if (!wc)
		return rn_scene_fail(c, l, "no completion came");
	wrong = wrong_about_wc(c, l, wc);
	if (wrong) {
		rn_describe_wc(wc, c->r->came, sizeof(c->r->came));
		return rn_scene_fail(c, l, wrong);
	}
	if (!rn_scene_in_time(c, l, wc->at))
		return false;
	c->ops->drop_wc(c->ctx, queue);
	return true;
}

static bool expect_event(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = rn_scene_patience(c, rn_scene_time_of(c, l, &l->to));
	const struct rn_scene_event *event;
	uint32_t qpn;

	while (!(event = c->ops->event(c->ctx)) && c->ops->now(c->ctx) < until)
		c->ops->run(c->ctx, until);
	if (!event)
		return rn_scene_fail(c, l, "no event was raised");
	qpn = l->of_srq			   ? c->names.srqn[l->subject]
	      : l->name == RN_EVENT_CQ_ERR ? 0
					   : c->names.qpn[l->subject];
	if (event->event != l->name || event->qpn != qpn) {
		rn_scene_say(c->r->came, sizeof(c->r->came),
			     rn_scn_word_of(rn_scn_events, event->event));
		return rn_scene_fail(c, l, "another event");
	}
	if (!rn_scene_in_time(c, l, event->at))
		return false;
	c->ops->drop_event(c->ctx);
	return true;
}

/* ------------------------------------------------------------ looking at things */
static bool check_qp(struct rn_scene *c, const struct rn_scn_line *l)
{
	struct rn_qp_attr attr;

	c->ops->query(c->ctx, l->subject, &attr);
	if (attr.state != rn_scn_get(l, RN_F_STATE, attr.state)) {
		rn_scene_say(c->r->came, sizeof(c->r->came),
			     rn_scn_word_of(rn_scn_states, attr.state));
		return rn_scene_fail(c, l, "another state");
	}
	if (attr.mig_state != rn_scn_get(l, RN_F_MIG, attr.mig_state))
		return rn_scene_fail_number(c, l, "the state of path migration is ",
					    attr.mig_state);
	if (attr.rq_psn != rn_scn_get(l, RN_F_EPSN, attr.rq_psn))
		return rn_scene_fail_number(c, l, "the PSN expected is ", attr.rq_psn);
	if (attr.sq_psn != rn_scn_get(l, RN_F_PSN, attr.sq_psn))
		return rn_scene_fail_number(c, l, "the next PSN is ", attr.sq_psn);
	return true;
}

static bool expect_comp(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = rn_scene_patience(c, rn_scene_time_of(c, l, &l->to));

	while (!c->ops->comp(c->ctx, l->subject)) {
		if (c->ops->now(c->ctx) >= until)
			return rn_scene_fail(c, l, "no completion event came");
		c->ops->run(c->ctx, until);
	}
	return rn_scene_in_time(c, l, c->ops->now(c->ctx));
}

static bool check_memory(struct rn_scene *c, const struct rn_scn_line *l)
{
	uint32_t len = (uint32_t)rn_scn_get(l, RN_F_LEN, sizeof(uint64_t));
	uint8_t buf[256];

	for (uint32_t done = 0, part; done < len; done += part) {
		part = len - done < sizeof(buf) ? len - done : (uint32_t)sizeof(buf);
		if (!c->ops->memory(c->ctx, l->region[RN_F_AT], l->value[RN_F_AT] + done,
				    buf, part))
			return rn_scene_fail(c, l, "that is not in the region");
		for (uint32_t i = 0; i < part; i++)
			if (buf[i] != rn_scene_content(l, done + i))
				return rn_scene_fail_number(
					c, l, "it is not so from byte ", done + i);
	}
	return true;
}

static bool check_counter(struct rn_scene *c, const struct rn_scn_line *l)
{
	uint64_t value;

	if (!c->ops->counter(c->ctx, (enum rn_stat)l->name, &value) ||
	    value == rn_scn_get(l, RN_F_BY, 1))
		return true;
	return rn_scene_fail_number(c, l, "the counter is ", value);
}

/* ------------------------------------------------------------------- the lines */
static bool call(struct rn_scene *c, const struct rn_scn_line *l)
{
	int rc = c->ops->call(c->ctx, l);

	if (-rc == (int)rn_scn_get(l, RN_F_ERROR, 0))
		return true;
	return rc ? rn_scene_fail_number(c, l, "the call failed with errno ",
					 (uint64_t)-rc)
		  : rn_scene_fail(c, l, "the call succeeded");
}

/* What a line says of the device now; in real time, soon. */
static bool look(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = rn_scene_patience(c, c->at);
	struct rn_scene_result before = *c->r;
	bool good;

	do {
		*c->r = before;
		good = l->verb == RN_SCN_CHECK	  ? check_memory(c, l)
		       : l->verb == RN_SCN_COUNT  ? check_counter(c, l)
		       : l->verb >= RN_SCN_MAD_IN ? rn_scene_check_cm(c, l)
						  : check_qp(c, l);
		if (!good && c->ops->slack)
			c->ops->run(c->ctx, c->ops->now(c->ctx) + RN_MSEC(LOOK_MS));
	} while (!good && c->ops->now(c->ctx) < until);
	return good;
}

static bool is_look(enum rn_scn_verb verb)
{
	return (verb >= RN_SCN_STATE && verb <= RN_SCN_COUNT) ||
	       (verb >= RN_SCN_CM_STATE && verb <= RN_SCN_CM_COUNT);
}

static bool do_line(struct rn_scene *c, const struct rn_scn_line *l)
{
	struct rn_scene_packet packet;

	if (l->verb == RN_SCN_PACKET || l->verb == RN_SCN_MAD_OUT)
		return expect_packet(c, l);
	if (l->verb == RN_SCN_WC)
		return expect_wc(c, l);
	if (l->verb == RN_SCN_EVENT)
		return expect_event(c, l);
	if (l->verb == RN_SCN_COMP)
		return expect_comp(c, l);
	if (l->verb == RN_SCN_CM_EVENT)
		return rn_scene_expect_cm_event(c, l);
	if (is_look(l->verb))
		c->at = rn_scene_time_of(c, l, &l->from);
	else if (!pass_time(c, l, rn_scene_time_of(c, l, &l->from)))
		return false;
	if (rn_scn_is_call(l->verb))
		return call(c, l);
	if (is_look(l->verb))
		return look(c, l);
	switch ((int)l->verb) {
	case RN_SCN_INJECT:
		rn_scene_encode(&c->names, l, &packet);
		c->ops->inject(c->ctx, &packet);
		return true;
	case RN_SCN_MAD_IN:
		rn_scene_mad_encode(&c->names, &c->s->conn[l->subject],
				    &c->conn[l->subject], l, &packet);
		c->ops->inject(c->ctx, &packet);
		return true;
	case RN_SCN_END:
		return !rn_scn_has(l, RN_F_FOR_GOOD) ||
		       pass_time(c, l, c->at + (rn_ns)FOR_GOOD_S * 1000000000);
	default:
		return true;
	}
}

void rn_scene_run(const struct rn_scenario *s, const struct rn_scene_ops *ops, void *ctx,
		  struct rn_scene_result *result)
{
	struct rn_scene c = { .s = s, .ops = ops, .ctx = ctx, .r = result };

	memset(result, 0, sizeof(*result));
	if (ops->skips && ops->skips(ctx, s, result->what, sizeof(result->what))) {
		result->skipped = true;
		return;
	}
	if (ops->begin(ctx, s, &c.names, result->what, sizeof(result->what))) {
		result->line = 1;
		return;
	}
	c.at = ops->now(ctx);
	result->passed = true;
	for (unsigned i = 0; i < s->lines && result->passed; i++)
		result->passed = do_line(&c, &s->line[i]);
	ops->end(ctx);
}
