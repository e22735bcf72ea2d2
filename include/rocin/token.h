/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* token.h - splits the texts that Rocin reads (scenarios, litmus tests, fault rules,
 * settings of the PCIe layer) into tokens and numbers. Each kind of text has a grammar of
 * its own.
 *
 * strtoull() and isspace() are not used: the texts need no NUL at the end, and the
 * program may have set a locale.
 */
#ifndef RN_TOKEN_H
#define RN_TOKEN_H

#include <string.h>

#include "rocin/types.h"

struct rn_token {
	const char *at;
	size_t len; /* length of the token; 0: there is no further token */
};

static inline bool rn_char_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns true for white space within a line. */
static inline bool rn_char_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static inline bool rn_char_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the first token from @at on, which ends at the next blank. */
static inline struct rn_token rn_token_first(const char *at, const char *end)
{
	const char *to;

	while (at < end && rn_char_is_blank(*at))
		at++;
	for (to = at; to < end && !rn_char_is_blank(*to);)
		to++;
	return (struct rn_token){ at, (size_t)(to - at) };
}

static inline bool rn_token_is(struct rn_token w, const char *text)
{
	return strlen(text) == w.len && memcmp(w.at, text, w.len) == 0;
}

/* Returns the value of a hexadecimal digit; 16 if @c is none. */
static inline unsigned rn_char_digit(char c)
{
	if (rn_char_is_digit(c))
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

/* Reads a number. Return: false if the token does not consist of digits only, or exceeds
 * 64 bits.
 */
static inline bool rn_token_digits(struct rn_token w, unsigned base, uint64_t *number)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w.len; i++) {
		unsigned digit = rn_char_digit(w.at[i]);

		if (digit >= base || n > (UINT64_MAX - digit) / base)
			return false;
		n = n * base + digit;
	}
	if (w.len == 0)
		return false;
	*number = n;
	return true;
}

/* Reads a decimal number, or a hexadecimal one that begins with 0x. */
static inline bool rn_token_number(struct rn_token w, uint64_t *number)
{
	if (w.len > 2 && w.at[0] == '0' && w.at[1] == 'x')
		return rn_token_digits((struct rn_token){ w.at + 2, w.len - 2 }, 16,
				       number);
	return rn_token_digits(w, 10, number);
}

#endif /* RN_TOKEN_H */
