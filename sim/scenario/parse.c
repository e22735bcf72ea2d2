/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse.c - the lines of a scenario: rules, declarations, what happens when. */
#include <errno.h>
#include <string.h>

#include "parse_internal.h"

/* -------------------------------------------------------------- the first line */
/* "# B5, B6: A gap is answered once." */
static bool parse_rules(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_scenario *s = p->s;
	struct rn_word word = rn_tokens_next(w);
	size_t len;

	if (!rn_word_is(word, "#"))
		return rn_tokens_fail(
			w, word, "the first line is \"# RULE[, RULE]: sentence\"", "");
	do {
		word = rn_tokens_next(w);
		if (word.len < 2 || word.len > RN_SCN_NAME || s->rules == RN_SCN_RULES)
			return rn_tokens_fail(w, word, "a rule, as B5, and a colon", "");
		memcpy(s->rule[s->rules++], word.at, word.len - 1);
	} while (word.at[word.len - 1] == ',');
	if (word.at[word.len - 1] != ':')
		return rn_tokens_fail(w, word, "a colon ends the list of rules", "");
	word = rn_tokens_peek(w);
	len = (size_t)(w->end - word.at);
	if (!len)
		return rn_tokens_fail(w, word, "a sentence says the rule", "");
	memcpy(s->title, word.at, len < sizeof(s->title) ? len : sizeof(s->title) - 1);
	return true;
}

/* ---------------------------------------------------------------- declarations */
static struct rn_scn_object *find(struct rn_scn_object *o, unsigned count,
				  struct rn_word name)
{
	for (unsigned i = 0; i < count; i++)
		if (rn_word_is(name, o[i].name))
			return &o[i];
	return NULL;
}

static struct rn_scn_object *declare(struct rn_tokens *w, struct rn_scn_object *o,
				     unsigned *count, unsigned max)
{
	struct rn_word name = rn_tokens_next(w);
	struct rn_scn_object *found = find(o, *count, name);

	if (found)
		return found;
	if (name.len == 0 || name.len >= RN_SCN_NAME || *count == max) {
		rn_tokens_fail(w, name, "a name of at most 23 letters, or too many", "");
		return NULL;
	}
	for (size_t i = 0; i < name.len; i++)
		o[*count].name[i] = name.at[i];
	return &o[(*count)++];
}

static bool parse_mr(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_scenario *s = p->s;
	struct rn_scn_object *o = declare(w, s->mr, &s->mrs, RN_SCN_MRS);

	if (!o)
		return false;
	o->line.number = w->number;
	o->line.verb = RN_SCN_MR;
	return rn_scn_parse_fields(p, w, &o->line);
}

static bool parse_mw(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_scn_object *o = declare(w, p->s->mr, &p->s->mrs, RN_SCN_MRS);

	if (!o)
		return false;
	o->line.number = w->number;
	o->line.verb = RN_SCN_MW;
	return rn_scn_parse_fields(p, w, &o->line);
}

static bool parse_srq(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_scn_object *o = declare(w, p->s->srq, &p->s->srqs, RN_SCN_SRQS);

	if (!o)
		return false;
	o->line.number = w->number;
	o->line.verb = RN_SCN_SRQ;
	return rn_scn_parse_fields(p, w, &o->line);
}

static bool parse_conn(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_scn_object *o = declare(w, p->s->conn, &p->s->conns, RN_SCN_CONNS);

	if (!o)
		return false;
	o->line.number = w->number;
	o->line.verb = RN_SCN_CONN;
	return rn_scn_parse_fields(p, w, &o->line);
}

static bool parse_device(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_word word = rn_tokens_next(w);
	const struct {
		const char *word;
		bool *is_said;
	} words[] = {
		{ "ipv6", &p->s->ipv6 },
		{ "credits", &p->s->credits },
		{ "exact", &p->s->exact },
		{ "cc", &p->s->cc },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(words); i++)
		if (rn_word_is(word, words[i].word)) {
			*words[i].is_said = true;
			return true;
		}
	return rn_tokens_fail(w, word, "expected ipv6, credits, exact or cc", "");
}

static bool parse_qp(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_scenario *s = p->s;
	struct rn_scn_object *o = declare(w, s->qp, &s->qps, RN_SCN_QPS);
	struct rn_word word;
	uint64_t type;

	if (!o)
		return false;
	word = rn_tokens_peek(w);
	if (rn_scn_find(rn_scn_qp_types, word.at, word.len, &type)) {
		rn_tokens_next(w);
		o->type = (enum rn_qp_type)type;
	} else if (!o->type) {
		return rn_tokens_fail(
			w, word, "expected a type: rc, uc, ud, xrc_send or xrc_recv", "");
	}
	o->line.number = w->number;
	o->line.verb = RN_SCN_QP;
	return rn_scn_parse_fields(p, w, &o->line);
}

/* ---------------------------------------------------------------- timed lines */
/* "+0", "+5us", "+1T..4T" */
static bool parse_time(struct rn_tokens *w, struct rn_scn_line *l)
{
	struct rn_word word = rn_tokens_next(w);
	struct rn_word first = { word.at + 1, word.len - 1 }, last;

	for (size_t i = 0; i + 1 < first.len; i++) {
		if (first.at[i] != '.' || first.at[i + 1] != '.')
			continue;
		last = (struct rn_word){ first.at + i + 2, first.len - i - 2 };
		first.len = i;
		if (rn_token_time(first, &l->from) && rn_token_time(last, &l->to))
			return true;
		return rn_tokens_fail(w, word, "expected a time, as +5us or +1T..4T", "");
	}
	if (!rn_token_time(first, &l->from))
		return rn_tokens_fail(w, word, "expected a time, as +5us or +1T..4T", "");
	l->to = l->from;
	return true;
}

static bool parse_object(struct rn_tokens *w, const struct rn_scn_object *o,
			 unsigned count, uint8_t *index, const char *what)
{
	struct rn_word name = rn_tokens_next(w);

	for (unsigned i = 0; i < count; i++) {
		if (!rn_word_is(name, o[i].name))
			continue;
		*index = (uint8_t)i;
		return true;
	}
	return rn_tokens_fail(w, name, "expected the name of ", what);
}

static bool parse_opcode(struct rn_tokens *w, struct rn_scn_line *l)
{
	struct rn_word word = rn_tokens_next(w);

	for (unsigned i = 0; i < 256; i++) {
		if (!rn_opcode_info[i].name || !rn_word_is(word, rn_opcode_info[i].name))
			continue;
		l->opcode = (uint8_t)i;
		return true;
	}
	return rn_tokens_fail(w, word, "expected an opcode, as RC_SEND_ONLY", "");
}

static bool parse_named(struct rn_tokens *w, struct rn_scn_line *l,
			const struct rn_scn_word *table, const char *what)
{
	struct rn_word word = rn_tokens_next(w);
	uint64_t value;

	if (!rn_scn_find(table, word.at, word.len, &value))
		return rn_tokens_fail(w, word, "expected the name of ", what);
	l->name = (uint16_t)value;
	return true;
}

/* A queue pair, or, where @l may be about one, an SRQ. */
static bool parse_queue(struct rn_scn_parser *p, struct rn_tokens *w,
			struct rn_scn_line *l)
{
	struct rn_word name = rn_tokens_peek(w);
	struct rn_scenario *s = p->s;

	l->of_srq = l->verb == RN_SCN_LIMIT;
	if (l->verb == RN_SCN_RECV || l->verb == RN_SCN_EVENT)
		l->of_srq = find(s->srq, s->srqs, name) && !find(s->qp, s->qps, name);
	return l->of_srq ? parse_object(w, s->srq, s->srqs, &l->subject, "an SRQ")
			 : parse_object(w, s->qp, s->qps, &l->subject, "a queue pair");
}

/* The verb of a line that speaks of a connection instead; the same if there is none. */
static enum rn_scn_verb about_connection(enum rn_scn_verb verb)
{
	static const enum rn_scn_verb pairs[][2] = {
		{ RN_SCN_INJECT, RN_SCN_MAD_IN },  { RN_SCN_PACKET, RN_SCN_MAD_OUT },
		{ RN_SCN_EVENT, RN_SCN_CM_EVENT }, { RN_SCN_STATE, RN_SCN_CM_STATE },
		{ RN_SCN_QUERY, RN_SCN_CM_QUERY },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(pairs); i++)
		if (pairs[i][0] == verb)
			return pairs[i][1];
	return verb;
}

static bool parse_connection(struct rn_scn_parser *p, struct rn_tokens *w,
			     struct rn_scn_line *l)
{
	const struct rn_scenario *s = p->s;

	l->verb = about_connection(l->verb);
	if (!parse_object(w, s->conn, s->conns, &l->subject, "a connection"))
		return false;
	if (l->verb == RN_SCN_CM_EVENT)
		return parse_named(w, l, rn_scn_cm_events, "an event of a connection");
	if (l->verb == RN_SCN_CM_STATE)
		return parse_named(w, l, rn_scn_cm_states, "a state of a connection");
	if (l->verb != RN_SCN_MAD_IN && l->verb != RN_SCN_MAD_OUT)
		return true;
	if (!parse_named(w, l, rn_scn_mads, "a message, as REQ"))
		return false;
	l->opcode = (uint8_t)l->name;
	return true;
}

static bool parse_counter(struct rn_tokens *w, struct rn_scn_line *l)
{
	struct rn_word word = rn_tokens_peek(w);
	uint64_t value;

	if (!rn_scn_find(rn_scn_cm_counters, word.at, word.len, &value))
		return parse_named(w, l, rn_scn_counters, "a counter");
	l->verb = RN_SCN_CM_COUNT;
	return parse_named(w, l, rn_scn_cm_counters, "a counter");
}

static bool parse_subject(struct rn_scn_parser *p, struct rn_tokens *w,
			  struct rn_scn_line *l)
{
	const struct rn_scenario *s = p->s;
	struct rn_word name = rn_tokens_peek(w);

	if (rn_scn_is_cm_call(l->verb) ||
	    (about_connection(l->verb) != l->verb && find(p->s->conn, s->conns, name) &&
	     !find(p->s->qp, s->qps, name)))
		return parse_connection(p, w, l);
	switch ((int)l->verb) {
	case RN_SCN_QUIET:
	case RN_SCN_END:
	case RN_SCN_HOLD:
	case RN_SCN_GO:
		return true;
	case RN_SCN_DEREG:
	case RN_SCN_UNMAP:
		return parse_object(w, s->mr, s->mrs, &l->subject, "a region");
	case RN_SCN_CHECK:
		return rn_scn_parse_field(p, w, l, RN_F_AT);
	case RN_SCN_COUNT:
		return parse_counter(w, l);
	case RN_SCN_ARM:
	case RN_SCN_COMP:
		if (!parse_named(w, l, rn_scn_queues, "a queue: send or recv"))
			return false;
		l->subject = (uint8_t)l->name;
		return true;
	default:
		break;
	}
	if (!parse_queue(p, w, l))
		return false;
	if (l->verb == RN_SCN_INJECT || l->verb == RN_SCN_PACKET)
		return parse_opcode(w, l);
	if (l->verb == RN_SCN_EVENT)
		return parse_named(w, l, rn_scn_events, "an event");
	return true;
}

static bool parse_verb(struct rn_tokens *w, struct rn_scn_line *l)
{
	struct rn_word word = rn_tokens_next(w);

	if (rn_word_is(word, ">?")) {
		l->verb = RN_SCN_PACKET;
		l->given |= RN_F_BIT(RN_F_OPTIONAL);
		return true;
	}
	for (unsigned i = RN_SCN_POST; i < RN_SCN_VERBS; i++) {
		if (!rn_word_is(word, rn_scn_verb_name[i]))
			continue;
		l->verb = (enum rn_scn_verb)i;
		return true;
	}
	return rn_tokens_fail(w, word, "expected what happens, one of rocin-scenario(5)",
			      "");
}

static bool is_expectation(enum rn_scn_verb verb)
{
	return verb == RN_SCN_PACKET || verb == RN_SCN_WC || verb == RN_SCN_EVENT ||
	       verb == RN_SCN_COMP || verb == RN_SCN_MAD_OUT || verb == RN_SCN_CM_EVENT;
}

static bool parse_line(struct rn_scn_parser *p, struct rn_tokens *w, bool timed)
{
	struct rn_scn_line *l = &p->s->line[p->s->lines];
	struct rn_word start = rn_tokens_peek(w);

	if (p->s->lines == RN_SCN_LINES)
		return rn_tokens_fail(w, start, "too many lines; 200 are enough", "");
	*l = (struct rn_scn_line){ .number = w->number };
	if (p->ended)
		return rn_tokens_fail(w, start, "nothing comes after end", "");
	if ((timed && !parse_time(w, l)) || !parse_verb(w, l) ||
	    !parse_subject(p, w, l) || !rn_scn_parse_fields(p, w, l))
		return false;
	if ((l->from.ns != l->to.ns || l->from.timeouts != l->to.timeouts) &&
	    !is_expectation(l->verb))
		return rn_tokens_fail(w, start, "only what is expected may have a range",
				      "");
	p->ended = l->verb == RN_SCN_END;
	p->s->lines++;
	return true;
}

/* ------------------------------------------------------------------- the file */
typedef bool parse_fn(struct rn_scn_parser *p, struct rn_tokens *w);

/* Every line of @text, without its comment. @number: of a line of the file, for all of
 * them; 0: these are the lines of the file.
 */
static bool parse_lines(struct rn_scn_parser *p, const char *text, size_t len,
			uint32_t number, parse_fn *parse)
{
	const char *end = text + len;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *comment;
		struct rn_tokens w = {
			.begin = text,
			.at = text,
			.end = newline ? newline : end,
			.number = number ? number : ++p->number,
			.err = p->err,
		};

		text = newline ? newline + 1 : end;
		if (!number && p->number == 1) {
			if (!parse_rules(p, &w))
				return false;
			continue;
		}
		comment = memchr(w.begin, '#', (size_t)(w.end - w.begin));
		if (comment)
			w.end = comment;
		if (rn_tokens_peek(&w).len && !parse(p, &w))
			return false;
	}
	return true;
}

static bool parse_declaration(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_word word = rn_tokens_peek(w);

	if (rn_word_is(word, "recv") || rn_word_is(word, "end"))
		return parse_line(p, w, false);
	rn_tokens_next(w);
	if (rn_word_is(word, "mr"))
		return parse_mr(p, w);
	if (rn_word_is(word, "qp"))
		return parse_qp(p, w);
	if (rn_word_is(word, "mw"))
		return parse_mw(p, w);
	if (rn_word_is(word, "srq"))
		return parse_srq(p, w);
	if (rn_word_is(word, "conn"))
		return parse_conn(p, w);
	if (rn_word_is(word, "device"))
		return parse_device(p, w);
	return rn_tokens_fail(w, word,
			      "expected setup, device, mr, mw, srq, qp, conn, recv, end "
			      "or a time as +0",
			      "");
}

static bool parse_of_setup(struct rn_scn_parser *p, struct rn_tokens *w)
{
	return rn_tokens_peek(w).at[0] == '+' ? parse_line(p, w, true)
					      : parse_declaration(p, w);
}

static bool parse_setup(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_word word = rn_tokens_next(w);
	const char *text = rn_scn_setup(word.at, word.len);

	if (!text)
		return rn_tokens_fail(w, word, "there is no such setup; they are: ",
				      rn_scn_setup_names);
	if (rn_tokens_peek(w).len)
		return rn_tokens_fail(w, rn_tokens_peek(w),
				      "expected the end of the line", "");
	return parse_lines(p, text, strlen(text), w->number, parse_of_setup);
}

static bool parse_statement(struct rn_scn_parser *p, struct rn_tokens *w)
{
	struct rn_word word = rn_tokens_peek(w);

	if (!rn_word_is(word, "setup"))
		return parse_of_setup(p, w);
	rn_tokens_next(w);
	return parse_setup(p, w);
}

int rn_scenario_parse(struct rn_scenario *s, const char *text, size_t len,
		      struct rn_scn_error *err)
{
	struct rn_scn_parser p = { .s = s, .err = err };
	struct rn_tokens nowhere = { .begin = text, .at = text, .end = text, .err = err };

	memset(s, 0, sizeof(*s));
	memset(err, 0, sizeof(*err));
	if (!parse_lines(&p, text, len, 0, parse_statement))
		return -EPROTO;
	nowhere.number = p.number + 1;
	if (!p.ended) {
		rn_tokens_fail(&nowhere, (struct rn_word){ text, 0 },
			       "the last line is \"end\" or \"end quiet\"", "");
		return -EPROTO;
	}
	return 0;
}
