/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring_views.h - memory that changes between two looks at it.
 *
 * ring.c is compiled with this header in front (-include): each
 * load of a shared value is followed by whatever the script has the peer do.
 */
#ifndef FUZZ_RING_VIEWS_H
#define FUZZ_RING_VIEWS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

uint64_t view_load(const volatile void *at, size_t size);

#ifdef RING_VIEWS
#undef atomic_load
#undef atomic_load_explicit
#define atomic_load(at) view_load(at, sizeof(*(at)))
#define atomic_load_explicit(at, order) view_load(at, sizeof(*(at)))
#endif

#endif /* FUZZ_RING_VIEWS_H */
