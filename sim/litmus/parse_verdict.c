/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse_verdict.c - [knobs] allowed (condition). */
#include <string.h>

#include "parse_internal.h"
#include "sim/pcie/model/text.h"

static const struct {
	const char *word;
	enum rn_litmus_expect expect;
} words[] = {
	{ "allowed", RN_LITMUS_ALLOWED },     { "exists", RN_LITMUS_ALLOWED },
	{ "forbidden", RN_LITMUS_FORBIDDEN }, { "~exists", RN_LITMUS_FORBIDDEN },
	{ "forall", RN_LITMUS_ALWAYS },
};

bool rn_litmus_at_verdict(struct rn_litmus_parser *p)
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

/* Number of what is observed, which is added if it is new. */
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

/* r0 or done, of a thread */
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

/* ( term /\ term ... ) */
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

/* Knobs as written; relaxed= is understood with them. */
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

bool rn_litmus_parse_verdicts(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	while (rn_litmus_at_verdict(p))
		if (!parse_verdict(p, t))
			return false;
	return t->verdicts > 0 || rn_lex_fail(p, "a verdict: allowed (...)");
}
