/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse_setup.c - what stands in braces: locations, QPs, CQs, flags. */
#include <string.h>

#include "parse_internal.h"
#include "sim/pcie/model/text.h"

enum {
	SIZE_MAX_BYTES = 512, /* of a location */
};

static bool is_taken(const struct rn_litmus_test *t, const char *name)
{
	return rn_litmus_find_location(t, name) != RN_LITMUS_NONE ||
	       rn_litmus_find_qp(t, name) != RN_LITMUS_NONE ||
	       rn_litmus_find_cq(t, name) != RN_LITMUS_NONE;
}

static bool is_power_of_two(int64_t n)
{
	return n > 0 && (n & (n - 1)) == 0;
}

/* size=N align=N, in any order */
static bool parse_extent(struct rn_litmus_parser *p, struct rn_litmus_location *loc)
{
	int64_t number;

	for (;;) {
		bool is_size = rn_lex_try_word(p, "size");

		if (!is_size && !rn_lex_try_word(p, "align"))
			return true;
		if (!rn_lex_char(p, '=') || !rn_lex_number(p, &number))
			return false;
		if (number < 8 || number > SIZE_MAX_BYTES || number % 8 != 0)
			return rn_lex_refuse(p, "a multiple of 8 from 8 to 512");
		if (!is_size && !is_power_of_two(number))
			return rn_lex_refuse(p, "a power of two from 8 to 512");
		*(is_size ? &loc->size : &loc->align) = (uint32_t)number;
	}
}

/* x@B.host=0; the name and the @ are taken already */
static bool parse_location(struct rn_litmus_parser *p, struct rn_litmus_test *t,
			   const char *name)
{
	struct rn_litmus_location *loc = &t->location[t->locations];
	char agent[RN_LITMUS_NAME];

	if (t->locations == RN_LITMUS_LOCATIONS)
		return rn_lex_fail(p, "at most 16 locations");
	*loc = (struct rn_litmus_location){ .size = 8, .align = 64 };
	memcpy(loc->name, name, sizeof(loc->name));
	if (!rn_lex_place(p, t, &loc->node, agent, sizeof(agent)))
		return false;
	loc->agent = rn_litmus_find_agent(agent);
	if (loc->agent >= RN_AGENT_NVME)
		return rn_lex_refuse(p, "the memory of a host, GPU or NIC");
	t->locations++;
	return rn_lex_char(p, '=') && rn_lex_number(p, &loc->init) &&
	       parse_extent(p, loc);
}

static bool parse_nic(struct rn_litmus_parser *p, struct rn_litmus_test *t, uint8_t *node,
		      uint8_t *nic)
{
	char agent[RN_LITMUS_NAME];

	if (!rn_lex_place(p, t, node, agent, sizeof(agent)))
		return false;
	*nic = rn_litmus_find_agent(agent);
	return rn_agent_is_nic(*nic) || rn_lex_refuse(p, "a NIC, nic0 .. nic7");
}

static uint8_t add_cq(struct rn_litmus_test *t, const char *name, const char *suffix,
		      uint8_t node, uint8_t nic)
{
	struct rn_litmus_cq *cq = &t->cq[t->cqs];
	struct rn_text text;

	assert(t->cqs < RN_LITMUS_CQS);
	rn_text_init(&text, cq->name, sizeof(cq->name));
	rn_text_add(&text, name);
	rn_text_add(&text, suffix);
	cq->node = node;
	cq->nic = nic;
	return t->cqs++;
}

/* q: A.nic0->B.nic0 uc; the name and the colon are taken already */
static bool parse_qp(struct rn_litmus_parser *p, struct rn_litmus_test *t,
		     const char *name)
{
	struct rn_litmus_qp *qp = &t->qp[t->qps];

	if (t->qps == RN_LITMUS_QPS)
		return rn_lex_fail(p, "at most 8 QPs");
	if (strlen(name) + strlen(".r") >= RN_LITMUS_NAME)
		return rn_lex_fail(p, "a shorter name");
	*qp = (struct rn_litmus_qp){ 0 };
	memcpy(qp->name, name, sizeof(qp->name));
	if (!parse_nic(p, t, &qp->node, &qp->nic))
		return false;
	if (!rn_lex_try_text(p, "->"))
		return rn_lex_fail(p, "'->'");
	if (!parse_nic(p, t, &qp->peer, &qp->peer_nic))
		return false;
	qp->uc = rn_lex_try_word(p, "uc") || rn_lex_try_word(p, "UC");
	if (!qp->uc && !rn_lex_try_word(p, "rc"))
		(void)rn_lex_try_word(p, "RC");
	qp->send_cq = add_cq(t, name, "", qp->node, qp->nic);
	qp->recv_cq = add_cq(t, name, ".r", qp->peer, qp->peer_nic);
	t->qps++;
	return true;
}

/* One q or q.r of a shared CQ. */
static bool parse_cq_member(struct rn_litmus_parser *p, struct rn_litmus_test *t,
			    struct rn_litmus_cq *cq, bool is_first, uint8_t number)
{
	char name[RN_LITMUS_NAME];
	uint8_t index, node, nic;
	struct rn_litmus_qp *qp;
	bool is_recv;

	if (!rn_lex_word(p, "a QP", name, sizeof(name)))
		return false;
	index = rn_litmus_find_qp(t, name);
	if (index == RN_LITMUS_NONE)
		return rn_lex_fail_name(p, name, "no such QP");
	qp = &t->qp[index];
	is_recv = rn_lex_try_text(p, ".r");
	node = is_recv ? qp->peer : qp->node;
	nic = is_recv ? qp->peer_nic : qp->nic;
	if (is_first) {
		cq->node = node;
		cq->nic = nic;
	}
	if (cq->node != node || cq->nic != nic)
		return rn_lex_fail_name(p, name, "a CQ belongs to one NIC");
	*(is_recv ? &qp->recv_cq : &qp->send_cq) = number;
	return true;
}

/* cq c: q, p.r */
static bool parse_cq(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	char name[RN_LITMUS_NAME];
	bool is_first = true;
	uint8_t number;

	if (!rn_lex_word(p, "a name", name, sizeof(name)) || !rn_lex_char(p, ':'))
		return false;
	if (is_taken(t, name))
		return rn_lex_fail_name(p, name, "the name is taken");
	if (t->cqs + 2 * (RN_LITMUS_QPS - t->qps) >= RN_LITMUS_CQS)
		return rn_lex_fail(p, "at most 4 shared CQs");
	number = add_cq(t, name, "", 0, 0);
	do {
		if (!parse_cq_member(p, t, &t->cq[number], is_first, number))
			return false;
		is_first = false;
	} while (rn_lex_try_char(p, ','));
	return true;
}

/* relaxed x, y or relaxed x+y */
static bool parse_relaxed(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	uint8_t loc;

	do {
		if (!rn_lex_location(p, t, &loc))
			return false;
		t->location[loc].relaxed = true;
	} while (rn_lex_try_char(p, ',') || rn_lex_try_char(p, '+'));
	return true;
}

static bool parse_item(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	static const struct rn_lex_text opt = { "this opt", ";}" };
	static const struct rn_lex_text rule = { "this rule", ";}" };
	char name[RN_LITMUS_NAME] = "";

	if (rn_lex_try_word(p, "relaxed"))
		return parse_relaxed(p, t);
	if (rn_lex_try_word(p, "opt"))
		return rn_lex_raw(p, &opt, t->opt, sizeof(t->opt));
	if (rn_lex_try_word(p, "rule"))
		return rn_lex_raw(p, &rule, t->rules, sizeof(t->rules));
	if (rn_lex_try_word(p, "cq"))
		return parse_cq(p, t);
	if (!rn_lex_word(p, "x@A.host=0, q: A.nic0->B.nic0, cq, relaxed, opt or rule",
			 name, sizeof(name)))
		return false;
	if (is_taken(t, name))
		return rn_lex_fail_name(p, name, "the name is taken");
	if (rn_lex_try_char(p, '@'))
		return parse_location(p, t, name);
	if (rn_lex_try_char(p, ':'))
		return parse_qp(p, t, name);
	return rn_lex_fail(p, "'@' of a location or ':' of a QP");
}

/* Once all locations are known, of which relaxed= names some. */
static bool check_opt(struct rn_litmus_parser *p, const struct rn_litmus_test *t,
		      const struct rn_litmus_parser *place)
{
	struct rn_litmus_setup setup;
	char err[2 * RN_LITMUS_TEXT];

	if (rn_litmus_setup(t, "", &setup, err, sizeof(err)) >= 0)
		return true;
	p->word = place->at;
	p->word_line = place->line;
	return rn_lex_fail_name(p, "knobs", err);
}

bool rn_litmus_parse_setup(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	struct rn_litmus_parser opt = *p;
	bool had_opt = false;

	if (!rn_lex_char(p, '{'))
		return false;
	while (!rn_lex_try_char(p, '}')) {
		if (!had_opt)
			opt = *p;
		if (!parse_item(p, t))
			return false;
		had_opt = t->opt[0];
		while (rn_lex_try_char(p, ',') || rn_lex_try_char(p, ';'))
			;
	}
	rn_lex_blank(&opt);
	return check_opt(p, t, &opt);
}
