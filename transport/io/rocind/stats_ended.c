/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_ended.c - a file with the counters of programs that have ended. */
#include "stats_ended.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rocin/netdev.h"
#include "transport/io/host/runtime_dir.h"

enum {
	MAGIC = 0x524f4345, /* "ROCE" */
	VERSION = 1,
	RECENT = 64, /* number of the last added pages whose inodes are remembered */
};

/* Contents of the file. It is written by one pwrite(). A reader that sees only a part of
 * that write notices it, because @number and @number_again differ.
 */
struct ended {
	uint32_t magic, version;
	uint64_t number; /* number of programs that were added so far */
	uint64_t recent[RECENT];
	struct {
		char ibdev[32]; /* "": free */
		uint64_t counter[RN_STATS_COUNTERS_MAX];
	} device[RN_NETDEV_MAX];
	uint64_t number_again;
};

static int open_file(const char *dir, int flags)
{
	char name[64], path[RN_RUNTIME_PATH_MAX + sizeof(name)];

	rn_runtime_name(name, sizeof(name), "counters", "");
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return rn_open_plain(AT_FDCWD, path, flags);
}

/* Reads the file. A file of another version counts as one without counters. */
static void read_file(int fd, struct ended *e)
{
	for (unsigned tries = 0; tries < 100; tries++) {
		if (pread(fd, e, sizeof(*e), 0) != (ssize_t)sizeof(*e) ||
		    e->magic != MAGIC || e->version != VERSION)
			break;
		if (e->number == e->number_again)
			return;
	}
	memset(e, 0, sizeof(*e));
	e->magic = MAGIC;
	e->version = VERSION;
}

/* Returns the sums of a device. If it has none, returns NULL or, with @create, a new
 * entry (NULL if all are in use).
 */
static uint64_t *find_device(struct ended *e, const char *ibdev, bool create)
{
	for (unsigned i = 0; i < RN_ARRAY_SIZE(e->device); i++) {
		if (!e->device[i].ibdev[0] && create)
			(void)snprintf(e->device[i].ibdev, sizeof(e->device[i].ibdev),
				       "%s", ibdev);
		if (strncmp(e->device[i].ibdev, ibdev, sizeof(e->device[i].ibdev)) == 0)
			return e->device[i].counter;
	}
	return NULL;
}

static bool was_added(const struct ended *e, uint64_t inode)
{
	for (unsigned i = 0; i < RECENT; i++)
		if (e->recent[i] == inode)
			return true;
	return false;
}

/* Adds the counters of a page to the sums in @e. Return: false if nothing was added,
 * because the page was added before or there is no room for its device.
 */
static bool add_page(struct ended *e, const char *ibdev, const struct rn_stats_page *page,
		     uint64_t inode)
{
	uint64_t *counter = was_added(e, inode) ? NULL : find_device(e, ibdev, true);

	if (!counter)
		return false;
	for (uint32_t i = 0; i < page->counter_count && i < RN_STAT_COUNT; i++)
		counter[i] += page->counter[i];
	e->recent[e->number++ % RECENT] = inode;
	e->number_again = e->number;
	return true;
}

int rn_stats_ended_add(const char *dir, const char *ibdev, int page_fd)
{
	struct rn_stats_page page;
	struct stat st;
	struct ended *e;
	int fd, rc = 0;

	if (pread(page_fd, &page, sizeof(page), 0) != (ssize_t)sizeof(page) ||
	    page.magic != RN_STATS_PAGE_MAGIC || page.version != RN_STATS_PAGE_VERSION ||
	    fstat(page_fd, &st) < 0)
		return -EPROTO;
	e = malloc(sizeof(*e));
	if (!e)
		return -ENOMEM;
	fd = open_file(dir, O_RDWR | O_CREAT);
	if (fd < 0) {
		free(e);
		return -errno;
	}
	read_file(fd, e);
	if (add_page(e, ibdev, &page, st.st_ino) &&
	    pwrite(fd, e, sizeof(*e), 0) != (ssize_t)sizeof(*e))
		rc = -EIO;
	close(fd);
	free(e);
	return rc;
}

uint64_t rn_stats_ended_read(const char *dir, const char *ibdev,
			     uint64_t counter[RN_STAT_COUNT])
{
	struct ended *e = malloc(sizeof(*e));
	int fd = e ? open_file(dir, O_RDONLY) : -1;
	const uint64_t *sums;
	uint64_t number = 0;

	memset(counter, 0, RN_STAT_COUNT * sizeof(*counter));
	if (fd >= 0) {
		read_file(fd, e);
		close(fd);
		sums = find_device(e, ibdev, false);
		if (sums)
			memcpy(counter, sums, RN_STAT_COUNT * sizeof(*counter));
		number = e->number;
	}
	free(e);
	return number;
}
