/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_words.h - numbers and names as the texts about faults write them.
 *
 * Each takes @len bytes at @s, which need no NUL, and answers false, with nothing
 * written, if they are not what is read. No strtod(): the program may have set a locale
 * in which the decimal point is a comma.
 */
#ifndef RN_FAULT_WORDS_H
#define RN_FAULT_WORDS_H

#include "fault_rules.h"

/* "12.5%": 0 to 100 with up to four decimals, to parts per million. */
bool rn_fault_percent(const char *s, size_t len, uint64_t *ppm);

/* Decimal, up to 19 digits. */
bool rn_fault_decimal(const char *s, size_t len, uint64_t *value);

/* Decimal, or 0x and up to 16 digits. */
bool rn_fault_number(const char *s, size_t len, uint64_t *value);

/* "FIRST..LAST", or one number for both. */
bool rn_fault_range(const char *s, size_t len, uint64_t *first, uint64_t *last);

/* "20us", "1.5ms", "3s": over 0, at most an hour. */
bool rn_fault_time(const char *s, size_t len, rn_ns *time);

/* Opcodes, with commas: names with any "*" in them, of which the transport may be left
 * out, numbers, "request" and "response".
 */
bool rn_fault_ops(const char *s, size_t len, uint64_t ops[RN_FAULT_OPS / 64]);

/* Names of CM messages, with commas, and any "*" in them: bit attribute - RN_CM_REQ. */
bool rn_fault_mads(const char *s, size_t len, uint16_t *mads);

/* "rnr", "rnr:12", "seq", "invalid", "access", "operation". */
bool rn_fault_syndrome(const char *s, size_t len, uint8_t *syndrome);

/* "ENOMEM" or a number from 1 to 4095. */
bool rn_fault_errno(const char *s, size_t len, int *error);

#endif /* RN_FAULT_WORDS_H */
