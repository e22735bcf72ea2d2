/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pages.c - is this memory there, and may it be written? */
#include "pages.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static uintptr_t page_size;
static bool can_populate;
static char probe_byte;

static int populate(uintptr_t first, size_t len, bool write)
{
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	while (madvise(rnp_pages_pointer(first), len, advice))
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	return 0;
}

/* EINVAL means "unknown advice" to an old kernel and "not with that right" to a new one:
 * ask once about memory that is surely there.
 */
static void probe(void)
{
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	can_populate =
		populate((uintptr_t)&probe_byte & ~(page_size - 1), page_size, true) == 0;
}

static void probe_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, probe);
}

/* One byte of each page, by a call that reports a fault instead of raising it. */
int rnp_pages_read(const void *addr, size_t len)
{
	uintptr_t at = (uintptr_t)addr, end = at + len;
	struct iovec remote[IOV_MAX], local;
	char sink[IOV_MAX];

	probe_once();
	while (at < end) {
		unsigned n = 0;
		long got;

		for (; n < IOV_MAX && at < end; n++) {
			remote[n] = (struct iovec){ rnp_pages_pointer(at), 1 };
			at = (at & ~(page_size - 1)) + page_size;
		}
		local = (struct iovec){ sink, n };
		got = syscall(SYS_process_vm_readv, getpid(), &local, 1, remote, n, 0);
		if (got >= 0 && got < (long)n)
			return -EFAULT;
		if (got < 0 && errno == EFAULT)
			return -EFAULT;
		if (got < 0)
			return 0; /* not allowed to ask: found out when it is used */
	}
	return 0;
}

int rnp_pages_populate(const void *addr, size_t len, bool write)
{
	uintptr_t first = (uintptr_t)addr, last = first + len;

	if (len == 0)
		return 0;
	probe_once();
	if (last < first || last > UINTPTR_MAX - page_size)
		return -EINVAL;
	if (!can_populate)
		return rnp_pages_read(addr, len);
	first &= ~(page_size - 1);
	last = (last + page_size - 1) & ~(page_size - 1);
	return populate(first, last - first, write) ? -EFAULT : 0;
}

int rnp_pages_mapped(const void *addr, size_t len)
{
	unsigned char there[1024];
	uintptr_t at, end = (uintptr_t)addr + len;

	probe_once();
	for (at = (uintptr_t)addr & ~(page_size - 1); at < end;) {
		size_t left = end - at, most = sizeof(there) * page_size;
		size_t n = left < most ? left : most;

		if (mincore(rnp_pages_pointer(at), n, there))
			return -EFAULT;
		at += n;
	}
	return 0;
}

void rnp_pages_expect(const void *addr, size_t len)
{
	uintptr_t first;

	probe_once();
	first = (uintptr_t)addr & ~(page_size - 1);
	(void)madvise(rnp_pages_pointer(first), (uintptr_t)addr + len - first,
		      MADV_WILLNEED);
}
