/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* next.c - finds the functions that the hooks stand in front of. */
#include "next.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "early.h"

enum if_missing {
	NEEDED,
	INT,
	PTR
};

struct hook {
	const char *name;
	const char *version; /* to prefer, or NULL */
	enum if_missing if_missing;
};

#define RNK_HOOK(name, version, if_missing) { #name, version, if_missing },
static const struct hook hooks[] = {
#include "hooks.def"
};
#undef RNK_HOOK

static_assert(sizeof(hooks) / sizeof(hooks[0]) == RNK_FN_COUNT, "one row per hook");

_Atomic(void *) rnk_next_fn[RNK_FN_COUNT] = {
	[RNK_FN_open] = (void *)rnk_early_open,
	[RNK_FN_open64] = (void *)rnk_early_open,
	[RNK_FN_openat] = (void *)rnk_early_openat,
	[RNK_FN_openat64] = (void *)rnk_early_openat,
	[RNK_FN_access] = (void *)rnk_early_access,
	[RNK_FN_readlink] = (void *)rnk_early_readlink,
	[RNK_FN_ioctl] = (void *)rnk_early_ioctl,
	[RNK_FN_socket] = (void *)rnk_early_socket,
	[RNK_FN_close] = (void *)rnk_early_close,
	[RNK_FN_write] = (void *)rnk_early_write,
	[RNK_FN_sigprocmask] = (void *)rnk_early_sigmask,
	[RNK_FN_pthread_sigmask] = (void *)rnk_early_sigmask,
};

static int missing_int(void)
{
	errno = ENOSYS;
	return -1;
}

static void *missing_ptr(void)
{
	errno = ENOSYS;
	return NULL;
}

static void *find_next(const struct hook *hook)
{
	void *p = NULL;

	if (hook->version)
		p = dlvsym(RTLD_NEXT, hook->name, hook->version);
	return p ? p : dlsym(RTLD_NEXT, hook->name);
}

static void *resolve(enum rnk_fn fn, bool *found)
{
	const struct hook *hook = &hooks[fn];
	void *p = find_next(hook);

	*found = p != NULL;
	if (!p)
		p = hook->if_missing == PTR ? (void *)missing_ptr : (void *)missing_int;
	atomic_store_explicit(&rnk_next_fn[fn], p, memory_order_relaxed);
	return p;
}

void *rnk_next_resolve(enum rnk_fn fn)
{
	int saved_errno = errno;
	bool found;
	void *p = resolve(fn, &found);

	errno = saved_errno;
	return p;
}

bool rnk_next_resolve_all(void)
{
	int saved_errno = errno;
	bool complete = true;

	for (unsigned fn = 0; fn < RNK_FN_COUNT; fn++) {
		bool found;

		resolve((enum rnk_fn)fn, &found);
		if (!found && hooks[fn].if_missing == NEEDED)
			complete = false;
	}
	errno = saved_errno;
	return complete;
}
