/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* book.h - rules about faults as text: one rule a line and the seed, to be added to
 * and taken from.
 */
#ifndef RN_FAULT_BOOK_H
#define RN_FAULT_BOOK_H

#include "transport/io/fault/fault_rules.h"

struct rn_fault_book {
	uint64_t seed;
	unsigned count;
	char *line[RN_FAULT_RULES_MAX];	  /* owned */
	uint8_t from[RN_FAULT_RULES_MAX]; /* place when the book was opened; 255: new */
};

/* Empty, with seed 1. */
void rn_fault_book_init(struct rn_fault_book *b);
void rn_fault_book_free(struct rn_fault_book *b);

/**
 * rn_fault_book_add() - Add the rules of a text
 * @name:	Of the text, for errors
 * @is_old:	They were there before: their places are kept
 *
 * Return: 0; -EINVAL, also if there are more than 64 then; -ENOMEM. With a sentence, and
 * nothing added.
 */
int rn_fault_book_add(struct rn_fault_book *b, const char *text, const char *name,
		      bool is_old, char *err, size_t err_len);

/* Remove the rule in place @number, from 0. False: there is none. */
bool rn_fault_book_remove(struct rn_fault_book *b, unsigned number);

/* The text, for free(), or NULL. */
char *rn_fault_book_text(const struct rn_fault_book *b);

#endif /* RN_FAULT_BOOK_H */
