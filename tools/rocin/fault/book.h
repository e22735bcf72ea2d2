/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* book.h - a "book": the text of fault rules, one per line, and the seed. Rules can be
 * added and removed.
 */
#ifndef RN_FAULT_BOOK_H
#define RN_FAULT_BOOK_H

#include "transport/io/fault/fault_rules.h"

struct rn_fault_book {
	uint64_t seed;
	unsigned count;
	/* the rules, one per line; the lines belong to this struct */
	char *line[RN_FAULT_RULES_MAX];
	/* Number of each rule in the text that was read from rocind; 255: the rule
	 * is new.
	 */
	uint8_t from[RN_FAULT_RULES_MAX];
};

/* Makes a book without rules and with seed 1. */
void rn_fault_book_init(struct rn_fault_book *b);
void rn_fault_book_free(struct rn_fault_book *b);

/**
 * rn_fault_book_add() - Add the rules of a text
 * @name:	Name of the text in error messages
 * @is_old:	The rules were read from rocind: their numbers are kept in @from
 *
 * Return: 0; -EINVAL for a wrong rule, or if there would be more than 64; -ENOMEM. On an
 *	error @err has an error text, and nothing was added.
 */
int rn_fault_book_add(struct rn_fault_book *b, const char *text, const char *name,
		      bool is_old, char *err, size_t err_len);

/* Removes rule @number, counted from 0. Returns false if there is none. */
bool rn_fault_book_remove(struct rn_fault_book *b, unsigned number);

/* Returns the seed and all rules as one text, to be freed by the caller; NULL if there is
 * no memory.
 */
char *rn_fault_book_text(const struct rn_fault_book *b);

#endif /* RN_FAULT_BOOK_H */
