/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* far_copy.h - copying into memory that another processor has just read.
 *
 * An ordinary store to a line that lies in the cache of another processor fetches the
 * line first, though all of it is written over. Where the two processors have no cache in
 * common this takes longer than anything else that happens to a packet. String
 * instructions know that whole lines are written, and fetch nothing: 4 KiB packets go
 * from core to core twice as fast then.
 */
#ifndef RN_FAR_COPY_H
#define RN_FAR_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RN_FAR_COPY_MIN =
		1024, /* bytes that are worth the start of a string instruction */
};

/* As memcpy(). The bytes may be stored in any order; stores that follow come after them.
 * Fastest if the two do not begin at almost the same offset of a page.
 */
void rn_far_copy(uint8_t *dst, const uint8_t *src, size_t len);

/* Can rn_far_copy_past() do anything else than rn_far_copy()? */
bool rn_far_copy_has_past(void);

/* As rn_far_copy(), whole lines past the caches: they leave for memory by themselves
 * while this processor goes on. Faster where the other one is very far, and much slower
 * where the two have a cache in common: to be tried.
 */
void rn_far_copy_past(uint8_t *dst, const uint8_t *src, size_t len);

#endif /* RN_FAR_COPY_H */
