/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nearest.c - compares words by their edit distance; see nearest.h. */
#include "nearest.h"

#include <string.h>

enum {
	LETTERS_MAX = 64, /* longer words are compared by this number of first letters */
};

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

static size_t letters(size_t len)
{
	return len < LETTERS_MAX ? len : LETTERS_MAX;
}

/* Returns the number of letters to insert, delete or replace (Levenshtein). */
static size_t edits_between(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[LETTERS_MAX + 1];

	a_len = letters(a_len);
	b_len = letters(b_len);
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

/* Returns the next part of a word, or NULL. "life/destroy-order" has three parts. */
static const char *next_part(const char *word, size_t *len)
{
	word += strspn(word, "/-_ ");
	*len = strcspn(word, "/-_ ");
	return *len ? word : NULL;
}

static size_t count_parts(const char *word)
{
	size_t count = 0, len;

	while ((word = next_part(word, &len))) {
		word += len;
		count++;
	}
	return count;
}

/* Returns the smallest number of edits that turn some part of @b into @part. */
static size_t edits_to_part(const char *part, size_t part_len, const char *b)
{
	size_t least = part_len, len;

	while ((b = next_part(b, &len))) {
		size_t edits = edits_between(part, part_len, b, len);

		least = edits < least ? edits : least;
		b += len;
	}
	return least;
}

/* Returns how different the two words are if the order of their parts does not matter:
 * the number of edits (letters to insert, delete or replace) of all parts of @a, plus
 * one for the changed order, plus one for each part of @b that is left out.
 */
static size_t edits_of_parts(const char *a, const char *b)
{
	size_t a_count = count_parts(a), b_count = count_parts(b), len;
	size_t edits = 1 + (b_count > a_count ? b_count - a_count : 0);

	while ((a = next_part(a, &len))) {
		edits += edits_to_part(a, len, b);
		a += len;
	}
	return edits;
}

static size_t distance(const char *a, const char *b)
{
	size_t in_order = edits_between(a, strlen(a), b, strlen(b));
	size_t in_any = edits_of_parts(a, b);

	return in_order < in_any ? in_order : in_any;
}

const char *rn_nearest(const char *word, const char *(*name)(const void *arg, size_t i),
		       const void *arg, size_t count)
{
	const char *nearest = NULL;
	size_t least = 0;

	for (size_t i = 0; i < count; i++) {
		size_t edits = distance(word, name(arg, i));

		if (nearest && edits >= least)
			continue;
		nearest = name(arg, i);
		least = edits;
	}
	return nearest;
}
