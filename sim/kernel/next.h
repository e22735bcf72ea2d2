/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* next.h - the functions that the hooks stand in front of.
 *
 * NEXT(open) is the next definition of open() after ours: another preloaded library or
 * a sanitizer if there is one, in the end libc. Never a bare system call, because
 * open() and others are cancellation points and other interposers want to see them.
 *
 * The one exception is the time before our constructor has run. A malloc library may
 * then open files while it initialises itself, where dlsym() must not be called; so the
 * functions such libraries use start out as bare system calls (early.h).
 *
 * Threads: any. An entry only ever changes from one working function to another.
 */
#ifndef RNK_NEXT_H
#define RNK_NEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#define RNK_HOOK(name, version, if_missing) RNK_FN_##name,
/* clang-format off */
enum rnk_fn {
#include "hooks.def"
	RNK_FN_COUNT
};
/* clang-format on */
#undef RNK_HOOK

extern _Atomic(void *) rnk_next_fn[RNK_FN_COUNT];

/* Look up one function and remember it. Return: never NULL. */
void *rnk_next_resolve(enum rnk_fn fn);

/**
 * rnk_next_resolve_all() - Look up every function of hooks.def
 *
 * Called from the constructor. Keeps errno.
 *
 * Return: false if a NEEDED one is missing.
 */
bool rnk_next_resolve_all(void);

static inline void *rnk_next(enum rnk_fn fn)
{
	void *p = atomic_load_explicit(&rnk_next_fn[fn], memory_order_relaxed);

	return p ? p : rnk_next_resolve(fn);
}

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name, not an expression */
#define NEXT(name) ((__typeof__(&name))rnk_next(RNK_FN_##name))

#endif /* RNK_NEXT_H */
