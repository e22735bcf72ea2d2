/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sentence.h - fail with a number for the program and a sentence for its user. */
#ifndef RN_SENTENCE_H
#define RN_SENTENCE_H

#include <stddef.h>

/* Formats the sentence into @err (may be NULL with @err_len 0; cut off where too long).
 * In @fmt, %m stands for the error that @rc is. Return: @rc (negative errno), so that a
 * caller can write return rn_fail(...). Keeps errno.
 */
int rn_fail(char *err, size_t err_len, int rc, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* RN_SENTENCE_H */
