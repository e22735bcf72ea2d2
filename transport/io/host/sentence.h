/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sentence.h - reports an error in two forms: a number for the program, and an error text
 * (one sentence) for its user.
 */
#ifndef RN_SENTENCE_H
#define RN_SENTENCE_H

#include <stddef.h>

/* Write the error text to @err (which may be NULL with @err_len 0), cut off if it is too
 * long. In @fmt, %m stands for the text of the error @rc. Keeps errno. Return: @rc, a
 * negative errno, so that a caller can write return rn_fail(...).
 */
int rn_fail(char *err, size_t err_len, int rc, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* RN_SENTENCE_H */
