/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knobs_values.c - words, numbers, sizes and times as text. */
#include <string.h>

#include "knobs.h"

enum {
	SHOWN_MAX = 40, /* bytes of a word that a sentence quotes */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct rn_word rn_word_trim(struct rn_word w)
{
	while (w.len > 0 && is_blank(w.at[0])) {
		w.at++;
		w.len--;
	}
	while (w.len > 0 && is_blank(w.at[w.len - 1]))
		w.len--;
	return w;
}

struct rn_word rn_word_cut(struct rn_word *text, char mark)
{
	struct rn_word before = *text;
	const char *at = text->len ? memchr(text->at, mark, text->len) : NULL;

	if (!at) {
		*text = (struct rn_word){ NULL, 0 };
		return before;
	}
	before.len = (size_t)(at - text->at);
	text->at = at + 1;
	text->len -= before.len + 1;
	return before;
}

bool rn_word_is(struct rn_word w, const char *s)
{
	return w.len == strlen(s) && memcmp(w.at, s, w.len) == 0;
}

void rn_text_word(struct rn_text *t, struct rn_word w)
{
	size_t shown = w.len < SHOWN_MAX ? w.len : SHOWN_MAX;

	rn_text_char(t, '"');
	for (size_t i = 0; i < shown; i++) {
		char c = w.at[i];

		rn_text_char(t, (char)(c >= ' ' && c <= '~' ? c : '?'));
	}
	rn_text_add(t, shown < w.len ? "...\"" : "\"");
}

bool rn_value_choice(struct rn_word w, const char *choices, uint64_t *out)
{
	struct rn_word left = { choices, strlen(choices) };

	for (uint64_t n = 0; left.at; n++) {
		struct rn_word choice = rn_word_cut(&left, '|');

		if (choice.len == w.len && memcmp(choice.at, w.at, w.len) == 0) {
			*out = n;
			return true;
		}
	}
	return false;
}

struct rn_word rn_value_choice_name(const char *choices, uint64_t n)
{
	struct rn_word left = { choices, strlen(choices) }, name = { choices, 0 };

	for (uint64_t i = 0; i <= n; i++) {
		if (!left.at)
			return (struct rn_word){ choices, 0 };
		name = rn_word_cut(&left, '|');
	}
	return name;
}

static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

static bool is_digits(struct rn_word w, unsigned base, uint64_t *out)
{
	uint64_t value = 0;

	if (w.len == 0)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		unsigned digit = digit_of(w.at[i]);

		if (digit >= base || value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	*out = value;
	return true;
}

bool rn_value_number(struct rn_word w, uint64_t *out)
{
	bool hex = w.len > 2 && w.at[0] == '0' && (w.at[1] == 'x' || w.at[1] == 'X');

	if (hex)
		return is_digits((struct rn_word){ w.at + 2, w.len - 2 }, 16, out);
	return is_digits(w, 10, out);
}

static bool multiply(uint64_t value, uint64_t by, uint64_t *out)
{
	if (value > UINT64_MAX / by)
		return false;
	*out = value * by;
	return true;
}

bool rn_value_size(struct rn_word w, uint64_t *out)
{
	static const char units[] = { 'K', 'M', 'G', 'T' };
	const char *unit = w.len ? memchr(units, w.at[w.len - 1], sizeof(units)) : NULL;
	uint64_t value;

	if (!unit)
		return rn_value_number(w, out);
	w.len--;
	return is_digits(w, 10, &value) &&
	       multiply(value, UINT64_C(1) << 10 * (unit - units + 1), out);
}

/* The largest first. */
static const struct {
	const char *name;
	uint64_t ns;
} time_units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };

bool rn_value_time(struct rn_word w, uint64_t *out)
{
	size_t digits = 0;
	uint64_t value;

	while (digits < w.len && digit_of(w.at[digits]) < 10)
		digits++;
	if (!is_digits((struct rn_word){ w.at, digits }, 10, &value))
		return false;
	w.at += digits;
	w.len -= digits;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(time_units); i++)
		if (rn_word_is(w, time_units[i].name))
			return multiply(value, time_units[i].ns, out);
	return false;
}

void rn_text_time(struct rn_text *t, uint64_t ns)
{
	unsigned i = 0;

	while (ns % time_units[i].ns != 0)
		i++;
	rn_text_number(t, ns / time_units[i].ns);
	rn_text_add(t, time_units[i].name);
}
