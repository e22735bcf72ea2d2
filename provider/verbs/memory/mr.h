/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr.h - access flags of memory regions, and checks of the pages of a region. */
#ifndef RNP_MR_H
#define RNP_MR_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/verbs/object/library.h"
#include "rocin/mr.h"

RNP_SAME(RN_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
RNP_SAME(RN_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
RNP_SAME(RN_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
RNP_SAME(RN_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
RNP_SAME(RN_ACCESS_MW_BIND, IBV_ACCESS_MW_BIND);
RNP_SAME(RN_ACCESS_ZERO_BASED, IBV_ACCESS_ZERO_BASED);
RNP_SAME(RN_ACCESS_ON_DEMAND, IBV_ACCESS_ON_DEMAND);
RNP_SAME(RN_ACCESS_HUGETLB, IBV_ACCESS_HUGETLB);
RNP_SAME(RN_ACCESS_FLUSH_GLOBAL, RNP_ACCESS_FLUSH_GLOBAL);
RNP_SAME(RN_ACCESS_FLUSH_PERSISTENT, RNP_ACCESS_FLUSH_PERSISTENT);
RNP_SAME(RN_ACCESS_RELAXED_ORDERING, IBV_ACCESS_RELAXED_ORDERING);
RNP_SAME(RN_ACCESS_OPTIONAL_RANGE, IBV_ACCESS_OPTIONAL_RANGE);

/**
 * rnp_access_check() - May a region be registered with these flags?
 *
 * Return: 0; -EINVAL: an unknown flag, or a remote write right without
 *	   IBV_ACCESS_LOCAL_WRITE (IBTA Vol 1, memory registration).
 */
static inline int rnp_access_check(uint32_t access)
{
	const uint32_t known = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			       RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC |
			       RN_ACCESS_MW_BIND | RN_ACCESS_ZERO_BASED |
			       RN_ACCESS_ON_DEMAND | RN_ACCESS_HUGETLB;
	const uint32_t flush = RN_ACCESS_FLUSH_GLOBAL | RN_ACCESS_FLUSH_PERSISTENT;
	const uint32_t remote_write = RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_ATOMIC;

	if (access & ~(known | flush | RN_ACCESS_OPTIONAL_RANGE))
		return -EINVAL;
	if ((access & remote_write) && !(access & RN_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/* May the device write to a region with these flags? */
static inline bool rnp_access_writes(uint32_t access)
{
	return access & (RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			 RN_ACCESS_REMOTE_ATOMIC | RN_ACCESS_MW_BIND);
}

/* ----------------------------------------------- pages of the program's memory */

/**
 * rnp_pages_populate() - Check access to a range and fault in its pages, as pinning does
 * @addr:	First byte
 * @len:	Bytes; 0 is fine
 * @write:	Whether the device will write to the range
 *
 * Kernels before 5.14 have no MADV_POPULATE_WRITE; there the range is read once, so
 * memory that exists but may not be written is found only when it is used.
 *
 * Return: 0, -EFAULT (not mapped, or not with that right), -EINVAL (it wraps).
 */
int rnp_pages_populate(const void *addr, size_t len, bool write);

/* Checks that the whole range is mapped, without accessing its pages. Return: 0 or
 * -EFAULT.
 */
int rnp_pages_mapped(const void *addr, size_t len);

/* Tells the kernel that the range will be used soon; does not wait, and cannot fail. */
void rnp_pages_expect(const void *addr, size_t len);

/* Returns a computed address as a pointer. */
static inline void *rnp_pages_pointer(uintptr_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): not to be dereferenced here */
	return (void *)address;
}

/* Does what rnp_pages_populate() does on old kernels: reads the range. Global for tests.
 */
int rnp_pages_read(const void *addr, size_t len);

#endif /* RNP_MR_H */
