/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tokens.c - the tokens of one line of a scenario. */
#include <string.h>

#include "sim/pcie/model/text.h"
#include "tokens.h"

struct rn_token rn_tokens_peek(const struct rn_tokens *w)
{
	return rn_token_first(w->at, w->end);
}

struct rn_token rn_tokens_next(struct rn_tokens *w)
{
	struct rn_token word = rn_tokens_peek(w);

	w->at = word.at + word.len;
	return word;
}

static const struct {
	const char *name;
	uint64_t ns;
} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

/* Nine digits before the point and nine behind it are enough for everybody. */
bool rn_token_time(struct rn_token word, struct rn_scn_time *time)
{
	uint64_t whole = 0, part = 0, scale = 1;
	size_t i = 0;

	*time = (struct rn_scn_time){ 0 };
	while (i < word.len && i < 9 && rn_char_is_digit(word.at[i]))
		whole = whole * 10 + (uint64_t)(word.at[i++] - '0');
	if (i == 0)
		return false;
	if (i < word.len && word.at[i] == '.')
		for (i++;
		     i < word.len && scale < 1000000000 && rn_char_is_digit(word.at[i]);
		     i++) {
			part = part * 10 + (uint64_t)(word.at[i] - '0');
			scale *= 10;
		}
	word.at += i;
	word.len -= i;
	if (word.len == 0)
		return whole == 0 && scale == 1;
	if (rn_token_is(word, "T")) {
		time->timeouts = (uint32_t)whole;
		return scale == 1;
	}
	for (i = 0; i < RN_ARRAY_SIZE(units); i++) {
		if (!rn_token_is(word, units[i].name))
			continue;
		time->ns = (rn_ns)(whole * units[i].ns + part * units[i].ns / scale);
		return true;
	}
	return false;
}

bool rn_tokens_fail(const struct rn_tokens *w, struct rn_token word, const char *sentence,
		    const char *more)
{
	struct rn_text t;

	w->err->line = w->number;
	w->err->column = (uint32_t)(word.at - w->begin) + 1;
	rn_text_init(&t, w->err->sentence, sizeof(w->err->sentence));
	if (word.len) {
		rn_text_char(&t, '"');
		for (size_t i = 0; i < word.len && i < 40; i++)
			rn_text_char(&t, word.at[i]);
		rn_text_add(&t, "\": ");
	}
	rn_text_add(&t, sentence);
	rn_text_add(&t, more);
	return false;
}
