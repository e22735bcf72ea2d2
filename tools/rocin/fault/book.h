/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* book.h - a book: a list of fault rules (`rocin fault'), each as text, and the seed of
 * their random choices. Rules can be added to a book and removed from it.
 */
#ifndef RN_FAULT_BOOK_H
#define RN_FAULT_BOOK_H

#include "transport/io/fault/fault_rules.h"

struct rn_fault_book {
	uint64_t seed;
	unsigned count;
	/* the rules, one per line; the lines belong to this struct */
	char *line[RN_FAULT_RULES_MAX];
	/* For each rule: its number in the text that was read from rocind; 255: the rule
	 * was not in that text.
	 */
	uint8_t from[RN_FAULT_RULES_MAX];
};

/* Makes a book that has no rules and the seed 1. */
void rn_fault_book_init(struct rn_fault_book *b);
void rn_fault_book_free(struct rn_fault_book *b);

/**
 * rn_fault_book_add() - Add the rules of a text
 * @name:	Name of the text in error messages
 * @is_old:	The text was read from rocind, so @from gets the numbers of its rules
 *
 * Return: 0; -EINVAL for a wrong rule, or if the book would have more than 64 rules;
 *	-ENOMEM. On an error, @err has an error text, and the book is unchanged.
 */
int rn_fault_book_add(struct rn_fault_book *b, const char *text, const char *name,
		      bool is_old, char *err, size_t err_len);

/* Removes rule @number, counted from 0. Returns false if there is none. */
bool rn_fault_book_remove(struct rn_fault_book *b, unsigned number);

/* Returns the seed and all rules as one text, which the caller must free. Returns NULL if
 * there is no memory.
 */
char *rn_fault_book_text(const struct rn_fault_book *b);

#endif /* RN_FAULT_BOOK_H */
