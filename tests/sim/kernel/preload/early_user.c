/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* early_user.c - a library that uses the hooked functions before anything is set up.
 *
 * Preloaded beside the stand-in. It replaces malloc(), as jemalloc and tcmalloc do: the
 * first allocation, which the dynamic linker makes, reads configuration files under a
 * lock that is not recursive. And its constructor, of the highest priority that a program
 * can have, looks for the device.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static alignas(16) char arena[16 << 20];
static _Atomic size_t used;
static enum {
	FRESH,
	INITIALISING,
	READY
} allocator; /* first use is single-threaded */

/* Each block is preceded by its size, in 16 bytes. Nothing is given back. */
static void *allocate(size_t len)
{
	size_t need = (len + 15) / 16 * 16 + 16;
	size_t at = atomic_fetch_add(&used, need);

	if (need < len || at + need > sizeof(arena))
		return NULL;
	memcpy(arena + at, &len, sizeof(len));
	return arena + at + 16;
}

static void read_configuration(void)
{
	char buf[64];
	int fd;

	if (allocator == INITIALISING)
		abort(); /* malloc() within malloc(): a real one would deadlock */
	allocator = INITIALISING;
	(void)!readlink("/etc/malloc.conf", buf, sizeof(buf));
	fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	fd = openat(AT_FDCWD, "/sys/kernel/mm/transparent_hugepage/enabled",
		    O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	(void)!access("/dev/shm", R_OK);
	/* And a path of the stand-in's own. */
	(void)!access("/sys/class/infiniband", R_OK);
	allocator = READY;
}

EXPORT void *malloc(size_t len)
{
	if (allocator != READY)
		read_configuration();
	return allocate(len);
}

EXPORT void *calloc(size_t count, size_t len)
{
	return malloc(count * len); /* the arena is zero */
}

EXPORT void *realloc(void *old, size_t len)
{
	void *block = malloc(len);
	size_t old_len = 0;

	if (block && old) {
		memcpy(&old_len, (char *)old - 16, sizeof(old_len));
		memcpy(block, old, old_len < len ? old_len : len);
	}
	return block;
}

EXPORT void free(void *block)
{
	(void)block;
}

/* Priority 0 to 100 is libc's own: nobody comes earlier. */
__attribute__((constructor(101))) static void look_for_the_device(void)
{
	const char *report = getenv("RN_EARLY_REPORT");
	DIR *dir = opendir("/sys/class/infiniband");
	int fd = open("/sys/class/infiniband/rocin0/node_type", O_RDONLY | O_CLOEXEC);

	if (report && allocator == READY && dir && fd >= 0)
		fprintf(stderr, "%s\n", report);
	if (dir)
		closedir(dir);
	if (fd >= 0)
		close(fd);
}
