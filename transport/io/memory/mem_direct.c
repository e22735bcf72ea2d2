/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem_direct.c - memory operations (struct rn_mem_ops) by plain loads and stores;
 * see mem_direct.h.
 *
 * Copies are made by loops in this file, not by memcpy(), which may store in any order
 * (that of glibc stores the first bytes last). Also, memcpy() uses "rep movsb" from 2 KiB
 * on, which is twenty times slower on some processors if source and destination have
 * almost the same offset in a page, as the payload of a packet and a page of the program
 * do.
 */
#include "mem_direct.h"

#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mem_guard.h"
#include "rocin/cpu.h"
#include "rocin/crc32.h"

/* Convert an address, as the device uses it, to a pointer. */
static inline void *pointer(rn_iova addr)
{
	return (void *)(uintptr_t)addr; /* NOLINT(performance-no-int-to-ptr) */
}

/* Marks functions whose accesses race with those of the program by design. Sanitizers of
 * compilers would report them as errors.
 */
#define RACY __attribute__((no_sanitize("thread", "address", "undefined")))

#define BLOCK ((size_t)64) /* length of a cache line in bytes */

typedef uint64_t unaligned64 __attribute__((aligned(1), may_alias));
typedef uint32_t unaligned32 __attribute__((aligned(1), may_alias));
typedef uint16_t unaligned16 __attribute__((aligned(1), may_alias));
typedef uint64_t vec16 __attribute__((vector_size(16), aligned(1), may_alias));

/* Keep the compiler from reordering stores, and from replacing the loop by memcpy(). */
static inline void keep_order(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Store @size (1, 2, 4 or 8) bytes, naturally aligned, by one store after all
 * earlier stores.
 */
static inline RACY void store_release(void *dst, const void *src, unsigned size)
{
	switch (size) {
	case 1:
		__atomic_store_n((uint8_t *)dst, *(const uint8_t *)src, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((uint16_t *)dst, *(const unaligned16 *)src,
				 __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)dst, *(const unaligned32 *)src,
				 __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint64_t *)dst, *(const unaligned64 *)src,
				 __ATOMIC_RELEASE);
		break;
	}
}

static inline RACY void load_once(void *dst, const void *src, unsigned size)
{
	switch (size) {
	case 1:
		*(uint8_t *)dst = __atomic_load_n((const uint8_t *)src, __ATOMIC_RELAXED);
		break;
	case 2:
		*(unaligned16 *)dst =
			__atomic_load_n((const uint16_t *)src, __ATOMIC_RELAXED);
		break;
	case 4:
		*(unaligned32 *)dst =
			__atomic_load_n((const uint32_t *)src, __ATOMIC_RELAXED);
		break;
	default:
		*(unaligned64 *)dst =
			__atomic_load_n((const uint64_t *)src, __ATOMIC_RELAXED);
		break;
	}
}

/* Return: size in bytes of the largest store that is naturally aligned at @addr and not
 * longer than @len.
 */
static inline unsigned piece(uintptr_t addr, size_t len)
{
	unsigned size = 8;

	while ((addr & (size - 1)) != 0 || size > len)
		size /= 2;
	return size;
}

static inline bool is_one_word(uintptr_t addr, size_t len)
{
	return len <= 8 && (len & (len - 1)) == 0 && (addr & (len - 1)) == 0;
}

/* Copy whole blocks, in ascending order. */
static RACY void copy_blocks(uint8_t *dst, const uint8_t *src, size_t blocks)
{
	for (; blocks > 0; blocks--, dst += BLOCK, src += BLOCK) {
		const vec16 *s = (const vec16 *)src;
		vec16 *d = (vec16 *)dst;
		vec16 a = s[0], b = s[1], c = s[2], e = s[3];

		d[0] = a;
		keep_order();
		d[1] = b;
		keep_order();
		d[2] = c;
		keep_order();
		d[3] = e;
		keep_order();
	}
}

#if defined(__x86_64__)
typedef uint64_t vec32 __attribute__((vector_size(32), aligned(1), may_alias));

static RACY __attribute__((target("avx2"))) void
copy_blocks_avx2(uint8_t *dst, const uint8_t *src, size_t blocks)
{
	for (; blocks > 0; blocks--, dst += BLOCK, src += BLOCK) {
		vec32 a = ((const vec32 *)src)[0], b = ((const vec32 *)src)[1];

		((vec32 *)dst)[0] = a;
		keep_order();
		((vec32 *)dst)[1] = b;
		keep_order();
	}
}
#endif

/* Copy whole blocks by the widest stores that the CPU level in force allows
 * (rocin/cpu.h).
 */
static void copy_body(uint8_t *dst, const uint8_t *src, size_t blocks)
{
#if defined(__x86_64__)
	if (rn_cpu_level() >= RN_CPU_AVX2) {
		copy_blocks_avx2(dst, src, blocks);
		return;
	}
#endif
	copy_blocks(dst, src, blocks);
}

/* Copy 16 bytes at a time in ascending order. The caller copies the last 1 to 16 of the
 * @len bytes. Return: number of bytes copied.
 */
static inline RACY size_t copy_pieces(uint8_t *dst, const uint8_t *src, size_t len)
{
	size_t at = 0;

	for (; at + 16 < len; at += 16) {
		*(vec16 *)(dst + at) = *(const vec16 *)(src + at);
		keep_order();
	}
	return at;
}

/* Copy whole words to an aligned address, such as a CQE or a short message, in ascending
 * order. The last store has release semantics. @len is not 0.
 */
static RACY void copy_words(uint8_t *dst, const uint8_t *src, size_t len)
{
	if (((uintptr_t)dst & 8) != 0) {
		store_release(dst, src, 8);
		dst += 8, src += 8, len -= 8;
	}
	for (; len > 16; dst += 16, src += 16, len -= 16) {
		*(vec16 *)dst = *(const vec16 *)src;
		keep_order();
	}
	for (; len > 0; dst += 8, src += 8, len -= 8)
		store_release(dst, src, 8);
}

/* Copy in ascending order of addresses, by naturally aligned stores. The last store has
 * release semantics.
 */
static RACY void copy_up(uint8_t *dst, const uint8_t *src, size_t len)
{
	unsigned n;

	if (len <= 2 * (size_t)BLOCK && (((uintptr_t)dst | len) & 7) == 0 && len > 0) {
		copy_words(dst, src, len);
		return;
	}
	/* Copy all blocks but the last one; its words are stored one by one below. */
	if (len > 2 * (size_t)BLOCK) {
		size_t blocks;

		while (((uintptr_t)dst & 31) != 0) {
			n = piece((uintptr_t)dst, 32 - ((uintptr_t)dst & 31));
			store_release(dst, src, n);
			dst += n, src += n, len -= n;
		}
		blocks = (len - 1) / BLOCK;
		copy_body(dst, src, blocks);
		dst += blocks * BLOCK;
		src += blocks * BLOCK;
		len -= blocks * BLOCK;
	}
	if (len >= 24 && ((uintptr_t)dst & 15) == 8) {
		store_release(dst, src, 8);
		dst += 8, src += 8, len -= 8;
	}
	if (((uintptr_t)dst & 15) == 0) {
		size_t n16 = copy_pieces(dst, src, len);

		dst += n16, src += n16, len -= n16;
	}
	for (; len >= 16; dst += 8, src += 8, len -= 8) {
		if (((uintptr_t)dst & 7) != 0)
			break;
		store_release(dst, src, 8);
	}
	for (; len > 0; dst += n, src += n, len -= n) {
		n = piece((uintptr_t)dst, len);
		store_release(dst, src, n);
	}
}

/* Copy to memory that no other thread reads meanwhile, so that stores may have any order
 * and bytes may be stored twice.
 */
static RACY void copy_in(uint8_t *dst, const uint8_t *src, size_t len)
{
	if (len < 16 || len > 2 * BLOCK) {
		copy_up(dst, src, len);
		return;
	}
	copy_pieces(dst, src, len);
	*(vec16 *)(dst + len - 16) = *(const vec16 *)(src + len - 16);
}

/* ------------------------ copying by system calls, without a signal handler */
static enum rn_mem_result vm_write(rn_iova dst, const void *src, size_t len)
{
	struct iovec from = { (void *)src, len };
	struct iovec to = { pointer(dst), len };

	return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == (ssize_t)len
		       ? RN_MEM_DONE
		       : RN_MEM_FAULT;
}

static enum rn_mem_result vm_read(void *dst, rn_iova src, size_t len)
{
	struct iovec to = { dst, len };
	struct iovec from = { pointer(src), len };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)len
		       ? RN_MEM_DONE
		       : RN_MEM_FAULT;
}

/* ---------------------------------------------------- the memory operations */
static RACY enum rn_mem_result direct_write(void *ctx, rn_iova dst, const void *src,
					    uint32_t len, struct rn_mem_attr attr)
{
	struct rn_guard g;

	(void)ctx;
	(void)attr;
	if (!rn_guard_ready())
		return vm_write(dst, src, len);
	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return RN_MEM_FAULT;
	}
	rn_guard_enter(&g, (uintptr_t)dst, len);
	if (is_one_word((uintptr_t)dst, len))
		store_release(pointer(dst), src, len);
	else
		copy_up(pointer(dst), src, len);
	rn_guard_leave(&g);
	return RN_MEM_DONE;
}

static RACY enum rn_mem_result direct_read(void *ctx, void *dst, rn_iova src,
					   uint32_t len, struct rn_mem_attr attr,
					   uint64_t tag)
{
	struct rn_guard g;

	(void)ctx;
	(void)attr;
	(void)tag;
	if (!rn_guard_ready())
		return vm_read(dst, src, len);
	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return RN_MEM_FAULT;
	}
	rn_guard_enter(&g, (uintptr_t)src, len);
	if (is_one_word((uintptr_t)src, len))
		load_once(dst, pointer(src), len);
	else
		copy_in(dst, pointer(src), len);
	rn_guard_leave(&g);
	return RN_MEM_DONE;
}

static RACY enum rn_mem_result direct_read_part(void *ctx, void *dst, rn_iova src,
						uint32_t len, struct rn_mem_attr attr,
						struct rn_crc32_part *part)
{
	struct rn_guard g;

	part->len = 0;
	if (!rn_crc32_can_copy(len) || !rn_guard_ready())
		return direct_read(ctx, dst, src, len, attr, 0);
	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return RN_MEM_FAULT;
	}
	rn_guard_enter(&g, (uintptr_t)src, len);
	rn_crc32_copy(dst, pointer(src), len, part);
	rn_guard_leave(&g);
	return RN_MEM_DONE;
}

static RACY uint64_t do_atomic(const struct rn_mem_atomic_req *req)
{
	uint64_t *word = pointer(req->dst);
	uint64_t found = req->compare, value;

	if (req->op == RN_MEM_FETCH_ADD)
		return __atomic_fetch_add(word, req->operand, __ATOMIC_SEQ_CST);
	/* The first guess at the old value, the operand `compare', is right if a compare
	 * and swap succeeds.
	 */
	while (rn_mem_atomic_result(req, found, &value) &&
	       !__atomic_compare_exchange_n(word, &found, value, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST))
		continue;
	return found;
}

/* Execute an atomic when there is no fault handler. Reads the word by a system call
 * first, to see whether it is mapped. If the program unmaps it between that and the
 * atomic, the program is killed by the fault.
 */
static enum rn_mem_result vm_atomic(const struct rn_mem_atomic_req *req, uint64_t *orig)
{
	uint64_t probe;
	enum rn_mem_result result = vm_read(&probe, req->dst, sizeof(probe));

	if (result == RN_MEM_DONE)
		*orig = do_atomic(req);
	return result;
}

static enum rn_mem_result direct_atomic(void *ctx, const struct rn_mem_atomic_req *req,
					uint64_t *orig, struct rn_mem_attr attr,
					uint64_t tag)
{
	struct rn_guard g;

	(void)ctx;
	(void)attr;
	(void)tag;
	assert((req->dst & 7) == 0);
	if (!rn_guard_ready())
		return vm_atomic(req, orig);
	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return RN_MEM_FAULT;
	}
	rn_guard_enter(&g, (uintptr_t)req->dst, 8);
	*orig = do_atomic(req);
	rn_guard_leave(&g);
	return RN_MEM_DONE;
}

const struct rn_mem_ops rn_mem_direct_ops = {
	.always_done = true,
	.write = direct_write,
	.read = direct_read,
	.read_part = direct_read_part,
	.atomic = direct_atomic,
};

int rn_mem_direct_init(void)
{
	static atomic_flag watched = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&watched))
		rn_guard_watch(true);
	return rn_guard_install();
}
