/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_words.h - numbers and words as the texts about faults write them.
 *
 * Each takes @len bytes at @s, which need no NUL, and answers false, with nothing
 * written, if they are not what is read. No strtod(): the program may have set a locale
 * in which the decimal point is a comma.
 */
#ifndef RN_FAULT_WORDS_H
#define RN_FAULT_WORDS_H

#include <string.h>

#include "rocin/types.h"

/* Is it this word? */
static inline bool rn_fault_is_word(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(s, word, len) == 0;
}

/* "12.5%": 0 to 100 with up to four decimals, to parts per million. */
bool rn_fault_percent(const char *s, size_t len, uint64_t *ppm);

/* Decimal, up to 19 digits. */
bool rn_fault_decimal(const char *s, size_t len, uint64_t *value);

/* "20us", "1.5ms", "3s": over 0, at most an hour. */
bool rn_fault_time(const char *s, size_t len, rn_ns *time);

#endif /* RN_FAULT_WORDS_H */
