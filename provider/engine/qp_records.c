/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp_records.c - the number of each queue pair, and its record in the statistics page of
 * this process and device, as well as the records of other objects there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine_internal.h"
#include "rocin/queue_pair.h"
#include "transport/io/host/own_fd.h"

/* ------------------------------------------------------------------- QP numbers */
static bool is_busy(const struct rnp_qpns *q, uint32_t number)
{
	return (q->busy[number / 64] >> number % 64 & 1) != 0;
}

static void flip(struct rnp_qpns *q, uint32_t number)
{
	q->busy[number / 64] ^= 1ull << number % 64;
}

/* Returns the QP number, without the slot in its low byte, for a value of the counter.
 * The permutation may map a counter to 0, which is no valid number; that counter gets the
 * number that the permutation gives for 0.
 */
static uint32_t number_of(const struct rnp_qpns *q, uint32_t counter)
{
	uint32_t number = rn_permute(&q->order, counter);

	return number ? number : rn_permute(&q->order, 0);
}

uint32_t rnp_qpns_counter(const struct rnp_qpns *q, uint32_t qpn)
{
	uint32_t counter = rn_permute_back(&q->order, qpn >> 8);

	return counter ? counter : rn_permute_back(&q->order, 0);
}

static void wake_oldest(struct rnp_qpns *q)
{
	flip(q, q->rest[q->rest_head++ % RNP_QPN_RESTING].number);
}

static void wake_rested(struct rnp_qpns *q, rn_ns now)
{
	while (q->rest_head != q->rest_tail &&
	       now - q->rest[q->rest_head % RNP_QPN_RESTING].since >= RNP_QPN_REST)
		wake_oldest(q);
}

void rnp_qpns_init(struct rnp_qpns *q, unsigned slot, uint32_t counter, uint64_t secret)
{
	assert(slot >= 1 && slot <= 255);
	assert(counter >= 1 && counter < RNP_QPN_COUNTERS);
	memset(q, 0, sizeof(*q));
	q->slot = slot;
	q->next = counter;
	q->order = rn_permutation_of(secret, 8);
	flip(q, 0); /* reserves number 0: packets to QPNs below 256 go to rocind */
}

int rnp_qpns_take(struct rnp_qpns *q, rn_ns now, uint32_t *qpn)
{
	wake_rested(q, now);
	for (uint32_t tries = 0; tries < RNP_QPN_COUNTERS; tries++) {
		uint32_t number = number_of(q, q->next);

		q->next = q->next % (RNP_QPN_COUNTERS - 1) + 1;
		/* QPN 0xffffff, the last of slot 255, addresses all members of a
		 * multicast group.
		 */
		if (is_busy(q, number) || (number << 8 | q->slot) == 0xffffff)
			continue;
		flip(q, number);
		q->live++;
		*qpn = number << 8 | q->slot;
		return 0;
	}
	return -ENOMEM;
}

void rnp_qpns_give(struct rnp_qpns *q, rn_ns now, uint32_t qpn)
{
	assert((qpn & 0xff) == q->slot && is_busy(q, qpn >> 8));
	if (q->rest_tail - q->rest_head == RNP_QPN_RESTING)
		wake_oldest(q);
	q->rest[q->rest_tail % RNP_QPN_RESTING].number = (uint16_t)(qpn >> 8);
	q->rest[q->rest_tail++ % RNP_QPN_RESTING].since = now;
	q->live--;
}

/* ------------------------------------------------------------------- statistics page */
enum {
	GROW = 64, /* number of records at first; doubled each time */
	RECORD_LEN = sizeof(struct rn_stats_qp),
	MAP_LEN = RN_STATS_OBJECT_OFFSET + RN_STATS_RECORDS_MAX * RECORD_LEN,
};

/* One kind of records in the statistics page. @offset is where its records begin in the
 * page, and @shown_capacity the field of the page in which readers find how many there
 * are.
 */
struct array {
	struct rnp_records *records;
	uint32_t offset;
	uint32_t *shown_capacity;
};

static struct array array_of_qps(struct rnp_stats *s)
{
	return (struct array){ &s->qps, RN_STATS_QP_OFFSET, &s->page->qp_capacity };
}

static struct array array_of_objects(struct rnp_stats *s)
{
	return (struct array){ &s->objects, RN_STATS_OBJECT_OFFSET,
			       &s->page->object_capacity };
}

static void *record_at(const struct rnp_stats *s, const struct array *a, uint32_t i)
{
	return (char *)s->page + a->offset + (size_t)i * RECORD_LEN;
}

/* Allocates memory for @len bytes of the statistics page's file from offset @from on, so
 * that no later store there raises SIGBUS. If the process has a limit on the size of
 * files that would raise SIGXFSZ, allocates nothing and fails. Returns 0 or -errno.
 */
static int reserve(const struct rnp_stats *s, size_t from, size_t len)
{
	struct rlimit limit;

	if (s->fd < 0)
		return 0;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && from + len > limit.rlim_cur)
		return -EFBIG;
	return fallocate(s->fd, 0, (off_t)from, (off_t)len) < 0 ? -errno : 0;
}

/* Opens a descriptor of the statistics page for readers, without the right to write. */
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
	if (reserve(s, 0, RN_STATS_QP_OFFSET)) {
		rn_fd_close(s->fd);
		s->fd = -1;
		return;
	}
	/* Prevents any process with a descriptor of the statistics page from truncating
	 * it.
	 */
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

static bool grow(const struct rnp_stats *s, const struct array *a)
{
	uint32_t capacity = a->records->capacity ? a->records->capacity * 2 : GROW;

	if (capacity > RN_STATS_RECORDS_MAX ||
	    reserve(s, a->offset, (size_t)capacity * RECORD_LEN))
		return false;
	a->records->capacity = capacity;
	__atomic_store_n(a->shown_capacity, capacity, __ATOMIC_RELEASE);
	return true;
}

/* Returns the first index that is free, or RN_STATS_RECORDS_MAX. */
static uint32_t first_free(const struct rnp_records *r)
{
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(r->full); i++) {
		uint32_t word;

		if (r->full[i] == UINT64_MAX)
			continue;
		word = i * 64 + (uint32_t)__builtin_ctzll(~r->full[i]);
		return word * 64 + (uint32_t)__builtin_ctzll(~r->used[word]);
	}
	return RN_STATS_RECORDS_MAX;
}

/* Allocates a zeroed record, or returns NULL. */
static void *take_record(const struct rnp_stats *s, const struct array *a)
{
	uint32_t i = first_free(a->records), word = i / 64;

	if (i >= a->records->capacity && !grow(s, a))
		return NULL;
	a->records->used[word] |= 1ull << i % 64;
	if (a->records->used[word] == UINT64_MAX)
		a->records->full[word / 64] |= 1ull << word % 64;
	return memset(record_at(s, a, i), 0, RECORD_LEN);
}

static void give_record(const struct rnp_stats *s, const struct array *a, void *rec)
{
	uint32_t i = (uint32_t)((size_t)((char *)rec - (char *)record_at(s, a, 0)) /
				RECORD_LEN);
	uint32_t word = i / 64;

	memset(rec, 0, RECORD_LEN);
	a->records->used[word] &= ~(1ull << i % 64);
	a->records->full[word / 64] &= ~(1ull << word % 64);
}

struct rn_stats_qp *rnp_stats_take(struct rnp_stats *s)
{
	const struct array a = array_of_qps(s);

	return take_record(s, &a);
}

void rnp_stats_give(struct rnp_stats *s, struct rn_stats_qp *rec)
{
	const struct array a = array_of_qps(s);

	if (rec)
		give_record(s, &a, rec);
}

struct rn_stats_object *rnp_stats_record(struct rnp_stats *s,
					 const struct rn_stats_object *o)
{
	const struct array a = array_of_objects(s);
	struct rn_stats_object *rec = take_record(s, &a);

	if (rec)
		*rec = *o;
	else
		s->page->unrecorded++;
	return rec;
}

void rnp_stats_forget(struct rnp_stats *s, struct rn_stats_object *rec)
{
	const struct array a = array_of_objects(s);

	if (rec)
		give_record(s, &a, rec);
	else
		s->page->unrecorded--;
}

/* ------------------------------------------------ numbers and records of objects */
int rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn)
{
	assert(e->attached);
	return rnp_qpns_take(&e->qpns, rnp_engine_now(), qpn);
}

struct rn_stats_qp *rnp_engine_stats_qp(struct rnp_engine *e)
{
	return rnp_stats_take(&e->stats);
}

struct rn_stats_object *rnp_engine_record(struct rnp_engine *e,
					  const struct rn_stats_object *o)
{
	return rnp_stats_record(&e->stats, o);
}

void rnp_engine_forget(struct rnp_engine *e, struct rn_stats_object *rec)
{
	rnp_stats_forget(&e->stats, rec);
}

void rnp_engine_retire_qp(struct rnp_engine *e, struct rn_qp *qp, struct rn_stats_qp *rec)
{
	rnp_policy_forget(&e->policy, qp);
	rnp_qpns_give(&e->qpns, rnp_engine_now(), rn_qp_qpn(qp));
	rn_qp_set_stats(qp, NULL);
	rnp_stats_give(&e->stats, rec);
}
