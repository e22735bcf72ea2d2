/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp_records.c - the number of each queue pair, and its record in the statistics page of
 * this process and device.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine_internal.h"
#include "rocin/queue_pair.h"
#include "transport/io/host/own_fd.h"

/* ------------------------------------------------------------------- QP numbers */
static bool is_busy(const struct rnp_qpns *q, uint32_t counter)
{
	return (q->busy[counter / 64] >> counter % 64 & 1) != 0;
}

static void flip(struct rnp_qpns *q, uint32_t counter)
{
	q->busy[counter / 64] ^= 1ull << counter % 64;
}

static void wake_oldest(struct rnp_qpns *q)
{
	flip(q, q->rest[q->rest_head++ % RNP_QPN_RESTING].counter);
}

static void wake_rested(struct rnp_qpns *q, rn_ns now)
{
	while (q->rest_head != q->rest_tail &&
	       now - q->rest[q->rest_head % RNP_QPN_RESTING].since >= RNP_QPN_REST)
		wake_oldest(q);
}

void rnp_qpns_init(struct rnp_qpns *q, unsigned slot, uint32_t counter)
{
	assert(slot >= 1 && slot <= 255);
	assert(counter >= 1 && counter < RNP_QPN_COUNTERS);
	memset(q, 0, sizeof(*q));
	q->slot = slot;
	q->next = counter;
	flip(q, 0); /* never allocated: packets to QPNs below 256 go to rocind */
}

int rnp_qpns_take(struct rnp_qpns *q, rn_ns now, uint32_t *qpn)
{
	wake_rested(q, now);
	for (uint32_t tries = 0; tries < RNP_QPN_COUNTERS; tries++) {
		uint32_t counter = q->next;

		q->next = (q->next + 1) % RNP_QPN_COUNTERS;
		/* QPN 0xffffff, the last of slot 255, addresses all members of a
		 * multicast group.
		 */
		if (is_busy(q, counter) || (counter << 8 | q->slot) == 0xffffff)
			continue;
		flip(q, counter);
		q->live++;
		*qpn = counter << 8 | q->slot;
		return 0;
	}
	return -ENOMEM;
}

void rnp_qpns_give(struct rnp_qpns *q, rn_ns now, uint32_t qpn)
{
	assert((qpn & 0xff) == q->slot && is_busy(q, qpn >> 8));
	if (q->rest_tail - q->rest_head == RNP_QPN_RESTING)
		wake_oldest(q);
	q->rest[q->rest_tail % RNP_QPN_RESTING].counter = (uint16_t)(qpn >> 8);
	q->rest[q->rest_tail++ % RNP_QPN_RESTING].since = now;
	q->live--;
}

/* ------------------------------------------------------------------- statistics page */
enum {
	GROW = 64, /* number of records at first; doubled each time */
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

/* Allocates memory for @len bytes of the file, so that no store raises SIGBUS. */
static int reserve(const struct rnp_stats *s, size_t len)
{
	if (s->fd < 0)
		return 0;
	return fallocate(s->fd, 0, 0, (off_t)len) < 0 ? -errno : 0;
}

/* Opens a descriptor of the page for readers, without the right to write. */
static int open_for_readers(int fd)
{
	char path[64];
	int ro;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	return rn_fd_own(ro);
}

static void open_file(struct rnp_stats *s)
{
	s->share_fd = -1;
	s->fd = rn_fd_own(memfd_create("rocin-stats", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (s->fd < 0)
		return;
	if (reserve(s, file_len(0))) {
		rn_fd_close(s->fd);
		s->fd = -1;
		return;
	}
	/* Prevents any process with a descriptor from truncating the page. */
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

/* ---------------------------------------------- number and record of a queue pair */
int rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn)
{
	assert(e->attached);
	return rnp_qpns_take(&e->qpns, rnp_engine_now(), qpn);
}

struct rn_stats_qp *rnp_engine_stats_qp(struct rnp_engine *e)
{
	return rnp_stats_take(&e->stats);
}

void rnp_engine_retire_qp(struct rnp_engine *e, struct rn_qp *qp, struct rn_stats_qp *rec)
{
	rnp_policy_forget(&e->policy, qp);
	rnp_qpns_give(&e->qpns, rnp_engine_now(), rn_qp_qpn(qp));
	rn_qp_set_stats(qp, NULL);
	rnp_stats_give(&e->stats, rec);
}
