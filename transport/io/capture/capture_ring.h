/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_ring.h - a ring in shared memory, by which the packets of a running program go
 * to a capture.
 *
 * There is one ring for each device and capture, with a single writer, the engine that
 * owns the device, and a single reader. Records lie one after the other. If a record does
 * not fit before the end of the data, a pad record fills the rest, and the record begins
 * at the start of the data.
 *
 *   memory   | control page: magic, size, counts | tail | head | data ...
 *   record   | struct rn_capture_record | body ... | up to the next multiple of 16 |
 *
 * The writer never waits: a packet that does not fit is only counted as missed. Neither
 * end wakes the other, so that a packet costs the writer a copy and no system call; the
 * reader looks every few milliseconds.
 *
 * Neither end trusts what the other writes: each value is loaded once and checked. A
 * reader that finds an impossible value stops (-EPROTO). A writer that finds an
 * impossible head treats the ring as full from then on.
 *
 * Threads: each end belongs to one thread or one lock.
 */
#ifndef RN_CAPTURE_RING_H
#define RN_CAPTURE_RING_H

#include "rocin/gid.h"

enum {
	RN_CAPTURE_CONTROL = 4096, /* bytes before the data */
	RN_CAPTURE_ALIGN = 16,
	/* minimum number of data bytes; all sizes are powers of two */
	RN_CAPTURE_SIZE_MIN = 256 << 10,
	RN_CAPTURE_SIZE_MAX = 1 << 30,
	RN_CAPTURE_BODY_MAX = 65535,
};

enum rn_capture_kind {
	RN_CAPTURE_PAD = 1,
	/* body: the packet, BTH to ICRC, cut to the snaplen of the filter */
	RN_CAPTURE_PACKET,
	RN_CAPTURE_DIAGNOSTIC, /* body: struct rn_diagnostic about packet @number */
};

enum rn_capture_flag {
	RN_CAPTURE_SENT = 1 << 0,
	/* the packet was dropped by a fault rule before it was on the wire */
	RN_CAPTURE_UNSENT = 1 << 1,
};

struct rn_capture_record {
	uint32_t size; /* bytes of the record, a multiple of RN_CAPTURE_ALIGN */
	uint16_t kind;
	uint16_t flags;
	uint32_t len;  /* bytes of the packet on the wire, from BTH to ICRC */
	uint32_t cap;  /* bytes of the body */
	uint64_t time; /* CLOCK_REALTIME, ns */
	/* number of the packet, from 1; packets that were missed have no number */
	uint64_t number;
	uint32_t qpn; /* number of the local queue pair; 0: not known */
	/* number of packets that were missed since the last record, because the ring
	 * was full
	 */
	uint32_t missed;
	/* Sent packet: IPv4 identification. Received packet: its position in its
	 * super-packet.
	 */
	uint16_t ip_id;
	uint16_t reserved[3];
	struct rn_flow flow;
};

static_assert(sizeof(struct rn_capture_record) == 88, "shared between processes");

/* Return: number of bytes of memory for a ring with @size bytes of data. */
static inline size_t rn_capture_ring_bytes(uint32_t size)
{
	return RN_CAPTURE_CONTROL + (size_t)size;
}

static inline bool rn_capture_is_size(uint64_t size)
{
	return size >= RN_CAPTURE_SIZE_MIN && size <= RN_CAPTURE_SIZE_MAX &&
	       (size & (size - 1)) == 0;
}

/* Initialise a ring in memory of zeros. Called by the process that allocates the memory,
 * before either end is set up.
 */
void rn_capture_format(void *mem, uint32_t size);

/* ------------------------------------------------------------ the writer's end */
struct rn_capture_shared;

struct rn_capture_writer {
	struct rn_capture_shared *shared;
	uint8_t *data;
	uint32_t size;
	uint64_t tail, published, head;
	/* total numbers of packets recorded and missed */
	uint64_t packets, missed;
	/* number of packets missed since the last recorded one */
	uint32_t missed_since;
	/* a record did not fit, and the reader has given back no space since */
	bool is_full;
	/* The reader has stored an impossible head, so the ring counts as full from now
	 * on.
	 */
	bool is_broken;
};

/* Set up the writer's end of a ring. It continues behind the last record that an earlier
 * writer has published: a successor of rocind takes over the rings of its predecessor.
 * Return: 0 or -EPROTO (not a ring of this size, or its head and tail are impossible).
 */
int rn_capture_writer_init(struct rn_capture_writer *w, void *mem, uint32_t size);

/**
 * rn_capture_put() - Append a record
 * @rec:	Kind, flags, len, time, qpn, ip_id, flow, and of a diagnostic also number;
 *		the other fields are filled in here
 * @body:	rec->cap bytes, at most RN_CAPTURE_BODY_MAX
 *
 * The reader sees the record after rn_capture_publish(). If there is no room for the
 * record, a packet is counted as missed, and a diagnostic is dropped. So are all later
 * records until the reader gives space back: the capture then has one gap instead of
 * many.
 *
 * Return: the number of the packet, 0 if there was no room; meaningless for a diagnostic.
 */
uint64_t rn_capture_put(struct rn_capture_writer *w, struct rn_capture_record *rec,
			const void *body);

/* Return: true if the ring is full: a record did not fit, and the reader has given back
 * no space since.
 */
bool rn_capture_is_full(struct rn_capture_writer *w);

/* Count @packets as missed without trying to record them. The reader can see the count
 * at once.
 */
void rn_capture_miss(struct rn_capture_writer *w, uint32_t packets);

/* Make the records so far visible to the reader. All diagnostics about these packets
 * must have been put before.
 */
void rn_capture_publish(struct rn_capture_writer *w);

/* ------------------------------------------------------------ the reader's end */
struct rn_capture_reader {
	struct rn_capture_shared *shared;
	const uint8_t *data;
	uint32_t size;
	uint64_t tail, head;
	/* number of bytes that were read but not given back to the writer yet */
	uint64_t passed;
	bool has_record;
	struct rn_capture_record rec; /* copy of the next record, without its body */
	uint8_t body[RN_CAPTURE_BODY_MAX];
};

/* Set up the reader's end. Return: 0 or -EPROTO (not a ring of this size). */
int rn_capture_reader_init(struct rn_capture_reader *r, void *mem, uint32_t size);

/* Copy the next record to @r->rec and @r->body, unless that was done already. The copy
 * is valid until rn_capture_pass(), which goes on to the next record. Return: 0, -EAGAIN
 * (there is no record), -EPROTO (the record is invalid, and the ring cannot be read any
 * more).
 */
int rn_capture_peek(struct rn_capture_reader *r);
void rn_capture_pass(struct rn_capture_reader *r);

/* Read the numbers of packets that the writer has recorded and missed. */
void rn_capture_counts(const struct rn_capture_reader *r, uint64_t *packets,
		       uint64_t *missed);

#endif /* RN_CAPTURE_RING_H */
