/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sentence.h - to fail with an error number for the program and a
 * sentence for its user.
 */
#ifndef RN_SENTENCE_H
#define RN_SENTENCE_H

#include <stddef.h>

/* Format the sentence into @err (which may be NULL with @err_len 0), cut off if it is too
 * long. In @fmt, %m stands for the text of the error @rc. Return: @rc (negative errno),
 * so that a caller can write return rn_fail(...). Keeps errno.
 */
int rn_fail(char *err, size_t err_len, int rc, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* RN_SENTENCE_H */
