/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_ring.h - packets of a running program on their way to whoever captures them.
 *
 * One ring for each device and capture: a single writer, the engine that owns the device,
 * and a single reader. Records lie one after the other in memory that both have mapped;
 * one that does not fit before the end of the data begins at its start, behind a pad.
 *
 *   memory   | control page: magic, size, counts | tail | head | data ...
 *   record   | struct rn_capture_record | body ... | up to the next multiple of 16 |
 *
 * The writer never waits: what does not fit is counted and missing. Neither end wakes the
 * other, so that a packet costs the writer a copy and no system call; the reader looks
 * every few milliseconds.
 *
 * Neither believes what the other writes: each value is loaded once and judged. A reader
 * that meets nonsense stops (-EPROTO); a writer that meets a head that cannot be takes
 * the ring for full, for good.
 *
 * Threads: each end belongs to one thread or one lock.
 */
#ifndef RN_CAPTURE_RING_H
#define RN_CAPTURE_RING_H

#include "rocin/flow.h"

enum {
	RN_CAPTURE_CONTROL = 4096, /* bytes before the data */
	RN_CAPTURE_ALIGN = 16,
	RN_CAPTURE_SIZE_MIN = 256 << 10, /* of the data; a power of two */
	RN_CAPTURE_SIZE_MAX = 1 << 30,
	RN_CAPTURE_BODY_MAX = 65535,
};

enum rn_capture_kind {
	RN_CAPTURE_PAD = 1,
	RN_CAPTURE_PACKET,     /* body: BTH to ICRC, cut at the filter's length */
	RN_CAPTURE_DIAGNOSTIC, /* body: struct rn_diagnostic about packet @number */
};

enum rn_capture_flag {
	RN_CAPTURE_SENT = 1 << 0,
	RN_CAPTURE_UNSENT = 1 << 1, /* dropped on purpose before it was on the wire */
};

struct rn_capture_record {
	uint32_t size; /* of the record, a multiple of RN_CAPTURE_ALIGN */
	uint16_t kind;
	uint16_t flags;
	uint32_t len;	 /* of the packet as it was on the wire */
	uint32_t cap;	 /* bytes of the body */
	uint64_t time;	 /* CLOCK_REALTIME, ns */
	uint64_t number; /* of the packet; from 1, without those that are missing */
	uint32_t qpn;	 /* local queue pair, as far as it is known; 0 */
	uint32_t missed; /* packets that did not fit since the last record */
	uint16_t ip_id;	 /* sent: IPv4 identification; else: place in the super-packet */
	uint16_t reserved[3];
	struct rn_flow flow;
};

static_assert(sizeof(struct rn_capture_record) == 88, "shared between processes");

/* Bytes of memory for a ring with @size bytes of data. */
static inline size_t rn_capture_ring_bytes(uint32_t size)
{
	return RN_CAPTURE_CONTROL + (size_t)size;
}

static inline bool rn_capture_is_size(uint64_t size)
{
	return size >= RN_CAPTURE_SIZE_MIN && size <= RN_CAPTURE_SIZE_MAX &&
	       (size & (size - 1)) == 0;
}

/* Make a ring of zeros. By whoever makes the memory, before an end has it. */
void rn_capture_format(void *mem, uint32_t size);

/* ------------------------------------------------------------------ the writer */
struct rn_capture_shared;

struct rn_capture_writer {
	struct rn_capture_shared *shared;
	uint8_t *data;
	uint32_t size;
	uint64_t tail, published, head;
	uint64_t packets, missed; /* ever */
	uint32_t missed_since;	  /* the last packet that fitted */
	bool is_full;	/* something did not fit, and the reader has not moved since */
	bool is_broken; /* full for good: its reader lies */
};

/* Return: 0 or -EPROTO (no ring of this size). */
int rn_capture_writer_init(struct rn_capture_writer *w, void *mem, uint32_t size);

/**
 * rn_capture_put() - Append a record
 * @rec:	Kind, flags, len, time, qpn, ip_id, flow, and of a diagnostic the number;
 *		the rest is filled in here
 * @body:	rec->cap bytes, at most RN_CAPTURE_BODY_MAX
 *
 * The reader sees it after rn_capture_publish(). A packet that does not fit is counted,
 * a diagnostic that does not is gone; and so is what comes then, until the reader gives
 * memory back: one gap instead of many.
 *
 * Return: the number of the packet, 0 if there was no room; of a diagnostic
 *	   nothing of use.
 */
uint64_t rn_capture_put(struct rn_capture_writer *w, struct rn_capture_record *rec,
			const void *body);

/* Nothing would fit: whoever reads has not moved since something did not. */
bool rn_capture_is_full(struct rn_capture_writer *w);

/* Count packets that are not put at all; the reader sees that at once. */
void rn_capture_miss(struct rn_capture_writer *w, uint32_t packets);

/* Let the reader see what was put. Diagnostics about a packet come before that. */
void rn_capture_publish(struct rn_capture_writer *w);

/* ------------------------------------------------------------------ the reader */
struct rn_capture_reader {
	struct rn_capture_shared *shared;
	const uint8_t *data;
	uint32_t size;
	uint64_t tail, head;
	uint64_t passed; /* bytes that the writer does not know yet to be free */
	bool has_record;
	struct rn_capture_record rec; /* the next one, copied */
	uint8_t body[RN_CAPTURE_BODY_MAX];
};

/* Return: as rn_capture_writer_init(). */
int rn_capture_reader_init(struct rn_capture_reader *r, void *mem, uint32_t size);

/* Copy the next record to @r->rec and @r->body, where it stays until
 * rn_capture_pass(). Return: 0, -EAGAIN (none), -EPROTO (nonsense: it is over).
 */
int rn_capture_peek(struct rn_capture_reader *r);
void rn_capture_pass(struct rn_capture_reader *r);

/* What the writer has counted. */
void rn_capture_counts(const struct rn_capture_reader *r, uint64_t *packets,
		       uint64_t *missed);

#endif /* RN_CAPTURE_RING_H */
