/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* far_copy.h - copies to memory that another processor has just read.
 *
 * An ordinary store to a line that is in the cache of another processor fetches the line
 * first, even though all of it is overwritten. If the two processors share no cache, this
 * takes longer than anything else that happens to a packet. String instructions (REP
 * MOVSB) write whole lines and fetch nothing: with them, 4 KiB packets go from core to
 * core twice as fast.
 */
#ifndef RN_FAR_COPY_H
#define RN_FAR_COPY_H

#include "rocin/types.h"

enum {
	RN_FAR_COPY_MIN =
		/* minimum number of bytes for which a string instruction is worth its
		 * start-up time
		 */
		1024,
};

/* Copy as memcpy() does. The bytes may be stored in any order, but before all later
 * stores. Fastest if @dst and @src do not begin at almost the same offset in a page.
 */
void rn_far_copy(uint8_t *dst, const uint8_t *src, size_t len);

/* Return: true if rn_far_copy_past() bypasses the caches, with the vector instructions
 * that are allowed (rocin/cpu.h); false if it does the same as rn_far_copy().
 */
bool rn_far_copy_has_past(void);

/* Copies as rn_far_copy() does, but whole cache lines bypass the caches: they go to
 * memory while this processor continues. This is faster if the other processor shares no
 * cache with this one, and much slower otherwise. So callers have to try which is faster
 * (struct rn_copy_pace).
 */
void rn_far_copy_past(uint8_t *dst, const uint8_t *src, size_t len);

/* Measurements that tell which of rn_far_copy() and rn_far_copy_past() is faster now, for
 * a stream of packets copied to one ring.
 *
 * String instructions take 90 ns for 4 KiB if the two processors share a cache, and three
 * times that if they do not. Bypassing the caches takes the same time everywhere, most of
 * it while the next packet is being built. No property of the machine says which is
 * faster, and the processors of a virtual machine may move. So bursts are timed, and from
 * time to time the slower function is tried again.
 */
struct rn_copy_pace {
	/* time when the burst that is being timed began; 0: none is being timed */
	rn_ns began;
	uint64_t began_at; /* number of bytes copied before that burst */
	/* mean time in ns per MiB: [0] of rn_far_copy(), [1] of rn_far_copy_past(); 0:
	 * not known
	 */
	uint64_t per_mb[2];
	unsigned bursts; /* number of bursts timed so far */
};

/* Begin to time a burst. @at: number of bytes copied so far. */
void rn_copy_pace_begin(struct rn_copy_pace *p, rn_ns now, uint64_t at);

/* End the timing of a burst. @at: number of bytes copied so far; @past: the burst was
 * copied by rn_far_copy_past(). Return: whether to copy the next burst by
 * rn_far_copy_past(); @past if no burst was being timed.
 */
bool rn_copy_pace_end(struct rn_copy_pace *p, rn_ns now, uint64_t at, bool past);

#endif /* RN_FAR_COPY_H */
