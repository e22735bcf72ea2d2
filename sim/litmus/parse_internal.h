/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse_internal.h - declarations shared by the files of the litmus parser.
 *
 * If a function of type bool returns false, it has set the error in struct
 * rn_litmus_parser. Only rn_lex_try_*() set no error: they return false if the text does
 * not come next.
 */
#ifndef RN_LITMUS_PARSE_INTERNAL_H
#define RN_LITMUS_PARSE_INTERNAL_H

#include "litmus.h"

/* ---- Words (lex.c) ---- */
void rn_lex_blank(struct rn_litmus_parser *p);
/* Sets the error that the next word is not what it must be. @expected: what it must be.
 * Returns false.
 */
bool rn_lex_fail(struct rn_litmus_parser *p, const char *expected);
/* Sets the error that the last word that was read is wrong. @expected: what should be in
 * its place. Returns false.
 */
bool rn_lex_refuse(struct rn_litmus_parser *p, const char *expected);
/* Sets the error "NAME: SENTENCE" for the last word that was read. @name and @sentence:
 * the two parts of the text. Returns false.
 */
bool rn_lex_fail_name(struct rn_litmus_parser *p, const char *name, const char *sentence);
bool rn_lex_try_char(struct rn_litmus_parser *p, char c);
bool rn_lex_try_text(struct rn_litmus_parser *p, const char *text);
/* If the next word is @word, reads it and returns true. Otherwise reads nothing. */
bool rn_lex_try_word(struct rn_litmus_parser *p, const char *word);
char rn_lex_peek(struct rn_litmus_parser *p);
bool rn_lex_char(struct rn_litmus_parser *p, char c);
/* Reads a word of letters, digits and '_'. @what names the word in the error text. */
bool rn_lex_word(struct rn_litmus_parser *p, const char *what, char *word, size_t len);
bool rn_lex_number(struct rn_litmus_parser *p, int64_t *number);
/* Reads a register or a number. */
bool rn_lex_value(struct rn_litmus_parser *p, struct rn_litmus_value *value);
bool rn_lex_register(struct rn_litmus_parser *p, uint8_t *reg);
/* A piece of text that ends before one of the characters @stops. @what: name of the piece
 * in error messages.
 */
struct rn_lex_text {
	const char *what, *stops;
};
/* Copies the text up to one of the characters @text->stops, or up to the end. Leaves out
 * comments, and replaces several blanks by one.
 */
bool rn_lex_raw(struct rn_litmus_parser *p, const struct rn_lex_text *text, char *buf,
		size_t len);
/* Copies the text [@from, @to) to @buf, leaving out comments and replacing several blanks
 * by one. Returns the length; if that is @len or more, the text did not fit.
 */
size_t rn_lex_fold(const char *from, const char *to, char *buf, size_t len);
/* Checks that @used characters and a NUL fit into @len bytes. @what names the text in the
 * error message, such as "this name".
 */
bool rn_lex_is_short(struct rn_litmus_parser *p, const char *what, size_t used,
		     size_t len);

/* Return the index of the location, QP, CQ, receive queue or thread with this name;
 * RN_LITMUS_NONE if there is none (setup.c).
 */
uint8_t rn_litmus_find_location(const struct rn_litmus_test *t, const char *name);
uint8_t rn_litmus_find_qp(const struct rn_litmus_test *t, const char *name);
uint8_t rn_litmus_find_cq(const struct rn_litmus_test *t, const char *name);
uint8_t rn_litmus_find_rq(const struct rn_litmus_test *t, const char *name);
uint8_t rn_litmus_find_thread(const struct rn_litmus_test *t, const char *name);
/* Returns the agent (enum rn_agent) with the name "host", "cpu", "gpu0" ..., or NONE. */
uint8_t rn_litmus_find_agent(const char *name);
bool rn_lex_location(struct rn_litmus_parser *p, const struct rn_litmus_test *t,
		     uint8_t *loc);
/* Reads the name of a thread: "A.cpu", "A.gpu0.1". */
bool rn_lex_thread_name(struct rn_litmus_parser *p, char *name, size_t len);
/* Reads `node.agent', the name of a host and of an agent in it. Adds the host to the test
 * if it is new.
 */
bool rn_lex_place(struct rn_litmus_parser *p, struct rn_litmus_test *t, uint8_t *node,
		  char *agent, size_t len);

bool rn_litmus_parse_instr(struct rn_litmus_parser *p, struct rn_litmus_test *t,
			   unsigned thread);

#endif /* RN_LITMUS_PARSE_INTERNAL_H */
