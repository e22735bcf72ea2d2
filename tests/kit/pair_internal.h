/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pair_internal.h - what pair.c and pair_wire.c share. */
#ifndef RN_PAIR_INTERNAL_H
#define RN_PAIR_INTERNAL_H

#include "pair.h"

void pair_wire_init(struct pair *p);
void pair_wire_free(struct pair *p);
void pair_collect_events(struct pair *p);

#endif /* RN_PAIR_INTERNAL_H */
