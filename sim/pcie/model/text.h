/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* text.h - builds text in a buffer without stdio; text that does not fit is cut off. */
#ifndef RN_TEXT_H
#define RN_TEXT_H

#include "rocin/types.h"

struct rn_text {
	char *buf; /* the text; if size > 0, it always ends with a NUL */
	size_t size;
	/* Length of the whole text so far, including what did not fit, without the NUL.
	 */
	size_t used;
};

static inline void rn_text_init(struct rn_text *t, char *buf, size_t size)
{
	*t = (struct rn_text){ .buf = buf, .size = size };
	if (size > 0)
		buf[0] = '\0';
}

static inline void rn_text_char(struct rn_text *t, char c)
{
	if (t->used + 1 < t->size) {
		t->buf[t->used] = c;
		t->buf[t->used + 1] = '\0';
	}
	t->used++;
}

static inline void rn_text_add(struct rn_text *t, const char *s)
{
	while (*s)
		rn_text_char(t, *s++);
}

static inline void rn_text_number(struct rn_text *t, uint64_t value)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n)
		rn_text_char(t, digits[--n]);
}

/* Appends @value as a hexadecimal number such as "0x1f". */
static inline void rn_text_hex(struct rn_text *t, uint64_t value)
{
	static const char digits[] = "0123456789abcdef";
	int shift = 60;

	rn_text_add(t, "0x");
	while (shift > 0 && !(value >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		rn_text_char(t, digits[value >> shift & 0xf]);
}

#endif /* RN_TEXT_H */
