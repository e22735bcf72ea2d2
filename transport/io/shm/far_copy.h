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

#include "rocin/types.h"

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

/* Which of the two ways is faster now: of a stream of packets that are copied to one
 * place.
 *
 * Copying by string instructions takes 90 ns for 4 KiB where the processors have a cache
 * in common, and three times that where they do not; past the caches it takes the same
 * everywhere, most of it while the next packet is being built. No property of the machine
 * tells, and the processors that a virtual machine has may move: so bursts are timed, and
 * the other way is tried now and then.
 */
struct rn_copy_pace {
	rn_ns began;	    /* of the burst that is timed; 0: none is */
	uint64_t began_at;  /* bytes copied by then */
	uint64_t per_mb[2]; /* ns, of string instructions, and past the caches; or 0 */
	unsigned bursts;    /* timed, to try the other way now and then */
};

/* A burst begins; @at: bytes copied so far. */
void rn_copy_pace_begin(struct rn_copy_pace *p, rn_ns now, uint64_t at);

/* The burst has ended; @past: it was copied by rn_far_copy_past(). Return: whether the
 * next burst should be. If no burst had begun that is @past.
 */
bool rn_copy_pace_end(struct rn_copy_pace *p, rn_ns now, uint64_t at, bool past);

#endif /* RN_FAR_COPY_H */
