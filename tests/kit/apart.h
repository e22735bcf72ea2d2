/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* apart.h - memory that leaves a lasting hole in the address space when it is unmapped.
 */
#ifndef RN_APART_H
#define RN_APART_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* mmap() without an address takes the highest hole that is large enough. Where a test
 * unmaps pages that have other mappings above them, the next stack, library or arena of
 * any thread may be mapped into that hole, and the test finds memory where it expects
 * none. No mapping comes near the pages returned here: there are 4 GiB of free address
 * space above them, which every mapping of a test fits into.
 *
 * Returns private anonymous pages of @len bytes, a multiple of the page size, with the
 * protection @prot; munmap() gives them back, whole or in parts. NULL if the address
 * space has no such room.
 */
static inline void *map_apart(size_t len, int prot)
{
	const size_t room = (size_t)4 << 30;
	uint8_t *low = mmap(NULL, len + room, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (low == MAP_FAILED || munmap(low + len, room) ||
	    mmap(low, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != low)
		return NULL;
	return low;
}

#endif /* RN_APART_H */
