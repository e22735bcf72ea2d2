/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_page.c - statistics of this process in a memfd. */
#include "stats_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fd.h"

enum {
	GROW = 64, /* records at first, then twice as many each time */
	MAP_LEN = RN_STATS_QP_OFFSET + RNP_STATS_QP_MAX * (int)sizeof(struct rn_stats_qp),
};

static struct rn_stats_qp *records(const struct rnp_stats *s)
{
	return (struct rn_stats_qp *)(void *)((char *)s->page + RN_STATS_QP_OFFSET);
}

static size_t file_len(uint32_t capacity)
{
	return RN_STATS_QP_OFFSET + capacity * sizeof(struct rn_stats_qp);
}

/* Memory for @len bytes exists from now on: no SIGBUS at the first store. */
static int reserve(const struct rnp_stats *s, size_t len)
{
	if (s->fd < 0)
		return 0;
	return fallocate(s->fd, 0, 0, (off_t)len) < 0 ? -errno : 0;
}

/* Others may read, and not even that much: a descriptor without the right to write. */
static int open_for_readers(int fd)
{
	char path[64];
	int ro;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	return rnp_fd_own(ro);
}

static void open_file(struct rnp_stats *s)
{
	s->share_fd = -1;
	s->fd = rnp_fd_own(memfd_create("rocin-stats", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (s->fd < 0)
		return;
	if (reserve(s, file_len(0))) {
		rn_fd_close(s->fd);
		s->fd = -1;
		return;
	}
	/* Whoever gets hold of it cannot make it shorter under us. */
	fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK);
	s->share_fd = open_for_readers(s->fd);
}

static void name_program(char *comm, size_t len)
{
	const char *name = program_invocation_short_name;

	(void)snprintf(comm, len, "%s", name ? name : "?");
}

int rnp_stats_open(struct rnp_stats *s, const char *ibdev)
{
	void *map;

	memset(s, 0, sizeof(*s));
	open_file(s);
	map = s->fd < 0
		      ? mmap(NULL, MAP_LEN, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
		      : mmap(NULL, MAP_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (map == MAP_FAILED) {
		rnp_stats_close(s);
		return -ENOMEM;
	}
	s->page = map;
	s->page->magic = RN_STATS_PAGE_MAGIC;
	s->page->version = RN_STATS_PAGE_VERSION;
	s->page->counter_count = RN_STAT_COUNT;
	s->page->pid = (uint32_t)getpid();
	(void)snprintf(s->page->ibdev, sizeof(s->page->ibdev), "%s", ibdev);
	name_program(s->page->comm, sizeof(s->page->comm));
	return 0;
}

void rnp_stats_close(struct rnp_stats *s)
{
	if (s->page)
		munmap(s->page, MAP_LEN);
	if (s->fd >= 0)
		rn_fd_close(s->fd);
	if (s->share_fd >= 0)
		rn_fd_close(s->share_fd);
	s->page = NULL;
	s->fd = s->share_fd = -1;
}

static bool grow(struct rnp_stats *s)
{
	uint32_t capacity = s->page->qp_capacity ? s->page->qp_capacity * 2 : GROW;

	if (capacity > RNP_STATS_QP_MAX || reserve(s, file_len(capacity)))
		return false;
	__atomic_store_n(&s->page->qp_capacity, capacity, __ATOMIC_RELEASE);
	return true;
}

struct rn_stats_qp *rnp_stats_take(struct rnp_stats *s)
{
	uint32_t i = s->hint;

	while (i < s->page->qp_capacity && s->used[i / 64] >> i % 64 & 1)
		i++;
	if (i >= s->page->qp_capacity && !grow(s))
		return NULL;
	s->used[i / 64] |= 1ull << i % 64;
	s->hint = i + 1;
	memset(&records(s)[i], 0, sizeof(struct rn_stats_qp));
	return &records(s)[i];
}

void rnp_stats_give(struct rnp_stats *s, struct rn_stats_qp *rec)
{
	uint32_t i;

	if (!rec)
		return;
	i = (uint32_t)(rec - records(s));
	memset(rec, 0, sizeof(*rec));
	s->used[i / 64] &= ~(1ull << i % 64);
	if (i < s->hint)
		s->hint = i;
}
