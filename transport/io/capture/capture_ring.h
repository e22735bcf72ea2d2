/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_ring.h - packets of a running program on their way to a capture.
 *
 * There is one ring for each device and capture, with a single writer, the engine that
 * owns the device, and a single reader. Records lie one after the other in memory that
 * both have mapped. A record that does not fit before the end of the data begins at the
 * start, behind a pad record.
 *
 *   memory   | control page: magic, size, counts | tail | head | data ...
 *   record   | struct rn_capture_record | body ... | up to the next multiple of 16 |
 *
 * The writer never waits: a packet that does not fit is counted and missing. Neither end
 * wakes the other, so that a packet costs the writer a copy and no system call; the
 * reader looks every few milliseconds.
 *
 * Neither end trusts what the other writes: each value is loaded once and checked. A
 * reader that finds an impossible value stops (-EPROTO); a writer that finds an
 * impossible head treats the ring as full, for good.
 *
 * Threads: each end belongs to one thread or one lock.
 */
#ifndef RN_CAPTURE_RING_H
#define RN_CAPTURE_RING_H

#include "rocin/flow.h"

enum {
	RN_CAPTURE_CONTROL = 4096, /* bytes before the data */
	RN_CAPTURE_ALIGN = 16,
	RN_CAPTURE_SIZE_MIN = 256 << 10, /* least bytes of data; a power of two */
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
	/* Dropped by a fault rule before it was on the wire. */
	RN_CAPTURE_UNSENT = 1 << 1,
};

struct rn_capture_record {
	uint32_t size; /* bytes of the record, a multiple of RN_CAPTURE_ALIGN */
	uint16_t kind;
	uint16_t flags;
	uint32_t len;  /* bytes of the packet as it was on the wire */
	uint32_t cap;  /* bytes of the body */
	uint64_t time; /* CLOCK_REALTIME, ns */
	/* Number of the packet, from 1; missing packets are not numbered. */
	uint64_t number;
	uint32_t qpn;	 /* local queue pair, if it is known; else 0 */
	uint32_t missed; /* packets that did not fit since the last record */
	/* Sent: IPv4 identification; received: position in the super-packet. */
	uint16_t ip_id;
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

/* Make a ring in memory of zeros. Called by the process that allocates the memory, before
 * either end has it.
 */
void rn_capture_format(void *mem, uint32_t size);

/* ------------------------------------------------------------------ the writer */
struct rn_capture_shared;

struct rn_capture_writer {
	struct rn_capture_shared *shared;
	uint8_t *data;
	uint32_t size;
	uint64_t tail, published, head;
	uint64_t packets, missed; /* ever */
	uint32_t missed_since;	  /* packets missed since the last one that fitted */
	bool is_full; /* a record did not fit, and the reader has not moved since */
	/* Full for good, because the reader has written an impossible head. */
	bool is_broken;
};

/* Return: 0 or -EPROTO (not a ring of this size). */
int rn_capture_writer_init(struct rn_capture_writer *w, void *mem, uint32_t size);

/**
 * rn_capture_put() - Append a record
 * @rec:	Kind, flags, len, time, qpn, ip_id, flow, and of a diagnostic also number;
 *		the other fields are filled in here
 * @body:	rec->cap bytes, at most RN_CAPTURE_BODY_MAX
 *
 * The reader sees it after rn_capture_publish(). A packet that does not fit is counted as
 * missed; a diagnostic that does not fit is dropped. So are all later records until the
 * reader gives memory back, which makes one gap instead of many.
 *
 * Return: the number of the packet, 0 if there was no room; meaningless for a diagnostic.
 */
uint64_t rn_capture_put(struct rn_capture_writer *w, struct rn_capture_record *rec,
			const void *body);

/* Would no record fit, because one did not and the reader has not moved since? */
bool rn_capture_is_full(struct rn_capture_writer *w);

/* Count packets that are not put into the ring; the reader sees the count at once. */
void rn_capture_miss(struct rn_capture_writer *w, uint32_t packets);

/* Let the reader see the records so far. Diagnostics about a packet must
 * be put before.
 */
void rn_capture_publish(struct rn_capture_writer *w);

/* ------------------------------------------------------------------ the reader */
struct rn_capture_reader {
	struct rn_capture_shared *shared;
	const uint8_t *data;
	uint32_t size;
	uint64_t tail, head;
	uint64_t passed; /* bytes read that the writer has not been told of */
	bool has_record;
	struct rn_capture_record rec; /* the next record, copied */
	uint8_t body[RN_CAPTURE_BODY_MAX];
};

/* Return: as rn_capture_writer_init(). */
int rn_capture_reader_init(struct rn_capture_reader *r, void *mem, uint32_t size);

/* Copy the next record to @r->rec and @r->body, where it stays until rn_capture_pass().
 * Return: 0, -EAGAIN (there is none), -EPROTO (an invalid record: the ring cannot be
 * read any more).
 */
int rn_capture_peek(struct rn_capture_reader *r);
void rn_capture_pass(struct rn_capture_reader *r);

/* Read the counts of the writer: packets recorded and missed. */
void rn_capture_counts(const struct rn_capture_reader *r, uint64_t *packets,
		       uint64_t *missed);

#endif /* RN_CAPTURE_RING_H */
