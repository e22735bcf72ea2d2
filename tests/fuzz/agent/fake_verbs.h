/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fake_verbs.h - a libibverbs that makes objects and counts them, so that programs of
 * ours meet only what they are told by others.
 */
#ifndef FUZZ_FAKE_VERBS_H
#define FUZZ_FAKE_VERBS_H

#include <infiniband/verbs.h>

struct ibv_context *fake_context(void);

/* The next calls fail one by one where a bit is set, the lowest one first. */
void fake_fail(uint8_t calls);

/* Objects that were made and not destroyed. */
unsigned fake_objects(void);

#endif /* FUZZ_FAKE_VERBS_H */
