/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse_internal.h - words of a litmus file, and what the files of the parser share.
 *
 * Every function that returns bool has set the error when it returns false, except the
 * rn_lex_try_*(), for which false is an answer.
 */
#ifndef RN_LITMUS_PARSE_INTERNAL_H
#define RN_LITMUS_PARSE_INTERNAL_H

#include "litmus.h"

/* lex.c */
void rn_lex_blank(struct rn_litmus_parser *p);
/* What comes next is not what was @expected. */
bool rn_lex_fail(struct rn_litmus_parser *p, const char *expected);
/* What came last is not. */
bool rn_lex_refuse(struct rn_litmus_parser *p, const char *expected);
/* The same, as "NAME: sentence". */
bool rn_lex_fail_name(struct rn_litmus_parser *p, const char *name, const char *sentence);
bool rn_lex_try_char(struct rn_litmus_parser *p, char c);
bool rn_lex_try_text(struct rn_litmus_parser *p, const char *text);
/* Is the next word this one? Taken only then. */
bool rn_lex_try_word(struct rn_litmus_parser *p, const char *word);
char rn_lex_peek(struct rn_litmus_parser *p);
bool rn_lex_char(struct rn_litmus_parser *p, char c);
/* Letters, digits, '_'; @what says what it would have been. */
bool rn_lex_word(struct rn_litmus_parser *p, const char *what, char *word, size_t len);
bool rn_lex_number(struct rn_litmus_parser *p, int64_t *number);
/* A register or a number. */
bool rn_lex_value(struct rn_litmus_parser *p, struct rn_litmus_value *value);
bool rn_lex_register(struct rn_litmus_parser *p, uint8_t *reg);
/* What a text is called, and what ends it. */
struct rn_lex_text {
	const char *what, *stops;
};
/* Up to one of the stops or the end, without comments, blanks folded into one. */
bool rn_lex_raw(struct rn_litmus_parser *p, const struct rn_lex_text *text, char *buf,
		size_t len);
/* Copy [from, to) the same way. Return: its characters; @len or more did not fit. */
size_t rn_lex_fold(const char *from, const char *to, char *buf, size_t len);
/* Do the @used characters of @what, "this name", fit in @len with their NUL? */
bool rn_lex_is_short(struct rn_litmus_parser *p, const char *what, size_t used,
		     size_t len);

/* setup.c: numbers of what has a name; RN_LITMUS_NONE: there is none */
uint8_t rn_litmus_find_location(const struct rn_litmus_test *t, const char *name);
uint8_t rn_litmus_find_qp(const struct rn_litmus_test *t, const char *name);
uint8_t rn_litmus_find_cq(const struct rn_litmus_test *t, const char *name);
uint8_t rn_litmus_find_thread(const struct rn_litmus_test *t, const char *name);
/* "host", "cpu", "gpu0": enum rn_agent, or NONE */
uint8_t rn_litmus_find_agent(const char *name);
bool rn_lex_location(struct rn_litmus_parser *p, const struct rn_litmus_test *t,
		     uint8_t *loc);
/* "A.cpu", "A.gpu0.1" */
bool rn_lex_thread_name(struct rn_litmus_parser *p, char *name, size_t len);
/* `node . agent': the node is added if it is new. */
bool rn_lex_place(struct rn_litmus_parser *p, struct rn_litmus_test *t, uint8_t *node,
		  char *agent, size_t len);

bool rn_litmus_parse_instr(struct rn_litmus_parser *p, struct rn_litmus_test *t,
			   unsigned thread);

#endif /* RN_LITMUS_PARSE_INTERNAL_H */
