/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* speed.h - measures by which instructions this machine copies a packet and computes its
 * CRC the fastest. What a processor can do does not tell: some do wide instructions in
 * halves, or run slower for a while after them.
 */
#ifndef RN_SPEED_H
#define RN_SPEED_H

#include "rocin/crc32.h"
#include "rocin/types.h"

enum {
	RN_SPEED_LEN = 4096, /* bytes: the payload of the largest packet */
	/* Narrower instructions must save more than 1 / RN_SPEED_MARGIN of the time,
	 * since a measurement is never exact.
	 */
	RN_SPEED_MARGIN = 16,
};

struct rn_speed {
	/* ns for RN_SPEED_LEN bytes; 0: this machine does not have the implementation, or
	 * the level in force (rocin/cpu.h) does not allow it
	 */
	uint64_t ns[RN_CRC32_MEANS_COUNT];
};

/* Measures all implementations at the level in force, in some 50 us. Return: false if
 * there is no memory for that. Threads: any.
 */
bool rn_speed_measure(struct rn_speed *s);

/* Returns the implementation to use after these measurements: the widest one, or a
 * narrower one that is faster by more than the margin.
 */
enum rn_crc32_means rn_speed_fastest(const struct rn_speed *s);

#endif /* RN_SPEED_H */
