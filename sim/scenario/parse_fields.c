/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse_fields.c - names of fields and their values. */
#include <string.h>

#include "parse_internal.h"

static uint8_t find_region(const struct rn_scenario *s, struct rn_token name)
{
	for (unsigned i = 0; i < s->mrs; i++)
		if (rn_token_is(name, s->mr[i].name))
			return (uint8_t)i;
	return RN_SCN_ABSOLUTE;
}

/* "m", "m+128", "0x1000" */
static bool parse_address(struct rn_scn_parser *p, struct rn_tokens *w,
			  struct rn_scn_line *l, enum rn_scn_field f)
{
	struct rn_token word = rn_tokens_next(w);
	const char *plus = memchr(word.at, '+', word.len);
	struct rn_token name = { word.at, plus ? (size_t)(plus - word.at) : word.len };

	l->region[f] = RN_SCN_ABSOLUTE;
	if (rn_token_number(word, &l->value[f]))
		return true;
	l->region[f] = find_region(p->s, name);
	l->value[f] = 0;
	if (l->region[f] == RN_SCN_ABSOLUTE)
		return rn_tokens_fail(w, word, "expected a region as m+128, or a number",
				      "");
	if (!plus)
		return true;
	name = (struct rn_token){ plus + 1, word.len - name.len - 1 };
	if (!rn_token_number(name, &l->value[f]))
		return rn_tokens_fail(w, word, "the offset is no number", "");
	return true;
}

/* "m", "m^1" (the key with bit 0 turned over), or a number */
static bool parse_region(struct rn_scn_parser *p, struct rn_tokens *w,
			 struct rn_scn_line *l, enum rn_scn_field f)
{
	struct rn_token word = rn_tokens_next(w);
	const char *change = memchr(word.at, '^', word.len);
	struct rn_token name = { word.at,
				 change ? (size_t)(change - word.at) : word.len };
	struct rn_token bits = { word.at + name.len + 1, word.len - name.len - 1 };

	l->region[f] = RN_SCN_ABSOLUTE;
	if (rn_token_number(word, &l->value[f]))
		return true;
	l->region[f] = find_region(p->s, name);
	l->value[f] = 0;
	if (l->region[f] == RN_SCN_ABSOLUTE ||
	    (change && !rn_token_number(bits, &l->value[f])))
		return rn_tokens_fail(w, word, "expected a region as m or m^1, or a key",
				      "");
	return true;
}

/* "s", or a number */
static bool parse_srq(struct rn_scn_parser *p, struct rn_tokens *w, struct rn_scn_line *l,
		      enum rn_scn_field f)
{
	struct rn_token word = rn_tokens_next(w);

	l->region[f] = RN_SCN_ABSOLUTE;
	if (rn_token_number(word, &l->value[f]))
		return true;
	l->value[f] = 0;
	for (unsigned i = 0; i < p->s->srqs; i++) {
		if (!rn_token_is(word, p->s->srq[i].name))
			continue;
		l->region[f] = (uint8_t)i;
		return true;
	}
	return rn_tokens_fail(w, word, "expected the name of an SRQ, or its number", "");
}

/* One of the table, or several with commas. */
static bool parse_words(struct rn_tokens *w, struct rn_scn_line *l, enum rn_scn_field f,
			bool several)
{
	const struct rn_scn_field_info *info = &rn_scn_fields[f];
	struct rn_token word = rn_tokens_next(w), rest = word;

	l->value[f] = 0;
	do {
		const char *comma = several ? memchr(rest.at, ',', rest.len) : NULL;
		size_t len = comma ? (size_t)(comma - rest.at) : rest.len;
		uint64_t value;

		if (!rn_scn_find(info->words, rest.at, len, &value))
			return rn_tokens_fail(w, word, "no value of ", info->name);
		l->value[f] |= value;
		len += comma ? 1 : 0;
		rest.at += len;
		rest.len -= len;
	} while (rest.len);
	return true;
}

/* "hello" */
static bool parse_letters(struct rn_tokens *w, struct rn_scn_line *l, enum rn_scn_field f)
{
	struct rn_token word = rn_tokens_next(w);

	if (!word.len || word.len > sizeof(l->value[f]))
		return rn_tokens_fail(w, word, "expected at most 8 letters after ",
				      rn_scn_fields[f].name);
	l->value[f] = 0;
	for (size_t i = 0; i < sizeof(l->value[f]); i++)
		l->value[f] = l->value[f] << 8 | (i < word.len ? (uint8_t)word.at[i] : 0);
	return true;
}

bool rn_scn_parse_field(struct rn_scn_parser *p, struct rn_tokens *w,
			struct rn_scn_line *l, enum rn_scn_field f)
{
	struct rn_token word;

	l->given |= RN_F_BIT(f);
	switch (rn_scn_fields[f].form) {
	case RN_SCN_NUMBER:
		word = rn_tokens_next(w);
		return rn_token_number(word, &l->value[f]) ||
		       rn_tokens_fail(w, word, "expected a number after ",
				      rn_scn_fields[f].name);
	case RN_SCN_ADDRESS:
		return parse_address(p, w, l, f);
	case RN_SCN_REGION:
		return parse_region(p, w, l, f);
	case RN_SCN_NUMBERED:
		return parse_srq(p, w, l, f);
	case RN_SCN_WORD:
	case RN_SCN_BARE:
		return parse_words(w, l, f, false);
	case RN_SCN_WORDS:
		return parse_words(w, l, f, true);
	case RN_SCN_LETTERS:
		return parse_letters(w, l, f);
	case RN_SCN_FLAG:
		l->value[f] = 1;
		return true;
	}
	return false;
}

/* Which field @word begins. A bare one is recognised by its value. */
static enum rn_scn_field find_field(struct rn_token word, enum rn_scn_verb verb,
				    bool *bare)
{
	uint64_t value;

	for (unsigned i = 0; i < RN_F_COUNT; i++) {
		const struct rn_scn_field_info *info = &rn_scn_fields[i];

		if (!(info->verbs >> verb & 1))
			continue;
		*bare = info->form == RN_SCN_BARE;
		if (*bare ? rn_scn_find(info->words, word.at, word.len, &value)
			  : rn_token_is(word, info->name))
			return (enum rn_scn_field)i;
	}
	return RN_F_COUNT;
}

bool rn_scn_parse_fields(struct rn_scn_parser *p, struct rn_tokens *w,
			 struct rn_scn_line *l)
{
	rn_scn_set seen = l->verb == RN_SCN_CHECK ? RN_F_BIT(RN_F_AT) : 0;
	struct rn_token word;

	while ((word = rn_tokens_peek(w)).len) {
		bool bare, no = l->verb == RN_SCN_PACKET && rn_token_is(word, "no");
		enum rn_scn_field f;

		if (no) {
			rn_tokens_next(w);
			word = rn_tokens_peek(w);
		}
		f = find_field(word, l->verb, &bare);
		if (f == RN_F_COUNT || (no && rn_scn_fields[f].form != RN_SCN_FLAG))
			return rn_tokens_fail(w, word, "not a field of ",
					      rn_scn_verb_name[l->verb]);
		if (seen & RN_F_BIT(f))
			return rn_tokens_fail(w, word, "given twice", "");
		seen |= RN_F_BIT(f);
		if (!bare)
			rn_tokens_next(w);
		if (!rn_scn_parse_field(p, w, l, f))
			return false;
		if (no)
			l->value[f] = 0;
	}
	return true;
}
