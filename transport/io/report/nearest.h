/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nearest.h - finds, for a word that the user has misspelt, the known word that is most
 * like it.
 */
#ifndef RN_NEAREST_H
#define RN_NEAREST_H

#include <stddef.h>

/**
 * rn_nearest() - Find the known word that is most like @word
 * @name:	Returns known word @i of @arg
 * @count:	Number of known words
 *
 * A word may have parts, separated by '/', '-', '_' and blanks. The parts of @word may be
 * in another order than those of the known word.
 *
 * Return: the word with the fewest letters to insert, delete or replace (the first of
 *	   several); NULL if there is no known word.
 */
const char *rn_nearest(const char *word, const char *(*name)(const void *arg, size_t i),
		       const void *arg, size_t count);

#endif /* RN_NEAREST_H */
