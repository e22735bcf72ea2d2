/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* script.h - the input of a fuzz target, taken from the front; and what targets share. */
#ifndef FUZZ_SCRIPT_H
#define FUZZ_SCRIPT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct script {
	const uint8_t *at, *end;
};

static inline void require(bool condition)
{
	if (!condition)
		abort();
}

static inline bool script_is_over(const struct script *s)
{
	return s->at == s->end;
}

static inline size_t script_left(const struct script *s)
{
	return (size_t)(s->end - s->at);
}

/* Zeros follow the end, here and below. */
static inline uint8_t take8(struct script *s)
{
	return script_is_over(s) ? 0 : *s->at++;
}

static inline uint16_t take16(struct script *s)
{
	uint8_t low = take8(s);

	return (uint16_t)(low | take8(s) << 8);
}

static inline void take_bytes(struct script *s, void *out, size_t len)
{
	size_t have = script_left(s) < len ? script_left(s) : len;

	memset(out, 0, len);
	if (have)
		memcpy(out, s->at, have);
	s->at += have;
}

/* Up to the next NUL or the end. Return: a string in memory of its exact size, to be
 * freed: ASan sees a read one past it.
 */
static inline char *take_text(struct script *s)
{
	size_t len = strnlen((const char *)s->at, script_left(s));
	char *text = malloc(len + 1);

	require(text != NULL);
	take_bytes(s, text, len);
	text[len] = '\0';
	if (!script_is_over(s))
		s->at++;
	return text;
}

/* For finding leaks. */
static inline unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	require(dir != NULL);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

#endif /* FUZZ_SCRIPT_H */
