/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* examples.c - see examples.h. The texts are linked into the program.
 *
 * In such a text, a line that begins with a letter and has a "/" in it is the name of a
 * rule. The example of the rule follows, up to the next such line or the end of the text.
 */
#include "examples.h"

#include <string.h>

#include "provider/validate/validate.h"

#define X(symbol, name, what)                                   \
	__asm__(".section .rodata\n"                            \
		"rn_rule_text_" #name ":\n"                     \
		".incbin \"" RN_RULE_TEXTS "/" #name ".txt\"\n" \
		".byte 0\n"                                     \
		".previous\n");                                 \
	extern const char rn_rule_text_##name[];
RN_VAL_ALL_CATEGORIES(X)
#undef X

static const char *const texts[] = {
#define X(symbol, name, what) rn_rule_text_##name,
	RN_VAL_ALL_CATEGORIES(X)
#undef X
};

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at ? at + 1 : at;
}

static int is_name(const char *line)
{
	size_t len = strcspn(line, "\n");

	return *line >= 'a' && *line <= 'z' && memchr(line, '/', len) != NULL;
}

const char *rn_rule_example(const char *rule, size_t *len)
{
	for (unsigned i = 0; i < RN_VAL_CATEGORY_COUNT; i++) {
		for (const char *at = texts[i]; *at; at = next_line(at)) {
			const char *from = next_line(at), *end = from;

			if (strcspn(at, "\n") != strlen(rule) ||
			    strncmp(at, rule, strlen(rule)) != 0)
				continue;
			while (*end && !is_name(end))
				end = next_line(end);
			while (end > from && (end[-1] == '\n' || end[-1] == ' '))
				end--;
			*len = (size_t)(end - from);
			return from;
		}
	}
	return NULL;
}
