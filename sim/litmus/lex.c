/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lex.c - reads words, numbers and comments of a litmus file. */
#include <string.h>

#include "parse_internal.h"
#include "rocin/token.h"
#include "sim/pcie/model/text.h"

static bool is_space(char c)
{
	return rn_char_is_blank(c) || c == '\n';
}

static bool is_word(char c)
{
	return rn_char_is_digit(c) || rn_char_is_letter(c) || c == '_';
}

static bool begins(const char *at, const char *end, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(end - at) >= len && !memcmp(at, text, len);
}

/* Returns the address behind the comment that begins at @at, or @at if the comment has no
 * end.
 */
static const char *behind_comment(const char *at, const char *end)
{
	const char *to = at + 2;

	while (to < end && !begins(to, end, "*)"))
		to++;
	return to < end ? to + 2 : at;
}

static void skip_to(struct rn_litmus_parser *p, const char *to)
{
	for (; p->at < to; p->at++)
		p->line += *p->at == '\n';
}

static bool is_at_comment(const struct rn_litmus_parser *p)
{
	return begins(p->at, p->end, "(*");
}

/* Skips blanks and comments. Stops at the beginning of a comment that has no end, so that
 * the error is reported there.
 */
void rn_lex_blank(struct rn_litmus_parser *p)
{
	const char *from;

	do {
		from = p->at;
		if (p->at < p->end && is_space(*p->at))
			skip_to(p, p->at + 1);
		else if (is_at_comment(p))
			skip_to(p, behind_comment(p->at, p->end));
	} while (p->at > from);
}

static void set_place(struct rn_litmus_parser *p, const char *at, uint32_t number)
{
	const char *line = at;

	while (line > p->text && line[-1] != '\n')
		line--;
	p->error_line = number;
	p->error_column = (uint32_t)(at - line) + 1;
}

static void begin_word(struct rn_litmus_parser *p)
{
	rn_lex_blank(p);
	p->word = p->at;
	p->word_line = p->line;
}

bool rn_lex_fail(struct rn_litmus_parser *p, const char *expected)
{
	struct rn_text t;

	rn_lex_blank(p);
	set_place(p, p->at, p->line);
	rn_text_init(&t, p->error, sizeof(p->error));
	rn_text_add(&t, "expected ");
	rn_text_add(&t, is_at_comment(p) ? "the end of this comment, *)" : expected);
	return false;
}

bool rn_lex_refuse(struct rn_litmus_parser *p, const char *expected)
{
	rn_lex_fail(p, expected);
	set_place(p, p->word, p->word_line);
	return false;
}

bool rn_lex_fail_name(struct rn_litmus_parser *p, const char *name, const char *sentence)
{
	struct rn_text t;

	set_place(p, p->word, p->word_line);
	rn_text_init(&t, p->error, sizeof(p->error));
	rn_text_add(&t, name);
	rn_text_add(&t, ": ");
	rn_text_add(&t, sentence);
	return false;
}

char rn_lex_peek(struct rn_litmus_parser *p)
{
	rn_lex_blank(p);
	if (p->at == p->end)
		return '\0';
	return *p->at;
}

bool rn_lex_try_text(struct rn_litmus_parser *p, const char *text)
{
	rn_lex_blank(p);
	if (!begins(p->at, p->end, text))
		return false;
	p->at += strlen(text);
	return true;
}

bool rn_lex_try_char(struct rn_litmus_parser *p, char c)
{
	const char text[2] = { c, '\0' };

	return rn_lex_try_text(p, text);
}

bool rn_lex_try_word(struct rn_litmus_parser *p, const char *word)
{
	size_t len = strlen(word);

	rn_lex_blank(p);
	if (!begins(p->at, p->end, word))
		return false;
	if (p->at + len < p->end && is_word(p->at[len]))
		return false;
	p->at += len;
	return true;
}

bool rn_lex_char(struct rn_litmus_parser *p, char c)
{
	const char text[4] = { '\'', c, '\'', '\0' };

	return rn_lex_try_char(p, c) || rn_lex_fail(p, text);
}

bool rn_lex_word(struct rn_litmus_parser *p, const char *what, char *word, size_t len)
{
	size_t n = 0;

	begin_word(p);
	while (p->at + n < p->end && is_word(p->at[n]))
		n++;
	if (n == 0)
		return rn_lex_fail(p, what);
	if (!rn_lex_is_short(p, "this name", n, len))
		return false;
	memcpy(word, p->at, n);
	word[n] = '\0';
	p->at += n;
	return true;
}

/* Reads a decimal number of up to 9 digits, which is enough for litmus tests. */
bool rn_lex_number(struct rn_litmus_parser *p, int64_t *number)
{
	unsigned digits = 0;
	bool is_negative;

	begin_word(p);
	is_negative = rn_lex_try_char(p, '-');
	*number = 0;
	rn_lex_blank(p);
	for (; p->at < p->end && rn_char_is_digit(*p->at); p->at++, digits++) {
		if (digits == 9)
			return rn_lex_refuse(p, "a number of at most 9 digits");
		*number = *number * 10 + (*p->at - '0');
	}
	if (digits == 0 || (p->at < p->end && is_word(*p->at)))
		return rn_lex_fail(p, "a number");
	if (is_negative)
		*number = -*number;
	return true;
}

bool rn_lex_register(struct rn_litmus_parser *p, uint8_t *reg)
{
	int64_t number;

	rn_lex_blank(p);
	if (!begins(p->at, p->end, "r") || p->end - p->at < 2 ||
	    !rn_char_is_digit(p->at[1]))
		return rn_lex_fail(p, "a register, r0 .. r15");
	p->at++;
	if (!rn_lex_number(p, &number))
		return false;
	if (number >= RN_LITMUS_REGS)
		return rn_lex_refuse(p, "a register, r0 .. r15");
	*reg = (uint8_t)number;
	return true;
}

bool rn_lex_value(struct rn_litmus_parser *p, struct rn_litmus_value *value)
{
	*value = (struct rn_litmus_value){ .is_reg = rn_lex_peek(p) == 'r' };
	if (value->is_reg)
		return rn_lex_register(p, &value->reg);
	return rn_lex_number(p, &value->number);
}

size_t rn_lex_fold(const char *from, const char *to, char *buf, size_t len)
{
	struct rn_text t;
	bool is_between = false;

	rn_text_init(&t, buf, len);
	while (from < to) {
		if (is_space(*from)) {
			is_between = true;
			from++;
		} else if (begins(from, to, "(*") && behind_comment(from, to) > from) {
			is_between = true;
			from = behind_comment(from, to);
		} else {
			if (is_between && t.used > 0)
				rn_text_char(&t, ' ');
			is_between = false;
			rn_text_char(&t, *from++);
		}
	}
	return t.used;
}

bool rn_lex_is_short(struct rn_litmus_parser *p, const char *what, size_t used,
		     size_t len)
{
	struct rn_text t;

	if (used < len)
		return true;
	set_place(p, p->word, p->word_line);
	rn_text_init(&t, p->error, sizeof(p->error));
	rn_text_add(&t, what);
	rn_text_add(&t, " has ");
	rn_text_number(&t, used);
	rn_text_add(&t, " characters, ");
	rn_text_number(&t, len - 1);
	rn_text_add(&t, " at most: shorten it");
	return false;
}

bool rn_lex_raw(struct rn_litmus_parser *p, const struct rn_lex_text *text, char *buf,
		size_t len)
{
	const char *from = p->at, *to, *stops = text->stops;

	p->word = from;
	p->word_line = p->line;
	while (p->at < p->end && !(*p->at && strchr(stops, *p->at))) {
		to = is_at_comment(p) ? behind_comment(p->at, p->end) : p->at + 1;
		if (to == p->at)
			return rn_lex_fail(p, "");
		skip_to(p, to);
	}
	return rn_lex_is_short(p, text->what, rn_lex_fold(from, p->at, buf, len), len);
}
