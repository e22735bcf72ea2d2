/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* declared_pages.c - pages of the program become pages of a memfd. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "declared.h"

/* A line of /proc/self/maps. */
struct mapping {
	uintptr_t lo, hi;
	char rights[5];
	unsigned long long inode;
	bool is_stack;
};

/* The rest of a line whose beginning is @line: of a file with a long name. */
static void skip_rest(FILE *maps, const char *line)
{
	char rest[512];

	while (!strchr(line, '\n') && fgets(rest, sizeof(rest), maps))
		line = rest;
}

static bool read_mapping(FILE *maps, struct mapping *m)
{
	char line[512];
	unsigned long lo, hi;

	if (!fgets(line, sizeof(line), maps))
		return false;
	skip_rest(maps, line);
	if (sscanf(line, "%lx-%lx %4s %*s %*s %llu", &lo, &hi, m->rights, &m->inode) != 4)
		return false;
	m->lo = lo;
	m->hi = hi;
	m->is_stack = strstr(line, "[stack") != NULL;
	return true;
}

/* Do all mappings of [lo, hi), without a gap, please @accept? */
static bool all_mappings(uintptr_t lo, uintptr_t hi,
			 bool (*accept)(const struct mapping *m,
					const struct rn_declared *d),
			 const struct rn_declared *d)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct mapping m;

	if (!maps)
		return false;
	while (lo < hi && read_mapping(maps, &m)) {
		if (m.hi <= lo)
			continue;
		if (m.lo > lo || !accept(&m, d))
			break;
		lo = m.hi;
	}
	fclose(maps);
	return lo >= hi;
}

static bool is_private_anonymous(const struct mapping *m, const struct rn_declared *d)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	(void)d;
	return strcmp(m->rights, "rw-p") == 0 && m->inode == 0 && !m->is_stack &&
	       (here < m->lo || here >= m->hi);
}

static bool is_memfd_of(const struct mapping *m, const struct rn_declared *d)
{
	return m->inode == d->inode && m->rights[3] == 's';
}

bool rn_declared_is_in_place(const struct rn_declared *d)
{
	return d->engine && all_mappings(d->lo, d->hi, is_memfd_of, d);
}

/* Stores wait from here on, in the handler, for the host lock. */
static int move_pages(struct rn_declared *d, int fd, char *engine)
{
	size_t len = d->hi - d->lo;

	if (mprotect(rn_gpu_pointer(d->lo), len, PROT_READ) < 0)
		return -ENOMEM;
	memcpy(engine, rn_gpu_pointer(d->lo), len);
	if (mmap(rn_gpu_pointer(d->lo), len, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		mprotect(rn_gpu_pointer(d->lo), len, PROT_READ | PROT_WRITE);
		return -ENOMEM;
	}
	return 0;
}

int rn_declared_replace(struct rn_declared *d)
{
	size_t len = d->hi - d->lo;
	struct stat st;
	char *engine;
	int fd, err = -ENOMEM;

	if (!all_mappings(d->lo, d->hi, is_private_anonymous, d))
		return -ENOTSUP;
	fd = memfd_create("rocin-declared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -ENOMEM;
	/* Sealed: others of this user may get at it by /proc. */
	if (ftruncate(fd, (off_t)len) < 0 || fstat(fd, &st) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto out_close;
	engine = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (engine == MAP_FAILED)
		goto out_close;
	err = move_pages(d, fd, engine);
	if (err) {
		munmap(engine, len);
		goto out_close;
	}
	d->engine = engine;
	d->inode = st.st_ino;
out_close:
	close(fd);
	return err;
}
