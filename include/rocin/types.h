/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* types.h - units and one-word types used by all parts. */
#ifndef RN_TYPES_H
#define RN_TYPES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds of a monotonic clock: real time in a process, virtual time in the
 * simulator. Never a date.
 */
typedef int64_t rn_ns;
#define RN_NEVER INT64_MAX
#define RN_USEC(n) ((rn_ns)(n)*1000)
#define RN_MSEC(n) ((rn_ns)(n)*1000000)

/* An address as the device sees it (IOVA). It is a plain integer so that it cannot be
 * dereferenced, only passed to struct rn_mem_ops.
 */
typedef uint64_t rn_iova;

/* A 24-bit sequence number that wraps. It is a struct so that "a < b" and "a + 1" do not
 * compile; wire.h has functions for this.
 */
struct rn_psn {
	uint32_t v; /* 0 .. 0xffffff */
};

#define RN_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif /* RN_TYPES_H */
