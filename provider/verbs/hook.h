/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hook.h - verbs calls that fail because a rule says so.
 *
 * While there is such a rule, the operations of every context are those of hook.c, which
 * ask the rules and then call ours; without one they are ours, and nothing is asked.
 */
#ifndef RNP_HOOK_H
#define RNP_HOOK_H

#include "driver_abi.h"

/* All of them, constant; *@count: how many. */
const struct rnp_abi_op *rnp_asking_ops(unsigned *count);

#endif /* RNP_HOOK_H */
