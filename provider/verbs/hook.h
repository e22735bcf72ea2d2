/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hook.h - verbs calls that fail because a rule says so.
 *
 * While there is such a rule, the operations of every context are those of hook.c, which
 * ask the rules and then call ours; without one they are ours, and nothing is asked.
 */
#ifndef RNP_HOOK_H
#define RNP_HOOK_H

#include <stdbool.h>

struct rnp_context;

/* Use the operations that ask, or do not. Engine lock held. */
void rnp_hook_set(struct rnp_context *ctx, bool on);

#endif /* RNP_HOOK_H */
