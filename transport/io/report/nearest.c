/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nearest.c - see nearest.h. */
#include "nearest.h"

#include <string.h>

enum {
	LETTERS_MAX = 64, /* what is longer is compared by its beginning */
};

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Returns the number of letters to insert, delete or replace (Levenshtein). */
static size_t edits_between(const char *a, const char *b)
{
	size_t row[LETTERS_MAX + 1], a_len = strnlen(a, LETTERS_MAX);
	size_t b_len = strnlen(b, LETTERS_MAX);

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1,
				      diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_len];
}

const char *rn_nearest(const char *word, const char *(*name)(const void *arg, size_t i),
		       const void *arg, size_t count)
{
	const char *nearest = NULL;
	size_t least = 0;

	for (size_t i = 0; i < count; i++) {
		size_t edits = edits_between(word, name(arg, i));

		if (nearest && edits >= least)
			continue;
		nearest = name(arg, i);
		least = edits;
	}
	return nearest;
}
