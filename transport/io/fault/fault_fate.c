/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_fate.c - see fault_fate.h. */
#include "fault_fate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "rocin/opcode.h"
#include "rocin/psn.h"

enum {
	BUCKETS = 256,
	/* The oldest stream goes when there are more: 9 MB. */
	STREAMS_MAX = 8192,
	/* PSNs behind the newest whose passing is counted: what is sent again lies within
	 * the send window, which is smaller.
	 */
	RECENT = 1024,
};

/* Packets of one queue pair that ask, or that answer, in one direction. */
struct stream {
	LIST_ENTRY(stream) in_bucket;
	TAILQ_ENTRY(stream) by_age;
	uint32_t qpn, kind;
	uint32_t first;	 /* PSN */
	uint32_t newest; /* counted from @first */
	uint32_t connections;
	uint64_t passed;
	bool has_begun;
	uint8_t times[RECENT]; /* that a PSN has passed */
};

LIST_HEAD(bucket, stream);
TAILQ_HEAD(ages, stream);

struct rn_fault_fates {
	struct bucket bucket[BUCKETS];
	struct ages ages;
	unsigned streams;
};

struct rn_fault_fates *rn_fault_fates_new(void)
{
	struct rn_fault_fates *f = calloc(1, sizeof(*f));

	if (f)
		TAILQ_INIT(&f->ages);
	return f;
}

static void drop_oldest(struct rn_fault_fates *f)
{
	struct stream *s = TAILQ_FIRST(&f->ages);

	TAILQ_REMOVE(&f->ages, s, by_age);
	LIST_REMOVE(s, in_bucket);
	f->streams--;
	free(s);
}

void rn_fault_fates_free(struct rn_fault_fates *f)
{
	if (!f)
		return;
	while (f->streams)
		drop_oldest(f);
	free(f);
}

/* ------------------------------------------------------------------------ streams */
static bool is_response(uint8_t opcode)
{
	return (rn_opcode_info[opcode].flags & RN_OP_RESPONSE) != 0;
}

static bool is_connected(uint8_t opcode)
{
	enum rn_opcode_class class = rn_opcode_class(opcode);

	return class == RN_CLASS_RC || class == RN_CLASS_UC || class == RN_CLASS_XRC;
}

bool rn_fault_is_of_peer(const struct rn_fault_packet *p)
{
	return (p->dir == RN_FAULT_RX) != is_response(p->opcode);
}

static uint32_t kind_of(const struct rn_fault_packet *p)
{
	return (uint32_t)p->dir << 2 | (uint32_t)is_response(p->opcode) << 1 |
	       (uint32_t)is_connected(p->opcode);
}

static struct stream *find_stream(struct rn_fault_fates *f, uint32_t qpn, uint32_t kind)
{
	struct bucket *b = &f->bucket[(qpn ^ qpn >> 8 ^ kind << 5) % BUCKETS];
	struct stream *s;

	LIST_FOREACH(s, b, in_bucket)
	if (s->qpn == qpn && s->kind == kind)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	if (f->streams == STREAMS_MAX)
		drop_oldest(f);
	s->qpn = qpn;
	s->kind = kind;
	LIST_INSERT_HEAD(b, s, in_bucket);
	TAILQ_INSERT_TAIL(&f->ages, s, by_age);
	f->streams++;
	return s;
}

/* A connection that begins with another PSN begins its counts. */
static void begin(struct stream *s, uint32_t first)
{
	if (s->has_begun && s->first == first)
		return;
	s->has_begun = true;
	s->first = first;
	s->newest = 0;
	s->connections++;
	memset(s->times, 0, sizeof(s->times));
}

/* How often @offset has passed before this time. */
static uint64_t count_time(struct stream *s, uint32_t offset)
{
	int32_t ahead = rn_psn_diff(rn_psn(offset), rn_psn(s->newest));
	uint8_t *times = &s->times[offset % RECENT];

	/* Older than is counted: by all that has passed, so that not each is lost. */
	if (ahead <= -RECENT)
		return UINT8_MAX + s->passed;
	if (ahead > 0) {
		for (int32_t i = 1; i <= ahead && i <= RECENT; i++)
			s->times[(offset - (uint32_t)(i - 1)) % RECENT] = 0;
		s->newest = offset;
	}
	if (*times == UINT8_MAX)
		return UINT8_MAX + s->passed;
	return (*times)++;
}

/* ------------------------------------------------------------------------ numbers */
/* The end of splitmix64. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t add(uint64_t number, uint64_t value)
{
	return mix(number + value + 0x9e3779b97f4a7c15ull);
}

uint64_t rn_fault_fate(struct rn_fault_fates *f, const struct rn_fault_packet *p,
		       uint32_t first)
{
	uint32_t kind = kind_of(p);
	struct stream *s = find_stream(f, p->qpn, kind);
	uint64_t number = add(add(0, p->qp), kind);
	uint32_t offset;

	if (!s)
		return number;
	s->passed++;
	if (!is_connected(p->opcode))
		return add(number, s->passed);
	if (first != RN_FAULT_NO_PSN || !s->has_begun)
		begin(s, first != RN_FAULT_NO_PSN ? first : p->psn);
	offset = (p->psn - s->first) & RN_PSN_MASK;
	number = add(add(number, s->connections), offset);
	return add(number, count_time(s, offset));
}
