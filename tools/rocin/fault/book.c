/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* book.c - keeps a list of fault rules (`rocin fault') as text: adds, removes and prints
 * rules.
 */
#include "book.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/io/host/log.h"

enum {
	NEW = 255
};

void rn_fault_book_init(struct rn_fault_book *b)
{
	*b = (struct rn_fault_book){ .seed = 1 };
}

void rn_fault_book_free(struct rn_fault_book *b)
{
	for (unsigned i = 0; i < b->count; i++)
		free(b->line[i]);
	b->count = 0;
}

bool rn_fault_book_remove(struct rn_fault_book *b, unsigned number)
{
	if (number >= b->count)
		return false;
	free(b->line[number]);
	b->count--;
	for (unsigned i = number; i < b->count; i++) {
		b->line[i] = b->line[i + 1];
		b->from[i] = b->from[i + 1];
	}
	return true;
}

/* Finds the next statement (a rule, or the seed) of the text from *@at on. Sets *@begin
 * and *@len to the statement without the blanks around it, and moves *@at behind the
 * statement. Returns false at the end of the text.
 */
static bool next_statement(const char **at, const char **begin, size_t *len)
{
	const char *s = *at;
	size_t n;

	while (*s && strchr(" \t\r\n;#", *s))
		s += *s == '#' ? strcspn(s, "\n") : 1;
	if (!*s)
		return false;
	n = strcspn(s, "\n;#");
	*at = s + n;
	while (strchr(" \t\r", s[n - 1]))
		n--;
	*begin = s;
	*len = n;
	return true;
}

static bool is_seed(const char *s, size_t len)
{
	return len > 5 && strncmp(s, "seed=", 5) == 0;
}

/* Adds the rules and the seed of a text, which has been parsed successfully. @is_old: as
 * in rn_fault_book_add().
 */
static int add_statements(struct rn_fault_book *b, const char *text, bool is_old)
{
	const char *s;
	size_t len;

	while (next_statement(&text, &s, &len)) {
		if (is_seed(s, len))
			continue;
		b->line[b->count] = strndup(s, len);
		if (!b->line[b->count])
			return -ENOMEM;
		b->from[b->count] = is_old ? (uint8_t)b->count : NEW;
		b->count++;
	}
	return 0;
}

static bool names_seed(const char *text)
{
	const char *s;
	size_t len;

	while (next_statement(&text, &s, &len))
		if (is_seed(s, len))
			return true;
	return false;
}

int rn_fault_book_add(struct rn_fault_book *b, const char *text, const char *name,
		      bool is_old, char *err, size_t err_len)
{
	struct rn_fault_rules rules;
	unsigned before = b->count;
	int rc = rn_fault_rules_parse(text, name, &rules, err, err_len);

	if (rc)
		return rc;
	if (before + rules.count > RN_FAULT_RULES_MAX)
		return rn_fail(err, err_len, -EINVAL,
			       "%u rules are there, %u come with %s; there may be %d",
			       before, rules.count, name, RN_FAULT_RULES_MAX);
	rc = add_statements(b, text, is_old);
	if (rc) {
		while (b->count > before)
			rn_fault_book_remove(b, b->count - 1);
		return rn_fail(err, err_len, rc, "out of memory");
	}
	if (names_seed(text))
		b->seed = rules.seed;
	return 0;
}

char *rn_fault_book_text(const struct rn_fault_book *b)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, "seed=%" PRIu64 "\n", b->seed);
	for (unsigned i = 0; i < b->count; i++)
		fprintf(f, "%s\n", b->line[i]);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}
