/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* crc32.h - the CRC-32 of Ethernet and of the ICRC, computed with the fastest
 * instructions that the processor has, or by those that were measured to be the fastest.
 *
 * Threads: any.
 */
#ifndef RN_CRC32_H
#define RN_CRC32_H

#include "rocin/types.h"

enum {
	/* number of bytes at @head, the first argument of rn_crc32() */
	RN_CRC32_HEAD = 64
};

/* Returns the CRC of RN_CRC32_HEAD bytes at @head, followed by @len bytes at @p. The CRC
 * register is initially zero, not all ones, so leading zero bytes have no effect. If a
 * CRC is defined with a register that is initially all ones, the caller inverts the first
 * four bytes. The result is inverted as usual.
 *
 * A caller that has just written the head should have written it in whole words. The
 * processor can load a word right after the store of the same word (store forwarding);
 * after stores of single bytes, the load has to wait until they have reached the cache.
 */
uint32_t rn_crc32(const uint64_t head[RN_CRC32_HEAD / 8], const uint8_t *p, size_t len);

/* Implementations, from the slowest to the fastest. RN_CRC32_BY_n processes n bytes
 * per step.
 */
enum rn_crc32_means {
	RN_CRC32_PLAIN, /* the implementation of libdeflate */
	/* Folds the head and a short message itself, and leaves a long one to libdeflate.
	 */
	RN_CRC32_BY_16,
	RN_CRC32_BY_32,
	RN_CRC32_BY_64,
	RN_CRC32_MEANS_COUNT,
};

/* Returns the implementation with the widest instructions that this processor has, at the
 * level in force (rocin/cpu.h). On most processors it is the fastest.
 */
enum rn_crc32_means rn_crc32_best(void);

/* Returns the implementation that the functions without @means use: rn_crc32_best(), or
 * what was passed to rn_crc32_use() for the level in force.
 */
enum rn_crc32_means rn_crc32_in_use(void);

/* Makes the functions without @means use the implementation @means, which must not exceed
 * rn_crc32_best(), at the level in force. The results are the same for all.
 */
void rn_crc32_use(enum rn_crc32_means means);

/* Computes the CRC as rn_crc32() does, with implementation @means, which must not exceed
 * rn_crc32_best(). For tests.
 */
uint32_t rn_crc32_by(enum rn_crc32_means means, const uint64_t head[RN_CRC32_HEAD / 8],
		     const uint8_t *p, size_t len);

/* Describes the last bytes of a message by 16 bytes, from which the CRC of the message
 * can be computed without reading the last bytes again. The number of bytes described
 * must be a power of two from RN_CRC32_PART_MIN to RN_CRC32_PART_MAX.
 */
struct rn_crc32_part {
	uint64_t w[2];
	uint32_t len; /* number of bytes described; 0: none */
};

enum {
	RN_CRC32_PART_MIN = 256,
	RN_CRC32_PART_MAX = 4096,
};

/* Returns true if rn_crc32_copy() can copy @len bytes; on some processors it never can.
 */
bool rn_crc32_can_copy(size_t len);

/* Copies @len bytes and computes *@part in one pass. @src is read only once, so *@part is
 * right for the bytes at @dst even if another thread writes to @src meanwhile. The ranges
 * must not overlap.
 */
void rn_crc32_copy(uint8_t *dst, const uint8_t *src, uint32_t len,
		   struct rn_crc32_part *part);

/* Does the same as rn_crc32_copy(), with implementation @means, which must not exceed
 * rn_crc32_best() nor be less than RN_CRC32_BY_32. For tests.
 */
void rn_crc32_copy_by(enum rn_crc32_means means, uint8_t *dst, const uint8_t *src,
		      uint32_t len, struct rn_crc32_part *part);

/* Computes the same CRC as rn_crc32(). The bytes are the head, then @len bytes at @p (a
 * multiple of 16), then the bytes that @part describes. @part must not be empty.
 */
uint32_t rn_crc32_with(const uint64_t head[RN_CRC32_HEAD / 8], const uint8_t *p,
		       size_t len, const struct rn_crc32_part *part);

#endif /* RN_CRC32_H */
