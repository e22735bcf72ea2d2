/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fake_verbs_internal.h - what the two halves of fake_verbs.h share. */
#ifndef FUZZ_FAKE_VERBS_INTERNAL_H
#define FUZZ_FAKE_VERBS_INTERNAL_H

#include <stdbool.h>

#include "fake_verbs.h"

/* Objects that these may not be destroyed before. */
extern unsigned fake_users_of_cqs, fake_users_of_pds;

/* Whether this call is one that fails, with errno set. */
bool fake_fails(void);

void *fake_make(size_t size);
int fake_destroy(void *object); /* 0 */

/* Windows, shared receive queues, XRC, address handles, groups. */
void fake_extend(struct verbs_context *ctx);

#endif /* FUZZ_FAKE_VERBS_INTERNAL_H */
