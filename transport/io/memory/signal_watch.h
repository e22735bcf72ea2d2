/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* signal_watch.h - between the library that is preloaded and sees the program's calls
 * (sim/kernel) and whoever has handlers of signals of its own (mem_guard.h), which is
 * loaded later, if at all.
 *
 * The library exports a function of type rn_signal_watch_fn by the name below.
 */
#ifndef RN_SIGNAL_WATCH_H
#define RN_SIGNAL_WATCH_H

#include <signal.h>

#include "rocin/types.h"

#define RN_SIGNAL_WATCH_SYMBOL "rocin_watch_signals"

enum {
	RN_SIGNAL_WATCHES = 4, /* the plugin, and librocin-gpu */
};

/* Functions that are called in the thread of the program; async-signal-safe. Any may be
 * NULL.
 */
struct rn_signal_watch {
	/* sigaction(), or what does the same, is called. True: that has been done, and
	 * the kernel is not to hear of it.
	 */
	bool (*take_action)(int sig, const struct sigaction *act, struct sigaction *old);
	/* The call is not the program's, but made by who watches. */
	bool (*is_own)(void);
	/* The program has set @act. */
	void (*renew)(int sig, const struct sigaction *act);
	/* The signal mask of this thread may have changed, or is about to. */
	void (*mask_changed)(void);
};

/* @watch stays for ever. Return: false if there are RN_SIGNAL_WATCHES already. */
typedef bool rn_signal_watch_fn(const struct rn_signal_watch *watch);

#endif /* RN_SIGNAL_WATCH_H */
