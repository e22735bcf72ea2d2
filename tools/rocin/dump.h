/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump.h - the parts of `rocin dump`: where packets come from, and the forms in which
 * they are shown.
 */
#ifndef RN_DUMP_H
#define RN_DUMP_H

#include <stdio.h>

#include "packet_text.h"
#include "roce_watch.h"

/* A packet of the capture, on its way to be shown. Valid during the call only. */
struct rn_dump_packet {
	uint64_t number; /* of the RoCEv2 packets, from 1 on */
	rn_ns at;	 /* since the first one */
	const struct rn_packet *p;
	const struct rn_watch_remark *remark;
	const struct rn_watch *watch;
};

/* A form of showing. All are called in this order: @packet for each, @end once. */
struct rn_dump_form {
	/* Returns false if no more are wanted. */
	bool (*packet)(void *ctx, const struct rn_dump_packet *d);
	/* Returns 0 or -errno (of writing). */
	int (*end)(void *ctx, const struct rn_watch *w);
	void *ctx;
};

struct rn_dump_source {
	const char *file; /* "-": standard input */
	uint64_t count;	  /* stop behind so many; 0: all */
	bool has_qp;	  /* only those of @qp and of the one that it talks to */
	uint32_t qp;
	bool is_strict;
	bool has_copies; /* show also what arrived and was captured where it left */
};

/* What was read. */
struct rn_dump_total {
	uint64_t packets, violations, suspicions;
	uint64_t skipped[RN_PACKET_SKIP_COUNT]; /* not taken apart, and why */
};

/**
 * rn_dump_read() - Read a capture, watch it, and give each RoCEv2 packet to @form
 * @total:	Out: what was shown
 *
 * Return: 0; -errno, with a sentence on standard error. What was read before the error
 *was shown.
 */
int rn_dump_read(const struct rn_dump_source *source, const struct rn_dump_form *form,
		 struct rn_dump_total *total);

/* ---- Lines ---- */

struct rn_dump_lines {
	FILE *to;
	bool findings_only;
};

bool rn_dump_line(void *ctx, const struct rn_dump_packet *d);

/* " [again: after a NAK, 67.1 ms]", " [duplicate]" ...; empty if there is nothing. */
enum {
	RN_DUMP_NOTE_MAX = 160
};
void rn_dump_note(const struct rn_watch_remark *r, char note[RN_DUMP_NOTE_MAX]);

/* "gap (B5): PSNs go up by one a packet: 3 missing before 17" */
enum {
	RN_DUMP_FINDING_MAX = 320
};
void rn_dump_finding(const struct rn_watch_finding *f, char text[RN_DUMP_FINDING_MAX]);

/* "67.1 ms", in the unit that fits. */
enum {
	RN_DUMP_TIME_MAX = 32
};
const char *rn_dump_time(rn_ns t, char text[RN_DUMP_TIME_MAX]);

#endif /* RN_DUMP_H */
