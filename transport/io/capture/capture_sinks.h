/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_sinks.h - where the packets of a device go: to the rings of those who capture,
 * and to the log of its own process.
 *
 * Threads: as net.h.
 */
#ifndef RN_CAPTURE_SINKS_H
#define RN_CAPTURE_SINKS_H

#include "capture_ring.h"
#include "net_capture.h"

struct rn_capture_log;

struct rn_capture_ring_sink {
	uint64_t id;
	struct rn_capture_filter filter;
	struct rn_capture_writer ring; /* shared NULL: free */
};

struct rn_capture_sinks {
	/* Bit by bit: rings that there are; those that want some packets only. */
	unsigned rings, choosy;
	struct rn_capture_ring_sink ring[RN_CAPTURES_MAX];
	struct rn_capture_log *log; /* or NULL */
};

/* What a packet is called in each; 0: it is not there. */
struct rn_capture_numbers {
	uint64_t ring[RN_CAPTURES_MAX], log;
};

/* The queue pairs of a packet; 0: not known. */
struct rn_capture_ends {
	uint32_t local, remote;
};

enum rn_capture_wish {
	RN_CAPTURE_NOBODY,  /* no capture is about a queue pair of the packet */
	RN_CAPTURE_NO_ROOM, /* one is, and its ring is full */
	RN_CAPTURE_WANTED,
};

/* As rn_capture_add() and rn_capture_remove(). */
int rn_capture_sinks_add(struct rn_capture_sinks *s, uint64_t id, int fd, uint32_t size,
			 const struct rn_capture_filter *filter);
void rn_capture_sinks_remove(struct rn_capture_sinks *s, uint64_t id);

/* Ends all, and closes the log. */
void rn_capture_sinks_end(struct rn_capture_sinks *s);

/* Nobody has room, whatever the packet. */
bool rn_capture_sinks_are_full(struct rn_capture_sinks *s);

static inline bool rn_capture_is_about(const struct rn_capture_filter *f,
				       const struct rn_capture_ends *ends)
{
	return !f->qpn || f->qpn == ends->local || f->qpn == ends->remote;
}

/* Rings that want packets of these queue pairs, bit by bit. Here, as this is what a
 * packet costs that nobody captures.
 */
static inline unsigned rn_capture_sinks_about(const struct rn_capture_sinks *s,
					      const struct rn_capture_ends *ends)
{
	unsigned rings = s->rings;

	for (unsigned left = s->choosy; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		if (!rn_capture_is_about(&s->ring[i].filter, ends))
			rings &= ~(1u << i);
	}
	return rings;
}

/* @rings: rn_capture_sinks_about() */
enum rn_capture_wish rn_capture_sinks_wish(struct rn_capture_sinks *s, unsigned rings);

/* As rn_capture_put(), to all whom it concerns. */
void rn_capture_sinks_put(struct rn_capture_sinks *s, struct rn_capture_record *rec,
			  const struct rn_capture_ends *ends, const uint8_t *packet,
			  struct rn_capture_numbers *out);

void rn_capture_sinks_remark(struct rn_capture_sinks *s,
			     const struct rn_capture_numbers *about,
			     const struct rn_remark *remark);

/* Count packets that are not put, to @rings. */
void rn_capture_sinks_miss(struct rn_capture_sinks *s, unsigned rings, unsigned packets);

/* Let readers see what there is. @is_final: no remark about it will come. */
void rn_capture_sinks_publish(struct rn_capture_sinks *s, bool is_final);

#endif /* RN_CAPTURE_SINKS_H */
