/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_sinks.c - see capture_sinks.h. */
#include "capture_sinks.h"

#include <errno.h>
#include <sys/mman.h>

#include "capture_log.h"

/* ---------------------------------------------------------------- coming, going */
int rn_capture_sinks_add(struct rn_capture_sinks *s, uint64_t id, int fd, uint32_t size,
			 const struct rn_capture_filter *filter)
{
	struct rn_capture_ring_sink *r = s->ring;
	void *mem;
	int rc;

	while (r < s->ring + RN_CAPTURES_MAX && r->ring.shared)
		r++;
	if (r == s->ring + RN_CAPTURES_MAX)
		return -EMFILE;
	if (!rn_capture_is_size(size))
		return -EPROTO;
	mem = mmap(NULL, rn_capture_ring_bytes(size), PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	/* A child has no part in it. */
	(void)madvise(mem, rn_capture_ring_bytes(size), MADV_DONTFORK);
	*r = (struct rn_capture_ring_sink){ .id = id, .filter = *filter };
	rc = rn_capture_writer_init(&r->ring, mem, size);
	if (rc) {
		munmap(mem, rn_capture_ring_bytes(size));
		return rc;
	}
	s->rings |= 1u << (r - s->ring);
	if (filter->qpn)
		s->choosy |= 1u << (r - s->ring);
	return 0;
}

static void end_ring(struct rn_capture_sinks *s, struct rn_capture_ring_sink *r)
{
	rn_capture_publish(&r->ring);
	munmap(r->ring.shared, rn_capture_ring_bytes(r->ring.size));
	s->rings &= ~(1u << (r - s->ring));
	s->choosy &= s->rings;
	*r = (struct rn_capture_ring_sink){ 0 };
}

void rn_capture_sinks_remove(struct rn_capture_sinks *s, uint64_t id)
{
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		if (s->ring[i].ring.shared && s->ring[i].id == id)
			end_ring(s, &s->ring[i]);
}

void rn_capture_sinks_end(struct rn_capture_sinks *s)
{
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		if (s->ring[i].ring.shared)
			end_ring(s, &s->ring[i]);
	rn_capture_log_close(s->log);
	s->log = NULL;
}

/* ------------------------------------------------------------------ who wants it */
bool rn_capture_sinks_are_full(struct rn_capture_sinks *s)
{
	if (s->log)
		return false;
	for (unsigned left = s->rings; left; left &= left - 1)
		if (!rn_capture_is_full(&s->ring[__builtin_ctz(left)].ring))
			return false;
	return true;
}

enum rn_capture_wish rn_capture_sinks_wish(struct rn_capture_sinks *s, unsigned rings)
{
	if (s->log)
		return RN_CAPTURE_WANTED;
	for (unsigned left = rings; left; left &= left - 1)
		if (!rn_capture_is_full(&s->ring[__builtin_ctz(left)].ring))
			return RN_CAPTURE_WANTED;
	return rings ? RN_CAPTURE_NO_ROOM : RN_CAPTURE_NOBODY;
}

/* --------------------------------------------------------------------- recording */
static uint64_t put(struct rn_capture_ring_sink *r, struct rn_capture_record *rec,
		    const struct rn_capture_ends *ends, const uint8_t *packet)
{
	const struct rn_capture_filter *f = &r->filter;

	if (!r->ring.shared || !rn_capture_is_about(f, ends))
		return 0;
	rec->cap = f->snaplen && f->snaplen < rec->len ? f->snaplen : rec->len;
	return rn_capture_put(&r->ring, rec, packet);
}

void rn_capture_sinks_put(struct rn_capture_sinks *s, struct rn_capture_record *rec,
			  const struct rn_capture_ends *ends, const uint8_t *packet,
			  struct rn_capture_numbers *out)
{
	rec->kind = RN_CAPTURE_PACKET;
	rec->qpn = ends->local;
	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++)
		out->ring[i] = put(&s->ring[i], rec, ends, packet);
	out->log = 0;
	if (s->log) {
		rec->cap = rec->len;
		out->log = rn_capture_log_put(s->log, rec, packet);
	}
}

void rn_capture_sinks_remark(struct rn_capture_sinks *s,
			     const struct rn_capture_numbers *about,
			     const struct rn_remark *remark)
{
	struct rn_capture_record rec = { .kind = RN_CAPTURE_REMARK,
					 .cap = sizeof(*remark) };

	for (unsigned i = 0; i < RN_CAPTURES_MAX; i++) {
		rec.number = about->ring[i];
		if (rec.number && s->ring[i].ring.shared)
			rn_capture_put(&s->ring[i].ring, &rec, remark);
	}
	if (about->log && s->log)
		rn_capture_log_remark(s->log, about->log, remark);
}

void rn_capture_sinks_miss(struct rn_capture_sinks *s, unsigned rings, unsigned packets)
{
	for (unsigned left = rings; left; left &= left - 1)
		rn_capture_miss(&s->ring[__builtin_ctz(left)].ring, packets);
}

void rn_capture_sinks_publish(struct rn_capture_sinks *s, bool is_final)
{
	for (unsigned left = s->rings; left; left &= left - 1)
		rn_capture_publish(&s->ring[__builtin_ctz(left)].ring);
	if (s->log && is_final)
		rn_capture_log_release(s->log);
}
