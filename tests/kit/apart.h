/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* apart.h - maps memory far away from other mappings, so that its addresses stay free
 * after it is unmapped.
 */
#ifndef RN_APART_H
#define RN_APART_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* Maps private anonymous pages of @len bytes, a multiple of the page size, with the
 * protection @prot. The caller may unmap them by munmap(), whole or in parts. Returns
 * NULL if the address space has no room.
 *
 * A test may unmap memory and then check that its addresses have no memory. With plain
 * mmap() this could fail: mmap() uses the highest free range that is large enough, so the
 * next stack or library of any thread could get the unmapped addresses. Above the pages
 * that this function returns, 4 GiB of addresses are free, which is more than a test
 * maps. So no other mapping gets these pages.
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
