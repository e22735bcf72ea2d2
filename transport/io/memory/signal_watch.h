/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* signal_watch.h - lets code that installs signal handlers of its own (mem_guard.h)
 * register with the preloaded library that intercepts the program's calls (sim/kernel).
 * The library is loaded first, that code later or not at all.
 *
 * The library exports a function of type rn_signal_watch_fn under the
 * name RN_SIGNAL_WATCH_SYMBOL.
 */
#ifndef RN_SIGNAL_WATCH_H
#define RN_SIGNAL_WATCH_H

#include <signal.h>

#include "rocin/types.h"

#define RN_SIGNAL_WATCH_SYMBOL "rocin_watch_signals"

enum {
	RN_SIGNAL_WATCHES = 4, /* users: the plugin, and librocin-gpu */
};

/* Functions of the code that registers. The library calls them in the thread of the
 * program; they are async-signal-safe. Each may be NULL.
 */
struct rn_signal_watch {
	/* The program calls sigaction() or an equivalent function. Return: true if this
	 * function has handled the call, so that the kernel must not see it.
	 */
	bool (*take_action)(int sig, const struct sigaction *act, struct sigaction *old);
	/* Is the current call made by the registered code itself, rather than by
	 * the program?
	 */
	bool (*is_own)(void);
	/* The program has successfully set @act for the signal @sig. */
	void (*renew)(int sig, const struct sigaction *act);
	/* The signal mask of this thread may have changed, or is about to. */
	void (*mask_changed)(void);
};

/* Register @watch, which must exist until the process ends. Return: false if
 * RN_SIGNAL_WATCHES are registered already.
 */
typedef bool rn_signal_watch_fn(const struct rn_signal_watch *watch);

#endif /* RN_SIGNAL_WATCH_H */
