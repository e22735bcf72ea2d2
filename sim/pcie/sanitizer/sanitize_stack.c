/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_stack.c - stacks of the program, each remembered once.
 *
 * backtrace() allocates at its first call only, so that one is made early; later it may
 * be called in a handler of SIGSEGV that a load of device memory has met.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "sanitize_internal.h"

enum {
	STACKS = 4096, /* a power of two; number 0 is none */
	TRIES = 16,
	SHOWN = 12, /* frames */
};

static struct stack {
	uint64_t hash; /* 0: free */
	uint32_t count;
	void *frame[RN_SAN_FRAMES];
} stacks[STACKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void rn_san_stack_init(void)
{
	void *frame[2];

	(void)backtrace(frame, 2);
}

static uint64_t hash_of(void *const *frame, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ (uintptr_t)frame[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ? hash : 1;
}

/* Lock held. */
static uint32_t remember(void *const *frame, uint32_t count)
{
	uint64_t hash = hash_of(frame, count);
	uint32_t at = (uint32_t)(hash >> 32) % STACKS;

	for (unsigned i = 0; i < TRIES; i++, at = (at + 1) % STACKS) {
		struct stack *s = &stacks[at];

		if (at == 0 || (s->hash && s->hash != hash))
			continue;
		if (!s->hash) {
			memcpy(s->frame, frame, count * sizeof(*frame));
			s->count = count;
			s->hash = hash;
		}
		return at;
	}
	return 0;
}

uint32_t rn_san_stack(void)
{
	void *frame[RN_SAN_FRAMES];
	int count = backtrace(frame, RN_SAN_FRAMES);
	uint32_t stack;

	if (count <= 0)
		return 0;
	pthread_mutex_lock(&lock);
	stack = remember(frame, (uint32_t)count);
	pthread_mutex_unlock(&lock);
	return stack;
}

/* -------------------------------------------------------------------- text */
/* A frame of Rocin's libraries, of the compiler's sanitizers, or the kernel's way into a
 * handler, which has no name.
 */
static bool is_ours(void *at, bool is_first)
{
	const char *name;
	Dl_info info;

	if (!dladdr(at, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	if (strncmp(name, "librocin", 8) == 0 || strncmp(name, "libasan", 7) == 0 ||
	    strncmp(name, "libtsan", 7) == 0)
		return true;
	return is_first && !info.dli_sname && strncmp(name, "libc.so", 7) == 0;
}

static size_t frame_text(unsigned number, void *at, char *buf, size_t len)
{
	Dl_info info;
	int n;

	if (!dladdr(at, &info) || !info.dli_fname)
		n = snprintf(buf, len, "    #%u %p\n", number, at);
	else if (info.dli_sname)
		n = snprintf(buf, len, "    #%u %p in %s+%#tx (%s)\n", number, at,
			     info.dli_sname, (char *)at - (char *)info.dli_saddr,
			     info.dli_fname);
	else
		n = snprintf(buf, len, "    #%u %p (%s+%#tx)\n", number, at,
			     info.dli_fname, (char *)at - (char *)info.dli_fbase);
	return n > 0 && (size_t)n < len ? (size_t)n : 0;
}

size_t rn_san_stack_text(uint32_t stack, char *buf, size_t len)
{
	const struct stack *s = &stacks[stack];
	uint32_t first = 0, number = 0;
	size_t used = 0;

	if (!stack)
		return 0;
	while (first < s->count && is_ours(s->frame[first], true))
		first++;
	for (uint32_t i = first; i < s->count && number < SHOWN; i++) {
		if (is_ours(s->frame[i], false))
			break;
		used += frame_text(number++, s->frame[i], buf + used, len - used);
	}
	return used;
}
