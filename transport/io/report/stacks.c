/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stacks.c - stores each distinct stack once; see stacks.h. */
#include "stacks.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "rocin/hash.h"
#include "rocin/types.h"
#include "transport/io/process/stack.h"

enum {
	STACKS = 4096, /* capacity, a power of two; number 0 means no stack */
	TRIES = 16,
	FRAMES_MAX = 24,
	FRAMES_SHOWN = 12,
	/* Size of the cache of the stacks of one thread: SETS sets, a power of two, of
	 * WAYS entries each. A call whose stack is not in the cache takes 1 to 2 us, a
	 * hundred times as long as one whose stack is. Most programs post and poll from
	 * few places, but several of these may be in the same set by chance.
	 */
	SETS = 16,
	WAYS = 4,
};

static struct stack {
	uint64_t hash; /* 0: the entry is free */
	uint32_t count;
	void *frame[FRAMES_MAX];
} stacks[STACKS]; /* the distinct stacks that were stored */
static pthread_mutex_t stacks_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t callers_key; /* key of each thread's struct callers */
static bool has_key;

/* ------------------------------------------------------- the store of stacks */
static uint64_t hash_of(void *const *frame, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++)
		hash = rn_hash_word(hash ^ (uintptr_t)frame[i]);
	return hash ? hash : 1;
}

/* Stores the stack if it is new. Returns its number, or 0 if there is no room. */
static uint32_t remember_locked(void *const *frame, uint32_t count)
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

static uint32_t remember_stack(void *const *frame, uint32_t count)
{
	uint32_t stack;

	if (count == 0)
		return 0;
	pthread_mutex_lock(&stacks_lock);
	stack = remember_locked(frame, count);
	pthread_mutex_unlock(&stacks_lock);
	return stack;
}

/* Takes the lock before fork(), so that the child does not get the store half changed. */
static void before_fork(void)
{
	pthread_mutex_lock(&stacks_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&stacks_lock);
}

void rn_stacks_init(void)
{
	void *frame[2];

	(void)backtrace(frame, 2);
	if (has_key)
		return;
	has_key = pthread_key_create(&callers_key, free) == 0 &&
		  pthread_atfork(before_fork, after_fork, after_fork) == 0;
}

uint32_t rn_stacks_take(void)
{
	void *frame[FRAMES_MAX];
	int count = backtrace(frame, FRAMES_MAX);

	return remember_stack(frame, count > 0 ? (uint32_t)count : 0);
}

/* -------------------------------------------------- the cache of each thread */
/* An entry of a thread's cache: a stack, and for each of its frames the address in
 * memory where the return address is stored.
 */
struct caller {
	/* address of the frame of the function that has asked for its stack; 0: the
	 * entry is free
	 */
	uintptr_t top;
	const void *site; /* the address to which that function returns */
	uint32_t stack, count;
	void *frame[FRAMES_MAX];
	void *const *slot[FRAMES_MAX]; /* where frame[i] is stored */
};

struct callers {
	struct caller of[SETS][WAYS];
	unsigned next; /* entry that is replaced next if the set is full */
};

/* Returns the cache of this thread, or NULL if there is no memory. */
static struct callers *own_callers(void)
{
	struct callers *c = has_key ? pthread_getspecific(callers_key) : NULL;

	if (c || !has_key)
		return c;
	c = calloc(1, sizeof(*c));
	(void)pthread_setspecific(callers_key, c);
	return c;
}

static struct caller *set_of(struct callers *callers, uintptr_t top, const void *site)
{
	uint64_t hash = rn_hash_word((uint64_t)top ^ (uintptr_t)site << 4);

	return callers->of[(hash >> 32) % SETS];
}

/* Returns true if the places in memory that held the return addresses of the cached
 * stack still hold the same. They are in frames of other functions, so sanitizers of
 * compilers could report the reads as errors.
 */
__attribute__((no_sanitize_address, no_sanitize_thread)) static bool
is_same_stack(const struct caller *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (*c->slot[i] != c->frame[i])
			return false;
	return true;
}

/* Called by the unwinder with each frame: adds it to the stack. On x86-64 the return
 * address of a frame is stored just below the end of the frame. On other processors it
 * is not, so the stack cannot be cached and is unwound each time.
 */
static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct caller *c = arg;
	// NOLINTBEGIN(performance-no-int-to-ptr)
	void *at = (void *)_Unwind_GetIP(context);
	void *const *end = (void *const *)_Unwind_GetCFA(context);
	// NOLINTEND(performance-no-int-to-ptr)

	if (!at)
		return _URC_END_OF_STACK;
	c->slot[c->count] = (uintptr_t)end > c->top ? end - 1 : NULL;
	c->frame[c->count++] = at;
	return c->count == FRAMES_MAX ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Keeps those frames of @c, from the address @from on, whose return addresses can be
 * compared later. Returns true if at least one is left, and none from @from on had to be
 * dropped.
 */
static bool keep_comparable(struct caller *c, void *from)
{
	uint32_t kept = 0;
	bool is_past = false, is_whole = true;

	for (uint32_t i = 0; i < c->count; i++) {
		is_past = is_past || c->frame[i] == from;
		if (!is_past)
			continue;
		if (!c->slot[i] || *c->slot[i] != c->frame[i]) {
			is_whole = false;
			continue;
		}
		c->frame[kept] = c->frame[i];
		c->slot[kept++] = c->slot[i];
	}
	c->count = kept;
	return kept && is_whole;
}

uint32_t rn_stacks_take_at(const void *site)
{
	uintptr_t top = (uintptr_t)__builtin_frame_address(0);
	void *from = __builtin_return_address(0);
	struct callers *callers = own_callers();
	struct caller *set, *c;

	if (!callers)
		return rn_stacks_take();
	set = set_of(callers, top, site);
	for (c = set; c < set + WAYS; c++)
		if (c->top == top && c->site == site && c->count && is_same_stack(c))
			return c->stack;
	c = set + callers->next++ % WAYS;
	c->count = 0;
	c->top = top;
	c->site = site;
	(void)_Unwind_Backtrace(add_frame, c);
	c->stack = remember_stack(c->frame, c->count);
	if (!keep_comparable(c, from))
		c->count = 0;
	return c->stack;
}

/* ------------------------------------------------------------ frames as text */
static const char *module_of(const Dl_info *info)
{
	const char *name = strrchr(info->dli_fname, '/');

	return name ? name + 1 : info->dli_fname;
}

/* Returns true for the nameless frame of libc by which the kernel enters a signal
 * handler.
 */
static bool is_signal_frame(const Dl_info *info, const char *module)
{
	return !info->dli_sname && strncmp(module, "libc.so", 7) == 0;
}

/* Returns true if reports leave out the frame @at: it is of Rocin's libraries or of the
 * compiler's sanitizers, or it is the first frame and the one by which the kernel enters
 * a signal handler. @is_signal: out: true in the last case.
 */
static bool is_ours(void *at, bool is_first, bool *is_signal)
{
	const char *name;
	Dl_info info;

	*is_signal = false;
	if (!dladdr(at, &info) || !info.dli_fname)
		return false;
	name = module_of(&info);
	*is_signal = is_first && is_signal_frame(&info, name);
	return strncmp(name, "librocin", 8) == 0 || strncmp(name, "libasan", 7) == 0 ||
	       strncmp(name, "libtsan", 7) == 0 || *is_signal;
}

/* Finds the frames that reports show: from index *@first to just before the index that
 * is returned. @is_return: out: true if frame *@first is a return address; false if it
 * is the address at which a signal interrupted the function.
 */
static uint32_t shown_frames(const struct stack *s, uint32_t *first, bool *is_return)
{
	bool is_signal = false;
	uint32_t end;

	*first = 0;
	*is_return = true;
	while (*first < s->count && is_ours(s->frame[*first], true, &is_signal)) {
		/* @at is the address at which a signal interrupted the function, not a
		 * return address.
		 */
		*is_return = !is_signal;
		++*first;
	}
	for (end = *first; end < s->count && end < *first + FRAMES_SHOWN; end++)
		if (is_ours(s->frame[end], false, &is_signal))
			break;
	return end;
}

size_t rn_stacks_text(uint32_t stack, char *buf, size_t len)
{
	const struct stack *s = &stacks[stack];
	uint32_t first, end;
	bool is_return;
	size_t used = 0;

	if (!stack)
		return 0;
	end = shown_frames(s, &first, &is_return);
	for (uint32_t i = first; i < end; i++, is_return = true)
		used += rn_stack_frame(i - first, s->frame[i], is_return, buf + used,
				       len - used);
	return used;
}

int rn_stacks_each(uint32_t stack,
		   int (*fn)(void *arg, const char *function, const char *module),
		   void *arg)
{
	const struct stack *s = &stacks[stack];
	uint32_t first, end;
	bool is_return;
	int rc = 0;

	if (!stack)
		return 0;
	end = shown_frames(s, &first, &is_return);
	for (uint32_t i = first; i < end && !rc; i++, is_return = true) {
		Dl_info info = { 0 };

		if (dladdr((char *)s->frame[i] - (is_return ? 1 : 0), &info) &&
		    info.dli_fname)
			rc = fn(arg, info.dli_sname ? info.dli_sname : "",
				module_of(&info));
	}
	return rc;
}
