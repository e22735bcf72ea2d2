/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* crc32.h - the CRC-32 of Ethernet and of the ICRC, by the fastest
 * instructions that the processor has.
 *
 * Threads: any; nothing here has state.
 */
#ifndef RN_CRC32_H
#define RN_CRC32_H

#include "rocin/types.h"

enum {
	RN_CRC32_HEAD = 64 /* bytes */
};

/* The CRC of RN_CRC32_HEAD bytes at @head, followed by @len bytes at @p. The
 * register is initially zero, not all ones, so leading zero bytes have no effect;
 * for a CRC that begins with ones, the caller inverts the first four bytes. The
 * result is inverted as usual.
 *
 * A caller that writes the head just before should write whole words: they can then be
 * read back at once, and otherwise only when all stores before have reached the cache.
 */
uint32_t rn_crc32(const uint64_t head[RN_CRC32_HEAD / 8], const uint8_t *p, size_t len);

/* Ways to compute the CRC: the number of bytes that one step takes in, from the slowest
 * way to the fastest.
 */
enum rn_crc32_means {
	RN_CRC32_PLAIN, /* by libdeflate */
	RN_CRC32_BY_32,
	RN_CRC32_BY_64,
};

/* The fastest way that this processor supports. */
enum rn_crc32_means rn_crc32_best(void);

/* As rn_crc32(), by @means, which must not exceed rn_crc32_best(); for tests. */
uint32_t rn_crc32_by(enum rn_crc32_means means, const uint64_t head[RN_CRC32_HEAD / 8],
		     const uint8_t *p, size_t len);

/* What is needed of the last bytes of a message to compute its CRC without reading them
 * again: 16 bytes that replace them. Their number must be a power of two from
 * RN_CRC32_PART_MIN to RN_CRC32_PART_MAX.
 */
struct rn_crc32_part {
	uint64_t w[2];
	uint32_t len; /* number of bytes that are replaced; 0: none */
};

enum {
	RN_CRC32_PART_MIN = 256,
	RN_CRC32_PART_MAX = 4096,
};

/* Can rn_crc32_copy() copy @len bytes? On some processors it never can. */
bool rn_crc32_can_copy(size_t len);

/* Copy @len bytes and fill in *@part in one pass, reading @src only once: *@part fits the
 * bytes at @dst, even if somebody writes to @src meanwhile. The ranges do not overlap.
 */
void rn_crc32_copy(uint8_t *dst, const uint8_t *src, uint32_t len,
		   struct rn_crc32_part *part);

/* As rn_crc32_copy(), by @means, which must not exceed rn_crc32_best() nor be
 * RN_CRC32_PLAIN; for tests.
 */
void rn_crc32_copy_by(enum rn_crc32_means means, uint8_t *dst, const uint8_t *src,
		      uint32_t len, struct rn_crc32_part *part);

/* As rn_crc32(): the CRC of the head, @len bytes at @p (a multiple of 16), and the bytes
 * that @part, which is not empty, replaces.
 */
uint32_t rn_crc32_with(const uint64_t head[RN_CRC32_HEAD / 8], const uint8_t *p,
		       size_t len, const struct rn_crc32_part *part);

#endif /* RN_CRC32_H */
