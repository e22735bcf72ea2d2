/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse.c - parses a litmus file, one test after the other: header, setup in braces,
 * program, verdicts.
 */
#include <errno.h>
#include <string.h>

#include "parse_internal.h"
#include "sim/pcie/model/text.h"

/* ---- The setup in braces: locations, QPs, CQs, flags ---- */

enum {
	SIZE_MAX_BYTES = 512, /* largest size of a location in bytes */
};

static bool is_taken(const struct rn_litmus_test *t, const char *name)
{
	return rn_litmus_find_location(t, name) != RN_LITMUS_NONE ||
	       rn_litmus_find_qp(t, name) != RN_LITMUS_NONE ||
	       rn_litmus_find_cq(t, name) != RN_LITMUS_NONE ||
	       rn_litmus_find_rq(t, name) != RN_LITMUS_NONE;
}

static bool is_power_of_two(int64_t n)
{
	return n > 0 && (n & (n - 1)) == 0;
}

/* Parses size=N and align=N, in any order. */
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

/* Parses the rest of `x@B.host=0'; the name and the @ have been read. */
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

static uint8_t add_rq(struct rn_litmus_test *t, const char *name, uint8_t node,
		      uint8_t nic)
{
	struct rn_litmus_rq *rq = &t->rq[t->rqs];

	assert(t->rqs < RN_LITMUS_RQS);
	*rq = (struct rn_litmus_rq){ .node = node, .nic = nic };
	memcpy(rq->name, name, sizeof(rq->name));
	return t->rqs++;
}

/* Parses the rest of `q: A.nic0->B.nic0 uc'; the name and the colon have been read. */
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
	qp->recv_queue = add_rq(t, qp->name, qp->peer, qp->peer_nic);
	t->qps++;
	return true;
}

/* Parses the name of a QP and copies it to @name. Returns the QP. Returns NULL if there
 * is none of this name; then the error is set.
 */
static struct rn_litmus_qp *parse_qp_name(struct rn_litmus_parser *p,
					  struct rn_litmus_test *t,
					  char name[RN_LITMUS_NAME])
{
	uint8_t index;

	if (!rn_lex_word(p, "a QP", name, RN_LITMUS_NAME))
		return NULL;
	index = rn_litmus_find_qp(t, name);
	if (index != RN_LITMUS_NONE)
		return &t->qp[index];
	rn_lex_fail_name(p, name, "no such QP");
	return NULL;
}

/* Parses one member of a shared CQ: q or q.r. */
static bool parse_cq_member(struct rn_litmus_parser *p, struct rn_litmus_test *t,
			    struct rn_litmus_cq *cq, bool is_first, uint8_t number)
{
	char name[RN_LITMUS_NAME];
	struct rn_litmus_qp *qp = parse_qp_name(p, t, name);
	uint8_t node, nic;
	bool is_recv;

	if (!qp)
		return false;
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

/* Parses `cq c: q, p.r'. */
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

/* Parses one member of an SRQ: a QP. */
static bool parse_srq_member(struct rn_litmus_parser *p, struct rn_litmus_test *t,
			     uint8_t number, bool is_first)
{
	struct rn_litmus_rq *rq = &t->rq[number];
	char name[RN_LITMUS_NAME];
	struct rn_litmus_qp *qp = parse_qp_name(p, t, name);

	if (!qp)
		return false;
	if (qp->uc)
		return rn_lex_refuse(p, "an RC QP");
	if (t->rq[qp->recv_queue].is_shared)
		return rn_lex_fail_name(p, name, "has an SRQ");
	if (is_first) {
		rq->node = qp->peer;
		rq->nic = qp->peer_nic;
	}
	if (rq->node != qp->peer || rq->nic != qp->peer_nic)
		return rn_lex_fail_name(p, name, "an SRQ belongs to one NIC");
	qp->recv_queue = number;
	return true;
}

/* Parses `srq s: q, p'. */
static bool parse_srq(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	char name[RN_LITMUS_NAME] = "";
	bool is_first = true;
	uint8_t number;

	if (!rn_lex_word(p, "a name", name, sizeof(name)) || !rn_lex_char(p, ':'))
		return false;
	if (is_taken(t, name))
		return rn_lex_fail_name(p, name, "the name is taken");
	if (t->rqs + RN_LITMUS_QPS - t->qps >= RN_LITMUS_RQS)
		return rn_lex_fail(p, "at most 4 SRQs");
	number = add_rq(t, name, 0, 0);
	t->rq[number].is_shared = true;
	do {
		if (!parse_srq_member(p, t, number, is_first))
			return false;
		is_first = false;
	} while (rn_lex_try_char(p, ','));
	return true;
}

/* Parses `relaxed x, y' or `relaxed x+y'. */
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
	if (rn_lex_try_word(p, "srq"))
		return parse_srq(p, t);
	if (!rn_lex_word(p,
			 "x@A.host=0, q: A.nic0->B.nic0, cq, srq, relaxed, opt or rule",
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

/* Checks the knobs of the whole test. Called when all locations are known, because the
 * knob relaxed= names locations.
 */
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

/* Sets *@number to the index of @what in observed[], the values that the test observes.
 * Adds @what if it is not there.
 */
static bool observe(struct rn_litmus_parser *p, struct rn_litmus_test *t,
		    const struct rn_litmus_observed *what, uint8_t *number)
{
	for (uint8_t i = 0; i < t->observeds; i++)
		if (!strcmp(t->observed[i].name, what->name)) {
			*number = i;
			return true;
		}
	if (t->observeds == RN_LITMUS_OBSERVED)
		return rn_lex_fail(p, "at most 32 registers and locations");
	*number = t->observeds++;
	t->observed[*number] = *what;
	return true;
}

/* Parses what follows the name of a thread: a colon, and a register such as r0, or
 * `done'.
 */
static bool parse_of_thread(struct rn_litmus_parser *p, const struct rn_litmus_test *t,
			    struct rn_litmus_observed *what, struct rn_text *name)
{
	what->thread = rn_litmus_find_thread(t, what->name);
	if (what->thread == RN_LITMUS_NONE)
		return rn_lex_fail_name(p, what->name, "no such thread");
	if (!rn_lex_char(p, ':'))
		return false;
	if (rn_lex_try_word(p, "done")) {
		what->what = RN_LITMUS_DONE;
		rn_text_add(name, ":done");
		return true;
	}
	what->what = RN_LITMUS_REGISTER;
	rn_text_add(name, ":r");
	if (!rn_lex_register(p, &what->reg))
		return false;
	rn_text_number(name, what->reg);
	return true;
}

static bool parse_term(struct rn_litmus_parser *p, struct rn_litmus_test *t,
		       struct rn_litmus_verdict *v)
{
	struct rn_litmus_observed what = { .loc = RN_LITMUS_NONE };
	struct rn_litmus_term *term = &v->term[v->count];
	struct rn_litmus_parser before;
	char word[RN_LITMUS_NAME];
	struct rn_text name;

	if (v->count == RN_LITMUS_TERMS)
		return rn_lex_fail(p, "at most 8 terms");
	rn_lex_blank(p);
	before = *p;
	rn_text_init(&name, what.name, sizeof(what.name));
	if (!rn_lex_word(p, "a location or thread", word, sizeof(word)))
		return false;
	if (rn_lex_peek(p) == '.') {
		char thread[RN_LITMUS_NAME];

		*p = before;
		if (!rn_lex_thread_name(p, thread, sizeof(thread)))
			return false;
		rn_text_add(&name, thread);
		if (!parse_of_thread(p, t, &what, &name))
			return false;
	} else {
		what.what = RN_LITMUS_MEMORY;
		what.loc = rn_litmus_find_location(t, word);
		if (what.loc == RN_LITMUS_NONE)
			return rn_lex_fail_name(p, word, "no such location");
		rn_text_add(&name, word);
	}
	term->is_not = rn_lex_try_char(p, '!');
	v->count++;
	return rn_lex_char(p, '=') && rn_lex_number(p, &term->value) &&
	       observe(p, t, &what, &term->observed);
}

/* Parses a condition: ( term /\ term ... ). */
static bool parse_condition(struct rn_litmus_parser *p, struct rn_litmus_test *t,
			    struct rn_litmus_verdict *v)
{
	const char *from;

	if (!rn_lex_char(p, '('))
		return false;
	from = p->at;
	do {
		if (!parse_term(p, t, v))
			return false;
	} while (rn_lex_try_text(p, "/\\"));
	return rn_lex_is_short(p, "this condition",
			       rn_lex_fold(from, p->at, v->text, sizeof(v->text)),
			       sizeof(v->text)) &&
	       rn_lex_char(p, ')');
}

/* Parses the knobs in brackets before a verdict, checks them, and stores their text and
 * the locations that relaxed= names in @v.
 */
static bool parse_knobs(struct rn_litmus_parser *p, const struct rn_litmus_test *t,
			struct rn_litmus_verdict *v)
{
	static const struct rn_lex_text knobs = { "this list of knobs", "]" };
	struct rn_litmus_setup setup;
	char err[2 * RN_LITMUS_TEXT];

	if (rn_lex_try_char(p, '[') &&
	    (!rn_lex_raw(p, &knobs, v->knobs, sizeof(v->knobs)) || !rn_lex_char(p, ']')))
		return false;
	if (rn_litmus_setup(t, v->knobs, &setup, err, sizeof(err)) < 0)
		return rn_lex_fail_name(p, "knobs", err);
	v->relaxed = setup.relaxed;
	return true;
}

static const struct {
	const char *word;
	enum rn_litmus_expect expect;
} words[] = {
	{ "allowed", RN_LITMUS_ALLOWED },     { "exists", RN_LITMUS_ALLOWED },
	{ "forbidden", RN_LITMUS_FORBIDDEN }, { "~exists", RN_LITMUS_FORBIDDEN },
	{ "forall", RN_LITMUS_ALWAYS },
};

static bool parse_verdict(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	struct rn_litmus_verdict *v = &t->verdict[t->verdicts];

	if (t->verdicts == RN_LITMUS_VERDICTS)
		return rn_lex_fail(p, "at most 48 verdicts");
	rn_lex_blank(p);
	*v = (struct rn_litmus_verdict){ .line = p->line };
	if (!parse_knobs(p, t, v))
		return false;
	for (size_t i = 0; i < RN_ARRAY_SIZE(words); i++) {
		if (!rn_lex_try_word(p, words[i].word))
			continue;
		v->expect = (uint8_t)words[i].expect;
		t->verdicts++;
		return parse_condition(p, t, v);
	}
	return rn_lex_fail(p, "allowed, forbidden, exists, ~exists or forall");
}

static bool parse_setup(struct rn_litmus_parser *p, struct rn_litmus_test *t)
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

/* ---- Verdicts, such as "[knobs] allowed (condition)" ---- */

static bool is_at_verdict(struct rn_litmus_parser *p)
{
	const struct rn_litmus_parser before = *p;

	if (rn_lex_peek(p) == '[')
		return true;
	for (size_t i = 0; i < RN_ARRAY_SIZE(words); i++)
		if (rn_lex_try_word(p, words[i].word)) {
			*p = before;
			return true;
		}
	return false;
}

static bool parse_verdicts(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	while (is_at_verdict(p))
		if (!parse_verdict(p, t))
			return false;
	return t->verdicts > 0 || rn_lex_fail(p, "a verdict: allowed (...)");
}

void rn_litmus_parser_init(struct rn_litmus_parser *p, const char *text, size_t len)
{
	*p = (struct rn_litmus_parser){
		.text = text,
		.at = text,
		.word = text,
		.word_line = 1,
		.end = text + len,
		.line = 1,
	};
}

/* Parses the header: RDMA and a name up to the end of the line, then a sentence
 * in quotes.
 */
static bool parse_header(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	static const struct rn_lex_text name = { "the name of this test", "\n" };
	static const struct rn_lex_text about = { "the sentence about this test", "\"" };

	if (!rn_lex_try_word(p, "RDMA"))
		return rn_lex_fail(p, "RDMA and the name of a test");
	t->line = p->line;
	if (!rn_lex_raw(p, &name, t->name, sizeof(t->name)))
		return false;
	if (!t->name[0])
		return rn_lex_fail(p, "the name of the test");
	if (!rn_lex_try_char(p, '"'))
		return true;
	return rn_lex_raw(p, &about, t->about, sizeof(t->about)) && rn_lex_char(p, '"');
}

static bool add_thread(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	struct rn_litmus_thread *th = &t->thread[t->threads];
	struct rn_litmus_parser before;
	char agent[RN_LITMUS_NAME];

	if (t->threads == RN_LITMUS_THREADS)
		return rn_lex_fail(p, "at most 8 threads");
	rn_lex_blank(p);
	before = *p;
	if (!rn_lex_thread_name(p, th->name, sizeof(th->name)))
		return false;
	if (rn_litmus_find_thread(t, th->name) != RN_LITMUS_NONE)
		return rn_lex_fail_name(p, th->name, "the name is taken");
	*p = before;
	if (!rn_lex_place(p, t, &th->node, agent, sizeof(agent)))
		return false;
	th->agent = rn_litmus_find_agent(agent);
	if (th->agent == RN_LITMUS_NONE || rn_agent_is_nic(th->agent))
		return rn_lex_refuse(p, "a thread: A.cpu, A.gpu0, A.nvme0");
	*p = before;
	t->threads++;
	return rn_lex_thread_name(p, th->name, sizeof(th->name));
}

static bool parse_threads(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	do {
		if (!add_thread(p, t))
			return false;
	} while (rn_lex_try_char(p, '|'));
	return rn_lex_char(p, ';');
}

/* Parses one row of the program: a cell per thread, each with an instruction or empty.
 * Empty cells at the end of the row may be left out.
 */
static bool parse_row(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	for (unsigned i = 0; i < t->threads; i++) {
		char c = rn_lex_peek(p);

		if (c != '|' && c != ';' && !rn_litmus_parse_instr(p, t, i))
			return false;
		if (rn_lex_try_char(p, ';'))
			return true;
		if (i + 1 < t->threads && !rn_lex_char(p, '|'))
			return false;
	}
	return rn_lex_char(p, ';');
}

/* Checks that a SEND can get a receive: either the program posts receives (recv), or one
 * is posted before the test, and the SEND names its buffer.
 */
static bool check_send(struct rn_litmus_parser *p, const struct rn_litmus_test *t,
		       const struct rn_litmus_instr *in)
{
	const struct rn_litmus_rq *rq = &t->rq[t->qp[in->qp].recv_queue];
	bool is_named = in->dst[0] != RN_LITMUS_NONE;

	if (is_named && rq->is_rung)
		return rn_lex_fail_name(p, in->text,
					"its buffer is what a receive names (recv): _");
	return is_named || rq->is_rung ||
	       rn_lex_fail_name(p, in->text, "no thread posts a receive (recv) for it");
}

static bool check_sends(struct rn_litmus_parser *p, const struct rn_litmus_test *t)
{
	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned k = 0; k < t->thread[i].count; k++) {
			const struct rn_litmus_instr *in = &t->thread[i].instr[k];

			if (in->op == RN_LITMUS_SEND && !check_send(p, t, in))
				return false;
		}
	return true;
}

/* Returns true if the text ends here or another test begins. */
static bool is_behind_test(struct rn_litmus_parser *p)
{
	struct rn_litmus_parser ahead = *p;

	return rn_lex_peek(p) == '\0' || rn_lex_try_word(&ahead, "RDMA");
}

static bool parse_test(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	if (!parse_header(p, t) || !parse_setup(p, t) || !parse_threads(p, t))
		return false;
	while (!is_at_verdict(p)) {
		if (is_behind_test(p))
			return rn_lex_fail(p, "an instruction or a verdict, such as "
					      "allowed (x=1)");
		if (!parse_row(p, t))
			return false;
	}
	return check_sends(p, t) && parse_verdicts(p, t);
}

int rn_litmus_parse(struct rn_litmus_parser *p, struct rn_litmus_test *test)
{
	memset(test, 0, sizeof(*test));
	if (rn_lex_peek(p) == '\0' && p->at == p->end)
		return 0;
	return parse_test(p, test) ? 1 : -EINVAL;
}
