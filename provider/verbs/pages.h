/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pages.h - is this memory there, and may it be written? */
#ifndef RNP_PAGES_H
#define RNP_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * rnp_pages_populate() - Check and fault in a range, as pinning does
 * @addr:	First byte
 * @len:	Bytes; 0 is fine
 * @write:	It will be written
 *
 * Kernels before 5.14 cannot be asked to; there the range is read once, so memory that
 * exists but may not be written is found only when it is used.
 *
 * Return: 0, -EFAULT (not mapped, or not with that right), -EINVAL (it wraps).
 */
int rnp_pages_populate(const void *addr, size_t len, bool write);

/* Is all of it mapped? Touches nothing. 0 or -EFAULT. */
int rnp_pages_mapped(const void *addr, size_t len);

/* It will be used soon; does not wait, and cannot fail. */
void rnp_pages_expect(const void *addr, size_t len);

/* An address that was computed. */
static inline void *rnp_pages_pointer(uintptr_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): not to be dereferenced here */
	return (void *)address;
}

/* The part for old kernels, apart for tests. */
int rnp_pages_read(const void *addr, size_t len);

#endif /* RNP_PAGES_H */
