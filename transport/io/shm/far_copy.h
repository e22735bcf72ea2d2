/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* far_copy.h - copying into memory that another processor has just read.
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
		/* Bytes from which on a string instruction is worth its
		 * start-up time.
		 */
		1024,
};

/* As memcpy(). The bytes may be stored in any order; later stores come after them. It is
 * fastest if @dst and @src do not begin at almost the same offset in a page.
 */
void rn_far_copy(uint8_t *dst, const uint8_t *src, size_t len);

/* Does rn_far_copy_past() differ from rn_far_copy() on this processor? */
bool rn_far_copy_has_past(void);

/* As rn_far_copy(), but whole lines bypass the caches: they go to memory while this
 * processor continues. Faster if the other processor is far away, and much slower if the
 * two share a cache, so it has to be tried.
 */
void rn_far_copy_past(uint8_t *dst, const uint8_t *src, size_t len);

/* Finds out which of the two functions is faster now, for a stream of packets
 * copied to one place.
 *
 * String instructions take 90 ns for 4 KiB if the processors share a cache, and three
 * times that if they do not. Bypassing the caches takes the same time everywhere, most of
 * it while the next packet is being built. No property of the machine tells which is
 * faster, and the processors of a virtual machine may move. So bursts are timed, and the
 * other function is tried now and then.
 */
struct rn_copy_pace {
	rn_ns began;	   /* start of the burst that is timed; 0: none is */
	uint64_t began_at; /* bytes copied before that burst */
	/* Ns per MiB, of rn_far_copy() and of rn_far_copy_past(); 0: not known. */
	uint64_t per_mb[2];
	unsigned bursts; /* bursts timed so far */
};

/* A burst begins. @at: bytes copied so far. */
void rn_copy_pace_begin(struct rn_copy_pace *p, rn_ns now, uint64_t at);

/* The burst has ended. @past: it was copied by rn_far_copy_past(). Return: whether the
 * next burst should be; @past if no burst had begun.
 */
bool rn_copy_pace_end(struct rn_copy_pace *p, rn_ns now, uint64_t at, bool past);

#endif /* RN_FAR_COPY_H */
