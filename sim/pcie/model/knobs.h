/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knobs.h - parts of the parser of rocin/pcie.h: words without files, and values. */
#ifndef RN_KNOBS_H
#define RN_KNOBS_H

#include "rocin/pcie.h"
#include "text.h"

/* Some bytes of a text that need not end with NUL. */
struct rn_word {
	const char *at;
	size_t len;
};

/* rn_pcie_parse() of MODE[,KNOB=VALUE]... without @FILE; nothing but blanks is no word.
 * The result is not checked for contradictions (rn_pcie_check()), so that words may come
 * in several pieces. 0, or -EINVAL with a sentence and @k perhaps changed.
 */
int rn_knobs_parse_words(struct rn_pcie_knobs *k, struct rn_word text, char *err,
			 size_t err_len);

/* @w without blanks around it. */
struct rn_word rn_word_trim(struct rn_word w);

/* Cut @text at its first @mark: returns what is before it and leaves what is behind it,
 * nothing (at == NULL) if there is no mark.
 */
struct rn_word rn_word_cut(struct rn_word *text, char mark);

bool rn_word_is(struct rn_word w, const char *s);

/* The word for people, in quotes: unprintable bytes as '?', cut short if long. */
void rn_text_word(struct rn_text *t, struct rn_word w);

/* ---- knobs_values.c: false if the word is no such value, or beyond 64 bits ---- */

/* Which of "none|owner|all"; the first is 0. */
bool rn_value_choice(struct rn_word w, const char *choices, uint64_t *out);
/* Name of choice @n; empty if there are not so many. */
struct rn_word rn_value_choice_name(const char *choices, uint64_t n);
/* Decimal, or hexadecimal after 0x. */
bool rn_value_number(struct rn_word w, uint64_t *out);
/* A number, perhaps with K, M, G or T (powers of 1024). */
bool rn_value_size(struct rn_word w, uint64_t *out);
/* A decimal number with ns, us, ms or s; in ns. */
bool rn_value_time(struct rn_word w, uint64_t *out);
/* As rn_value_time() reads it, in the largest unit without a fraction. */
void rn_text_time(struct rn_text *t, uint64_t ns);

/* ---- knobs.c: one knob, by its place in rn_pcie_knob_list ---- */

/* Knob with this name or alias, -1: none. @choices: what that name may be. */
int rn_knob_find(struct rn_word name, const char **choices);
/* Set from text; false: no such value, @k is unchanged. */
bool rn_knob_read(struct rn_pcie_knobs *k, int knob, const char *choices,
		  struct rn_word value);
bool rn_knob_is_valid(const struct rn_pcie_knobs *k, int knob);
bool rn_knob_differs(const struct rn_pcie_knobs *a, const struct rn_pcie_knobs *b,
		     int knob);
void rn_text_knob_value(struct rn_text *t, const struct rn_pcie_knobs *k, int knob);
/* "now|pcie|msg|any", "a number of up to 64 bits" */
void rn_text_knob_range(struct rn_text *t, int knob, const char *choices);

#endif /* RN_KNOBS_H */
