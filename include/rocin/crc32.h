/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* crc32.h - the CRC-32 of Ethernet and of the ICRC, by the fastest means of this
 * processor.
 *
 * Threads: any; nothing here has state.
 */
#ifndef RN_CRC32_H
#define RN_CRC32_H

#include "rocin/types.h"

enum {
	RN_CRC32_HEAD = 64 /* bytes */
};

/* The CRC of RN_CRC32_HEAD bytes at @head and, behind them, @len at @p. It begins with an
 * empty register, not with ones, so leading zeros are as if they were not there; a
 * message that is to begin with ones has its first four bytes inverted. The result is
 * inverted as usual.
 *
 * Whoever writes the head just before does so by whole words: then it is read back at
 * once, and otherwise when all stores before it have reached the cache.
 */
uint32_t rn_crc32(const uint64_t head[RN_CRC32_HEAD / 8], const uint8_t *p, size_t len);

/* How many bytes at a time, from the slowest to the fastest. */
enum rn_crc32_means {
	RN_CRC32_PLAIN, /* by libdeflate */
	RN_CRC32_BY_32,
	RN_CRC32_BY_64,
};

/* The best of this processor. */
enum rn_crc32_means rn_crc32_best(void);

/* As rn_crc32(), by means that are not better than the best: for tests. */
uint32_t rn_crc32_by(enum rn_crc32_means means, const uint64_t head[RN_CRC32_HEAD / 8],
		     const uint8_t *p, size_t len);

/* What the last bytes of a message have to do with its CRC: 16 bytes that can stand for
 * them, if their number is a power of two from RN_CRC32_PART_MIN to RN_CRC32_PART_MAX.
 */
struct rn_crc32_part {
	uint64_t w[2];
	uint32_t len; /* bytes that it stands for; 0: none */
};

enum {
	RN_CRC32_PART_MIN = 256,
	RN_CRC32_PART_MAX = 4096,
};

/* Can rn_crc32_copy() do @len bytes? On some processors it never can. */
bool rn_crc32_can_copy(size_t len);

/* Copy and find out in one pass, without a second look at @src: *@part is true of what
 * lies at @dst now, whoever writes to @src meanwhile. They do not overlap.
 */
void rn_crc32_copy(uint8_t *dst, const uint8_t *src, uint32_t len,
		   struct rn_crc32_part *part);

/* As rn_crc32_copy(), by means that are not better than the best, nor plain: for tests.
 */
void rn_crc32_copy_by(enum rn_crc32_means means, uint8_t *dst, const uint8_t *src,
		      uint32_t len, struct rn_crc32_part *part);

/* As rn_crc32(), with @len bytes at @p, a multiple of 16, and those of @part (which is
 * not empty) behind them.
 */
uint32_t rn_crc32_with(const uint64_t head[RN_CRC32_HEAD / 8], const uint8_t *p,
		       size_t len, const struct rn_crc32_part *part);

#endif /* RN_CRC32_H */
